/* SPDX-License-Identifier: MIT
 *
 * The turned rows of a picture that never has to be held as a whole: one that can be read anywhere, or one
 * that comes in order, turned so that the order of its rows stays.
 */
#ifndef WALK_H
#define WALK_H

#include <glib.h>
#include <tiletranspose/tt_frame.h>

#include "formats/format.h"

typedef struct Walk Walk;

/* Whether a walk over this picture decodes each of its tiles twice at most: not if the memory is too little
 * for half a column of them. */
gboolean walk_suits(const Reader *reader, TtOrientation turn, const Options *options);

/* The most bytes of pixels that it holds at once. */
gsize walk_memory(const Reader *reader, TtOrientation turn, const Options *options);

/* Turns a page. Nothing is read yet; rows are read in a thread of the walk's own, where there are cores for
 * it. Once *cancel is set it ends soon. */
Walk *walk_new(Reader *reader, gsize page, TtOrientation turn, const Options *options,
               const atomic_int *cancel, GError **error);

/* The next rows of the result, in memory that is theirs until the next call; to be called until they are
 * complete. */
gboolean walk_next(Walk *walk, TtImage *rows, GError **error);

/* The pieces that the source is cut into, and the bytes of the largest. */
gsize walk_pieces(const Walk *walk, gsize *bytes);

/* The microseconds that were spent on reading and on turning, so far. */
void walk_spent(Walk *walk, gint64 *reading, gint64 *turning);

void walk_free(Walk *walk);

#endif
