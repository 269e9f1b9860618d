/* SPDX-License-Identifier: MIT
 *
 * Rows become columns: the padded tile that serves the four transposing orientations, through signed pitches.
 *
 * A thread loads a cell (tile_layout.h) from its rows of the source, turns it in registers, and writes it to
 * the tile, which lies in the order of the destination. When all have, warps write the tile's rows out.
 *
 * What limits it on a fast card is the number of instructions, so the tile's shape is known to the compiler:
 * addresses in a tile are constants beside one register, and rows are reached by adding pitches.
 */
#ifndef TT_TURN_CUH
#define TT_TURN_CUH

#include "device.cuh"
#include "kernels.h"

template <int BYTES_, int SRC_, int DST_, int WIDTH_, int HEIGHT_, int THREADS_, int BATCH_, int UNROLL_,
          bool SRC_PLANES_, bool DST_PLANES_>
struct TurnShape {
    static constexpr int BYTES = BYTES_, SRC = SRC_, DST = DST_; /* alignment: kernels.h */
    static constexpr int WIDTH = WIDTH_, HEIGHT = HEIGHT_, THREADS = THREADS_, BATCH = BATCH_,
                         UNROLL = UNROLL_;
    static constexpr bool SRC_PLANES = SRC_PLANES_,
                          DST_PLANES = DST_PLANES_; /* rows may be of several planes */
    static constexpr int B = tt_cell_pixels(BYTES), W = tt_cell_words(BYTES), ACCESS = tt_cell_access(BYTES);
    static constexpr int WARPS = THREADS / WARP;
    static constexpr int LEAD = TT_TURN_LEAD(BYTES, DST);
    static constexpr int GROUPS = (WIDTH + LEAD) / B; /* cells across the source's rows */
    static constexpr int PITCH = TT_TURN_PITCH(BYTES, DST, WIDTH);
    static_assert(WIDTH * BYTES % TT_SECTOR == 0, "all tiles of a row reach back equally far");
};

/* Where a block works: its image's row 0 on both sides, and the tile. x0 is in the lead of the tile. */
struct TurnPlace {
    uint64_t src, dst;
    int tx, x0, y0;
};

/* ---- Reading ----------------------------------------------------------------------------------------- */

/* What reading has to look at: nothing in a tile that is whole, with all that is read for the sake of its
 * alignment; which rows and columns there are; or every word, next to where the image begins and ends. */
enum Look { AT_NOTHING, AT_SIDES, AT_WORDS };

template <int LOOK, int N, int ACCESS>
TT_DEVICE void read_run(const TtTask &t, const TurnPlace &at, uint64_t row, int64_t row_bytes, uint64_t word,
                        Word *v) {
    if (LOOK == AT_WORDS)
        load_run_within<N, ACCESS>(word, v, Readable(t, at.src, row, row_bytes));
    else
        load_run<N, ACCESS>(word, v);
}

/* How a block's warps share out the tile: a warp takes patches of ALONG lanes along the source's rows by
 * ACROSS groups of rows, with CELLS cells a lane, and steps across the rows. */
template <class S, int ALONG, int ACROSS, int CELLS> struct Patches {
    static constexpr int COLUMNS = S::HEIGHT / (S::B * CELLS * ALONG); /* of patches, along the rows */
    static constexpr int STEP = S::WARPS / COLUMNS * ACROSS; /* groups from a warp's patch to its next */
    static constexpr int STEPS = (S::GROUPS + STEP - 1) / STEP;
    static constexpr bool ONE_ROW_A_WARP = ACROSS == 1; /* of cells */
    static_assert(S::HEIGHT % (S::B * CELLS * ALONG) == 0 && S::WARPS % COLUMNS == 0, "whole patches");

    int k, g;   /* this lane's place along the rows, in lanes, and its first group */
    int k_warp; /* the place of the warp's first lane */

    TT_DEVICE_METHOD Patches() {
        const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        k_warp = warp % COLUMNS * ALONG;
        k = k_warp + (ACROSS == 1 ? lane : lane % ALONG);
        g = warp / COLUMNS * ACROSS + (ACROSS == 1 ? 0 : lane / ALONG);
    }

    /* Whether step n has a cell for this lane. */
    TT_DEVICE_METHOD bool has(int n) const {
        return S::GROUPS % STEP ? n < STEPS && g + n * STEP < S::GROUPS : n < STEPS;
    }
};

/* Walks down the source's rows, by pitches or from plane to plane. */
template <class S> struct SourceRows {
    uint64_t at;
    uint32_t channel;

    /* Row x. `first` is the row that this lane starts with, `further` rows before x. */
    TT_DEVICE_METHOD SourceRows(const TtTask &t, const TurnPlace &place, uint64_t first, int x, int further) {
        channel = 0;
        at = first + (uint64_t)(further * t.src.pitch);
        if (S::SRC_PLANES) {
            const uint32_t row = divide((uint32_t)x, t.src.channels);
            channel = (uint32_t)x - row * t.src.channels.divisor;
            at = place.src + (uint64_t)(row * t.src.pitch + channel * t.src.plane);
        }
    }

    TT_DEVICE_METHOD void next(const TtTask &t) {
        if (S::SRC_PLANES && ++channel < t.src.channels.divisor) {
            at += (uint64_t)t.src.plane;
        } else {
            at += (uint64_t)(t.src.pitch - (S::SRC_PLANES ? (t.src.channels.divisor - 1) * t.src.plane : 0));
            channel = 0;
        }
    }
};

/* Row `row` of the turned cell. */
template <int BYTES> TT_DEVICE void turned_row(const Word *cell, int row, Word *out) {
    constexpr int B = tt_cell_pixels(BYTES), W = tt_cell_words(BYTES);
#pragma unroll
    for (int w = 0; w < W; w++) {
        int at[4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int byte = 4 * w + i;
            at[i] = byte / BYTES * (4 * W) + row * BYTES + byte % BYTES;
        }
        out[w] = B == 1 ? cell[w] : pick(cell, at[0], at[1], at[2], at[3]);
    }
}

/* The same for cells of one word a row, with a row that only the lane knows. */
template <int B> TT_DEVICE Word turned_word(const Word *cell, int row) {
    if (B == 2)
        return __byte_perm(cell[0], cell[1 % B], row ? 0x7632 : 0x5410);
    const Word select = 0x40 + 0x11 * row;
    return __byte_perm(__byte_perm(cell[0], cell[1 % B], select),
                       __byte_perm(cell[2 % B], cell[3 % B], select), 0x5410);
}

/* Cell by cell. In the tile the 32 cells that a warp takes along a row would meet only every B-th bank when
 * they all write their first row, then all their second: so either the warp takes 32 / B along and B across,
 * or, where choosing a row by lane is cheap, each B-th part of the warp begins with another row.
 *
 * A word that has to be shifted needs the next one too. Where lanes are side by side it is the next lane's,
 * and the last lane is there only to give it: so much is a second load worth. */
template <class S, int LOOK> TT_DEVICE void read_cells(const TtTask &t, const TurnPlace &at, Word *tile) {
    constexpr int B = S::B, W = S::W;
    constexpr bool SHIFT = S::SRC == TT_ANY, ROTATE = W == 1 && B > 1, SHARE = SHIFT && ROTATE;
    constexpr int LOADED = W + (SHIFT && !SHARE);
    typedef Patches<S, SHARE ? WARP - 1 : ROTATE ? WARP : WARP / B, ROTATE ? 1 : B, 1> P;
    const P patch;
    const int64_t column = (int64_t)at.y0 * S::BYTES + 4 * W * patch.k;
    const int64_t row_bytes = (int64_t)t.height * S::BYTES;
    const int first_row = threadIdx.x % WARP / (WARP / B);
    const uint64_t first = at.src + (uint64_t)((at.x0 + B * patch.g) * t.src.pitch);
    Word *const to = tile + B * patch.k * S::PITCH + patch.g * W;
    /* A lane may be there for its neighbour alone. */
    const bool in_row = LOOK == AT_NOTHING || column < row_bytes + (SHARE ? 4 : 0);
    if (LOOK != AT_NOTHING && (int64_t)at.y0 * S::BYTES + 4 * W * patch.k_warp >= row_bytes)
        return;

#pragma unroll(LOOK == AT_NOTHING ? S::UNROLL : 1)
    for (int n0 = 0; n0 < P::STEPS; n0 += S::BATCH) {
        Word v[S::BATCH][B][LOADED], shift[S::BATCH][B];
#pragma unroll
        for (int m = 0; m < S::BATCH; m++) {
            const int n = n0 + m;
            if (!patch.has(n))
                continue;
            const int x = at.x0 + B * (patch.g + n * P::STEP);
            SourceRows<S> row(t, at, first, x, B * P::STEP * n);
#pragma unroll
            for (int b = 0; b < B; b++, row.next(t)) {
                const uint64_t p = row.at + (uint64_t)column, word = SHIFT ? p & ~3ull : p;
                shift[m][b] = (Word)p << 3;
                if (LOOK == AT_NOTHING || (in_row && x + b >= 0 && x + b < (int)t.width))
                    read_run<LOOK, LOADED, SHIFT ? 1 : S::ACCESS>(t, at, row.at, row_bytes, word, v[m][b]);
            }
        }
#pragma unroll
        for (int m = 0; m < S::BATCH; m++) {
            const int n = n0 + m;
            if (!patch.has(n))
                continue;
            if (LOOK != AT_NOTHING && P::ONE_ROW_A_WARP) {
                const int x = at.x0 + B * (patch.g + n * P::STEP);
                if (x <= -B || x >= (int)t.width)
                    continue;
            }
            Word cell[B * W];
#pragma unroll
            for (int b = 0; b < B; b++)
#pragma unroll
                for (int w = 0; w < W; w++) {
                    cell[b * W + w] = v[m][b][w];
                    if (SHARE)
                        cell[b] = __funnelshift_r(v[m][b][0], __shfl_down_sync(0xffffffff, v[m][b][0], 1),
                                                  shift[m][b]);
                    else if (SHIFT)
                        cell[b * W + w] =
                            __funnelshift_r(v[m][b][w], v[m][b][w + 1 < LOADED ? w + 1 : w], shift[m][b]);
                }
            if (SHARE && threadIdx.x % WARP == WARP - 1)
                continue;
#pragma unroll
            for (int i = 0; i < B; i++) {
                const int row = ROTATE ? (i + first_row) % B : i;
                Word out[W];
                if (ROTATE)
                    out[0] = turned_word<B>(cell, row);
                else
                    turned_row<S::BYTES>(cell, row, out);
                tile_put<W, S::ACCESS>(to + row * S::PITCH + n * P::STEP * W, out, "write");
            }
        }
    }
}

/* In chunks of 16 bytes: several pixels of 4 or 8 bytes, or one of 16. 8 lanes along and 4 across meet every
 * bank once, also with two words a pixel. */
template <class S, int LOOK> TT_DEVICE void read_chunks(const TtTask &t, const TurnPlace &at, Word *tile) {
    constexpr int W = S::W, CELLS = 4 / W;
    typedef Patches<S, 8, 4, CELLS> P;
    const P patch;
    const int64_t column = (int64_t)at.y0 * S::BYTES + 16 * patch.k;
    const int64_t row_bytes = (int64_t)t.height * S::BYTES;
    const uint64_t first = at.src + (uint64_t)((at.x0 + patch.g) * t.src.pitch);
    const bool in_row = LOOK == AT_NOTHING || column < row_bytes;
    Word *const to = tile + CELLS * patch.k * S::PITCH + patch.g * W;

#pragma unroll(LOOK == AT_NOTHING ? S::UNROLL : 1)
    for (int n0 = 0; n0 < P::STEPS; n0 += S::BATCH) {
        Word v[S::BATCH][4];
#pragma unroll
        for (int m = 0; m < S::BATCH; m++) {
            const int n = n0 + m, x = at.x0 + patch.g + n * P::STEP;
            if (!patch.has(n))
                continue;
            const uint64_t row = SourceRows<S>(t, at, first, x, P::STEP * n).at, p = row + (uint64_t)column;
            if (LOOK == AT_NOTHING || (in_row && x >= 0 && x < (int)t.width))
                read_run<LOOK, 4, 4>(t, at, row, row_bytes, p, v[m]);
        }
#pragma unroll
        for (int m = 0; m < S::BATCH; m++) {
            const int n = n0 + m;
            if (!patch.has(n))
                continue;
#pragma unroll
            for (int c = 0; c < CELLS; c++)
                tile_put<W, S::ACCESS>(to + c * S::PITCH + n * P::STEP * W, v[m] + c * W, "write");
        }
    }
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

/* The part of row y of the tile that this block writes. A tile's part of a row starts at the last sector of
 * memory before the tile's own bytes: so every part but the ends of the row is of whole sectors, which tiles
 * that read a few pixels in front of their own (LEAD) pay for. */
template <class S> struct Part {
    uint64_t at;     /* where the part starts */
    int low, end;    /* where the row does and ends, in bytes from there */
    int word, shift; /* the start's place in the tile's row, in words and bits */

    TT_DEVICE_METHOD Part(const TtTask &t, const TurnPlace &place, uint64_t row) {
        const int64_t offset = (int64_t)place.tx * (S::WIDTH * S::BYTES),
                      row_bytes = (int64_t)t.width * S::BYTES;
        const int ahead = S::LEAD ? (int)(row + (uint64_t)offset) & (TT_SECTOR - 1) : 0;
        const int from = S::LEAD * S::BYTES - ahead;
        at = row + (uint64_t)(offset - ahead);
        low = place.tx ? 0 : ahead;
        end = row_bytes - offset < S::WIDTH * S::BYTES ? (int)(row_bytes - offset) + ahead
                                                       : S::WIDTH * S::BYTES;
        word = from >> 2;
        shift = from << 3;
    }
};

/* The address of row y0 + y. */
template <class S>
TT_DEVICE uint64_t destination_row(const TtTask &t, const TurnPlace &at, uint64_t first, int y1, int rows) {
    if (S::DST_PLANES)
        return row_at(t.dst, at.dst, at.y0 + y1 + rows);
    return first + (uint64_t)(rows * t.dst.pitch);
}

/* In chunks of 16 bytes, 8 lanes a row, or 32 where a pixel is a chunk, which has no conflicts either: for
 * rows that start on sectors, and tiles as wide as whole lines. */
template <class S, bool INSIDE>
TT_DEVICE void write_chunks(const TtTask &t, const TurnPlace &at, const Word *tile) {
    constexpr int CHUNKS = S::WIDTH * S::BYTES / 16;
    constexpr int LANES = S::ACCESS == 4 && CHUNKS % WARP == 0 ? WARP : 8, ROWS = S::WARPS * (WARP / LANES);
    static_assert(CHUNKS % LANES == 0, "whole chunks");
    const int lane = threadIdx.x % LANES, y1 = threadIdx.x / LANES;
    const uint64_t first = at.dst + (uint64_t)((at.y0 + y1) * t.dst.pitch);
#pragma unroll 4
    for (int n = 0; n < (S::HEIGHT + ROWS - 1) / ROWS; n++) {
        const int y = y1 + n * ROWS;
        if ((S::HEIGHT % ROWS && y >= S::HEIGHT) || (!INSIDE && at.y0 + y >= (int)t.height))
            return;
        const Part<S> part(t, at, destination_row<S>(t, at, first, y1, n * ROWS));
        const Word *from = tile + y * S::PITCH + lane * 4;
#pragma unroll
        for (int c = 0; c < CHUNKS; c += LANES) {
            Word v[4];
            const int p = 16 * (c + lane);
#pragma unroll
            for (int i = 0; i < 4; i += S::ACCESS)
                tile_get<S::ACCESS>(from + 4 * c + i, v + i, "read");
            if (INSIDE || p + 16 <= part.end)
                store_words<4>(part.at + p, v);
            else
#pragma unroll
                for (int i = 0; i < 4; i++)
                    store_word_within(part.at, p + 4 * i, v[i], part.low, part.end);
        }
    }
}

/* In words, a warp a row, for any alignment. */
template <class S, bool INSIDE>
TT_DEVICE void write_words(const TtTask &t, const TurnPlace &at, const Word *tile) {
    constexpr bool SHIFT = S::DST == TT_ANY;
    constexpr int WORDS = S::WIDTH * S::BYTES / 4;
    const int lane = threadIdx.x % WARP, y1 = threadIdx.x / WARP;
    const uint64_t first = at.dst + (uint64_t)((at.y0 + y1) * t.dst.pitch);
#pragma unroll 4
    for (int n = 0; n < (S::HEIGHT + S::WARPS - 1) / S::WARPS; n++) {
        const int y = y1 + n * S::WARPS;
        if ((S::HEIGHT % S::WARPS && y >= S::HEIGHT) || (!INSIDE && at.y0 + y >= (int)t.height))
            return;
        const Part<S> part(t, at, destination_row<S>(t, at, first, y1, n * S::WARPS));
        const Word *from = tile + y * S::PITCH + part.word + lane;
#pragma unroll
        for (int c = 0; c < WORDS; c += WARP) {
            if (WORDS % WARP && c + WARP > WORDS && c + lane >= WORDS)
                continue;
            Word v[2];
            tile_get<1>(from + c, v, c + WARP > WORDS ? "read end" : "read");
            if (SHIFT) {
                tile_get<1>(from + c + 1, v + 1, c + WARP > WORDS ? "read next end" : "read next");
                v[0] = __funnelshift_r(v[0], v[1], part.shift);
            }
            const int p = 4 * (c + lane);
            if (INSIDE)
                store_words<1>(part.at + p, v);
            else
                store_word_within(part.at, p, v[0], part.low, part.end);
        }
    }
}

/* Behind each row of the tile what the next one begins with, so that no word is of two rows. */
template <class S> TT_DEVICE void append_next_row(const TtTask &t, Word *tile, int rows, bool upward) {
    Word *const first = tile + S::LEAD * S::BYTES / 4;
    for (int y = (int)threadIdx.x; y < rows; y += S::THREADS) {
        const int next = upward ? y - 1 : y + 1;
        Byte *const end = (Byte *)(first + y * S::PITCH) + t.units.divisor;
        Word v;
        if (next < 0 || next >= rows)
            continue;
        tile_get<1>(first + next * S::PITCH, &v, "append");
#pragma unroll
        for (int i = 0; i < 3; i++)
            end[i] = (Byte)(v >> (8 * i));
    }
    __syncthreads();
}

/* Rows that follow each other without a gap, and of which the tile has all, as one run of words: in rows of a
 * few words the ends would cost more than the rest. */
template <class S> TT_DEVICE void write_run(const TtTask &t, const TurnPlace &at, Word *tile) {
    const int row_bytes = (int)t.units.divisor, rows = smaller(S::HEIGHT, (int)t.height - at.y0);
    const bool upward = t.dst.pitch < 0;
    const uint64_t run = at.dst + (uint64_t)((at.y0 + (upward ? rows - 1 : 0)) * t.dst.pitch);
    const int ahead = (int)run & 3, bytes = rows * row_bytes, step = upward ? -S::PITCH : S::PITCH;
    const Word *const first = tile + S::LEAD * S::BYTES / 4 + (upward ? (rows - 1) * S::PITCH : 0);
    if (S::DST == TT_ANY)
        append_next_row<S>(t, tile, rows, upward);
#pragma unroll 4
    for (int p = 4 * (int)threadIdx.x - ahead; p < bytes; p += 4 * S::THREADS) {
        const int row = (int)divide((uint32_t)(p < 0 ? 0 : p), t.units), within = p - row * row_bytes;
        const Word *from = first + row * step + (within >> 2);
        Word v[2];
        tile_get<1>(from, v, "read run");
        if (S::DST == TT_ANY) {
            tile_get<1>(from + 1, v + 1, "read run next");
            v[0] = __funnelshift_r(v[0], v[1], (Word)within << 3);
        }
        store_word_within(run, p, v[0], 0, bytes);
    }
}

/* ---- A tile ------------------------------------------------------------------------------------------ */

template <class S, int LOOK> TT_DEVICE void turn_tile(const TtTask &t, const TurnPlace &at, Word *tile) {
    constexpr bool INSIDE = LOOK == AT_NOTHING;
    if constexpr (S::SRC == TT_ALIGNED)
        read_chunks<S, LOOK>(t, at, tile);
    else
        read_cells<S, LOOK>(t, at, tile);
    __syncthreads();
    if (!INSIDE && t.units.divisor)
        write_run<S>(t, at, tile);
    else if constexpr (S::DST == TT_ALIGNED && S::WIDTH * S::BYTES % 128 == 0)
        write_chunks<S, INSIDE>(t, at, tile);
    else
        write_words<S, INSIDE>(t, at, tile);
}

/* Whether all that a tile at an edge may read lies in an image without gaps, if not in its own part of it. */
template <class S> TT_DEVICE bool reads_within(const TtTask &t, const TurnPlace &at) {
    const int channels = S::SRC_PLANES ? (int)t.src.channels.divisor : 1, margin = 32;
    const int from = at.x0 < 0 ? 0 : at.x0, to = smaller(at.x0 + S::LEAD + S::WIDTH, (int)t.width) - 1;
    const int64_t first = (S::SRC_PLANES ? divide((uint32_t)from, t.src.channels) : from) * t.src.pitch;
    const int64_t last = (S::SRC_PLANES ? divide((uint32_t)to, t.src.channels) : to) * t.src.pitch;
    const int64_t across = (channels - 1) * t.src.plane;
    const int64_t low = (first < last ? first : last) + (across < 0 ? across : 0) + at.y0 * (int64_t)S::BYTES;
    const int64_t end = (first < last ? last : first) + (across > 0 ? across : 0) +
                        smaller(at.y0 + S::HEIGHT, (int)t.height) * (int64_t)S::BYTES;
    return low >= t.src_low + margin && end + margin <= t.src_end;
}

template <class S> TT_DEVICE void turn(const TtTask &t, uint32_t block, Word *tile) {
    const Place place = place_of(t, block);
    const TurnPlace at = {place.src, place.dst, place.tx, place.tx * S::WIDTH - S::LEAD,
                          place.ty * S::HEIGHT};
    const int before = S::SRC == TT_ANY ? 1 : 0,
              behind = S::SRC == TT_ANY ? 4 : 0; /* pixels, so at least bytes */
    if (at.x0 >= 0 && at.x0 + S::LEAD + S::WIDTH <= (int)t.width && at.y0 >= before &&
        at.y0 + S::HEIGHT + behind <= (int)t.height)
        turn_tile<S, AT_NOTHING>(t, at, tile);
    else if (reads_within<S>(t, at))
        turn_tile<S, AT_SIDES>(t, at, tile);
    else
        turn_tile<S, AT_WORDS>(t, at, tile);
}

#endif
