/* SPDX-License-Identifier: MIT
 *
 * AVX-512: vectors of four lanes, and a cache line a store. Only on processors of the second generation,
 * which do not slow down for it: VBMI2 tells them.
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef __m512i Vec;

enum { LANES = 4 };

static inline __m256i load_half(const uint8_t *p, ptrdiff_t apart) {
    __m256i half = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_inserti128_si256(half, _mm_loadu_si128((const __m128i *)(p + apart)), 1);
}

static inline Vec load_lanes(const uint8_t *p, ptrdiff_t apart) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_half(p, apart)), load_half(p + 2 * apart, apart),
                              1);
}

static inline __attribute__((always_inline)) void store_lanes(uint8_t *p, ptrdiff_t apart, Vec v) {
    if (apart == 16) {
        _mm512_storeu_si512(p, v);
        return;
    }
    _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(p + apart), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(p + 2 * apart), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(p + 3 * apart), _mm512_extracti32x4_epi32(v, 3));
}

#define ZIP(unit)                                                                                            \
    static inline Vec zip_lo_##unit(Vec a, Vec b) {                                                          \
        return _mm512_unpacklo_epi##unit(a, b);                                                              \
    }                                                                                                        \
    static inline Vec zip_hi_##unit(Vec a, Vec b) {                                                          \
        return _mm512_unpackhi_epi##unit(a, b);                                                              \
    }

ZIP(8)
ZIP(16)
ZIP(32)
ZIP(64)

#define HAVE_SHUFFLE

static inline Vec table(const uint8_t bytes[16]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bytes));
}

static inline Vec shuffle(Vec v, Vec table) {
    return _mm512_shuffle_epi8(v, table);
}

#define HAVE_PERMUTE

static inline Vec permute(Vec v, const uint8_t bytes[64]) {
    return _mm512_permutexvar_epi8(_mm512_loadu_si512(bytes), v);
}

static inline void stream_line(uint8_t *dst, const uint8_t *src) {
    _mm512_stream_si512((Vec *)dst, _mm512_loadu_si512(src));
}

static inline void stream_end(void) {
    _mm_sfence();
}

#include "tile.h"

static bool usable(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}

DEFINE_BACKEND(avx512)
