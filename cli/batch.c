/* SPDX-License-Identifier: MIT
 *
 * Workers that draw the next file from the list until none is left.
 */
#include "batch.h"

#include <string.h>

#include "journal.h"
#include "output_file.h"
#include "plan.h"
#include "progress.h"
#include "report.h"
#include "tasks.h"
#include "turn.h"

typedef struct {
    const GPtrArray *tasks; /* or NULL: */
    Tasks *arriving;
    gboolean any; /* of those there were, if only for another shard */
    const Options *options;
    const atomic_int *cancel;
    int gpus; /* to share the files out among; 0: none, or one was named */
    gint64 started;
    gint next, workers; /* atomic */
    gint enough;        /* atomic: one failed, and that is to be the end */
    gboolean untold;    /* the report lacks a line */
    GMutex lock;        /* of what follows, and of that */
    Tally tally;
} Batch;

static double seconds_since(gint64 moment) {
    return (double)(g_get_monotonic_time() - moment) * 1e-6;
}

static void say_and_free(const char *file, GError *error) {
    say_error(file, "%s", error->message);
    g_error_free(error);
}

/* Says what failed, and reports and counts what became of a file. */
static void finish(Batch *batch, const Task *task, Outcome *outcome, const GError *error) {
    GError *unwritten = NULL;
    if (error) {
        outcome->kind = OUTCOME_FAILED;
        outcome->message = g_strdup(error->message);
        char *line = task->line ? g_strdup_printf("line %" G_GUINT64_FORMAT, task->line) : NULL;
        say_error(task->input ? task->input : line, "%s", error->message);
        g_free(line);
    }
    Report *report = batch->options->reporting;
    gboolean told = !report || report_file(report, task, outcome, &unwritten);
    if (!told)
        say_and_free(task->input, unwritten);
    if (batch->options->fail_fast && (error || !told))
        g_atomic_int_set(&batch->enough, 1);
    progress_count(batch->options->watching, outcome->bytes_in);
    g_mutex_lock(&batch->lock);
    batch->untold |= !told;
    tally_add(&batch->tally, outcome);
    g_mutex_unlock(&batch->lock);
}

static void do_task(Batch *batch, const Task *task, const Options *options) {
    GError *error = NULL;
    Outcome outcome = {0};
    turn_file(task, options, batch->cancel, &outcome, &error);
    gboolean given_up = error && (*batch->cancel || error->code == STATUS_SIGNAL);
    if (!given_up)
        finish(batch, task, &outcome, error);
    g_clear_error(&error);
    outcome_clear(&outcome);
}

/* NULL if there are no more. While it waits, other files may have the core. */
static Task *next_task(Batch *batch) {
    if (batch->tasks) {
        guint i = (guint)g_atomic_int_add(&batch->next, 1);
        return i < batch->tasks->len ? batch->tasks->pdata[i] : NULL;
    }
    cores_leave(batch->options->cores);
    Task *task = tasks_next(batch->arriving, batch->options->stop);
    cores_join(batch->options->cores);
    return task;
}

static gpointer work(gpointer data) {
    Batch *batch = data;
    Options options = *batch->options;
    int worker = g_atomic_int_add(&batch->workers, 1);
    Task *task;
    if (batch->gpus)
        options.device = worker % batch->gpus;
    cores_join(options.cores);
    while (!*options.stop && !g_atomic_int_get(&batch->enough) && (task = next_task(batch))) {
        if (!g_atomic_int_get(&batch->enough)) /* it may have been waited for */
            do_task(batch, task, &options);
        if (batch->arriving)
            tasks_done(batch->arriving, task);
    }
    cores_leave(options.cores);
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

/* Files go round the GPUs, a worker's all to one. */
static int gpus_to_share(const Options *options) {
    char about[8];
    int gpus = 0;
    if (options->device_named || g_strcmp0(options->backend, "cuda"))
        return 0;
    while (!tt_device_describe(gpus, about, sizeof(about)))
        gpus++;
    return gpus;
}

/* ---- The end ------------------------------------------------------------------------------------------ */

static guint count_files(const Tally *tally) {
    guint files = 0;
    for (int kind = 0; kind < OUTCOME_KINDS; kind++)
        files += tally->files[kind];
    return files;
}

/* "5 files, 1.2 MB in 0.2 s: 2 turned, 1 failed, 2 not done". */
static void say_summary(const Batch *batch) {
    static const OutcomeKind order[] = {OUTCOME_TURNED,  OUTCOME_COPIED, OUTCOME_UNCHANGED,
                                        OUTCOME_SKIPPED, OUTCOME_FAILED, OUTCOME_IGNORED};
    guint done = count_files(&batch->tally), all = batch->tasks ? batch->tasks->len : done;
    if (all <= 1 && !*batch->options->stop && !batch->options->verbose)
        return;
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
        if (batch->tally.files[order[i]])
            g_string_append_printf(text, ", %u %s", batch->tally.files[order[i]], outcome_word(order[i]));
    if (batch->tally.files[OUTCOME_IGNORED])
        g_string_append(text, " as no picture");
    if (done < all)
        g_string_append_printf(text, ", %u not done", all - done);
    char *bytes = shown_size(batch->tally.bytes_in);
    say_result("%s%u file%s, %s in %.1f s%s%s", *batch->options->stop ? "interrupted: " : "", all,
               all == 1 ? "" : "s", bytes, seconds_since(batch->started), text->len ? ": " : "",
               text->len ? text->str + 2 : "");
    g_free(bytes);
    g_string_free(text, TRUE);
}

static Status status_of(const Batch *batch) {
    guint ignored = batch->tally.files[OUTCOME_IGNORED], ended = count_files(&batch->tally);
    if (*batch->options->stop)
        return STATUS_SIGNAL + *batch->options->stop;
    gboolean any = batch->tasks ? !ended || ended > ignored || batch->options->shard.count : batch->any;
    if (!any) {
        say_error(NULL, batch->tasks ? "no picture was found" : "no task was given");
        return STATUS_NO_INPUT;
    }
    return batch->tally.files[OUTCOME_FAILED] || batch->untold ? STATUS_FAILED : STATUS_DONE;
}

/* A report that lacks a line makes the run fail. */
static Status end_report(Batch *batch, Status status) {
    GError *error = NULL;
    Report *report = batch->options->reporting;
    if (!report)
        return status;
    gboolean told = report_summary(report, &batch->tally, seconds_since(batch->started), status, &error);
    if (!report_end(report, told ? &error : NULL) || !told) {
        say_and_free(NULL, error);
        return status ? status : STATUS_FAILED;
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

Status batch_run(const GPtrArray *tasks, const Options *options, const atomic_int *cancel, GError **error) {
    Options shared = *options;
    Batch batch = {.tasks = tasks, .options = &shared, .cancel = cancel, .started = g_get_monotonic_time()};
    Status status = STATUS_USAGE;
    output_files_begin();
    if (!begin(&batch, &shared, error))
        goto out;
    g_mutex_init(&batch.lock);
    shared.cores = cores_new((guint)options->threads);
    shared.budget = budget_new(options->memory_limit ? options->memory_limit : options_memory(options) / 2);
    guint cores = cores_count(shared.cores), jobs = options->jobs ? (guint)options->jobs : cores;
    jobs = tasks ? MIN(jobs, tasks->len) : jobs;
    if (jobs > 1) /* the library, unlike the codecs, does not look for idle cores */
        shared.threads = (int)MAX(cores / jobs, 1);
    batch.gpus = gpus_to_share(options);
    shared.watching = progress_begin(options, tasks);
    run_workers(&batch, jobs);
    progress_end(shared.watching);
    if (batch.arriving)
        batch.any = tasks_close(batch.arriving);
    cores_free(shared.cores);
    budget_free(shared.budget);
    g_mutex_clear(&batch.lock);
    say_summary(&batch);
    status = end_report(&batch, status_of(&batch));

out:
    if (shared.journal)
        journal_free(shared.journal);
    return status;
}
