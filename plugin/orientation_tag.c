/* SPDX-License-Identifier: MIT
 *
 * The orientation tag of an image whose pixels have been turned upright.
 *
 * The tag stands in up to four places: libvips' own field, the field made from EXIF, the block of EXIF
 * itself, from which those fields come back when an image is written to a .v file and read again, and the
 * block of XMP. In the blocks it becomes 1.
 */
#include "orientation_tag.h"

#include <string.h>

static unsigned get(const guint8 *p, gboolean big_endian, int bytes) {
    unsigned value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (unsigned)p[i] << 8 * (big_endian ? bytes - 1 - i : i);
    return value;
}

/* Sets the orientation in the first directory of a block of EXIF to 1, if there is one. */
static gboolean reset_exif(guint8 *exif, size_t size) {
    enum { ENTRY = 12, TAG_ORIENTATION = 0x112, TYPE_SHORT = 3 };
    if (size > 6 && !memcmp(exif, "Exif\0", 6)) {
        exif += 6;
        size -= 6;
    }
    if (size < 14 || (memcmp(exif, "II*", 4) && memcmp(exif, "MM\0*", 4)))
        return FALSE;
    gboolean big_endian = *exif == 'M';
    size_t directory = get(exif + 4, big_endian, 4);
    if (directory > size - 2)
        return FALSE;
    size_t entries = get(exif + directory, big_endian, 2);
    for (size_t at = directory + 2; entries && at + ENTRY <= size; entries--, at += ENTRY)
        if (get(exif + at, big_endian, 2) == TAG_ORIENTATION &&
            get(exif + at + 2, big_endian, 2) == TYPE_SHORT) {
            exif[at + 8] = !big_endian;
            exif[at + 9] = big_endian;
            return TRUE;
        }
    return FALSE;
}

/* XMP has it as an attribute, tiff:Orientation="6", or as an element, <tiff:Orientation>6<. */
static gboolean reset_xmp(guint8 *xmp, size_t size) {
    static const char name[] = "tiff:Orientation";
    const size_t length = sizeof(name) - 1;
    gboolean found = FALSE;
    for (size_t i = 0; i + length < size; i++) {
        if (memcmp(xmp + i, name, length) || (i && xmp[i - 1] == '/')) /* not after an element's end */
            continue;
        size_t at = i + length;
        while (at < size && memchr(" \t\r\n=\"'>", xmp[at], 8))
            at++;
        if (at > i + length && at < size && xmp[at] >= '2' && xmp[at] <= '8') {
            xmp[at] = '1';
            found = TRUE;
        }
    }
    return found;
}

/* The blob is shared with other images, so it is a copy that changes. */
static gboolean reset_blob(VipsImage *image, const char *name, gboolean (*reset)(guint8 *, size_t)) {
    const void *data;
    size_t size;
    if (vips_image_get_typeof(image, name) != VIPS_TYPE_BLOB ||
        vips_image_get_blob(image, name, &data, &size) || !size)
        return FALSE;
    guint8 *copy = g_malloc(size);
    memcpy(copy, data, size);
    gboolean found = reset(copy, size);
    if (found)
        vips_image_set_blob_copy(image, name, copy, size);
    g_free(copy);
    return found;
}

/* A field that libvips makes from the block of EXIF. */
static gboolean is_from_exif(const char *name) {
    return g_str_has_prefix(name, "exif-ifd") || !strcmp(name, "jpeg-thumbnail-data") ||
           !strcmp(name, VIPS_META_RESOLUTION_UNIT);
}

static void *copy_if_from_exif(VipsImage *in G_GNUC_UNUSED, const char *name, GValue *value, void *out) {
    if (is_from_exif(name))
        vips_image_set(out, name, value);
    return NULL;
}

/* Setting the block makes libvips read it anew, resolution included. The fields of `in` are what counts:
 * they may have been changed, or removed, since. */
static void restore_fields(VipsImage *in, VipsImage *out) {
    char **names = vips_image_get_fields(out);
    for (char **name = names; *name; name++)
        if (is_from_exif(*name))
            vips_image_remove(out, *name);
    g_strfreev(names);
    vips_image_map(in, copy_if_from_exif, out);
    out->Xres = in->Xres;
    out->Yres = in->Yres;
}

void tt_remove_orientation_tag(VipsImage *in, VipsImage *out) {
    if (!vips_image_get_typeof(in, VIPS_META_ORIENTATION))
        return;
    if (reset_blob(out, VIPS_META_EXIF_NAME, reset_exif))
        restore_fields(in, out);
    reset_blob(out, VIPS_META_XMP_NAME, reset_xmp);
    vips_autorot_remove_angle(out);
}
