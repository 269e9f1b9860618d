/* SPDX-License-Identifier: MIT
 *
 * A sweep through a picture.
 *
 * The blocks that land on the same rows of the result are a line: a column of tiles if the turn swaps the
 * axes, else a row of tiles, or a strip. Lines are unpacked in the order in which their rows come in the
 * result, several at once, and turned into a window of the result's rows. From its top, rows of blocks that
 * are complete are packed and written, and what is left moves up. So a picture in tiles needs memory for two
 * lines, while one in strips that a turn swaps is a single line. If that is too large for the memory, a frame
 * takes the window's place.
 *
 * Bare pixels are no blocks to be unpacked: tiff_bare.c walks over them.
 */
#include "tiff_turn.h"

#include <string.h>
#include <tiletranspose/tt_frame.h>

#include "../each.h"
#include "../fault.h"
#include "deflate.h"
#include "tiff_bare.h"
#include "tiff_steps.h"
#include "tiff_tag.h"

enum { WINDOW = 32 << 20, CHUNK = 1 << 20, LARGE = 16 << 20 /* bytes of a block */ };

typedef struct {
    const TiffTurner *turner;
    const TiffPicture *from;
    TiffPicture *to;
    TtOrientation turn;
    TiffSink *sink;
    guint32 *sums;
    gsize plane;
    TiffEncoders *encoders;

    TtImage step;                                       /* the format of pixels in memory */
    gsize from_width, from_height, to_width, to_height; /* in steps */
    gsize to_row;                                       /* bytes of a row in memory */
    gboolean swap, reversed;
    gsize thickness, lines, group, per_line; /* of a line; how many, how many at once; blocks of one */
    gsize capacity;                          /* of the window, in rows */
    gboolean spills;

    guint8 *window, *packed; /* packed pixels, before they are turned */
    TtRect group_rect;       /* what of the source they are */
    gsize first_line, n_lines;
    gsize top, filled; /* rows of the result: the window's first, and those turned */
    TtFrame *frame;
    GMutex writing; /* over the next four */
    GByteArray **encoded;
    gsize first_block, n_encoded, n_written;

    FirstError failure;
} Sweep;

/* ---- The plan ----------------------------------------------------------------------------------------- */

static gsize window_bytes(const Sweep *s, gsize rows) {
    gsize bytes;
    if (!g_size_checked_mul(&bytes, rows, s->to_row) || bytes > G_MAXSIZE / 4)
        return G_MAXSIZE / 4;
    return bytes * (s->step.sample_bits < 8 ? 2 : 1);
}

/* Rows of the window for lines of so many rows. */
static gsize rows_for(const Sweep *s, gsize lines_rows) {
    return MIN(lines_rows + tiff_steps_down(s->to, s->to->block_height), s->to_height);
}

static void plan(Sweep *s, gsize memory) {
    const TiffPicture *p = s->from;
    s->swap = tt_swaps_axes(s->turn) != 0;
    s->step = tiff_step(p);
    s->from_width = tiff_steps_across(p, p->width);
    s->from_height = tiff_steps_down(p, p->height);
    s->to_width = s->swap ? s->from_height : s->from_width;
    s->to_height = s->swap ? s->from_width : s->from_height;
    s->to_row = (s->to_width * s->step.channels * s->step.sample_bits + 7) / 8;
    TtRect first = tt_map_rect(s->turn, s->from_width, s->from_height, (TtRect){0, 0, 1, 1});
    s->reversed = first.y != 0;
    s->thickness = s->swap ? tiff_steps_across(p, p->block_width) : tiff_steps_down(p, p->block_height);
    s->lines = s->swap ? p->across : p->down;
    s->per_line = s->swap ? p->down : p->across;
    gsize line = MAX(s->thickness * s->to_row, 1);
    s->group = CLAMP(MIN(memory / 2, WINDOW) / line, 1, s->lines);
    s->capacity = rows_for(s, s->group * s->thickness);
    s->spills = window_bytes(s, s->capacity) > memory;
}

gsize tiff_turn_memory(const TiffPicture *from, TtOrientation turn, gsize memory, const Options *options) {
    if (tiff_is_bare(from))
        return tiff_bare_memory(from, turn, options);
    TiffPicture to = tiff_picture_turned(from, turn, memory);
    Sweep s = {.from = from, .to = &to, .turn = turn};
    plan(&s, memory);
    tiff_picture_clear(&to);
    return s.spills ? memory : window_bytes(&s, s.capacity);
}

/* ---- Errors of any thread ----------------------------------------------------------------------------- */

static gboolean goes_on(Sweep *s) {
    return first_error_is_none(&s->failure, s->turner->cancel);
}

/* Each block that is unpacked or packed takes memory of its own: large ones, one after another. */
static Cores *cores_for(const TiffTurner *t, const TiffPicture *p) {
    return tiff_block_bytes(p, 0) <= t->memory / cores_count(t->cores) ? t->cores : NULL;
}

/* ---- From blocks to turned rows ----------------------------------------------------------------------- */

/* What a line's piece covers of the source. */
static TtRect piece_rect(const Sweep *s, gsize line, gsize k) {
    gsize at = s->reversed ? s->lines - 1 - line : line;
    return tiff_block_rect(s->from, s->swap ? k * s->from->across + at : at * s->from->across + k);
}

static gsize piece_block(const Sweep *s, gsize line, gsize k) {
    gsize at = s->reversed ? s->lines - 1 - line : line;
    gsize block = s->swap ? k * s->from->across + at : at * s->from->across + k;
    return s->plane * s->from->across * s->from->down + block;
}

/* Rows of the file's samples, turned into the window, or put into the frame. rect: where they are. */
static gboolean land(Sweep *s, const guint8 *rows, gsize pitch, TtRect rect, GError **error) {
    TtImage piece = s->step;
    guint8 *unpacked = NULL;
    piece.data = (gpointer)rows;
    piece.pitch = (ptrdiff_t)pitch;
    piece.width = rect.width;
    piece.height = rect.height;
    if (tiff_steps_are_odd(s->from)) {
        piece.pitch = (ptrdiff_t)(rect.width * piece.channels);
        piece.data = unpacked = g_try_malloc_n(rect.height, (gsize)piece.pitch);
        if (!unpacked)
            return memory_fault(rect.height * (gsize)piece.pitch, error);
        tiff_steps_unpack(s->from, rows, pitch, 0, &piece);
    }
    TtStatus status;
    if (s->frame) {
        status = tt_frame_put(s->frame, &piece, rect.x, rect.y);
    } else {
        TtOptions how = {sizeof(how), s->turner->options->backend, 1, s->turner->options->device};
        TtRect there = tt_map_rect(s->turn, s->from_width, s->from_height, rect);
        there.y -= s->top;
        TtImage window = s->step;
        window.data = s->window;
        window.pitch = (ptrdiff_t)s->to_row;
        window.width = s->to_width;
        window.height = s->capacity;
        TtImage place = tt_subimage(&window, there);
        status = tt_orient(&piece, &place, s->turn, &how);
    }
    g_free(unpacked);
    return !status || library_fault(error);
}

typedef struct {
    Sweep *sweep;
    TtRect rect;
} Strip;

static gboolean land_rows(gpointer user, guint8 *rows, gsize first, gsize n, GError **error) {
    const Strip *strip = user;
    TtRect rect = {0, strip->rect.y + first, strip->rect.width, n};
    return land(strip->sweep, rows, tiff_block_row(strip->sweep->from), rect, error);
}

/* The place of a piece among packed pixels that wait for the rest of their line. */
static guint8 *packed_place(const Sweep *s, TtRect rect, gsize *pitch) {
    *pitch = (s->group_rect.width * s->step.sample_bits + 7) / 8;
    return s->packed + (rect.y - s->group_rect.y) * *pitch +
           (rect.x - s->group_rect.x) * s->step.sample_bits / 8;
}

/* Whether a block need not be unpacked as a whole. */
static gboolean comes_in_rows(const TiffPicture *p, gsize block) {
    return !p->tiled && tiff_block_bytes(p, block) > LARGE && p->units_across * p->units_down == 1 &&
           !tiff_block_is_missing(p, block);
}

gsize tiff_block_in_memory(const TiffPicture *from) {
    gsize least = 0; /* the first whose rows would not do */
    while (least < from->blocks && comes_in_rows(from, least))
        least++;
    return least < from->blocks ? tiff_block_bytes(from, least) : 0;
}

static gboolean unpack_packed(Sweep *s, gsize block, TtRect rect, GError **error) {
    gsize pitch, row = tiff_block_row(s->from), bytes = tiff_block_bytes(s->from, block);
    guint8 *to = packed_place(s, rect, &pitch);
    if (!s->from->tiled)
        return tiff_decode(s->turner->decoders, s->from, block, to, error);
    guint8 *rows = g_try_malloc(bytes);
    if (!rows)
        return memory_fault(bytes, error);
    gboolean good = tiff_decode(s->turner->decoders, s->from, block, rows, error);
    for (gsize y = 0; good && y < rect.height; y++)
        memcpy(to + y * pitch, rows + y * row, (rect.width * s->step.sample_bits + 7) / 8);
    g_free(rows);
    return good;
}

static gboolean unpack(Sweep *s, gsize line, gsize k, GError **error) {
    TtRect rect = piece_rect(s, line, k);
    gsize block = piece_block(s, line, k), bytes = tiff_block_bytes(s->from, block);
    if (s->packed)
        return unpack_packed(s, block, rect, error);
    if (comes_in_rows(s->from, block))
        return tiff_decode_rows(s->turner->decoders, s->from, block, land_rows, &(Strip){s, rect}, error);
    guint8 *rows = g_try_malloc(bytes);
    if (!rows)
        return memory_fault(bytes, error);
    gboolean good = tiff_decode(s->turner->decoders, s->from, block, rows, error) &&
                    land(s, rows, tiff_block_row(s->from), rect, error);
    g_free(rows);
    return good;
}

static void unpack_item(gsize i, gpointer data) {
    Sweep *s = data;
    GError *error = NULL;
    if (goes_on(s) && !unpack(s, s->first_line + i / s->per_line, i % s->per_line, &error))
        first_error_set(&s->failure, error);
}

static TtRect union_of(TtRect a, TtRect b) {
    gsize x = MIN(a.x, b.x), y = MIN(a.y, b.y);
    return (TtRect){x, y, MAX(a.x + a.width, b.x + b.width) - x, MAX(a.y + a.height, b.y + b.height) - y};
}

static TtRect line_rect(const Sweep *s, gsize line) {
    return union_of(piece_rect(s, line, 0), piece_rect(s, line, s->per_line - 1));
}

/* Unpacks and turns the next lines. */
static gboolean fill(Sweep *s, GError **error) {
    s->n_lines = MIN(s->group, s->lines - s->first_line);
    s->group_rect = union_of(line_rect(s, s->first_line), line_rect(s, s->first_line + s->n_lines - 1));
    gsize pitch = (s->group_rect.width * s->step.sample_bits + 7) / 8;
    if (s->step.sample_bits < 8 && !s->frame && !(s->packed = g_try_malloc_n(s->group_rect.height, pitch)))
        return memory_fault(s->group_rect.height * pitch, error);
    each(cores_for(s->turner, s->from), s->n_lines * s->per_line, unpack_item, s);
    gboolean good = goes_on(s);
    if (good && s->packed) {
        guint8 *packed = g_steal_pointer(&s->packed);
        good = land(s, packed, pitch, s->group_rect, error);
        g_free(packed);
    }
    g_clear_pointer(&s->packed, g_free);
    s->filled += s->swap ? s->group_rect.width : s->group_rect.height;
    s->first_line += s->n_lines;
    return good;
}

/* ---- From turned rows to blocks ----------------------------------------------------------------------- */

gboolean tiff_sink_append(TiffSink *sink, const guint8 *data, gsize size, guint64 *at, GError **error) {
    if (!sink->memory)
        return tiff_output_append(sink->output, data, size, at, error);
    if (sink->memory->len % 2)
        g_byte_array_append(sink->memory, (const guint8 *)"", 1);
    *at = sink->memory->len;
    g_byte_array_append(sink->memory, data, (guint)size);
    return TRUE;
}

/* A rectangle of the result, as pixels are in memory. */
static gboolean fetch(Sweep *s, TtRect r, const TtImage *into, GError **error) {
    if (s->frame)
        return !tt_frame_read(s->frame, r, into) || library_fault(error);
    gsize bytes = (r.width * s->step.channels * s->step.sample_bits + 7) / 8,
          skipped = r.x * s->step.channels * s->step.sample_bits / 8;
    for (gsize y = 0; y < r.height; y++)
        memcpy((guint8 *)into->data + (ptrdiff_t)y * into->pitch,
               s->window + (r.y - s->top + y) * s->to_row + skipped, bytes);
    return TRUE;
}

/* The same as the file has it, in memory for `rows` rows of `pitch` bytes. */
static gboolean fetch_block(Sweep *s, TtRect r, guint8 *to, gsize pitch, GError **error) {
    TtImage into = s->step;
    into.width = r.width;
    into.height = r.height;
    into.data = to;
    into.pitch = (ptrdiff_t)pitch;
    if (!tiff_steps_are_odd(s->to)) {
        if (!fetch(s, r, &into, error))
            return FALSE;
        tiff_steps_turned(s->from, s->turn, &into);
        return TRUE;
    }
    into.pitch = (ptrdiff_t)(r.width * into.channels);
    if (!(into.data = g_try_malloc_n(r.height, (gsize)into.pitch)))
        return memory_fault(r.height * (gsize)into.pitch, error);
    gboolean good = fetch(s, r, &into, error);
    if (good)
        tiff_steps_pack(s->to, &into, to, pitch);
    g_free(into.data);
    return good;
}

static gboolean encode_block(Sweep *s, gsize block, GByteArray *to, GError **error) {
    const TiffPicture *p = s->to;
    TtRect r = tiff_block_rect(p, block);
    gsize row = tiff_block_row(p), bytes = tiff_block_bytes(p, block);
    /* Whole rows lie in the window as a strip has them. */
    gboolean in_window = s->window && !p->tiled && !tiff_steps_are_odd(p);
    guint8 *data = in_window ? s->window + (r.y - s->top) * s->to_row : g_try_malloc0(bytes);
    if (!data)
        return memory_fault(bytes, error);
    gboolean good = in_window || fetch_block(s, r, data, row, error);
    if (in_window)
        tiff_steps_turned(s->from, s->turn,
                          &(TtImage){.data = data,
                                     .pitch = (ptrdiff_t)row,
                                     .width = r.width,
                                     .height = r.height,
                                     .channels = s->step.channels});
    gboolean missing =
        good && p->sparse && tiff_block_is_empty(p, data, (r.width * p->step_bits + 7) / 8, r.height);
    if (missing)
        tiff_block_clear(p, data, bytes);
    if (good && s->sums)
        s->sums[block] = deflate_crc32(0, data, bytes);
    if (missing)
        ; /* as in the source */
    else if (good)
        good = tiff_encode(s->encoders, data, bytes / row, to, error);
    if (!in_window)
        g_free(data);
    return good;
}

/* Writes the packed blocks whose turn it is. */
static gboolean write_in_order(Sweep *s, GError **error) {
    GByteArray *packed;
    gboolean good = TRUE;
    g_mutex_lock(&s->writing);
    while (good && s->n_written < s->n_encoded && (packed = s->encoded[s->n_written])) {
        gsize block = s->first_block + s->n_written++;
        if ((s->to->lengths[block] = packed->len)) /* or it is left out */
            good = tiff_sink_append(s->sink, packed->data, packed->len, &s->to->starts[block], error);
        g_byte_array_unref(packed);
    }
    g_mutex_unlock(&s->writing);
    return good;
}

static void encode_item(gsize i, gpointer data) {
    Sweep *s = data;
    GError *error = NULL;
    GByteArray *packed = g_byte_array_new();
    gboolean good = goes_on(s) && encode_block(s, s->first_block + i, packed, &error);
    g_mutex_lock(&s->writing);
    s->encoded[i] = packed;
    g_mutex_unlock(&s->writing);
    if (error || (good && !write_in_order(s, &error)))
        first_error_set(&s->failure, error);
}

/* Packs and writes the blocks from first on. */
static gboolean emit_blocks(Sweep *s, gsize first, gsize n) {
    s->encoded = g_new0(GByteArray *, n);
    s->first_block = s->plane * s->to->across * s->to->down + first;
    s->n_encoded = n;
    s->n_written = 0;
    g_mutex_init(&s->writing);
    each(cores_for(s->turner, s->to), n, encode_item, s);
    for (; s->n_written < n; s->n_written++) /* that are not whole */
        g_byte_array_unref(s->encoded[s->n_written]);
    g_mutex_clear(&s->writing);
    g_clear_pointer(&s->encoded, g_free);
    return goes_on(s);
}

/* Writes the rows from the window's first up to `end`, which are complete, and lets what follows move up. */
static gboolean emit(Sweep *s, gsize end) {
    gboolean good;
    gsize height = tiff_steps_down(s->to, s->to->block_height);
    if (end == s->top)
        return TRUE;
    good = emit_blocks(s, s->top / height * s->to->across,
                       ((end + height - 1) / height - s->top / height) * s->to->across);
    if (s->window && s->filled > end)
        memmove(s->window, s->window + (end - s->top) * s->to_row, (s->filled - end) * s->to_row);
    s->top = end;
    return good;
}

/* ---- The sweep ---------------------------------------------------------------------------------------- */

static gboolean sweep_window(Sweep *s, GError **error) {
    gsize height = tiff_steps_down(s->to, s->to->block_height);
    if (!(s->window = g_try_malloc_n(s->capacity, s->to_row)))
        return memory_fault(s->capacity * s->to_row, error);
    while (s->first_line < s->lines) {
        if (!fill(s, error))
            return FALSE;
        gsize end = s->filled == s->to_height ? s->filled : s->filled / height * height;
        if (!emit(s, end))
            return FALSE;
    }
    return TRUE;
}

static gboolean sweep_frame(Sweep *s, GError **error) {
    const Options *options = s->turner->options;
    TtFrameOptions how = {.struct_size = sizeof(how),
                          .memory_limit = s->turner->memory,
                          .backend = options->backend,
                          .threads = 1,
                          .cancel = (const volatile int *)s->turner->cancel,
                          .device = options->device};
    TtImage shape = s->step;
    shape.width = s->from_width;
    shape.height = s->from_height;
    if (tt_frame_new(&shape, s->turn, &how, &s->frame))
        return library_fault(error);
    while (s->first_line < s->lines)
        if (!fill(s, error))
            return FALSE;
    gsize height = tiff_steps_down(s->to, s->to->block_height);
    gsize step = MAX(s->turner->memory / 4 / MAX(height * s->to_row, 1), 1) * height;
    while (s->top < s->to_height)
        if (!emit(s, MIN(s->top + step, s->to_height)))
            return FALSE;
    return TRUE;
}

static char *way_of(const Sweep *s) {
    gsize pieces = (s->lines - 1) / s->group + 1;
    if (s->frame)
        return g_strdup_printf("held as a whole, since its rows come in order: %s", tt_frame_where(s->frame));
    if (!s->from->tiled && (s->swap || s->lines == 1))
        return g_strdup_printf("held as a whole, since its rows come in order: %.1f MB in memory",
                               (double)window_bytes(s, s->capacity) / 1e6);
    return g_strdup_printf("in %" G_GSIZE_FORMAT " pieces of %.1f MB, since %s", pieces,
                           (double)window_bytes(s, s->capacity) / 1e6,
                           s->from->tiled ? "it can be read anywhere"
                                          : "this turn keeps the order of its rows");
}

/* Bare pixels are read where they are said to be. */
static gboolean check_bare(const TiffTurner *t, const TiffPicture *p, GError **error) {
    for (gsize i = 0; p->compression == PACKED_NONE && i < p->blocks; i++) {
        gsize bytes = tiff_block_is_missing(p, i) ? 0 : tiff_block_bytes(p, i);
        if (p->lengths[i] < bytes || p->starts[i] > t->file->size || bytes > t->file->size - p->starts[i])
            return fault(error, STATUS_FAILED, "is cut short or damaged: restore it from a copy");
    }
    return TRUE;
}

gboolean tiff_turn_pixels(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to,
                          TtOrientation turn, TiffSink *sink, guint32 *sums, char **way, GError **error) {
    gboolean good = check_bare(turner, from, error);
    if (good && tiff_is_bare(from))
        return tiff_bare_turn(turner, from, to, turn, sink, way, error);
    for (gsize plane = 0; good && plane < from->planes; plane++) {
        Sweep s = {.turner = turner,
                   .from = from,
                   .to = to,
                   .turn = turn,
                   .sink = sink,
                   .sums = sums,
                   .plane = plane};
        plan(&s, turner->memory);
        first_error_init(&s.failure);
        s.encoders = tiff_encoders_new(turner->file, to);
        good = s.spills ? sweep_frame(&s, error) : sweep_window(&s, error);
        first_error_end(&s.failure, error);
        if (way && !plane)
            *way = way_of(&s);
        tiff_encoders_free(s.encoders);
        if (s.frame)
            tt_frame_free(s.frame);
        g_free(s.window);
    }
    return good;
}

static gboolean copy_part(const TiffTurner *turner, guint64 from, gsize bytes, TiffOutput *output, guint64 to,
                          GError **error) {
    guint8 *data = g_malloc(bytes);
    gboolean good = tiff_file_read(turner->file, from, data, bytes, error) &&
                    tiff_output_write(output, to, data, bytes, error);
    g_free(data);
    return good;
}

static gboolean copy_block(const TiffTurner *turner, guint64 from, gsize bytes, TiffSink *sink, guint64 *to,
                           GError **error) {
    if (sink->memory) { /* a small page's */
        guint8 *data = g_try_malloc(bytes + 1);
        gboolean good = data ? tiff_file_read(turner->file, from, data, bytes, error) &&
                                   tiff_sink_append(sink, data, bytes, to, error)
                             : memory_fault(bytes, error);
        g_free(data);
        return good;
    }
    *to = tiff_output_take(sink->output, bytes);
    for (gsize at = 0; at < bytes; at += CHUNK)
        if (!copy_part(turner, from + at, MIN(CHUNK, bytes - at), sink->output, *to + at, error))
            return FALSE;
    return TRUE;
}

gboolean tiff_copy_pixels(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to, TiffSink *sink,
                          GError **error) {
    gboolean good = TRUE;
    for (gsize i = 0; good && i < from->blocks; i++) {
        gsize bytes = from->lengths[i];
        if (*turner->cancel)
            return fault(error, STATUS_SIGNAL, "interrupted");
        to->lengths[i] = bytes;
        if (tiff_block_is_missing(from, i))
            continue;
        if (from->starts[i] > turner->file->size || bytes > turner->file->size - from->starts[i])
            return fault(error, STATUS_FAILED, "is cut short or damaged: restore it from a copy");
        good = copy_block(turner, from->starts[i], bytes, sink, &to->starts[i], error);
    }
    return good;
}

/* ---- Checking ----------------------------------------------------------------------------------------- */

/* Codecs leave what they like in the bits that fill up a row. */
static void clear_last_bits(const TiffPicture *p, guint8 *rows, gsize bytes) {
    gsize row = tiff_block_row(p), used = tiff_steps_across(p, p->block_width) * p->step_bits % 8;
    for (gsize end = row; used && end <= bytes; end += row)
        rows[end - 1] = (guint8)(rows[end - 1] & 0xff00 >> used);
}

typedef struct {
    const Sweep *sweep;
    guint32 sum;
} Check;

static gboolean add_rows(gpointer user, guint8 *rows, gsize first, gsize n, GError **error) {
    Check *check = user;
    gsize bytes = n * tiff_block_row(check->sweep->from);
    (void)first, (void)error;
    clear_last_bits(check->sweep->from, rows, bytes);
    check->sum = deflate_crc32(check->sum, rows, bytes);
    return TRUE;
}

static gboolean sum_block(const Sweep *s, gsize block, Check *check, GError **error) {
    gsize bytes = tiff_block_bytes(s->from, block);
    if (comes_in_rows(s->from, block))
        return tiff_decode_rows(s->turner->decoders, s->from, block, add_rows, check, error);
    guint8 *rows = g_try_malloc(bytes);
    if (!rows)
        return memory_fault(bytes, error);
    gboolean good = tiff_decode(s->turner->decoders, s->from, block, rows, error) &&
                    add_rows(check, rows, 0, bytes / tiff_block_row(s->from), error);
    g_free(rows);
    return good;
}

static void check_item(gsize block, gpointer data) {
    Sweep *s = data;
    GError *error = NULL;
    Check check = {.sweep = s};
    if (!goes_on(s))
        return;
    if (sum_block(s, block, &check, &error) && s->sums && check.sum != s->sums[block])
        copy_fault(&error);
    if (error)
        first_error_set(&s->failure, error);
}

gboolean tiff_check_pixels(const TiffTurner *turner, const TiffPicture *picture, const guint32 *sums,
                           GError **error) {
    Sweep s = {.turner = turner, .from = picture, .sums = (guint32 *)sums};
    if (picture->compression == PACKED_NONE)
        return check_bare(turner, picture, error);
    first_error_init(&s.failure);
    each(cores_for(turner, picture), picture->blocks, check_item, &s);
    gboolean good = !s.failure.error;
    first_error_end(&s.failure, error);
    return good;
}
