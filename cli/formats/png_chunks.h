/* SPDX-License-Identifier: MIT
 *
 * The chunks of a PNG beside its header, palette and pixels: read whole, carried over byte for byte, and
 * turned where they speak of geometry.
 */
#ifndef PNG_CHUNKS_H
#define PNG_CHUNKS_H

#include <stdio.h>

#include <glib.h>
#include <tiletranspose/tt.h>

typedef enum { BEFORE_PALETTE, BEFORE_PIXELS, AFTER_PIXELS } ChunkPlace;

typedef struct {
    char type[5];
    ChunkPlace place;
    GByteArray *data;
} Chunk;

typedef struct {
    GPtrArray *list;     /* of Chunk, in the file's order */
    guint64 pixel_bytes; /* compressed, in all IDAT chunks */
    gboolean animated;   /* an APNG */
    TtOrientation tag;   /* of the first carrier that states one: eXIf, raw profile, XMP */
} PngChunks;

/* Walks the chunks of a file that begins with a PNG signature, without decoding pixels. `path` is for
 * warnings about chunks that are damaged and so left out. */
gboolean png_chunks_read(FILE *file, const char *path, PngChunks *chunks, GError **error);

/* Makes the chunks fit the turned picture: resolutions swapped, what cannot be turned dropped with a
 * note, and with tag_used each carrier of the orientation tag set to 1. */
void png_chunks_turn(PngChunks *chunks, const char *path, TtOrientation turn, gboolean tag_used);

void png_chunks_clear(PngChunks *chunks);

#endif
