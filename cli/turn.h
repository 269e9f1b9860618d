/* SPDX-License-Identifier: MIT
 *
 * Turning one file.
 */
#ifndef TURN_H
#define TURN_H

#include "options.h"
#include "outcome.h"
#include "plan.h"

/* Does a task, and fills in the outcome, which is empty before. On failure the original is as it was and
 * nothing is left under the output's name. Stops with the status STATUS_SIGNAL soon after *cancel is set. */
gboolean turn_file(const Task *task, const Options *options, const atomic_int *cancel, Outcome *outcome,
                   GError **error);

#endif
