/* SPDX-License-Identifier: MIT
 *
 * The memory store: the turned picture in one block, written as its pieces arrive.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../error.h"
#include "budget.h"
#include "store.h"

bool tt_memory_new(TtMemory *memory, size_t bytes, const TtFrameOptions *options) {
    *memory = (TtMemory){NULL, bytes, options->release, options->user};
    if (options->allocate) {
        memory->data = options->allocate(bytes, options->user);
        return memory->data;
    }
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return false;
    madvise(data, bytes, MADV_HUGEPAGE);
    memory->data = data;
    return true;
}

void tt_memory_free(TtMemory *memory) {
    if (!memory->data)
        return;
    if (memory->release)
        memory->release(memory->data, memory->bytes, memory->user);
    else
        munmap(memory->data, memory->bytes);
    memory->data = NULL;
}

typedef struct {
    TtStore store;
    TtImage picture;
    TtMemory memory;
    size_t held;          /* bytes counted against the budget */
    atomic_size_t filled; /* of them, at most held */
    pthread_mutex_t seam; /* held while pixels that share a byte with a neighbour's are put */
} MemoryStore;

/* Rows are padded to whole cache lines, and away from multiples of a page, where all rows would compete
 * for the same cache sets; not rows so short that the padding would count. */
static size_t padded(size_t row_bytes) {
    if (row_bytes < 1024)
        return row_bytes;
    size_t pitch = (row_bytes + 63) & ~(size_t)63;
    return pitch % 4096 ? pitch : pitch + 64;
}

/* Whole rows, since pages are large: the first band that becomes columns is on all of them. */
static void fill(MemoryStore *s, size_t rows) {
    size_t bytes = rows * (s->held / s->picture.height), before = atomic_load(&s->filled), more;
    do
        more = bytes < s->held - before ? bytes : s->held - before;
    while (!atomic_compare_exchange_weak(&s->filled, &before, before + more));
    tt_memory_fill(more);
}

static TtStatus put(TtStore *store, const TtImage *piece, TtOrientation o, TtRect to,
                    const TtOptions *options) {
    MemoryStore *s = (MemoryStore *)store;
    TtStatus status = tt_place(piece, o, &s->picture, to, &s->seam, options);
    if (!status)
        fill(s, to.height);
    return status;
}

static TtStatus read_back(TtStore *store, TtRect from, const TtImage *into, const TtOptions *options) {
    MemoryStore *s = (MemoryStore *)store;
    TtImage view = tt_subimage(&s->picture, from);
    return tt_orient(&view, into, TT_NONE, options);
}

static void free_store(TtStore *store) {
    MemoryStore *s = (MemoryStore *)store;
    tt_memory_free(&s->memory);
    tt_memory_give(s->held, atomic_load(&s->filled));
    pthread_mutex_destroy(&s->seam);
    free(s);
}

/* Sets the picture's pitches and counts the bytes it takes; false if there may not be so many. */
static bool lay_out(MemoryStore *s, size_t pitch, size_t planes, size_t limit, size_t all_limit) {
    size_t plane, bytes;
    s->picture.pitch = (ptrdiff_t)pitch;
    if (__builtin_mul_overflow(pitch, s->picture.height, &plane) ||
        __builtin_mul_overflow(plane, planes, &bytes) || bytes > PTRDIFF_MAX || bytes > limit ||
        !tt_memory_take(bytes, all_limit))
        return false;
    s->picture.plane_pitch = (ptrdiff_t)plane;
    s->held = bytes;
    return true;
}

TtStatus tt_store_memory_new(const TtImage *result, size_t limit, size_t all_limit,
                             const TtFrameOptions *options, TtStore **store) {
    TtExtent extent;
    TtStatus status = tt_image_shape(result, "frame's", &extent);
    if (status)
        return status;
    MemoryStore *s = calloc(1, sizeof(*s));
    if (!s)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    s->store = (TtStore){.put = put, .read = read_back, .free = free_store, .kind = TT_STORE_MEMORY};
    s->picture = *result;
    pthread_mutex_init(&s->seam, NULL);

    /* The padding is a help, and not worth refusing a picture for. */
    size_t bytes =
        extent.row_bytes * result->height * extent.planes; /* fits, or the shape had been refused */
    if (!lay_out(s, padded(extent.row_bytes), extent.planes, limit, all_limit) &&
        !lay_out(s, extent.row_bytes, extent.planes, limit, all_limit))
        status = tt_fail(TT_ERROR_MEMORY, "the picture takes %zu bytes of memory, and %zu are allowed", bytes,
                         limit < all_limit ? limit : all_limit);
    else if (!tt_memory_new(&s->memory, s->held, options))
        status =
            tt_fail(TT_ERROR_MEMORY, "the picture takes %.1f MB of memory, and the system has not so much",
                    (double)s->held / 1e6);
    if (status) {
        free_store(&s->store);
        return status;
    }
    s->picture.data = s->memory.data;
    snprintf(s->store.where, sizeof(s->store.where), "%.1f MB in memory", (double)s->held / 1e6);
    *store = &s->store;
    return TT_OK;
}
