/* SPDX-License-Identifier: MIT
 *
 * Strips and tiles that are JPEGs, turned without loss.
 */
#ifndef TIFF_JPEG_H
#define TIFF_JPEG_H

#include "tiff_picture.h"
#include "tiff_turn.h"

/* The tables that all blocks of a directory share, as a JPEG without a picture; may be NULL. */
typedef struct {
    guint8 *data;
    gsize size;
} TiffTables;

/* Whether the turn has no loss and how much memory it takes; in error why not. */
gboolean tiff_jpeg_decide(const TiffFile *file, const TiffPicture *from, const TiffTables *tables,
                          TtOrientation turn, gsize *memory, GError **error);

/* As tiff_turn_pixels(). *turned are the tables of the result, whose data the caller frees. sums are of
 * coefficients. */
gboolean tiff_jpeg_turn(const TiffTurner *turner, const TiffPicture *from, const TiffTables *tables,
                        TiffPicture *to, TtOrientation turn, TiffSink *sink, TiffTables *turned,
                        GError **error);

/* Whether all blocks can be read. */
gboolean tiff_jpeg_check(const TiffTurner *turner, const TiffPicture *picture, const TiffTables *tables,
                         GError **error);

#endif
