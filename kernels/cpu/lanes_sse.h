/* SPDX-License-Identifier: MIT
 *
 * Vectors of one lane for tile.h: what SSE2 and SSSE3 share.
 */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m128i Vec;

enum { LANES = 1 };

static inline Vec load_lanes(const uint8_t *p, ptrdiff_t apart) {
    (void)apart;
    return _mm_loadu_si128((const __m128i *)p);
}

static inline void store_lanes(uint8_t *p, ptrdiff_t apart, Vec v) {
    (void)apart;
    _mm_storeu_si128((__m128i *)p, v);
}

#define ZIP(unit)                                                                                            \
    static inline Vec zip_lo_##unit(Vec a, Vec b) {                                                          \
        return _mm_unpacklo_epi##unit(a, b);                                                                 \
    }                                                                                                        \
    static inline Vec zip_hi_##unit(Vec a, Vec b) {                                                          \
        return _mm_unpackhi_epi##unit(a, b);                                                                 \
    }

ZIP(8)
ZIP(16)
ZIP(32)
ZIP(64)

static inline void stream_line(uint8_t *dst, const uint8_t *src) {
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(src + i)));
}

static inline void stream_end(void) {
    _mm_sfence();
}
