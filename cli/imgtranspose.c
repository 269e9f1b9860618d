/* SPDX-License-Identifier: MIT
 *
 * imgtranspose: parse the command line, plan the batch, run it, report by the exit status.
 */
#include <locale.h>

#include "batch.h"
#include "benchmark/benchmark.h"
#include "dry_run.h"
#include "help.h"
#include "options.h"
#include "plan.h"
#include "process.h"
#include "say.h"

/* The signals that asked the run to begin no other file, and to give up those that it is at: the library and
 * the loops look at this one between bands. */
static atomic_int stop, cancel;

int main(int argc, char **argv) {
    Options options;
    GPtrArray *tasks = NULL;
    GError *error = NULL;
    int status = STATUS_DONE;

    open_standard_streams();
    say_when_glib_gives_up();
    setlocale(LC_ALL, "");
    if (!options_parse(&options, argc, argv, &error))
        goto out;
    if (options.help || options.help_all || options.version) {
        if (options.help_all)
            help_print_all();
        else if (options.help)
            help_print();
        else
            help_print_version(options.verbose);
        flush_stdout(&error);
        goto out;
    }
    say_set_loudness(options.quiet ? QUIET : options.verbose ? VERBOSE : NORMAL);
    if (options.benchmark) {
        catch_signals(&cancel, &cancel);
        benchmark(&options, &cancel, &error);
        goto out;
    }
    if (!options.tasks && !(tasks = plan_tasks(&options, &error)))
        goto out;
    catch_signals(&stop, &cancel);
    options.stop = &stop;
    if (options.dry_run) {
        if (tasks)
            dry_run(tasks, &options);
        else
            status = dry_run_arriving(&options, &stop, &error);
        flush_stdout(error ? NULL : &error);
        goto out;
    }
    status = batch_run(tasks, &options, &cancel, &error);

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
