/* SPDX-License-Identifier: MIT
 *
 * A chunk beside header, palette and pixels, as bytes.
 */
#ifndef PNG_CHUNK_H
#define PNG_CHUNK_H

#include <glib.h>

typedef enum { BEFORE_PALETTE, BEFORE_PIXELS, AFTER_PIXELS } ChunkPlace;

typedef struct {
    char type[5];
    ChunkPlace place;
    GByteArray *data;
} Chunk;

#endif
