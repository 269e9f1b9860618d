/* SPDX-License-Identifier: MIT
 *
 * Each segment has codes of its own. Names are those of RFC 1951.
 */
#include "deflate_codes.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT = 24 << 10, /* bytes with the same codes */
    LITERALS = 257,     /* and the end of a block, which is the last */
    DISTANCES = 2,      /* which nothing uses: some readers want a complete code all the same */
    LENGTHS = LITERALS + DISTANCES,
    LENGTH_CODES = 19,
    MOST_BITS = 15,
    MOST_LENGTH_BITS = 7,
    DYNAMIC = 2,
    AROUND = 256 /* bytes that a segment's header and the ending take at most, and a word stored beyond */
};

typedef struct {
    guint16 code[LITERALS]; /* its first bit lowest */
    guint8 bits[LITERALS];
} Codes;

typedef struct {
    guint8 *to;
    guint64 word;
    guint bits; /* in it */
} Bits;

/* ---- Codes ------------------------------------------------------------------------------------------ */

typedef struct {
    guint32 count;
    guint16 symbol;
} Leaf;

static gint compare(gconstpointer a, gconstpointer b) {
    const Leaf *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? -1 : 1) : (gint)x->symbol - (gint)y->symbol;
}

/* The depth of each leaf of the tree over n >= 2 sorted leaves. Two queues: leaves, and inner nodes as they
 * are made, both from the rarest on. */
static void measure_depths(const Leaf *leaves, guint n, guint8 *depths) {
    guint32 weight[LITERALS];
    guint16 parent[2 * LITERALS];
    guint8 depth[2 * LITERALS];
    guint leaf = 0, inner = 0;
    for (guint made = 0; made + 1 < n; made++) {
        weight[made] = 0;
        for (int child = 0; child < 2; child++) {
            gboolean is_leaf = leaf < n && (inner == made || leaves[leaf].count <= weight[inner]);
            weight[made] += is_leaf ? leaves[leaf].count : weight[inner];
            parent[is_leaf ? leaf++ : n + inner++] = (guint16)(n + made);
        }
    }
    depth[2 * n - 2] = 0; /* the root is made last */
    for (guint i = 2 * n - 2; i--;)
        depth[i] = (guint8)(depth[parent[i]] + 1);
    memcpy(depths, depth, n);
}

/* How many codes of each length; those too long are shortened, and room is made by splitting the longest of
 * the shorter ones. */
static void limit_lengths(const guint8 *depths, guint n, guint most, guint *of_length) {
    gint surplus = -(1 << most); /* of the codes' share of all words of `most` bits */
    memset(of_length, 0, (MOST_BITS + 1) * sizeof(*of_length));
    for (guint i = 0; i < n; i++) {
        guint bits = MIN(depths[i], most);
        of_length[bits]++;
        surplus += 1 << (most - bits);
    }
    for (; surplus > 0; surplus--) {
        guint bits = most - 1;
        while (!of_length[bits])
            bits--;
        of_length[bits]--;
        of_length[bits + 1] += 2;
        of_length[most]--;
    }
}

static guint16 reverse(guint code, guint bits) {
    guint turned = 0;
    for (guint i = 0; i < bits; i++)
        turned |= (code >> i & 1) << (bits - 1 - i);
    return (guint16)turned;
}

/* Codes of at most `most` bits for the symbols that have a count. There are at least two, if need be some
 * that have none. */
static void make_codes(const guint32 *counts, guint n, guint most, Codes *codes) {
    Leaf leaves[LITERALS];
    guint8 depths[LITERALS];
    guint used = 0, of_length[MOST_BITS + 1], next[MOST_BITS + 2] = {0};
    memset(codes->bits, 0, sizeof(codes->bits));
    for (guint i = 0; i < n; i++)
        if (counts[i])
            leaves[used++] = (Leaf){counts[i], (guint16)i};
    for (guint16 i = 0; used < 2; i++)
        if (!counts[i])
            leaves[used++] = (Leaf){0, i};
    qsort(leaves, used, sizeof(*leaves), compare);
    measure_depths(leaves, used, depths);
    limit_lengths(depths, used, most, of_length);
    for (guint bits = most, i = 0; bits; bits--)
        for (guint k = 0; k < of_length[bits]; k++)
            codes->bits[leaves[i++].symbol] = (guint8)bits;
    for (guint bits = 1; bits <= most; bits++)
        next[bits + 1] = (next[bits] + of_length[bits]) << 1;
    for (guint i = 0; i < n; i++)
        if (codes->bits[i])
            codes->code[i] = reverse(next[codes->bits[i]]++, codes->bits[i]);
}

/* ---- Bits ------------------------------------------------------------------------------------------- */

static inline void put(Bits *b, guint value, guint bits) {
    b->word |= (guint64)value << b->bits;
    b->bits += bits;
}

/* Leaves less than a byte in the word, so that 57 bits have room. */
static inline void flush(Bits *b) {
    guint64 word = GUINT64_TO_LE(b->word);
    memcpy(b->to, &word, sizeof(word));
    b->to += b->bits / 8;
    b->word >>= b->bits / 8 * 8;
    b->bits %= 8;
}

static inline void put_code(Bits *b, const Codes *codes, guint symbol) {
    put(b, codes->code[symbol], codes->bits[symbol]);
}

/* ---- A segment -------------------------------------------------------------------------------------- */

/* In four rows, since counting one byte often would wait for itself. */
static void count_bytes(const guint8 *data, gsize n, guint32 *counts) {
    guint32 rows[4][256] = {{0}};
    for (gsize i = 0; i < n; i++)
        rows[i % 4][data[i]]++;
    for (guint i = 0; i < 256; i++)
        counts[i] = rows[0][i] + rows[1][i] + rows[2][i] + rows[3][i];
    counts[256] = 1;
}

static void put_header(Bits *b, const Codes *codes, gboolean last) {
    static const guint8 order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    guint8 lengths[LENGTHS];
    guint32 counts[LENGTH_CODES] = {0};
    Codes of_lengths;
    memcpy(lengths, codes->bits, LITERALS);
    memset(lengths + LITERALS, 1, DISTANCES);
    for (guint i = 0; i < LENGTHS; i++)
        counts[lengths[i]]++;
    make_codes(counts, LENGTH_CODES, MOST_LENGTH_BITS, &of_lengths);
    put(b, last, 1);
    put(b, DYNAMIC, 2);
    put(b, LITERALS - 257, 5);
    put(b, DISTANCES - 1, 5);
    put(b, LENGTH_CODES - 4, 4);
    for (guint i = 0; i < LENGTH_CODES; i++, flush(b))
        put(b, of_lengths.bits[order[i]], 3);
    for (guint i = 0; i < LENGTHS; i++, flush(b))
        put_code(b, &of_lengths, lengths[i]);
}

static gsize packed_bytes(const guint32 *counts, const Codes *codes) {
    gsize bits = 0;
    for (guint i = 0; i < LITERALS; i++)
        bits += (gsize)counts[i] * codes->bits[i];
    return bits / 8 + 1;
}

static gboolean put_segment(Bits *b, const guint8 *data, gsize n, gboolean last, gsize room) {
    guint32 counts[LITERALS];
    Codes codes;
    count_bytes(data, n, counts);
    make_codes(counts, LITERALS, MOST_BITS, &codes);
    if (room < packed_bytes(counts, &codes) + AROUND)
        return FALSE;
    put_header(b, &codes, last);
    gsize i = 0;
    for (; i + 3 <= n; i += 3, flush(b)) {
        put_code(b, &codes, data[i]);
        put_code(b, &codes, data[i + 1]);
        put_code(b, &codes, data[i + 2]);
    }
    for (; i < n; i++, flush(b))
        put_code(b, &codes, data[i]);
    put_code(b, &codes, 256);
    flush(b);
    return TRUE;
}

/* To the next whole byte; by an empty stored block if the stream goes on. */
static void put_end(Bits *b, gboolean last) {
    if (!last)
        put(b, 0, 3);
    put(b, 0, (8 - b->bits % 8) % 8);
    flush(b);
    if (!last)
        put(b, 0xffff0000, 32);
    flush(b);
}

gsize deflate_codes(const guint8 *data, gsize size, guint8 *to, gsize room, gboolean last) {
    Bits b = {.to = to};
    do {
        gsize n = MIN(size, SEGMENT);
        if (!put_segment(&b, data, n, last && n == size, room - (gsize)(b.to - to)))
            return 0;
        data += n;
        size -= n;
    } while (size);
    put_end(&b, last);
    return (gsize)(b.to - to);
}
