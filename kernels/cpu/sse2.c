/* SPDX-License-Identifier: MIT
 *
 * SSE2: what every x86-64 has. Without a shuffle of bytes, elements of 3 and 6 bytes move one by one.
 */
#include "lanes_sse.h"

static inline Vec reverse_lanes(Vec v, size_t bytes) {
    if (bytes < 16)
        v = _mm_shuffle_epi32(v, 0x4e);
    if (bytes < 8)
        v = _mm_shuffle_epi32(v, 0xb1);
    if (bytes < 4)
        v = _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0xb1), 0xb1);
    if (bytes < 2)
        v = _mm_or_si128(_mm_slli_epi16(v, 8), _mm_srli_epi16(v, 8));
    return v;
}

#include "tile.h"

static bool usable(void) {
    return true;
}

DEFINE_BACKEND(sse2)
