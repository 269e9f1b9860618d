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
    const Readable in(t, tile.place.src, src, end);
    Word v[CHUNKS][8];
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        const int at = first + 16 * n * lanes;
        if (at >= end)
            continue;
        /* The 16 or 32 aligned bytes around the source's may be of another row. */
        const uint64_t p = from + (uint64_t)(int64_t)(n * step - beside);
        load_run_within<4, 4>(p, v[n], in);
        if (!ALIKE)
            load_run_within<4, 4>(p + 16, v[n] + 4, in);
    }
    if (!ALIKE)
        shift_chunks<CHUNKS>(v, beside);
#pragma unroll
    for (int n = 0; n < CHUNKS; n++) {
        const int at = first + 16 * n * lanes;
        if (REVERSE)
            reverse_chunk<BYTES>(v[n]);
        if (at >= 0 && at + 16 <= end)
            store_words<4>(dst + (uint64_t)at, v[n]);
        else if (at < end)
#pragma unroll
            for (int i = 0; i < 4; i++)
                store_word_within(dst, at + 4 * i, v[n][i], 0, end);
    }
}

/* ---- Short rows, backward ---------------------------------------------------------------------------- */

/* The word at any byte of the tile. */
TT_DEVICE Word tile_word(const Word *tile, int at) {
    Word v[2];
    tile_get<1>(tile + (at >> 2), v, "read");
    tile_get<1>(tile + (at >> 2) + 1, v + 1, "read next");
    return __funnelshift_r(v[0], v[1], (Word)at << 3);
}

/* Word `within` bytes into a row that begins at `row` in the tile, read backward: of pixels of this row and,
 * at its end, of the next one. */
template <int BYTES> TT_DEVICE Word reversed_word(const Word *tile, int row, int within, int row_bytes) {
    const int last = row + row_bytes - BYTES; /* the row's last pixel */
    if (BYTES == 1) {
        const int left = row_bytes - within;
        Word v = tile_word(tile, last - 3 - within);
        if (left < 4) {
            const Word other = tile_word(tile, last - 3 - within + 2 * row_bytes);
            v = (v & ~0u << 8 * (4 - left)) | (other & ~(~0u << 8 * (4 - left)));
        }
        return __byte_perm(v, 0, 0x0123);
    }
    if (BYTES == 3) {
        const int pixel = (within + 3) / 3 - 1, beside = within - 3 * pixel; /* within may be -1 to -3 */
        const int at = last - 3 * pixel, next = 3 * pixel + 3 < row_bytes ? at - 3 : last + row_bytes;
        return __byte_perm(tile_word(tile, at), tile_word(tile, next),
                           beside == 0   ? 0x4210
                           : beside == 1 ? 0x5421
                                         : 0x6542);
    }
    constexpr int UNIT = TT_RUN_UNIT(BYTES);
    Word v = 0;
#pragma unroll
    for (int i = 0; i < 4; i += UNIT) {
        const bool same = within + i < row_bytes;
        const int to = within + i - (same ? 0 : row_bytes); /* place in its row */
        v |= tile_unit<UNIT>(tile, last + (same ? 0 : row_bytes) + to - to / BYTES * (2 * BYTES)) << (8 * i);
    }
    return v;
}

/* Short rows that follow each other without a gap on both sides: some whole rows at once, which are one run
 * of bytes in memory, through a tile that is their image. Their ends, which fall anywhere in words, so cost
 * nothing in memory; each pixel is found in the tile. */
template <int BYTES> TT_DEVICE void reverse_run(const TtTask &t, uint32_t block, Word *tile) {
    const Place place = place_of(t, block);
    const int row_bytes = (int)t.units.divisor, y = place.ty * (int)t.tile.height;
    const int bytes = smaller((int)t.tile.height, (int)t.height - y) * row_bytes;
    const uint64_t src = place.src + (uint64_t)((int64_t)y * row_bytes),
                   dst = place.dst + (uint64_t)((int64_t)y * row_bytes);
    const Readable in(t, place.src, src, bytes);
    const int beside = (int)src & 15, ahead = (int)dst & 3;
    const bool inside = src - 16 >= in.low && src + (uint64_t)bytes + 16 <= in.end;
    constexpr int STEPS = TT_RUN_TILE / (16 * TT_ROWS_THREADS);
    Word v[STEPS][4];
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        const int p = 16 * (n * TT_ROWS_THREADS + (int)threadIdx.x);
        if (p >= beside + bytes)
            continue;
        if (inside)
            load_words<4>(src - (uint64_t)beside + (uint64_t)p, v[n]);
        else
            load_run_within<4, 4>(src - (uint64_t)beside + (uint64_t)p, v[n], in);
    }
#pragma unroll
    for (int n = 0; n < STEPS; n++) {
        const int p = 16 * (n * TT_ROWS_THREADS + (int)threadIdx.x);
        if (p < beside + bytes)
            tile_put<4, 4>(tile + TT_RUN_MARGIN / 4 + p / 4, v[n], "write");
    }
    __syncthreads();
#pragma unroll 2
    for (int p = 4 * (int)threadIdx.x - ahead; p < bytes; p += 4 * TT_ROWS_THREADS) {
        const int row = (int)divide((uint32_t)(p < 0 ? 0 : p), t.units) * row_bytes;
        const Word v = reversed_word<BYTES>(tile, TT_RUN_MARGIN + beside + row, p - row, row_bytes);
        store_word_within(dst, p, v, 0, bytes);
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
    static constexpr int CELLS = CELLS_;                 /* of a lane */
    static constexpr bool SHARE = ANY && SRC_WORDS == 1; /* share_words */
    static constexpr int LOADED = SRC_WORDS + (ANY && !SHARE),
                         ROOM = SRC_WORDS + ANY; /* words, of a cell's row */
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

/* A lane's rows of the source. */
template <class S> struct CellRows {
    uint64_t image, first[S::SRC_ROWS];

    TT_DEVICE_METHOD CellRows(const TtTask &t, const WarpTile &tile) {
#pragma unroll
        for (int r = 0; r < S::SRC_ROWS; r++)
            first[r] = tile.place.src + (uint64_t)(tile.y * t.src.pitch + r * t.src.plane);
        image = tile.place.src;
    }
};

/* Where in row r the pixels begin that become x to x + B - 1: they may lie in part outside the row. */
template <class S, bool REVERSE>
TT_DEVICE uint64_t cell_at(const TtTask &t, const CellRows<S> &rows, int r, int x) {
    const int from = REVERSE ? (int)t.width - S::B - x : x;
    return rows.first[r] + (uint64_t)((int64_t)from * S::SRC_STEP);
}

template <class S, bool REVERSE, bool READ_INSIDE>
TT_DEVICE void load_cell(const TtTask &t, const CellRows<S> &rows, int x, Word (*v)[S::ROOM]) {
#pragma unroll
    for (int r = 0; r < S::SRC_ROWS; r++) {
        const uint64_t word = cell_at<S, REVERSE>(t, rows, r, x) & ~3ull;
        if (READ_INSIDE)
            load_run<S::LOADED, 1>(word, v[r]);
        else
            load_run_within<S::LOADED, 1>(
                word, v[r], Readable(t, rows.image, rows.first[r], (int64_t)t.width * S::SRC_STEP));
    }
}

/* A cell of one word a row that has to be shifted needs the next word too, which is another lane's: the next
 * lane's, or the first's of the next step. Read backward the lane's own word is the one behind, and the next
 * lane's the one before. */
template <class S, bool REVERSE>
TT_DEVICE void share_words(Word (*v)[S::ROOM], const Word (*next)[S::ROOM], int lanes) {
    const int lane = threadIdx.x % WARP, within = lane & (lanes - 1);
#pragma unroll
    for (int r = 0; r < S::SRC_ROWS; r++) {
        const Word shown = within ? v[r][0] : next[r][0];
        const Word other = __shfl_sync(0xffffffff, shown, lane - within + ((within + 1) & (lanes - 1)));
        v[r][1] = REVERSE ? v[r][0] : other;
        v[r][0] = REVERSE ? other : v[r][0];
    }
}

template <class S, bool REVERSE>
TT_DEVICE void put_cell(const TtTask &t, const CellRows<S> &rows, int x, const Word (*v)[S::ROOM], Word *to,
                        int row_pitch) {
    Word cell[S::SRC_ROWS * S::SRC_WORDS];
#pragma unroll
    for (int r = 0; r < S::SRC_ROWS; r++) {
        const Word shift = (Word)cell_at<S, REVERSE>(t, rows, r, x) << 3;
#pragma unroll
        for (int w = 0; w < S::SRC_WORDS; w++)
            cell[r * S::SRC_WORDS + w] = S::ANY ? __funnelshift_r(v[r][w], v[r][w + S::ANY], shift) : v[r][w];
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
/* A lane's cells are all under way before the first is turned: what they wait for is memory. */
template <class S, bool REVERSE, bool READ_INSIDE, bool INSIDE>
TT_DEVICE void read_cells_along(const TtTask &t, const WarpTile &tile, int x0, Word *own, int row_pitch) {
    constexpr int BEFORE = S::SHARE && REVERSE ? S::B : 0, MORE = S::SHARE ? S::B : 0;
    const int lanes = 1 << t.tile.cells_shift, all = lanes * S::CELLS + (int)t.tile.lead / S::B;
    const CellRows<S> rows(t, tile);
    const bool valid = tile.y < (int)t.height;
    Word v[S::CELLS + 1][S::SRC_ROWS][S::ROOM];
#pragma unroll
    for (int n = 0; n <= S::CELLS; n++) {
        const int k = tile.x + n * lanes, x = x0 + k * S::B - BEFORE;
        if ((n < S::CELLS || k < all + S::SHARE) && valid &&
            (INSIDE || (x > -S::B - MORE && x < (int)t.width + MORE)))
            load_cell<S, REVERSE, READ_INSIDE>(t, rows, x, v[n]);
    }
#pragma unroll
    for (int n = 0; n <= S::CELLS; n++) {
        const int k = tile.x + n * lanes, x = x0 + k * S::B;
        if (S::SHARE)
            share_words<S, REVERSE>(v[n], v[n < S::CELLS ? n + 1 : n], lanes);
        if ((n < S::CELLS || k < all) && (INSIDE || (x > -S::B && x < (int)t.width)))
            put_cell<S, REVERSE>(t, rows, x, v[n], own + k * S::DST_WORDS, row_pitch);
    }
}

template <class S, bool INSIDE>
TT_DEVICE void write_cells_along(const TtTask &t, const WarpTile &tile, const Word *own, int row_pitch) {
    const int lanes = 1 << t.tile.cells_shift, own_bytes = lanes * S::CELLS * S::B * S::DST_STEP;
    const int64_t offset = (int64_t)tile.place.tx * own_bytes;
    const int64_t left = (int64_t)t.width * S::DST_STEP - offset; /* of the row, from the tile's own on */
#pragma unroll
    for (int r = 0; r < S::DST_ROWS; r++) {
        const uint64_t row = tile.place.dst + (uint64_t)(tile.y * t.dst.pitch + r * t.dst.plane);
        const int ahead = (int)(row + (uint64_t)offset) & (int)(t.tile.skew - 1);
        const int byte = (int)t.tile.lead * S::DST_STEP - ahead;
        const Word *from = own + r * row_pitch + (byte >> 2) + tile.x;
        const int shift = byte << 3, low = tile.place.tx ? 0 : ahead;
        const int end = left + ahead < own_bytes ? (int)left + ahead : own_bytes;
        const uint64_t at = row + (uint64_t)(offset - ahead);
#pragma unroll
        for (int n = 0; n < S::CELLS * S::DST_WORDS; n++) {
            const int p = 4 * (tile.x + n * lanes);
            if (!INSIDE && p >= end)
                break;
            Word v[2];
            tile_get<1>(from + n * lanes, v, "read");
            if (S::ANY) {
                tile_get<1>(from + n * lanes + 1, v + 1, "read next");
                v[0] = __funnelshift_r(v[0], v[1], shift);
            }
            if (INSIDE)
                store_words<1>(at + (uint64_t)p, v);
            else
                store_word_within(at, p, v[0], low, end);
        }
    }
}

template <class S, bool READ_INSIDE, bool INSIDE>
TT_DEVICE void move_warp_tile(const TtTask &t, const WarpTile &tile, int x0, Word *shared) {
    const int rows = WARP >> t.tile.cells_shift, row_pitch = rows * (int)t.tile.pitch;
    Word *const own = shared + (threadIdx.x % WARP >> t.tile.cells_shift) * (int)t.tile.pitch;
    if (t.reverse)
        read_cells_along<S, true, READ_INSIDE, INSIDE>(t, tile, x0, own, row_pitch);
    else
        read_cells_along<S, false, READ_INSIDE, INSIDE>(t, tile, x0, own, row_pitch);
    __syncwarp();
    if (tile.y < (int)t.height)
        write_cells_along<S, INSIDE>(t, tile, own, row_pitch);
}

/* Whether all that a warp may read at the ends of its rows lies in an image without gaps, if not in them. */
template <class S> TT_DEVICE bool reads_within(const TtTask &t, const WarpTile &tile) {
    const int rows = WARP >> t.tile.cells_shift, from = tile.place.ty * rows;
    const int64_t first = from * t.src.pitch, last = (smaller(from + rows, (int)t.height) - 1) * t.src.pitch;
    const int64_t across = (S::SRC_ROWS - 1) * t.src.plane, row_bytes = (int64_t)t.width * S::SRC_STEP;
    const int margin = 8 + 2 * S::B * S::SRC_STEP;
    return (first < last ? first : last) + (across < 0 ? across : 0) - margin >= t.src_low &&
           (first < last ? last : first) + (across > 0 ? across : 0) + row_bytes + margin <= t.src_end;
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
        move_warp_tile<S, true, true>(t, tile, x0, own);
    else if (reads_within<S>(t, tile))
        move_warp_tile<S, true, false>(t, tile, x0, own);
    else
        move_warp_tile<S, false, false>(t, tile, x0, own);
}

#endif
