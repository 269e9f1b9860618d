/* SPDX-License-Identifier: MIT
 *
 * The places where an orientation tag stands.
 *
 * There are up to five: libvips' own field, the field made from EXIF, the block of EXIF itself, from which
 * those fields come back when an image is written to a .v file and read again, the block of XMP, and texts of
 * a PNG that hold such blocks.
 */
#include "image_tag.h"

#include <string.h>

#include "../cli/formats/orientation_tag.h"
#include "../cli/formats/text_blocks.h"

/* ---- What it says -------------------------------------------------------------------------------------- */

static int tag_of_blob(VipsImage *image, const char *name, int (*orientation)(guint8 *, gsize, gboolean)) {
    const void *data;
    size_t size;
    return vips_image_get_typeof(image, name) == VIPS_TYPE_BLOB &&
                   !vips_image_get_blob(image, name, &data, &size)
               ? orientation((guint8 *)data, size, FALSE)
               : 0;
}

/* libvips calls a text of a PNG "png-comment-", a number, "-" and its keyword. NULL for other fields. */
static const char *keyword_of(const char *name) {
    static const char prefix[] = "png-comment-";
    const char *end = g_str_has_prefix(name, prefix) ? strchr(name + sizeof(prefix) - 1, '-') : NULL;
    return end && text_may_hold_block(end + 1) ? end + 1 : NULL;
}

typedef struct {
    int rank, tag;
} Statement;

static void note_block(const Block *block, void *user) {
    Statement *best = user;
    int tag = block->xmp ? xmp_orientation(block->data, block->size, FALSE)
                         : exif_orientation(block->data, block->size, FALSE);
    if (tag && block->rank > best->rank)
        *best = (Statement){block->rank, tag};
}

static void *note_text(VipsImage *image, const char *name, GValue *value G_GNUC_UNUSED, void *best) {
    const char *keyword = keyword_of(name), *text;
    if (!keyword || vips_image_get_string(image, name, &text))
        return NULL;
    char *copy = g_strdup(text);
    text_blocks_visit(keyword, (guint8 *)copy, strlen(copy), note_block, best);
    g_free(copy);
    return NULL;
}

/* Whether the loader has turned the picture, so that by the format's standard any tag means nothing. */
static gboolean is_upright(VipsImage *in) {
    const char *loader;
    return vips_image_get_typeof(in, VIPS_META_LOADER) &&
           !vips_image_get_string(in, VIPS_META_LOADER, &loader) &&
           (g_str_has_prefix(loader, "heif") || g_str_has_prefix(loader, "jxl"));
}

/* libvips makes its field from EXIF alone. Where EXIF states a tag and there is no field, somebody has turned
 * the picture and removed it; where EXIF states none, the other places speak. */
TtOrientation tt_image_tag(VipsImage *in) {
    if (vips_image_get_typeof(in, VIPS_META_ORIENTATION))
        return (TtOrientation)vips_image_get_orientation(in);
    if (is_upright(in) || tag_of_blob(in, VIPS_META_EXIF_NAME, exif_orientation))
        return TT_NONE;
    Statement best = {RANK_XMP, tag_of_blob(in, VIPS_META_XMP_NAME, xmp_orientation)};
    if (!best.tag)
        best.rank = 0;
    vips_image_map(in, note_text, &best);
    return best.tag ? (TtOrientation)best.tag : TT_NONE;
}

/* ---- Its removal --------------------------------------------------------------------------------------- */

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

static void reset_block(const Block *block, void *user G_GNUC_UNUSED) {
    if (block->xmp)
        xmp_orientation(block->data, block->size, TRUE);
    else
        exif_orientation(block->data, block->size, TRUE);
}

static void reset_text(VipsImage *image, const char *name) {
    const char *keyword = keyword_of(name), *text;
    if (!keyword || vips_image_get_string(image, name, &text))
        return;
    char *copy = g_strdup(text);
    text_blocks_visit(keyword, (guint8 *)copy, strlen(copy), reset_block, NULL);
    if (strcmp(copy, text))
        vips_image_set_string(image, name, copy);
    g_free(copy);
}

static void reset_texts(VipsImage *image) {
    char **names = vips_image_get_fields(image);
    for (char **name = names; *name; name++)
        reset_text(image, *name);
    g_strfreev(names);
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

void tt_image_remove_tag(VipsImage *in, VipsImage *out) {
    if (reset_blob(out, VIPS_META_EXIF_NAME, exif_orientation))
        restore_fields(in, out);
    reset_blob(out, VIPS_META_XMP_NAME, xmp_orientation);
    reset_texts(out);
    vips_autorot_remove_angle(out);
}
