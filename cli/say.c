/* SPDX-License-Identifier: MIT
 *
 * Messages: one line each, to stderr, from here only.
 */
#include "say.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static Loudness loudness = NORMAL;
static FILE *alone;  /* where messages go once the libraries are silenced, else NULL */
static char *status; /* the line below all messages, or NULL */
static GMutex lock;  /* of both, for threads at once */

/* To the start of the line, and all that is on it away. */
#define CLEAR "\r\033[K"

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

/* Without a lock or memory, which there may be none to have. */
static void write_text(const char *text, gsize n) {
    gssize written = write(alone ? fileno(alone) : STDERR_FILENO, text, n);
    (void)written; /* nothing is left to be done about it */
}

static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data) {
    static const char name[] = "imgtranspose: ",
                      no_memory[] =
                          "there is no memory left to go on: free some, or allow fewer files at once by "
                          "-j or --memory-limit";
    if (!(level & G_LOG_LEVEL_ERROR))
        return g_log_writer_default(level, fields, n, data);
    const char *text = "";
    for (gsize i = 0; i < n; i++)
        if (!strcmp(fields[i].key, "MESSAGE") && fields[i].length < 0)
            text = fields[i].value;
    if (strstr(text, "failed to allocate"))
        text = no_memory;
    write_text(name, strlen(name));
    write_text(text, strlen(text));
    write_text("\n", 1);
    return G_LOG_WRITER_HANDLED;
}

void say_when_glib_gives_up(void) {
    g_log_set_writer_func(write_log, NULL, NULL);
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

char *shown_size(guint64 bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double size = (double)bytes;
    gsize unit = 0;
    for (; size >= 999.95 && unit + 1 < G_N_ELEMENTS(units); unit++)
        size /= 1000;
    return g_strdup_printf(unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

/* In one call, so that the line does not flicker. */
static void print(const char *before, const char *text) {
    FILE *stream = alone ? alone : stderr;
    char *all = g_strconcat(before, text, status ? status : "", NULL);
    fputs(all, stream);
    fflush(stream);
    g_free(all);
}

static void say(const char *file, const char *kind, const char *format, va_list args) {
    char *text = g_strdup_vprintf(format, args), *shown = shown_name(text),
         *name = file ? shown_name(file) : NULL;
    char *line = g_strdup_printf("imgtranspose: %s%s%s%s\n", kind, name ? name : "", name ? ": " : "", shown);
    g_mutex_lock(&lock);
    print(status ? CLEAR : "", line);
    g_mutex_unlock(&lock);
    g_free(text);
    g_free(shown);
    g_free(name);
    g_free(line);
}

void say_status(const char *line) {
    g_mutex_lock(&lock);
    gboolean shown = status != NULL;
    if (g_strcmp0(line, status)) {
        g_free(status);
        status = g_strdup(line);
        print(shown ? CLEAR : "", "");
    }
    g_mutex_unlock(&lock);
}

static int message_fd(void) {
    g_mutex_lock(&lock);
    int fd = alone ? fileno(alone) : STDERR_FILENO;
    g_mutex_unlock(&lock);
    return fd;
}

gboolean say_on_terminal(void) {
    const char *kind = g_getenv("TERM");
    return kind && strcmp(kind, "dumb") && isatty(message_fd());
}

int say_columns(void) {
    struct winsize size;
    const char *columns = g_getenv("COLUMNS");
    gint64 number = columns ? g_ascii_strtoll(columns, NULL, 10) : 0;
    if (!ioctl(message_fd(), TIOCGWINSZ, &size) && size.ws_col)
        return size.ws_col;
    return number > 0 && number < 10000 ? (int)number : 80;
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

void say_result(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (loudness > QUIET)
        say(NULL, "", format, args);
    va_end(args);
}

void say_note(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (loudness == VERBOSE)
        say(file, "", format, args);
    va_end(args);
}
