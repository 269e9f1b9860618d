/* SPDX-License-Identifier: MIT
 *
 * Packing looks at each byte once and does not branch on whether a string is known, since of noise nobody can
 * foretell it: that only decides what is kept. Strings are in buckets of three; those for which a bucket has
 * no room, one in fifty, stand aside in a list. Codes are collected until the table is full, and only then
 * put into bits, in runs of one width.
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
    CODE_BITS = 12, /* of a string in a bucket, below its last byte: the one before is told by the bucket */
    STRING_BITS = CODE_BITS + 8 + 1,
    IS_STRING = 1 << (STRING_BITS - 1),
    BUCKET_BITS = 12,
    BUCKETS = 1 << BUCKET_BITS,
    INLINE = 8, /* bytes of a string that are kept with it */
};

/* A string of the reader's: its first bytes, and where all of it was last written. */
typedef struct {
    guint64 text;
    guint32 length, at;
} String;

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
    String strings[1 << WIDEST];
};

TiffLzw *tiff_lzw_new(void) {
    const guint32 golden = 2654435761u;
    TiffLzw *lzw = g_new(TiffLzw, 1);
    for (guint32 i = 0; i < 256; i++) {
        lzw->mix[i] = (guint16)((i * golden) >> (32 - BUCKET_BITS));
        lzw->strings[i] = (String){.text = i, .length = 1};
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
    guint n; /* bits that are not written yet, below 32 */
} Bits;

static void put(Bits *b, const guint16 *codes, gsize n, guint width) {
    guint64 bits = b->bits;
    guint waiting = b->n;
    guint8 *to = b->to;
    for (gsize i = 0; i < n; i++) {
        bits = bits << width | codes[i];
        waiting += width;
        if (waiting >= 32) {
            waiting -= 32;
            guint32 word = GUINT32_TO_BE((guint32)(bits >> waiting));
            memcpy(to, &word, sizeof(word));
            to += sizeof(word);
        }
    }
    *b = (Bits){to, bits, waiting};
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
        if ((lzw->aside[i].string ^ string) >> CODE_BITS == 0)
            return lzw->aside[i].string & ((1 << CODE_BITS) - 1);
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

/* Goes on until the table is full, or there are no more bytes. */
static void find_codes(TiffLzw *lzw, Scan *scan, const guint8 *end) {
    const guint32 all = (1 << STRING_BITS) - 1, known = 1 << CODE_BITS;
    const guint8 *next = scan->in;
    guint32 code = scan->string;
    gsize n = scan->n;
    while (next < end && n < STRINGS) {
        guint32 byte = *next++, wanted = IS_STRING | byte << CODE_BITS, added = wanted | (guint32)(FIRST + n),
                place = code ^ lzw->mix[byte];
        guint64 bucket = lzw->buckets[place];
        guint32 a = ((guint32)bucket & all) ^ wanted, b = ((guint32)(bucket >> STRING_BITS) & all) ^ wanted,
                c = ((guint32)(bucket >> 2 * STRING_BITS) & all) ^ wanted;
        gboolean found = (a < known) | (b < known) | (c < known);
        guint64 full = bucket >> (3 * STRING_BITS - 1);
        lzw->codes[n] = (guint16)code;
        if (G_UNLIKELY(full & (guint64)!found)) {
            code = look_aside(lzw, place, added, &scan->n_aside);
            n += !code;
            code = code ? code : byte;
            continue;
        }
        lzw->buckets[place] = found ? bucket : bucket << STRING_BITS | added;
        n += !found;
        code = c < known ? c : byte;
        code = b < known ? b : code;
        code = a < known ? a : code;
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
    for (; bits.n >= 8; bits.n -= 8)
        *bits.to++ = (guint8)(bits.bits >> (bits.n - 8));
    if (bits.n)
        *bits.to++ = (guint8)(bits.bits << (8 - bits.n));
    return (gsize)(bits.to - to);
}

/* ---- Unpacking ---------------------------------------------------------------------------------------- */

/* The string with one byte more. */
static String longer(String s, guint64 text) {
    guint64 byte = s.length < INLINE ? text & 0xff : 0;
    return (String){s.text | byte << 8 * s.length % 64, s.length + 1, s.at};
}

/* Where it was written before may end where it is written now, a byte less than its length away. */
static guint8 *write_string(String s, const guint8 *before, guint8 *to) {
    guint64 text = GUINT64_TO_LE(s.text);
    memcpy(to, &text, INLINE);
    for (guint32 i = INLINE; i < s.length; i += INLINE)
        memcpy(to + i, before + i, INLINE);
    return to + s.length;
}

static guint8 *write_last_string(String s, const guint8 *before, guint8 *to, const guint8 *end) {
    for (guint32 i = 0; i < s.length && to < end; i++)
        *to++ = i < INLINE ? (guint8)(s.text >> 8 * i) : before[i];
    return to;
}

gboolean tiff_lzw_unpack(TiffLzw *lzw, const guint8 *packed, gsize n, guint8 *to, gsize size) {
    const guint8 *in = packed, *in_end = packed + n, *end = to + size;
    String *strings = lzw->strings, last = {.length = 0}; /* the one before; the first is always CLEAR */
    guint8 *out = to;
    guint64 bits = 0; /* from the highest on */
    guint waiting = 0, width = NARROWEST, next = FIRST, wider = 0;
    if (size > G_MAXUINT32 || n < 2 || packed[0] != CLEAR >> 1 || packed[1] >> 7)
        return FALSE;
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
        String string;
        if (G_UNLIKELY(code == CLEAR)) {
            width = NARROWEST;
            wider = (1 << NARROWEST) - 1;
            next = FIRST - 1; /* the first code makes no string */
            last = (String){.length = 0};
            continue;
        } else if (G_LIKELY(code < next && code != END)) {
            string = strings[code];
        } else if (code == next && code >= FIRST) {
            string = longer(last, last.text);
        } else {
            return FALSE;
        }
        strings[next++] = longer(last, string.text);
        if (G_UNLIKELY(next == wider)) {
            if (width == WIDEST)
                return FALSE;
            width++;
            wider = width == WIDEST ? 1 << WIDEST : (1u << width) - 1;
        }
        last = string;
        last.at = (guint32)(out - to);
        if (G_LIKELY((gsize)(end - out) >= string.length + INLINE))
            out = write_string(string, to + string.at, out);
        else
            out = write_last_string(string, to + string.at, out, end);
    }
    return (gsize)(in - packed) * 8 - waiting <= n * 8;
}
