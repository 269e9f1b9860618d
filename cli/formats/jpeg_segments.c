/* SPDX-License-Identifier: MIT
 *
 * JFIF, EXIF, XMP, Photoshop's resources, and the rest, which is kept to the byte.
 */
#include "jpeg_segments.h"

#include <string.h>

#include "../say.h"
#include "exif_turn.h"
#include "jpeg_turn.h"
#include "orientation_tag.h"
#include "photoshop_turn.h"
#include "xmp_sizes.h"

enum { APP0 = JPEG_APP0, APP1 = JPEG_APP0 + 1, APP2 = JPEG_APP0 + 2, APP13 = JPEG_APP0 + 13 };

#define BEGINS(text) (size >= sizeof(text) - 1 && !memcmp(data, text, sizeof(text) - 1))

gboolean jpeg_is_exif(int marker, const guint8 *data, gsize size) {
    return marker == APP1 && BEGINS("Exif\0\0");
}

gboolean jpeg_is_xmp(int marker, const guint8 *data, gsize size) {
    return marker == APP1 && BEGINS("http://ns.adobe.com/xap/1.0/\0");
}

gboolean jpeg_is_index(int marker, const guint8 *data, gsize size) {
    return marker == APP2 && BEGINS("MPF\0");
}

gboolean jpeg_is_needed(int marker, const guint8 *data, gsize size) {
    return (marker == APP0 && BEGINS("JFIF\0")) || (marker == APP2 && BEGINS("ICC_PROFILE\0")) ||
           (marker == JPEG_APP0 + 14 && BEGINS("Adobe"));
}

void jpeg_segments_save(j_decompress_ptr from) {
    jpeg_save_markers(from, JPEG_COM, 0xffff);
    for (int i = 0; i < 16; i++)
        jpeg_save_markers(from, JPEG_APP0 + i, 0xffff);
}

void jpeg_mark_unscanned(j_decompress_ptr from) {
    for (int i = 0; i < from->num_components; i++) {
        jpeg_component_info *c = &from->comp_info[i];
        gboolean scanned = FALSE;
        for (int k = 0; k < from->comps_in_scan; k++)
            scanned |= from->cur_comp_info[k] == c;
        if (!scanned)
            c->dc_tbl_no = c->ac_tbl_no = -1;
    }
}

int jpeg_segments_orientation(j_decompress_ptr from) {
    int exif = 0, xmp = 0;
    for (jpeg_saved_marker_ptr m = from->marker_list; m; m = m->next) {
        if (!exif && jpeg_is_exif(m->marker, m->data, m->data_length))
            exif = exif_orientation(m->data, m->data_length, FALSE);
        if (!xmp && jpeg_is_xmp(m->marker, m->data, m->data_length))
            xmp = xmp_orientation(m->data + XMP_NAME, m->data_length - XMP_NAME, FALSE);
    }
    return exif ? exif : xmp;
}

/* Density and a small picture of bare RGB. */
static void turn_jfif(guint8 *data, gsize size, TtOrientation turn) {
    enum { DENSITY = 8, SIDES = 12, PICTURE = 14 };
    if (size < PICTURE)
        return;
    gsize width = data[SIDES], height = data[SIDES + 1], bytes = 3 * width * height;
    if (bytes && bytes <= size - PICTURE) {
        gboolean swap = tt_swaps_axes(turn) != 0;
        guint8 *old = g_memdup2(data + PICTURE, bytes);
        TtImage from = tt_image(old, (ptrdiff_t)(3 * width), width, height, 3, 8);
        TtImage to = tt_image(data + PICTURE, (ptrdiff_t)(3 * (swap ? height : width)), swap ? height : width,
                              swap ? width : height, 3, 8);
        TtOptions options = {.struct_size = sizeof(options), .threads = 1};
        tt_orient(&from, &to, turn, &options);
        g_free(old);
    }
    if (!tt_swaps_axes(turn))
        return;
    data[SIDES] = (guint8)height;
    data[SIDES + 1] = (guint8)width;
    for (int i = 0; i < 2; i++) {
        guint8 across = data[DENSITY + i];
        data[DENSITY + i] = data[DENSITY + 2 + i];
        data[DENSITY + 2 + i] = across;
    }
}

static void turn_thumbnail(guint8 *data, gsize size, const SegmentsTurn *how) {
    guint8 *thumbnail;
    gsize bytes, used = 0;
    if (how->turn == TT_NONE || !exif_thumbnail(data, size, &thumbnail, &bytes))
        return;
    if (thumbnail) {
        guint8 *turned = g_malloc(bytes);
        if ((used = jpeg_turn_within(thumbnail, bytes, how->turn, turned)))
            exif_set_thumbnail(data, size, turned, used);
        g_free(turned);
    }
    if (used)
        return;
    exif_drop_thumbnail(data, size);
    say_note(how->path, "its thumbnail cannot be turned within its place, left out");
}

static void turn_segment(int marker, guint8 *data, gsize *size, const SegmentsTurn *how) {
    if (jpeg_is_exif(marker, data, *size)) {
        exif_turn(data, *size, how->turn, how->width, how->height, how->kept_width, how->kept_height,
                  how->state_tag);
        turn_thumbnail(data, *size, how);
        if (how->state_tag)
            exif_set_orientation(data, *size, (int)how->tag);
    } else if (jpeg_is_xmp(marker, data, *size)) {
        if (how->state_tag)
            xmp_set_orientation(data + XMP_NAME, *size - XMP_NAME, (int)how->tag);
        xmp_turn_sizes(data + XMP_NAME, *size - XMP_NAME, how->turn, how->width, how->height, how->kept_width,
                       how->kept_height);
    } else if (marker == APP0 && jpeg_is_needed(marker, data, *size)) {
        turn_jfif(data, *size, how->turn);
    } else if (marker == APP13 && how->turn != TT_NONE) {
        gsize whole = *size;
        if ((*size = photoshop_turn(data, whole, tt_swaps_axes(how->turn) != 0)) < whole)
            say_note(how->path, "its Photoshop thumbnail shows the picture as it was, left out");
    }
}

/* A small picture as it was before the turn, in a segment of its own. */
static gboolean is_stale(int marker, const guint8 *data, gsize size, const SegmentsTurn *how) {
    return how->turn != TT_NONE && marker == APP0 && BEGINS("JFXX\0");
}

static gboolean is_left_out(int marker, const guint8 *data, gsize size, const SegmentsTurn *how) {
    if (is_stale(marker, data, size, how)) {
        say_note(how->path, "its JFXX thumbnail shows the picture as it was, left out");
        return TRUE;
    }
    return jpeg_is_index(marker, data, size) || (how->strip && !jpeg_is_needed(marker, data, size));
}

/* A stripped file whose tag still has to be followed. */
static void write_tag(j_compress_ptr to, TtOrientation tag) {
    GByteArray *block = exif_of_orientation(tag);
    guint8 bytes[64];
    guint size = MIN(block->len, sizeof(bytes));
    memcpy(bytes, block->data, size);
    g_byte_array_unref(block); /* before libjpeg might jump */
    jpeg_write_marker(to, APP1, bytes, size);
}

void jpeg_segments_write(j_decompress_ptr from, j_compress_ptr to, const SegmentsTurn *how) {
    int tag = how->state_tag ? (int)how->tag : jpeg_segments_orientation(from);
    gboolean tagged = !how->strip || tag <= TT_NONE;
    for (jpeg_saved_marker_ptr m = from->marker_list; m; m = m->next) {
        if (!tagged && m->marker != APP0) {
            write_tag(to, (TtOrientation)tag);
            tagged = TRUE;
        }
        if (is_left_out(m->marker, m->data, m->data_length, how))
            continue;
        gsize size = m->data_length;
        guint8 *data = to->mem->alloc_large((j_common_ptr)to, JPOOL_IMAGE, size + 1);
        memcpy(data, m->data, size);
        turn_segment(m->marker, data, &size, how);
        jpeg_write_marker(to, m->marker, data, (guint)size);
    }
    if (!tagged)
        write_tag(to, (TtOrientation)tag);
}
