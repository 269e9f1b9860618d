/* SPDX-License-Identifier: MIT
 *
 * JSON that others may have written, a line at a time: tasks and journals.
 */
#ifndef JSON_LINE_H
#define JSON_LINE_H

#include <json-glib/json-glib.h>

/* How deep the objects and lists of a line are in each other; 0 if it is not one object. To be asked before
 * it is parsed: the parser takes any depth, until its stack is full, and the last of several objects. */
guint json_line_depth(const char *line);

/* A member's text; NULL where there is none, or something else. */
const char *json_line_text(JsonObject *object, const char *member);

/* A member's number, 0 likewise. */
gint64 json_line_number(JsonObject *object, const char *member);

#endif
