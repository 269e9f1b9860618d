/* SPDX-License-Identifier: MIT
 *
 * The moves of one block, written once for every instruction set. Its file defines the vectors and then
 * includes this:
 *
 *   Vec, LANES                      a vector of LANES lanes of 16 bytes each
 *   load_lanes(p, apart)            lane i from the 16 bytes at p + i * apart
 *   store_lanes(p, apart, v)        lane i to p + i * apart, in that order: later ones may overlap
 *   zip_lo_8(a, b) ... zip_hi_64    within each lane: the low or high halves of a and b interleaved, in
 *                                   units of so many bits
 *   HAVE_SHUFFLE, table(bytes), shuffle(v, table)
 *                                   within each lane: byte i becomes byte table[i], or 0 if that is 128
 *   HAVE_PERMUTE, permute(v, bytes) the same of a whole vector, byte i becoming byte bytes[i]
 *   reverse_lanes(v, bytes)         without HAVE_SHUFFLE: elements of 1, 2, 4, 8 or 16 bytes reversed
 *   stream_line(dst, src)           one cache line, past the cache where the processor can
 *   stream_end()                    wait until such lines are visible to other threads
 *
 * A block is transposed tile by tile, along the rows of the destination:
 *
 *   pull    a few rows of the source are copied into a small buffer. Each of their cache lines is touched
 *           once, so it does not matter if a pitch maps all of them to one cache set. Meanwhile the next
 *           rows are prefetched: no hardware prefetcher follows such a walk.
 *   panel   micro-kernels transpose that buffer in registers, into runs of the destination's rows. They
 *           work on whole vectors and may read and write past the picture's edge: both buffers have room.
 *   flush   whole cache lines go to the destination, past the cache if it is too large for it. A run is
 *           staged as far from a line's start as its destination is, and the bytes of its last,
 *           incomplete line wait in the buffer for the next tile.
 */
#include <string.h>

#include "cpu.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define UNROLL        _Pragma("GCC unroll 16")

enum {
    PULL = 16,                         /* rows pulled at once, unless a micro-kernel takes more */
    PULL_PITCH = TT_TILE_COLUMNS + 64, /* an odd number of lines: rows fall into different cache sets */
    PACKED_PULL = 128,                 /* for packed samples: rows of 1 bit, half as many of 2 ... */
    PACKED_PITCH = 80,                 /* ... of 16, 32 or 64 bytes, and room for a vector */
    DIRECT_ROWS = 64,                  /* of the source, transposed at once straight from the picture; */
    CROWDED_ROWS = 32,                 /* where they fall into few sets of the cache, half as many if wide */
    ROW_PIECE = 1024,                  /* bytes of a row moved at once on their way past the cache, */
    ROW_AHEAD = 4096,                  /* and how far ahead of those moved others are asked for */
};

/* What is pulled at once. */
typedef union {
    _Alignas(TT_LINE) uint8_t elements[16 * LANES][PULL_PITCH];
    uint8_t packed[PACKED_PULL][PACKED_PITCH];
} Pulled;

ALWAYS_INLINE size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

ALWAYS_INLINE size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- Micro-kernels ---------------------------------------------------------------------------------- */

/* Interleaving each vector of the first half with its counterpart in the second rotates the index of every
 * element by one bit. So as many rotations as a row number has bits exchange rows and columns. */
#define ROTATE(unit, n, v)                                                                                   \
    do {                                                                                                     \
        Vec t_[n];                                                                                           \
        UNROLL for (int i_ = 0; i_ < (n) / 2; i_++) {                                                        \
            t_[2 * i_] = zip_lo_##unit((v)[i_], (v)[i_ + (n) / 2]);                                          \
            t_[2 * i_ + 1] = zip_hi_##unit((v)[i_], (v)[i_ + (n) / 2]);                                      \
        }                                                                                                    \
        UNROLL for (int i_ = 0; i_ < (n); i_++)(v)[i_] = t_[i_];                                             \
    } while (0)

/* In each of these, lane l takes the rows after those of lane l - 1. */

ALWAYS_INLINE void square_1(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    Vec v[16];
    UNROLL for (int i = 0; i < 16; i++) v[i] = load_lanes(src + i * src_pitch, 16 * src_pitch);
    ROTATE(8, 16, v);
    ROTATE(8, 16, v);
    ROTATE(8, 16, v);
    ROTATE(8, 16, v);
    UNROLL for (int i = 0; i < 16; i++, dst += dst_pitch) store_lanes(dst, 16, v[i]);
}

ALWAYS_INLINE void square_2(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    Vec v[8];
    UNROLL for (int i = 0; i < 8; i++) v[i] = load_lanes(src + i * src_pitch, 8 * src_pitch);
    ROTATE(16, 8, v);
    ROTATE(16, 8, v);
    ROTATE(16, 8, v);
    UNROLL for (int i = 0; i < 8; i++, dst += dst_pitch) store_lanes(dst, 16, v[i]);
}

ALWAYS_INLINE void square_4(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    Vec v[4];
    UNROLL for (int i = 0; i < 4; i++) v[i] = load_lanes(src + i * src_pitch, 4 * src_pitch);
    ROTATE(32, 4, v);
    ROTATE(32, 4, v);
    UNROLL for (int i = 0; i < 4; i++, dst += dst_pitch) store_lanes(dst, 16, v[i]);
}

ALWAYS_INLINE void square_8(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    Vec v[2];
    UNROLL for (int i = 0; i < 2; i++) v[i] = load_lanes(src + i * src_pitch, 2 * src_pitch);
    ROTATE(64, 2, v);
    UNROLL for (int i = 0; i < 2; i++, dst += dst_pitch) store_lanes(dst, 16, v[i]);
}

#ifdef HAVE_SHUFFLE
/* 3 and 6 bytes: 12 bytes of a row are spread to elements of 4 or 8, and drawn together again at the end.
 * Each store writes 4 bytes too many, which the next one overwrites. */
ALWAYS_INLINE void square_3(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    static const uint8_t spread[16] = {0, 1, 2, 128, 3, 4, 5, 128, 6, 7, 8, 128, 9, 10, 11, 128};
    static const uint8_t drawn[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 128, 128, 128, 128};
    Vec v[4];
    UNROLL for (int i = 0; i < 4; i++) v[i] =
        shuffle(load_lanes(src + i * src_pitch, 4 * src_pitch), table(spread));
    ROTATE(32, 4, v);
    ROTATE(32, 4, v);
    UNROLL for (int i = 0; i < 4; i++, dst += dst_pitch) store_lanes(dst, 12, shuffle(v[i], table(drawn)));
}

ALWAYS_INLINE void square_6(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    static const uint8_t spread[16] = {0, 1, 2, 3, 4, 5, 128, 128, 6, 7, 8, 9, 10, 11, 128, 128};
    static const uint8_t drawn[16] = {0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 128, 128, 128, 128};
    Vec v[2];
    UNROLL for (int i = 0; i < 2; i++) v[i] =
        shuffle(load_lanes(src + i * src_pitch, 2 * src_pitch), table(spread));
    ROTATE(64, 2, v);
    UNROLL for (int i = 0; i < 2; i++, dst += dst_pitch) store_lanes(dst, 12, shuffle(v[i], table(drawn)));
}
#endif

ALWAYS_INLINE void square_12(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    (void)dst_pitch;
    store_lanes(dst, 12, load_lanes(src, src_pitch));
}

ALWAYS_INLINE void square_16(const uint8_t *src, ptrdiff_t src_pitch, uint8_t *dst, ptrdiff_t dst_pitch) {
    (void)dst_pitch;
    store_lanes(dst, 16, load_lanes(src, src_pitch));
}

/* ---- Panels of micro-kernels ------------------------------------------------------------------------- */

/* Transposes columns x rows elements: in whole squares, so with some beyond these. */
typedef void Panel(const uint8_t *src, ptrdiff_t src_pitch, size_t rows, size_t columns, uint8_t *dst,
                   ptrdiff_t dst_pitch);

typedef struct {
    Panel *staged;        /* into the stage; the pitch of what was pulled is known to the compiler */
    Panel *direct;        /* into the picture itself */
    size_t rows, columns; /* of a square */
    size_t spill;         /* elements beyond a square, in both directions, that it may read and write */
} Micro;

/* Into the stage: all squares of a row of them before the next, so that each line is complete before long.
 * Into the picture itself: along the rows of the destination, so that each line is written at once, even
 * where a vector straddles two; of so many rows of the source that the lines read stay in the cache for the
 * next columns. Either way each run that spills is followed by the one that mends it. */
#define PANEL_OF_SQUARES(size, edge)                                                                         \
    ALWAYS_INLINE void panel_##size(const uint8_t *src, ptrdiff_t src_pitch, size_t rows, size_t columns,    \
                                    uint8_t *dst, ptrdiff_t dst_pitch) {                                     \
        for (size_t r = 0; r < rows; r += (edge)*LANES, src += (edge)*LANES * src_pitch) {                   \
            uint8_t *run = dst + r * (size);                                                                 \
            for (size_t c = 0; c < columns; c += (edge), run += (edge)*dst_pitch)                            \
                square_##size(src + c * (size), src_pitch, run, dst_pitch);                                  \
        }                                                                                                    \
    }                                                                                                        \
    static void staged_##size(const uint8_t *src, ptrdiff_t src_pitch, size_t rows, size_t columns,          \
                              uint8_t *dst, ptrdiff_t dst_pitch) {                                           \
        if (src_pitch == PULL_PITCH)                                                                         \
            panel_##size(src, PULL_PITCH, rows, columns, dst, dst_pitch);                                    \
        else                                                                                                 \
            panel_##size(src, src_pitch, rows, columns, dst, dst_pitch);                                     \
    }                                                                                                        \
    static void direct_##size(const uint8_t *src, ptrdiff_t src_pitch, size_t rows, size_t columns,          \
                              uint8_t *dst, ptrdiff_t dst_pitch) {                                           \
        const size_t crowded = (size) > 8 ? CROWDED_ROWS / 2 : CROWDED_ROWS;                                 \
        const size_t most = larger(tt_crowded(src_pitch, 0) ? crowded : DIRECT_ROWS, (edge)*LANES);          \
        for (size_t top = 0; top < rows; top += most)                                                        \
            for (size_t c = 0; c < columns; c += (edge))                                                     \
                for (size_t r = top; r < smaller(rows, top + most); r += (edge)*LANES)                       \
                    square_##size(src + (ptrdiff_t)r * src_pitch + c * (size), src_pitch,                    \
                                  dst + (ptrdiff_t)c * dst_pitch + r * (size), dst_pitch);                   \
    }                                                                                                        \
    static const Micro micro_##size = {staged_##size, direct_##size, (edge)*LANES, (edge),                   \
                                       (size) == 3 ? 2 : (size) % 3 == 0};

PANEL_OF_SQUARES(1, 16)
PANEL_OF_SQUARES(2, 8)
PANEL_OF_SQUARES(4, 4)
PANEL_OF_SQUARES(8, 2)
PANEL_OF_SQUARES(12, 1)
PANEL_OF_SQUARES(16, 1)
#ifdef HAVE_SHUFFLE
PANEL_OF_SQUARES(3, 4)
PANEL_OF_SQUARES(6, 2)
#endif

static const Micro *micro_of(size_t bytes) {
    switch (bytes) {
    case 1:
        return &micro_1;
    case 2:
        return &micro_2;
    case 4:
        return &micro_4;
    case 8:
        return &micro_8;
    case 12:
        return &micro_12;
    case 16:
        return &micro_16;
#ifdef HAVE_SHUFFLE
    case 3:
        return &micro_3;
    case 6:
        return &micro_6;
#endif
    default:
        return NULL;
    }
}

/* Elements of other sizes go one by one, `unit` bytes at a time, and each overwrites what came after the
 * last. */
ALWAYS_INLINE void move_by(size_t unit, const uint8_t *pulled, size_t rows, size_t columns, size_t bytes,
                           uint8_t *staged, ptrdiff_t pitch) {
    for (size_t c = 0; c < columns; c++, pulled += bytes, staged += pitch)
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < bytes; i += unit)
                memcpy(staged + r * bytes + i, pulled + r * PULL_PITCH + i, unit);
}

static void move_elements(const uint8_t *pulled, size_t rows, size_t columns, size_t bytes, uint8_t *staged,
                          ptrdiff_t pitch) {
    switch (bytes) { /* known to the compiler where it makes a difference */
#ifndef HAVE_SHUFFLE
    case 3:
        return move_by(4, pulled, rows, columns, 3, staged, pitch);
    case 6:
        return move_by(8, pulled, rows, columns, 6, staged, pitch);
#endif
    case 5:
        return move_by(8, pulled, rows, columns, 5, staged, pitch);
    case 7:
        return move_by(8, pulled, rows, columns, 7, staged, pitch);
    default:
        return move_by(16, pulled, rows, columns, bytes, staged, pitch);
    }
}

/* A packed cell is the samples of one byte of the source's rows, in as many rows: 8x8, 4x4 or 2x2 samples,
 * byte by byte. Read as a number its first row is the lowest byte but its first sample the highest bits, so
 * that it is its blocks on the rising diagonal that stay and those on the falling one that change places:
 * halves, then quarters, then single samples. */
typedef uint64_t Words __attribute__((vector_size(16 * LANES)));

ALWAYS_INLINE Vec swap_blocks(Vec v, unsigned apart, uint64_t first) {
    Words w = (Words)v, change = (w ^ w >> apart) & first;
    return (Vec)(w ^ change ^ change << apart);
}

ALWAYS_INLINE Vec transpose_cells(Vec v, unsigned bits) {
    if (bits == 4)
        return swap_blocks(v, 12, 0x000f000f000f000f);
    if (bits == 2)
        return swap_blocks(swap_blocks(v, 20, 0x00000f0f00000f0f), 10, 0x0033003300330033);
    v = swap_blocks(v, 36, 0x000000000f0f0f0f);
    v = swap_blocks(v, 18, 0x0000333300003333);
    return swap_blocks(v, 9, 0x0055005500550055);
}

/* 16 cells of one byte column, which become 16 bytes of as many rows as a byte has samples. Lane l takes the
 * byte column after that of lane l - 1. */
ALWAYS_INLINE void packed_column(const uint8_t *columns, ptrdiff_t column_pitch, unsigned bits,
                                 uint8_t *staged, ptrdiff_t pitch) {
    enum { MOST = 8 };
    int rows = 8 / bits;
    Vec v[MOST];
    UNROLL for (int i = 0; i < rows; i++) v[i] =
        transpose_cells(load_lanes(columns + 16 * i, column_pitch), bits);
    UNROLL for (int turn = 0; turn < 4; turn++) {
        Vec t[MOST];
        UNROLL for (int i = 0; i < rows / 2; i++) {
            t[2 * i] = zip_lo_8(v[i], v[i + rows / 2]);
            t[2 * i + 1] = zip_hi_8(v[i], v[i + rows / 2]);
        }
        UNROLL for (int i = 0; i < rows; i++) v[i] = t[i];
    }
    UNROLL for (int i = 0; i < rows; i++, staged += pitch) store_lanes(staged, rows * pitch, v[i]);
}

/* 128 / bits rows: their byte columns are gathered, then the cells of each. */
ALWAYS_INLINE void panel_packed(const uint8_t *pulled, size_t columns, unsigned bits, uint8_t *staged,
                                ptrdiff_t pitch) {
    _Alignas(64) uint8_t gathered[16 * 128];
    const int rows = 128 / bits, per_byte = 8 / bits;
    for (size_t c = 0; c < (columns + per_byte - 1) / per_byte; c += 16) {
        for (int r = 0; r < rows; r += 16 * LANES)
            square_1(pulled + r * PACKED_PITCH + c, PACKED_PITCH, gathered + r, rows);
        for (int i = 0; i < 16; i += LANES, staged += LANES * per_byte * pitch)
            packed_column(gathered + i * rows, rows, bits, staged, pitch);
    }
}

static void panel_of_packed(const uint8_t *pulled, size_t columns, unsigned bits, uint8_t *staged,
                            ptrdiff_t pitch) {
    bits == 1   ? panel_packed(pulled, columns, 1, staged, pitch)
    : bits == 2 ? panel_packed(pulled, columns, 2, staged, pitch)
                : panel_packed(pulled, columns, 4, staged, pitch);
}

/* ---- Pull and flush ---------------------------------------------------------------------------------- */

ALWAYS_INLINE void copy_run(uint8_t *dst, const uint8_t *src, size_t n) {
    size_t i = 0;
    for (; i + TT_LINE <= n; i += TT_LINE)
        memcpy(dst + i, src + i, TT_LINE);
    if (i == n)
        return;
    if (n >= TT_LINE) {
        memcpy(dst + n - TT_LINE, src + n - TT_LINE, TT_LINE);
    } else if (n >= 16) { /* of packed samples, most often just 16: a call would cost more than they do */
        for (; i + 16 < n; i += 16)
            memcpy(dst + i, src + i, 16);
        memcpy(dst + n - 16, src + n - 16, 16);
    } else {
        memcpy(dst, src, n);
    }
}

ALWAYS_INLINE void prefetch_row(uintptr_t row, size_t n) {
    for (size_t i = 0; i < n; i += TT_LINE)
        __builtin_prefetch((const void *)(row + i), 0, 2);
    __builtin_prefetch((const void *)(row + n - 1), 0, 2);
}

/* n bytes of each row; `next` is where the rows pulled after these begin. */
ALWAYS_INLINE void pull(const uint8_t *src, ptrdiff_t src_pitch, size_t rows, size_t n, uintptr_t next,
                        uint8_t *pulled, size_t pitch) {
    for (size_t r = 0; r < rows; r++, src += src_pitch, next += (uintptr_t)src_pitch, pulled += pitch) {
        prefetch_row(next, n);
        copy_run(pulled, src, n);
    }
}

/* One run to its place in a row. Past the cache only whole lines are written: unless it is the row's first
 * run, the bytes that it shares a line with wait before it, and unless it is the last, the bytes of its
 * incomplete line are put there for the next. */
ALWAYS_INLINE void flush_run(uint8_t *dst, uint8_t *staged, size_t n, bool stream, bool first, bool last) {
    if (!stream) {
        copy_run(dst, staged, n);
        return;
    }
    ptrdiff_t phase = (uintptr_t)dst % TT_LINE, end = (ptrdiff_t)n, at = -phase;
    if (first && phase) {
        at = (ptrdiff_t)smaller((size_t)(TT_LINE - phase), n);
        memcpy(dst, staged, (size_t)at);
    }
    for (; at + TT_LINE <= end; at += TT_LINE)
        stream_line(dst + at, staged + at);
    if (last)
        memcpy(dst + at, staged + at, (size_t)(end - at));
    else if (phase)
        memcpy(staged - phase, staged + at, TT_LINE);
}

/* ---- Transposed blocks ------------------------------------------------------------------------------- */

ALWAYS_INLINE size_t bytes_of(size_t elements, size_t bits) {
    return (elements * bits + 7) / 8;
}

/* Lines that are not written whole have to be read first: ask for them early. */
ALWAYS_INLINE void prefetch_ends(const TtBlock *b, size_t at) {
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *end = b->dst + (ptrdiff_t)y * b->dst_pitch + at;
        if ((uintptr_t)end % TT_LINE)
            __builtin_prefetch(end, 1);
    }
}

/* The lines that a block shares with the one beside it: from where they wait to before the runs, or back. */
ALWAYS_INLINE void exchange_waiting(const TtBlock *b, uint8_t *staged, size_t pitch, bool in) {
    for (size_t y = 0; y < b->height; y++, staged += pitch) {
        uint8_t *line = staged - (uintptr_t)staged % TT_LINE, *waiting = b->waiting + y * TT_LINE;
        if (line < staged)
            memcpy(in ? line : waiting, in ? waiting : line, TT_LINE);
    }
}

/* Wide elements need not be pulled, if their squares stay within the picture and the level-1 cache has room
 * for the lines of as many rows. */
ALWAYS_INLINE bool keeps_lines(const TtBlock *b, const Micro *micro) {
    return b->bytes >= 4 && !micro->spill && b->height % micro->columns == 0 &&
           !tt_crowded(b->src_pitch, TT_LINE);
}

/* The runs of one tile, from column x of the block on. */
ALWAYS_INLINE void stage_tile(const TtBlock *b, size_t x, size_t rows, size_t bits, uint8_t *staged,
                              ptrdiff_t pitch) {
    Pulled buffer;
    uint8_t *pulled = (uint8_t *)&buffer;
    const Micro *micro = micro_of(b->bytes);
    size_t most = b->bits ? PACKED_PULL / b->bits : micro && micro->rows > PULL ? micro->rows : PULL;
    bool straight = micro && keeps_lines(b, micro);
    size_t pulled_pitch = b->bits ? PACKED_PITCH : PULL_PITCH, width = bytes_of(b->height, bits);
    for (size_t r = 0; r < rows; r += most) {
        size_t n = smaller(most, rows - r), next = x + r + most;
        const uint8_t *src = b->src + (ptrdiff_t)(x + r) * b->src_pitch;
        /* The block below this one comes next. */
        uintptr_t ahead =
            next < b->width ? (uintptr_t)b->src + next * (uintptr_t)b->src_pitch : (uintptr_t)b->src + width;
        uint8_t *run = staged + r * bits / 8;
        if (straight && n % micro->rows == 0) {
            for (size_t i = 0; i < n; i++)
                prefetch_row(ahead + i * (uintptr_t)b->src_pitch, width);
            micro->staged(src, b->src_pitch, n, b->height, run, pitch);
            continue;
        }
        pull(src, b->src_pitch, n, width, ahead, pulled, pulled_pitch);
        if (b->bits) {
            memset(pulled + n * pulled_pitch, 0, (most - n) * pulled_pitch);
            panel_of_packed(pulled, b->height, b->bits, run, pitch);
        } else if (micro) {
            micro->staged(pulled, PULL_PITCH, n, b->height, run, pitch);
        } else {
            move_elements(pulled, n, b->height, b->bytes, run, pitch);
        }
    }
}

static void transpose_staged(const TtBlock *b) {
    _Alignas(TT_LINE) uint8_t stage[TT_STAGE_BYTES + 2 * TT_LINE];
    size_t bits = b->bits ? b->bits : b->bytes * 8;
    TtTile tile = tt_tile_of(bits, b->src_pitch, b->dst_pitch);
    uint8_t *staged = stage + TT_LINE + (uintptr_t)b->dst % TT_LINE;
    bool whole = ((uintptr_t)b->dst | (uintptr_t)b->dst_pitch) % TT_LINE == 0; /* no bytes ever wait */
    size_t pitch = tile.rows * bits / 8 + (whole ? 0 : TT_LINE) + (bits & (bits - 1) ? 16 : 0);
    pitch += ((size_t)b->dst_pitch - pitch) % TT_LINE; /* as far from a line's start in every row */
    if (b->resumes)
        exchange_waiting(b, staged, pitch, true);
    else if (b->stream)
        prefetch_ends(b, 0);
    for (size_t x = 0; x < b->width; x += tile.rows) {
        bool at_end = b->width - x <= tile.rows, first = x == 0 && !b->resumes, last = at_end && !b->pauses;
        size_t rows = at_end ? b->width - x : tile.rows, run = bytes_of(rows, bits);
        if (b->stream && last)
            prefetch_ends(b, bytes_of(b->width, bits));
        stage_tile(b, x, rows, bits, staged, (ptrdiff_t)pitch);
        uint8_t *dst = b->dst + x * bits / 8;
        for (size_t y = 0; y < b->height; y++)
            flush_run(dst + (ptrdiff_t)y * b->dst_pitch, staged + y * pitch, run, b->stream, first, last);
    }
    if (b->pauses)
        exchange_waiting(b, staged, pitch, false);
    else if (b->stream)
        stream_end();
}

static void transpose_part(const TtBlock *b, size_t x, size_t y, size_t width, size_t height) {
    TtBlock part = *b;
    part.src += (ptrdiff_t)x * b->src_pitch + (ptrdiff_t)(y * b->bytes);
    part.dst += (ptrdiff_t)y * b->dst_pitch + (ptrdiff_t)(x * b->bytes);
    part.width = width;
    part.height = height;
    if (width >= TT_THIN && height >= TT_THIN)
        transpose_staged(&part);
    else if (width && height)
        tt_kernels_c.run[TT_TRANSPOSE_ROWS](&part);
}

/* How many of n elements are in whole squares that have room to spill. */
ALWAYS_INLINE size_t in_squares(size_t n, size_t spill, size_t edge) {
    return n > spill ? (n - spill) / edge * edge : 0;
}

/* In the cache whole squares go straight from the source to the destination; the edges do not. */
static void transpose(const TtBlock *b) {
    const Micro *micro = micro_of(b->bytes);
    if (b->stream || !micro) {
        transpose_staged(b);
        return;
    }
    size_t width = in_squares(b->width, micro->spill, micro->rows);
    size_t height = in_squares(b->height, micro->spill, micro->columns);
    micro->direct(b->src, b->src_pitch, width, height, b->dst, b->dst_pitch);
    transpose_part(b, width, 0, b->width - width, b->height);
    transpose_part(b, 0, height, width, b->height - height);
}

/* ---- Reversed rows ----------------------------------------------------------------------------------- */

#ifdef HAVE_SHUFFLE
#define REVERSIBLE(bytes) ((bytes) <= 16)
#else
#define REVERSIBLE(bytes) ((bytes) <= 16 && !((bytes) & ((bytes)-1)))
#endif

/* From which byte each byte comes, where the elements at the end of a vector or a lane are reversed into its
 * start. */
typedef struct {
    uint8_t vector[sizeof(Vec)], lane[16];
} Order;

ALWAYS_INLINE void fill_order(uint8_t *order, size_t size, size_t bytes) {
    for (size_t i = 0; i < size / bytes * bytes; i++)
        order[i] = (uint8_t)(size - (i / bytes + 1) * bytes + i % bytes);
}

ALWAYS_INLINE Order reversing(size_t bytes) {
    Order order = {{0}, {0}};
    fill_order(order.vector, sizeof(order.vector), bytes);
    fill_order(order.lane, sizeof(order.lane), bytes);
    return order;
}

/* n bytes of whole elements, that end at src_end. No byte outside is read or written. */
ALWAYS_INLINE void reverse_elements(uint8_t *dst, const uint8_t *src_end, size_t n, size_t bytes,
                                    const Order *order) {
    (void)order;
#ifdef HAVE_PERMUTE
    const size_t most = sizeof(Vec) / bytes * bytes;
    for (; n >= sizeof(Vec); n -= most, dst += most, src_end -= most)
        store_lanes(dst, 16, permute(load_lanes(src_end - sizeof(Vec), 16), order->vector));
#endif
    const ptrdiff_t whole = (ptrdiff_t)(16 / bytes * bytes);
    for (; n >= (size_t)((LANES - 1) * whole + 16); n -= (size_t)(LANES * whole)) {
        Vec v = load_lanes(src_end - 16, -whole);
#ifdef HAVE_SHUFFLE
        store_lanes(dst, whole, shuffle(v, table(order->lane)));
#else
        store_lanes(dst, whole, reverse_lanes(v, bytes));
#endif
        src_end -= LANES * whole;
        dst += LANES * whole;
    }
    for (; n; n -= bytes, dst += bytes) {
        src_end -= bytes;
        memcpy(dst, src_end, bytes);
    }
}

/* Asks for n bytes of a row from `at` on, or rather those that are as many bytes further on as memory takes
 * to answer: prefetching hardware stops at the ends of pages and of rows. */
ALWAYS_INLINE void prefetch_ahead(const uint8_t *src, ptrdiff_t pitch, size_t row, size_t at, size_t n) {
    size_t ahead = at + ROW_AHEAD;
    uintptr_t next = (uintptr_t)src + ahead / row * (uintptr_t)pitch + ahead % row;
    for (size_t i = 0; i < n; i += TT_LINE)
        __builtin_prefetch((const void *)(next + i), 0, 2);
}

/* The last, incomplete line of a row. It has to be read first: that of the next row is asked for. */
ALWAYS_INLINE void write_end(uint8_t *dst, ptrdiff_t pitch, size_t from, size_t to, const uint8_t *src) {
    if (from == to)
        return;
    memcpy(dst + from, src, to - from);
    __builtin_prefetch((const void *)((uintptr_t)dst + (uintptr_t)pitch + to - 1), 1);
}

/* Bytes `from` to `to` of a reversed row. They may be parts of elements, which the stage has room for. */
ALWAYS_INLINE const uint8_t *stage_reversed(uint8_t *stage, const uint8_t *src_end, size_t from, size_t to,
                                            size_t bytes, const Order *order) {
    size_t first = from / bytes * bytes, end = (to + bytes - 1) / bytes * bytes;
    reverse_elements(stage, src_end - first, end - first, bytes, order);
    return stage + (from - first);
}

/* Past the cache, and from the row's end on: its source is read forward, which processors do faster. */
ALWAYS_INLINE void reverse_past(uint8_t *dst, ptrdiff_t dst_pitch, const uint8_t *src, ptrdiff_t src_pitch,
                                size_t row, size_t bytes, const Order *order) {
    _Alignas(TT_LINE) uint8_t stage[ROW_PIECE + 2 * 16];
    size_t head = smaller(-(uintptr_t)dst % TT_LINE, row), end = row - (row - head) % TT_LINE;
    write_end(dst, dst_pitch, end, row, stage_reversed(stage, src + row, end, row, bytes, order));
    for (size_t to = end; to > head;) {
        size_t n = smaller(to - head, ROW_PIECE);
        to -= n;
        prefetch_ahead(src, src_pitch, row, row - to - n, n);
        const uint8_t *staged = stage_reversed(stage, src + row, to, to + n, bytes, order);
        for (size_t i = n; i; i -= TT_LINE)
            stream_line(dst + to + i - TT_LINE, staged + i - TT_LINE);
    }
    memcpy(dst, stage_reversed(stage, src + row, 0, head, bytes, order), head);
}

ALWAYS_INLINE void reverse_rows(const TtBlock *b, size_t bytes) {
    const Order order = reversing(bytes);
    size_t row = b->width * bytes;
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        if (b->stream)
            reverse_past(dst, b->dst_pitch, src, b->src_pitch, row, bytes, &order);
        else
            reverse_elements(dst, src + row, row, bytes, &order);
    }
    if (b->stream)
        stream_end();
}

static void reverse(const TtBlock *b) {
    if (!REVERSIBLE(b->bytes)) {
        tt_kernels_c.run[TT_REVERSE_ROWS](b);
        return;
    }
    switch (b->bytes) { /* known to the compiler */
    case 1:
        return reverse_rows(b, 1);
    case 2:
        return reverse_rows(b, 2);
    case 3:
        return reverse_rows(b, 3);
    case 4:
        return reverse_rows(b, 4);
    case 6:
        return reverse_rows(b, 6);
    case 8:
        return reverse_rows(b, 8);
    case 12:
        return reverse_rows(b, 12);
    case 16:
        return reverse_rows(b, 16);
    default:
        return reverse_rows(b, b->bytes);
    }
}

/* The samples of each byte in reverse. */
ALWAYS_INLINE Words reverse_samples(Words w, unsigned bits) {
    w = (w >> 4 & 0x0f0f0f0f0f0f0f0f) | (w & 0x0f0f0f0f0f0f0f0f) << 4;
    if (bits <= 2)
        w = (w >> 2 & 0x3333333333333333) | (w & 0x3333333333333333) << 2;
    if (bits == 1)
        w = (w >> 1 & 0x5555555555555555) | (w & 0x5555555555555555) << 1;
    return w;
}

/* Reversed bytes, moved to the front by the unused bits that a row's last byte had: dst[i] is the low bits of
 * src[i] and the high bits of src[i + 1]. Works on whole vectors of both. */
ALWAYS_INLINE void reverse_in_bytes(uint8_t *dst, const uint8_t *src, size_t n, unsigned bits,
                                    unsigned unused) {
    const uint64_t each = 0x0101010101010101;
    for (size_t i = 0; i < n; i += sizeof(Words)) {
        Words front, behind;
        memcpy(&front, src + i, sizeof(front));
        memcpy(&behind, src + i + 1, sizeof(behind));
        front = reverse_samples(front, bits) << unused & each * (0xff & 0xff << unused);
        behind = reverse_samples(behind, bits) >> (8 - unused) & each * (0xff >> (8 - unused));
        front |= behind;
        memcpy(dst + i, &front, sizeof(front));
    }
}

static void reverse_packed(const TtBlock *b) {
    _Alignas(TT_LINE) uint8_t stage[ROW_PIECE + 3 * TT_LINE], bytes[ROW_PIECE + 3 * TT_LINE];
    size_t row = bytes_of(b->width, b->bits);
    unsigned unused = (unsigned)(row * 8 - b->width * b->bits);
    const Order order = reversing(1);
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src_end = b->src + (ptrdiff_t)y * b->src_pitch + row;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        uint8_t *staged = stage + TT_LINE + (uintptr_t)dst % TT_LINE;
        for (size_t at = 0; at < row; at += ROW_PIECE) {
            size_t n = smaller(ROW_PIECE, row - at), behind = n < row - at;
            reverse_elements(bytes, src_end - at, n + behind, 1, &order);
            if (!behind)
                bytes[n] = 0;
            reverse_in_bytes(staged, bytes, n, b->bits, unused);
            flush_run(dst + at, staged, n, b->stream, at == 0, !behind);
        }
    }
    if (b->stream)
        stream_end();
}

/* ---- Copied rows ------------------------------------------------------------------------------------- */

ALWAYS_INLINE void copy_past(uint8_t *dst, ptrdiff_t dst_pitch, const uint8_t *src, ptrdiff_t src_pitch,
                             size_t row) {
    size_t head = smaller(-(uintptr_t)dst % TT_LINE, row), end = row - (row - head) % TT_LINE;
    memcpy(dst, src, head);
    for (size_t at = head, n; at < end; at += n) {
        n = smaller(end - at, ROW_PIECE);
        prefetch_ahead(src, src_pitch, row, at, n);
        for (size_t i = at; i < at + n; i += TT_LINE)
            stream_line(dst + i, src + i);
    }
    write_end(dst, dst_pitch, end, row, src + end);
}

static void copy(const TtBlock *b) {
    size_t row = b->width * b->bytes;
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        if (b->stream)
            copy_past(dst, b->dst_pitch, src, b->src_pitch, row);
        else
            memcpy(dst, src, row);
    }
    if (b->stream)
        stream_end();
}

/* The instruction set's row of the table. */
#define DEFINE_BACKEND(id)                                                                                   \
    static TtStatus move(const TtMove *move, unsigned threads) {                                             \
        static const TtCpuKernels kernels = {                                                                \
            .run = {[TT_COPY_ROWS] = copy, [TT_REVERSE_ROWS] = reverse, [TT_TRANSPOSE_ROWS] = transpose},    \
            .run_packed = {[TT_COPY_ROWS] = tt_packed_copy,                                                  \
                           [TT_REVERSE_ROWS] = reverse_packed,                                               \
                           [TT_TRANSPOSE_ROWS] = transpose},                                                 \
        };                                                                                                   \
        tt_cpu_walk(&kernels, move, threads);                                                                \
        return TT_OK;                                                                                        \
    }                                                                                                        \
    const TtBackend tt_backend_##id = {.name = #id, .host = true, .usable = usable, .move = move};
