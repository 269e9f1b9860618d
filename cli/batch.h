/* SPDX-License-Identifier: MIT
 *
 * All files of a run, several at once.
 */
#ifndef BATCH_H
#define BATCH_H

#include "options.h"
#include "say.h"

/* Does the tasks, or for NULL those that options->tasks has, whatever becomes of any one of them, and says
 * what failed. Begins no other file and ends those it is at once *stopped_by, a signal's number, is set. The
 * error is one that lets nothing begin. */
Status batch_run(const GPtrArray *tasks, const Options *options, const volatile int *stopped_by,
                 GError **error);

#endif
