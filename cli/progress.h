/* SPDX-License-Identifier: MIT
 *
 * How far a run is, on the last line of a terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <glib.h>

#include "plan.h"

typedef struct Progress Progress;

/* Shows the line until the end, from a thread of its own. Whatever is said meanwhile appears above it. NULL,
 * which all of these take, if it is not wanted. */
Progress *progress_begin(const Options *options, const GPtrArray *tasks);
void progress_end(Progress *progress);

/* A file is in hand. Name and input stay until it no longer is; how much was read of the input is looked at,
 * if it is not -1. */
void progress_take_up(Progress *progress, const char *name, int input);
void progress_put_down(Progress *progress, const char *name);

/* One file more is done, whatever became of it. */
void progress_count(Progress *progress, guint64 bytes);

/* The end of a text that fits into so many columns, after "..." if that is not all of it. Free it with
 * g_free(). */
char *progress_fit(const char *text, int columns);

#endif
