/* SPDX-License-Identifier: MIT
 *
 * Temporary files: how they are named, whose they are, and the end of those that nobody owns any more.
 *
 * A temporary file is locked (flock) for as long as its run needs it. So one that can be locked by another
 * belongs to a run that died, and is removed by the next run in that folder. A folder that several machines
 * share may be on a file system that locks on each machine alone: the name says by which machine a file was
 * made, and that of another counts as dead only after a day without a change.
 */
#ifndef TEMPORARY_H
#define TEMPORARY_H

#include <glib.h>

/* Whether a file of this name, with or without its folder, is such a file: never an input. */
gboolean temporary_is(const char *path);

/* Creates one in the folder, which its user alone may read and write, and gives its open file. *lock is
 * another descriptor of the same file: it holds the lock until it is closed, after the file's last
 * renaming. -1 on failure. */
int temporary_create(const char *folder, char **path, int *lock, GError **error);

/* Removes those of dead runs from the folder of this path, once in the life of this process. */
void temporary_sweep(const char *path);

#endif
