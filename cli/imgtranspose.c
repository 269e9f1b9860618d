/* SPDX-License-Identifier: MIT
 *
 * imgtranspose: parse the command line, plan the batch, turn file after file, report by the exit status.
 */
#include <locale.h>

#include "benchmark/benchmark.h"
#include "options.h"
#include "plan.h"
#include "process.h"
#include "say.h"
#include "turn.h"

/* The signal that asked the run to stop; the library and the loops look at it between bands. */
static volatile int stopped_by;

/* Turns all files, whatever becomes of any one of them. */
static int run(GPtrArray *tasks, const Options *options) {
    guint failed = 0, i = 0;
    int status = STATUS_DONE;
    for (; i < tasks->len && !stopped_by; i++) {
        const Task *task = tasks->pdata[i];
        GError *error = NULL;
        if (turn_file(task, options, &stopped_by, &error))
            continue;
        if (!stopped_by)
            say_error(task->input, "%s", error->message);
        g_clear_error(&error);
        status = STATUS_FAILED;
        failed++;
    }
    if (stopped_by) {
        say_error(NULL, "interrupted: %u of %u files were done, no file is half done", i - failed,
                  tasks->len);
        return STATUS_SIGNAL + stopped_by;
    }
    if (failed && tasks->len > 1)
        say_warning(NULL, "%u of %u files failed, the rest are done", failed, tasks->len);
    return status;
}

int main(int argc, char **argv) {
    Options options;
    GPtrArray *tasks = NULL;
    GError *error = NULL;
    int status = STATUS_DONE;

    open_standard_streams();
    setlocale(LC_ALL, "");
    if (!options_parse(&options, argc, argv, &error))
        goto out;
    if (options.help || options.version) {
        options.help ? options_print_help() : options_print_version(options.verbose);
        flush_stdout(&error);
        goto out;
    }
    say_set_loudness(options.quiet ? QUIET : options.verbose ? VERBOSE : NORMAL);
    if (options.benchmark) {
        catch_signals(&stopped_by);
        benchmark(&options, &stopped_by, &error);
        goto out;
    }
    if (!(tasks = plan_tasks(&options, &error)))
        goto out;
    catch_signals(&stopped_by);
    status = run(tasks, &options);

out:
    if (error) {
        say_error(NULL, "%s", error->message);
        status = error->code;
        g_error_free(error);
    }
    if (tasks)
        g_ptr_array_unref(tasks);
    options_clear(&options);
    return status;
}
