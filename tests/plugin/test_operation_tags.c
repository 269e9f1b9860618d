/* SPDX-License-Identifier: MIT
 *
 * The orientation auto: it obeys the tags that a picture has, and takes them away.
 *
 *     test_operation_tags MODULE
 */
#include <string.h>

#include "turns.h"

/* The smallest block of EXIF with an orientation: one directory of two entries, the other a resolution unit.
 */
static const guint8 exif_little[] = "Exif\0\0II*\0\x08\0\0\0\x02\0"
                                    "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
                                    "\x28\x01\x03\0\x01\0\0\0\x03\0\0\0\0\0\0\0";
static const guint8 exif_big[] = "Exif\0\0MM\0*\0\0\0\x08\0\x02"
                                 "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"
                                 "\x01\x28\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0";

static void expect_blob(VipsImage *image, const char *name, const void *data, size_t size) {
    const void *blob;
    size_t length;
    expect_ok(vips_image_get_blob(image, name, &blob, &length));
    g_assert_cmpmem(blob, length, data, size);
}

static void test_auto(void) {
    for (int tag = 0; tag <= 9; tag++) {
        VipsImage *in = noise(7, 4, 3, VIPS_FORMAT_UCHAR);
        if (tag)
            vips_image_set_int(in, VIPS_META_ORIENTATION, tag);
        VipsImage *out = turn(in, "auto"), *again = turn(out, "auto");
        VipsImage *reference = turn_by_libvips(in, tag >= 1 && tag <= 8 ? tag : 1);
        expect_same_pixels(out, reference, "auto");
        expect_same_pixels(again, reference, "auto again");
        g_assert_cmpint(vips_image_get_typeof(out, VIPS_META_ORIENTATION), ==, 0);
        g_object_unref(reference);
        g_object_unref(again);
        g_object_unref(out);
        g_object_unref(in);
    }
}

static void test_auto_exif(void) {
    for (int big = 0; big <= 1; big++) {
        const guint8 *block = big ? exif_big : exif_little;
        size_t size = sizeof(exif_little) - 1, at = big ? 25 : 24;
        VipsImage *in = noise(7, 4, 3, VIPS_FORMAT_UCHAR);
        vips_image_set_blob_copy(in, VIPS_META_EXIF_NAME, block, size);
        g_assert_cmpint(vips_image_get_orientation(in), ==, 6);
        /* The fields have moved on since the block was read. */
        in->Xres = 3;
        in->Yres = 5;
        vips_image_remove(in, "exif-ifd0-ResolutionUnit");
        vips_image_set_string(in, "exif-ifd0-Artist", "me (me, ASCII, 3 components, 3 bytes)");

        VipsImage *out = turn(in, "auto"), *reference = turn_by_libvips(in, 6), *left = turn(in, "rot90");
        expect_same_pixels(out, reference, "auto");
        g_assert_cmpint(vips_image_get_typeof(out, VIPS_META_ORIENTATION), ==, 0);
        g_assert_cmpint(vips_image_get_typeof(out, "exif-ifd0-Orientation"), ==, 0);
        g_assert_cmpint(vips_image_get_typeof(out, "exif-ifd0-ResolutionUnit"), ==, 0);
        g_assert_cmpint(vips_image_get_typeof(out, "exif-ifd0-Artist"), !=, 0);
        g_assert_cmpfloat(out->Xres, ==, 5);
        g_assert_cmpfloat(out->Yres, ==, 3);
        guint8 *upright = g_memdup2(block, size);
        g_assert_cmpint(upright[at], ==, 6);
        upright[at] = 1;
        expect_blob(out, VIPS_META_EXIF_NAME, upright, size);
        expect_blob(in, VIPS_META_EXIF_NAME, block, size);
        g_assert_cmpint(vips_image_get_orientation(in), ==, 6);
        expect_blob(left, VIPS_META_EXIF_NAME, block, size);
        g_assert_cmpint(vips_image_get_orientation(left), ==, 6);
        g_free(upright);
        g_object_unref(left);
        g_object_unref(reference);
        g_object_unref(out);
        g_object_unref(in);
    }
}

/* Blocks that no reader would accept pass through. */
static void test_auto_bad_exif(void) {
    guint handler = ignore_warnings();
    for (size_t size = 1; size < sizeof(exif_little); size++)
        for (int kind = 0; kind < 2; kind++) {
            guint8 *block = g_memdup2(exif_little, size);
            if (kind && size > 13)
                memset(block + 10, 0xff, MIN(size - 10, 4));
            VipsImage *in = noise(7, 4, 3, VIPS_FORMAT_UCHAR);
            vips_image_set_blob_copy(in, VIPS_META_EXIF_NAME, block, size);
            vips_image_set_int(in, VIPS_META_ORIENTATION, 6);
            VipsImage *out = turn(in, "auto");
            g_assert_cmpint(vips_image_get_typeof(out, VIPS_META_ORIENTATION), ==, 0);
            g_object_unref(out);
            g_object_unref(in);
            g_free(block);
            vips_error_clear();
        }
    heed_warnings(handler);
}

static void test_auto_xmp(void) {
    static const char *const blocks[][2] = {
        {"<x tiff:Orientation=\"6\" tiff:Make='6'/>", "<x tiff:Orientation=\"1\" tiff:Make='6'/>"},
        {"<x tiff:Orientation = '8' y='7'/>", "<x tiff:Orientation = '1' y='7'/>"},
        {"<tiff:Orientation>3</tiff:Orientation><y>5</y>", "<tiff:Orientation>1</tiff:Orientation><y>5</y>"},
        {"<tiff:Orientation\n>\n 3 </tiff:Orientation>7", "<tiff:Orientation\n>\n 1 </tiff:Orientation>7"},
        {"<x y=\"6\"/>", "<x y=\"6\"/>"},
        {"<x tiff:Orientation=", "<x tiff:Orientation="},
        {"<x tiff:Orientation", "<x tiff:Orientation"},
        {"<x tiff:Orientations='6'/>", "<x tiff:Orientations='6'/>"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++) {
        VipsImage *in = noise(7, 4, 3, VIPS_FORMAT_UCHAR);
        vips_image_set_int(in, VIPS_META_ORIENTATION, 6);
        vips_image_set_blob_copy(in, VIPS_META_XMP_NAME, blocks[i][0], strlen(blocks[i][0]));
        VipsImage *out = turn(in, "auto"), *left = turn(in, "rot90");
        expect_blob(out, VIPS_META_XMP_NAME, blocks[i][1], strlen(blocks[i][1]));
        expect_blob(in, VIPS_META_XMP_NAME, blocks[i][0], strlen(blocks[i][0]));
        expect_blob(left, VIPS_META_XMP_NAME, blocks[i][0], strlen(blocks[i][0]));
        g_object_unref(left);
        g_object_unref(out);
        g_object_unref(in);
    }
}

/* What states the tag where libvips has no field of it, which it makes from EXIF alone. */
static void test_auto_without_field(void) {
    static const char xmp[] = "<x tiff:Orientation=\"6\"/>",
                      profile[] = "png-comment-3-Raw profile type exif";
    static const struct {
        gboolean exif, text;
        const char *loader;
        int tag;
    } cases[] = {
        {FALSE, FALSE, "pngload", 6}, {FALSE, TRUE, "pngload", 8},   {FALSE, FALSE, NULL, 6},
        {TRUE, TRUE, "pngload", 1},   {FALSE, FALSE, "heifload", 1}, {FALSE, FALSE, "jxlload_source", 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        VipsImage *in = noise(7, 4, 3, VIPS_FORMAT_UCHAR);
        const char *text;
        if (cases[i].exif)
            vips_image_set_blob_copy(in, VIPS_META_EXIF_NAME, exif_big, sizeof(exif_big) - 1);
        vips_image_remove(in, VIPS_META_ORIENTATION);
        vips_image_set_blob_copy(in, VIPS_META_XMP_NAME, xmp, sizeof(xmp) - 1);
        if (cases[i].text)
            vips_image_set_string(
                in, profile, "\nexif\n      26\n4d4D002a00000008000101120003\n000000010008000000000000\n");
        if (cases[i].loader)
            vips_image_set_string(in, VIPS_META_LOADER, cases[i].loader);
        VipsImage *out = turn(in, "auto"), *again = turn(out, "auto"),
                  *reference = turn_by_libvips(in, cases[i].tag);
        expect_same_pixels(out, reference, "auto");
        expect_same_pixels(again, reference, "auto again");
        expect_blob(out, VIPS_META_XMP_NAME, "<x tiff:Orientation=\"1\"/>", sizeof(xmp) - 1);
        if (cases[i].text) {
            expect_ok(vips_image_get_string(out, profile, &text));
            g_assert_cmpstr(text, ==,
                            "\nexif\n      26\n4d4D002a00000008000101120003\n000000010001000000000000\n");
        }
        g_object_unref(reference);
        g_object_unref(again);
        g_object_unref(out);
        g_object_unref(in);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    g_test_add_func("/auto", test_auto);
    g_test_add_func("/auto-exif", test_auto_exif);
    g_test_add_func("/auto-bad-exif", test_auto_bad_exif);
    g_test_add_func("/auto-xmp", test_auto_xmp);
    g_test_add_func("/auto-without-field", test_auto_without_field);
    return finish();
}
