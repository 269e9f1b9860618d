/* SPDX-License-Identifier: MIT
 *
 * One piece of work, and a wait for its end.
 */
#include "beside.h"

void beside_init(Beside *beside, Cores *cores) {
    *beside = (Beside){.cores = cores};
    g_mutex_init(&beside->lock);
    g_cond_init(&beside->done);
}

void beside_wait(Beside *beside) {
    g_mutex_lock(&beside->lock);
    while (beside->busy)
        g_cond_wait(&beside->done, &beside->lock);
    g_mutex_unlock(&beside->lock);
}

void beside_clear(Beside *beside) {
    beside_wait(beside);
    g_mutex_clear(&beside->lock);
    g_cond_clear(&beside->done);
}

static void work(gpointer data, gpointer user_data) {
    Beside *beside = data;
    (void)user_data;
    beside->work(beside->data);
    g_mutex_lock(&beside->lock);
    beside->busy = FALSE;
    g_cond_signal(&beside->done);
    g_mutex_unlock(&beside->lock);
}

void beside_start(Beside *beside, void (*function)(gpointer data), gpointer data) {
    beside_wait(beside);
    beside->work = function;
    beside->data = data;
    beside->busy = TRUE;
    if (!cores_offer(beside->cores, work, beside))
        work(beside, NULL);
}
