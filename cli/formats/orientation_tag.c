/* SPDX-License-Identifier: MIT
 *
 * Finding and resetting the orientation tag in EXIF and XMP blocks.
 */
#define _GNU_SOURCE
#include "orientation_tag.h"

#include <string.h>

#include "tiff_block.h"

enum { TAG_ORIENTATION = 0x0112 };

static gboolean is_orientation(guint32 value) {
    return value >= 1 && value <= 8;
}

int exif_orientation(guint8 *block, gsize size, gboolean reset) {
    TiffBlock t;
    gsize entry = tiff_block_open(&t, block, size)
                      ? tiff_block_find(&t, tiff_block_number(&t, 4, 4), TAG_ORIENTATION)
                      : 0;
    guint32 value = entry ? tiff_block_value(&t, entry) : 0;
    if (!is_orientation(value))
        return 0;
    if (reset)
        tiff_block_set(&t, entry, 1);
    return (int)value;
}

gboolean exif_set_orientation(guint8 *block, gsize size, int orientation) {
    TiffBlock t;
    gsize entry = tiff_block_open(&t, block, size)
                      ? tiff_block_find(&t, tiff_block_number(&t, 4, 4), TAG_ORIENTATION)
                      : 0;
    return entry && tiff_block_set(&t, entry, (guint32)orientation);
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

/* Whether a name starts here, of an attribute or of an element that opens. */
static gboolean starts_name(const guint8 *packet, const guint8 *p) {
    return p > packet && (g_ascii_isspace(p[-1]) || p[-1] == '<');
}

/* The first that the packet states, or 0. All become `orientation`, unless that is 0. */
static int replace_in_xmp(guint8 *packet, gsize size, int orientation) {
    static const char name[] = "tiff:Orientation";
    const guint8 *end = packet + size, *p = packet;
    int found = 0;
    for (; (p = memmem(p, (gsize)(end - p), name, sizeof(name) - 1)); p += sizeof(name) - 1) {
        guint8 *digit = starts_name(packet, p) ? digit_after_name(p + sizeof(name) - 1, end) : NULL;
        if (digit && !found)
            found = *digit - '0';
        if (digit && orientation)
            *digit = (guint8)('0' + orientation);
    }
    return found;
}

int xmp_orientation(guint8 *packet, gsize size, gboolean reset) {
    return replace_in_xmp(packet, size, reset ? 1 : 0);
}

void xmp_set_orientation(guint8 *packet, gsize size, int orientation) {
    replace_in_xmp(packet, size, orientation);
}
