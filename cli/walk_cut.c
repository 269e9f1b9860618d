/* SPDX-License-Identifier: MIT
 *
 * Pieces as large as is good and as the memory allows, and their cells.
 */
#include "walk_cut.h"

#include <string.h>

#include "say.h"

enum {
    BAND = 4 << 20,      /* bytes of a block or slab, where there is enough memory */
    PAGE_RUN = 4 << 10,  /* bytes of a row that are worth reading at once from the system's memory */
    DISK_RUN = 16 << 10, /* and from a disk */
};

gsize walk_row_bytes(const TtImage *image, gsize pixels) {
    return (pixels * image->channels * image->sample_bits + 7) / 8;
}

static gsize saturating(gsize a, gsize b) {
    return b && a > G_MAXSSIZE / b ? G_MAXSSIZE : a * b;
}

gboolean walk_is_packed(const TtImage *image) {
    return image->channels * image->sample_bits < 8;
}

/* n cut to whole units, if it has any. */
static gsize in_units(gsize n, gsize unit) {
    return n > unit ? n / unit * unit : n;
}

static gsize half_of(gsize n) {
    return (n + 1) / 2;
}

TtImage walk_result(const TtImage *source, TtOrientation turn) {
    TtImage result = *source;
    if (tt_swaps_axes(turn)) {
        result.width = source->height;
        result.height = source->width;
    }
    return result;
}

/* Bytes for all that a walk holds. What codecs need beside it, and what the system keeps of the files, must
 * find room, too. */
static gsize memory_allowed(const Reader *reader, const Options *options) {
    const gsize for_others = 256 << 20;
    gsize limit = options_memory(options);
    limit -= options->memory_limit ? MIN(limit / 2, for_others) : limit / 2;
    return limit > reader->held ? limit - reader->held : 1;
}

/* The bytes of a piece that are worth having. A file that fits into memory comes from there, if it is there,
 * and pieces that overlap well are best; a larger one comes from the disk once for each piece. */
static gsize good_piece(const Reader *reader, TtOrientation turn, gsize allowed) {
    const TtImage *shape = &reader->shape;
    gsize row = walk_row_bytes(shape, shape->width), whole = saturating(row, shape->height);
    if (reader->held || !reader->anywhere) /* there is nothing to gain from more */
        return BAND / 4;
    if (!tt_swaps_axes(turn))
        return MAX(BAND, saturating(reader->tile_height, row));
    gsize run = MAX(whole <= allowed ? PAGE_RUN : DISK_RUN, walk_row_bytes(shape, reader->tile_width));
    gsize wanted = saturating(run, shape->height);
    if (whole <= allowed)
        wanted = MAX(wanted, MIN(whole / 8, 8 * BAND));
    return MAX(MIN(wanted, whole), BAND);
}

gboolean walk_is_on_gpu(const Options *options) {
    return options->backend && !strcmp(options->backend, "cuda");
}

/* All must fit into the memory: cells for one piece and one block, some blocks, a slab. The GPU takes pieces
 * whole. */
static gboolean plan_pieces(const Reader *reader, TtOrientation turn, const Options *options, TtPlan *plan,
                            GError **error) {
    const TtImage *shape = &reader->shape;
    gboolean swap = tt_swaps_axes(turn);
    gsize allowed = memory_allowed(reader, options);
    gsize share = swap && !walk_is_on_gpu(options) ? allowed / 4 * 3 : allowed / (WALK_BANDS + WALK_BUFFERS);
    gsize most = MIN(good_piece(reader, turn, allowed), MAX(share, 1));
    TtPlanOptions how = {sizeof(how), 2 * most, reader->tile_width, reader->tile_height, TRUE};
    TtStatus status = tt_plan(shape, turn, &how, plan);
    if (swap && !status && plan->width < reader->tile_width) { /* to decode each twice is not much */
        how.tile_width = half_of(reader->tile_width);
        status = tt_plan(shape, turn, &how, plan);
    }
    if (status == TT_ERROR_MEMORY) { /* too little to share out: one row or column at a time */
        how.memory_limit = options_memory(options);
        status = tt_plan(shape, turn, &how, plan);
    }
    return !status || fault(error, STATUS_FAILED, "%s: raise --memory-limit", tt_last_error());
}

/* Blocks are whole rows of tiles, and fill whole lines of cache. */
static void cut_piece(const Reader *reader, const TtImage *result, WalkCut *c) {
    gsize width = c->plan.width, height = c->plan.height, unit = walk_is_packed(result) ? 8 : 1;
    gsize row = walk_row_bytes(&reader->shape, width), band = MIN(BAND, saturating(row, height) / 16);
    gsize rows = in_units(in_units(MAX(band / row, unit), 64), MAX(reader->tile_height, unit));
    c->block_rows = MIN(MAX(rows, reader->tile_height), height);
    c->slab_rows = MIN(in_units(MAX(band / walk_row_bytes(result, result->width), unit), unit), width);
}

gboolean walk_cut(const Reader *reader, TtOrientation turn, const Options *options, WalkCut *c,
                  GError **error) {
    TtImage result = walk_result(&reader->shape, turn);
    gboolean swap = tt_swaps_axes(turn);
    if (!plan_pieces(reader, turn, options, &c->plan, error))
        return FALSE;
    gsize rows = swap ? c->plan.width : c->plan.height; /* of the result */
    c->block_rows = c->plan.height;
    c->slab_rows = rows;
    if (swap && !walk_is_on_gpu(options))
        cut_piece(reader, &result, c);
    c->from_disk = saturating(walk_row_bytes(&reader->shape, reader->shape.width), reader->shape.height) >
                   memory_allowed(reader, options);
    c->blocks = (c->plan.height - 1) / c->block_rows + 1;
    c->slabs = (rows - 1) / c->slab_rows + 1;
    c->cell_bytes = walk_row_bytes(&result, swap ? c->block_rows : c->plan.width) * c->slab_rows;
    c->cells = c->blocks * c->slabs;
    if (c->plan.count > 1)
        c->cells += c->blocks > 1 ? c->slabs : MIN(c->plan.count, WALK_BANDS) - 1;
    return TRUE;
}
