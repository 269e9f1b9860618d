/* SPDX-License-Identifier: MIT
 *
 * Three ways from a source to turned rows:
 *
 *   walk     a source that can be read anywhere, in the pieces of tt_plan()
 *   stream   one that comes in order, and a turn that keeps the order of rows: band by band
 *   frame    one that comes in order, and any other turn: all rows go into a frame first
 */
#include "turned.h"

#include "say.h"

/* Bytes of a piece and its turned twin, from a file and from memory, where large pieces gain nothing. */
static const gsize piece_limit = 64 << 20, held_piece_limit = 4 << 20;

struct Turned {
    Reader *reader;
    TtOrientation turn;
    const Options *options;
    TtOptions how;
    const volatile int *cancel;
    TtImage result; /* of a page, as all below */
    gsize page, next_row;

    TtImage source_band, result_band; /* buffers */
    TtPlan plan;                      /* walk */
    gsize next_piece;
    TtFrame *frame;    /* frame */
    gboolean complete; /* stream, frame: all rows of the source were read */
};

static gsize smaller(gsize a, gsize b) {
    return a < b ? a : b;
}

static gsize row_bytes(const TtImage *image) {
    return (image->width * image->channels * image->sample_bits + 7) / 8;
}

static gboolean comes_in_order(const Turned *t) {
    return !t->reader->anywhere;
}

static gboolean keeps_order(TtOrientation o) {
    return o == TT_NONE || o == TT_FLIPH;
}

static gboolean make_band(TtImage *band, const TtImage *like, gsize width, gsize height, GError **error) {
    *band = *like;
    band->width = width;
    band->height = height;
    band->pitch = (ptrdiff_t)row_bytes(band);
    band->data = g_try_malloc_n(height, (gsize)band->pitch);
    return band->data ||
           fault(error, STATUS_FAILED, "needs %.1f MB of memory for a band, which the system has not",
                 (double)band->pitch * (double)height / 1e6);
}

static gboolean start_walk(Turned *t, GError **error) {
    gsize held = t->reader->held, limit = t->options->memory_limit;
    TtPlanOptions options = {sizeof(options), held ? held_piece_limit : piece_limit, t->reader->tile_width,
                             t->reader->tile_height, TRUE};
    if (limit)
        options.memory_limit = smaller(options.memory_limit, limit > held ? limit - held : 1);
    if (tt_plan(&t->reader->shape, t->turn, &options, &t->plan))
        return fault(error, STATUS_FAILED, "%s: raise --memory-limit", tt_last_error());
    gsize width = t->plan.width, height = t->plan.height; /* of the largest piece */
    gboolean swap = tt_swaps_axes(t->turn);
    return make_band(&t->source_band, &t->reader->shape, width, height, error) &&
           make_band(&t->result_band, &t->result, swap ? height : width, swap ? width : height, error);
}

static gboolean start_frame(Turned *t, GError **error) {
    TtFrameOptions options = {.struct_size = sizeof(options),
                              .memory_limit = t->options->memory_limit,
                              .backend = t->options->backend,
                              .threads = (guint)t->options->threads,
                              .cancel = t->cancel,
                              .device = t->options->device};
    TtStatus status = tt_frame_new(&t->reader->shape, t->turn, &options, &t->frame);
    if (status == TT_ERROR_MEMORY)
        return fault(error, STATUS_FAILED, "%s: raise --memory-limit or free memory", tt_last_error());
    if (status)
        return library_fault(error);
    gsize most = 0;
    for (gsize y = 0, end; y < t->reader->shape.height; y = end) {
        end = tt_frame_cut(t->frame, y);
        most = MAX(most, end - y);
    }
    gsize rows = (4 << 20) / row_bytes(&t->result);
    return make_band(&t->source_band, &t->reader->shape, t->reader->shape.width, most, error) &&
           make_band(&t->result_band, &t->result, t->result.width, smaller(MAX(rows, 1), t->result.height),
                     error);
}

static gboolean start_stream(Turned *t, GError **error) {
    gsize rows = smaller(MAX((1 << 20) / row_bytes(&t->result), 1), t->result.height);
    return make_band(&t->source_band, &t->reader->shape, t->reader->shape.width, rows, error) &&
           make_band(&t->result_band, &t->result, t->result.width, rows, error);
}

static gboolean start_page(Turned *t, GError **error) {
    t->next_row = t->next_piece = 0;
    t->complete = FALSE;
    return !comes_in_order(t)     ? start_walk(t, error)
           : keeps_order(t->turn) ? start_stream(t, error)
                                  : start_frame(t, error);
}

static void end_page(Turned *t) {
    g_clear_pointer(&t->frame, tt_frame_free);
    g_clear_pointer(&t->source_band.data, g_free);
    g_clear_pointer(&t->result_band.data, g_free);
}

static gboolean on_last_page(const Turned *t) {
    return t->page + 1 == t->reader->pages;
}

gsize turned_memory(const Reader *reader, TtOrientation turn) {
    gsize row = row_bytes(&reader->shape), height = reader->shape.height;
    gsize whole = row > G_MAXSIZE / 2 / height ? G_MAXSIZE / 2 : row * height;
    if (reader->anywhere)
        return reader->held + smaller(reader->held ? held_piece_limit : piece_limit, 2 * whole);
    return keeps_order(turn) ? 0 : whole;
}

Turned *turned_new(Reader *reader, TtOrientation turn, const Options *options, const volatile int *cancel,
                   GError **error) {
    Turned *t = g_new0(Turned, 1);
    t->reader = reader;
    t->turn = turn;
    t->options = options;
    t->how = (TtOptions){sizeof(t->how), options->backend, (guint)options->threads, options->device};
    t->cancel = cancel;
    t->result = reader->shape;
    t->result.width = tt_swaps_axes(turn) ? reader->shape.height : reader->shape.width;
    t->result.height = tt_swaps_axes(turn) ? reader->shape.width : reader->shape.height;
    if (start_page(t, error))
        return t;
    turned_free(t);
    return NULL;
}

void turned_free(Turned *t) {
    end_page(t);
    g_free(t);
}

TtImage turned_shape(const Turned *t) {
    return t->result;
}

const char *turned_where(const Turned *t) {
    return tt_frame_store(t->frame) == TT_STORE_SPILL ? tt_frame_where(t->frame) : NULL;
}

static TtImage band_of(const TtImage *buffer, gsize width, gsize height) {
    TtImage band = *buffer;
    band.width = width;
    band.height = height;
    band.pitch = (ptrdiff_t)row_bytes(&band);
    return band;
}

static gboolean walk_next(Turned *t, TtImage *band, GError **error) {
    TtRect from, to;
    tt_plan_piece(&t->plan, t->next_piece++, &from, &to);
    TtImage source = band_of(&t->source_band, from.width, from.height);
    *band = band_of(&t->result_band, to.width, to.height);
    from.y += t->page * t->reader->shape.height;
    if (!t->reader->format->read_rect(t->reader, from, &source, error))
        return FALSE;
    return !tt_orient(&source, band, t->turn, &t->how) || library_fault(error);
}

static gboolean stream_next(Turned *t, TtImage *band, GError **error) {
    gsize rows = smaller(t->source_band.height, t->result.height - t->next_row);
    TtImage source = band_of(&t->source_band, t->reader->shape.width, rows);
    *band = band_of(&t->result_band, t->result.width, rows);
    if (!t->reader->format->read_rows(t->reader, &source, error))
        return FALSE;
    if (tt_orient(&source, band, t->turn, &t->how))
        return library_fault(error);
    t->complete = t->next_row + rows == t->result.height;
    return !t->complete || !on_last_page(t) || !t->reader->format->read_end ||
           t->reader->format->read_end(t->reader, error);
}

static gboolean fill_frame(Turned *t, GError **error) {
    gsize height = t->reader->shape.height;
    for (gsize y = 0, end; y < height; y = end) {
        end = tt_frame_cut(t->frame, y);
        TtImage source = band_of(&t->source_band, t->reader->shape.width, end - y);
        if (!t->reader->format->read_rows(t->reader, &source, error))
            return FALSE;
        if (tt_frame_put(t->frame, &source, 0, y))
            return library_fault(error);
    }
    t->complete = TRUE;
    g_clear_pointer(&t->source_band.data, g_free);
    return !on_last_page(t) || !t->reader->format->read_end || t->reader->format->read_end(t->reader, error);
}

static gboolean frame_next(Turned *t, TtImage *band, GError **error) {
    if (!t->complete && !fill_frame(t, error))
        return FALSE;
    gsize rows = smaller(t->result_band.height, t->result.height - t->next_row);
    *band = band_of(&t->result_band, t->result.width, rows);
    TtRect r = {0, t->next_row, t->result.width, rows};
    return !tt_frame_read(t->frame, r, band) || library_fault(error);
}

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
    gboolean good = !comes_in_order(t) ? walk_next(t, band, error)
                    : t->frame         ? frame_next(t, band, error)
                                       : stream_next(t, band, error);
    if (good)
        t->next_row += band->height;
    return good;
}

gboolean turned_rewind(Turned *t) {
    if (comes_in_order(t) && (t->page || (!t->frame && t->next_row)))
        return FALSE;
    t->page = t->next_row = t->next_piece = 0;
    return TRUE;
}
