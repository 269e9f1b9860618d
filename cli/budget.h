/* SPDX-License-Identifier: MIT
 *
 * Memory for the pictures of all files that are turned at once.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdatomic.h>

#include <glib.h>

typedef struct Budget Budget;

/* For `limit` bytes in all. */
Budget *budget_new(gsize limit);
void budget_free(Budget *budget);

/* Waits until so many bytes are free, in the order of the calls; what is larger than the whole budget waits
 * until it is alone. FALSE once *stop is set, with nothing taken. */
gboolean budget_take(Budget *budget, gsize bytes, const atomic_int *stop);
void budget_give(Budget *budget, gsize bytes);

#endif
