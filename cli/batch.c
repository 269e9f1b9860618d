/* SPDX-License-Identifier: MIT
 *
 * Workers that draw the next file from the list until none is left.
 */
#include "batch.h"

#include "plan.h"
#include "turn.h"

typedef struct {
    const GPtrArray *tasks;
    const Options *options;
    const volatile int *stopped_by;
    gint next, done, failed; /* atomic */
} Batch;

static gpointer work(gpointer data) {
    Batch *batch = data;
    cores_join(batch->options->cores);
    while (!*batch->stopped_by) {
        guint i = (guint)g_atomic_int_add(&batch->next, 1);
        if (i >= batch->tasks->len)
            break;
        const Task *task = batch->tasks->pdata[i];
        GError *error = NULL;
        if (turn_file(task, batch->options, batch->stopped_by, &error)) {
            g_atomic_int_inc(&batch->done);
            continue;
        }
        if (!*batch->stopped_by) {
            say_error(task->input, "%s", error->message);
            g_atomic_int_inc(&batch->failed);
        }
        g_error_free(error);
    }
    cores_leave(batch->options->cores);
    return NULL;
}

/* This thread is one of the workers. Fewer threads than wanted only take longer. */
static void run_workers(Batch *batch, guint jobs) {
    GPtrArray *threads = g_ptr_array_new();
    for (guint i = 1; i < jobs; i++) {
        GThread *thread = g_thread_try_new("worker", work, batch, NULL);
        if (thread)
            g_ptr_array_add(threads, thread);
    }
    work(batch);
    for (guint i = 0; i < threads->len; i++)
        g_thread_join(threads->pdata[i]);
    g_ptr_array_unref(threads);
}

Status batch_run(const GPtrArray *tasks, const Options *options, const volatile int *stopped_by) {
    Options shared = *options;
    shared.cores = cores_new((guint)options->threads);
    shared.budget = budget_new(options->memory_limit ? options->memory_limit : options_memory(options) / 2);
    guint cores = cores_count(shared.cores), jobs = options->jobs ? (guint)options->jobs : cores;
    jobs = MIN(jobs, tasks->len);
    if (jobs > 1) /* the library, unlike the codecs, does not look for idle cores */
        shared.threads = (int)MAX(cores / jobs, 1);
    Batch batch = {.tasks = tasks, .options = &shared, .stopped_by = stopped_by};
    run_workers(&batch, jobs);
    cores_free(shared.cores);
    budget_free(shared.budget);

    if (*stopped_by) {
        say_error(NULL, "interrupted: %d of %u files were done, no file is half done", batch.done,
                  tasks->len);
        return STATUS_SIGNAL + *stopped_by;
    }
    if (batch.failed && tasks->len > 1)
        say_warning(NULL, "%d of %u files failed, the rest are done", batch.failed, tasks->len);
    return batch.failed ? STATUS_FAILED : STATUS_DONE;
}
