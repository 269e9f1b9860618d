/* SPDX-License-Identifier: MIT
 *
 * Backends of the CPU: they share one walk and differ in the kernels that move one block.
 */
#ifndef TT_CPU_H
#define TT_CPU_H

#include "../backend.h"

/* A piece of one channel, small enough for the cache. Element (x, y) of the destination is at
 * dst + y * dst_pitch + x * dst_step. */
typedef struct {
    const uint8_t *src;
    uint8_t *dst;
    ptrdiff_t src_pitch, dst_pitch;
    size_t src_step, dst_step;
    size_t width, height; /* of the destination, in elements */
    size_t bytes;         /* of an element; 0 if samples are packed */
    unsigned bits;        /* packed: of a sample, and the steps are 0 */
    bool stream;          /* the destination is too large for the cache: write past it, in whole lines */
    bool resumes, pauses; /* transposed past the cache: another block is to the left, or to the right, */
    uint8_t *waiting;     /* and the line that each row shares with it waits here: TT_LINE bytes a row */
} TtBlock;

/* One kernel for each TtKernel. Packed samples have three of their own; a packed block starts on a byte
 * of both sides and the kernel clears the unused bits of the destination's last byte.
 *
 * Kernels that are not plain take only elements that lie side by side and, if they transpose, are of at most
 * TT_TILE_ELEMENT bytes and make at most tt_tile_of().columns rows of the destination. */
typedef struct {
    bool plain; /* loops over any elements: the backend "c" */
    void (*run[3])(const TtBlock *block);
    void (*run_packed[3])(const TtBlock *block);
} TtCpuKernels;

/* Does the move block by block, over several threads when it is worth them. */
void tt_cpu_walk(const TtCpuKernels *kernels, const TtMove *move, unsigned threads);

/* What the kernels that are not plain transpose at once, for elements of so many bits and such rows of the
 * source: `columns` columns of `rows` rows, which become `columns` runs of whole cache lines. */
typedef struct {
    size_t rows, columns;
} TtTile;

TtTile tt_tile_of(size_t bits, ptrdiff_t src_pitch, ptrdiff_t dst_pitch);

enum {
    TT_LINE = 64,               /* bytes of a cache line */
    TT_CROWDING = 1024,         /* rows at a multiple of this distance fall into few sets of the caches */
    TT_TILE_COLUMNS = 384,      /* a tile has at most so many bytes of each row of the source, */
    TT_TILE_BYTES = 36 * 1024,  /* takes so much of the level-1 cache, */
    TT_STAGE_BYTES = 96 * 1024, /* or up to this where it reads whole lines at any price, */
    TT_THIN = 8,                /* is not worth it for fewer rows or columns, */
    TT_TILE_ELEMENT = 128,      /* and is for elements of so many bytes: larger ones are lines of their own */
};

/* Or off that distance by a few bytes. */
static inline bool tt_crowded(ptrdiff_t pitch, ptrdiff_t off) {
    return (size_t)(pitch + off) % TT_CROWDING <= 2 * (size_t)off;
}

void tt_packed_copy(const TtBlock *block);
void tt_packed_reverse(const TtBlock *block);
void tt_packed_transpose(const TtBlock *block);

extern const TtCpuKernels tt_kernels_c;

extern const TtBackend tt_backend_c;
#if defined __x86_64__
extern const TtBackend tt_backend_sse2, tt_backend_ssse3, tt_backend_avx2, tt_backend_avx512;
#elif defined __AARCH64EL__
extern const TtBackend tt_backend_neon;
#endif

#endif
