/* SPDX-License-Identifier: MIT
 *
 * In which order the pixels of a libvips image can be had.
 *
 * libvips marks every image opened for sequential access, and all that is made from it, although the
 * loader may be able to read anywhere. So the mark is followed upstream to the images that brought it.
 */
#include "read_order.h"

static gboolean has_pixels(const VipsImage *image) {
    return image->data || image->dtype == VIPS_IMAGE_OPENIN;
}

/* Whether the loader of an image that brought the mark reads from top to bottom. */
static gboolean loads_in_order(VipsImage *image) {
    const char *loader;
    if (!vips_image_get_typeof(image, VIPS_META_LOADER) ||
        vips_image_get_string(image, VIPS_META_LOADER, &loader))
        return TRUE;
    /* A TIFF's pages may differ, and libvips' flags speak of the first; the hint is the loaded page's. */
    if (g_str_has_prefix(loader, "tiffload"))
        return image->dhint != VIPS_DEMAND_STYLE_SMALLTILE;
    return !image->filename || !(vips_foreign_flags(loader, image->filename) & VIPS_FOREIGN_PARTIAL);
}

/* `upstream` is read without libvips' lock, which is private. An image's list is complete before anyone
 * else sees the image, except that a loader's first reading puts its own pixels in front. */
static gboolean walk(VipsImage *image, GHashTable *seen) {
    if (has_pixels(image) || !vips_image_is_sequential(image) || !g_hash_table_add(seen, image))
        return FALSE;
    gboolean brought_here = TRUE;
    for (GSList *p = image->upstream; p; p = p->next)
        if (vips_image_is_sequential(p->data)) {
            brought_here = FALSE;
            if (walk(p->data, seen))
                return TRUE;
        }
    return brought_here && loads_in_order(image);
}

gboolean tt_must_read_in_order(VipsImage *image) {
    GHashTable *seen = g_hash_table_new(NULL, NULL);
    gboolean in_order = walk(image, seen);
    g_hash_table_destroy(seen);
    return in_order;
}
