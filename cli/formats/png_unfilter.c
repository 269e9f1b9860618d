/* SPDX-License-Identifier: MIT
 *
 * A pixel's samples at once, as many as there are; pixels depend on those left of them.
 */
#include "png_unfilter.h"

#ifdef __SSE2__
#include <emmintrin.h>
#include <string.h>

enum { NONE, SUB, UP, AVERAGE, PAETH, FILTERS, MOST_PIXEL = 8 };

struct PngUnfilter {
    gsize row, at; /* bytes of the row, and how many have come */
    guint pixel, filter;
    gboolean inside;           /* the number of the present row was seen */
    gboolean broken;           /* a number was wrong */
    guint8 corner[MOST_PIXEL]; /* what is above the pixel left of the next, by its bytes */
    guint8 line[]; /* a pixel of zeros, the row as far as it has come, and from there the one above */
};

static guint8 nearest(guint8 left, guint8 up, guint8 corner) {
    int to_left = ABS(up - corner), to_up = ABS(left - corner), to_corner = ABS(left + up - 2 * corner);
    return to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
}

/* A byte at a time, for pixels that a piece's ends cut. */
static void undo_byte(PngUnfilter *u, guint8 *x) {
    guint8 *line = u->line + MOST_PIXEL + u->at, *corner = u->corner + u->at % u->pixel;
    guint8 left = line[-(gssize)u->pixel], up = *line;
    guint8 guess = u->filter == SUB       ? left
                   : u->filter == UP      ? up
                   : u->filter == AVERAGE ? (guint8)((left + up) / 2)
                   : u->filter == PAETH   ? nearest(left, up, *corner)
                                          : 0;
    *corner = up;
    *x = *line = (guint8)(*x + guess);
    u->at++;
}

/* Samples as 16-bit numbers, and those of the next pixels, which do no harm. */
static inline __m128i load(const guint8 *from) {
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)from), _mm_setzero_si128());
}

static inline void store(guint8 *to, __m128i samples, guint pixel) {
    gint64 bytes = _mm_cvtsi128_si64(_mm_packus_epi16(samples, samples));
    memcpy(to, &bytes, pixel);
}

static inline __m128i absolute(__m128i x) {
    return _mm_max_epi16(x, _mm_sub_epi16(_mm_setzero_si128(), x));
}

static inline __m128i pick(__m128i mask, __m128i yes, __m128i no) {
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

static inline __m128i nearest_of(__m128i left, __m128i up, __m128i corner) {
    __m128i from_left = _mm_sub_epi16(up, corner), from_up = _mm_sub_epi16(left, corner);
    __m128i to_corner = absolute(_mm_add_epi16(from_left, from_up));
    __m128i to_left = absolute(from_left), to_up = absolute(from_up);
    __m128i least = _mm_min_epi16(to_corner, _mm_min_epi16(to_left, to_up));
    return pick(_mm_cmpeq_epi16(least, to_left), left, pick(_mm_cmpeq_epi16(least, to_up), up, corner));
}

/* n whole pixels; as many bytes as MOST_PIXEL are there from each on. */
static inline __attribute__((always_inline)) void undo_pixels(PngUnfilter *u, guint8 *x, gsize n, guint pixel,
                                                              guint filter) {
    guint8 *line = u->line + MOST_PIXEL + u->at;
    __m128i left = load(line - pixel), corner = load(u->corner), up;
    for (gsize i = 0; i < n; i++, x += pixel, line += pixel) {
        up = load(line);
        __m128i guess = filter == SUB       ? left
                        : filter == AVERAGE ? _mm_srli_epi16(_mm_add_epi16(left, up), 1)
                                            : nearest_of(left, up, corner);
        left = _mm_add_epi8(load(x), guess); /* upper halves are zeros */
        corner = up;
        store(x, left, pixel);
        store(line, left, pixel);
    }
    store(u->corner, corner, pixel);
    u->at += n * pixel;
}

static inline __attribute__((always_inline)) void undo(PngUnfilter *u, guint8 *x, gsize n, guint pixel) {
    if (u->filter == SUB)
        undo_pixels(u, x, n, pixel, SUB);
    else if (u->filter == AVERAGE)
        undo_pixels(u, x, n, pixel, AVERAGE);
    else
        undo_pixels(u, x, n, pixel, PAETH);
}

/* What needs no left pixel. */
static void undo_up(PngUnfilter *u, guint8 *restrict x, gsize n) {
    guint8 *restrict line = u->line + MOST_PIXEL + u->at;
    memcpy(u->corner, line + n - u->pixel, u->pixel);
    for (gsize i = 0; i < n && u->filter == UP; i++)
        x[i] = (guint8)(x[i] + line[i]);
    memcpy(line, x, n);
    u->at += n;
}

static void undo_whole(PngUnfilter *u, guint8 *x, gsize n) {
    if (u->filter == NONE || u->filter == UP) {
        undo_up(u, x, n * u->pixel);
        return;
    }
    switch (u->pixel) {
    case 1:
        undo(u, x, n, 1);
        break;
    case 2:
        undo(u, x, n, 2);
        break;
    case 3:
        undo(u, x, n, 3);
        break;
    case 4:
        undo(u, x, n, 4);
        break;
    case 6:
        undo(u, x, n, 6);
        break;
    default:
        undo(u, x, n, 8);
    }
}

static void undo_part(PngUnfilter *u, guint8 *x, gsize n) {
    for (; n && u->at % u->pixel; n--)
        undo_byte(u, x++);
    gsize whole = n < MOST_PIXEL ? 0 : (n - MOST_PIXEL) / u->pixel + 1;
    if (whole)
        undo_whole(u, x, whole);
    for (gsize i = whole * u->pixel; i < n; i++)
        undo_byte(u, x + i);
}

static void begin_row(PngUnfilter *u, guint8 *number) {
    u->filter = *number;
    u->broken = u->filter >= FILTERS;
    if (!u->broken)
        *number = NONE;
    u->at = 0;
    memset(u->corner, 0, sizeof(u->corner));
}

void png_unfilter(PngUnfilter *u, guint8 *piece, gsize size) {
    for (gsize n; size && !u->broken; piece += n, size -= n) {
        if (!u->inside) {
            begin_row(u, piece);
            n = 1;
        } else {
            n = MIN(size, u->row - u->at);
            undo_part(u, piece, n);
        }
        u->inside = !u->inside || u->at < u->row;
    }
}

PngUnfilter *png_unfilter_new(gsize row, guint pixel) {
    PngUnfilter *u = g_try_malloc0(sizeof(*u) + MOST_PIXEL + row);
    if (u) {
        u->row = row;
        u->pixel = pixel;
    }
    return u;
}
#else
struct PngUnfilter {
    int nothing;
};

void png_unfilter(PngUnfilter *u G_GNUC_UNUSED, guint8 *piece G_GNUC_UNUSED, gsize size G_GNUC_UNUSED) {}

PngUnfilter *png_unfilter_new(gsize row G_GNUC_UNUSED, guint pixel G_GNUC_UNUSED) {
    return NULL;
}
#endif

void png_unfilter_free(PngUnfilter *u) {
    g_free(u);
}
