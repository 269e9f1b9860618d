/* SPDX-License-Identifier: MIT
 *
 * Two ways from a source to turned rows:
 *
 *   walk     a source that can be read anywhere, or a turn that keeps the order of rows: in pieces
 *   frame    one that comes in order, and any other turn: all rows go into a frame first
 *
 * On both, rows are read, turned and taken at the same time where there are cores for it, except that a frame
 * must have all rows before the first can be taken.
 */
#include "turned.h"

#include "beside.h"
#include "heap.h"
#include "say.h"
#include "walk.h"

struct Turned {
    Reader *reader;
    TtOrientation turn;
    const Options *options;
    const atomic_int *cancel;
    TtImage result; /* of a page, as all below */
    gsize page, next_row;

    Walk *walk;

    TtFrame *frame;
    char *why;         /* it is on a GPU that nobody asked for; else NULL */
    gboolean let_down; /* by that GPU */
    gboolean complete; /* all rows of the source are in it */
    TtImage bands[2];  /* buffers: one is moved into the frame or out of it, while the other is used */
    gsize next_band;
    Beside moving;
    GError *fault; /* of that move */
    TtImage moved;
    gsize moved_to; /* row of the source, or of the result */

    gint64 reading_time, turning_time; /* but for the walk that is still there */
};

static gsize row_bytes(const TtImage *image) {
    return (image->width * image->channels * image->sample_bits + 7) / 8;
}

static gboolean keeps_order(TtOrientation o) {
    return o == TT_NONE || o == TT_FLIPH;
}

static gboolean needs_frame(const Reader *reader, TtOrientation turn, const Options *options) {
    return reader->anywhere ? reader->format->read_rows && !walk_suits(reader, turn, options)
                            : !keeps_order(turn);
}

static gboolean make_bands(Turned *t, const TtImage *like, gsize height, GError **error) {
    for (int i = 0; i < 2; i++) {
        t->bands[i] = *like;
        t->bands[i].height = height;
        t->bands[i].pitch = (ptrdiff_t)row_bytes(like);
        t->bands[i].data = g_try_malloc_n(height, row_bytes(like));
        if (!t->bands[i].data)
            return fault(error, STATUS_FAILED,
                         "needs %.1f MB of memory for a band, which the system has not: free some",
                         (double)row_bytes(like) * (double)height / 1e6);
    }
    return TRUE;
}

static void free_bands(Turned *t) {
    g_clear_pointer(&t->bands[0].data, g_free);
    g_clear_pointer(&t->bands[1].data, g_free);
}

static gboolean leaves_the_choice(const Options *options) {
    const char *backend = options->backend ? options->backend : g_getenv("TT_BACKEND");
    return !backend || !*backend || !strcmp(backend, "auto");
}

/* In memory; or else on a GPU if that is there and has room; or else in a file. */
static TtStatus choose_store(Turned *t, TtFrameOptions *options) {
    const TtImage *shape = &t->reader->shape;
    options->store = TT_STORE_MEMORY;
    TtStatus status = tt_frame_new(shape, t->turn, options, &t->frame);
    g_clear_pointer(&t->why, g_free); /* of an earlier page */
    if (status != TT_ERROR_MEMORY)
        return status;
    t->why = g_strdup(tt_last_error());
    const char *backend = options->backend;
    options->store = TT_STORE_DEVICE;
    options->backend = "cuda";
    if (!tt_frame_new(shape, t->turn, options, &t->frame))
        return TT_OK;
    g_clear_pointer(&t->why, g_free); /* the file's words say it */
    options->store = TT_STORE_AUTO;
    options->backend = backend;
    return tt_frame_new(shape, t->turn, options, &t->frame);
}

static gboolean start_frame(Turned *t, GError **error) {
    gboolean limited = t->options->memory_limit > 0; /* then nothing is kept beside it */
    TtFrameOptions options = {.struct_size = sizeof(options),
                              .memory_limit = t->options->memory_limit,
                              .backend = t->options->backend,
                              .threads = (guint)t->options->threads,
                              .allocate = limited ? NULL : heap_frame,
                              .release = limited ? NULL : heap_frame_back,
                              .cancel = (const volatile int *)t->cancel,
                              .device = t->options->device};
    TtStatus status = leaves_the_choice(t->options)
                          ? choose_store(t, &options)
                          : tt_frame_new(&t->reader->shape, t->turn, &options, &t->frame);
    gboolean on_gpu = g_strcmp0(t->options->backend, "cuda") == 0; /* whose messages say what to do */
    if (status == TT_ERROR_MEMORY && !on_gpu)
        return fault(error, STATUS_FAILED, "%s: raise --memory-limit or free memory", tt_last_error());
    return !status || library_fault(error);
}

static gboolean start_page(Turned *t, GError **error) {
    t->next_row = 0;
    t->complete = FALSE;
    if (needs_frame(t->reader, t->turn, t->options))
        return start_frame(t, error);
    t->walk = walk_new(t->reader, t->page, t->turn, t->options, t->cancel, error);
    return t->walk != NULL;
}

static void add_walk(const Turned *t, gint64 *reading, gint64 *turning) {
    gint64 of_walk[2];
    if (!t->walk)
        return;
    walk_spent(t->walk, &of_walk[0], &of_walk[1]);
    *reading += of_walk[0];
    *turning += of_walk[1];
}

static void end_page(Turned *t) {
    beside_wait(&t->moving);
    add_walk(t, &t->reading_time, &t->turning_time);
    g_clear_error(&t->fault);
    g_clear_pointer(&t->walk, walk_free);
    g_clear_pointer(&t->frame, tt_frame_free);
    free_bands(t);
}

static gboolean on_last_page(const Turned *t) {
    return t->page + 1 == t->reader->pages;
}

gsize turned_memory(const Reader *reader, TtOrientation turn, const Options *options) {
    gsize row = row_bytes(&reader->shape), height = reader->shape.height;
    if (needs_frame(reader, turn, options))
        return row > G_MAXSIZE / 2 / height ? G_MAXSIZE / 2 : row * height;
    return walk_memory(reader, turn, options);
}

Turned *turned_new(Reader *reader, TtOrientation turn, const Options *options, const atomic_int *cancel,
                   GError **error) {
    Turned *t = g_new0(Turned, 1);
    t->reader = reader;
    t->turn = turn;
    t->options = options;
    t->cancel = cancel;
    t->result = reader->shape;
    t->result.width = tt_swaps_axes(turn) ? reader->shape.height : reader->shape.width;
    t->result.height = tt_swaps_axes(turn) ? reader->shape.width : reader->shape.height;
    beside_init(&t->moving, options->cores);
    if (start_page(t, error))
        return t;
    turned_free(t);
    return NULL;
}

void turned_free(Turned *t) {
    end_page(t);
    g_free(t->why);
    beside_clear(&t->moving);
    g_free(t);
}

TtImage turned_shape(const Turned *t) {
    return t->result;
}

void turned_seconds(const Turned *t, double *reading, double *turning) {
    gint64 times[] = {t->reading_time, t->turning_time};
    add_walk(t, &times[0], &times[1]);
    *reading += (double)times[0] * 1e-6;
    *turning += (double)times[1] * 1e-6;
}

char *turned_way(const Turned *t) {
    gsize bytes, pieces;
    if (t->frame)
        return g_strdup_printf("held as a whole, since %s: %s%s%s",
                               t->reader->anywhere ? "the memory is too little for a column of its tiles"
                                                   : "its rows come in order",
                               tt_frame_where(t->frame), t->why ? ": " : "", t->why ? t->why : "");
    pieces = walk_pieces(t->walk, &bytes);
    return g_strdup_printf("in %" G_GSIZE_FORMAT " pieces of %.1f MB, since %s", pieces, (double)bytes / 1e6,
                           t->reader->anywhere ? "it can be read anywhere"
                                               : "this turn keeps the order of its rows");
}

gboolean turned_was_let_down(Turned *t) {
    beside_wait(&t->moving);
    return t->let_down;
}

/* ---- Through a frame ---------------------------------------------------------------------------------- */

/* What a frame answers. */
static void note_answer(Turned *t, TtStatus status) {
    if (!status)
        return;
    t->let_down = t->why && status != TT_ERROR_CANCELLED;
    library_fault(&t->fault);
}

static void put(gpointer data) {
    Turned *t = data;
    gint64 started = g_get_monotonic_time();
    note_answer(t, tt_frame_put(t->frame, &t->moved, 0, t->moved_to));
    t->turning_time += g_get_monotonic_time() - started;
}

static void take(gpointer data) {
    Turned *t = data;
    gint64 started = g_get_monotonic_time();
    TtRect rows = {0, t->moved_to, t->result.width, t->moved.height};
    note_answer(t, tt_frame_read(t->frame, rows, &t->moved));
    t->turning_time += g_get_monotonic_time() - started;
}

static gboolean end_move(Turned *t, GError **error) {
    beside_wait(&t->moving);
    if (!t->fault)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&t->fault));
    return FALSE;
}

static gboolean start_move(Turned *t, void (*move)(gpointer), const TtImage *band, gsize row,
                           GError **error) {
    if (!end_move(t, error))
        return FALSE;
    t->moved = *band;
    t->moved_to = row;
    beside_start(&t->moving, move, t);
    return TRUE;
}

static gboolean read_band(Turned *t, gsize y, const TtImage *band, GError **error) {
    TtRect r = {0, y + t->page * t->reader->shape.height, band->width, band->height};
    gint64 started = g_get_monotonic_time();
    gboolean good = t->reader->anywhere ? t->reader->format->read_rect(t->reader, r, band, error)
                                        : t->reader->format->read_rows(t->reader, band, error);
    t->reading_time += g_get_monotonic_time() - started;
    return good;
}

/* A band is put while the next one is read. */
static gboolean fill_frame(Turned *t, GError **error) {
    gsize height = t->reader->shape.height, most = 0, end;
    for (gsize y = 0; y < height; y = end) {
        end = tt_frame_cut(t->frame, y);
        most = MAX(most, end - y);
    }
    if (!make_bands(t, &t->reader->shape, most, error))
        return FALSE;
    for (gsize y = 0, i = 0; y < height; y = end, i++) {
        if (*t->cancel)
            return fault(error, STATUS_SIGNAL, "interrupted");
        end = tt_frame_cut(t->frame, y);
        TtImage band = t->bands[i % 2];
        band.height = end - y;
        if (!read_band(t, y, &band, error) || !start_move(t, put, &band, y, error))
            return FALSE;
    }
    if (!end_move(t, error))
        return FALSE;
    t->complete = TRUE;
    free_bands(t);
    const Reader *reader = t->reader;
    return reader->anywhere || !on_last_page(t) || !reader->format->read_end ||
           reader->format->read_end(t->reader, error);
}

static TtImage result_band(const Turned *t, gsize row) {
    TtImage band = t->bands[t->next_band % 2];
    band.height = MIN(band.height, t->result.height - row);
    return band;
}

/* The next band is taken while the last one is used. */
static gboolean frame_next(Turned *t, TtImage *band, GError **error) {
    if (!t->complete && !fill_frame(t, error))
        return FALSE;
    if (!t->bands[0].data) {
        gsize rows = MAX((2 << 20) / row_bytes(&t->result), 1);
        if (!make_bands(t, &t->result, MIN(rows, t->result.height), error))
            return FALSE;
    }
    if (t->next_row == 0) {
        t->next_band = 0;
        *band = result_band(t, 0);
        if (!start_move(t, take, band, 0, error))
            return FALSE;
    }
    *band = result_band(t, t->next_row);
    if (!end_move(t, error))
        return FALSE;
    t->next_band++;
    gsize next = t->next_row + band->height;
    if (next == t->result.height)
        return TRUE;
    TtImage following = result_band(t, next);
    return start_move(t, take, &following, next, error);
}

/* ---- Both --------------------------------------------------------------------------------------------- */

gboolean turned_next(Turned *t, TtImage *band, GError **error) {
    *band = t->result;
    band->height = 0;
    if (t->next_row == t->result.height) {
        if (on_last_page(t))
            return TRUE;
        end_page(t);
        t->page++;
        if (!start_page(t, error))
            return FALSE;
    }
    if (*t->cancel)
        return fault(error, STATUS_SIGNAL, "interrupted");
    if (!(t->walk ? walk_next(t->walk, band, error) : frame_next(t, band, error)))
        return FALSE;
    t->next_row += band->height;
    return TRUE;
}

gboolean turned_rewind(Turned *t) {
    gboolean nothing_read = !t->page && !t->next_row;
    if (nothing_read)
        return TRUE;
    if (!t->reader->anywhere && (t->page || !t->frame))
        return FALSE;
    if (t->walk || t->page) {
        end_page(t);
        t->page = 0;
        return start_page(t, NULL);
    }
    beside_wait(&t->moving);
    t->next_row = 0;
    return TRUE;
}
