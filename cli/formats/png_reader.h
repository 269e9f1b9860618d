/* SPDX-License-Identifier: MIT
 *
 * Reading a PNG: its chunks by our own walk, its pixels by the fastest inflate into libpng, which undoes
 * filters and interlacing. Pixels are given exactly as the file packs them.
 */
#ifndef PNG_READER_H
#define PNG_READER_H

#include <glib.h>
#include <tiletranspose/tt.h>

#include "../cores.h"
#include "png_chunks.h"
#include "png_input.h"

/* What the header and the palette say. */
typedef struct {
    TtImage shape; /* its data is NULL */
    int bit_depth, colour_type;
    gboolean interlaced;
    int colours; /* in the palette */
    guint8 palette[256][3];
} PngHeader;

/* The bytes of all rows, each behind its filter's number; some huge number where 64 bits cannot count them.
 */
guint64 png_filtered_bytes(const PngHeader *header);

typedef struct PngReader PngReader;

/* Reads everything but the pixels, with at most `limit` bytes of chunks beside them. The input stays the
 * caller's and lasts as long as the reader. */
PngReader *png_reader_open(PngInput *input, gsize limit, Cores *cores, GError **error);
const PngHeader *png_reader_header(const PngReader *r);
PngChunks *png_reader_chunks(PngReader *r);

/* The next rows of a picture that is not interlaced. */
gboolean png_reader_rows(PngReader *r, const TtImage *rows, GError **error);

/* All of an interlaced picture; `whole` must be zeros. */
gboolean png_reader_whole(PngReader *r, const TtImage *whole, GError **error);

/* After the last row: the stream's end and its checksum. *more: it holds more than the picture's rows. */
gboolean png_reader_end(PngReader *r, gboolean *more, GError **error);

void png_reader_close(PngReader *r);

#endif
