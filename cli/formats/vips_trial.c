/* SPDX-License-Identifier: MIT
 *
 * The trial of metadata.
 *
 * EXIF is what it is for: libvips' savers have libexif read it and write it anew, in another order, without
 * what libexif does not know, and with makers' notes that point to where something was before.
 */
#include "vips_trial.h"

#include <string.h>

#include "tiff_block.h"

/* ---- Comparing ---------------------------------------------------------------------------------------- */

static void blank_directory(const TiffBlock *t, gsize directory, gboolean nested) {
    enum { ORIENTATION = 0x112, X_RESOLUTION = 0x11a, Y_RESOLUTION, UNIT = 0x128, NESTED = 0x8769 };
    enum { WIDTH = 0xa002, HEIGHT };
    gsize end = tiff_block_next(t, directory);
    for (gsize entry = directory + 2; entry < MIN(end, t->size); entry += TIFF_ENTRY) {
        gsize value = tiff_block_number(t, entry + 8, 4);
        switch (tiff_block_number(t, entry, 2)) {
        case ORIENTATION:
        case UNIT:
        case WIDTH:
        case HEIGHT:
            tiff_block_put(t, entry + 2, 2, 0); /* a number of 16 bits or 32 */
            tiff_block_put(t, entry + 8, 4, 0);
            break;
        case X_RESOLUTION:
        case Y_RESOLUTION:
            tiff_block_put(t, value, 4, 0);
            tiff_block_put(t, value + 4, 4, 0);
            break;
        case NESTED:
            if (!nested)
                blank_directory(t, value, TRUE);
        }
    }
}

/* A copy of EXIF with 0 for each number that a turn changes. */
static GBytes *exif_without_numbers(const guint8 *block, gsize size) {
    guint8 *copy = g_memdup2(block, size);
    TiffBlock t;
    if (!tiff_block_open(&t, copy, size))
        return g_bytes_new_take(copy, size);
    blank_directory(&t, tiff_block_number(&t, 4, 4), FALSE);
    GBytes *bytes = g_bytes_new(t.data, t.size); /* with or without "Exif" in front */
    g_free(copy);
    return bytes;
}

static gboolean same_exif(const void *a, gsize a_size, const void *b, gsize b_size) {
    GBytes *first = exif_without_numbers(a, a_size), *second = exif_without_numbers(b, b_size);
    gboolean same = g_bytes_equal(first, second);
    g_bytes_unref(first);
    g_bytes_unref(second);
    return same;
}

static gboolean has_blob(VipsImage *image, const char *name, const void **data, gsize *size) {
    return vips.image_get_typeof(image, name) && !vips.image_get_blob(image, name, data, size);
}

/* ---- Saving and loading ------------------------------------------------------------------------------- */

static int paint_black(VipsRegion *out, void *seq, void *a, void *b, gboolean *stop) {
    (void)seq, (void)a, (void)b, (void)stop;
    for (int y = 0; y < out->valid.height; y++)
        memset(out->data + (gsize)y * (gsize)out->bpl, 0, (gsize)out->bpl);
    return 0;
}

/* Large enough for every encoder. */
static VipsImage *small_picture(VipsImage *image) {
    enum { EDGE = 64 };
    VipsImage *small = vips.image_new();
    vips.image_pipelinev(small, VIPS_DEMAND_STYLE_THINSTRIP, NULL);
    vips.image_init_fields(small, EDGE, EDGE, image->Bands, image->BandFmt, image->Coding, image->Type,
                           image->Xres, image->Yres);
    copy_metadata(image, small);
    vips.image_remove(small, VIPS_META_SEQUENTIAL);
    vips.image_remove(small, VIPS_META_PAGE_HEIGHT);
    vips.image_generate(small, NULL, paint_black, NULL, NULL, NULL);
    return small;
}

/* libvips' operation for memory, beside one for a target or a source. */
static VipsOperation *operation_in_memory(const char *nickname) {
    char *name = g_strdup_printf("%.*s_buffer", (int)strcspn(nickname, "_"), nickname);
    VipsOperation *operation = vips.operation_new(name);
    g_free(name);
    return operation;
}

static VipsBlob *save(VipsImage *image, const ForeignFormat *format, const char *options) {
    VipsBlob *saved = NULL;
    VipsOperation *operation = operation_in_memory(format->save);
    if (!operation)
        return NULL;
    vips.object_set(operation, "in", image, NULL);
    if (!vips.object_set_from_string((VipsObject *)operation, options) &&
        !vips.object_build((VipsObject *)operation))
        vips.object_get(operation, "buffer", &saved, NULL);
    vips.object_unref_outputs((VipsObject *)operation);
    vips.object_unref(operation);
    return saved;
}

static VipsImage *load(VipsBlob *saved, const ForeignFormat *format) {
    VipsImage *image = NULL;
    VipsOperation *operation = operation_in_memory(format->load);
    if (!operation)
        return NULL;
    vips.object_set(operation, "buffer", saved, NULL);
    if (!vips.object_build((VipsObject *)operation))
        vips.object_get(operation, "out", &image, NULL);
    vips.object_unref_outputs((VipsObject *)operation);
    vips.object_unref(operation);
    return image;
}

/* NULL if libvips cannot do even that, of which saving the picture itself will tell. */
static VipsImage *save_and_load(VipsImage *image, const ForeignFormat *format, const char *options) {
    VipsImage *small = small_picture(image), *back = NULL;
    VipsBlob *saved = save(small, format, options);
    if (saved) {
        back = load(saved, format);
        vips.area_unref((VipsArea *)saved);
    }
    vips.object_unref(small);
    vips.error_clear();
    return back;
}

/* ---- The trial ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *loss;
} kinds[] = {
    {VIPS_META_EXIF_NAME,
     "whose EXIF libvips writes anew, so that camera makers' notes and unknown tags may be lost"},
    {VIPS_META_XMP_NAME, "whose XMP libvips does not keep"},
    {VIPS_META_IPTC_NAME, "whose IPTC data libvips does not keep"},
    {VIPS_META_ICC_NAME, "whose colour profile libvips does not keep"},
};

static gboolean has_metadata(VipsImage *image) {
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (vips.image_get_typeof(image, kinds[i].name))
            return TRUE;
    return FALSE;
}

static gboolean same_blob(const char *name, VipsImage *image, VipsImage *back) {
    const void *data, *other;
    gsize size, other_size;
    if (!has_blob(image, name, &data, &size))
        return TRUE;
    if (!has_blob(back, name, &other, &other_size))
        return FALSE;
    return !strcmp(name, VIPS_META_EXIF_NAME) ? same_exif(data, size, other, other_size)
                                              : size == other_size && !memcmp(data, other, size);
}

char *trial_of_metadata(const ForeignFormat *format, const char *options, VipsImage *image) {
    VipsImage *back = has_metadata(image) ? save_and_load(image, format, options) : NULL;
    const char *lost[G_N_ELEMENTS(kinds) + 1] = {NULL};
    gsize n = 0;
    if (!back)
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (!same_blob(kinds[i].name, image, back))
            lost[n++] = kinds[i].loss;
    vips.object_unref(back);
    return n ? g_strjoinv(", ", (char **)lost) : NULL;
}
