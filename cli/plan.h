/* SPDX-License-Identifier: MIT
 *
 * From what the command line names to a list of what is to become of each file, before any is opened.
 */
#ifndef PLAN_H
#define PLAN_H

#include <glib.h>

#include "options.h"

typedef struct {
    char *input;  /* as the user wrote it, or as a folder's walk found it; "-" is stdin */
    char *output; /* in place: the file itself, behind any symbolic links; "-" is stdout */
    TtOrientation operation;
    guint64 bytes;   /* of the input, 0 if that is not known */
    gboolean walked; /* it was found in a folder, not named */
    gboolean exists; /* there is an output already */
    guint64 line;    /* of a list of tasks, from 1; else 0 */
    char *problem;   /* why it cannot even be begun, then without an input or output, perhaps; or NULL */
} Task;

void task_free(gpointer task); /* may be NULL */

/* The tasks in the order of the inputs, those of this machine's shard. Refused, with NULL, is what could cost
 * a file, in whichever shard: two inputs that land on one output, an input that is named twice, an output
 * that is an input, a missing output folder. */
GPtrArray *plan_tasks(const Options *options, GError **error);

#endif
