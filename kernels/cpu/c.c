/* SPDX-License-Identifier: MIT
 *
 * The backend "c": plain loops. They define what is right; every other kernel is compared with these.
 */
#include <string.h>

#include "cpu.h"

/* The loops take the element's size as a constant where they can: then a move is one load and one store. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void reverse_of(const TtBlock *b, size_t bytes) {
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch + (b->width - 1) * b->src_step;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        for (size_t x = 0; x < b->width; x++)
            memcpy(dst + x * b->dst_step, src - x * b->src_step, bytes);
    }
}

ALWAYS_INLINE void transpose_of(const TtBlock *b, size_t bytes) {
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + y * b->src_step;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        for (size_t x = 0; x < b->width; x++)
            memcpy(dst + x * b->dst_step, src + (ptrdiff_t)x * b->src_pitch, bytes);
    }
}

ALWAYS_INLINE void copy_of(const TtBlock *b, size_t bytes) {
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        for (size_t x = 0; x < b->width; x++)
            memcpy(dst + x * b->dst_step, src + x * b->src_step, bytes);
    }
}

#define WITH_CONSTANT_SIZE(loop, block)                                                                      \
    switch ((block)->bytes) {                                                                                \
    case 1:                                                                                                  \
        loop(block, 1);                                                                                      \
        break;                                                                                               \
    case 2:                                                                                                  \
        loop(block, 2);                                                                                      \
        break;                                                                                               \
    case 3:                                                                                                  \
        loop(block, 3);                                                                                      \
        break;                                                                                               \
    case 4:                                                                                                  \
        loop(block, 4);                                                                                      \
        break;                                                                                               \
    case 6:                                                                                                  \
        loop(block, 6);                                                                                      \
        break;                                                                                               \
    case 8:                                                                                                  \
        loop(block, 8);                                                                                      \
        break;                                                                                               \
    case 12:                                                                                                 \
        loop(block, 12);                                                                                     \
        break;                                                                                               \
    case 16:                                                                                                 \
        loop(block, 16);                                                                                     \
        break;                                                                                               \
    default:                                                                                                 \
        loop(block, (block)->bytes);                                                                         \
    }

static void copy(const TtBlock *b) {
    if (b->src_step == b->bytes && b->dst_step == b->bytes)
        for (size_t y = 0; y < b->height; y++)
            memcpy(b->dst + (ptrdiff_t)y * b->dst_pitch, b->src + (ptrdiff_t)y * b->src_pitch,
                   b->width * b->bytes);
    else
        WITH_CONSTANT_SIZE(copy_of, b)
}

static void reverse(const TtBlock *b) {
    WITH_CONSTANT_SIZE(reverse_of, b)
}

static void transpose(const TtBlock *b) {
    WITH_CONSTANT_SIZE(transpose_of, b)
}

static bool usable(void) {
    return true;
}

const TtCpuKernels tt_kernels_c = {
    .plain = true,
    .run = {[TT_COPY_ROWS] = copy, [TT_REVERSE_ROWS] = reverse, [TT_TRANSPOSE_ROWS] = transpose},
    .run_packed = {[TT_COPY_ROWS] = tt_packed_copy,
                   [TT_REVERSE_ROWS] = tt_packed_reverse,
                   [TT_TRANSPOSE_ROWS] = tt_packed_transpose},
};

static TtStatus move(const TtMove *move, unsigned threads) {
    tt_cpu_walk(&tt_kernels_c, move, threads);
    return TT_OK;
}

const TtBackend tt_backend_c = {.name = "c", .host = true, .usable = usable, .move = move};
