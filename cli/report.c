/* SPDX-License-Identifier: MIT
 *
 * Lines of JSON, each in one write.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "json_line.h"
#include "output_file.h"

struct Report {
    char *path; /* for messages */
    int fd;
    gboolean is_file; /* and can be read again */
    gboolean torn;    /* the last line has no end */
    gboolean failed;
    GMutex lock;
};

/* A run that was killed, or a full disk, can leave half a line. */
static gboolean ends_in_half_a_line(int fd, const struct stat *info) {
    char last;
    if (!S_ISREG(info->st_mode) || !info->st_size)
        return FALSE;
    ssize_t n = pread(fd, &last, 1, info->st_size - 1);
    return n < 0 ? errno != EBADF /* it is for writing only */ : n && last != '\n';
}

/* Lines are appended to nothing else: a name given by mistake may be that of a picture. */
static gboolean may_be_report(int fd, const struct stat *info) {
    char first;
    return !S_ISREG(info->st_mode) || !info->st_size ||
           (pread(fd, &first, 1, 0) == 1 && (first == '{' || first == '\n'));
}

static int open_to_append(const char *path, struct stat *info, GError **error) {
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == ENXIO || errno == EACCES || errno == EINVAL || errno == ESPIPE)) /* write only */
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        named_fault(error, STATUS_USAGE, "write the report", path, errno);
    else if (fstat(fd, info))
        named_fault(error, STATUS_USAGE, "examine the report", path, errno);
    else if (!may_be_report(fd, info))
        fault(error, STATUS_USAGE, "%s holds something else than a report: name another file for --report",
              path);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

Report *report_begin(const char *path, GError **error) {
    gboolean to_stdout = !strcmp(path, "-");
    struct stat info = {0};
    int fd = to_stdout ? STDOUT_FILENO : open_to_append(path, &info, error);
    if (fd < 0)
        return NULL;
    if (to_stdout && fstat(fd, &info)) {
        named_fault(error, STATUS_USAGE, "examine the report", "on stdout", errno);
        return NULL;
    }
    Report *report = g_new0(Report, 1);
    report->path = g_strdup(path);
    report->fd = fd;
    report->is_file = S_ISREG(info.st_mode);
    report->torn = ends_in_half_a_line(fd, &info);
    g_mutex_init(&report->lock);
    if (to_stdout || !report->is_file)
        return report;
    if (output_file_sync_name(path, error)) /* else a power cut could take all intents */
        return report;
    g_prefix_error(error, "the report %s: ", path);
    report_end(report, NULL);
    return NULL;
}

gboolean report_is_journal(const Report *report) {
    return report && report->is_file;
}

static gboolean write_fault(const Report *report, int number, GError **error) {
    return named_fault(error, STATUS_FAILED, "write the report", report->path, number);
}

gboolean report_end(Report *report, GError **error) {
    if (!report)
        return TRUE;
    int failed = report->fd != STDOUT_FILENO && close(report->fd) ? errno : 0;
    gboolean good = failed ? write_fault(report, failed, error) : TRUE;
    if (good && report->failed)
        good = fault(error, STATUS_FAILED,
                     "the report %s lacks lines that could not be written: see to its disk, then look which "
                     "outputs there are",
                     report->path);
    g_mutex_clear(&report->lock);
    g_free(report->path);
    g_free(report);
    return good;
}

static gboolean write_text(Report *report, const GString *line) {
    for (gsize done = 0; done < line->len;) {
        ssize_t n = write(report->fd, line->str + done, line->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FALSE;
        done += (gsize)n;
        report->torn = TRUE;
    }
    report->torn = FALSE;
    return TRUE;
}

static gboolean write_line(Report *report, JsonObject *object, gboolean sync, GError **error) {
    JsonNode *node = json_node_init_object(json_node_alloc(), object);
    char *text = json_to_string(node, FALSE);
    GString *line = g_string_new(NULL);
    g_mutex_lock(&report->lock);
    g_string_printf(line, "%s%s\n", report->torn ? "\n" : "", text);
    gboolean good = write_text(report, line) && !(sync && fsync(report->fd) && errno != EINVAL);
    int number = errno;
    report->failed |= !good;
    g_mutex_unlock(&report->lock);
    g_string_free(line, TRUE);
    g_free(text);
    json_node_unref(node);
    json_object_unref(object);
    return good || write_fault(report, number, error);
}

/* ---- Members ------------------------------------------------------------------------------------------ */

static void add_name(JsonObject *object, const char *member, const char *name) {
    char *shown = g_utf8_make_valid(name, -1);
    json_object_set_string_member(object, member, shown);
    if (strcmp(shown, name)) {
        char *bytes = g_base64_encode((const guchar *)name, strlen(name));
        char *key = g_strconcat(member, "_bytes", NULL);
        json_object_set_string_member(object, key, bytes);
        g_free(key);
        g_free(bytes);
    }
    g_free(shown);
}

char *report_name(JsonObject *object, const char *member) {
    char *key = g_strconcat(member, "_bytes", NULL), *name;
    const char *bytes = json_line_text(object, key);
    gsize size;
    if (bytes) {
        guchar *decoded = g_base64_decode(bytes, &size);
        name = g_strndup((const char *)decoded, size);
        g_free(decoded);
    } else {
        name = g_strdup(json_line_text(object, member));
    }
    g_free(key);
    return name;
}

static void add_number(JsonObject *object, const char *member, guint64 value) {
    if (value)
        json_object_set_int_member(object, member, (gint64)value);
}

static void add_text(JsonObject *object, const char *member, const char *value) {
    if (value) {
        char *valid = g_utf8_make_valid(value, -1);
        json_object_set_string_member(object, member, valid);
        g_free(valid);
    }
}

static JsonObject *new_event(const char *event) {
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "event", event);
    return object;
}

static void add_seconds(JsonObject *object, const Outcome *outcome) {
    const struct {
        const char *stage;
        double seconds;
    } stages[] = {{"decode", outcome->decode},
                  {"turn", outcome->pixels},
                  {"encode", outcome->encode},
                  {"verify", outcome->verify}};
    JsonObject *seconds = json_object_new();
    for (gsize i = 0; i < G_N_ELEMENTS(stages); i++)
        if (stages[i].seconds > 0)
            json_object_set_double_member(seconds, stages[i].stage, stages[i].seconds);
    json_object_set_double_member(seconds, "all", outcome->seconds);
    json_object_set_object_member(object, "seconds", seconds);
}

gint64 report_time(const struct timespec *time) {
    return (gint64)((guint64)time->tv_sec * 1000000000u + (guint64)time->tv_nsec);
}

/* ---- Events ------------------------------------------------------------------------------------------- */

gboolean report_file(Report *report, const Task *task, const Outcome *outcome, GError **error) {
    JsonObject *object = new_event("file");
    json_object_set_string_member(object, "status", outcome_word(outcome->kind));
    add_number(object, "line", task->line);
    if (task->input)
        add_name(object, "input", task->input);
    if (task->output)
        add_name(object, "output", task->output);
    if (outcome->operation)
        json_object_set_string_member(object, "operation", tt_orientation_name(outcome->operation));
    if (outcome->turn)
        json_object_set_string_member(object, "turn", tt_orientation_name(outcome->turn));
    add_number(object, "width", outcome->width);
    add_number(object, "height", outcome->height);
    add_number(object, "turned_width", outcome->turned_width);
    add_number(object, "turned_height", outcome->turned_height);
    add_number(object, "bytes_in", outcome->bytes_in);
    add_number(object, "bytes_out", outcome->bytes_out);
    add_text(object, "input_sha256", outcome->input_sha256);
    add_text(object, "output_sha256", outcome->output_sha256);
    add_text(object, "backend", outcome->backend);
    if (!g_strcmp0(outcome->backend, "cuda"))
        json_object_set_int_member(object, "device", outcome->device);
    add_seconds(object, outcome);
    add_text(object, "message", outcome->message);
    return write_line(report, object, FALSE, error);
}

gboolean report_intent(Report *report, const Task *task, TtOrientation operation, const struct stat *file,
                       const char *sha256, const struct stat *original, GError **error) {
    JsonObject *object = new_event("intent");
    add_name(object, "output", task->output);
    json_object_set_string_member(object, "operation", tt_orientation_name(operation));
    json_object_set_int_member(object, "device", (gint64)file->st_dev);
    json_object_set_int_member(object, "inode", (gint64)file->st_ino);
    json_object_set_int_member(object, "size", (gint64)file->st_size);
    json_object_set_int_member(object, "modified_ns", report_time(&file->st_mtim));
    json_object_set_string_member(object, "sha256", sha256);
    json_object_set_int_member(object, "original_inode", (gint64)original->st_ino);
    json_object_set_int_member(object, "original_size", (gint64)original->st_size);
    json_object_set_int_member(object, "original_modified_ns", report_time(&original->st_mtim));
    return write_line(report, object, TRUE, error);
}

gboolean report_summary(Report *report, const Tally *tally, double seconds, int status, GError **error) {
    JsonObject *object = new_event("summary");
    guint files = 0;
    for (int kind = 0; kind < OUTCOME_KINDS; kind++)
        files += tally->files[kind];
    json_object_set_int_member(object, "files", files);
    for (int kind = 0; kind < OUTCOME_KINDS; kind++)
        json_object_set_int_member(object, outcome_word((OutcomeKind)kind), tally->files[kind]);
    json_object_set_int_member(object, "bytes_in", (gint64)tally->bytes_in);
    json_object_set_int_member(object, "bytes_out", (gint64)tally->bytes_out);
    json_object_set_double_member(object, "seconds", seconds);
    json_object_set_int_member(object, "exit_status", status);
    return write_line(report, object, FALSE, error);
}
