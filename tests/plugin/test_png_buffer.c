/* SPDX-License-Identifier: MIT
 *
 * PNGs in memory, against libvips' own load and save operations. With TT_PNG=1 libvips chooses ours by
 * itself.
 *
 *     test_png_buffer MODULE
 */
#include <stdlib.h>
#include <string.h>

#include "turns.h"

static const struct {
    int bands;
    VipsBandFormat format;
    VipsInterpretation interpretation;
} kinds[] = {
    {1, VIPS_FORMAT_UCHAR, VIPS_INTERPRETATION_B_W},     {2, VIPS_FORMAT_UCHAR, VIPS_INTERPRETATION_B_W},
    {3, VIPS_FORMAT_UCHAR, VIPS_INTERPRETATION_sRGB},    {4, VIPS_FORMAT_UCHAR, VIPS_INTERPRETATION_sRGB},
    {1, VIPS_FORMAT_USHORT, VIPS_INTERPRETATION_GREY16}, {3, VIPS_FORMAT_USHORT, VIPS_INTERPRETATION_RGB16},
    {4, VIPS_FORMAT_USHORT, VIPS_INTERPRETATION_RGB16},
};

static VipsImage *picture(size_t i) {
    VipsImage *plain = noise(67, 45, kinds[i].bands, kinds[i].format), *image;
    expect_ok(vips_copy(plain, &image, "interpretation", kinds[i].interpretation, NULL));
    g_object_unref(plain);
    return image;
}

static void test_save(void) {
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        VipsImage *in = picture(i), *back;
        VipsBlob *blob;
        size_t size;
        expect_ok(vips_call("tt_pngsave_buffer", in, &blob, NULL));
        const void *data = vips_blob_get(blob, &size);
        expect_ok(vips_call("pngload_buffer", blob, &back, NULL));
        g_assert_cmpmem(data, 8, "\x89PNG\r\n\x1a\n", 8);
        expect_same_pixels(back, in, "saved by us, loaded by libvips");
        g_object_unref(back);
        vips_area_unref(VIPS_AREA(blob));
        g_object_unref(in);
    }
}

static void test_load(void) {
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        VipsImage *in = picture(i), *back;
        VipsBlob *blob;
        expect_ok(vips_call("pngsave_buffer", in, &blob, NULL));
        expect_ok(vips_call("tt_pngload_buffer", blob, &back, NULL));
        expect_same_pixels(back, in, "saved by libvips, loaded by us");
        g_object_unref(back);
        vips_area_unref(VIPS_AREA(blob));
        g_object_unref(in);
    }
}

/* By its first bytes alone. */
static void test_choice(void) {
    const char *chosen = getenv("TT_PNG"), *loader;
    gboolean is_ours = chosen && !strcmp(chosen, "1");
    VipsImage *in = picture(2), *out;
    void *data, *other;
    size_t size, other_size;
    expect_ok(vips_pngsave_buffer(in, &data, &size, NULL));
    if (!(out = vips_image_new_from_buffer(data, size, "", NULL)))
        g_error("%s", vips_error_buffer());
    expect_ok(vips_image_get_string(out, VIPS_META_LOADER, &loader));
    g_assert_cmpint(g_str_has_prefix(loader, "tt_pngload"), ==, is_ours);
    g_assert_cmpint(strstr(loader, "pngload") != NULL, ==, TRUE);
    expect_same_pixels(out, in, "chosen");
    g_object_unref(out);

    expect_ok(vips_tiffsave_buffer(in, &other, &other_size, NULL));
    if (!(out = vips_image_new_from_buffer(other, other_size, "", NULL)))
        g_error("%s", vips_error_buffer());
    expect_ok(vips_image_get_string(out, VIPS_META_LOADER, &loader));
    g_assert_cmpint(g_str_has_prefix(loader, "tiffload"), ==, TRUE);
    g_object_unref(out);
    g_free(data);
    g_free(other);
    g_object_unref(in);
}

static void test_damage(void) {
    VipsImage *in = picture(3), *out;
    void *data;
    size_t size;
    double mean;
    guint warned = ignore_warnings();
    expect_ok(vips_pngsave_buffer(in, &data, &size, NULL));
    for (size_t left = 0; left < size - 100; left += size / 9) {
        VipsBlob *blob = vips_blob_copy(data, left);
        vips_error_clear();
        int failed = vips_call("tt_pngload_buffer", blob, &out, "fail_on", VIPS_FAIL_ON_TRUNCATED, NULL);
        if (!failed) {
            failed = vips_avg(out, &mean, NULL);
            g_object_unref(out);
        }
        if (!failed || !strstr(vips_error_buffer(), "tt_pngload"))
            g_error("%zu of %zu bytes: %s", left, size, failed ? vips_error_buffer() : "no error");
        vips_area_unref(VIPS_AREA(blob));
    }
    vips_error_clear();
    heed_warnings(warned);
    g_free(data);
    g_object_unref(in);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    g_test_add_func("/save", test_save);
    g_test_add_func("/load", test_load);
    g_test_add_func("/choice", test_choice);
    g_test_add_func("/damage", test_damage);
    return finish();
}
