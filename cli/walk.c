/* SPDX-License-Identifier: MIT
 *
 * A walk over a picture in the pieces of tt_plan(), which runs ahead of those who take its rows.
 *
 * A quarter turn makes rows of the result from columns of the source, so a piece is some columns over the
 * whole height: the wider, the longer the runs of bytes that a disk reads. There is memory for about one
 * piece. It is cut into cells, which are filled one block (rows of the source) after another, and emptied one
 * slab (rows of the result) after another:
 *
 *        slab 0   slab 1   slab 2
 *      +--------+--------+------+
 *      | cell   |        |      |  block 0
 *      +--------+--------+------+
 *      |        |        |      |  block 1       a piece, as it lies in the source
 *      +--------+--------+------+
 *      |        |        |      |  block 2
 *      +--------+--------+------+
 *
 * Each slab that was written makes room for blocks of the next piece, which a thread of its own reads
 * meanwhile. Whoever would have to wait for the other turns a block instead that was read. A turn that keeps
 * rows has pieces of a few rows, each with one cell.
 */
#include "walk.h"

#include <string.h>

#include "formats/direct_rows.h"
#include "say.h"
#include "walk_cut.h"

enum { SLOTS = 4 }; /* pieces that may have cells at a time */

/* A block on its way from the source to its cells. */
typedef struct {
    guint8 *memory;
    enum { FREE, FILLING, FULL, TURNING } state;
    gsize piece, block;
} Buffer;

struct Walk {
    Reader *reader;
    gsize page;
    TtOrientation turn;
    TtImage source, result; /* a page, before and after */
    TtOptions how;
    const atomic_int *cancel;
    WalkCut cut;
    TtImage slab;   /* its cells beside each other */
    guint8 *memory; /* of the cells */
    gsize *cell_at[SLOTS];

    gsize reading, reading_block; /* the reader's next block, in which piece */
    gsize taking, taking_slab;    /* likewise the next slab */
    TtImage handed_over;          /* the cell that the rows are in; data NULL if there is none */

    GThread *thread;
    Cores *cores;
    gboolean started;
    GMutex lock; /* of what follows */
    GCond changed;
    gsize *free_cells, n_free;
    gsize turned[SLOTS]; /* blocks of each piece that are in their cells */
    gsize first_piece;   /* that has cells */
    gint64 reading_time, turning_time;
    Buffer buffers[WALK_BUFFERS];
    gboolean stopping, failed;
    GError *fault;
};

gboolean walk_suits(const Reader *reader, TtOrientation turn, const Options *options) {
    WalkCut c;
    if (!tt_swaps_axes(turn) || !reader->decodes_tiles)
        return TRUE;
    return walk_cut(reader, turn, options, &c, NULL) &&
           c.plan.width >= MIN((reader->tile_width + 1) / 2, reader->shape.width);
}

gsize walk_memory(const Reader *reader, TtOrientation turn, const Options *options) {
    WalkCut c;
    return walk_cut(reader, turn, options, &c, NULL) ? reader->held + c.cells * c.cell_bytes : reader->held;
}

gsize walk_pieces(const Walk *w, gsize *bytes) {
    *bytes = walk_row_bytes(&w->source, w->cut.plan.width) * w->cut.plan.height;
    return w->cut.plan.count;
}

/* ---- Places ------------------------------------------------------------------------------------------- */

typedef struct {
    TtRect from, to; /* of the piece */
    gsize blocks, slabs;
} Piece;

static Piece piece_at(const Walk *w, gsize i) {
    Piece piece;
    tt_plan_piece(&w->cut.plan, i, &piece.from, &piece.to);
    piece.blocks = (piece.from.height - 1) / w->cut.block_rows + 1;
    piece.slabs = (piece.to.height - 1) / w->cut.slab_rows + 1;
    return piece;
}

/* Where part i of `all` is, which is cut into parts of `most`; ragged is what is left for the first or the
 * last. */
static void part_of(gsize all, gsize most, gsize i, gboolean ragged_first, gsize *first, gsize *length) {
    gsize lead = ragged_first ? (all - 1) % most + 1 : most;
    *first = i ? lead + (i - 1) * most : 0;
    *length = MIN(i ? most : lead, all - *first);
}

/* Packed samples must start on whole bytes, in the source and in the result. So what a turn reverses is cut
 * from its end. */
static void block_at(const Walk *w, const Piece *piece, gsize block, gsize *first, gsize *rows) {
    TtRect corner = tt_map_rect(w->turn, 2, 2, (TtRect){0, 0, 1, 1});
    gsize most = w->cut.blocks > 1 ? w->cut.block_rows : piece->from.height;
    part_of(piece->from.height, most, block, walk_is_packed(&w->source) && corner.x, first, rows);
}

static void slab_at(const Walk *w, const Piece *piece, gsize slab, gsize *first, gsize *rows) {
    TtRect corner = tt_map_rect(w->turn, 2, 2, (TtRect){0, 0, 1, 1});
    gsize most = w->cut.slabs > 1 ? w->cut.slab_rows : piece->to.height;
    part_of(piece->to.height, most, slab, walk_is_packed(&w->source) && corner.y, first, rows);
}

/* A cell: where its pixels are in the piece, and where they go. */
static TtRect cell_rect(const Walk *w, const Piece *piece, gsize block, gsize slab, TtRect *to) {
    const TtRect *all = &piece->from, *turned = &piece->to;
    TtRect wanted = {0, 0, turned->width, 0};
    slab_at(w, piece, slab, &wanted.y, &wanted.height);
    TtRect from = tt_map_rect(tt_invert(w->turn), turned->width, turned->height, wanted);
    if (w->cut.blocks > 1)
        block_at(w, piece, block, &from.y, &from.height);
    *to = tt_map_rect(w->turn, all->width, all->height, from);
    return from;
}

static TtImage image_in(void *data, const TtImage *like, gsize width, gsize height) {
    TtImage image = *like;
    image.data = data;
    image.width = width;
    image.height = height;
    image.pitch = (ptrdiff_t)walk_row_bytes(like, width);
    return image;
}

static TtImage cell_image(const Walk *w, gsize cell, const TtRect *to) {
    return image_in(w->memory + cell * w->cut.cell_bytes, &w->result, to->width, to->height);
}

/* A block in its buffer. What a disk reads without a copy lies as far from a multiple of DIRECT_UNIT as in
 * the file, with room around each row. */
static TtImage block_image(const Walk *w, const Piece *piece, gsize block, guint8 *memory) {
    gsize first, rows;
    block_at(w, piece, block, &first, &rows);
    TtImage image = image_in(memory, &w->source, piece->from.width, rows);
    if (!w->reader->spare)
        return image;
    gsize apart = w->reader->file_pitch, y = w->page * w->source.height + piece->from.y + first;
    gsize place = (gsize)w->reader->file_start + y * apart + walk_row_bytes(&w->source, piece->from.x);
    image.data = memory + DIRECT_UNIT + (place - (guintptr)memory) % DIRECT_UNIT;
    image.pitch += DIRECT_UNIT;
    image.pitch += (ptrdiff_t)((apart - (gsize)image.pitch) % DIRECT_UNIT);
    return image;
}

/* The bytes of a buffer. */
static gsize block_bytes(const Walk *w) {
    gsize row = walk_row_bytes(&w->source, w->cut.plan.width);
    return w->reader->spare ? (row + 2 * DIRECT_UNIT) * w->cut.block_rows + 3 * DIRECT_UNIT
                            : row * w->cut.block_rows;
}

static gsize *cell_of(const Walk *w, gsize piece, gsize block, gsize slab) {
    return &w->cell_at[piece % SLOTS][slab * w->cut.blocks + block];
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gboolean read_pixels(Walk *w, TtRect from, const TtImage *into, GError **error) {
    const Format *format = w->reader->format;
    if (!w->reader->anywhere)
        return format->read_rows(w->reader, into, error);
    from.y += w->page * w->source.height;
    return format->read_rect(w->reader, from, into, error);
}

/* The next block is read into a cell if it needs no turn, or else into a buffer. */
static gboolean read_block(Walk *w, const Piece *piece, void *buffer, GError **error) {
    TtRect to, from = piece->from;
    gsize first;
    block_at(w, piece, w->reading_block, &first, &from.height);
    from.y += first;
    TtImage block = block_image(w, piece, w->reading_block, buffer);
    if (!buffer) {
        cell_rect(w, piece, 0, 0, &to);
        block = cell_image(w, *cell_of(w, w->reading, 0, 0), &to);
    }
    return read_pixels(w, from, &block, error);
}

static gboolean turn_block(Walk *w, const Buffer *buffer, GError **error) {
    Piece piece = piece_at(w, buffer->piece);
    gsize first, rows;
    block_at(w, &piece, buffer->block, &first, &rows);
    TtImage block = block_image(w, &piece, buffer->block, buffer->memory);
    for (gsize slab = 0; slab < piece.slabs; slab++) {
        TtRect to, from = cell_rect(w, &piece, buffer->block, slab, &to);
        from.y -= first;
        TtImage view = tt_subimage(&block, from);
        TtImage cell = cell_image(w, *cell_of(w, buffer->piece, buffer->block, slab), &to);
        if (tt_orient(&view, &cell, w->turn, &w->how))
            return library_fault(error);
    }
    return TRUE;
}

/* ---- Buffers: with the lock held ---------------------------------------------------------------------- */

static void fail(Walk *w, GError *error) {
    if (w->failed) /* the first one counts */
        g_error_free(error);
    else
        w->fault = error;
    w->failed = TRUE;
}

static Buffer *find_buffer(Walk *w, int state) {
    Buffer *found = NULL;
    for (int i = 0; i < WALK_BUFFERS; i++) {
        Buffer *b = &w->buffers[i];
        if ((int)b->state == state &&
            (!found || b->piece < found->piece || (b->piece == found->piece && b->block < found->block)))
            found = b;
    }
    return found;
}

/* Turns the first full buffer, without the lock. FALSE if there is none. */
static gboolean turn_one(Walk *w) {
    GError *error = NULL;
    Buffer *buffer = find_buffer(w, FULL);
    if (!buffer)
        return FALSE;
    buffer->state = TURNING;
    g_mutex_unlock(&w->lock);
    gint64 started = g_get_monotonic_time();
    gboolean good = turn_block(w, buffer, &error);
    g_mutex_lock(&w->lock);
    w->turning_time += g_get_monotonic_time() - started;
    if (!good)
        fail(w, error);
    buffer->state = FREE;
    w->turned[buffer->piece % SLOTS]++;
    g_cond_broadcast(&w->changed);
    return TRUE;
}

static void wait_for_change(Walk *w) {
    g_cond_wait_until(&w->changed, &w->lock, g_get_monotonic_time() + G_TIME_SPAN_SECOND / 10);
}

/* ---- The reader --------------------------------------------------------------------------------------- */

/* Waits for as many cells as a block has. FALSE if the walk is to end. */
static gboolean take_cells(Walk *w, gsize slabs) {
    g_mutex_lock(&w->lock);
    while (!w->stopping && !*w->cancel && (w->n_free < slabs || w->reading - w->first_piece >= SLOTS))
        if (!turn_one(w))
            wait_for_change(w);
    gboolean good = !w->stopping && !*w->cancel;
    for (gsize slab = 0; good && slab < slabs; slab++)
        *cell_of(w, w->reading, w->reading_block, slab) = w->free_cells[--w->n_free];
    g_mutex_unlock(&w->lock);
    return good;
}

static gboolean is_read(const Walk *w) {
    return w->reading == w->cut.plan.count;
}

static gboolean check_end(Walk *w, GError **error) {
    const Reader *reader = w->reader;
    return !is_read(w) || reader->anywhere || w->page + 1 < reader->pages || !reader->format->read_end ||
           reader->format->read_end(w->reader, error);
}

/* One block more. FALSE if there can be none. */
static gboolean read_on(Walk *w) {
    Piece piece = piece_at(w, w->reading);
    Buffer *buffer = NULL;
    GError *error = NULL;
    if (!take_cells(w, piece.slabs))
        return FALSE;
    g_mutex_lock(&w->lock);
    while (w->turn != TT_NONE && !(buffer = find_buffer(w, FREE)))
        if (!turn_one(w))
            wait_for_change(w);
    if (buffer) {
        buffer->piece = w->reading;
        buffer->block = w->reading_block;
        buffer->state = FILLING;
    }
    g_mutex_unlock(&w->lock);

    gsize slot = w->reading % SLOTS;
    gint64 started = g_get_monotonic_time();
    gboolean good = read_block(w, &piece, buffer ? buffer->memory : NULL, &error);
    if (++w->reading_block == piece.blocks) {
        w->reading++;
        w->reading_block = 0;
    }
    good = good && check_end(w, &error);
    g_mutex_lock(&w->lock);
    w->reading_time += g_get_monotonic_time() - started;
    if (!good)
        fail(w, error);
    if (buffer)
        buffer->state = good ? FULL : FREE;
    else
        w->turned[slot]++;
    g_cond_broadcast(&w->changed);
    g_mutex_unlock(&w->lock);
    return good;
}

static gpointer run_reader(gpointer data) {
    Walk *w = data;
    cores_join(w->cores);
    while (!is_read(w) && read_on(w))
        ;
    cores_leave(w->cores);
    return NULL;
}

/* ---- Taking ------------------------------------------------------------------------------------------- */

static void give_cells(Walk *w, gsize piece, gsize slab, gsize blocks, gboolean last) {
    g_mutex_lock(&w->lock);
    for (gsize block = 0; block < blocks; block++)
        w->free_cells[w->n_free++] = *cell_of(w, piece, block, slab);
    if (last) {
        w->turned[piece % SLOTS] = 0;
        w->first_piece = piece + 1;
    }
    g_cond_broadcast(&w->changed);
    g_mutex_unlock(&w->lock);
}

/* Waits until the piece whose slab is next is in its cells, or brings it there. */
static gboolean have_piece(Walk *w, const Piece *piece, GError **error) {
    const gsize *turned = &w->turned[w->taking % SLOTS];
    if (!w->started && cores_count(w->cores) > 1)
        w->thread = g_thread_try_new("reader", run_reader, w, NULL);
    w->started = TRUE;
    g_mutex_lock(&w->lock);
    while (!w->failed && !*w->cancel && *turned < piece->blocks)
        if (!turn_one(w)) {
            if (w->thread) {
                wait_for_change(w);
            } else {
                g_mutex_unlock(&w->lock);
                read_on(w);
                g_mutex_lock(&w->lock);
            }
        }
    gboolean good = !w->failed && *turned == piece->blocks;
    if (!good && w->fault)
        g_propagate_error(error, g_steal_pointer(&w->fault));
    else if (!good)
        fault(error, STATUS_SIGNAL, "interrupted");
    g_mutex_unlock(&w->lock);
    return good;
}

/* Puts the cells of a slab beside each other. */
static TtImage join_cells(Walk *w, const Piece *piece, gsize slab) {
    TtRect to;
    cell_rect(w, piece, 0, slab, &to);
    TtImage rows = image_in(w->slab.data, &w->result, w->result.width, to.height);
    for (gsize block = 0; block < piece->blocks; block++) {
        cell_rect(w, piece, block, slab, &to);
        TtImage cell = cell_image(w, *cell_of(w, w->taking, block, slab), &to);
        guint8 *at = (guint8 *)rows.data + walk_row_bytes(&w->result, to.x);
        for (gsize y = 0; y < to.height; y++)
            memcpy(at + (ptrdiff_t)y * rows.pitch, (guint8 *)cell.data + (ptrdiff_t)y * cell.pitch,
                   (gsize)cell.pitch);
    }
    return rows;
}

gboolean walk_next(Walk *w, TtImage *rows, GError **error) {
    if (w->handed_over.data) { /* it was the only cell of its piece */
        w->handed_over.data = NULL;
        give_cells(w, w->taking - 1, 0, 1, TRUE);
    }
    Piece piece = piece_at(w, w->taking);
    if (!have_piece(w, &piece, error))
        return FALSE;
    if (piece.blocks * piece.slabs == 1) {
        TtRect to;
        cell_rect(w, &piece, 0, 0, &to);
        *rows = w->handed_over = cell_image(w, *cell_of(w, w->taking, 0, 0), &to);
        w->taking++;
        return TRUE;
    }
    *rows = join_cells(w, &piece, w->taking_slab);
    gboolean last = w->taking_slab + 1 == piece.slabs;
    give_cells(w, w->taking, w->taking_slab, piece.blocks, last);
    w->taking_slab = last ? 0 : w->taking_slab + 1;
    w->taking += last;
    return TRUE;
}

/* ---- The whole ---------------------------------------------------------------------------------------- */

static gboolean allocate(Walk *w, GError **error) {
    const WalkCut *c = &w->cut;
    gsize block = block_bytes(w);
    gsize slab = walk_row_bytes(&w->result, w->result.width) * c->slab_rows;
    gboolean good = (w->memory = g_try_malloc_n(c->cells, c->cell_bytes)) != NULL;
    if (c->blocks * c->slabs > 1)
        good = good && (w->slab.data = g_try_malloc(slab));
    for (int i = 0; w->turn != TT_NONE && i < WALK_BUFFERS; i++)
        good = good && (w->buffers[i].memory = g_try_malloc(block));
    if (!good)
        return fault(error, STATUS_FAILED,
                     "needs %.1f MB of memory for pieces, which the system has not: lower --memory-limit",
                     (double)(c->cells * c->cell_bytes + WALK_BUFFERS * block + slab) / 1e6);
    w->free_cells = g_new(gsize, c->cells);
    for (w->n_free = 0; w->n_free < c->cells; w->n_free++)
        w->free_cells[w->n_free] = w->n_free;
    for (int i = 0; i < SLOTS; i++)
        w->cell_at[i] = g_new0(gsize, c->blocks * c->slabs);
    return TRUE;
}

Walk *walk_new(Reader *reader, gsize page, TtOrientation turn, const Options *options,
               const atomic_int *cancel, GError **error) {
    Walk *w = g_new0(Walk, 1);
    w->reader = reader;
    w->page = page;
    w->turn = turn;
    w->source = reader->shape;
    w->result = walk_result(&w->source, turn);
    w->how = (TtOptions){sizeof(w->how), options->backend,
                         walk_is_on_gpu(options) ? (guint)options->threads : 1, options->device};
    w->cancel = cancel;
    w->cores = options->cores;
    g_mutex_init(&w->lock);
    g_cond_init(&w->changed);
    if (walk_cut(reader, turn, options, &w->cut, error)) {
        reader->spare = w->cut.from_disk && reader->file_pitch && tt_swaps_axes(turn);
        if (allocate(w, error))
            return w;
    }
    walk_free(w);
    return NULL;
}

void walk_spent(Walk *w, gint64 *reading, gint64 *turning) {
    g_mutex_lock(&w->lock);
    *reading = w->reading_time;
    *turning = w->turning_time;
    g_mutex_unlock(&w->lock);
}

void walk_free(Walk *w) {
    if (w->thread) {
        g_mutex_lock(&w->lock);
        w->stopping = TRUE;
        g_cond_broadcast(&w->changed);
        g_mutex_unlock(&w->lock);
        g_thread_join(w->thread);
    }
    w->reader->spare = FALSE;
    g_free(w->memory);
    for (int i = 0; i < WALK_BUFFERS; i++)
        g_free(w->buffers[i].memory);
    g_free(w->slab.data);
    g_free(w->free_cells);
    for (int i = 0; i < SLOTS; i++)
        g_free(w->cell_at[i]);
    g_clear_error(&w->fault);
    g_mutex_clear(&w->lock);
    g_cond_clear(&w->changed);
    g_free(w);
}
