/* SPDX-License-Identifier: MIT
 *
 * Reading tasks, and the order among those that touch the same files.
 */
#include "tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs.h"
#include "json_line.h"
#include "report.h"
#include "say.h"

enum { LONGEST = 1 << 20, PATIENCE = 100 /* ms between looks at *cancel */ };

/* A task that is not done yet, and the places of the files that it touches. */
typedef struct {
    const Task *task;
    char *reads, *writes;
} Live;

struct Tasks {
    const Options *options;
    char *here;     /* the working folder */
    GMutex reading; /* of what follows, and of the order of live */
    int fd;
    GByteArray *text;
    guint used; /* of it, by lines */
    gboolean ended, any;
    guint64 line;
    GMutex lock; /* of live */
    GCond done;
    GQueue live; /* oldest first */
};

Tasks *tasks_open(const Options *options, GError **error) {
    gboolean from_stdin = !strcmp(options->tasks, "-");
    int fd = from_stdin ? STDIN_FILENO : open(options->tasks, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        named_fault(error, STATUS_USAGE, "read the tasks", options->tasks, errno);
        return NULL;
    }
    Tasks *tasks = g_new0(Tasks, 1);
    tasks->options = options;
    tasks->here = g_get_current_dir();
    tasks->fd = fd;
    tasks->text = g_byte_array_new();
    g_mutex_init(&tasks->reading);
    g_mutex_init(&tasks->lock);
    g_cond_init(&tasks->done);
    g_queue_init(&tasks->live);
    return tasks;
}

gboolean tasks_close(Tasks *tasks) {
    gboolean any = tasks->any;
    if (tasks->fd != STDIN_FILENO)
        close(tasks->fd);
    g_byte_array_unref(tasks->text);
    g_mutex_clear(&tasks->reading);
    g_mutex_clear(&tasks->lock);
    g_cond_clear(&tasks->done);
    g_free(tasks->here);
    g_free(tasks);
    return any;
}

/* ---- Lines -------------------------------------------------------------------------------------------- */

static gboolean trouble(Task *task, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean trouble(Task *task, const char *format, ...) {
    va_list args;
    va_start(args, format);
    task->problem = g_strdup_vprintf(format, args);
    va_end(args);
    return FALSE;
}

/* More of the text, once there is any. FALSE at its end. */
static gboolean read_more(Tasks *tasks, const atomic_int *cancel, GError **error) {
    guint8 block[1 << 16];
    while (!*cancel) {
        struct pollfd wait = {.fd = tasks->fd, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE) <= 0)
            continue;
        ssize_t n = read(tasks->fd, block, sizeof(block));
        if (n > 0)
            g_byte_array_append(tasks->text, block, (guint)n);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            system_fault(error, "read the tasks", errno);
        return n > 0;
    }
    return FALSE;
}

/* Where the next line ends in the text, if it is all there; what is looked at is not looked at again. */
static guint8 *end_of_line(const Tasks *tasks, guint *seen) {
    guint from = MAX(*seen, tasks->used);
    *seen = tasks->text->len;
    return from < tasks->text->len ? memchr(tasks->text->data + from, '\n', tasks->text->len - from) : NULL;
}

/* The next line without its end, or NULL. Of one that is too long, that is all its length says. */
static char *next_line(Tasks *tasks, const atomic_int *cancel, gsize *length, GError **error) {
    GByteArray *text = tasks->text;
    gboolean cut = FALSE;
    guint8 *end;
    guint seen = 0;
    while (!(end = end_of_line(tasks, &seen)) && !tasks->ended) {
        g_byte_array_remove_range(text, 0, tasks->used);
        tasks->used = 0;
        cut |= text->len > LONGEST;
        g_byte_array_set_size(text, MIN(text->len, LONGEST));
        seen = text->len;
        tasks->ended = !read_more(tasks, cancel, error);
    }
    if (*cancel || (!end && text->len == tasks->used))
        return NULL;
    *length = (end ? (gsize)(end - text->data) : text->len) - tasks->used;
    char *line = g_malloc(*length + 1);
    memcpy(line, text->data + tasks->used, *length);
    line[*length] = 0;
    tasks->used = end ? (guint)(end - text->data) + 1 : text->len;
    tasks->line++;
    if (cut)
        *length = LONGEST + 1;
    return line;
}

/* ---- JSON --------------------------------------------------------------------------------------------- */

static JsonObject *parse(JsonParser *parser, const char *line, gsize length, Task *task) {
    GError *error = NULL;
    if (length > LONGEST)
        trouble(task, "is longer than a megabyte: write one task a line");
    else if (!g_utf8_validate(line, (gssize)length, NULL))
        trouble(task, "is not UTF-8: give names of other bytes as base64, as in_bytes and out_bytes");
    else if (json_line_depth(line) != 1 || strstr(line, "\\u0000"))
        trouble(task,
                "is no task: write one JSON object a line, as {\"op\":\"rot90\",\"in\":\"a\",\"out\":\"b\"}");
    else if (json_parser_load_from_data(parser, line, (gssize)length, &error)) /* it begins with a brace */
        return json_node_get_object(json_parser_get_root(parser));
    else
        trouble(task, "is no JSON: %s", error->message);
    g_clear_error(&error);
    return NULL;
}

static gboolean check_members(JsonObject *object, Task *task) {
    static const char *const known[] = {"op", "in", "in_bytes", "out", "out_bytes", NULL};
    JsonObjectIter iter;
    const char *name;
    JsonNode *node;
    json_object_iter_init(&iter, object);
    while (json_object_iter_next(&iter, &name, &node)) {
        if (!g_strv_contains(known, name))
            return trouble(task, "has a member \"%s\", and tasks have op, in and out: leave it out", name);
        if (json_node_get_value_type(node) != G_TYPE_STRING || !*json_node_get_string(node))
            return trouble(task, "has a member \"%s\" that is no text: put it into quotes", name);
    }
    return TRUE;
}

static gboolean find_operation(const Options *options, JsonObject *object, Task *task) {
    const char *name = json_line_text(object, "op");
    task->operation = options->operation;
    if (!name)
        return options->operation_named ||
               trouble(task, "has no \"op\", and the command line names none: add one");
    if (!strcmp(name, "auto"))
        task->operation = TT_NONE;
    else if (tt_orientation_parse(name, &task->operation))
        return trouble(task, "%s; or auto", tt_last_error());
    return TRUE;
}

/* ---- Places ------------------------------------------------------------------------------------------- */

static char *real_name(const char *path) {
    char *real = realpath(path, NULL), *copy = g_strdup(real ? real : path);
    free(real);
    return copy;
}

/* The path without links in its folders. It stays the same when those that are still to be made are made,
 * which other tasks may do at any moment. */
static char *place_of(const char *path) {
    char *folder = g_path_get_dirname(path), *rest = g_path_get_basename(path), *real;
    while (!(real = realpath(folder, NULL)) && strcmp(folder, ".") && strcmp(folder, "/")) {
        char *name = g_path_get_basename(folder), *longer = g_build_filename(name, rest, NULL),
             *above = g_path_get_dirname(folder);
        g_free(name);
        g_free(rest);
        g_free(folder);
        rest = longer;
        folder = above;
    }
    char *place = g_canonicalize_filename(rest, real ? real : "/");
    free(real);
    g_free(folder);
    g_free(rest);
    return place;
}

static gboolean find_output(const Tasks *tasks, Task *task) {
    const Options *options = tasks->options;
    if (task->output && options->in_place)
        return trouble(task, "has an \"out\", and --in-place needs none: leave out one of them");
    if (task->output && !strcmp(task->output, "-"))
        return trouble(task, "has the output \"-\", and stdout is for answers: name a file");
    if (task->output)
        return TRUE;
    if (options->in_place) {
        task->output = real_name(task->input);
        return TRUE;
    }
    if (!options->directory)
        return trouble(task, "has no \"out\", and neither -d nor --in-place is given: add it");
    char *below = input_below(task->input, tasks->here);
    task->output = g_build_filename(options->directory, below, NULL);
    g_free(below);
    return TRUE;
}

static gboolean check_places(const Tasks *tasks, Task *task) {
    const Options *options = tasks->options;
    struct stat from, to;
    char *folder = g_path_get_dirname(task->output);
    gboolean lacks = !options->directory && !g_file_test(folder, G_FILE_TEST_IS_DIR);
    if (lacks)
        trouble(task, "has an output in %s, and there is no such folder: create it first", folder);
    g_free(folder);
    if (lacks || options->in_place)
        return !lacks;
    char *reads = place_of(task->input), *writes = place_of(task->output);
    gboolean same = !strcmp(reads, writes); /* also where an earlier line is still to make it */
    g_free(reads);
    g_free(writes);
    task->exists = !stat(task->output, &to);
    if (task->exists && !stat(task->input, &from))
        same = same || (from.st_dev == to.st_dev && from.st_ino == to.st_ino);
    return !same ||
           trouble(task, "has the output %s, which is its input: use --in-place to replace it", task->output);
}

static Task *new_task(const Tasks *tasks, const char *line, gsize length) {
    Task *task = g_new0(Task, 1);
    JsonParser *parser = json_parser_new();
    JsonObject *object = parse(parser, line, length, task);
    task->line = tasks->line;
    if (object && check_members(object, task) && find_operation(tasks->options, object, task)) {
        task->output = report_name(object, "out");
        if (!(task->input = report_name(object, "in")))
            trouble(task, "has no \"in\": name the input");
        else if (!strcmp(task->input, "-"))
            trouble(task, "has the input \"-\": name a file");
        else if (find_output(tasks, task))
            check_places(tasks, task);
    }
    g_object_unref(parser);
    return task;
}

/* ---- Order -------------------------------------------------------------------------------------------- */

static gboolean must_wait(const Live *later, const Live *earlier) {
    return !strcmp(later->writes, earlier->writes) || !strcmp(later->writes, earlier->reads) ||
           !strcmp(later->reads, earlier->writes);
}

static void add_to_live(Tasks *tasks, const Task *task) {
    Live *live = g_new0(Live, 1);
    char *real = real_name(task->input);
    live->task = task;
    live->reads = place_of(real);
    live->writes = place_of(task->output);
    g_mutex_lock(&tasks->lock);
    g_queue_push_tail(&tasks->live, live);
    g_mutex_unlock(&tasks->lock);
    g_free(real);
}

static GList *find_live(Tasks *tasks, const Task *task) {
    GList *at = tasks->live.head;
    while (at && ((Live *)at->data)->task != task)
        at = at->next;
    return at;
}

static gboolean has_its_turn(Tasks *tasks, const Task *task) {
    GList *at = find_live(tasks, task);
    for (GList *earlier = at ? at->prev : NULL; earlier; earlier = earlier->prev)
        if (must_wait(at->data, earlier->data))
            return FALSE;
    return TRUE;
}

void tasks_done(Tasks *tasks, Task *task) {
    g_mutex_lock(&tasks->lock);
    GList *at = find_live(tasks, task);
    if (at) {
        Live *live = at->data;
        g_free(live->reads);
        g_free(live->writes);
        g_free(live);
        g_queue_delete_link(&tasks->live, at);
        g_cond_broadcast(&tasks->done);
    }
    g_mutex_unlock(&tasks->lock);
    task_free(task);
}

/* A task of this shard, in the order of the lines; it waits for its turn later. */
static Task *draw(Tasks *tasks, const atomic_int *cancel) {
    Task *task = NULL;
    gsize length;
    char *line;
    GError *error = NULL;
    g_mutex_lock(&tasks->reading);
    while (!task && (line = next_line(tasks, cancel, &length, &error))) {
        if (line[strspn(line, " \t\r")])
            task = new_task(tasks, line, length);
        tasks->any |= task != NULL;
        if (task && !task->problem && !shard_has(&tasks->options->shard, task->input))
            g_clear_pointer(&task, task_free);
        g_free(line);
    }
    if (error && !task) {
        task = g_new0(Task, 1);
        trouble(task, "%s", error->message);
        tasks->any = TRUE;
    }
    g_clear_error(&error);
    if (task && !task->problem)
        add_to_live(tasks, task);
    g_mutex_unlock(&tasks->reading);
    return task;
}

Task *tasks_next(Tasks *tasks, const atomic_int *cancel) {
    Task *task = draw(tasks, cancel);
    if (!task)
        return NULL;
    g_mutex_lock(&tasks->lock);
    while (!*cancel && !has_its_turn(tasks, task))
        g_cond_wait_until(&tasks->done, &tasks->lock,
                          g_get_monotonic_time() + PATIENCE * G_TIME_SPAN_MILLISECOND);
    g_mutex_unlock(&tasks->lock);
    if (!*cancel)
        return task;
    tasks_done(tasks, task);
    return NULL;
}
