/* SPDX-License-Identifier: MIT
 *
 * Planning the batch: names only.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inputs.h"
#include "places.h"
#include "say.h"

typedef struct {
    const Options *options;
    GPtrArray *tasks;                /* of all shards */
    GArray *mine;                    /* a gboolean for each: whether it is in this shard */
    Folders *from, *to;              /* of inputs and outputs */
    GHashTable *names, *files, *out; /* places of inputs' names, of inputs themselves, of outputs: to tasks */
    GHashTable *folded;              /* of outputs, capitals or not */
    GError *error;
} Plan;

void task_free(gpointer data) {
    Task *task = data;
    if (!task)
        return;
    g_free(task->input);
    g_free(task->output);
    g_free(task->problem);
    g_free(task);
}

/* The place's task so far. Only the first one is kept; `place` becomes the table's or is freed. */
static Task *add_to(GHashTable *table, char *place, Task *task) {
    Task *other = g_hash_table_lookup(table, place);
    if (other)
        g_free(place);
    else
        g_hash_table_insert(table, place, task);
    return other;
}

/* ---- Inputs ------------------------------------------------------------------------------------------- */

static char *output_of(const Options *options, const Input *input) {
    if (options->output)
        return g_strdup(options->output);
    if (options->directory)
        return g_build_filename(options->directory, input->relative, NULL);
    char *target = input->link ? realpath(input->path, NULL) : NULL;
    char *copy = g_strdup(target ? target : input->path);
    free(target);
    return copy;
}

/* One file by two names is two files elsewhere; in place it would be turned twice, and names of one file that
 * a walk finds, hard links, fail by themselves. */
static gboolean check_input(Plan *plan, Task *task, const Input *input) {
    Task *same = add_to(plan->names, place_of_name(plan->from, input->path), task), *other = NULL;
    if (input->info)
        other = add_to(plan->files, place_of_file(input->info), task);
    if (!same && other && plan->options->in_place && !(task->walked && other->walked))
        same = other;
    return !same || fault(&plan->error, STATUS_USAGE, "%s and %s are the same file: name it once",
                          same->input, task->input);
}

static void take(const Input *input, gpointer data) {
    Plan *plan = data;
    const Options *options = plan->options;
    gboolean is_stdin = !strcmp(input->path, "-"), mine = shard_has(&options->shard, input->relative);
    if (plan->error)
        return;
    if (is_stdin && !options->output) {
        fault(&plan->error, STATUS_USAGE, "the standard input has no name: use -o FILE, or -o -");
        return;
    }
    Task *task = g_new0(Task, 1);
    task->input = g_strdup(input->path);
    task->output = output_of(options, input);
    task->operation = options->operation;
    task->bytes = input->info ? (guint64)input->info->st_size : 0;
    task->walked = input->walked;
    g_ptr_array_add(plan->tasks, task);
    g_array_append_val(plan->mine, mine);
    if (!is_stdin)
        check_input(plan, task, input);
}

static gboolean find_inputs(Plan *plan) {
    GError *unread = NULL;
    gboolean found = inputs_each(plan->options, take, plan, &unread);
    if (plan->error)
        g_clear_error(&unread);
    else
        plan->error = unread;
    return found && !plan->error;
}

/* ---- Outputs ------------------------------------------------------------------------------------------ */

static gboolean check_destination(const Options *options, GError **error) {
    if (options->directory && g_file_test(options->directory, G_FILE_TEST_EXISTS) &&
        !g_file_test(options->directory, G_FILE_TEST_IS_DIR))
        return fault(error, STATUS_USAGE, "%s is not a folder: name one", options->directory);
    if (!options->output || !strcmp(options->output, "-"))
        return TRUE;
    char *folder = g_path_get_dirname(options->output);
    gboolean good = TRUE;
    if (g_file_test(options->output, G_FILE_TEST_IS_DIR))
        good = fault(error, STATUS_USAGE, "the output %s is a folder: use -d for folders", options->output);
    else if (!g_file_test(folder, G_FILE_TEST_EXISTS))
        good = fault(error, STATUS_USAGE, "there is no folder %s: create it first", folder);
    else if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
        good = fault(error, STATUS_USAGE, "%s is not a folder: name one", folder);
    g_free(folder);
    return good;
}

/* Names that differ only in capitals clash where the folder does not tell them apart. */
static gboolean check_capitals(Plan *plan, Task *task) {
    Task *other = add_to(plan->folded, place_of_folded_name(plan->to, task->output), task);
    return !other || !is_case_blind(task->output) ||
           fault(&plan->error, STATUS_USAGE,
                 "%s and %s would become one file, since %s does not tell capitals from small letters: use "
                 "folders of their own",
                 other->input, task->input, plan->options->directory);
}

static gboolean check_output(Plan *plan, Task *task) {
    struct stat info;
    Task *other = add_to(plan->out, place_of_name(plan->to, task->output), task);
    if (other)
        return fault(&plan->error, STATUS_USAGE, "%s and %s would both become %s: use folders of their own",
                     other->input, task->input, task->output);
    task->exists = !lstat(task->output, &info);
    if (!task->exists || stat(task->output, &info)) /* no file, or a link to none */
        return check_capitals(plan, task);
    char *place = place_of_file(&info);
    const Task *input = g_hash_table_lookup(plan->files, place);
    g_free(place);
    return !input || fault(&plan->error, STATUS_USAGE,
                           "the output %s is the input %s: use --in-place to replace an input", task->output,
                           input->input);
}

static gboolean check_outputs(Plan *plan) {
    const Options *options = plan->options;
    if (options->in_place || (options->output && !strcmp(options->output, "-")))
        return TRUE;
    for (guint i = 0; i < plan->tasks->len; i++)
        if (!check_output(plan, plan->tasks->pdata[i]))
            return FALSE;
    return !folders_obstacle(plan->to) ||
           fault(&plan->error, STATUS_USAGE, "%s is not a folder, and outputs would lie in it: move it away",
                 folders_obstacle(plan->to));
}

/* ---- Both --------------------------------------------------------------------------------------------- */

static gboolean check_count(Plan *plan) {
    guint count = plan->tasks->len;
    if (!count)
        return fault(&plan->error, STATUS_NO_INPUT,
                     "no input found: check the names, -r for folders, --include and --exclude");
    return !plan->options->output || count == 1 ||
           fault(&plan->error, STATUS_USAGE, "-o takes one input, and %u are found: use -d DIR", count);
}

/* Those of other shards go. */
static GPtrArray *take_mine(Plan *plan) {
    GPtrArray *mine = g_ptr_array_new_with_free_func(task_free);
    for (guint i = 0; i < plan->tasks->len; i++)
        if (g_array_index(plan->mine, gboolean, i))
            g_ptr_array_add(mine, g_steal_pointer(&plan->tasks->pdata[i]));
    return mine;
}

static GHashTable *new_table(void) {
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

GPtrArray *plan_tasks(const Options *options, GError **error) {
    Plan plan = {.options = options,
                 .tasks = g_ptr_array_new_with_free_func(task_free),
                 .mine = g_array_new(FALSE, FALSE, sizeof(gboolean)),
                 .from = folders_new(),
                 .to = folders_new(),
                 .names = new_table(),
                 .files = new_table(),
                 .out = new_table(),
                 .folded = new_table()};
    GPtrArray *mine = NULL;
    if (check_destination(options, &plan.error) && find_inputs(&plan) && check_count(&plan) &&
        check_outputs(&plan))
        mine = take_mine(&plan);
    if (plan.error)
        g_propagate_error(error, plan.error);
    g_ptr_array_unref(plan.tasks);
    g_array_unref(plan.mine);
    folders_free(plan.from);
    folders_free(plan.to);
    g_hash_table_unref(plan.names);
    g_hash_table_unref(plan.files);
    g_hash_table_unref(plan.out);
    g_hash_table_unref(plan.folded);
    return mine;
}
