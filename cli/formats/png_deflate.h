/* SPDX-License-Identifier: MIT
 *
 * From rows of pixels to the data of IDAT chunks: filtered, cut into blocks, packed by all idle cores.
 *
 * The bytes depend on the rows, the settings and the libraries' versions, never on the number of cores.
 */
#ifndef PNG_DEFLATE_H
#define PNG_DEFLATE_H

#include <glib.h>

#include "../cores.h"

/* How to pack. */
typedef struct {
    int level;     /* as zlib's, 0 to 9: files become as small as libpng makes them at this level */
    guint filters; /* a set of png_filter.h; 0: what suits the pixels */
    /* Files become as small as libpng makes them without filters, not as with them. Both ways are tried all
     * the same. */
    gboolean as_plain;
} PngPacking;

enum { PNG_LEVEL_DEFAULT = 6 };

typedef struct {
    guint bits;        /* of a pixel */
    gboolean residues; /* filters pay: 8 bits a sample or more, and no palette */
    guint64 bytes;     /* of all rows, with a byte for each one's filter */
    PngPacking packing;
    Cores *cores; /* may be NULL */
    /* Takes the data of the next chunk. */
    gboolean (*emit)(gpointer user, const guint8 *data, gsize size, GError **error);
    gpointer user;
} PngDeflateOptions;

typedef struct PngDeflate PngDeflate;

PngDeflate *png_deflate_new(const PngDeflateOptions *options);

/* The next row. `first`: no row above it counts, as it begins the picture or a pass of it. */
gboolean png_deflate_row(PngDeflate *d, const guint8 *row, gsize size, gboolean first, GError **error);

/* All rows were given: emits what is left. */
gboolean png_deflate_end(PngDeflate *d, GError **error);

void png_deflate_free(PngDeflate *d);

#endif
