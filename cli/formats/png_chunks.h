/* SPDX-License-Identifier: MIT
 *
 * The chunks of a PNG beside its header, palette and pixels: read whole, carried over byte for byte, and
 * turned where they speak of geometry.
 */
#ifndef PNG_CHUNKS_H
#define PNG_CHUNKS_H

#include <glib.h>
#include <tiletranspose/tt.h>

#include "png_chunk.h"
#include "png_input.h"

typedef struct {
    GPtrArray *list; /* of Chunk, in the file's order */
    guint64 bytes;   /* of their data */
    GString *loss;   /* what is damaged or surplus and so left out, as "whose ..."; or empty */
    PngPixels pixels;
    gboolean scattered; /* there are more chunks of pixels, behind other chunks */
    gboolean palette;
    gboolean animated; /* an APNG */
    TtOrientation tag; /* of eXIf, or else of EXIF in a raw profile, or else of XMP */
} PngChunks;

/* Walks the chunks of a file that begins with a PNG signature, without decoding pixels. limit: the most
 * bytes of memory for their data. */
gboolean png_chunks_read(PngInput *input, gsize limit, PngChunks *chunks, GError **error);

/* A chunk that only the program which wrote it knows how to turn, NULL if there is none. */
const Chunk *png_chunks_private(const PngChunks *chunks);

/* Makes the chunks fit the turned picture, which was of this shape: sizes and resolutions swapped, what
 * cannot be turned dropped with a note, and if it is upright each carrier of the orientation tag set to 1. */
void png_chunks_turn(PngChunks *chunks, const char *path, TtOrientation turn, const TtImage *shape,
                     gboolean upright);

/* Drops what is not needed to show the picture. Kept are transparency, background, colour space, the shape
 * of pixels, and an orientation tag that still has to be followed. */
void png_chunks_strip(PngChunks *chunks);

void png_chunks_clear(PngChunks *chunks);

#endif
