/* SPDX-License-Identifier: MIT
 *
 * The rows of the turned picture, from top to bottom, whatever the source can do.
 */
#ifndef TURNED_H
#define TURNED_H

#include <glib.h>
#include <tiletranspose/tt_frame.h>

#include "formats/format.h"

typedef struct Turned Turned;

/* The picture of reader turned by turn. No pixel is read yet. *cancel is looked at between bands. */
Turned *turned_new(Reader *reader, TtOrientation turn, const Options *options, const atomic_int *cancel,
                   GError **error);

/* The bytes of pixels that a turn of this picture holds at once, beside a few bands. */
gsize turned_memory(const Reader *reader, TtOrientation turn, const Options *options);

/* How the turn is made and why, for a note. Free it with g_free(). */
char *turned_way(const Turned *turned);

/* The picture, or each of its pages, as it comes out; its data is NULL. */
TtImage turned_shape(const Turned *turned);

/* The next band of rows, page after page, as many as suit the source, in memory that is the band's until the
 * next call; FALSE with *band empty (a height of 0) after the last row. */
gboolean turned_next(Turned *turned, TtImage *band, GError **error);

/* Back to the first row. FALSE if the source went by and cannot be read again, or the system has
 * too little memory. */
gboolean turned_rewind(Turned *turned);

/* Whether it failed for a GPU that nobody asked for: without that it may go well. */
gboolean turned_was_let_down(Turned *turned);

/* Adds the seconds that were spent on reading rows and on turning them, so far, to both. */
void turned_seconds(const Turned *turned, double *reading, double *turning);

void turned_free(Turned *turned);

#endif
