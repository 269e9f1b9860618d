/* SPDX-License-Identifier: MIT
 *
 * Turns to test, libvips' own to compare them with, and sources.
 */
#include "turns.h"

#include <gmodule.h>
#include <string.h>
#include <unistd.h>

/* By number, as EXIF numbers them. */
const char *const names[] = {NULL,        "none",  "fliph",      "rot180", "flipv",
                             "transpose", "rot90", "transverse", "rot270"};

static void ignore(const char *domain G_GNUC_UNUSED, GLogLevelFlags level G_GNUC_UNUSED,
                   const char *message G_GNUC_UNUSED, void *data G_GNUC_UNUSED) {}

/* For what libvips warns of, and tests do on purpose. */
guint ignore_warnings(void) {
    g_log_set_always_fatal(G_LOG_LEVEL_ERROR);
    return g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING, ignore, NULL);
}

void heed_warnings(guint handler) {
    g_log_remove_handler("VIPS", handler);
    g_log_set_always_fatal(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
}

gboolean swaps(int o) {
    return o >= 5;
}

void expect_ok(int result) {
    if (result)
        g_error("libvips: %s", vips_error_buffer());
}

int by_name(const char *orientation) {
    int value = vips_enum_from_nick("test", g_type_from_name("TtOrientation"), orientation);
    g_assert_cmpint(value, >=, 0);
    return value;
}

VipsImage *turn(VipsImage *in, const char *orientation) {
    VipsImage *out = NULL;
    expect_ok(vips_call("tt_transpose", in, &out, "orientation", by_name(orientation), NULL));
    return out;
}

/* What libvips makes of it, in its own steps. */
VipsImage *turn_by_libvips(VipsImage *in, int o) {
    static const VipsAngle angles[] = {
        0, 0, 0, VIPS_ANGLE_D180, 0, VIPS_ANGLE_D90, VIPS_ANGLE_D90, VIPS_ANGLE_D270, VIPS_ANGLE_D270};
    VipsImage *turned, *flipped;
    expect_ok(vips_rot(in, &turned, angles[o], NULL));
    if (o != 2 && o != 4 && o != 5 && o != 7)
        return turned;
    expect_ok(
        vips_flip(turned, &flipped, o == 4 ? VIPS_DIRECTION_VERTICAL : VIPS_DIRECTION_HORIZONTAL, NULL));
    g_object_unref(turned);
    return flipped;
}

void expect_same_pixels(VipsImage *a, VipsImage *b, const char *what) {
    size_t a_size, b_size;
    void *a_data = vips_image_write_to_memory(a, &a_size), *b_data = vips_image_write_to_memory(b, &b_size);
    if (!a_data || !b_data)
        g_error("%s: %s", what, vips_error_buffer());
    if (a->Xsize != b->Xsize || a->Ysize != b->Ysize || a->Bands != b->Bands || a->BandFmt != b->BandFmt ||
        a->Coding != b->Coding || a->Type != b->Type || a_size != b_size)
        g_error("%s: %d x %d x %d (%zu bytes) instead of %d x %d x %d (%zu bytes)", what, a->Xsize, a->Ysize,
                a->Bands, a_size, b->Xsize, b->Ysize, b->Bands, b_size);
    if (memcmp(a_data, b_data, a_size))
        g_error("%s: pixels differ", what);
    g_free(a_data);
    g_free(b_data);
}

/* ---- Sources --------------------------------------------------------------------------------------- */

/* Random bytes of any format; compared as bytes, so no value is out of place. */
VipsImage *noise(int width, int height, int bands, VipsBandFormat format) {
    static guint32 state = 1;
    size_t size = (size_t)width * height * bands * vips_format_sizeof(format);
    guint8 *data = g_malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (guint8)((state = state * 1664525 + 1013904223) >> 24);
    VipsImage *image = vips_image_new_from_memory_copy(data, size, width, height, bands, format);
    g_free(data);
    return image;
}

static int read_strictly(VipsRegion *out, void *seq, void *a G_GNUC_UNUSED, void *b,
                         gboolean *stop G_GNUC_UNUSED) {
    Reader *reader = b;
    if (out->valid.top != reader->next || out->valid.width != out->im->Xsize) {
        vips_error("reader", "out of order read at line %d", out->valid.top);
        return -1;
    }
    reader->next += out->valid.height;
    if (vips_region_prepare(seq, &out->valid) || vips_region_region(out, seq, &out->valid, 0, out->valid.top))
        return -1;
    return 0;
}

/* As libvips' own loaders are when opened for sequential access: each row once, from top to bottom. */
VipsImage *in_order(VipsImage *in) {
    VipsImage *strict = vips_image_new(), *image;
    Reader *reader = g_new0(Reader, 1);
    g_object_set_data_full(G_OBJECT(strict), "reader", reader, g_free);
    g_object_ref(in);
    vips_object_local(strict, in);
    expect_ok(vips_image_pipelinev(strict, VIPS_DEMAND_STYLE_THINSTRIP, in, NULL));
    expect_ok(vips_image_generate(strict, vips_start_one, read_strictly, vips_stop_one, in, reader));
    expect_ok(vips_sequential(strict, &image, "tile_height", 8, NULL));
    g_object_unref(strict);
    vips_image_set_int(image, VIPS_META_SEQUENTIAL, 1);
    g_object_set_data(G_OBJECT(image), "reader", reader);
    return image;
}

char *temporary(const char *suffix) {
    return g_strdup_printf("%s/tt-%d%s", g_get_tmp_dir(), (int)getpid(), suffix);
}

void start(int *argc, char ***argv) {
    g_test_init(argc, argv, NULL);
    if (VIPS_INIT((*argv)[0]))
        g_error("libvips: %s", vips_error_buffer());
    /* Twice: the second time does nothing. */
    for (int i = 0; i < 2; i++)
        if (*argc != 2 || !g_module_open((*argv)[1], G_MODULE_BIND_LAZY))
            g_error("%s MODULE: %s", (*argv)[0], *argc == 2 ? g_module_error() : "which?");
    g_type_class_ref(g_type_from_name("TtTranspose")); /* registers the orientations */
}

int finish(void) {
    int result = g_test_run();
    vips_shutdown();
    return result;
}
