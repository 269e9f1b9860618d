/* SPDX-License-Identifier: MIT
 *
 * What a run would do, for people and for scripts.
 */
#ifndef DRY_RUN_H
#define DRY_RUN_H

#include "options.h"
#include "say.h"

/* A line for each task on stdout: the operation, or what becomes of a file whose output exists ("skip",
 * "refuse"); the input, "->" and the output. Names are quoted, where need be, as bash and zsh read them, so
 * that each is one word and each task one line. */
void dry_run(const GPtrArray *tasks, const Options *options);

/* The same for those of options->tasks, as they come; says what is wrong with lines. */
Status dry_run_arriving(const Options *options, const atomic_int *stopped_by, GError **error);

#endif
