/* SPDX-License-Identifier: MIT
 *
 * A count of idle cores, and a thread for each piece of work that takes one.
 */
#include "cores.h"

#include "../kernels/threads.h"

struct Cores {
    guint count;
    GMutex lock;
    gint idle; /* without a busy thread; below 0 when more threads joined than there are cores */
    guint helpers;
    GCond no_helpers;
};

typedef struct {
    Cores *cores;
    GFunc work;
    gpointer data;
} Offer;

Cores *cores_new(guint n) {
    Cores *cores = g_new0(Cores, 1);
    cores->count = n ? n : tt_threads_allowed();
    cores->idle = (gint)cores->count;
    g_mutex_init(&cores->lock);
    g_cond_init(&cores->no_helpers);
    return cores;
}

guint cores_count(const Cores *cores) {
    return cores ? cores->count : 1;
}

void cores_free(Cores *cores) {
    g_mutex_lock(&cores->lock);
    while (cores->helpers)
        g_cond_wait(&cores->no_helpers, &cores->lock);
    g_mutex_unlock(&cores->lock);
    g_mutex_clear(&cores->lock);
    g_cond_clear(&cores->no_helpers);
    g_free(cores);
}

void cores_join(Cores *cores) {
    g_mutex_lock(&cores->lock);
    cores->idle--;
    g_mutex_unlock(&cores->lock);
}

void cores_leave(Cores *cores) {
    g_mutex_lock(&cores->lock);
    cores->idle++;
    g_mutex_unlock(&cores->lock);
}

static gboolean take_one(Cores *cores) {
    g_mutex_lock(&cores->lock);
    gboolean taken = cores->idle > 0;
    cores->idle -= taken;
    cores->helpers += (guint)taken;
    g_mutex_unlock(&cores->lock);
    return taken;
}

static void give_back(Cores *cores) {
    g_mutex_lock(&cores->lock);
    cores->idle++;
    if (!--cores->helpers)
        g_cond_signal(&cores->no_helpers);
    g_mutex_unlock(&cores->lock);
}

static gpointer help(gpointer data) {
    Offer *offer = data;
    offer->work(offer->data, NULL);
    give_back(offer->cores);
    g_free(offer);
    return NULL;
}

gboolean cores_offer(Cores *cores, GFunc work, gpointer data) {
    if (!cores || !take_one(cores))
        return FALSE;
    Offer *offer = g_new(Offer, 1);
    *offer = (Offer){cores, work, data};
    /* A thread costs some 20 microseconds, the work milliseconds: a pool would only add states. */
    GThread *thread = g_thread_try_new("helper", help, offer, NULL);
    if (thread) {
        g_thread_unref(thread);
        return TRUE;
    }
    give_back(cores);
    g_free(offer);
    return FALSE;
}
