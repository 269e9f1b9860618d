/* SPDX-License-Identifier: MIT
 *
 * The header of a Radiance picture: lines of text, an empty one, and the line of its size and scan order.
 */
#include "radiance_header.h"

#include <string.h>

enum { LINE = 4096, MAX_LINES = 65536 };

/* A line without its end, or as much of it as fits. */
static gboolean next_line(FILE *file, char line[LINE]) {
    int c = EOF, n = 0;
    while (n < LINE - 1 && (c = getc(file)) != EOF && c != '\n')
        line[n++] = (char)c;
    line[n] = '\0';
    return n || c == '\n';
}

static gboolean is_kept(const char *line) {
    static const char *const kept[] = {
        "#?", "FORMAT=", "EXPOSURE=", "COLORCORR=", "SOFTWARE=", "PIXASPECT=", "PRIMARIES="};
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        if (g_str_has_prefix(line, kept[i]))
            return TRUE;
    return FALSE;
}

RadianceHeader radiance_header_read(FILE *file) {
    RadianceHeader header = {0};
    char line[LINE];
    rewind(file);
    for (int i = 0; i < MAX_LINES && next_line(file, line) && *line; i++)
        header.extra |= !is_kept(line);
    int height, width;
    char end;
    header.upright = next_line(file, line) && sscanf(line, "-Y %d +X %d %c", &height, &width, &end) == 2;
    return header;
}
