/* SPDX-License-Identifier: MIT
 *
 * PNG's five row filters, and the choice among them.
 */
#ifndef PNG_FILTER_H
#define PNG_FILTER_H

#include <glib.h>

/* Filters, as bits of a set; their numbers in a file are 0 to 4 in this order. */
enum {
    FILTER_NONE = 1,
    FILTER_SUB = 2,
    FILTER_UP = 4,
    FILTER_AVERAGE = 8,
    FILTER_PAETH = 16,
    FILTERS_ALL = 31,
};

/* Zero bytes that must stand in front of every row: the pixel left of the first. */
enum { FILTER_MARGIN = 8 };

/* Filters a row of `size` bytes, `pixel` bytes from one pixel to the next (1 where pixels are smaller), by
 * that filter of the set whose residues are smallest in sum. `to` takes the filter's number and the
 * residues. `above` is the row above, zeros above the first. */
void png_filter_row(guint8 *to, const guint8 *row, const guint8 *above, gsize size, guint pixel, guint set);

#endif
