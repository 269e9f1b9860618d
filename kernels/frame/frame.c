/* SPDX-License-Identifier: MIT
 *
 * The frame: checks what goes in and comes out, knows which rows are complete, and leaves the pixels to
 * its store.
 */
#include "tiletranspose/tt_frame.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/store.h"
#include "../error.h"
#include "../image.h"
#include "../orient.h"
#include "../orientation.h"
#include "../threads.h"
#include "budget.h"
#include "store.h"

struct TtFrame {
    TtImage shape, result; /* before and after the turn; no data */
    TtOrientation orientation;
    TtOptions options;
    const volatile int *cancel;
    TtStore *store;
    size_t group;           /* rows of the result that are counted together */
    atomic_size_t *missing; /* pixels of each group that have not been put, but for */
    atomic_size_t columns;  /* what pieces as high as the result have brought to every row: bands that become
                               columns would else be counted row by row */
    atomic_bool parts;      /* there have been other pieces */
};

/* Each row has its own count, but the counts of a picture of millions of short rows must not outgrow it. */
static const size_t most_groups = 1 << 17;

static TtStatus check_new(const TtImage *shape, TtOrientation o, const TtFrameOptions *options,
                          TtFrame **frame, const TtBackend **backend, unsigned *threads) {
    TtExtent extent;
    TtStatus status = tt_image_shape(shape, "frame's", &extent);
    if (status)
        return status;
    if (!tt_orientation_valid(o))
        return tt_fail(TT_ERROR_ARGUMENT, "%d is no orientation: they are numbered 1 to 8", (int)o);
    if (!frame || options->struct_size < sizeof(*options))
        return tt_fail(TT_ERROR_ARGUMENT, "a frame needs options with struct_size set, and a place for it");
    if (!options->allocate != !options->release)
        return tt_fail(TT_ERROR_ARGUMENT, "a frame's allocate and release are set both or neither");
    if (options->store > TT_STORE_DEVICE)
        return tt_fail(TT_ERROR_ARGUMENT, "there is no store %d for a frame", (int)options->store);
    TtOptions turn = {sizeof(turn), options->backend, options->threads};
    status = tt_options_read(&turn, backend, threads);
    *threads = tt_threads_of(*threads); /* once, and not for each piece */
    if (!status && options->store == TT_STORE_DEVICE && ((*backend)->host || shape->sample_bits % 8))
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the device store is for the backend 'cuda' and samples of whole bytes");
    return status;
}

/* How much of a picture in a file may be in memory: what is left, and never so little that it crawls. */
static size_t spill_limit(size_t limit, const TtFrameOptions *options) {
    size_t held = tt_memory_held(), left = held < limit ? limit - held : 0;
    return options->memory_limit ? limit : left > limit / 16 ? left : limit / 16;
}

/* In host memory, or where that is refused and the caller leaves the choice, in a file. */
static TtStatus make_host_store(TtFrame *f, const TtFrameOptions *options) {
    size_t limit = options->memory_limit;
    TtStatus status = limit ? TT_OK : tt_memory_limit(&limit);
    if (status)
        return status;
    char before[512], why[512] = "as was asked for";
    if (options->store != TT_STORE_SPILL) {
        snprintf(before, sizeof(before), "%s", tt_last_error());
        status = tt_store_memory_new(&f->result, limit, options->memory_limit ? SIZE_MAX : limit, options,
                                     &f->store);
        if (status != TT_ERROR_MEMORY || options->store == TT_STORE_MEMORY)
            return status;
        snprintf(why, sizeof(why), "%s", tt_last_error());
        tt_fail(TT_OK, "%s", before); /* nothing failed that the caller asked for */
    }
    status = tt_store_spill_new(&f->result, f->orientation, spill_limit(limit, options), options, &f->store);
    if (!status) {
        size_t length = strlen(f->store->where);
        snprintf(f->store->where + length, sizeof(f->store->where) - length, ": %s", why);
    }
    return status;
}

static size_t groups_of(const TtFrame *f) {
    return (f->result.height - 1) / f->group + 1;
}

/* How many rows from y on, below end, are in y's group. */
static size_t rows_in_group(const TtFrame *f, size_t y, size_t end) {
    size_t group_end = (y / f->group + 1) * f->group;
    return (group_end < end ? group_end : end) - y;
}

TtStatus tt_frame_new(const TtImage *shape, TtOrientation o, const TtFrameOptions *options, TtFrame **frame) {
    static const TtFrameOptions defaults = {.struct_size = sizeof(TtFrameOptions)};
    if (!options)
        options = &defaults;
    const TtBackend *backend;
    unsigned threads;
    TtStatus status = check_new(shape, o, options, frame, &backend, &threads);
    if (status)
        return status;

    TtFrame *f = calloc(1, sizeof(*f));
    if (!f)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    f->shape = *shape;
    f->shape.data = NULL;
    f->result = f->shape;
    f->result.width = tt_swaps_axes(o) ? shape->height : shape->width;
    f->result.height = tt_swaps_axes(o) ? shape->width : shape->height;
    f->group = (f->result.height - 1) / most_groups + 1;
    f->orientation = o;
    f->options = (TtOptions){sizeof(f->options), backend->name /* static */, threads, options->device};
    f->cancel = options->cancel;

    bool device = !backend->host && shape->sample_bits % 8 == 0 &&
                  (!options->store || options->store == TT_STORE_DEVICE);
    status =
        device ? tt_store_device_new(&f->result, options, threads, &f->store) : make_host_store(f, options);
    if (!status && !(f->missing = calloc(groups_of(f), sizeof(*f->missing))))
        status = tt_fail(TT_ERROR_MEMORY, "out of memory for the count of a frame's rows");
    if (status) {
        tt_frame_free(f);
        return status;
    }
    for (size_t y = 0; y < f->result.height; y += f->group)
        atomic_init(&f->missing[y / f->group], rows_in_group(f, y, f->result.height) * f->result.width);
    *frame = f;
    return TT_OK;
}

void tt_frame_free(TtFrame *f) {
    if (!f)
        return;
    if (f->store)
        f->store->free(f->store);
    free(f->missing);
    free(f);
}

TtImage tt_frame_result(const TtFrame *f) {
    return f ? f->result : (TtImage){0};
}

TtFrameStore tt_frame_store(const TtFrame *f) {
    return f ? f->store->kind : TT_STORE_AUTO;
}

const char *tt_frame_where(const TtFrame *f) {
    return f ? f->store->where : NULL;
}

/* Rows whose pixels fill a whole number of `bytes` of a result's row. */
static size_t rows_filling(size_t bytes, size_t pixel_bits) {
    size_t rows = 1;
    while (rows * pixel_bits % (bytes * 8))
        rows++;
    return rows;
}

size_t tt_frame_cut(const TtFrame *f, size_t y) {
    if (!f)
        return y;
    const size_t good_band = (size_t)4 << 20, large_band = 4 * good_band, line = 64, enough_rows = 512;
    size_t height = f->shape.height, pixel_bits = f->shape.channels * (size_t)f->shape.sample_bits;
    if (y >= height)
        return height;
    size_t plane_bits = f->shape.layout == TT_PLANAR ? f->shape.sample_bits : pixel_bits;
    size_t row_bytes = (f->shape.width * pixel_bits + 7) / 8, unit = 1;
    if (tt_swaps_axes(f->orientation)) {
        unit = rows_filling(line, plane_bits);
        if (unit * row_bytes > large_band)
            unit = rows_filling(1, plane_bits);
    }
    size_t rows = good_band / row_bytes < enough_rows ? good_band / row_bytes : enough_rows;
    rows = rows < unit ? unit : rows / unit * unit;
    if (rows >= height - y)
        return height;
    /* Read bottom-up, the source's last row is the result's first column: count from there. */
    size_t end = y + rows, ragged = tt_flips_y(f->orientation) ? (height - end) % unit : end % unit;
    size_t shift = tt_flips_y(f->orientation) ? (unit - ragged) % unit : ragged;
    return end - shift > y ? end - shift : end - shift + unit < height ? end - shift + unit : height;
}

static TtStatus check_cancel(const TtFrame *f) {
    return f->cancel && __atomic_load_n(f->cancel, __ATOMIC_RELAXED)
               ? tt_fail(TT_ERROR_CANCELLED, "cancelled")
               : TT_OK;
}

static TtStatus check_piece(const TtFrame *f, const TtImage *piece, size_t x, size_t y) {
    TtExtent extent;
    TtStatus status;
    if (!f)
        return tt_fail(TT_ERROR_ARGUMENT, "the frame is NULL");
    if ((status = tt_image_extent(piece, "put", &extent)))
        return status;
    if (piece->channels != f->shape.channels || piece->sample_bits != f->shape.sample_bits)
        return tt_fail(TT_ERROR_ARGUMENT, "a piece of %u channels of %u bits put into a frame of %u of %u",
                       piece->channels, piece->sample_bits, f->shape.channels, f->shape.sample_bits);
    if (x >= f->shape.width || piece->width > f->shape.width - x || y >= f->shape.height ||
        piece->height > f->shape.height - y)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "a piece of %zu x %zu at %zu, %zu reaches outside the frame of %zu x %zu",
                       piece->width, piece->height, x, y, f->shape.width, f->shape.height);
    return check_cancel(f);
}

/* Pixels of y's group that have not been put. Both counts only ever come nearer to nothing missing. */
static size_t missing_at(TtFrame *f, size_t y) {
    size_t first = y / f->group * f->group;
    size_t columns = atomic_load_explicit(&f->columns, memory_order_acquire);
    return atomic_load_explicit(&f->missing[y / f->group], memory_order_acquire) -
           columns * rows_in_group(f, first, f->result.height);
}

/* Whether the rectangle of the result that a piece lands in is still missing, as far as the counts tell. */
static bool is_missing(TtFrame *f, TtRect to, bool whole) {
    if (whole && !atomic_load_explicit(&f->parts, memory_order_acquire))
        return to.width <= f->result.width - atomic_load_explicit(&f->columns, memory_order_acquire);
    for (size_t y = to.y, end = to.y + to.height, rows; y < end; y += rows) {
        rows = rows_in_group(f, y, end);
        if (missing_at(f, y) < rows * to.width)
            return false;
    }
    return true;
}

static void count(TtFrame *f, TtRect to, bool whole) {
    if (whole) {
        atomic_fetch_add_explicit(&f->columns, to.width, memory_order_release);
        return;
    }
    for (size_t y = to.y, end = to.y + to.height, rows; y < end; y += rows) {
        rows = rows_in_group(f, y, end);
        atomic_fetch_sub_explicit(&f->missing[y / f->group], rows * to.width, memory_order_release);
    }
    atomic_store_explicit(&f->parts, true, memory_order_release);
}

TtStatus tt_frame_put(TtFrame *f, const TtImage *piece, size_t piece_x, size_t piece_y) {
    TtStatus status = check_piece(f, piece, piece_x, piece_y);
    if (status)
        return status;
    TtRect to = {piece_x, piece_y, piece->width, piece->height};
    to = tt_map_rect(f->orientation, f->shape.width, f->shape.height, to);
    bool whole = to.height == f->result.height;
    if (!is_missing(f, to, whole))
        return tt_fail(TT_ERROR_ARGUMENT, "a piece at %zu, %zu brings pixels that were put before", piece_x,
                       piece_y);
    if ((status = f->store->put(f->store, piece, f->orientation, to, &f->options)))
        return status;
    count(f, to, whole);
    return TT_OK;
}

TtStatus tt_frame_read(TtFrame *f, TtRect r, const TtImage *into) {
    TtExtent extent;
    TtStatus status;
    if (!f)
        return tt_fail(TT_ERROR_ARGUMENT, "the frame is NULL");
    if ((status = tt_image_extent(into, "read", &extent)) || (status = check_cancel(f)))
        return status;
    if (into->width != r.width || into->height != r.height || r.x >= f->result.width ||
        r.width > f->result.width - r.x || r.y >= f->result.height || r.height > f->result.height - r.y)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "cannot read %zu x %zu at %zu, %zu of a result of %zu x %zu into %zu x %zu", r.width,
                       r.height, r.x, r.y, f->result.width, f->result.height, into->width, into->height);
    if (f->shape.sample_bits < 8 && r.x * f->shape.sample_bits % 8)
        return tt_fail(TT_ERROR_ARGUMENT, "column %zu of %u-bit samples does not start on a byte", r.x,
                       f->shape.sample_bits);
    for (size_t y = r.y, end = r.y + r.height; y < end; y += rows_in_group(f, y, end))
        if (missing_at(f, y))
            return tt_fail(TT_ERROR_NOT_READY, "row %zu of the result is not complete", y);
    return f->store->read(f->store, r, into, &f->options);
}
