/* SPDX-License-Identifier: MIT
 *
 * The control groups that this process is in.
 */
#ifndef TT_CGROUP_H
#define TT_CGROUP_H

#include <stdio.h>

/* Where /proc and /sys are: tests bring a machine of their own. */
#ifndef TT_SYSTEM_ROOT
#define TT_SYSTEM_ROOT ""
#endif

/* Calls visit(folder, version, data) for the group of this process that the controller ("memory", "cpu") is
 * in and for each group above it, up to the root, in the hierarchies of both versions. A limit of any of them
 * counts. */
void tt_cgroup_each(const char *controller, void (*visit)(const char *folder, int version, void *data),
                    void *data);

/* Opens a file of a group; NULL if it has none of that name. */
FILE *tt_cgroup_open(const char *folder, const char *name);

#endif
