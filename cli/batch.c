/* SPDX-License-Identifier: MIT
 *
 * Workers that draw the next file from the list until none is left.
 */
#include "batch.h"

#include <string.h>

#include "plan.h"
#include "report.h"
#include "turn.h"

typedef struct {
    const GPtrArray *tasks;
    const Options *options;
    const volatile int *stopped_by;
    gint next;      /* atomic */
    Report *report; /* or NULL */
    GMutex lock;
    Tally tally;
} Batch;

static void add_to_tally(Batch *batch, const Outcome *outcome) {
    g_mutex_lock(&batch->lock);
    tally_add(&batch->tally, outcome);
    g_mutex_unlock(&batch->lock);
}

/* Says what failed, and reports and counts what became of a file. */
static void finish(Batch *batch, const Task *task, Outcome *outcome, GError *error) {
    GError *unwritten = NULL;
    if (error) {
        outcome->kind = OUTCOME_FAILED;
        outcome->message = g_strdup(error->message);
        say_error(task->input, "%s", error->message);
    }
    if (batch->report && !report_file(batch->report, task, outcome, &unwritten)) {
        say_error(task->input, "%s", unwritten->message);
        g_error_free(unwritten);
    }
    add_to_tally(batch, outcome);
}

static gpointer work(gpointer data) {
    Batch *batch = data;
    cores_join(batch->options->cores);
    while (!*batch->stopped_by) {
        guint i = (guint)g_atomic_int_add(&batch->next, 1);
        if (i >= batch->tasks->len)
            break;
        const Task *task = batch->tasks->pdata[i];
        GError *error = NULL;
        Outcome outcome = {0};
        if (turn_file(task, batch->options, batch->stopped_by, &outcome, &error) || !*batch->stopped_by)
            finish(batch, task, &outcome, error);
        g_clear_error(&error);
        outcome_clear(&outcome);
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

static guint files_done(const Tally *tally) {
    guint done = 0;
    for (int kind = 0; kind < OUTCOME_KINDS; kind++)
        done += kind == OUTCOME_FAILED ? 0 : tally->files[kind];
    return done;
}

static Status sum_up(const Batch *batch) {
    guint failed = batch->tally.files[OUTCOME_FAILED], all = batch->tasks->len;
    if (*batch->stopped_by) {
        say_error(NULL, "interrupted: %u of %u files were done, no file is half done",
                  files_done(&batch->tally), all);
        return STATUS_SIGNAL + *batch->stopped_by;
    }
    if (failed && all > 1)
        say_warning(NULL, "%u of %u files failed, the rest are done", failed, all);
    return failed ? STATUS_FAILED : STATUS_DONE;
}

/* What became of the run, into the report; a report that lacks a line makes it fail. */
static Status end_report(Batch *batch, Status status, gint64 started) {
    GError *error = NULL;
    if (!batch->report)
        return status;
    double seconds = (double)(g_get_monotonic_time() - started) * 1e-6;
    report_summary(batch->report, &batch->tally, seconds, status, NULL);
    if (!report_end(batch->report, &error)) {
        say_error(NULL, "%s", error->message);
        g_error_free(error);
        status = status ? status : STATUS_FAILED;
    }
    return status;
}

Status batch_run(const GPtrArray *tasks, const Options *options, const volatile int *stopped_by,
                 GError **error) {
    gint64 started = g_get_monotonic_time();
    Options shared = *options;
    Batch batch = {.tasks = tasks, .options = &shared, .stopped_by = stopped_by};
    if (options->report && !(batch.report = report_begin(options->report, error)))
        return STATUS_USAGE;
    g_mutex_init(&batch.lock);
    shared.cores = cores_new((guint)options->threads);
    shared.budget = budget_new(options->memory_limit ? options->memory_limit : options_memory(options) / 2);
    guint cores = cores_count(shared.cores), jobs = options->jobs ? (guint)options->jobs : cores;
    jobs = MIN(jobs, tasks->len);
    if (jobs > 1) /* the library, unlike the codecs, does not look for idle cores */
        shared.threads = (int)MAX(cores / jobs, 1);
    run_workers(&batch, jobs);
    cores_free(shared.cores);
    budget_free(shared.budget);
    g_mutex_clear(&batch.lock);
    return end_report(&batch, sum_up(&batch), started);
}
