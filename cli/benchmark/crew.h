/* SPDX-License-Identifier: MIT
 *
 * Threads that stand ready, so that a measured copy does not pay for starting them.
 */
#ifndef BENCHMARK_CREW_H
#define BENCHMARK_CREW_H

#include <glib.h>

typedef struct Crew Crew;

/* The caller counts as one of the threads. There are fewer where the system grants no more. */
Crew *crew_new(guint threads);
void crew_free(Crew *crew);

/* Calls work(arg, i, n) for each i below n at once, n being 1 or all of the crew, and returns when all are
 * done. */
typedef void (*CrewWork)(gpointer arg, guint i, guint n);
void crew_run(Crew *crew, gboolean all, CrewWork work, gpointer arg);

#endif
