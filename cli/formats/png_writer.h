/* SPDX-License-Identifier: MIT
 *
 * Writing a PNG: libpng makes the container, our own blocks are its pixel data.
 */
#ifndef PNG_WRITER_H
#define PNG_WRITER_H

#include <glib.h>
#include <tiletranspose/tt.h>

#include "png_chunk.h"
#include "png_deflate.h"
#include "png_reader.h"

/* Where it is written: in order. */
typedef struct {
    gboolean (*write)(gpointer user, const guint8 *data, gsize size, GError **error);
    gpointer user;
} PngOutput;

typedef struct {
    PngOutput output;
    const PngHeader *header;
    GPtrArray *chunks; /* of Chunk, each in its place, which last as long as the writer; or NULL */
    PngPacking packing;
    Cores *cores; /* may be NULL */
    /* Of a caller who has libpng write more chunks: sets them before anything is written. Errors of libpng
     * may pass through. NULL otherwise. */
    void (*describe)(png_structp png, png_infop info, gpointer user);
    gpointer user;
} PngWriterOptions;

typedef struct PngWriter PngWriter;

/* Writes everything that comes before the pixels. */
PngWriter *png_writer_new(const PngWriterOptions *options, GError **error);

/* How often all rows are wanted, from top to bottom: 7 times if the picture is interlaced, else once. */
guint png_writer_passes(const PngWriter *w);
gboolean png_writer_rows(PngWriter *w, const TtImage *rows, GError **error);

/* All rows were given: writes what comes after the pixels. */
gboolean png_writer_end(PngWriter *w, GError **error);

void png_writer_free(PngWriter *w);

#endif
