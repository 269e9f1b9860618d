/* SPDX-License-Identifier: MIT
 *
 * Messages: one line each, to stderr, from here only.
 */
#include "say.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Loudness loudness = NORMAL;
static FILE *alone; /* where messages go once the libraries are silenced, else NULL */
static GMutex lock; /* of `alone`, for threads at once */

void say_set_loudness(Loudness wanted) {
    loudness = wanted;
}

static void silence_others(void) {
    int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (own >= 0 && nowhere >= 0 && (alone = fdopen(own, "w"))) {
        setvbuf(alone, NULL, _IOLBF, 0);
        dup2(nowhere, STDERR_FILENO);
    } else if (own >= 0) {
        close(own);
    }
    if (nowhere >= 0)
        close(nowhere);
}

void say_alone(void) {
    if (loudness == VERBOSE)
        return;
    g_mutex_lock(&lock);
    if (!alone)
        silence_others();
    g_mutex_unlock(&lock);
}

char *shown_name(const char *file) {
    GString *shown = g_string_new(NULL);
    for (const char *p = file; *p;) {
        gunichar c = g_utf8_get_char_validated(p, -1);
        if (c == (gunichar)-1 || c == (gunichar)-2)
            g_string_append_printf(shown, "\\x%02x", (guchar)*p++);
        else if (c != ' ' && !g_unichar_isgraph(c))
            for (const char *end = g_utf8_next_char(p); p < end; p++)
                g_string_append_printf(shown, "\\x%02x", (guchar)*p);
        else {
            g_string_append_unichar(shown, c);
            p = g_utf8_next_char(p);
        }
    }
    return g_string_free(shown, FALSE);
}

static void say(const char *file, const char *kind, const char *format, va_list args) {
    char *text = g_strdup_vprintf(format, args), *shown = shown_name(text),
         *name = file ? shown_name(file) : NULL;
    g_mutex_lock(&lock);
    fprintf(alone ? alone : stderr, "imgtranspose: %s%s%s%s\n", kind, name ? name : "", name ? ": " : "",
            shown);
    g_mutex_unlock(&lock);
    g_free(text);
    g_free(shown);
    g_free(name);
}

void say_error(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(file, "", format, args);
    va_end(args);
}

void say_warning(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (loudness > QUIET)
        say(file, "warning: ", format, args);
    va_end(args);
}

void say_note(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (loudness == VERBOSE)
        say(file, "", format, args);
    va_end(args);
}
