/* SPDX-License-Identifier: MIT
 *
 * A semaphore of bytes, first come, first served.
 */
#include "budget.h"

struct Budget {
    gsize limit, taken;
    guint64 next, serving; /* numbers of those who wait */
    GMutex lock;
    GCond changed;
};

Budget *budget_new(gsize limit) {
    Budget *budget = g_new0(Budget, 1);
    budget->limit = limit;
    g_mutex_init(&budget->lock);
    g_cond_init(&budget->changed);
    return budget;
}

void budget_free(Budget *budget) {
    g_mutex_clear(&budget->lock);
    g_cond_clear(&budget->changed);
    g_free(budget);
}

static gboolean fits(const Budget *budget, gsize bytes) {
    return !budget->taken || (budget->taken <= budget->limit && bytes <= budget->limit - budget->taken);
}

gboolean budget_take(Budget *budget, gsize bytes, const atomic_int *stop) {
    g_mutex_lock(&budget->lock);
    guint64 number = budget->next++;
    while (!*stop && (budget->serving != number || !fits(budget, bytes)))
        g_cond_wait_until(&budget->changed, &budget->lock, g_get_monotonic_time() + G_TIME_SPAN_SECOND / 10);
    gboolean taken = budget->serving == number && fits(budget, bytes);
    if (taken) {
        budget->taken += bytes;
        budget->serving++;
        g_cond_broadcast(&budget->changed);
    }
    g_mutex_unlock(&budget->lock);
    return taken;
}

void budget_give(Budget *budget, gsize bytes) {
    g_mutex_lock(&budget->lock);
    budget->taken -= bytes;
    g_cond_broadcast(&budget->changed);
    g_mutex_unlock(&budget->lock);
}
