/* SPDX-License-Identifier: MIT
 *
 * The orientation tag of an image whose pixels have been turned upright.
 *
 * The tag stands in up to four places: libvips' own field, the field made from EXIF, the block of EXIF
 * itself, from which those fields come back when an image is written to a .v file and read again, and the
 * block of XMP. In the blocks it becomes 1.
 */
#include "remove_tag.h"

#include <string.h>

#include "../cli/formats/orientation_tag.h"

/* The blob is shared with other images, so it is a copy that changes. */
static gboolean reset_blob(VipsImage *image, const char *name,
                           int (*orientation)(guint8 *, gsize, gboolean)) {
    const void *data;
    size_t size;
    if (vips_image_get_typeof(image, name) != VIPS_TYPE_BLOB ||
        vips_image_get_blob(image, name, &data, &size) || !size)
        return FALSE;
    guint8 *copy = g_malloc(size);
    memcpy(copy, data, size);
    gboolean found = orientation(copy, size, TRUE) != 0;
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
    if (reset_blob(out, VIPS_META_EXIF_NAME, exif_orientation))
        restore_fields(in, out);
    reset_blob(out, VIPS_META_XMP_NAME, xmp_orientation);
    vips_autorot_remove_angle(out);
}
