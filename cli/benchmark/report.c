/* SPDX-License-Identifier: MIT
 *
 * The report: JSON, an object a line, written as soon as it is known.
 */
#include <errno.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "../say.h"
#include "result.h"

FILE *report_open(const char *path, gboolean overwrite, GError **error) {
    if (!strcmp(path, "-"))
        return stdout;
    FILE *report = fopen(path, overwrite ? "we" : "wxe");
    if (!report && errno == EEXIST)
        fault(error, STATUS_USAGE, "the report %s exists: use --overwrite to replace it", path);
    else if (!report)
        named_fault(error, STATUS_USAGE, "write the report", path, errno);
    return report;
}

static void add_text(JsonObject *object, const char *name, const char *value) {
    char *valid = g_utf8_make_valid(value, -1);
    json_object_set_string_member(object, name, valid);
    g_free(valid);
}

static void write_line(FILE *report, JsonObject *object) {
    JsonNode *node = json_node_init_object(json_node_alloc(), object);
    char *text = json_to_string(node, FALSE);
    fprintf(report, "%s\n", text);
    fflush(report);
    g_free(text);
    json_node_unref(node);
    json_object_unref(object);
}

void report_machine(FILE *report, const Machine *machine) {
    JsonObject *object = json_object_new();
    add_text(object, "machine", machine->model);
    json_object_set_int_member(object, "processors", machine->processors);
    json_object_set_int_member(object, "l2_bytes", (gint64)machine->second);
    json_object_set_int_member(object, "last_cache_bytes", (gint64)machine->last);
    json_object_set_string_member(object, "version", tt_version());
    write_line(report, object);
}

void report_row(FILE *report, const Result *result) {
    const Turn *turn = result->turn;
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "case", turn->pixel->name);
    json_object_set_int_member(object, "width", (gint64)turn->width);
    json_object_set_int_member(object, "height", (gint64)turn->height);
    json_object_set_string_member(object, "orientation", tt_orientation_name(turn->orientation));
    json_object_set_string_member(object, "backend", turn->backend);
    json_object_set_int_member(object, "threads", turn->threads);
    json_object_set_double_member(object, "seconds", result->seconds);
    json_object_set_double_member(object, "gb_per_s", result->gb_per_s);
    json_object_set_double_member(object, "of_copy", result->of_copy);
    write_line(report, object);
}

gboolean report_close(FILE *report, const char *path, GError **error) {
    gboolean good = !ferror(report);
    if (report == stdout ? fflush(report) : fclose(report))
        good = FALSE;
    return good || fault(error, STATUS_FAILED, "the report %s could not be written: is the disk full?", path);
}
