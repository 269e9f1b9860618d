/* SPDX-License-Identifier: MIT
 *
 * The cores of the machine, and helpers on those that have nothing to do.
 *
 * One of these serves all files of a run. A file's own thread keeps one core busy; work that can be done
 * beside it, it offers to an idle core, and does it itself when there is none. So one large file gets all
 * cores, and many files at once get one each, without anyone planning it.
 *
 * Offered work must run to its end without waiting for other work.
 */
#ifndef CORES_H
#define CORES_H

#include <glib.h>

typedef struct Cores Cores;

/* Any thread may use it. n: how many cores to use; 0: all that this process may, by its
 * affinity and its cgroup. */
Cores *cores_new(guint n);
guint cores_count(const Cores *cores); /* 1 for NULL */
void cores_free(Cores *cores);         /* waits for all helpers */

/* The calling thread begins, or ends, to keep a core busy. */
void cores_join(Cores *cores);
void cores_leave(Cores *cores);

/* TRUE if an idle core took the work: it calls work(data, NULL) on a thread of its own. FALSE, always for
 * NULL: do it yourself. */
gboolean cores_offer(Cores *cores, GFunc work, gpointer data);

#endif
