/* SPDX-License-Identifier: MIT
 *
 * x = A * column + B * row + C and y = D * column + E * row + F, of the middles of pixels; written as A D B E
 * C F.
 */
#include "world_file.h"

#include <string.h>
#include <unistd.h>

#include "fault.h"

enum { NUMBERS = 6, LONGEST = 4096 };

/* Behind the last dot of the name; at its end if there is none. */
static const char *extension_of(const char *path) {
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    return dot && dot > path && (!slash || dot > slash + 1) ? dot + 1 : path + strlen(path);
}

static char *with_extension(const char *path, const char *extension) {
    int stem = (int)(extension_of(path) - path);
    return g_strdup_printf("%.*s%s%s", stem, path, stem && path[stem - 1] == '.' ? "" : ".", extension);
}

static char *if_there(char *path) {
    if (!access(path, F_OK))
        return path;
    g_free(path);
    return NULL;
}

/* The first and the last letter of the picture's extension, or all of it, and a w; or wld. */
char *world_file_beside(const char *picture) {
    const char *extension = extension_of(picture);
    gsize n = strlen(extension);
    if (!n)
        return NULL;
    char *names[] = {g_strdup_printf("%c%cw", extension[0], extension[n - 1]),
                     g_strdup_printf("%sw", extension), g_strdup("wld")},
         *found = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        char *lower = g_ascii_strdown(names[i], -1), *upper = g_ascii_strup(names[i], -1);
        if (!found)
            found = if_there(with_extension(picture, lower));
        if (!found)
            found = if_there(with_extension(picture, upper));
        g_free(lower);
        g_free(upper);
        g_free(names[i]);
    }
    return found;
}

char *world_file_name(const char *path, const char *picture, const char *other) {
    const char *own = extension_of(path), *of_picture = extension_of(picture);
    gsize n = strlen(of_picture);
    if (g_ascii_strncasecmp(own, of_picture, n) || g_ascii_strcasecmp(own + n, "w"))
        return with_extension(other, own);
    char *long_one = g_strconcat(extension_of(other), own + n, NULL), *name = with_extension(other, long_one);
    g_free(long_one);
    return name;
}

static gboolean read_numbers(const char *path, double numbers[NUMBERS], GError **error) {
    char *text = NULL;
    gsize size = 0;
    gboolean good = g_file_get_contents(path, &text, &size, NULL) && size < LONGEST;
    char *next = text;
    for (int i = 0; good && i < NUMBERS; i++) {
        char *start = next;
        numbers[i] = g_ascii_strtod(start, &next);
        good = next > start;
    }
    good = good && !*g_strchug(next);
    g_free(text);
    return good ||
           fault(error, STATUS_FAILED,
                 "lies beside the world file %s, which does not hold six numbers: mend that or move it away",
                 path);
}

static void add_number(GString *text, double value) {
    char shortest[G_ASCII_DTOSTR_BUF_SIZE];
    value += 0.0; /* no -0 */
    g_ascii_formatd(shortest, sizeof(shortest), "%.15g", value);
    if (g_ascii_strtod(shortest, NULL) != value)
        g_ascii_dtostr(shortest, sizeof(shortest), value);
    g_string_append_printf(text, "%s\n", shortest);
}

char *world_file_turned(const char *path, TtOrientation turn, gsize width, gsize height, GError **error) {
    enum { A, D, B, E, C, F };
    double n[NUMBERS];
    if (!read_numbers(path, n, error))
        return NULL;
    gboolean swap = tt_swaps_axes(turn) != 0;
    TtOrientation back = tt_invert(turn);
    TtRect first = tt_map_rect(back, swap ? height : width, swap ? width : height, (TtRect){0, 0, 1, 1});
    /* Where one step to the right and one down in the result lead in the source. */
    TtRect here = tt_map_rect(back, 2, 2, (TtRect){0, 0, 1, 1}),
           right = tt_map_rect(back, 2, 2, (TtRect){1, 0, 1, 1}),
           down = tt_map_rect(back, 2, 2, (TtRect){0, 1, 1, 1});
    double right_x = (double)right.x - (double)here.x, right_y = (double)right.y - (double)here.y,
           down_x = (double)down.x - (double)here.x, down_y = (double)down.y - (double)here.y;
    double x = (double)first.x, y = (double)first.y;
    GString *text = g_string_new(NULL);
    add_number(text, n[A] * right_x + n[B] * right_y);
    add_number(text, n[D] * right_x + n[E] * right_y);
    add_number(text, n[A] * down_x + n[B] * down_y);
    add_number(text, n[D] * down_x + n[E] * down_y);
    add_number(text, n[A] * x + n[B] * y + n[C]);
    add_number(text, n[D] * x + n[E] * y + n[F]);
    return g_string_free(text, FALSE);
}
