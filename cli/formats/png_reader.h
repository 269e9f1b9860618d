/* SPDX-License-Identifier: MIT
 *
 * Reading a PNG: its pixels by the fastest inflate into libpng, which undoes filters and interlacing. Pixels
 * are given exactly as the file packs them, unless libpng is told to convert them.
 */
#ifndef PNG_READER_H
#define PNG_READER_H

#include <glib.h>
#include <png.h>
#include <tiletranspose/tt.h>

#include "../cores.h"
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

/* Where and how to read. The input stays the caller's and lasts as long as the reader. */
typedef struct {
    PngInput *input;
    PngPixels pixels;
    Cores *cores;      /* may be NULL */
    gboolean trusting; /* no checksum is looked at */
    gboolean plainly;  /* by zlib and libpng alone */
    /* Of a caller who wants more of libpng than bare pixels; NULL otherwise, and libpng then looks at no
     * other chunk. `before`: no byte is read yet. `after`: all that is in front of the pixels is read; what
     * to convert them to can be set now; TRUE if that changes them. Errors of libpng may pass through both.
     */
    void (*before)(png_structp png, gpointer user);
    gboolean (*after)(png_structp png, png_infop info, gpointer user);
    void (*warn)(const char *message, gpointer user);
    gpointer user;
} PngReaderOptions;

typedef struct PngReader PngReader;

/* Reads everything in front of the pixels. */
PngReader *png_reader_open(const PngReaderOptions *options, GError **error);
const PngHeader *png_reader_header(const PngReader *r);

/* The next rows of a picture that is not interlaced. */
gboolean png_reader_rows(PngReader *r, const TtImage *rows, GError **error);

/* All of an interlaced picture; `whole` must be zeros. */
gboolean png_reader_whole(PngReader *r, const TtImage *whole, GError **error);

/* After the last row: the stream's end and its checksum. *more: it holds more than the picture's rows. */
gboolean png_reader_end(PngReader *r, gboolean *more, GError **error);

/* Nothing is read from the input any more until the next call. */
void png_reader_rest(PngReader *r);

void png_reader_close(PngReader *r);

#endif
