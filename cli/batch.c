/* SPDX-License-Identifier: MIT
 *
 * Workers that draw the next file from the list until none is left.
 */
#include "batch.h"

#include <string.h>

#include "journal.h"
#include "plan.h"
#include "report.h"
#include "tasks.h"
#include "turn.h"

typedef struct {
    const GPtrArray *tasks; /* or NULL: */
    Tasks *arriving;
    const Options *options;
    const volatile int *stopped_by;
    gint next; /* atomic */
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
        char *line = task->input ? NULL : g_strdup_printf("line %" G_GUINT64_FORMAT, task->line);
        say_error(task->input ? task->input : line, "%s", error->message);
        g_free(line);
    }
    Report *report = batch->options->reporting;
    if (report && !report_file(report, task, outcome, &unwritten)) {
        say_error(task->input, "%s", unwritten->message);
        g_error_free(unwritten);
    }
    add_to_tally(batch, outcome);
}

/* NULL if there are no more. While it waits, other files may have the core. */
static Task *next_task(Batch *batch) {
    if (batch->tasks) {
        guint i = (guint)g_atomic_int_add(&batch->next, 1);
        return i < batch->tasks->len ? batch->tasks->pdata[i] : NULL;
    }
    cores_leave(batch->options->cores);
    Task *task = tasks_next(batch->arriving, batch->stopped_by);
    cores_join(batch->options->cores);
    return task;
}

static gpointer work(gpointer data) {
    Batch *batch = data;
    Task *task;
    cores_join(batch->options->cores);
    while (!*batch->stopped_by && (task = next_task(batch))) {
        GError *error = NULL;
        Outcome outcome = {0};
        if (turn_file(task, batch->options, batch->stopped_by, &outcome, &error) || !*batch->stopped_by)
            finish(batch, task, &outcome, error);
        g_clear_error(&error);
        outcome_clear(&outcome);
        if (batch->arriving)
            tasks_done(batch->arriving, task);
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

static guint files_in_all(const Tally *tally) {
    guint files = 0;
    for (int kind = 0; kind < OUTCOME_KINDS; kind++)
        files += tally->files[kind];
    return files;
}

static Status sum_up(const Batch *batch) {
    const guint *files = batch->tally.files;
    guint failed = files[OUTCOME_FAILED], ended = files_in_all(&batch->tally);
    guint all = batch->tasks ? batch->tasks->len : ended;
    if (*batch->stopped_by) {
        say_error(NULL, "interrupted: %u of %u files were done, no file is half done", ended - failed, all);
        return STATUS_SIGNAL + *batch->stopped_by;
    }
    if (files[OUTCOME_IGNORED])
        say_warning(NULL, "%u files in folders are no pictures and were left alone (see -v)",
                    files[OUTCOME_IGNORED]);
    if (files[OUTCOME_IGNORED] == ended && (ended || !batch->tasks)) {
        say_error(NULL, batch->tasks ? "no picture was found" : "no task was given");
        return STATUS_NO_INPUT;
    }
    if (failed && all > 1)
        say_warning(NULL, "%u of %u files failed, the rest are done", failed, all);
    return failed ? STATUS_FAILED : STATUS_DONE;
}

/* What became of the run, into the report; a report that lacks a line makes it fail. */
static Status end_report(Batch *batch, Status status, gint64 started) {
    GError *error = NULL;
    if (!batch->options->reporting)
        return status;
    double seconds = (double)(g_get_monotonic_time() - started) * 1e-6;
    report_summary(batch->options->reporting, &batch->tally, seconds, status, NULL);
    if (!report_end(batch->options->reporting, &error)) {
        say_error(NULL, "%s", error->message);
        g_error_free(error);
        status = status ? status : STATUS_FAILED;
    }
    return status;
}

/* What the files of the run share. */
static gboolean begin(Batch *batch, Options *shared, GError **error) {
    if (!batch->tasks && !(batch->arriving = tasks_open(shared, error)))
        return FALSE;
    if (shared->resume && !(shared->journal = journal_read(shared->resume, error)))
        return FALSE;
    return !shared->report || (shared->reporting = report_begin(shared->report, error));
}

Status batch_run(const GPtrArray *tasks, const Options *options, const volatile int *stopped_by,
                 GError **error) {
    gint64 started = g_get_monotonic_time();
    Options shared = *options;
    Batch batch = {.tasks = tasks, .options = &shared, .stopped_by = stopped_by};
    if (!begin(&batch, &shared, error)) {
        if (shared.journal)
            journal_free(shared.journal);
        return STATUS_USAGE;
    }
    g_mutex_init(&batch.lock);
    shared.cores = cores_new((guint)options->threads);
    shared.budget = budget_new(options->memory_limit ? options->memory_limit : options_memory(options) / 2);
    guint cores = cores_count(shared.cores), jobs = options->jobs ? (guint)options->jobs : cores;
    jobs = tasks ? MIN(jobs, tasks->len) : jobs;
    if (jobs > 1) /* the library, unlike the codecs, does not look for idle cores */
        shared.threads = (int)MAX(cores / jobs, 1);
    run_workers(&batch, jobs);
    if (batch.arriving)
        tasks_close(batch.arriving);
    cores_free(shared.cores);
    budget_free(shared.budget);
    if (shared.journal)
        journal_free(shared.journal);
    g_mutex_clear(&batch.lock);
    return end_report(&batch, sum_up(&batch), started);
}
