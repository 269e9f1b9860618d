/* SPDX-License-Identifier: MIT
 *
 * Threads for the length of one call.
 */
#ifndef TT_THREADS_H
#define TT_THREADS_H

#include <stddef.h>

/* How many threads this process may run at once: its affinity mask, cut by a cgroup's CPU quota. */
unsigned tt_threads_allowed(void);

/* What a caller's number means, 0 being all. To ask costs some ten microseconds. */
static inline unsigned tt_threads_of(unsigned wanted) {
    return wanted ? wanted : tt_threads_allowed();
}

/* Calls work(arg, i) once for each i below n, from up to `threads` threads, the caller's among them, and
 * returns when all are done. Where threads cannot be had the caller's does their share. */
void tt_parallel(void (*work)(const void *arg, size_t i), const void *arg, size_t n, unsigned threads);

#endif
