/* SPDX-License-Identifier: MIT
 *
 * The same work for many items, on the caller's core and all that are idle.
 */
#ifndef EACH_H
#define EACH_H

#include <stdatomic.h>

#include "cores.h"

/* Calls work(i, data) for each i below n, in any order and from any threads, and returns when all are done.
 * cores may be NULL. */
void each(Cores *cores, gsize n, void (*work)(gsize i, gpointer data), gpointer data);

/* The first error of such work. */
typedef struct {
    GMutex lock;
    GError *error;
} FirstError;

void first_error_init(FirstError *first);

/* Takes the error, which is dropped if it is not the first. */
void first_error_set(FirstError *first, GError *error);

/* Whether there is none, and *cancel is 0: otherwise that becomes one. */
gboolean first_error_is_none(FirstError *first, const atomic_int *cancel);

/* When no work runs: gives it away, in place of what *error may hold, and clears the rest. */
void first_error_end(FirstError *first, GError **error);

#endif
