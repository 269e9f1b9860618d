/* SPDX-License-Identifier: MIT
 *
 * A line that is drawn ten times a second:
 *
 *     [=======>            ]  37%  370/1000 files  1.2 GB  85 MB/s  0:24 left  name.png
 *
 * Shares are of the inputs' bytes. Half of a file's count as they are read, since its pixels must be written,
 * too.
 */
#include "progress.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

enum { INTERVAL = G_TIME_SPAN_SECOND / 10, QUIET_START = G_TIME_SPAN_SECOND / 2 };

typedef struct {
    const char *name;
    int input;
    guint64 size;
} InHand;

struct Progress {
    const GPtrArray *tasks; /* or NULL, if nobody knows how many there will be */
    const atomic_int *stop;
    gint64 started;
    gboolean at_once;
    GThread *thread;
    GMutex lock; /* of what follows */
    GCond ended;
    gboolean ending;
    GPtrArray *in_hand; /* oldest first */
    guint files;        /* done */
    guint64 bytes;
    guint64 all_bytes; /* 0 until all inputs were looked at */
};

/* ---- The line ----------------------------------------------------------------------------------------- */

static int columns_of(gunichar c) {
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

static int text_columns(const char *text) {
    int columns = 0;
    for (; *text; text = g_utf8_next_char(text))
        columns += columns_of(g_utf8_get_char(text));
    return columns;
}

char *progress_fit(const char *text, int columns) {
    int surplus = text_columns(text) - columns;
    if (surplus <= 0)
        return g_strdup(text);
    if (columns < 4)
        return g_strdup("");
    for (surplus += 3; *text && (surplus > 0 || !columns_of(g_utf8_get_char(text)));
         text = g_utf8_next_char(text))
        surplus -= columns_of(g_utf8_get_char(text));
    return g_strconcat("...", text, NULL);
}

static char *span(double seconds) {
    guint all = (guint)MIN(seconds, 359999), hours = all / 3600, minutes = all / 60 % 60;
    return hours ? g_strdup_printf("%u:%02u:%02u", hours, minutes, all % 60)
                 : g_strdup_printf("%u:%02u", minutes, all % 60);
}

static guint64 bytes_now(const Progress *p) {
    guint64 bytes = p->bytes;
    for (guint i = 0; i < p->in_hand->len; i++) {
        const InHand *file = p->in_hand->pdata[i];
        off_t at = lseek(file->input, 0, SEEK_CUR);
        bytes += at > 0 ? MIN((guint64)at, file->size) / 2 : 0;
    }
    return bytes;
}

static void add_bar(GString *line, double share, int width) {
    int full = (int)(share * width);
    g_string_append_c(line, '[');
    for (int i = 0; i < width; i++)
        g_string_append_c(line, i < full ? '=' : i == full ? '>' : ' ');
    g_string_append(line, "]  ");
}

static char *if_it_fits(char *text, int columns) {
    if (text_columns(text) > columns)
        *text = 0;
    return text;
}

static void add_share(GString *line, double share, int columns) {
    if (columns >= 70)
        add_bar(line, share, columns / 6);
    g_string_append_printf(line, "%3.0f%%  ", share * 100);
}

static void add_rates(GString *line, guint64 bytes, guint64 all, double seconds) {
    double rate = seconds > 0 ? (double)bytes / seconds : 0;
    char *size = shown_size(bytes), *a_second = shown_size((guint64)rate);
    g_string_append_printf(line, "  %s  %s/s", size, a_second);
    if (all && rate > 0) {
        char *left = span(((double)all - (double)MIN(bytes, all)) / rate);
        g_string_append_printf(line, "  %s left", left);
        g_free(left);
    }
    g_free(size);
    g_free(a_second);
}

static void add_name(GString *line, const Progress *p, int columns) {
    const InHand *oldest = p->in_hand->len ? p->in_hand->pdata[0] : NULL;
    char *shown = shown_name(oldest ? oldest->name : "");
    char *name = progress_fit(shown, columns - text_columns(line->str) - 2);
    g_string_append_printf(line, "%s%s", *name ? "  " : "", name);
    g_free(shown);
    g_free(name);
}

/* With the lock held. On a narrow terminal there is only what matters most. */
static char *make_line(const Progress *p, int columns) {
    enum { NARROW = 60 };
    GString *line = g_string_new(NULL);
    if (*p->stop) {
        g_string_printf(line, "ending %u files; Ctrl-C again gives them up", p->in_hand->len);
        return if_it_fits(g_string_free(line, FALSE), columns);
    }
    guint64 bytes = bytes_now(p);
    if (p->all_bytes)
        add_share(line, MIN((double)bytes / (double)p->all_bytes, 1.0), columns);
    if (p->tasks)
        g_string_append_printf(line, "%u/%u files", p->files, p->tasks->len);
    else
        g_string_append_printf(line, "%u files", p->files);
    if (columns >= NARROW)
        add_rates(line, bytes, p->all_bytes, (double)(g_get_monotonic_time() - p->started) * 1e-6);
    add_name(line, p, columns);
    return if_it_fits(g_string_free(line, FALSE), columns);
}

/* ---- The thread --------------------------------------------------------------------------------------- */

static guint64 look_at_inputs(const Progress *p) {
    guint64 all = 0;
    struct stat info;
    for (guint i = 0; p->tasks && i < p->tasks->len; i++)
        if (!stat(((const Task *)p->tasks->pdata[i])->input, &info) && S_ISREG(info.st_mode))
            all += (guint64)info.st_size;
    return all;
}

static gpointer draw(gpointer data) {
    Progress *p = data;
    guint64 all = look_at_inputs(p);
    g_mutex_lock(&p->lock);
    p->all_bytes = all;
    gint64 next = p->started + (p->at_once ? 0 : QUIET_START);
    while (!p->ending) {
        if (g_get_monotonic_time() >= next) {
            char *line = make_line(p, say_columns() - 1);
            say_status(line);
            g_free(line);
            next = g_get_monotonic_time() + INTERVAL;
        }
        g_cond_wait_until(&p->ended, &p->lock, next);
    }
    g_mutex_unlock(&p->lock);
    say_status(NULL);
    return NULL;
}

Progress *progress_begin(const Options *options, const GPtrArray *tasks) {
    gboolean wanted = options->progress == PROGRESS_ALWAYS ||
                      (options->progress == PROGRESS_AUTO && !options->quiet && say_on_terminal());
    if (!wanted)
        return NULL;
    Progress *p = g_new0(Progress, 1);
    p->tasks = tasks;
    p->stop = options->stop;
    p->at_once = options->progress == PROGRESS_ALWAYS;
    p->started = g_get_monotonic_time();
    p->in_hand = g_ptr_array_new_with_free_func(g_free);
    g_mutex_init(&p->lock);
    g_cond_init(&p->ended);
    p->thread = g_thread_try_new("progress", draw, p, NULL);
    return p;
}

void progress_end(Progress *p) {
    if (!p)
        return;
    g_mutex_lock(&p->lock);
    p->ending = TRUE;
    g_cond_signal(&p->ended);
    g_mutex_unlock(&p->lock);
    if (p->thread)
        g_thread_join(p->thread);
    g_ptr_array_unref(p->in_hand);
    g_mutex_clear(&p->lock);
    g_cond_clear(&p->ended);
    g_free(p);
}

/* ---- What it shows ------------------------------------------------------------------------------------ */

void progress_take_up(Progress *p, const char *name, int input) {
    struct stat info;
    if (!p)
        return;
    InHand *file = g_new(InHand, 1);
    gboolean known = !fstat(input, &info) && S_ISREG(info.st_mode);
    *file = (InHand){name, known ? input : -1, known ? (guint64)info.st_size : 0};
    g_mutex_lock(&p->lock);
    g_ptr_array_add(p->in_hand, file);
    g_mutex_unlock(&p->lock);
}

void progress_put_down(Progress *p, const char *name) {
    if (!p)
        return;
    g_mutex_lock(&p->lock);
    for (guint i = 0; i < p->in_hand->len; i++)
        if (((InHand *)p->in_hand->pdata[i])->name == name) {
            g_ptr_array_remove_index(p->in_hand, i);
            break;
        }
    g_mutex_unlock(&p->lock);
}

void progress_count(Progress *p, guint64 bytes) {
    if (!p)
        return;
    g_mutex_lock(&p->lock);
    p->files++;
    p->bytes += bytes;
    g_mutex_unlock(&p->lock);
}
