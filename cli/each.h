/* SPDX-License-Identifier: MIT
 *
 * The same work for many items, on the caller's core and all that are idle.
 */
#ifndef EACH_H
#define EACH_H

#include "cores.h"

/* Calls work(i, data) for each i below n, in any order and from any threads, and returns when all are done.
 * cores may be NULL. */
void each(Cores *cores, gsize n, void (*work)(gsize i, gpointer data), gpointer data);

#endif
