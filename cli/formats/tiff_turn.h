/* SPDX-License-Identifier: MIT
 *
 * The pixels of one directory of a TIFF, from blocks to blocks.
 */
#ifndef TIFF_TURN_H
#define TIFF_TURN_H

#include "../options.h"
#include "tiff_codec.h"
#include "tiff_output.h"

/* Where turned blocks go: to the end of a file, or, to be written later, into memory. */
typedef struct {
    TiffOutput *output;
    GByteArray *memory; /* blocks start at offsets of this */
} TiffSink;

typedef struct {
    const TiffFile *file;
    TiffDecoders *decoders;
    const Options *options;
    Cores *cores; /* NULL: the caller's core alone */
    gsize memory; /* bytes that may be held */
    const atomic_int *cancel;
} TiffTurner;

/* The bytes that the turn of a picture will hold. */
gsize tiff_turn_memory(const TiffPicture *from, TtOrientation turn, gsize memory, const Options *options);

/* The bytes of memory that a block takes to be unpacked, at most; 0 if it comes in rows. */
gsize tiff_block_in_memory(const TiffPicture *from);

/* Turns all pixels and places the blocks of `to`, which tiff_picture_turned() made. sums, if it is not NULL,
 * gets the CRC of what each block has to unpack to. *way, likewise, is how it was done, to be freed. */
gboolean tiff_turn_pixels(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to,
                          TtOrientation turn, TiffSink *sink, guint32 *sums, char **way, GError **error);

/* Copies all blocks as they are. */
gboolean tiff_copy_pixels(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to, TiffSink *sink,
                          GError **error);

/* Unpacks all blocks, and compares them with sums, if there are any. */
gboolean tiff_check_pixels(const TiffTurner *turner, const TiffPicture *picture, const guint32 *sums,
                           GError **error);

/* Bytes at the end of the sink. */
gboolean tiff_sink_append(TiffSink *sink, const guint8 *data, gsize size, guint64 *at, GError **error);

#endif
