/* SPDX-License-Identifier: MIT
 *
 * The memory store: the turned picture in one block, written as its pieces arrive.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../error.h"
#include "budget.h"
#include "store.h"

typedef struct {
    TtStore store;
    TtImage picture;
    size_t bytes;
    void (*release)(void *memory, size_t bytes, void *user); /* NULL: the memory was mapped */
    void *user;
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

static void *allocate(MemoryStore *s, const TtFrameOptions *options) {
    s->release = options->release;
    s->user = options->user;
    if (options->allocate)
        return options->allocate(s->bytes, options->user);
    void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, s->bytes, MADV_HUGEPAGE);
    return memory;
}

static void release(MemoryStore *s) {
    if (!s->picture.data)
        return;
    if (s->release)
        s->release(s->picture.data, s->bytes, s->user);
    else
        munmap(s->picture.data, s->bytes);
}

static void set_sample(uint8_t *row, size_t x, unsigned bits, unsigned value) {
    unsigned shift = 8 - bits - (unsigned)(x * bits % 8), mask = ((1u << bits) - 1) << shift;
    uint8_t *byte = row + x * bits / 8;
    *byte = (uint8_t)((*byte & ~mask) | value << shift);
}

static unsigned get_sample(const uint8_t *row, size_t x, unsigned bits) {
    return row[x * bits / 8] >> (8 - bits - x * bits % 8) & ((1u << bits) - 1);
}

/* A packed rectangle whose sides do not fall on whole bytes of the result: it is turned apart, then set
 * sample by sample. Only such rectangles share bytes with others, so only they take the lock. */
static TtStatus put_across_bytes(MemoryStore *s, const TtImage *piece, TtOrientation o, TtRect to,
                                 const TtOptions *options) {
    unsigned bits = piece->sample_bits;
    size_t pitch = (to.width * bits + 7) / 8;
    uint8_t *turned = malloc(pitch * to.height);
    if (!turned)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for %zu bytes of a piece", pitch * to.height);
    TtImage apart = tt_image(turned, (ptrdiff_t)pitch, to.width, to.height, 1, bits);
    TtStatus status = tt_orient(piece, &apart, o, options);
    pthread_mutex_lock(&s->seam);
    for (size_t y = 0; !status && y < to.height; y++) {
        uint8_t *row = (uint8_t *)s->picture.data + (ptrdiff_t)(to.y + y) * s->picture.pitch;
        for (size_t x = 0; x < to.width; x++)
            set_sample(row, to.x + x, bits, get_sample(turned + y * pitch, x, bits));
    }
    pthread_mutex_unlock(&s->seam);
    free(turned);
    return status;
}

static TtStatus put(TtStore *store, const TtImage *piece, TtOrientation o, TtRect to,
                    const TtOptions *options) {
    MemoryStore *s = (MemoryStore *)store;
    size_t per_byte = piece->sample_bits < 8 ? 8 / piece->sample_bits : 1, end = to.x + to.width;
    if (to.x % per_byte || (end % per_byte && end != s->picture.width))
        return put_across_bytes(s, piece, o, to, options);
    TtImage view = tt_subimage(&s->picture, to);
    return tt_orient(piece, &view, o, options);
}

static TtStatus read_back(TtStore *store, TtRect from, const TtImage *into, const TtOptions *options) {
    MemoryStore *s = (MemoryStore *)store;
    TtImage view = tt_subimage(&s->picture, from);
    return tt_orient(&view, into, TT_NONE, options);
}

static void free_store(TtStore *store) {
    MemoryStore *s = (MemoryStore *)store;
    release(s);
    pthread_mutex_destroy(&s->seam);
    free(s);
}

/* Sets the picture's pitches and the bytes it takes; false if it would take more than the limit. */
static bool lay_out(MemoryStore *s, size_t pitch, size_t planes, size_t limit) {
    size_t plane;
    s->picture.pitch = (ptrdiff_t)pitch;
    if (__builtin_mul_overflow(pitch, s->picture.height, &plane) ||
        __builtin_mul_overflow(plane, planes, &s->bytes))
        return false;
    s->picture.plane_pitch = (ptrdiff_t)plane;
    return s->bytes <= PTRDIFF_MAX && s->bytes <= limit;
}

TtStatus tt_store_memory_new(const TtImage *result, const TtFrameOptions *options, TtStore **store) {
    TtExtent extent;
    TtStatus status = tt_image_shape(result, "frame's", &extent);
    if (status)
        return status;
    MemoryStore *s = calloc(1, sizeof(*s));
    if (!s)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    s->store = (TtStore){put, read_back, free_store};
    s->picture = *result;
    s->picture.data = NULL;
    pthread_mutex_init(&s->seam, NULL);

    /* The padding is a help, and not worth refusing a picture for. */
    size_t limit = options->memory_limit ? options->memory_limit : tt_memory_allowed();
    if (!lay_out(s, padded(extent.row_bytes), extent.planes, limit) &&
        !lay_out(s, extent.row_bytes, extent.planes, limit))
        status = tt_fail(TT_ERROR_MEMORY, "the picture takes %.0f bytes of memory, and %zu are allowed",
                         (double)extent.row_bytes * (double)result->height * (double)extent.planes, limit);
    else if (!(s->picture.data = allocate(s, options)))
        status =
            tt_fail(TT_ERROR_MEMORY, "the picture takes %.1f MB of memory, and the system has not so much",
                    (double)s->bytes / 1e6);
    if (status)
        free_store(&s->store);
    else
        *store = &s->store;
    return status;
}
