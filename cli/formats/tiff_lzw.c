/* SPDX-License-Identifier: MIT
 *
 * Packing looks at each byte once. Strings are in buckets of three, which are looked through at once, as
 * lanes of one number; those for which a bucket has no room, one in fifty, stand aside in a list. Codes are
 * collected until the table is full, and only then put into bits, in runs of one width.
 */
#include "tiff_lzw.h"

#include <string.h>

enum {
    CLEAR = 256,
    END = 257,
    FIRST = 258, /* code of a string of two bytes or more */
    FULL = 4094, /* codes, when writers clear the table */
    STRINGS = FULL - FIRST,
    NARROWEST = 9, /* bits of a code */
    WIDEST = 12,
    TAG_BITS =
        9, /* of a string in a bucket: its last byte, below one that is 1; the bucket tells all before */
    IS_STRING = 1 << 8,
    LANE = TAG_BITS + 12, /* bits of such a string, with its code above the tag */
    BUCKET_BITS = 12,
    BUCKETS = 1 << BUCKET_BITS,
    INLINE = 8, /* bytes of a string that are copied at once */
};

/* 1 in each lane of a bucket. */
#define LANES ((guint64)1 | (guint64)1 << LANE | (guint64)1 << 2 * LANE)

/* A string of the reader's: where it was written first, from the output's start on, and in the lowest bits
 * how long it is. */
enum { LENGTH_BITS = 16 };
typedef guint64 String;

/* One for which its bucket has no room. */
typedef struct {
    guint32 string;
    guint32 next; /* of the same bucket, or 0 */
} Aside;

struct TiffLzw {
    guint64 buckets[BUCKETS];
    guint16 first_aside[BUCKETS]; /* of buckets that are marked so */
    Aside aside[STRINGS + 1];     /* from 1 on */
    guint16 mix[256];             /* what a byte adds to the bucket's number */
    guint16 codes[STRINGS];
    guint8 bytes[256 + INLINE]; /* strings of one byte */
    String strings[1 << WIDEST];
};

TiffLzw *tiff_lzw_new(void) {
    const guint32 golden = 2654435761u;
    TiffLzw *lzw = g_new(TiffLzw, 1);
    for (guint32 i = 0; i < 256; i++) {
        lzw->mix[i] = (guint16)((i * golden) >> (32 - BUCKET_BITS));
        lzw->bytes[i] = (guint8)i;
    }
    return lzw;
}

void tiff_lzw_free(TiffLzw *lzw) {
    g_free(lzw);
}

/* ---- Packing ------------------------------------------------------------------------------------------ */

typedef struct {
    guint8 *to;
    guint64 bits;
    guint n; /* bits that are not whole bytes yet, below 8 */
} Bits;

static guint64 put_bits(Bits *b, guint64 bits, guint n) {
    guint64 all = b->bits << n | bits, word = GUINT64_TO_BE(all << (64 - b->n - n));
    memcpy(b->to, &word, sizeof(word));
    *b = (Bits){b->to + (b->n + n) / 8, all, (b->n + n) % 8};
    return all;
}

static void put(Bits *b, const guint16 *codes, gsize n, guint width) {
    gsize i = 0;
    for (; i + 4 <= n; i += 4)
        put_bits(b,
                 ((guint64)codes[i] << width | codes[i + 1]) << 2 * width |
                     ((guint64)codes[i + 2] << width | codes[i + 3]),
                 4 * width);
    for (; i < n; i++)
        put_bits(b, codes[i], width);
}

static void put_one(Bits *b, guint code, guint width) {
    guint16 one = (guint16)code;
    put(b, &one, 1, width);
}

/* The width of the code that follows so many since the table was cleared. */
static guint width_after(gsize n) {
    guint width = NARROWEST;
    while (width < WIDEST && FIRST + n >= (gsize)1 << width)
        width++;
    return width;
}

/* Codes that begin with an empty table. */
static void put_codes(Bits *b, const guint16 *codes, gsize n) {
    for (gsize start = 0, end; start < n; start = end) {
        guint width = width_after(start);
        end = width == WIDEST ? n : MIN(((gsize)1 << width) - FIRST, n);
        put(b, codes + start, end - start, width);
    }
}

/* The code of a string that stands aside; or else 0, and now it does. */
static guint32 look_aside(TiffLzw *lzw, guint32 place, guint32 string, guint32 *n_aside) {
    const guint64 has_aside = (guint64)1 << 63;
    guint32 first = lzw->buckets[place] & has_aside ? lzw->first_aside[place] : 0;
    for (guint32 i = first; i; i = lzw->aside[i].next)
        if ((lzw->aside[i].string ^ string) % (1 << TAG_BITS) == 0)
            return lzw->aside[i].string >> TAG_BITS;
    lzw->aside[++*n_aside] = (Aside){string, first};
    lzw->first_aside[place] = (guint16)*n_aside;
    lzw->buckets[place] |= has_aside;
    return 0;
}

/* How far the input is turned into codes, with an empty table before the first. */
typedef struct {
    const guint8 *in;
    guint32 string; /* that is begun */
    gsize n;        /* of codes */
    guint32 n_aside;
} Scan;

/* Goes on until the table is full, or there are no more bytes. The tags that are the wanted one become 0, and
 * so the only ones from which 1 borrows beyond them. */
static void find_codes(TiffLzw *lzw, Scan *scan, const guint8 *end) {
    const guint64 tags = LANES * ((1 << TAG_BITS) - 1), third = (guint64)IS_STRING << 2 * LANE;
    const guint8 *next = scan->in;
    guint32 code = scan->string;
    gsize n = scan->n;
    while (next < end && n < STRINGS) {
        guint32 byte = *next++, tag = IS_STRING | byte, place = code ^ lzw->mix[byte];
        guint64 bucket = lzw->buckets[place];
        guint64 found = (((bucket ^ tag * LANES) & tags) - LANES) & LANES << (LANE - 1);
        if (found) {
            guint lane_end = (guint)__builtin_ctzll(found) + 1;
            code = (guint32)(bucket >> (lane_end - 12)) % (1 << 12);
            continue;
        }
        guint32 added = (guint32)(FIRST + n) << TAG_BITS | tag;
        lzw->codes[n] = (guint16)code;
        if (G_UNLIKELY(bucket & third) && (code = look_aside(lzw, place, added, &scan->n_aside)))
            continue;
        if (!(bucket & third))
            lzw->buckets[place] = bucket << LANE | added;
        n++;
        code = byte;
    }
    scan->in = next;
    scan->string = code;
    scan->n = n;
}

gsize tiff_lzw_bound(gsize size) {
    return size + size / 2 + 64; /* a code of 12 bits for each byte, and the clearings */
}

gsize tiff_lzw_pack(TiffLzw *lzw, const guint8 *data, gsize size, guint8 *to) {
    Bits bits = {.to = to};
    const guint8 *end = data + size;
    Scan scan = {.in = data};
    put_one(&bits, CLEAR, NARROWEST);
    if (size)
        scan.string = *scan.in++;
    while (scan.in < end) {
        if (scan.n)
            put_one(&bits, CLEAR, WIDEST);
        scan.n = scan.n_aside = 0;
        memset(lzw->buckets, 0, sizeof(lzw->buckets));
        find_codes(lzw, &scan, end);
        put_codes(&bits, lzw->codes, scan.n);
    }
    if (size)
        put_one(&bits, scan.string, width_after(scan.n++));
    if (scan.n == STRINGS) {
        put_one(&bits, CLEAR, WIDEST);
        scan.n = 0;
    }
    put_one(&bits, END, width_after(scan.n));
    return (gsize)(bits.to - to) + (bits.n > 0);
}

/* ---- Unpacking ---------------------------------------------------------------------------------------- */

static String string_at(gsize at, gsize length) {
    return (guint64)at << LENGTH_BITS | length;
}

static const guint8 *text_of(String s, const guint8 *to) {
    return (const guint8 *)((guintptr)to + (guintptr)((gint64)s >> LENGTH_BITS));
}

static gsize length_of(String s) {
    return s % (1 << LENGTH_BITS);
}

/* Byte by byte, for the string may end in what it becomes, or the output in it. */
static guint8 *write_slowly(const guint8 *text, gsize length, guint8 *to, const guint8 *end) {
    for (gsize i = 0; i < length && to < end; i++)
        *to++ = text[i];
    return to;
}

static guint8 *write_string(const guint8 *text, gsize length, guint8 *to, const guint8 *end) {
    if (G_UNLIKELY((gsize)(end - to) < length + INLINE))
        return write_slowly(text, length, to, end);
    memcpy(to, text, INLINE);
    if (G_UNLIKELY(length > INLINE))
        for (gsize i = INLINE; i < length; i += INLINE)
            memcpy(to + i, text + i, INLINE);
    return to + length;
}

gboolean tiff_lzw_unpack(TiffLzw *lzw, const guint8 *packed, gsize n, guint8 *to, gsize size) {
    const guint8 *in = packed, *in_end = packed + n, *end = to + size;
    String *strings = lzw->strings, last = 0; /* the one before; the first is always CLEAR */
    guint8 *out = to;
    guint64 bits = 0; /* from the highest on */
    guint waiting = 0, width = NARROWEST, next = FIRST, wider = 0;
    if (size > G_MAXUINT32 || n < 2 || packed[0] != CLEAR >> 1 || packed[1] >> 7)
        return FALSE;
    for (guint i = 0; i < CLEAR; i++)
        strings[i] = string_at((gsize)((guintptr)(lzw->bytes + i) - (guintptr)to), 1);
    while (out < end) {
        if (waiting < width) {
            guint64 word;
            if (in > in_end)
                return FALSE;
            memcpy(&word, in, sizeof(word));
            bits |= GUINT64_FROM_BE(word) >> waiting;
            in += (63 - waiting) / 8;
            waiting |= 56;
        }
        guint code = (guint)(bits >> (64 - width));
        bits <<= width;
        waiting -= width;
        if (G_UNLIKELY(code == CLEAR)) {
            width = NARROWEST;
            wider = (1 << NARROWEST) - 1;
            next = FIRST - 1; /* the first code makes no string */
            continue;
        }
        strings[next] = last + 1; /* a byte longer, which is written now */
        String string = strings[code];
        const guint8 *text = text_of(string, to);
        gsize length = length_of(string);
        last = string_at((gsize)(out - to), length);
        if (G_LIKELY(code < next && code != END))
            out = write_string(text, length, out, end);
        else if (code == next && code != END)
            out = write_slowly(text, length, out, end);
        else
            return FALSE;
        if (G_UNLIKELY(++next == wider)) {
            if (width == WIDEST)
                return FALSE;
            width++;
            wider = width == WIDEST ? 1 << WIDEST : (1u << width) - 1;
        }
    }
    return (gsize)(in - packed) * 8 - waiting <= n * 8;
}
