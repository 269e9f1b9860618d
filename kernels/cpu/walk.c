/* SPDX-License-Identifier: MIT
 *
 * The walk that the CPU's backends share: the destination is cut into blocks for the kernels, and the grid of
 * blocks into pieces that threads draw.
 */
#include "../size.h"
#include "../threads.h"
#include "cpu.h"

/* Larger destinations are written past the cache. Measured: from about a core's own cache on that is faster,
 * most often even counting a reader that comes next; from there on the last-level cache, if there is any
 * behind the number that a virtual machine reports, is not faster than memory. */
#ifndef TT_CACHED_MOST
#define TT_CACHED_MOST (2 * 1024 * 1024)
#endif

enum {
    ALMOST = 8, /* bytes by which rows may be off the distance at which they crowd */

    STRIP = 256 * 1024,           /* bytes of a block of whole rows */
    WORTH_A_THREAD = 1024 * 1024, /* bytes of destination below which starting a thread costs more */
    PIECES = 8,                   /* for each thread to draw, so that none waits long for the last */

    /* Columns of a transposed block, which come from as many rows of the source: as many bytes as make the
     * lines at its two ends count little, and as many rows as make good runs of wide elements, but no more
     * pages than the TLB has entries. */
    BLOCK_RUN = 2048,
    BLOCK_LEAST = 512,
    BLOCK_MOST = 2048,

    /* The rows of the source are taken in strips where they crowd in the level-2 cache, and several tiles
     * down before the next strip: the destination's lines that these share wait meanwhile. */
    SECOND_LEVEL = 2 * 1024 * 1024, /* bytes of that cache */
    STRIP_LEAST = 64,               /* rows of the source that a strip has at least */
    BAND = 1024,                    /* rows of the destination before the next strip */
};

typedef struct {
    const TtCpuKernels *kernels;
    const TtMove *move;
    bool stream;
    size_t rows, columns; /* of a block */
    size_t strip, band;   /* so many columns of a block at a time, of so many rows */
    size_t across, down;  /* blocks of a piece */
    size_t pieces_across;
} Walk;

static size_t bits_of(const TtMove *move) {
    return move->bits ? move->bits : move->bytes * 8;
}

static size_t row_bytes(const TtMove *move) {
    return move->bits ? move->width * move->bits / 8 + 1 : move->width * move->bytes * move->channels;
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

/* Micro-kernels take so many columns at once. */
static size_t columns_of_vector(size_t bits) {
    return bits & (bits - 1) ? 4 : larger(1, 128 / bits);
}

/* So many elements, or twice as many and so on, that are `bytes` or more and whole lines. */
static size_t in_lines(size_t elements, size_t bits, size_t bytes) {
    while (elements * bits < bytes * 8 || elements * bits % (TT_LINE * 8))
        elements *= 2;
    return elements;
}

/* Runs of two lines or more, which suit the memory better than one. Where rows lie a multiple of a power of
 * two apart, or almost, it is an even number of lines of the destination that suits it, and four lines of the
 * source: with two, reading takes half as long again there. Of packed samples, which cost more to move than
 * to write, a line of the source is used up at once. */
TtTile tt_tile_of(size_t bits, ptrdiff_t src_pitch, ptrdiff_t dst_pitch) {
    if (bits < 8)
        return (TtTile){smaller(TT_LINE * 8, 2 * TT_LINE * 8 / bits), TT_LINE * 8 / bits};
    size_t rows = in_lines(16, bits, 2 * TT_LINE);
    if (bits < 64 && rows * bits / 8 % (2 * TT_LINE) && tt_crowded(dst_pitch, ALMOST))
        rows *= 2;
    size_t columns =
        smaller(TT_TILE_COLUMNS * 8 / bits, TT_TILE_BYTES / (rows * bits / 8 + 2 * TT_LINE + 16));
    size_t unit = columns_of_vector(bits), lines = in_lines(4, bits, 4 * TT_LINE);
    if (tt_crowded(src_pitch, 0) && lines > columns && lines * bits <= TT_TILE_COLUMNS * 8)
        columns = lines;
    return (TtTile){rows, columns > unit ? columns - columns % unit : columns};
}

/* As many columns as the source's rows, from which they come, have room in half of the level-2 cache: at a
 * pitch that is a multiple of a large power of two they share few sets of it. Processors fetch more of a row
 * than is asked for, which is of use only if it is still there when the next tile is read. Of bytes a single
 * tile has too many rows for that. */
static size_t strip_of(const TtMove *m, size_t tile_rows) {
    size_t pitch = (size_t)m->src.pitch, apart = pitch & -pitch;
    if (!apart || bits_of(m) <= 8)
        return BLOCK_MOST;
    return larger(1, larger(SECOND_LEVEL / 2 / apart, STRIP_LEAST) / tile_rows) * tile_rows;
}

static void shape_tiled(Walk *walk) {
    const TtMove *m = walk->move;
    size_t bits = bits_of(m);
    TtTile tile = tt_tile_of(bits, m->src.pitch, m->dst.pitch);
    size_t columns = smaller(larger(BLOCK_RUN * 8 / bits, BLOCK_LEAST), BLOCK_MOST);
    walk->columns = even_part(m->width, rounded_up(columns, tile.rows), tile.rows);
    walk->rows = even_part(m->height, tile.columns, smaller(tile.columns, columns_of_vector(bits)));
    if (walk->stream) {
        walk->strip = strip_of(m, tile.rows);
        walk->band = BAND / walk->rows * walk->rows;
    }
}

/* A square block, for plain loops: whole cache lines on both sides for narrow elements, 16 lines for those
 * that fill one, and never a part of a packed byte. */
static void shape_plain(Walk *walk) {
    const TtMove *m = walk->move;
    walk->rows = walk->columns = m->bits         ? TT_LINE * 8 / m->bits
                                 : m->bytes == 1 ? TT_LINE
                                                 : larger(16, 2 * TT_LINE / larger(m->src.step, m->dst.step));
}

/* Whole rows, or parts of them where rows are few. Parts of packed rows would not begin on whole bytes. */
static void shape_rows(Walk *walk) {
    const TtMove *m = walk->move;
    size_t row = row_bytes(m);
    walk->rows = larger(1, STRIP / row);
    walk->columns = m->bits || row <= STRIP ? m->width : larger(1, m->width / parts_of(row, STRIP));
}

/* ---- The walk ---------------------------------------------------------------------------------------- */

static TtBlock block_of(const Walk *walk, size_t channel, size_t x, size_t y, size_t width, size_t height) {
    const TtMove *m = walk->move;
    size_t src_x = m->kernel == TT_TRANSPOSE_ROWS ? y
                   : m->kernel == TT_REVERSE_ROWS ? m->width - x - width
                                                  : x;
    size_t src_y = m->kernel == TT_TRANSPOSE_ROWS ? x : y;
    size_t src_offset = m->bits ? src_x * m->bits / 8 : src_x * m->src.step;
    size_t dst_offset = m->bits ? x * m->bits / 8 : x * m->dst.step;
    return (TtBlock){
        .src = m->src.data + (ptrdiff_t)channel * m->src.plane + (ptrdiff_t)src_y * m->src.pitch + src_offset,
        .dst = m->dst.data + (ptrdiff_t)channel * m->dst.plane + (ptrdiff_t)y * m->dst.pitch + dst_offset,
        .src_pitch = m->src.pitch,
        .dst_pitch = m->dst.pitch,
        .src_step = m->src.step,
        .dst_step = m->dst.step,
        .width = width,
        .height = height,
        .bytes = m->bytes,
        .bits = m->bits,
        .stream = walk->stream,
    };
}

/* A block of each row of a band of them, strip by strip. */
static void run_band(const Walk *walk, size_t channel, size_t x, size_t y, size_t width, size_t height) {
    const TtMove *m = walk->move;
    _Alignas(TT_LINE) uint8_t waiting[BAND * TT_LINE];
    for (size_t strip = 0; strip < width; strip += walk->strip)
        for (size_t row = 0; row < height; row += walk->rows) {
            TtBlock block = block_of(walk, channel, x + strip, y + row, smaller(walk->strip, width - strip),
                                     smaller(walk->rows, height - row));
            block.waiting = waiting + row * TT_LINE;
            block.resumes = strip > 0;
            block.pauses = width - strip > walk->strip;
            (m->bits ? walk->kernels->run_packed : walk->kernels->run)[m->kernel](&block);
        }
}

/* Down before across: while the blocks of a column run, their rows of the source stay in the TLB. Each piece
 * begins at another column: where the pitch is a power of two, threads side by side at one column would all
 * write to the same channels of the memory. */
static void run_piece(const void *arg, size_t piece) {
    const Walk *walk = arg;
    const TtMove *m = walk->move;
    size_t x0 = piece % walk->pieces_across * walk->across * walk->columns;
    size_t y0 = piece / walk->pieces_across * walk->down * walk->rows;
    size_t x1 = smaller(m->width, x0 + walk->across * walk->columns);
    size_t y1 = smaller(m->height, y0 + walk->down * walk->rows);
    size_t columns = parts_of(x1 - x0, walk->columns);
    for (size_t i = 0; i < columns; i++) {
        size_t x = x0 + (i + piece) % columns * walk->columns, width = smaller(walk->columns, x1 - x);
        for (size_t y = y0; y < y1; y += walk->band)
            for (size_t c = 0; c < m->channels; c++)
                run_band(walk, c, x, y, width, smaller(walk->band, y1 - y));
    }
}

/* Pieces are some rows of the destination, and parts of those rows only if there are too few. */
static void run_pieces(Walk *walk, unsigned threads) {
    size_t across = parts_of(walk->move->width, walk->columns);
    size_t down = parts_of(walk->move->height, walk->rows);
    size_t wanted = threads > 1 ? (size_t)threads * PIECES : 1;
    walk->down = parts_of(down, smaller(down, wanted));
    size_t pieces_down = parts_of(down, walk->down);
    walk->across =
        parts_of(across, pieces_down >= threads ? 1 : smaller(across, parts_of(wanted, pieces_down)));
    walk->pieces_across = parts_of(across, walk->across);
    tt_parallel(run_piece, walk, walk->pieces_across * pieces_down, threads);
}

static bool suits_tiles(const TtMove *m) {
    if (m->bits)
        return true;
    if (m->src.step != m->bytes || m->dst.step != m->bytes)
        return false;
    return m->kernel != TT_TRANSPOSE_ROWS ||
           (m->bytes <= TT_TILE_ELEMENT && m->width >= TT_THIN && m->height >= TT_THIN);
}

void tt_cpu_walk(const TtCpuKernels *kernels, const TtMove *move, unsigned threads) {
    Walk walk = {.kernels = suits_tiles(move) ? kernels : &tt_kernels_c, .move = move};
    size_t bytes = row_bytes(move) * move->height;
    walk.stream = !walk.kernels->plain && bytes > TT_CACHED_MOST;
    if (move->kernel != TT_TRANSPOSE_ROWS)
        shape_rows(&walk);
    else
        walk.kernels->plain ? shape_plain(&walk) : shape_tiled(&walk);
    if (!walk.strip) {
        walk.strip = walk.columns;
        walk.band = walk.rows;
    }
    run_pieces(&walk, bytes < WORTH_A_THREAD ? 1 : tt_threads_of(threads));
}
