/* SPDX-License-Identifier: MIT
 *
 * Entries of EXIF that come in pairs, across and down, and the thumbnail.
 */
#define _GNU_SOURCE
#include "exif_turn.h"

#include <string.h>

#include "tiff_block.h"

enum {
    IMAGE_WIDTH = 0x100,
    IMAGE_HEIGHT = 0x101,
    ORIENTATION = 0x112,
    X_RESOLUTION = 0x11a,
    Y_RESOLUTION = 0x11b,
    THUMBNAIL = 0x201,
    THUMBNAIL_BYTES = 0x202,
    EXIF = 0x8769,
    SUBJECT_AREA = 0x9214,
    PIXEL_X = 0xa002,
    PIXEL_Y = 0xa003,
    INTEROPERABILITY = 0xa005,
    FOCAL_X = 0xa20e,
    FOCAL_Y = 0xa20f,
    SUBJECT_LOCATION = 0xa214,
    RELATED_WIDTH = 0x1001,
    RELATED_HEIGHT = 0x1002
};

typedef struct {
    TiffBlock block;
    TtOrientation turn;
    guint width, height, kept_width, kept_height;
} Turn;

/* Exchanges what two entries say, but not their tags. */
static void swap_entries(const TiffBlock *t, gsize a, gsize b) {
    guint8 old[TIFF_ENTRY - 2];
    memcpy(old, t->data + a + 2, sizeof(old));
    memcpy(t->data + a + 2, t->data + b + 2, sizeof(old));
    memcpy(t->data + b + 2, old, sizeof(old));
}

static void turn_pair(const Turn *t, gsize directory, guint32 across, guint32 down) {
    gsize a = tiff_block_find(&t->block, directory, across), b = tiff_block_find(&t->block, directory, down);
    if (a && b && tt_swaps_axes(t->turn))
        swap_entries(&t->block, a, b);
}

static void cut(const Turn *t, gsize entry, guint whole, guint kept) {
    if (entry && tiff_block_value(&t->block, entry) == whole)
        tiff_block_set(&t->block, entry, kept);
}

static void turn_size(const Turn *t, gsize directory, guint32 across, guint32 down) {
    cut(t, tiff_block_find(&t->block, directory, across), t->width, t->kept_width);
    cut(t, tiff_block_find(&t->block, directory, down), t->height, t->kept_height);
    turn_pair(t, directory, across, down);
}

/* Two to four SHORTs: a point, perhaps with a diameter, or with a width and a height. */
static void turn_subject(const Turn *t, gsize directory, guint32 tag) {
    const TiffBlock *block = &t->block;
    gsize entry = tiff_block_find(block, directory, tag);
    guint32 count = entry ? tiff_block_number(block, entry + 4, 4) : 0;
    if (count < 2 || count > 4 || tiff_block_number(block, entry + 2, 2) != TIFF_SHORT)
        return;
    gsize at = count == 2 ? entry + 8 : tiff_block_number(block, entry + 8, 4);
    guint32 x = tiff_block_number(block, at, 2), y = tiff_block_number(block, at + 2, 2);
    if (x >= t->kept_width || y >= t->kept_height)
        return;
    TtRect point = tt_map_rect(t->turn, t->kept_width, t->kept_height, (TtRect){x, y, 1, 1});
    tiff_block_put(block, at, 2, (guint32)point.x);
    tiff_block_put(block, at + 2, 2, (guint32)point.y);
    if (count < 4 || !tt_swaps_axes(t->turn))
        return;
    guint32 width = tiff_block_number(block, at + 4, 2), height = tiff_block_number(block, at + 6, 2);
    tiff_block_put(block, at + 4, 2, height);
    tiff_block_put(block, at + 6, 2, width);
}

static gsize first_directory(const TiffBlock *t) {
    return tiff_block_number(t, 4, 4);
}

static gsize directory_at(const TiffBlock *t, gsize directory, guint32 tag) {
    gsize entry = tiff_block_find(t, directory, tag);
    return entry ? tiff_block_value(t, entry) : 0;
}

/* That of the thumbnail; 0 if there is none. */
static gsize second_directory(const TiffBlock *t) {
    gsize first = first_directory(t);
    return first ? tiff_block_number(t, tiff_block_next(t, first), 4) : 0;
}

void exif_turn(guint8 *block, gsize size, TtOrientation turn, guint width, guint height, guint kept_width,
               guint kept_height, gboolean upright) {
    Turn t = {
        .turn = turn, .width = width, .height = height, .kept_width = kept_width, .kept_height = kept_height};
    if (!tiff_block_open(&t.block, block, size))
        return;
    gsize first = first_directory(&t.block), exif = directory_at(&t.block, first, EXIF);
    gsize second = second_directory(&t.block);
    turn_size(&t, first, IMAGE_WIDTH, IMAGE_HEIGHT);
    turn_pair(&t, first, X_RESOLUTION, Y_RESOLUTION);
    turn_size(&t, exif, PIXEL_X, PIXEL_Y);
    turn_pair(&t, exif, FOCAL_X, FOCAL_Y);
    turn_subject(&t, exif, SUBJECT_AREA);
    turn_subject(&t, exif, SUBJECT_LOCATION);
    turn_size(&t, directory_at(&t.block, exif, INTEROPERABILITY), RELATED_WIDTH, RELATED_HEIGHT);
    turn_pair(&t, second, IMAGE_WIDTH, IMAGE_HEIGHT);
    turn_pair(&t, second, X_RESOLUTION, Y_RESOLUTION);
    gsize orientation = tiff_block_find(&t.block, second, ORIENTATION);
    if (upright && orientation)
        tiff_block_set(&t.block, orientation, TT_NONE);
}

gboolean exif_thumbnail(guint8 *block, gsize size, guint8 **data, gsize *bytes) {
    TiffBlock t;
    gsize second = tiff_block_open(&t, block, size) ? second_directory(&t) : 0;
    gsize offset = second ? directory_at(&t, second, THUMBNAIL) : 0;
    *bytes = offset ? directory_at(&t, second, THUMBNAIL_BYTES) : 0;
    gboolean inside = *bytes && offset <= t.size && *bytes <= t.size - offset;
    *data = inside ? t.data + offset : NULL;
    return second != 0;
}

void exif_set_thumbnail(guint8 *block, gsize size, const guint8 *data, gsize bytes) {
    guint8 *old;
    gsize old_bytes;
    TiffBlock t;
    if (!tiff_block_open(&t, block, size) || !exif_thumbnail(block, size, &old, &old_bytes) || !old)
        return;
    memcpy(old, data, bytes);
    tiff_block_set(&t, tiff_block_find(&t, second_directory(&t), THUMBNAIL_BYTES), (guint32)bytes);
}

void exif_drop_thumbnail(guint8 *block, gsize size) {
    guint8 *old;
    gsize old_bytes;
    TiffBlock t;
    if (!tiff_block_open(&t, block, size) || !exif_thumbnail(block, size, &old, &old_bytes))
        return;
    /* A JPEG to its end, no more: an offset or a length that is wrong takes in other things, which must stay.
     */
    const guint8 *end =
        old && old_bytes > 2 && !memcmp(old, "\xff\xd8", 2) ? memmem(old, old_bytes, "\xff\xd9", 2) : NULL;
    if (end)
        memset(old, 0, (gsize)(end + 2 - old));
    tiff_block_put(&t, tiff_block_next(&t, first_directory(&t)), 4, 0);
}

static void append_number(GByteArray *to, const TiffBlock *like, int n, guint32 value) {
    g_byte_array_set_size(to, to->len + (guint)n);
    TiffBlock end = {to->data + to->len - n, (gsize)n, like->big_endian};
    tiff_block_put(&end, 0, n, value);
}

static void append_orientation(GByteArray *to, const TiffBlock *like, TtOrientation tag) {
    append_number(to, like, 2, ORIENTATION);
    append_number(to, like, 2, TIFF_SHORT);
    append_number(to, like, 4, 1);
    append_number(to, like, 2, tag);
    append_number(to, like, 2, 0);
}

GByteArray *exif_with_orientation(const guint8 *block, gsize size, TtOrientation tag) {
    GByteArray *result = g_byte_array_new();
    g_byte_array_append(result, block, (guint)size);
    if (result->len % 2)
        append_number(result, &(TiffBlock){.big_endian = FALSE}, 1, 0);
    TiffBlock t;
    gboolean good = tiff_block_open(&t, result->data, result->len);
    gsize first = good ? first_directory(&t) : 0, last = first ? tiff_block_next(&t, first) : 0;
    if (!first || last + 4 > t.size) {
        g_byte_array_unref(result);
        return exif_of_orientation(tag);
    }
    TiffBlock old = {g_memdup2(t.data + first, last + 4 - first), last + 4 - first, t.big_endian};
    tiff_block_put(&t, 4, 4, (guint32)t.size);
    gsize end = last - first, start = result->len;
    gboolean placed = FALSE; /* entries are in the order of their tags */
    append_number(result, &old, 2, 0);
    for (gsize entry = 2; entry < end; entry += TIFF_ENTRY) {
        if (!placed && tiff_block_number(&old, entry, 2) > ORIENTATION) {
            append_orientation(result, &old, tag);
            placed = TRUE;
        }
        if (tiff_block_number(&old, entry, 2) != ORIENTATION)
            g_byte_array_append(result, old.data + entry, TIFF_ENTRY);
    }
    if (!placed)
        append_orientation(result, &old, tag);
    TiffBlock all = {result->data, result->len, t.big_endian};
    tiff_block_put(&all, start, 2, (guint32)((result->len - start) / TIFF_ENTRY));
    append_number(result, &old, 4, tiff_block_number(&old, end, 4));
    g_free(old.data);
    return result;
}

GByteArray *exif_of_orientation(TtOrientation tag) {
    const TiffBlock like = {.big_endian = TRUE};
    GByteArray *block = g_byte_array_new();
    g_byte_array_append(block, (const guint8 *)"Exif\0\0MM\0*\0\0\0\x08", 14);
    append_number(block, &like, 2, 1);
    append_orientation(block, &like, tag);
    append_number(block, &like, 4, 0);
    return block;
}
