/* SPDX-License-Identifier: MIT
 *
 * The operation from C, against libvips' own rot and flip and against letters set by hand: pixels, pages,
 * headers.
 *
 *     test_operation MODULE
 */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "turns.h"

/* ---- Pixels ---------------------------------------------------------------------------------------- */

static void test_letters(void) {
    static const char *const turned[] = {NULL,     "ABCDEF", "CBAFED", "FEDCBA", "DEFABC",
                                         "ADBECF", "DAEBFC", "FCEBDA", "CFBEAD"};
    for (int o = 1; o <= 8; o++) {
        VipsImage *in = vips_image_new_from_memory_copy("ABCDEF", 6, 3, 2, 1, VIPS_FORMAT_UCHAR);
        VipsImage *out = turn(in, names[o]);
        size_t size;
        char *data = vips_image_write_to_memory(out, &size);
        g_assert_cmpint(out->Xsize, ==, swaps(o) ? 2 : 3);
        g_assert_cmpint(out->Ysize, ==, swaps(o) ? 3 : 2);
        g_assert_cmpmem(data, size, turned[o], 6);
        g_free(data);
        g_object_unref(out);
        g_object_unref(in);
    }
}

static void expect_turns_right(VipsImage *in, const char *what) {
    for (int o = 1; o <= 8; o++) {
        char *label = g_strdup_printf("%s, %s", what, names[o]);
        VipsImage *reference = turn_by_libvips(in, o), *ordered = in_order(in);
        VipsImage *anywhere = turn(in, names[o]), *waited = turn(ordered, names[o]);
        expect_same_pixels(anywhere, reference, label);
        expect_same_pixels(waited, reference, label);
        g_object_unref(waited);
        g_object_unref(anywhere);
        g_object_unref(ordered);
        g_object_unref(reference);
        g_free(label);
    }
}

static void test_formats(void) {
    static const int sizes[][2] = {{1, 1}, {1, 9}, {131, 1}, {31, 33}, {67, 45}, {130, 259}};
    for (int format = VIPS_FORMAT_UCHAR; format <= VIPS_FORMAT_DPCOMPLEX; format++)
        for (int bands = 1; bands <= 7; bands++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                VipsImage *in = noise(sizes[i][0], sizes[i][1], bands, format);
                char *what =
                    g_strdup_printf("%s x %d, %d x %d", vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format), bands,
                                    in->Xsize, in->Ysize);
                expect_turns_right(in, what);
                g_free(what);
                g_object_unref(in);
            }
}

static void test_codings(void) {
    VipsImage *rgb = noise(67, 45, 3, VIPS_FORMAT_UCHAR), *x, *coded;
    expect_ok(
        vips_colourspace(rgb, &x, VIPS_INTERPRETATION_LAB, "source_space", VIPS_INTERPRETATION_sRGB, NULL));
    expect_ok(vips_Lab2LabQ(x, &coded, NULL));
    g_assert_cmpint(coded->Coding, ==, VIPS_CODING_LABQ);
    expect_turns_right(coded, "LabQ");
    g_object_unref(coded);
    g_object_unref(x);
    expect_ok(vips_cast_float(rgb, &x, NULL));
    expect_ok(vips_float2rad(x, &coded, NULL));
    g_assert_cmpint(coded->Coding, ==, VIPS_CODING_RAD);
    expect_turns_right(coded, "Radiance");
    g_object_unref(coded);
    g_object_unref(x);
    g_object_unref(rgb);
}

static void test_large(void) {
    VipsImage *in = noise(1501, 1203, 3, VIPS_FORMAT_UCHAR);
    expect_turns_right(in, "large");
    g_object_unref(in);
}

/* A file of plain pixels, and one cut short: libvips warns when it is opened, and reading it fails. */
static void test_mapped_file(void) {
    char *name = temporary(".v");
    VipsImage *in = noise(301, 203, 3, VIPS_FORMAT_USHORT), *file;
    expect_ok(vips_image_write_to_file(in, name, NULL));
    g_assert_nonnull(file = vips_image_new_from_file(name, "access", VIPS_ACCESS_SEQUENTIAL, NULL));
    for (int o = 1; o <= 8; o++) {
        VipsImage *out = turn(file, names[o]), *reference = turn_by_libvips(in, o);
        expect_same_pixels(out, reference, names[o]);
        g_assert_false(vips_image_is_sequential(out));
        g_object_unref(reference);
        g_object_unref(out);
    }
    g_object_unref(file);

    g_assert_cmpint(truncate(name, 100000), ==, 0);
    g_test_expect_message("VIPS", G_LOG_LEVEL_WARNING, "*truncated*");
    g_assert_nonnull(file = vips_image_new_from_file(name, NULL));
    g_test_assert_expected_messages();
    VipsImage *out = turn(file, "rot90");
    g_assert_null(vips_image_write_to_memory(out, &(size_t){0}));
    g_assert_nonnull(strstr(vips_error_buffer(), "truncated"));
    vips_error_clear();
    g_object_unref(out);
    g_object_unref(file);
    g_object_unref(in);
    g_unlink(name);
    g_free(name);
}

/* ---- Pages ----------------------------------------------------------------------------------------- */

/* Each page turned by libvips, one below the other. */
static VipsImage *turn_pages_by_libvips(VipsImage *in, int o, int pages) {
    VipsImage **turned = g_new(VipsImage *, pages), *out;
    int height = in->Ysize / pages;
    for (int i = 0; i < pages; i++) {
        VipsImage *page;
        expect_ok(vips_extract_area(in, &page, 0, i * height, in->Xsize, height, NULL));
        turned[i] = turn_by_libvips(page, o);
        g_object_unref(page);
    }
    expect_ok(vips_arrayjoin(turned, &out, pages, "across", 1, NULL));
    for (int i = 0; i < pages; i++)
        g_object_unref(turned[i]);
    g_free(turned);
    return out;
}

static void test_pages(void) {
    static const int shapes[][3] = {{5, 3, 4}, {40, 20, 4}, {20, 20, 7}, {300, 130, 3}, {3, 1, 50}};
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (int o = 1; o <= 8; o++)
            for (int ordered = 0; ordered <= 1; ordered++) {
                int width = shapes[i][0], height = shapes[i][1], pages = shapes[i][2], value;
                VipsImage *in = noise(width, height * pages, 3, VIPS_FORMAT_UCHAR);
                vips_image_set_int(in, VIPS_META_PAGE_HEIGHT, height);
                vips_image_set_int(in, VIPS_META_N_PAGES, pages);
                vips_image_set_int(in, "loop", 5);
                vips_image_set_array_int(in, "delay", (int[]){10, 20, 30}, 3);
                VipsImage *source = ordered ? in_order(in) : g_object_ref(in);
                VipsImage *out = turn(source, names[o]), *reference = turn_pages_by_libvips(in, o, pages);
                expect_same_pixels(out, reference, names[o]);

                g_assert_cmpint(vips_image_get_page_height(out), ==, swaps(o) ? width : height);
                g_assert_cmpint(vips_image_get_n_pages(out), ==, pages);
                expect_ok(vips_image_get_int(out, "loop", &value));
                g_assert_cmpint(value, ==, 5);
                int *delay, n;
                expect_ok(vips_image_get_array_int(out, "delay", &delay, &n));
                g_assert_cmpint(n, ==, 3);
                g_assert_cmpint(delay[2], ==, 30);
                g_object_unref(reference);
                g_object_unref(out);
                g_object_unref(source);
                g_object_unref(in);
            }
}

/* 40 rows are not pages of 13. Turned, 26 rows would be. */
static void test_page_height_of_no_page(void) {
    VipsImage *in = noise(26, 40, 1, VIPS_FORMAT_UCHAR);
    vips_image_set_int(in, VIPS_META_PAGE_HEIGHT, 13);
    VipsImage *out = turn(in, "rot90"), *reference = turn_by_libvips(in, 6);
    expect_same_pixels(out, reference, "one page");
    g_assert_cmpint(vips_image_get_page_height(out), ==, 26);
    g_object_unref(reference);
    g_object_unref(out);
    g_object_unref(in);
}

/* ---- Headers --------------------------------------------------------------------------------------- */

static void test_header(void) {
    static const int offsets[][2] = {{0, 0}, {0, 0}, {7, 0}, {7, 4}, {0, 4}, {0, 0}, {4, 0}, {4, 7}, {0, 7}};
    for (int o = 1; o <= 8; o++)
        for (int ordered = 0; ordered <= 1; ordered++) {
            VipsImage *memory = noise(7, 4, 1, VIPS_FORMAT_UCHAR);
            VipsImage *in = ordered ? in_order(memory) : g_object_ref(memory);
            in->Xres = 3;
            in->Yres = 5;
            in->Xoffset = 11;
            in->Yoffset = 13;
            vips_image_set_int(in, VIPS_META_ORIENTATION, 6);
            vips_image_set_string(in, "comment", "kept");
            char **fields = vips_image_get_fields(in);
            VipsImage *out = turn(in, names[o]);
            const char *comment;

            g_assert_cmpfloat(out->Xres, ==, swaps(o) ? 5 : 3);
            g_assert_cmpfloat(out->Yres, ==, swaps(o) ? 3 : 5);
            g_assert_cmpint(out->Xoffset, ==, o == 1 ? 11 : offsets[o][0]);
            g_assert_cmpint(out->Yoffset, ==, o == 1 ? 13 : offsets[o][1]);
            g_assert_cmpint(vips_image_get_orientation(out), ==, 6);
            expect_ok(vips_image_get_string(out, "comment", &comment));
            g_assert_cmpstr(comment, ==, "kept");
            /* What only passes through must go on being read in order. */
            g_assert_cmpint(!!vips_image_is_sequential(out), ==, ordered && o <= 2);

            g_assert_cmpfloat(in->Xres, ==, 3);
            g_assert_cmpfloat(in->Yres, ==, 5);
            g_assert_cmpint(in->Xoffset, ==, 11);
            g_assert_cmpint(in->Yoffset, ==, 13);
            char **after = vips_image_get_fields(in);
            g_assert_true(g_strv_equal((const char *const *)fields, (const char *const *)after));
            g_strfreev(after);
            g_strfreev(fields);
            g_object_unref(out);
            g_object_unref(in);
            g_object_unref(memory);
        }
}

static void test_backends(void) {
    VipsImage *in = noise(130, 259, 3, VIPS_FORMAT_UCHAR), *reference = turn_by_libvips(in, 6);
    static const char *const known[] = {"auto", "cpu", "c"};
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        VipsImage *out;
        expect_ok(
            vips_call("tt_transpose", in, &out, "orientation", by_name("rot90"), "backend", known[i], NULL));
        expect_same_pixels(out, reference, known[i]);
        g_object_unref(out);
    }
    g_object_unref(reference);
    g_object_unref(in);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    g_test_add_func("/letters", test_letters);
    g_test_add_func("/formats", test_formats);
    g_test_add_func("/codings", test_codings);
    g_test_add_func("/large", test_large);
    g_test_add_func("/mapped-file", test_mapped_file);
    g_test_add_func("/pages", test_pages);
    g_test_add_func("/page-height-of-no-page", test_page_height_of_no_page);
    g_test_add_func("/header", test_header);
    g_test_add_func("/backends", test_backends);
    return finish();
}
