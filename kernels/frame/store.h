/* SPDX-License-Identifier: MIT
 *
 * Where a frame keeps its picture.
 */
#ifndef TT_STORE_H
#define TT_STORE_H

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
};

/* The picture in one piece of memory. result is its shape. */
TtStatus tt_store_memory_new(const TtImage *result, const TtFrameOptions *options, TtStore **store);

#endif
