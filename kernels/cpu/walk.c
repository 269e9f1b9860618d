/* SPDX-License-Identifier: MIT
 *
 * The walk that the CPU's backends share: the destination is cut into strips of rows, the strips are
 * drawn by threads, and a strip that is transposed is cut into blocks that fit the L1 cache.
 */
#include "../threads.h"
#include "cpu.h"

enum {
    LINE = 64,                    /* bytes of a cache line */
    STRIP = 256 * 1024,           /* bytes of a strip of whole rows: a good piece of work for a thread */
    WORTH_A_THREAD = 1024 * 1024, /* bytes of destination below which starting a thread costs more */
};

typedef struct {
    const TtCpuKernels *kernels;
    const TtMove *move;
    size_t rows, columns; /* of a block */
} Walk;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The edge of a square block, in elements: whole cache lines on both sides for narrow elements, 16 lines
 * for those that fill one, and never a part of a packed byte. */
static size_t block_edge(const TtMove *move) {
    if (move->bits)
        return LINE * 8 / move->bits;
    return move->bytes == 1 ? LINE : larger(16, 2 * LINE / larger(move->src.step, move->dst.step));
}

static void run_block(const Walk *walk, size_t x, size_t y, size_t width, size_t height) {
    const TtMove *m = walk->move;
    /* Reversed rows are whole rows: x is 0. Only a transposed block starts elsewhere in the source. */
    size_t src_x = m->kernel == TT_TRANSPOSE_ROWS ? y : x, src_y = m->kernel == TT_TRANSPOSE_ROWS ? x : y;
    size_t src_offset = m->bits ? src_x * m->bits / 8 : src_x * m->src.step;
    size_t dst_offset = m->bits ? x * m->bits / 8 : x * m->dst.step;
    TtBlock block = {
        .src = m->src.data + (ptrdiff_t)src_y * m->src.pitch + src_offset,
        .dst = m->dst.data + (ptrdiff_t)y * m->dst.pitch + dst_offset,
        .src_pitch = m->src.pitch,
        .dst_pitch = m->dst.pitch,
        .src_step = m->src.step,
        .dst_step = m->dst.step,
        .width = width,
        .height = height,
        .bytes = m->bytes,
        .bits = m->bits,
    };
    for (size_t c = 0; c < m->channels; c++) {
        (m->bits ? walk->kernels->run_packed : walk->kernels->run)[m->kernel](&block);
        block.src += m->src.plane;
        block.dst += m->dst.plane;
    }
}

static void run_strip(const void *arg, size_t strip) {
    const Walk *walk = arg;
    size_t y = strip * walk->rows, height = smaller(walk->rows, walk->move->height - y);
    for (size_t x = 0; x < walk->move->width; x += walk->columns)
        run_block(walk, x, y, smaller(walk->columns, walk->move->width - x), height);
}

void tt_cpu_walk(const TtCpuKernels *kernels, const TtMove *move, unsigned threads) {
    size_t row_bytes =
        move->bits ? move->width * move->bits / 8 + 1 : move->width * move->bytes * move->channels;
    Walk walk = {kernels, move, block_edge(move), block_edge(move)};
    if (move->kernel != TT_TRANSPOSE_ROWS) {
        walk.rows = larger(1, STRIP / row_bytes);
        walk.columns = move->width;
    }
    if (row_bytes * move->height < WORTH_A_THREAD)
        threads = 1;
    tt_parallel(run_strip, &walk, (move->height + walk.rows - 1) / walk.rows, threads);
}
