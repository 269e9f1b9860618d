/* SPDX-License-Identifier: MIT
 *
 * What the host tells the kernels: plain structs, the same bytes in C and in device code.
 */
#ifndef TT_CUDA_TASK_H
#define TT_CUDA_TASK_H

#include <stdint.h>

/* Division of numbers below 2^31 by a constant: n / divisor = n * magic >> shift. */
typedef struct {
    uint32_t divisor, magic, shift;
} TtDivider;

/* The rows of one side. Row i starts at base + (i / channels) * pitch + (i % channels) * plane, which makes
 * the planes' rows alternate: so an image of planes is turned into an interleaved one, and back, by the
 * kernel that turns a matrix of single samples. */
typedef struct {
    uint64_t base; /* of the first image */
    int64_t pitch, plane;
    int64_t image, part; /* image i starts (i / parts) * image + (i % parts) * part later */
    TtDivider channels;
} TtTaskRows;

/* A tile of the destination. */
typedef struct {
    uint32_t width, height; /* in pixels */
    uint32_t skew;          /* bytes: a tile's part of a row starts on a multiple of this, a power of two */
    uint32_t lead;          /* pixels that a tile holds in front of its own, for such rows */
    uint32_t pitch;         /* words (general kernels: units) between the tile's rows in shared memory */
    uint32_t cells_shift;   /* rows: log2 of the cells of a tile's row */
} TtTaskTile;

/* One launch's work, or a part of it: `images` images of one geometry. Sizes are below 2^31: the host cuts
 * what is larger. */
typedef struct {
    TtTaskRows src, dst;
    int64_t src_low,
        src_end; /* where an image's source lies, from its row 0 on, if without gaps; else both 0 */
    uint32_t width, height; /* of the destination, in elements */
    uint32_t reverse;       /* rows: read backward */
    uint32_t images;
    TtDivider tiles_x, tiles, parts, units;
    TtTaskTile tile;
} TtTask;

/* Kernel parameters are limited to 4096 bytes. */
enum { TT_TASKS_MAX = 18 };

typedef struct {
    uint32_t count;
    uint32_t first[TT_TASKS_MAX]; /* block with which each task starts */
    TtTask tasks[TT_TASKS_MAX];
} TtTaskList;

#endif
