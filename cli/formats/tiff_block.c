/* SPDX-License-Identifier: MIT
 *
 * Numbers and entries of a TIFF block.
 */
#include "tiff_block.h"

#include <string.h>

gboolean tiff_block_open(TiffBlock *t, guint8 *block, gsize size) {
    if (size >= 6 && !memcmp(block, "Exif\0\0", 6)) {
        block += 6;
        size -= 6;
    }
    *t = (TiffBlock){block, size, size && block[0] == 'M'};
    return size >= 8 && (!memcmp(block, "II*\0", 4) || !memcmp(block, "MM\0*", 4));
}

static gboolean holds(const TiffBlock *t, gsize offset, int n) {
    return offset <= t->size && t->size - offset >= (gsize)n;
}

static gsize place(const TiffBlock *t, gsize offset, int n, int i) {
    return offset + (gsize)(t->big_endian ? i : n - 1 - i);
}

guint32 tiff_block_number(const TiffBlock *t, gsize offset, int n) {
    guint32 value = 0;
    if (!holds(t, offset, n))
        return 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | t->data[place(t, offset, n, i)];
    return value;
}

void tiff_block_put(const TiffBlock *t, gsize offset, int n, guint32 value) {
    if (!holds(t, offset, n))
        return;
    for (int i = n - 1; i >= 0; i--, value >>= 8)
        t->data[place(t, offset, n, i)] = (guint8)value;
}

gsize tiff_block_find(const TiffBlock *t, gsize directory, guint32 tag) {
    gsize entries = directory ? tiff_block_number(t, directory, 2) : 0;
    for (gsize i = 0, entry = directory + 2; i < entries; i++, entry += TIFF_ENTRY)
        if (holds(t, entry, TIFF_ENTRY) && tiff_block_number(t, entry, 2) == tag)
            return entry;
    return 0;
}

gsize tiff_block_next(const TiffBlock *t, gsize directory) {
    return directory + 2 + TIFF_ENTRY * (gsize)tiff_block_number(t, directory, 2);
}

static int bytes_of(const TiffBlock *t, gsize entry) {
    guint32 type = tiff_block_number(t, entry + 2, 2);
    return type == TIFF_SHORT ? 2 : type == TIFF_LONG ? 4 : 0;
}

guint32 tiff_block_value(const TiffBlock *t, gsize entry) {
    int n = bytes_of(t, entry);
    return n ? tiff_block_number(t, entry + 8, n) : 0;
}

gboolean tiff_block_set(const TiffBlock *t, gsize entry, guint32 value) {
    int n = bytes_of(t, entry);
    if (!n || (n == 2 && value > G_MAXUINT16))
        return FALSE;
    tiff_block_put(t, entry + 8, n, value);
    return TRUE;
}
