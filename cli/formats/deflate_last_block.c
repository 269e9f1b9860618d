/* SPDX-License-Identifier: MIT
 *
 * Only the lengths of codes are looked at: nothing is unpacked, which makes this several times as fast as
 * inflating. Names are those of RFC 1951.
 */
#include "deflate_last_block.h"

#include <string.h>

enum {
    QUICK = 11, /* bits that are looked up at once */
    MOST_BITS = 15,
    LITERALS = 288,
    DISTANCES = 32,
    LENGTH_CODES = 19,
    END = 256, /* of a block */
};

/* What a code is, above the number of bits to skip: its own and the extra ones. An entry is never 0. */
enum { LITERAL = 0, LENGTH = 1 << 6, END_OF_BLOCK = 2 << 6, SKIP = LENGTH - 1 };

typedef struct {
    guint16 count[MOST_BITS + 1]; /* codes of each length */
    guint16 symbols[LITERALS];    /* in the order of their codes */
    guint8 quick[1 << QUICK];     /* entries by the next bits; 0: a longer code, or none */
} Code;

typedef struct {
    const guint8 *data;
    gsize at, end; /* bits */
} Bits;

/* At least 57 bits. */
static inline guint64 peek(const Bits *b) {
    guint64 word;
    memcpy(&word, b->data + b->at / 8, sizeof(word));
    return GUINT64_FROM_LE(word) >> b->at % 8;
}

static guint take(Bits *b, guint n) {
    guint value = (guint)(peek(b) & ((1U << n) - 1));
    b->at = MIN(b->at + n, b->end);
    return value;
}

static guint literal_entry(guint symbol, guint bits) {
    if (symbol == END)
        return END_OF_BLOCK | bits;
    guint extra = symbol < 265 || symbol > 284 ? 0 : (symbol - 261) / 4;
    return symbol < END ? LITERAL | bits : LENGTH | (bits + extra);
}

static guint distance_entry(guint symbol, guint bits) {
    return bits + (symbol < 4 ? 0 : (symbol - 2) / 2);
}

static void count_codes(Code *code, const guint8 *lengths, guint n) {
    guint16 first[MOST_BITS + 2] = {0};
    memset(code->count, 0, sizeof(code->count));
    for (guint i = 0; i < n; i++)
        code->count[lengths[i]]++;
    code->count[0] = 0;
    for (guint bits = 1; bits <= MOST_BITS; bits++)
        first[bits + 1] = (guint16)(first[bits] + code->count[bits]);
    for (guint i = 0; i < n; i++)
        if (lengths[i])
            code->symbols[first[lengths[i]]++] = (guint16)i;
}

/* The symbol whose code comes next and the code's length; 0 if there is none. */
static guint next_symbol(const Code *code, guint64 word, guint *symbol) {
    guint value = 0, first = 0, index = 0;
    for (guint bits = 1; bits <= MOST_BITS; bits++, word >>= 1) {
        guint n = code->count[bits];
        value = value << 1 | (guint)(word & 1);
        first <<= 1;
        if (value >= first && value - first < n) {
            *symbol = code->symbols[index + value - first];
            return bits;
        }
        index += n;
        first += n;
    }
    return 0;
}

typedef guint (*Entry)(guint symbol, guint bits);

static void fill_quick(Code *code, Entry entry) {
    guint value = 0, index = 0;
    memset(code->quick, 0, sizeof(code->quick));
    for (guint bits = 1; bits <= QUICK; bits++, value <<= 1)
        for (guint i = 0; i < code->count[bits]; i++, value++) {
            guint turned = 0; /* codes come with their first bit lowest */
            for (guint bit = 0; bit < bits; bit++)
                turned |= (value >> bit & 1) << (bits - 1 - bit);
            for (; turned < 1 << QUICK; turned += 1U << bits)
                code->quick[turned] = (guint8)entry(code->symbols[index + i], bits);
            if (i + 1 == code->count[bits])
                index += code->count[bits];
        }
}

/* Literals in a row are skipped at once. From the top down, as what follows an entry has fewer bits. */
static void join_literals(Code *code) {
    guint8 single[1 << QUICK];
    memcpy(single, code->quick, sizeof(single));
    for (guint i = 0; i < 1 << QUICK; i++) {
        guint bits = single[i];
        if (!bits || bits >= LENGTH)
            continue;
        for (guint more; (more = single[i >> bits]) && bits + more <= QUICK; bits += more)
            ;
        code->quick[i] = (guint8)bits;
    }
}

static inline guint look_up(const Code *code, guint64 word, Entry entry) {
    guint found = code->quick[word & ((1 << QUICK) - 1)], symbol, bits;
    if (found)
        return found;
    bits = next_symbol(code, word, &symbol);
    return bits ? entry(symbol, bits) : 0;
}

/* The lengths of both codes, which are packed themselves. */
static gboolean read_lengths(Bits *b, guint8 *lengths, guint n) {
    static const guint8 order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    guint8 of_lengths[LENGTH_CODES] = {0};
    guint codes = take(b, 4) + 4, symbol;
    Code code;
    for (guint i = 0; i < codes; i++)
        of_lengths[order[i]] = (guint8)take(b, 3);
    count_codes(&code, of_lengths, LENGTH_CODES);
    for (guint i = 0, repeat; i < n; i += repeat) {
        guint bits = next_symbol(&code, peek(b), &symbol);
        if (!bits || b->at >= b->end || (symbol == 16 && !i))
            return FALSE;
        take(b, bits);
        guint8 value = symbol < 16 ? (guint8)symbol : symbol == 16 ? lengths[i - 1] : 0;
        repeat = symbol < 16    ? 1
                 : symbol == 16 ? take(b, 2) + 3
                 : symbol == 17 ? take(b, 3) + 3
                                : take(b, 7) + 11;
        if (repeat > n - i)
            return FALSE;
        memset(lengths + i, value, repeat);
    }
    return TRUE;
}

static gboolean read_codes(Bits *b, gboolean fixed, Code *literals, Code *distances) {
    guint8 lengths[LITERALS + DISTANCES];
    guint n = LITERALS, m = DISTANCES;
    if (fixed) {
        memset(lengths, 8, 144);
        memset(lengths + 144, 9, 112);
        memset(lengths + 256, 7, 24);
        memset(lengths + 280, 8, 8);
        memset(lengths + LITERALS, 5, DISTANCES);
    } else {
        n = take(b, 5) + 257;
        m = take(b, 5) + 1;
        if (n > LITERALS || !read_lengths(b, lengths, n + m))
            return FALSE;
    }
    count_codes(literals, lengths, n);
    fill_quick(literals, literal_entry);
    join_literals(literals);
    count_codes(distances, lengths + n, m);
    fill_quick(distances, distance_entry);
    return TRUE;
}

static gboolean skip_codes(Bits *b, const Code *literals, const Code *distances) {
    while (b->at < b->end) {
        guint64 word = peek(b);
        guint entry = look_up(literals, word, literal_entry), bits = entry & SKIP;
        for (guint tries = 0; entry && entry < LENGTH && tries < 2; tries++) { /* 57 bits hold more codes */
            b->at += bits;
            word >>= bits;
            entry = look_up(literals, word, literal_entry);
            bits = entry & SKIP;
        }
        if (!entry)
            return FALSE;
        b->at += bits;
        if (entry < LENGTH)
            continue;
        if (entry & END_OF_BLOCK)
            return b->at <= b->end;
        guint distance = look_up(distances, peek(b), distance_entry);
        if (!distance)
            return FALSE;
        b->at += distance;
    }
    return FALSE;
}

static gboolean skip_stored(Bits *b) {
    b->at = (b->at + 7) / 8 * 8;
    guint size = take(b, 16);
    b->at += 16 + (gsize)size * 8;
    return b->at <= b->end;
}

gboolean deflate_last_block(const guint8 *stream, gsize size, gsize *header, gsize *end) {
    Bits b = {stream, 0, size * 8};
    Code literals, distances;
    for (gboolean last = FALSE; !last;) {
        *header = b.at;
        last = take(&b, 1) != 0;
        guint type = take(&b, 2);
        if (b.at >= b.end || type == 3)
            return FALSE;
        if (type == 0
                ? !skip_stored(&b)
                : !read_codes(&b, type == 1, &literals, &distances) || !skip_codes(&b, &literals, &distances))
            return FALSE;
    }
    *end = b.at;
    return TRUE;
}
