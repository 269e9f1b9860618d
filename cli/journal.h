/* SPDX-License-Identifier: MIT
 *
 * The report of earlier runs, read as a journal: what need not be done again, and in place must not be.
 *
 * In place, a report has an intent before a file is replaced and a line for the file afterwards. A run that
 * dies in between leaves the question whether the file was replaced, and the disk answers it: either the
 * file is what the intent tells of, or it is still the original.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <sys/stat.h>

#include <glib.h>

#include "plan.h"

typedef struct Journal Journal;

/* Reads a report, or several one behind the other. A file that does not exist is an empty one. */
Journal *journal_read(const char *path, GError **error);
void journal_free(Journal *journal);

/* Whether the task was done: *done. FALSE if that is unclear, or if another turn was made: then the file must
 * be left alone. `input` is the task's open input. NULL is an empty journal. */
gboolean journal_look_up(const Journal *journal, const Task *task, TtOrientation operation, gboolean in_place,
                         int input, gboolean *done, GError **error);

#endif
