/* SPDX-License-Identifier: MIT
 *
 * The memory for all frames of the process.
 */
#ifndef TT_BUDGET_H
#define TT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "tiletranspose/tt.h"

/* The bytes that the machine, the cgroups and RLIMIT_AS leave to this process, those that frames hold among
 * them. */
size_t tt_memory_allowed(void);

/* What all frames together may hold: TT_MEMORY_LIMIT, or half of what is allowed. TT_ERROR_ARGUMENT if the
 * environment's cannot be understood. */
TtStatus tt_memory_limit(size_t *limit);

/* Counts bytes as held, unless all frames together would then hold more than limit. */
bool tt_memory_take(size_t bytes, size_t limit);
/* So many of them have been written to: only then are they missing from what the system has left. */
void tt_memory_fill(size_t bytes);
void tt_memory_give(size_t bytes, size_t filled);
size_t tt_memory_held(void);

#endif
