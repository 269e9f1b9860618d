/* SPDX-License-Identifier: MIT
 *
 * A string of the reader's is where it was written first: that of the code before, and the byte behind it.
 */
#include "gif_codes.h"

#include <string.h>

enum {
    WIDEST = 12,
    CODES = 1 << WIDEST,
    FULL = CODES - 1, /* when a writer clears the table: the last code is one that some readers fail at */
    HASH_BITS = 13,
    HASHED = 1 << HASH_BITS,
};

guint64 gif_codes_most(gsize packed) {
    return ((guint64)packed * 8 / 2 + 1) * CODES;
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

typedef struct {
    gsize at, length;
} String;

/* A string may reach into what it becomes, by one byte. */
static gsize copy_string(guint8 *pixels, gsize size, gsize out, String string) {
    gsize n = MIN(string.length, size - out);
    for (gsize i = 0; i < n; i++)
        pixels[out + i] = pixels[string.at + i];
    return n;
}

gboolean gif_codes_unpack(const GByteArray *packed, guint bits, guint8 *pixels, gsize size) {
    const guint clear = 1u << bits, end = clear + 1;
    String strings[CODES], last = {0};
    guint width = bits + 1, next = end + 1, waiting = 0;
    guint64 word = 0;
    gsize in = 0, out = 0;
    while (out < size) {
        for (; waiting < width && in < packed->len; waiting += 8)
            word |= (guint64)packed->data[in++] << waiting;
        if (waiting < width)
            return FALSE;
        guint code = (guint)word & ((1u << width) - 1);
        word >>= width;
        waiting -= width;
        if (code == clear) {
            width = bits + 1;
            next = end + 1;
            last.length = 0;
            continue;
        }
        gboolean adds = last.length && next < CODES;
        if (code == end || code > next - !adds)
            return FALSE;
        if (adds)
            strings[next++] = (String){last.at, last.length + 1};
        last = (String){out, 1};
        if (code < clear)
            pixels[out++] = (guint8)code;
        else
            out += last.length = copy_string(pixels, size, out, strings[code]);
        width += next == 1u << width && width < WIDEST;
    }
    return TRUE;
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

typedef struct {
    guint8 *to;
    guint32 word;
    guint waiting; /* bits, below 8 */
} Bits;

static void put(Bits *b, guint code, guint width) {
    b->word |= code << b->waiting;
    for (b->waiting += width; b->waiting >= 8; b->waiting -= 8, b->word >>= 8)
        *b->to++ = (guint8)b->word;
}

/* Of a string: a code and the byte behind it, and below those the string's own code. 0: none. */
static guint32 *find_place(guint32 *places, guint32 wanted) {
    guint32 at = (wanted * 2654435761u) >> (32 - HASH_BITS);
    while (places[at] && places[at] >> WIDEST != wanted)
        at = (at + 1) % HASHED;
    return &places[at];
}

static gsize most_bytes(gsize size) {
    return size + size / 2 + size / 1024 + 16; /* a code of 12 bits for each pixel, and the clearings */
}

GByteArray *gif_codes_pack(const guint8 *pixels, gsize size, guint bits) {
    const guint clear = 1u << bits, end = clear + 1;
    guint32 places[HASHED] = {0};
    GByteArray *packed = g_byte_array_new();
    g_byte_array_set_size(packed, (guint)most_bytes(size));
    Bits b = {.to = packed->data};
    guint width = bits + 1, next = end + 1, code = pixels[0];
    put(&b, clear, width);
    for (gsize i = 1; i < size; i++) {
        guint32 wanted = code << 8 | pixels[i], *place = find_place(places, wanted);
        if (*place) {
            code = *place % CODES;
            continue;
        }
        put(&b, code, width);
        code = pixels[i];
        width += next == 1u << width; /* as the reader, a string behind, has it by then */
        *place = wanted << WIDEST | next++;
        if (next == FULL) {
            put(&b, clear, width);
            memset(places, 0, sizeof(places));
            width = bits + 1;
            next = end + 1;
        }
    }
    put(&b, code, width);
    put(&b, end, width + (next == 1u << width));
    put(&b, 0, 7); /* the last bits */
    g_byte_array_set_size(packed, (guint)(b.to - packed->data));
    return packed;
}
