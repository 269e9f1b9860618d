/* SPDX-License-Identifier: MIT
 *
 * Printing the plan.
 */
#include "dry_run.h"

#include <stdio.h>
#include <string.h>

#include "tasks.h"

static gboolean is_plain(const char *name) {
    static const char plain[] = "+,-./:=@_%";
    const char *p = name;
    while (*p && (g_ascii_isalnum(*p) || strchr(plain, *p) || *p & 0x80))
        p++;
    return p > name && !*p;
}

/* One word of a shell: as it is, in quotes, or, with bytes that a terminal would not show, as $'...'. */
static char *quoted(const char *name) {
    gboolean shows = g_utf8_validate(name, -1, NULL);
    for (const char *p = name; shows && *p; p = g_utf8_next_char(p))
        shows = *p == ' ' || g_unichar_isgraph(g_utf8_get_char(p));
    if (shows)
        return is_plain(name) ? g_strdup(name) : g_shell_quote(name);
    char *escaped = g_strescape(name, NULL); /* in octal, which $'...' reads as C does */
    GString *word = g_string_new("$'");
    for (const char *p = escaped; *p; p++)
        if (p[0] == '\\' && p[1] == '"')
            continue;
        else if (*p == '\'')
            g_string_append(word, "\\'");
        else
            g_string_append_c(word, *p);
    g_string_append_c(word, '\'');
    g_free(escaped);
    return g_string_free(word, FALSE);
}

static const char *what_becomes_of(const Task *task, const Options *options) {
    if (task->exists && options->skip_existing)
        return "skip";
    if (task->exists && !options->overwrite)
        return "refuse";
    return task->operation == TT_NONE && !options->stored ? "auto" : tt_orientation_name(task->operation);
}

static void print_task(const Task *task, const Options *options) {
    char *input = quoted(task->input), *output = quoted(task->output);
    printf("%-10s  %s -> %s\n", what_becomes_of(task, options), input, output);
    g_free(input);
    g_free(output);
}

void dry_run(const GPtrArray *tasks, const Options *options) {
    for (guint i = 0; i < tasks->len; i++)
        print_task(tasks->pdata[i], options);
}

Status dry_run_arriving(const Options *options, const atomic_int *stopped_by, GError **error) {
    Tasks *tasks = tasks_open(options, error);
    Status status = tasks ? STATUS_DONE : STATUS_USAGE;
    Task *task;
    while (tasks && (task = tasks_next(tasks, stopped_by))) {
        char *line = g_strdup_printf("line %" G_GUINT64_FORMAT, task->line);
        if (task->problem) {
            say_error(line, "%s", task->problem);
            status = STATUS_FAILED;
        } else {
            print_task(task, options);
        }
        g_free(line);
        tasks_done(tasks, task);
    }
    if (tasks)
        tasks_close(tasks);
    return *stopped_by ? (Status)(STATUS_SIGNAL + *stopped_by) : status;
}
