/* SPDX-License-Identifier: MIT
 *
 * The spill store: the turned picture in a file, cut into tiles, and as many of them in memory as the limit
 * allows.
 *
 *     source, in bands           the file's tiles              result, in rows
 *     =================>         +---+---+---+---+
 *     a band becomes columns,    | 0 | 5 | 10| 15|             a row of tiles is read,
 *     or rows, of tiles: each    | 1 | 6 | 11| 16|             each in one run
 *     is complete when its       | 2 | 7 | 12| 17| =========>
 *     last band has come, and    | 3 | 8 | 13| 18|
 *     is written in one run      | 4 | 9 | 14| 19|
 *                                +---+---+---+---+
 *
 * A tile is one run of the file. Its shape is chosen so that all tiles that a band lies in, and all that a
 * row lies in, find room in memory together. If pieces come in another order, or the limit is very small,
 * tiles are written before they are complete and read back: slower, and right.
 *
 * A tile in memory lies in a slot. Whoever works on it has it pinned, and nobody pins two, so someone can
 * always go on. A busy slot is on its way between memory and file, without the lock.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../error.h"
#include "../orient.h"
#include "../orientation.h"
#include "../size.h"
#include "../threads.h"
#include "budget.h"
#include "spill_file.h"
#include "store.h"

/* Tests have it work with tiles of a few pixels. */
#ifndef TT_SPILL_LEAST_MEMORY
#define TT_SPILL_LEAST_MEMORY (256 << 10)
#define TT_SPILL_PAGE         4096
#endif

enum {
    LEAST_MEMORY = TT_SPILL_LEAST_MEMORY,
    PAGE = TT_SPILL_PAGE, /* tiles begin on one */
    GOOD_RUN = 4 << 20,   /* bytes; what disks want at a time, and more gains nothing */
    WORTH_A_THREAD = 1 << 20,
};

static const size_t NO_SLOT = SIZE_MAX, NO_TILE = SIZE_MAX;

typedef struct {
    size_t slot;    /* NO_SLOT: not in memory */
    size_t missing; /* pixels that have not been put */
    bool in_file;
} Tile;

typedef struct {
    size_t tile; /* NO_TILE: empty */
    unsigned pins;
    bool busy;
    bool filled;       /* its memory has been written to */
    bool dirty;        /* the file has not all that is here */
    uint64_t last_use; /* counted in uses of tiles */
} Slot;

typedef struct {
    TtStore store;
    TtImage result; /* its shape */
    bool swaps;     /* bands of the source become columns */

    TtImage tile; /* the shape of all but the last tiles */
    size_t tile_bytes, columns, rows;
    TtSpillFile file;
    TtMemory memory; /* of all slots, and what aligns them */
    size_t held;     /* bytes counted against the budget */
    size_t filled;   /* of them, likewise */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot is no longer busy or pinned */
    Tile *tiles;
    Slot *slots;
    size_t slot_count;
    uint64_t uses;
    size_t fetched; /* tiles before this one, in the order of rows, were read or are being */

    pthread_mutex_t seam;
} SpillStore;

static size_t tile_count(const SpillStore *s) {
    return s->columns * s->rows;
}

/* ---- The cut into tiles ---------------------------------------------------------------------------- */

/* How many items of so many bytes make up a run, of all that there are. */
static size_t items_in(double run, double bytes, size_t all) {
    double n = run / bytes;
    return n < 1 ? 1 : n < (double)all ? (size_t)n : all;
}

static size_t in_units(size_t n, size_t unit, size_t all) {
    size_t units = larger(n / unit, 1);
    return units > all / unit ? all : units * unit;
}

/* The pixels that fill whole cache lines, if there are as many in n, or else whole bytes. */
static size_t good_unit(const TtImage *image, size_t n) {
    size_t bits = (image->layout == TT_PLANAR ? 1 : image->channels) * (size_t)image->sample_bits, unit = 1;
    while (unit * bits % 512)
        unit *= 2; /* 512 is a power of two, so that no other factor helps */
    return unit <= n ? unit : bits < 8 ? 8 / bits : 1;
}

static void choose_tile(SpillStore *s, const TtExtent *extent, size_t limit) {
    TtImage *tile = &s->tile;
    double width = (double)s->result.width, height = (double)s->result.height;
    double row = (double)extent->row_bytes * (double)extent->planes, all = row * height;
    double half = (double)limit / 2; /* so that the next strip can begin before the last is complete */
    *tile = s->result;
    if (s->swaps) {
        double strip = fmin(half, sqrt(all * GOOD_RUN));
        tile->width = items_in(strip, all / width, s->result.width);
        tile->height = items_in(strip, row, s->result.height);
    } else {
        double strip = fmin(half, GOOD_RUN);
        tile->height = items_in(strip, row, s->result.height);
        tile->width = items_in(strip, row / width, s->result.width);
    }
    tile->width = in_units(tile->width, good_unit(tile, tile->width), s->result.width);

    /* Tiles must not be so many that the list of them takes the memory, nor smaller than a page. */
    double least = fmin(half, fmax(PAGE, 4 * sizeof(Tile) * all / (double)limit));
    double tile_row = row * (double)tile->width / width;
    if (tile_row * (double)tile->height < least)
        tile->height = items_in(least, tile_row, s->result.height);
}

/* Sets what follows from the tile's width and height; false if the bytes cannot be counted. */
static bool lay_out(SpillStore *s, size_t *file_bytes) {
    TtExtent extent;
    if (tt_image_shape(&s->tile, "frame's", &extent))
        return false;
    size_t pitch = extent.row_bytes, plane;
    if (pitch % PAGE == 0) /* all rows would compete for the same cache sets */
        pitch += 64;
    s->tile.pitch = (ptrdiff_t)pitch;
    s->columns = (s->result.width - 1) / s->tile.width + 1;
    s->rows = (s->result.height - 1) / s->tile.height + 1;
    if (__builtin_mul_overflow(pitch, s->tile.height, &plane) ||
        __builtin_mul_overflow(plane, extent.planes, &s->tile_bytes) ||
        __builtin_add_overflow(s->tile_bytes, PAGE - 1, &s->tile_bytes))
        return false;
    s->tile.plane_pitch = (ptrdiff_t)plane;
    s->tile_bytes -= s->tile_bytes % PAGE;
    return !__builtin_mul_overflow(s->columns, s->rows, file_bytes) &&
           *file_bytes < SIZE_MAX / sizeof(Tile) &&
           !__builtin_mul_overflow(*file_bytes, s->tile_bytes, file_bytes) && *file_bytes <= PTRDIFF_MAX;
}

static TtRect rect_of_tile(const SpillStore *s, size_t i) {
    size_t column = s->swaps ? i / s->rows : i % s->columns, row = s->swaps ? i % s->rows : i / s->columns;
    TtRect r = {column * s->tile.width, row * s->tile.height, s->tile.width, s->tile.height};
    r.width = smaller(r.width, s->result.width - r.x);
    r.height = smaller(r.height, s->result.height - r.y);
    return r;
}

/* ---- Tiles in memory ------------------------------------------------------------------------------- */

static uint8_t *memory_of(const SpillStore *s, const Slot *slot) {
    uint8_t *first = (uint8_t *)s->memory.data + (PAGE - (uintptr_t)s->memory.data % PAGE) % PAGE;
    return first + (size_t)(slot - s->slots) * s->tile_bytes;
}

/* Between memory and file, the lock let go meanwhile. Called with the lock. */
static TtStatus transfer(SpillStore *s, Slot *slot, bool write) {
    size_t offset = slot->tile * s->tile_bytes;
    slot->busy = true;
    pthread_mutex_unlock(&s->lock);
    TtStatus status = write ? tt_spill_file_write(&s->file, memory_of(s, slot), s->tile_bytes, offset)
                            : tt_spill_file_read(&s->file, memory_of(s, slot), s->tile_bytes, offset);
    pthread_mutex_lock(&s->lock);
    slot->busy = false;
    pthread_cond_broadcast(&s->changed);
    return status;
}

static TtStatus write_tile(SpillStore *s, Slot *slot) {
    TtStatus status = transfer(s, slot, true);
    if (!status) {
        slot->dirty = false;
        s->tiles[slot->tile].in_file = true;
    }
    return status;
}

static bool is_complete(const SpillStore *s, const Slot *slot) {
    return slot->dirty && !s->tiles[slot->tile].missing;
}

/* The slot to give up first: the one not used for longest, but one that would have to be read back for pixels
 * still to come only if there is no other. NULL if all are in use. */
static Slot *find_victim(SpillStore *s) {
    Slot *victim = NULL;
    bool victim_waits = false;
    for (size_t i = 0; i < s->slot_count; i++) {
        Slot *slot = &s->slots[i];
        bool waits = slot->dirty && !is_complete(s, slot);
        if (!slot->pins && !slot->busy &&
            (!victim || waits < victim_waits ||
             (waits == victim_waits && slot->last_use < victim->last_use))) {
            victim = slot;
            victim_waits = waits;
        }
    }
    return victim;
}

/* Brings a tile that is not in memory into a slot that is empty or has what the file has, too. */
static TtStatus load_tile(SpillStore *s, Slot *slot, size_t tile) {
    if (slot->tile != NO_TILE)
        s->tiles[slot->tile].slot = NO_SLOT;
    slot->tile = tile;
    s->tiles[tile].slot = (size_t)(slot - s->slots);
    TtStatus status = s->tiles[tile].in_file ? transfer(s, slot, false) : TT_OK;
    if (status) {
        s->tiles[tile].slot = NO_SLOT;
        slot->tile = NO_TILE;
    }
    return status;
}

/* Keeps the tile in memory until it is unpinned. */
static TtStatus pin(SpillStore *s, size_t tile, Slot **pinned) {
    TtStatus status = TT_OK;
    pthread_mutex_lock(&s->lock);
    for (*pinned = NULL; !status && !*pinned;) {
        size_t at = s->tiles[tile].slot;
        Slot *slot = at == NO_SLOT ? find_victim(s) : &s->slots[at];
        if (!slot || slot->busy)
            pthread_cond_wait(&s->changed, &s->lock);
        else if (at != NO_SLOT)
            *pinned = slot;
        else if (slot->dirty)
            status = write_tile(s, slot);
        else
            status = load_tile(s, slot, tile);
    }
    if (*pinned) {
        (*pinned)->pins++;
        (*pinned)->last_use = ++s->uses;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* `put` pixels of it have come. */
static void unpin(SpillStore *s, Slot *slot, size_t put) {
    pthread_mutex_lock(&s->lock);
    Tile *tile = &s->tiles[slot->tile];
    tile->missing -= smaller(put, tile->missing);
    slot->dirty |= put > 0;
    if (!slot->filled) {
        slot->filled = true;
        s->filled += s->tile_bytes;
        tt_memory_fill(s->tile_bytes);
    }
    if (!--slot->pins)
        pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* Writes a tile that is complete, if there is one. It stays while its room is not needed. */
static TtStatus flush_one(SpillStore *s) {
    TtStatus status = TT_OK;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->slot_count; i++) {
        Slot *slot = &s->slots[i];
        if (!slot->pins && !slot->busy && is_complete(s, slot)) {
            status = write_tile(s, slot);
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Reads a tile that will be wanted. */
static TtStatus fetch(SpillStore *s, size_t tile) {
    pthread_mutex_lock(&s->lock);
    bool useful = s->tiles[tile].in_file && s->tiles[tile].slot == NO_SLOT;
    pthread_mutex_unlock(&s->lock);
    Slot *slot;
    TtStatus status = useful ? pin(s, tile, &slot) : TT_OK;
    if (useful && !status)
        unpin(s, slot, 0);
    return status;
}

/* ---- Rectangles over tiles ------------------------------------------------------------------------- */

typedef struct {
    SpillStore *store;
    TtImage image;             /* what is put, or read into */
    TtOrientation orientation; /* of what is put; 0: it is read */
    TtRect rect;               /* of the result */
    TtOptions options;
    size_t column, row, columns, rows; /* of tiles */
    size_t first_ahead, ahead;         /* tiles to write or to fetch beside */
    atomic_int status;
    char message[512]; /* of the thread that failed first */
} Transfer;

static double bytes_of(const Transfer *t) {
    return (double)t->rect.width * (double)t->rect.height * t->image.channels * t->image.sample_bits / 8;
}

static TtRect intersection(TtRect a, TtRect b) {
    size_t x = larger(a.x, b.x), y = larger(a.y, b.y);
    return (TtRect){x, y, smaller(a.x + a.width, b.x + b.width) - x,
                    smaller(a.y + a.height, b.y + b.height) - y};
}

static TtRect relative_to(TtRect origin, TtRect r) {
    return (TtRect){r.x - origin.x, r.y - origin.y, r.width, r.height};
}

/* Rows of packed samples that start within a byte, moved to where one starts. */
static TtStatus cut_bits(const TtImage *image, TtRect r, TtImage *cut) {
    size_t first = r.x * image->sample_bits, pitch = (r.width * image->sample_bits + 7) / 8;
    size_t last = ((r.x + r.width) * image->sample_bits - 1) / 8;
    unsigned shift = first % 8;
    uint8_t *memory = malloc(pitch * r.height);
    if (!memory)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for %zu bytes of a piece", pitch * r.height);
    for (size_t y = 0; y < r.height; y++) {
        const uint8_t *from = (const uint8_t *)image->data + (ptrdiff_t)(r.y + y) * image->pitch;
        for (size_t i = 0, at = first / 8; i < pitch; i++, at++)
            memory[y * pitch + i] =
                (uint8_t)(from[at] << shift | (at < last ? from[at + 1] >> (8 - shift) : 0));
    }
    *cut = tt_image(memory, (ptrdiff_t)pitch, r.width, r.height, 1, image->sample_bits);
    return TT_OK;
}

/* The part of the piece that lands in the rectangle `part` of the result, into the tile. */
static TtStatus put_part(const Transfer *t, TtRect part, const TtImage *tile, TtRect to) {
    const TtImage *result = &t->store->result;
    TtOrientation back = tt_invert(t->orientation);
    TtRect from = relative_to(tt_map_rect(back, result->width, result->height, t->rect),
                              tt_map_rect(back, result->width, result->height, part));
    TtStatus status = TT_OK;
    TtImage view, cut = {0};
    if (from.x * t->image.sample_bits % 8) {
        status = cut_bits(&t->image, from, &cut);
        view = cut;
    } else {
        view = tt_subimage(&t->image, from);
    }
    if (!status)
        status = tt_place(&view, t->orientation, tile, to, &t->store->seam, &t->options);
    free(cut.data);
    return status;
}

static TtStatus read_part(const Transfer *t, TtRect part, const TtImage *tile, TtRect from) {
    TtImage source = tt_subimage(tile, from), into = tt_subimage(&t->image, relative_to(t->rect, part));
    return tt_orient(&source, &into, TT_NONE, &t->options);
}

static TtStatus transfer_part(const Transfer *t, size_t i) {
    SpillStore *s = t->store;
    size_t column = t->column + (s->swaps ? i / t->rows : i % t->columns);
    size_t row = t->row + (s->swaps ? i % t->rows : i / t->columns);
    size_t index = s->swaps ? column * s->rows + row : row * s->columns + column;
    TtRect whole = rect_of_tile(s, index), part = intersection(t->rect, whole),
           place = relative_to(whole, part);
    Slot *slot;
    TtStatus status = pin(s, index, &slot);
    if (status)
        return status;
    TtImage tile = s->tile;
    tile.data = memory_of(s, slot);
    tile.width = whole.width;
    tile.height = whole.height;
    status = t->orientation ? put_part(t, part, &tile, place) : read_part(t, part, &tile, place);
    unpin(s, slot, t->orientation && !status ? part.width * part.height : 0);
    return status;
}

static TtStatus go_ahead(const Transfer *t, size_t i) {
    SpillStore *s = t->store;
    if (t->orientation)
        return flush_one(s);
    i += t->first_ahead;
    return fetch(s, s->swaps ? i % s->columns * s->rows + i / s->columns : i);
}

static void transfer_one(const void *arg, size_t i) {
    Transfer *t = (Transfer *)arg;
    int none = TT_OK;
    if (t->status)
        return;
    TtStatus status = i < t->ahead ? go_ahead(t, i) : transfer_part(t, i - t->ahead);
    if (status && atomic_compare_exchange_strong(&t->status, &none, (int)status))
        snprintf(t->message, sizeof(t->message), "%s", tt_last_error());
}

static Transfer transfer_of(SpillStore *s, const TtImage *image, TtOrientation o, TtRect r,
                            const TtOptions *options) {
    Transfer t = {.store = s, .image = *image, .orientation = o, .rect = r, .options = *options};
    t.column = r.x / s->tile.width;
    t.row = r.y / s->tile.height;
    t.columns = (r.x + r.width - 1) / s->tile.width + 1 - t.column;
    t.rows = (r.y + r.height - 1) / s->tile.height + 1 - t.row;
    return t;
}

/* Each tile by one thread, and one more for the disk. */
static TtStatus transfer_all(Transfer *t) {
    const TtBackend *backend;
    unsigned threads;
    TtStatus status = tt_options_read(&t->options, &backend, &threads);
    if (status)
        return status;
    t->options.threads = 1; /* for each part */
    if (bytes_of(t) < WORTH_A_THREAD)
        threads = 1;
    else if (threads > 1 && t->ahead)
        threads++;
    tt_parallel(transfer_one, t, t->ahead + t->columns * t->rows, threads);
    return t->status ? tt_fail((TtStatus)t->status, "%s", t->message) : TT_OK;
}

/* As many tiles are written as are filled. */
static TtStatus put(TtStore *store, const TtImage *piece, TtOrientation o, TtRect to,
                    const TtOptions *options) {
    SpillStore *s = (SpillStore *)store;
    Transfer t = transfer_of(s, piece, o, to, options);
    t.ahead = (size_t)ceil(bytes_of(&t) / (double)s->tile_bytes);
    return transfer_all(&t);
}

/* Rows that are read from top to bottom have the next row of tiles fetched in step with them. */
static void plan_fetches(Transfer *t) {
    SpillStore *s = t->store;
    size_t end = t->rect.y + t->rect.height, row = end / s->tile.height, rows_done = end % s->tile.height;
    if (t->rect.width != s->result.width || s->slot_count < 2 * s->columns)
        return;
    size_t want = smaller((row + 1) * s->columns + rows_done * s->columns / s->tile.height, tile_count(s));
    size_t own = smaller((t->row + t->rows) * s->columns, want); /* of the rows that are asked for */
    pthread_mutex_lock(&s->lock);
    t->first_ahead = smaller(larger(s->fetched, own), want);
    t->ahead = want - t->first_ahead;
    s->fetched = want;
    pthread_mutex_unlock(&s->lock);
}

static TtStatus read_back(TtStore *store, TtRect from, const TtImage *into, const TtOptions *options) {
    Transfer t = transfer_of((SpillStore *)store, into, (TtOrientation)0, from, options);
    plan_fetches(&t);
    return transfer_all(&t);
}

/* ---- The store ------------------------------------------------------------------------------------- */

static void free_store(TtStore *store) {
    SpillStore *s = (SpillStore *)store;
    tt_memory_free(&s->memory);
    tt_memory_give(s->held, s->filled);
    tt_spill_file_close(&s->file);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->seam);
    pthread_cond_destroy(&s->changed);
    free(s->tiles);
    free(s->slots);
    free(s);
}

static TtStatus make_lists(SpillStore *s) {
    s->tiles = malloc(tile_count(s) * sizeof(*s->tiles));
    s->slots = malloc(s->slot_count * sizeof(*s->slots));
    if (!s->tiles || !s->slots)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for the list of a frame's tiles");
    for (size_t i = 0; i < s->slot_count; i++)
        s->slots[i] = (Slot){.tile = NO_TILE};
    for (size_t i = 0; i < tile_count(s); i++) {
        TtRect r = rect_of_tile(s, i);
        s->tiles[i] = (Tile){.slot = NO_SLOT, .missing = r.width * r.height};
    }
    return TT_OK;
}

/* Two strips, of tiles that a band lies in or that a row lies in, are all that is of use; or where these are
 * short, a few tiles for each of the threads that put. */
static void choose_slots(SpillStore *s, size_t limit) {
    const size_t for_threads = 16;
    size_t strip = s->swaps ? larger(s->rows, s->columns) : s->columns;
    size_t useful = smaller(larger(2 * strip + 2, for_threads), tile_count(s));
    s->slot_count = larger(smaller(limit / s->tile_bytes, useful), 1);
}

TtStatus tt_store_spill_new(const TtImage *result, TtOrientation o, size_t limit,
                            const TtFrameOptions *options, TtStore **store) {
    TtExtent extent;
    TtStatus status = tt_image_shape(result, "frame's", &extent);
    if (status)
        return status;
    SpillStore *s = calloc(1, sizeof(*s));
    if (!s)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    s->store = (TtStore){.put = put, .read = read_back, .free = free_store, .kind = TT_STORE_SPILL};
    s->result = *result;
    s->swaps = tt_swaps_axes(o);
    s->file.fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->seam, NULL);
    pthread_cond_init(&s->changed, NULL);

    size_t file_bytes;
    limit = larger(limit, LEAST_MEMORY);
    choose_tile(s, &extent, limit);
    if (!lay_out(s, &file_bytes)) {
        status = tt_fail(TT_ERROR_ARGUMENT, "the picture is too large for a file");
        goto out;
    }
    choose_slots(s, limit);
    if ((status = tt_spill_file_open(&s->file, file_bytes)) || (status = make_lists(s)))
        goto out;
    size_t bytes = s->slot_count * s->tile_bytes + PAGE - 1;
    if (!tt_memory_new(&s->memory, bytes, options)) {
        status = tt_fail(TT_ERROR_MEMORY,
                         "a picture in a file takes %.1f MB of memory, and the system has not so much",
                         (double)bytes / 1e6);
        goto out;
    }
    if (tt_memory_take(bytes, SIZE_MAX))
        s->held = bytes;
    snprintf(s->store.where, sizeof(s->store.where), "%.1f MB in a file in %.200s, through %.1f MB of memory",
             (double)file_bytes / 1e6, s->file.folder, (double)bytes / 1e6);
out:
    if (status)
        free_store(&s->store);
    else
        *store = &s->store;
    return status;
}
