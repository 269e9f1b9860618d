/* SPDX-License-Identifier: MIT
 *
 * Writing a PNG: libpng makes the container, our own blocks are its pixel data.
 */
#ifndef PNG_WRITER_H
#define PNG_WRITER_H

#include <glib.h>
#include <tiletranspose/tt.h>

#include "png_deflate.h"
#include "png_reader.h"

/* Where it is written: in order. */
typedef struct {
    gboolean (*write)(gpointer user, const guint8 *data, gsize size, GError **error);
    gpointer user;
} PngOutput;

typedef struct PngWriter PngWriter;

/* Writes everything that comes before the pixels. chunks: of Chunk, each in its place; they last as long as
 * the writer. cores may be NULL. */
PngWriter *png_writer_new(const PngOutput *output, const PngHeader *header, GPtrArray *chunks,
                          PngPacking packing, Cores *cores, GError **error);

/* How often all rows are wanted, from top to bottom: 7 times if the picture is interlaced, else once. */
guint png_writer_passes(const PngWriter *w);
gboolean png_writer_rows(PngWriter *w, const TtImage *rows, GError **error);

/* All rows were given: writes what comes after the pixels. */
gboolean png_writer_end(PngWriter *w, GError **error);

void png_writer_free(PngWriter *w);

#endif
