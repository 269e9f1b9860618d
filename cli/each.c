/* SPDX-License-Identifier: MIT
 *
 * One counter of items, which the caller and its helpers draw from.
 */
#include "each.h"

#include "fault.h"

typedef struct {
    void (*work)(gsize i, gpointer data);
    gpointer data;
    gsize n;
    gsize next; /* atomic */
    GMutex lock;
    GCond gone;
    guint helpers;
} Each;

static gboolean draw(Each *e, gsize *i) {
    *i = __atomic_fetch_add(&e->next, 1, __ATOMIC_RELAXED);
    return *i < e->n;
}

static void count_helper(Each *e, guint change) {
    g_mutex_lock(&e->lock);
    e->helpers += change;
    if (!e->helpers)
        g_cond_signal(&e->gone);
    g_mutex_unlock(&e->lock);
}

static void help(gpointer data, gpointer unused) {
    Each *e = data;
    gsize i;
    (void)unused;
    while (draw(e, &i))
        e->work(i, e->data);
    count_helper(e, (guint)-1);
}

/* A core may fall idle at any time, so this is tried before each item. */
static void ask_for_help(Each *e, Cores *cores) {
    if (__atomic_load_n(&e->next, __ATOMIC_RELAXED) + 1 >= e->n)
        return;
    count_helper(e, 1);
    if (!cores_offer(cores, help, e))
        count_helper(e, (guint)-1);
}

void each(Cores *cores, gsize n, void (*work)(gsize i, gpointer data), gpointer data) {
    Each e = {.work = work, .data = data, .n = n};
    gsize i;
    g_mutex_init(&e.lock);
    g_cond_init(&e.gone);
    do
        if (cores)
            ask_for_help(&e, cores);
    while (draw(&e, &i) && (work(i, data), TRUE));
    g_mutex_lock(&e.lock);
    while (e.helpers)
        g_cond_wait(&e.gone, &e.lock);
    g_mutex_unlock(&e.lock);
    g_mutex_clear(&e.lock);
    g_cond_clear(&e.gone);
}

void first_error_init(FirstError *first) {
    g_mutex_init(&first->lock);
    first->error = NULL;
}

void first_error_set(FirstError *first, GError *error) {
    g_mutex_lock(&first->lock);
    if (!first->error)
        first->error = error;
    else
        g_error_free(error);
    g_mutex_unlock(&first->lock);
}

gboolean first_error_is_none(FirstError *first, const atomic_int *cancel) {
    GError *error = NULL;
    if (*cancel && !fault(&error, STATUS_SIGNAL, "interrupted"))
        first_error_set(first, error);
    g_mutex_lock(&first->lock);
    gboolean none = !first->error;
    g_mutex_unlock(&first->lock);
    return none;
}

void first_error_end(FirstError *first, GError **error) {
    if (first->error) {
        g_clear_error(error);
        g_propagate_error(error, first->error);
    }
    g_mutex_clear(&first->lock);
}
