/* SPDX-License-Identifier: MIT
 *
 * The eight orientations once more, by hand and without the library: what the tests hold it against.
 */
#ifndef EIGHT_H
#define EIGHT_H

#include <stddef.h>

/* Numbered as EXIF numbers them. */
static const char *const eight_names[9] = {
    NULL, "none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270",
};

typedef struct {
    size_t x, y;
} Point;

static inline int eight_swaps(int o) {
    return o >= 5;
}

/* Which pixel of a w x h source comes to lie at (x, y) of the result. */
static inline Point eight_source(int o, size_t w, size_t h, size_t x, size_t y) {
    switch (o) {
    case 1: /* none */
        return (Point){x, y};
    case 2: /* fliph */
        return (Point){w - 1 - x, y};
    case 3: /* rot180 */
        return (Point){w - 1 - x, h - 1 - y};
    case 4: /* flipv */
        return (Point){x, h - 1 - y};
    case 5: /* transpose */
        return (Point){y, x};
    case 6: /* rot90: the source's left column, from the bottom up, is the first row */
        return (Point){y, h - 1 - x};
    case 7: /* transverse */
        return (Point){w - 1 - y, h - 1 - x};
    default: /* rot270: the source's right column, from the top down, is the first row */
        return (Point){w - 1 - y, x};
    }
}

#endif
