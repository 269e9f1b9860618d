/* SPDX-License-Identifier: MIT
 *
 * Tasks that arrive one by one, as lines of JSON: {"op":"rot90","in":"a.png","out":"b.png"}.
 *
 *   op    an orientation's name, or "auto"; without it the operation of the command line
 *   in    the input
 *   out   the output; without it where -d or --in-place say
 *
 * A name that is not UTF-8 is given as base64 under its key with "_bytes" behind it, as in reports.
 */
#ifndef TASKS_H
#define TASKS_H

#include "plan.h"

typedef struct Tasks Tasks;

/* Opens options->tasks, which stay the caller's. NULL if it cannot be read. */
Tasks *tasks_open(const Options *options, GError **error);
gboolean tasks_close(Tasks *tasks); /* whether there was any task, of whichever shard */

/* The next task, as soon as its line is there, for any thread. It waits for earlier ones that read what this
 * one writes, or write what it touches: lines do what they would do one after another. What is wrong with a
 * line is the task's problem. NULL at the end, and soon after *cancel is set. */
Task *tasks_next(Tasks *tasks, const atomic_int *cancel);

/* The end of each task. */
void tasks_done(Tasks *tasks, Task *task);

#endif
