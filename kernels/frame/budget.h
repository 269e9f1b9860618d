/* SPDX-License-Identifier: MIT */
#ifndef TT_BUDGET_H
#define TT_BUDGET_H

#include <stddef.h>

/* The memory that the machine, the cgroup and RLIMIT_AS leave to this process, in bytes. */
size_t tt_memory_allowed(void);

#endif
