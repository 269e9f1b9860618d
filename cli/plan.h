/* SPDX-License-Identifier: MIT
 *
 * From the names on the command line to a list of what is to become of each, before anything is opened.
 */
#ifndef PLAN_H
#define PLAN_H

#include <glib.h>

#include "options.h"

typedef struct {
    const char *input; /* as the user wrote it */
    char *output;      /* in place: the file itself, behind any symbolic links */
} Task;

/* The tasks in the order of the inputs. Refused, with NULL, is what could cost a file: two inputs that
 * land on one output, an output that is an input, a missing output folder. */
GPtrArray *plan_tasks(const Options *options, GError **error);

#endif
