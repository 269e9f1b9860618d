/* SPDX-License-Identifier: MIT
 *
 * All files of a run, several at once.
 */
#ifndef BATCH_H
#define BATCH_H

#include "options.h"
#include "say.h"

/* Does the tasks, or for NULL those that options->tasks has, whatever becomes of any one of them, and says
 * what failed. Begins no other file once *options->stop is set, a signal's number, and gives up those it is
 * at once *cancel is. The error is one that lets nothing begin. */
Status batch_run(const GPtrArray *tasks, const Options *options, const atomic_int *cancel, GError **error);

#endif
