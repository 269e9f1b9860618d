/* SPDX-License-Identifier: MIT
 *
 * How a picture is cut for a walk, so that all that the walk holds fits into its memory.
 */
#ifndef WALK_CUT_H
#define WALK_CUT_H

#include <glib.h>
#include <tiletranspose/tt_frame.h>

#include "formats/format.h"

enum {
    WALK_BUFFERS = 3, /* of blocks: being read, waiting, being turned */
    WALK_BANDS = 3,   /* pieces of rows: being turned, waiting, being written */
};

typedef struct {
    TtPlan plan;
    gsize block_rows, slab_rows; /* of the source, and of the result; as walk.c says */
    gsize blocks, slabs;         /* of a piece, at most */
    gboolean from_disk;          /* more than fits into the memory */
    gsize cell_bytes, cells;     /* of memory for as many */
} WalkCut;

gboolean walk_cut(const Reader *reader, TtOrientation turn, const Options *options, WalkCut *cut,
                  GError **error);

gsize walk_row_bytes(const TtImage *image, gsize pixels);

/* Whether pixels share bytes. */
gboolean walk_is_packed(const TtImage *image);

/* The picture, or a page of it, after the turn. */
TtImage walk_result(const TtImage *source, TtOrientation turn);

/* The GPU takes pieces whole. */
gboolean walk_is_on_gpu(const Options *options);

#endif
