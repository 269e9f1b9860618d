/* SPDX-License-Identifier: MIT
 *
 * Where a frame keeps its picture.
 */
#ifndef TT_STORE_H
#define TT_STORE_H

#include <pthread.h>

#include "../image.h"
#include "tiletranspose/tt_frame.h"

typedef struct TtStore TtStore;

struct TtStore {
    /* Turns a piece into the rectangle `to` of the result. Called from several threads at once, for
     * rectangles that do not overlap. */
    TtStatus (*put)(TtStore *store, const TtImage *piece, TtOrientation o, TtRect to,
                    const TtOptions *options);
    /* Copies the rectangle `from` of the result. Called only for pixels that have been put. */
    TtStatus (*read)(TtStore *store, TtRect from, const TtImage *into, const TtOptions *options);
    void (*free)(TtStore *store);
    TtFrameStore kind;
    char where[320]; /* in words */
};

/* The picture in one piece of memory. result is its shape. TT_ERROR_MEMORY if it has more bytes than limit,
 * all frames together would hold more than all_limit, or the system has not so much. */
TtStatus tt_store_memory_new(const TtImage *result, size_t limit, size_t all_limit,
                             const TtFrameOptions *options, TtStore **store);

/* The picture in a temporary file, with at most `limit` bytes of it in memory. o is the turn that the pieces
 * will get: rows of the source, put in order, then fill whole runs of the file. */
TtStatus tt_store_spill_new(const TtImage *result, TtOrientation o, size_t limit,
                            const TtFrameOptions *options, TtStore **store);

/* ---- What stores share ----------------------------------------------------------------------------- */

/* Bytes for pixels: the caller's, or huge pages where the system has them. */
typedef struct {
    void *data; /* NULL: none */
    size_t bytes;
    void (*release)(void *memory, size_t bytes, void *user); /* NULL: the memory was mapped */
    void *user;
} TtMemory;

bool tt_memory_new(TtMemory *memory, size_t bytes, const TtFrameOptions *options);
void tt_memory_free(TtMemory *memory);

/* Turns a piece into the rectangle `to` of a picture that other pieces are put into at the same time. Packed
 * pieces may share bytes with their neighbours: seam is held while such bytes are set. */
TtStatus tt_place(const TtImage *piece, TtOrientation o, const TtImage *picture, TtRect to,
                  pthread_mutex_t *seam, const TtOptions *options);

#endif
