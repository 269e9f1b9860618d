/* SPDX-License-Identifier: MIT
 *
 * Plain loops over bytes, each of which the compiler makes vector code of.
 */
#include "png_filter.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { FILTERS = 5, SEGMENT = 2048 }; /* bytes that are tried at once, in the first cache */

/* Compiled into whoever calls it, for the processor that the caller is for. */
#define LOOP static inline __attribute__((always_inline))

LOOP void none(guint8 *restrict to, const guint8 *x, const guint8 *left, const guint8 *up,
               const guint8 *corner, gsize n) {
    (void)left;
    (void)up;
    (void)corner;
    memcpy(to, x, n);
}

LOOP void sub(guint8 *restrict to, const guint8 *x, const guint8 *left, const guint8 *up,
              const guint8 *corner, gsize n) {
    (void)up;
    (void)corner;
    for (gsize i = 0; i < n; i++)
        to[i] = (guint8)(x[i] - left[i]);
}

LOOP void up_(guint8 *restrict to, const guint8 *x, const guint8 *left, const guint8 *up,
              const guint8 *corner, gsize n) {
    (void)left;
    (void)corner;
    for (gsize i = 0; i < n; i++)
        to[i] = (guint8)(x[i] - up[i]);
}

LOOP void average(guint8 *restrict to, const guint8 *x, const guint8 *left, const guint8 *up,
                  const guint8 *corner, gsize n) {
    (void)corner;
    for (gsize i = 0; i < n; i++) /* (left + up) / 2 within eight bits */
        to[i] = (guint8)(x[i] - ((left[i] & up[i]) + ((left[i] ^ up[i]) >> 1)));
}

LOOP guint8 distance(guint8 a, guint8 b) {
    return a > b ? a - b : b - a;
}

/* All within eight bits. a + b - 2c is as far from 0 as a - c and b - c together, which is no nearer than
 * either, if both have one sign, and as these differ otherwise. */
LOOP void paeth(guint8 *restrict to, const guint8 *x, const guint8 *left, const guint8 *up,
                const guint8 *corner, gsize n) {
    for (gsize i = 0; i < n; i++) {
        guint8 a = left[i], b = up[i], c = corner[i];
        guint8 to_a = distance(b, c), to_b = distance(a, c);
        guint8 to_c = (a > c) == (b > c) ? 255 : distance(to_a, to_b);
        guint8 nearer = to_b <= to_c ? b : c, best = to_b <= to_c ? to_b : to_c;
        to[i] = (guint8)(x[i] - (to_a <= best ? a : nearer));
    }
}

/* The sum of residues as distances from 0: 255 is as near as 1. */
LOOP guint32 magnitude(const guint8 *residues, gsize n) {
    guint32 sum = 0;
    gsize i = 0;
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128();
    __m128i sums = zero;
    for (; i + 16 <= n; i += 16) {
        __m128i r = _mm_loadu_si128((const __m128i *)(residues + i));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_min_epu8(r, _mm_sub_epi8(zero, r)), zero));
    }
    sum = (guint32)(_mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8)));
#endif
    for (; i < n; i++) {
        guint8 r = residues[i], minus = (guint8)-r;
        sum += r < minus ? r : minus;
    }
    return sum;
}

/* The sum of a filter's residues if `sum`, else only these. */
LOOP guint32 apply(guint filter, guint8 *restrict to, const guint8 *x, const guint8 *up, gsize n, guint pixel,
                   gboolean sum) {
    const guint8 *left = x - pixel, *corner = up - pixel;
    switch (filter) {
    case 0:
        none(to, x, left, up, corner, n);
        break;
    case 1:
        sub(to, x, left, up, corner, n);
        break;
    case 2:
        up_(to, x, left, up, corner, n);
        break;
    case 3:
        average(to, x, left, up, corner, n);
        break;
    default:
        paeth(to, x, left, up, corner, n);
    }
    return sum ? magnitude(to, n) : 0;
}

typedef guint32 (*Apply)(guint filter, guint8 *restrict to, const guint8 *x, const guint8 *up, gsize n,
                         guint pixel, gboolean sum);

static guint32 apply_plainly(guint filter, guint8 *restrict to, const guint8 *x, const guint8 *up, gsize n,
                             guint pixel, gboolean sum) {
    return apply(filter, to, x, up, n, pixel, sum);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static guint32 apply_avx2(guint filter, guint8 *restrict to, const guint8 *x,
                                                          const guint8 *up, gsize n, guint pixel,
                                                          gboolean sum) {
    return apply(filter, to, x, up, n, pixel, sum);
}

static Apply best_apply(void) {
    return __builtin_cpu_supports("avx2") ? apply_avx2 : apply_plainly;
}
#else
static Apply best_apply(void) {
    return apply_plainly;
}
#endif

static guint best_filter(Apply apply_one, const guint8 *row, const guint8 *above, gsize size, guint pixel,
                         guint set) {
    guint64 sums[FILTERS] = {0};
    guint8 residues[SEGMENT];
    for (gsize at = 0; at < size; at += SEGMENT)
        for (guint f = 0; f < FILTERS; f++)
            if (set & 1U << f)
                sums[f] += apply_one(f, residues, row + at, above + at, MIN(size - at, SEGMENT), pixel, TRUE);
    guint best = FILTERS;
    for (guint f = 0; f < FILTERS; f++)
        if (set & 1U << f && (best == FILTERS || sums[f] < sums[best]))
            best = f;
    return best;
}

void png_filter_row(guint8 *to, const guint8 *row, const guint8 *above, gsize size, guint pixel, guint set) {
    Apply apply_one = best_apply();
    guint f = set & (set - 1) ? best_filter(apply_one, row, above, size, pixel, set)
                              : (guint)g_bit_nth_lsf(set, -1);
    to[0] = (guint8)f;
    apply_one(f, to + 1, row, above, size, pixel, FALSE);
}
