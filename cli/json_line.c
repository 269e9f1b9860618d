/* SPDX-License-Identifier: MIT */
#include "json_line.h"

#include <string.h>

/* Which the parser takes, or a string in other quotes: what stands in one would be misread here. */
#define BEGINS_A_COMMENT "/#'"

guint json_line_depth(const char *line) {
    gboolean in_string = FALSE;
    guint depth = 0, deepest = 0;
    for (const char *p = line; *p; p++) {
        if (in_string) {
            in_string = *p != '"';
            p += *p == '\\' && p[1];
        } else if (depth ? strchr(BEGINS_A_COMMENT, *p) != NULL
                         : (*p != '{' || deepest) && !g_ascii_isspace(*p)) {
            return 0;
        } else {
            in_string = *p == '"';
            depth += *p == '{' || *p == '[';
            depth -= *p == '}' || *p == ']';
            deepest = MAX(deepest, depth);
        }
    }
    return depth ? 0 : deepest;
}

static JsonNode *value_of(JsonObject *object, const char *member, GType type) {
    JsonNode *node = json_object_get_member(object, member);
    return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == type ? node : NULL;
}

const char *json_line_text(JsonObject *object, const char *member) {
    JsonNode *node = value_of(object, member, G_TYPE_STRING);
    return node ? json_node_get_string(node) : NULL;
}

gint64 json_line_number(JsonObject *object, const char *member) {
    JsonNode *node = value_of(object, member, G_TYPE_INT64);
    return node ? json_node_get_int(node) : 0;
}
