/* SPDX-License-Identifier: MIT
 *
 * The machine that is measured.
 */
#ifndef BENCHMARK_MACHINE_H
#define BENCHMARK_MACHINE_H

#include <glib.h>

typedef struct {
    char *model;
    guint processors;   /* that this process may use: affinity and quota */
    gsize second, last; /* bytes of a level 2 cache and of the last level; 0 if unknown */
    gsize memory;       /* bytes that can be had now without swapping */
} Machine;

void machine_read(Machine *machine);
void machine_clear(Machine *machine);

#endif
