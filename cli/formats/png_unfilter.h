/* SPDX-License-Identifier: MIT
 *
 * Undoing filters ahead of libpng, which then finds rows without any: it does so byte by byte on some
 * processors that can do it by pixels. Where it is as fast itself, nothing is done here.
 */
#ifndef PNG_UNFILTER_H
#define PNG_UNFILTER_H

#include <glib.h>

typedef struct PngUnfilter PngUnfilter;

/* For rows of so many bytes, `pixel` bytes from one pixel to the next, 1 to 8. NULL: leave it to libpng. */
PngUnfilter *png_unfilter_new(gsize row, guint pixel);

/* The next piece of the rows, each behind its filter's number; pieces end anywhere. Numbers become 0, and
 * rows what they were before they were filtered. What comes after a wrong number stays as it is. */
void png_unfilter(PngUnfilter *u, guint8 *piece, gsize size);

/* u may be NULL. */
void png_unfilter_free(PngUnfilter *u);

#endif
