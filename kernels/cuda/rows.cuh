/* SPDX-License-Identifier: MIT
 *
 * Rows stay rows: copied, read backward, and moved between interleaved pixels and planes.
 *
 * No thread needs another warp's pixels here, so there is no barrier: each warp has a tile of its own, a part
 * of one row or of a few short ones.
 */
#ifndef TT_ROWS_CUH
#define TT_ROWS_CUH

#include "device.cuh"
#include "kernels.h"

/* A warp's place: its lanes stand in rows of 1 << cells_shift. */
struct WarpTile {
    Place place;
    int x, y; /* of this lane: which in its row of lanes, and the image's row */
};

TT_DEVICE bool warp_tile_of(const TtTask &t, uint32_t block, WarpTile *tile) {
    const uint32_t lane = threadIdx.x % WARP, shift = t.tile.cells_shift;
    const uint32_t index = block * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (index >= t.tiles.divisor * t.images)
        return false;
    tile->place = place_of(t, index);
    tile->x = (int)(lane & ((1u << shift) - 1));
    tile->y = (tile->place.ty << (5 - shift)) + (int)(lane >> shift);
    return true;
}

/* ---- Chunks of 16 bytes ------------------------------------------------------------------------------ */

/* Four words of eight, from a byte that is the same for all of a row, so nearly always for all of a warp. */
template <int N> TT_DEVICE void shift_chunks(Word (*v)[8], int beside) {
    const int shift = beside * 8;
    switch (beside >> 2) {
#define FROM(first)                                                                                          \
    for (int n = 0; n < N; n++)                                                                              \
        for (int i = 0; i < 4; i++)                                                                          \
            v[n][i] = __funnelshift_r(v[n][i + first], v[n][i + first + 1 < 8 ? i + first + 1 : 7], shift);
    case 0:
#pragma unroll
        FROM(0)
        return;
    case 1:
#pragma unroll
        FROM(1)
        return;
    case 2:
#pragma unroll
        FROM(2)
        return;
    default:
#pragma unroll
        FROM(3)
#undef FROM
    }
}

/* Turns 16 bytes' pixels round. */
template <int BYTES> TT_DEVICE void reverse_chunk(Word *v) {
    const Word w[4] = {v[0], v[1], v[2], v[3]};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (BYTES == 1)
            v[i] = __byte_perm(w[3 - i], 0, 0x0123);
        else if (BYTES == 2)
            v[i] = __byte_perm(w[3 - i], 0, 0x1032);
        else if (BYTES == 4)
            v[i] = w[3 - i];
        else if (BYTES == 8)
            v[i] = w[i ^ 2];
    }
}

/* Copies rows of t.width bytes, BYTES being 16, or copies them backward, by pixels of BYTES, in chunks that
 * are aligned in the destination and whole pixels there. ALIKE: they then are aligned in the source too. */
template <int BYTES, bool REVERSE, bool ALIKE> TT_DEVICE void copy_rows(const TtTask &t, uint32_t block) {
    constexpr int CHUNKS = TT_COPY_CHUNKS;
    WarpTile tile;
    if (!warp_tile_of(t, block, &tile) || tile.y >= (int)t.height)
        return;
    const uint64_t src = row_at(t.src, tile.place.src, tile.y), dst = row_at(t.dst, tile.place.dst, tile.y);
    const int lanes = 1 << t.tile.cells_shift, ahead = (int)dst & 15, end = (int)t.width;
    const int first = 16 * (tile.place.tx * lanes * CHUNKS + tile.x) - ahead; /* byte of the row */
    const uint64_t from = REVERSE ? src + (uint64_t)(end - 16 - first) : src + (uint64_t)(int64_t)first;
    const int step = REVERSE ? -16 * lanes : 16 * lanes, beside = ALIKE ? 0 : (int)from & 15;
    Word v[CHUNKS][8];
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        /* The 16 or 32 aligned bytes around the source's are in the row if these are. */
        const int at = first + 16 * n * lanes, margin = ALIKE ? 0 : 16;
        if (at < margin || at + 16 + margin > end)
            continue;
        const uint64_t p = from + (uint64_t)(int64_t)(n * step - beside);
        load_words<4>(p, v[n]);
        if (!ALIKE)
            load_words<4>(p + 16, v[n] + 4);
    }
    if (!ALIKE)
        shift_chunks<CHUNKS>(v, beside);
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        const int at = first + 16 * n * lanes, margin = ALIKE ? 0 : 16;
        if (at >= margin && at + 16 + margin <= end) {
            if (REVERSE)
                reverse_chunk<BYTES>(v[n]);
            store_words<4>(dst + (uint64_t)at, v[n]);
            continue;
        }
#pragma unroll 1
        for (int b = at < 0 ? 0 : at; b < at + 16 && b < end; b++)
            *(Byte *)(dst + (uint64_t)b) = __ldg(
                (const Byte *)(src + (uint64_t)(REVERSE ? end - BYTES - b / BYTES * BYTES + b % BYTES : b)));
    }
}

/* ---- Cells along rows ------------------------------------------------------------------------------ */

/* One pass over rows of pixels of CHANNELS elements of BYTES; planes or interleaved on either side. A cell
 * is here as many pixels as make whole words of each channel, in a row. */
template <int BYTES_, int CHANNELS_, bool FROM_PLANES_, bool TO_PLANES_, bool ANY_, int CELLS_>
struct RowsShape {
    static constexpr int BYTES = BYTES_, CHANNELS = CHANNELS_;
    static constexpr bool FROM_PLANES = FROM_PLANES_, TO_PLANES = TO_PLANES_;
    static constexpr bool ANY = ANY_; /* rows start on any byte; else on words, also from their ends */
    static constexpr int B = tt_cell_pixels(BYTES), W = tt_cell_words(BYTES);
    static constexpr int SRC_ROWS = FROM_PLANES ? CHANNELS : 1, DST_ROWS = TO_PLANES ? CHANNELS : 1;
    static constexpr int SRC_WORDS = W * CHANNELS / SRC_ROWS, DST_WORDS = W * CHANNELS / DST_ROWS;
    static constexpr int SRC_STEP = BYTES * CHANNELS / SRC_ROWS, DST_STEP = BYTES * CHANNELS / DST_ROWS;
    static constexpr int CELLS = CELLS_; /* of a lane */
    static constexpr int ACCESS = DST_WORDS % 4 == 0 ? 4 : DST_WORDS % 2 == 0 ? 2 : 1;
};

/* Word w of row r of the moved cell. */
template <class S, bool REVERSE> TT_DEVICE Word moved_word(const Word *cell, int r, int w) {
    int at[4] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int byte = 4 * w + i, pixel = byte / S::DST_STEP, within = byte % S::DST_STEP;
        int channel = S::TO_PLANES ? r : within / S::BYTES;
        int from = REVERSE ? S::B - 1 - pixel : pixel;
        at[i] = (S::FROM_PLANES ? channel * 4 * S::SRC_WORDS : channel * S::BYTES) + from * S::SRC_STEP +
                within % S::BYTES;
    }
    return pick(cell, at[0], at[1], at[2], at[3]);
}

template <class S, bool REVERSE, bool INSIDE>
TT_DEVICE void move_cell(const TtTask &t, const WarpTile &tile, int x, Word *to, int row_pitch) {
    /* Pixels x to x + B - 1 of the destination come from these, which may lie in part outside the row. */
    const int from = REVERSE ? (int)t.width - S::B - x : x;
    const int64_t row_bytes = (int64_t)t.width * S::SRC_STEP;
    Word cell[S::SRC_ROWS * S::SRC_WORDS];
#pragma unroll
    for (int r = 0; r < S::SRC_ROWS; r++) {
        const uint64_t low = tile.place.src + (uint64_t)(tile.y * t.src.pitch + r * t.src.plane);
        const uint64_t at = low + (uint64_t)((int64_t)from * S::SRC_STEP);
        const uint64_t word = at & ~3ull;
        const Word shift = (Word)at << 3;
        constexpr int LOADED = S::SRC_WORDS + S::ANY, MARGIN = S::ANY ? 4 : 0;
        Word v[LOADED];
        if (INSIDE || (from >= MARGIN && from + S::B + MARGIN <= (int)t.width))
            load_run<LOADED, 1>(word, v);
        else
            load_run_within<LOADED>(word, v, low, low + (uint64_t)row_bytes);
#pragma unroll
        for (int w = 0; w < S::SRC_WORDS; w++)
            cell[r * S::SRC_WORDS + w] =
                S::ANY ? __funnelshift_r(v[w], v[w + 1 < LOADED ? w + 1 : w], shift) : v[w];
    }
#pragma unroll
    for (int r = 0; r < S::DST_ROWS; r++) {
        Word out[S::DST_WORDS];
#pragma unroll
        for (int w = 0; w < S::DST_WORDS; w++)
            out[w] = moved_word<S, REVERSE>(cell, r, w);
        tile_put<S::DST_WORDS, S::ACCESS>(to + r * row_pitch, out, "write");
    }
}

template <class S, bool INSIDE>
TT_DEVICE void move_warp_tile(const TtTask &t, const WarpTile &tile, Word *shared) {
    const int lanes = 1 << t.tile.cells_shift, rows = WARP >> t.tile.cells_shift;
    const int cells = lanes * S::CELLS,
              lead = (int)t.tile.lead / S::B; /* cells of the tile's own; in front */
    const int x0 = tile.place.tx * cells * S::B - lead * S::B;
    const int row_pitch = rows * (int)t.tile.pitch; /* from one channel's rows to the next's */
    Word *const own = shared + (threadIdx.x % WARP >> t.tile.cells_shift) * (int)t.tile.pitch;
    const bool valid = tile.y < (int)t.height;

    if (valid) {
#pragma unroll
        for (int n = 0; n < S::CELLS; n++) {
            int k = tile.x + n * lanes;
            if (t.reverse)
                move_cell<S, true, INSIDE>(t, tile, x0 + k * S::B, own + k * S::DST_WORDS, row_pitch);
            else
                move_cell<S, false, INSIDE>(t, tile, x0 + k * S::B, own + k * S::DST_WORDS, row_pitch);
        }
        for (int k = tile.x + cells; k < cells + lead; k += lanes) {
            if (t.reverse)
                move_cell<S, true, INSIDE>(t, tile, x0 + k * S::B, own + k * S::DST_WORDS, row_pitch);
            else
                move_cell<S, false, INSIDE>(t, tile, x0 + k * S::B, own + k * S::DST_WORDS, row_pitch);
        }
    }
    __syncwarp();
    if (!valid)
        return;
#pragma unroll
    for (int r = 0; r < S::DST_ROWS; r++) {
        const uint64_t row = tile.place.dst + (uint64_t)(tile.y * t.dst.pitch + r * t.dst.plane);
        const int64_t offset = (int64_t)tile.place.tx * (cells * S::B) * S::DST_STEP;
        const int64_t left = (int64_t)t.width * S::DST_STEP - offset; /* of the row, from the tile's own on */
        const int ahead = (int)(row + (uint64_t)offset) & (int)(t.tile.skew - 1);
        const int byte = lead * S::B * S::DST_STEP - ahead, own_bytes = cells * S::B * S::DST_STEP;
        const Word *from = own + r * row_pitch + (byte >> 2) + tile.x;
        const int shift = byte << 3, low = tile.place.tx ? 0 : ahead;
        const int end = left + ahead < own_bytes ? (int)left + ahead : own_bytes;
        const uint64_t at = row + (uint64_t)(offset - ahead);
#pragma unroll
        for (int n = 0; n < S::CELLS * S::DST_WORDS; n++) {
            Word v[2];
            tile_get<1>(from + n * lanes, v, "read");
            if (S::ANY) {
                tile_get<1>(from + n * lanes + 1, v + 1, "read next");
                v[0] = __funnelshift_r(v[0], v[1], shift);
            }
            const int p = 4 * (tile.x + n * lanes);
            if (INSIDE || (p >= low && p + 4 <= end))
                store_words<1>(at + (uint64_t)p, v);
            else
                store_word_within(at, p, v[0], low, end);
        }
    }
}

template <class S> TT_DEVICE void move_rows(const TtTask &t, uint32_t block, Word *shared) {
    WarpTile tile;
    if (!warp_tile_of(t, block, &tile))
        return;
    const int rows = WARP >> t.tile.cells_shift, span = (S::CELLS << t.tile.cells_shift) * S::B;
    Word *const own = shared + threadIdx.x / WARP * (unsigned)(S::DST_ROWS * rows) * t.tile.pitch;
    const int x0 = tile.place.tx * span - (int)t.tile.lead;
    const int margin = 4; /* pixels, so at least as many bytes */
    if (x0 >= margin && x0 + (int)t.tile.lead + span + margin <= (int)t.width)
        move_warp_tile<S, true>(t, tile, own);
    else
        move_warp_tile<S, false>(t, tile, own);
}

#endif
