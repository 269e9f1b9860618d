/* SPDX-License-Identifier: MIT
 *
 * What all kernels share: which tile a block has, where rows are, words at any alignment, the tile in shared
 * memory, and how a finished tile is written.
 *
 * The code keeps to a part of CUDA C++ that a compiler for the CPU takes too, so that the tests can run these
 * very kernels without a GPU.
 */
#ifndef TT_DEVICE_CUH
#define TT_DEVICE_CUH

#include "task.h"
#include "tile_layout.h"

#define TT_DEVICE        static __device__ __forceinline__
#define TT_DEVICE_METHOD __device__ __forceinline__

typedef unsigned char Byte;
typedef unsigned int Word;

enum { WARP = 32 };

TT_DEVICE int smaller(int a, int b) {
    return a < b ? a : b;
}

TT_DEVICE uint32_t divide(uint32_t n, TtDivider by) {
    return (uint32_t)(((uint64_t)n * by.magic) >> by.shift);
}

/* ---- Where things are ------------------------------------------------------------------------------ */

/* A block's image and tile. Tiles follow each other along the destination's rows, so that the parts of
 * memory sectors that two of them write meet in the L2 cache. */
struct Place {
    uint64_t src, dst; /* row 0 of this image */
    int tx, ty;
};

TT_DEVICE Place place_of(const TtTask &t, uint32_t block) {
    Place p;
    uint32_t image = divide(block, t.tiles), tile = block - image * t.tiles.divisor;
    p.ty = (int)divide(tile, t.tiles_x);
    p.tx = (int)(tile - (uint32_t)p.ty * t.tiles_x.divisor);
    uint32_t whole = divide(image, t.parts), part = image - whole * t.parts.divisor;
    p.src = t.src.base + (uint64_t)(whole * t.src.image + part * t.src.part);
    p.dst = t.dst.base + (uint64_t)(whole * t.dst.image + part * t.dst.part);
    return p;
}

TT_DEVICE uint64_t row_at(const TtTaskRows &rows, uint64_t base, int i) {
    if (rows.channels.divisor == 1)
        return base + (uint64_t)(i * rows.pitch);
    uint32_t q = divide((uint32_t)i, rows.channels), r = (uint32_t)i - q * rows.channels.divisor;
    return base + (uint64_t)(q * rows.pitch + r * rows.plane);
}

/* Of what may be read for the sake of alignment when a row is: the whole image, if it is of one piece. */
struct Readable {
    uint64_t low, end;

    TT_DEVICE_METHOD Readable(const TtTask &t, uint64_t image, uint64_t row, int64_t row_bytes) {
        const bool gaps = t.src_low == t.src_end;
        low = gaps ? row : image + (uint64_t)t.src_low;
        end = gaps ? row + (uint64_t)row_bytes : image + (uint64_t)t.src_end;
    }
};

/* ---- Words of global memory ------------------------------------------------------------------------ */

/* N words at a multiple of their size. */
template <int N> TT_DEVICE void load_words(uint64_t at, Word *v) {
    if (N == 4) {
        uint4 q = __ldg((const uint4 *)at);
        v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
    } else if (N == 2) {
        uint2 p = __ldg((const uint2 *)at);
        v[0] = p.x, v[1] = p.y;
    } else {
        v[0] = __ldg((const Word *)at);
    }
}

TT_DEVICE Word load_word(uint64_t at) {
    Word v;
    load_words<1>(at, &v);
    return v;
}

/* The word at a multiple of 4; of its bytes those outside [low, end) are not touched and read 0. */
TT_DEVICE Word load_word_within(uint64_t at, uint64_t low, uint64_t end) {
    if (at >= low && at + 4 <= end)
        return load_word(at);
    Word v = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (at + i >= low && at + i < end)
            v |= (Word)__ldg((const Byte *)(at + i)) << (8 * i);
    return v;
}

/* N words from a multiple of ACCESS words on. */
template <int N, int ACCESS> TT_DEVICE void load_run(uint64_t at, Word *v) {
#pragma unroll
    for (int w = 0; w < N; w += ACCESS)
        load_words<ACCESS>(at + 4 * w, v + w);
}

template <int N, int ACCESS> TT_DEVICE void load_run_within(uint64_t at, Word *v, const Readable &in) {
    if (at >= in.low && at + 4 * N <= in.end) {
        load_run<N, ACCESS>(at, v);
        return;
    }
#pragma unroll
    for (int w = 0; w < N; w++)
        v[w] = load_word_within(at + 4 * w, in.low, in.end);
}

/* N words at a multiple of their size. Said to be global memory, or the compiler would keep reads of the tile
 * behind the writes before them. */
template <int N> TT_DEVICE void store_words(uint64_t at, const Word *v) {
#ifdef __CUDACC__
    if (N == 4)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v[0]), "r"(v[N > 1 ? 1 : 0]),
                     "r"(v[N > 2 ? 2 : 0]), "r"(v[N > 3 ? 3 : 0]));
    else if (N == 2)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(v[0]), "r"(v[N > 1 ? 1 : 0]));
    else
        asm volatile("st.global.b32 [%0], %1;" ::"l"(at), "r"(v[0]));
#else
    shim_check_aligned((const void *)at, 4 * N);
    memcpy((void *)at, v, 4 * N);
#endif
}

/* The bytes of the word at base + offset, a multiple of 4, that are in [low, end) from base. */
TT_DEVICE void store_word_within(uint64_t base, int offset, Word v, int low, int end) {
    if (offset >= low && offset + 4 <= end) {
        store_words<1>(base + (uint64_t)(int64_t)offset, &v);
        return;
    }
    if (offset >= end || offset + 4 <= low)
        return;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (offset + i >= low && offset + i < end)
            *(Byte *)(base + (uint64_t)(int64_t)(offset + i)) = (Byte)(v >> (8 * i));
}

/* The word made of bytes a, b, c and d of an array of words. Their places are known when compiling, so what
 * is left is one byte permutation for two words, one more for each further word, none for a whole word. */
TT_DEVICE Word pick(const Word *words, int a, int b, int c, int d) {
    const int at[4] = {a, b, c, d};
    const int own = a / 4;
    if (a % 4 == 0 && b == a + 1 && c == a + 2 && d == a + 3)
        return words[own];
    int other = own;
#pragma unroll
    for (int m = 3; m > 0; m--)
        if (at[m] / 4 != own)
            other = at[m] / 4;
    Word select = 0;
#pragma unroll
    for (int m = 0; m < 4; m++)
        select |= (Word)(at[m] / 4 == own ? at[m] % 4 : at[m] / 4 == other ? 4 + at[m] % 4 : m) << (4 * m);
    Word v = __byte_perm(words[own], words[other], select);
#pragma unroll
    for (int m = 1; m < 4; m++) {
        bool done = at[m] / 4 == own || at[m] / 4 == other;
        select = 0x3210;
#pragma unroll
        for (int n = 1; n < 4; n++) {
            if (n < m && at[n] / 4 == at[m] / 4)
                done = true;
            if (n >= m && at[n] / 4 == at[m] / 4)
                select = (select & ~(0xfu << (4 * n))) | (Word)(4 + at[n] % 4) << (4 * n);
        }
        if (!done)
            v = __byte_perm(v, words[at[m] / 4], select);
    }
    return v;
}

/* ---- The tile in shared memory --------------------------------------------------------------------- */

#ifndef TT_SHARED_ACCESS /* the tests look at every access */
#define TT_SHARED_ACCESS(at, bytes, what)
#endif

struct alignas(8) Pair {
    Word w[2];
};

struct alignas(16) Quad {
    Word w[4];
};

/* Writes N words in accesses of ACCESS words. */
template <int N, int ACCESS> TT_DEVICE void tile_put(Word *at, const Word *words, const char *what) {
#pragma unroll
    for (int i = 0; i < N; i += ACCESS) {
        TT_SHARED_ACCESS(at + i, 4 * ACCESS, what);
        if (ACCESS == 4)
            *(Quad *)(at + i) = Quad{{words[i], words[i + 1], words[i + 2], words[i + 3]}};
        else if (ACCESS == 2)
            *(Pair *)(at + i) = Pair{{words[i], words[i + 1]}};
        else
            at[i] = words[i];
    }
    (void)what;
}

template <int N> TT_DEVICE void tile_get(const Word *at, Word *words, const char *what) {
    TT_SHARED_ACCESS(at, 4 * N, what);
    (void)what;
    if (N == 4) {
        Quad q = *(const Quad *)at;
        words[0] = q.w[0], words[1] = q.w[1], words[2] = q.w[2], words[3] = q.w[3];
    } else if (N == 2) {
        Pair p = *(const Pair *)at;
        words[0] = p.w[0], words[1] = p.w[1];
    } else {
        words[0] = at[0];
    }
}

/* A unit of 1, 2 or 4 bytes at a multiple of its size. */
template <int UNIT> TT_DEVICE Word tile_unit(const Word *tile, int at) {
    const Byte *p = (const Byte *)tile + at;
    TT_SHARED_ACCESS(p, UNIT, "read");
    return UNIT == 4 ? *(const Word *)p : UNIT == 2 ? *(const unsigned short *)p : *p;
}

#endif
