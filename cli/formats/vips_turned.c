/* SPDX-License-Identifier: MIT
 *
 * Fields and blocks of metadata.
 *
 * libvips holds EXIF twice, as a block and as fields that it reads from the block whenever that is set, and
 * writes one or both, as the format has it. So the block is turned first, and the fields that a turn changes
 * are those that libvips then reads from it; all others are the source's.
 */
#include "vips_turned.h"

#include <string.h>

#include "exif_turn.h"
#include "orientation_tag.h"
#include "xmp_sizes.h"

/* A copy of a block, to be changed; NULL if there is none. */
static guint8 *copy_block(VipsImage *image, const char *name, gsize *size) {
    const void *block;
    if (!vips.image_get_typeof(image, name) || vips.image_get_blob(image, name, &block, size) || !*size)
        return NULL;
    return g_memdup2(block, *size);
}

/* The thumbnail would show the picture as it was. */
static void set_turned_exif(VipsImage *from, const HeaderTurn *how, VipsImage *image) {
    guint width = (guint)how->width, height = (guint)how->height;
    gsize size;
    guint8 *block = copy_block(from, VIPS_META_EXIF_NAME, &size);
    if (!block)
        return;
    exif_turn(block, size, how->turn, width, height, width, height, how->upright);
    if (how->turn != TT_NONE)
        exif_drop_thumbnail(block, size);
    if (how->upright)
        exif_orientation(block, size, TRUE);
    vips.image_set_blob_copy(image, VIPS_META_EXIF_NAME, block, size);
    g_free(block);
}

static void set_turned_xmp(VipsImage *from, const HeaderTurn *how, VipsImage *image) {
    guint width = (guint)how->width, height = (guint)how->height;
    gsize size;
    guint8 *packet = copy_block(from, VIPS_META_XMP_NAME, &size);
    if (!packet)
        return;
    xmp_turn_sizes(packet, size, how->turn, width, height, width, height);
    if (how->upright)
        xmp_orientation(packet, size, TRUE);
    vips.image_set_blob_copy(image, VIPS_META_XMP_NAME, packet, size);
    g_free(packet);
}

/* A field that libvips reads from EXIF, and that a turn changes. */
static gboolean is_turned(const char *name) {
    static const char *const turned[] = {"-Orientation",           "-XResolution",
                                         "-YResolution",           "-PixelXDimension",
                                         "-PixelYDimension",       "-FocalPlaneXResolution",
                                         "-FocalPlaneYResolution", "-SubjectArea",
                                         "-SubjectLocation",       "-ImageWidth",
                                         "-ImageLength",           "-RelatedImageWidth",
                                         "-RelatedImageLength"};
    for (gsize i = 0; g_str_has_prefix(name, "exif-") && i < G_N_ELEMENTS(turned); i++)
        if (g_str_has_suffix(name, turned[i]))
            return TRUE;
    return FALSE;
}

/* A field that libvips has read from the turned EXIF, but that may say another thing in the source. */
static gboolean is_sources(const char *name) {
    return (g_str_has_prefix(name, "exif-ifd") && !is_turned(name)) || !strcmp(name, VIPS_META_ORIENTATION) ||
           !strcmp(name, VIPS_META_RESOLUTION_UNIT);
}

static void copy_fields(VipsImage *from, VipsImage *image) {
    char **names = vips.image_get_fields(from);
    for (char **name = names; *name; name++) {
        GValue value = {0};
        gboolean wanted = is_sources(*name) || !vips.image_get_typeof(image, *name);
        if (wanted && !vips.image_get(from, *name, &value)) {
            vips.image_set(image, *name, &value);
            vips.value_unset(&value);
        }
    }
    g_strfreev(names);
}

static void remove_with_prefix(VipsImage *image, const char *prefix) {
    char **names = vips.image_get_fields(image);
    for (char **name = names; *name; name++)
        if (g_str_has_prefix(*name, prefix))
            vips.image_remove(image, *name);
    g_strfreev(names);
}

/* Savers write EXIF's tag from libvips' own. */
static void reset_tag(VipsImage *image) {
    if (vips.image_get_typeof(image, VIPS_META_ORIENTATION))
        vips.image_set_int(image, VIPS_META_ORIENTATION, 1);
    vips.image_remove(image, "exif-ifd0-Orientation");
    vips.image_remove(image, "exif-ifd1-Orientation");
}

/* Removes what is not needed to show the picture. A tag that still has to be followed is written again. */
static void strip(VipsImage *image, TtOrientation tag) {
    static const char *const unneeded[] = {"exif-",       "xmp-",           "iptc-",
                                           "photoshop-",  "jpeg-thumbnail", "image-description",
                                           "png-comment", "orientation"};
    for (gsize i = 0; i < G_N_ELEMENTS(unneeded); i++)
        remove_with_prefix(image, unneeded[i]);
    if (tag != TT_NONE)
        vips.image_set_int(image, VIPS_META_ORIENTATION, (int)tag);
}

/* Radiance's shape of a pixel, a height through a width. */
static void turn_aspect(VipsImage *image) {
    double aspect;
    if (vips.image_get_typeof(image, "rad-aspect") && !vips.image_get_double(image, "rad-aspect", &aspect) &&
        aspect > 0)
        vips.image_set_double(image, "rad-aspect", 1 / aspect);
}

/* Where a place is, seen from the other end. Numbers that make no sense wrap, and turn back. */
static int mirrored(int size, int place) {
    return (int)((guint)size - (guint)place);
}

/* Where the origin went. */
static void turn_offsets(const VipsImage *from, TtOrientation turn, VipsImage *image) {
    gboolean swap = tt_swaps_axes(turn);
    int x = swap ? from->Yoffset : from->Xoffset, y = swap ? from->Xoffset : from->Yoffset;
    TtRect corner = tt_map_rect(turn, 2, 2, (TtRect){0, 0, 1, 1});
    image->Xoffset = corner.x ? mirrored(image->Xsize, x) : x;
    image->Yoffset = corner.y ? mirrored(image->Ysize, y) : y;
}

/* What EXIF says counts where the loader of the format says nothing. */
static void turn_resolution(const VipsImage *from, gboolean swap, VipsImage *image) {
    if (from->Xres == 1 && from->Yres == 1)
        return;
    image->Xres = swap ? from->Yres : from->Xres;
    image->Yres = swap ? from->Xres : from->Yres;
}

static void turn_metadata(VipsImage *from, const HeaderTurn *how, VipsImage *image) {
    set_turned_exif(from, how, image);
    set_turned_xmp(from, how, image);
    copy_fields(from, image);
    vips.image_remove(image, VIPS_META_SEQUENTIAL);
    if (how->turn != TT_NONE) {
        vips.image_remove(image, "jpeg-thumbnail-data");
        remove_with_prefix(image, "exif-ifd1-"); /* which describe it */
    }
    if (tt_swaps_axes(how->turn))
        turn_aspect(image);
    if (how->upright)
        reset_tag(image);
    if (how->strip)
        strip(image, how->tag);
}

VipsImage *vips_turned(VipsImage *from, const HeaderTurn *how) {
    VipsImage *image = vips.image_new();
    gboolean swap = tt_swaps_axes(how->turn);
    gsize width = swap ? how->height : how->width, height = swap ? how->width : how->height;
    vips.image_pipelinev(image, VIPS_DEMAND_STYLE_THINSTRIP, NULL);
    vips.image_init_fields(image, (int)width, (int)(height * how->pages), from->Bands, from->BandFmt,
                           from->Coding, from->Type, from->Xres, from->Yres);
    turn_metadata(from, how, image);
    if (how->pages > 1)
        vips.image_set_int(image, VIPS_META_PAGE_HEIGHT, (int)height);
    turn_offsets(from, how->turn, image);
    turn_resolution(from, swap, image);
    return image;
}
