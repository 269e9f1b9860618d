/* SPDX-License-Identifier: MIT
 *
 * Packing looks at each byte once and never branches on what it finds, since of noise nobody can foretell it:
 * whether a string is known only decides what is kept. Strings are in buckets of two, and a third one drops
 * the oldest. That costs a string now and then (0.1 to 0.5 % of the size), which a reader, who knows it, does
 * not notice. Codes are collected until the table is full, and only then put into bits, in runs of one width.
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
    CODE_BITS = 12, /* of a string in a bucket, below the string without its last byte, and that byte */
    BUCKET_BITS = 12,
    BUCKETS = 1 << BUCKET_BITS,
    INLINE = 8, /* bytes of a string that are kept with it */
};

/* A string of the reader's: its first bytes, and where all of it was last written. */
typedef struct {
    guint64 text;
    guint32 length, at;
} String;

struct TiffLzw {
    guint64 buckets[BUCKETS];
    guint16 mix[256]; /* what a byte adds to the bucket's number */
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

/* The codes of strings from `in` on until the table is full; *string: the one that is begun. */
static gsize find_codes(TiffLzw *lzw, const guint8 **in, const guint8 *end, guint32 *string) {
    const guint8 *next = *in;
    guint32 code = *string;
    gsize n = 0;
    memset(lzw->buckets, 0xff, sizeof(lzw->buckets));
    while (next < end && n < STRINGS) {
        guint32 byte = *next++, wanted = (code << 8 | byte) << CODE_BITS;
        guint64 *place = &lzw->buckets[code ^ lzw->mix[byte]], bucket = *place;
        guint32 young = (guint32)bucket ^ wanted, old = (guint32)(bucket >> 32) ^ wanted;
        gboolean is_young = young < 1 << CODE_BITS, is_old = old < 1 << CODE_BITS, found = is_young | is_old;
        guint64 added = bucket << 32 | wanted | (guint32)(FIRST + n);
        lzw->codes[n] = (guint16)code;
        *place = found ? bucket : added;
        n += !found;
        code = is_old ? old : byte;
        code = is_young ? young : code;
    }
    *in = next;
    *string = code;
    return n;
}

gsize tiff_lzw_bound(gsize size) {
    return size + size / 2 + 64; /* a code of 12 bits for each byte, and the clearings */
}

gsize tiff_lzw_pack(TiffLzw *lzw, const guint8 *data, gsize size, guint8 *to) {
    Bits bits = {.to = to};
    const guint8 *in = data, *end = data + size;
    put_one(&bits, CLEAR, NARROWEST);
    gsize n = 0;
    if (size) {
        guint32 string = *in++;
        while ((n = find_codes(lzw, &in, end, &string)) == STRINGS) {
            put_codes(&bits, lzw->codes, n);
            put_one(&bits, CLEAR, WIDEST);
        }
        put_codes(&bits, lzw->codes, n);
        put_one(&bits, string, width_after(n++));
    }
    if (n == STRINGS) {
        put_one(&bits, CLEAR, WIDEST);
        n = 0;
    }
    put_one(&bits, END, width_after(n));
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
