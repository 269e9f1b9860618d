/* SPDX-License-Identifier: MIT
 *
 * Finding and resetting the orientation tag in EXIF and XMP blocks.
 */
#define _GNU_SOURCE
#include "orientation_tag.h"

#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY = 12 };

typedef struct {
    guint8 *data;
    gsize size;
    gboolean big_endian;
} Tiff;

/* An unsigned number of n bytes; 0 outside the block. */
static guint32 number_at(const Tiff *t, gsize offset, int n) {
    guint32 value = 0;
    if (offset > t->size || t->size - offset < (gsize)n)
        return 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | t->data[offset + (gsize)(t->big_endian ? i : n - 1 - i)];
    return value;
}

static gboolean open_tiff(Tiff *t, guint8 *block, gsize size) {
    if (size >= 6 && !memcmp(block, "Exif\0\0", 6)) {
        block += 6;
        size -= 6;
    }
    *t = (Tiff){block, size, size && block[0] == 'M'};
    return size >= 8 && (!memcmp(block, "II*\0", 4) || !memcmp(block, "MM\0*", 4));
}

int exif_orientation(guint8 *block, gsize size, gboolean reset) {
    Tiff t;
    if (!open_tiff(&t, block, size))
        return 0;
    gsize directory = number_at(&t, 4, 4), entries = number_at(&t, directory, 2);
    for (gsize i = 0; i < entries; i++) {
        gsize entry = directory + 2 + i * ENTRY;
        if (number_at(&t, entry, 2) != TAG_ORIENTATION)
            continue;
        guint32 type = number_at(&t, entry + 2, 2);
        int width = type == TYPE_SHORT ? 2 : type == TYPE_LONG ? 4 : 0;
        guint32 value = width ? number_at(&t, entry + 8, width) : 0;
        if (value < 1 || value > 8)
            return 0;
        if (reset) {
            memset(t.data + entry + 8, 0, (gsize)width);
            t.data[entry + 8 + (gsize)(t.big_endian ? width - 1 : 0)] = 1;
        }
        return (int)value;
    }
    return 0;
}

static const guint8 *skip_space(const guint8 *p, const guint8 *end) {
    while (p < end && g_ascii_isspace(*p))
        p++;
    return p;
}

/* The digit of `="6"` or `>6<` at p, NULL if there is none. */
static guint8 *digit_after_name(const guint8 *p, const guint8 *end) {
    p = skip_space(p, end);
    if (p < end && *p == '=') {
        p = skip_space(p + 1, end);
        if (p >= end || (*p != '"' && *p != '\''))
            return NULL;
    } else if (p >= end || *p != '>') {
        return NULL;
    }
    p = skip_space(p + 1, end);
    gboolean single = p + 1 < end && *p >= '1' && *p <= '8' && !g_ascii_isdigit(p[1]);
    return single ? (guint8 *)p : NULL;
}

int xmp_orientation(guint8 *packet, gsize size, gboolean reset) {
    static const char name[] = "tiff:Orientation";
    const guint8 *end = packet + size, *p = packet;
    int found = 0;
    while ((p = memmem(p, (gsize)(end - p), name, sizeof(name) - 1))) {
        p += sizeof(name) - 1;
        guint8 *digit = digit_after_name(p, end);
        if (digit && !found)
            found = *digit - '0';
        if (digit && reset)
            *digit = '1';
    }
    return found;
}
