/* SPDX-License-Identifier: MIT
 *
 * Planning the batch: names only.
 */
#define _GNU_SOURCE
#include "plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "say.h"

static void free_task(gpointer task) {
    g_free(((Task *)task)->output);
    g_free(task);
}

/* What an existing file is, by whatever name; NULL if there is none. */
static char *identity(const char *path) {
    struct stat info;
    if (stat(path, &info))
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, (guint64)info.st_dev,
                           (guint64)info.st_ino);
}

/* Where a file is or would be: an existing file's identity, or else its folder's and its name. */
static char *place_of(const char *path) {
    char *existing = identity(path);
    if (existing)
        return existing;
    char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path), *id = identity(folder);
    char *place = g_strdup_printf("%s/%s", id ? id : folder, name);
    g_free(folder);
    g_free(name);
    g_free(id);
    return place;
}

static char *output_of(const Options *options, const char *input) {
    if (options->output)
        return g_strdup(options->output);
    if (options->directory) {
        char *name = g_path_get_basename(input), *path = g_build_filename(options->directory, name, NULL);
        g_free(name);
        return path;
    }
    char *target = realpath(input, NULL), *copy = g_strdup(target ? target : input);
    free(target);
    return copy;
}

static gboolean check_destination(const Options *options, GError **error) {
    char *folder = options->output      ? g_path_get_dirname(options->output)
                   : options->directory ? g_strdup(options->directory)
                                        : NULL;
    gboolean good = TRUE;
    if (options->output && g_file_test(options->output, G_FILE_TEST_IS_DIR))
        good = fault(error, STATUS_USAGE, "the output %s is a folder: use -d for folders", options->output);
    else if (folder && !g_file_test(folder, G_FILE_TEST_EXISTS))
        good = fault(error, STATUS_USAGE, "there is no folder %s: create it first", folder);
    else if (folder && !g_file_test(folder, G_FILE_TEST_IS_DIR))
        good = fault(error, STATUS_USAGE, "%s is not a folder: name one", folder);
    g_free(folder);
    return good;
}

static gboolean check_clashes(const Options *options, GPtrArray *tasks, GError **error) {
    GHashTable *inputs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GHashTable *outputs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean good = TRUE;
    for (guint i = 0; i < tasks->len; i++) {
        Task *task = tasks->pdata[i];
        char *id = identity(task->input);
        if (id)
            g_hash_table_insert(inputs, id, (gpointer)task->input);
    }
    for (guint i = 0; good && i < tasks->len; i++) {
        Task *task = tasks->pdata[i], *other;
        char *place = place_of(task->output);
        const char *input = options->in_place ? NULL : g_hash_table_lookup(inputs, place);
        if (input)
            good = fault(error, STATUS_USAGE,
                         "the output %s is the input %s: use --in-place to replace an input", task->output,
                         input);
        else if ((other = g_hash_table_lookup(outputs, place)) && options->in_place)
            good = fault(error, STATUS_USAGE, "%s and %s are the same file: name it once", other->input,
                         task->input);
        else if (other)
            good = fault(error, STATUS_USAGE, "%s and %s would both become %s: use folders of their own",
                         other->input, task->input, task->output);
        g_hash_table_insert(outputs, place, task);
    }
    g_hash_table_unref(inputs);
    g_hash_table_unref(outputs);
    return good;
}

GPtrArray *plan_tasks(const Options *options, GError **error) {
    if (!check_destination(options, error))
        return NULL;
    GPtrArray *tasks = g_ptr_array_new_with_free_func(free_task);
    for (char **input = options->inputs; *input; input++) {
        Task *task = g_new0(Task, 1);
        task->input = *input;
        task->output = output_of(options, *input);
        g_ptr_array_add(tasks, task);
    }
    if (check_clashes(options, tasks, error))
        return tasks;
    g_ptr_array_unref(tasks);
    return NULL;
}
