/* SPDX-License-Identifier: MIT
 *
 * Where each pixel comes from, one after the other.
 */
#include "naive.h"

#include <string.h>

/* The index of the source's pixel that belongs at (x, y) of the result. */
static gssize origin_of(const Turn *turn, gssize x, gssize y) {
    gssize width = (gssize)turn->width, right = width - 1, bottom = (gssize)turn->height - 1;
    switch (turn->orientation) {
    case TT_NONE:
        return y * width + x;
    case TT_FLIPH:
        return y * width + (right - x);
    case TT_ROT180:
        return (bottom - y) * width + (right - x);
    case TT_FLIPV:
        return (bottom - y) * width + x;
    case TT_TRANSPOSE:
        return x * width + y;
    case TT_ROT90:
        return (bottom - x) * width + y;
    case TT_TRANSVERSE:
        return (bottom - x) * width + (right - y);
    case TT_ROT270:
        return x * width + (right - y);
    }
    g_assert_not_reached();
}

/* Squares of pixels keep the source's rows in the cache. */
enum { EDGE = 64 };

static inline __attribute__((always_inline)) gboolean agrees(const Turn *turn, const guint8 *source,
                                                             const guint8 *turned, gsize first, gsize end,
                                                             gsize bytes, gsize *wrong_x, gsize *wrong_y) {
    gsize width = tt_swaps_axes(turn->orientation) ? turn->height : turn->width;
    gssize along = origin_of(turn, 1, 0) - origin_of(turn, 0, 0); /* source pixels from x to x + 1 */
    for (gsize top = first; top < end; top += EDGE)
        for (gsize left = 0; left < width; left += EDGE)
            for (gsize y = top; y < MIN(top + EDGE, end); y++) {
                const guint8 *to = turned + (y * width + left) * bytes;
                const guint8 *from = source + origin_of(turn, (gssize)left, (gssize)y) * (gssize)bytes;
                for (gsize x = left; x < MIN(left + EDGE, width); x++) {
                    if (memcmp(to, from, bytes)) {
                        *wrong_x = x;
                        *wrong_y = y;
                        return FALSE;
                    }
                    to += bytes;
                    from += along * (gssize)bytes;
                }
            }
    return TRUE;
}

gboolean naive_agrees(const Turn *turn, const guint8 *source, const guint8 *turned, gsize first, gsize end,
                      gsize *x, gsize *y) {
    /* A size that is known to the compiler makes each comparison one instruction. */
    switch (pixel_bytes(turn->pixel)) {
    case 1:
        return agrees(turn, source, turned, first, end, 1, x, y);
    case 2:
        return agrees(turn, source, turned, first, end, 2, x, y);
    case 4:
        return agrees(turn, source, turned, first, end, 4, x, y);
    case 8:
        return agrees(turn, source, turned, first, end, 8, x, y);
    default:
        return agrees(turn, source, turned, first, end, pixel_bytes(turn->pixel), x, y);
    }
}
