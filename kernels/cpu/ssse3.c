/* SPDX-License-Identifier: MIT
 *
 * SSSE3: SSE2 and a shuffle of bytes.
 */
#include <tmmintrin.h>

#include "lanes_sse.h"

#define HAVE_SHUFFLE

static inline Vec table(const uint8_t bytes[16]) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

static inline Vec shuffle(Vec v, Vec table) {
    return _mm_shuffle_epi8(v, table);
}

#include "tile.h"

static bool usable(void) {
    return __builtin_cpu_supports("ssse3");
}

DEFINE_BACKEND(ssse3)
