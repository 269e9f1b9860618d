/* SPDX-License-Identifier: MIT
 *
 * AVX2: vectors of two lanes. Its shuffles stay within lanes, which is just what tile.h asks for.
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m256i Vec;

enum { LANES = 2 };

static inline Vec load_lanes(const uint8_t *p, ptrdiff_t apart) {
    Vec v = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(p + apart)), 1);
}

static inline __attribute__((always_inline)) void store_lanes(uint8_t *p, ptrdiff_t apart, Vec v) {
    if (apart == 16) {
        _mm256_storeu_si256((Vec *)p, v);
        return;
    }
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(p + apart), _mm256_extracti128_si256(v, 1));
}

#define ZIP(unit)                                                                                            \
    static inline Vec zip_lo_##unit(Vec a, Vec b) {                                                          \
        return _mm256_unpacklo_epi##unit(a, b);                                                              \
    }                                                                                                        \
    static inline Vec zip_hi_##unit(Vec a, Vec b) {                                                          \
        return _mm256_unpackhi_epi##unit(a, b);                                                              \
    }

ZIP(8)
ZIP(16)
ZIP(32)
ZIP(64)

#define HAVE_SHUFFLE

static inline Vec table(const uint8_t bytes[16]) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

static inline Vec shuffle(Vec v, Vec table) {
    return _mm256_shuffle_epi8(v, table);
}

static inline void stream_line(uint8_t *dst, const uint8_t *src) {
    _mm256_stream_si256((Vec *)dst, _mm256_loadu_si256((const Vec *)src));
    _mm256_stream_si256((Vec *)(dst + 32), _mm256_loadu_si256((const Vec *)(src + 32)));
}

static inline void stream_end(void) {
    _mm_sfence();
}

#include "tile.h"

static bool usable(void) {
    return __builtin_cpu_supports("avx2");
}

DEFINE_BACKEND(avx2)
