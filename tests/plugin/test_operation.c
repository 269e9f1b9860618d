/* SPDX-License-Identifier: MIT
 *
 * The operation from C, against libvips' own rot and flip and against letters set by hand.
 *
 *     test_operation MODULE
 */
#include <glib/gstdio.h>
#include <gmodule.h>
#include <string.h>
#include <unistd.h>
#include <vips/vips.h>

/* By number, as EXIF numbers them. */
static const char *const names[] = {NULL,        "none",  "fliph",      "rot180", "flipv",
                                    "transpose", "rot90", "transverse", "rot270"};

static void ignore(const char *domain G_GNUC_UNUSED, GLogLevelFlags level G_GNUC_UNUSED,
                   const char *message G_GNUC_UNUSED, void *data G_GNUC_UNUSED) {}

/* For what libvips warns of, and tests do on purpose. */
static guint ignore_warnings(void) {
    g_log_set_always_fatal(G_LOG_LEVEL_ERROR);
    return g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING, ignore, NULL);
}

static void heed_warnings(guint handler) {
    g_log_remove_handler("VIPS", handler);
    g_log_set_always_fatal(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
}

static gboolean swaps(int o) {
    return o >= 5;
}

static void expect_ok(int result) {
    if (result)
        g_error("libvips: %s", vips_error_buffer());
}

static int by_name(const char *orientation) {
    int value = vips_enum_from_nick("test", g_type_from_name("TtOrientation"), orientation);
    g_assert_cmpint(value, >=, 0);
    return value;
}

static VipsImage *turn(VipsImage *in, const char *orientation) {
    VipsImage *out = NULL;
    expect_ok(vips_call("tt_transpose", in, &out, "orientation", by_name(orientation), NULL));
    return out;
}

/* What libvips makes of it, in its own steps. */
static VipsImage *turn_by_libvips(VipsImage *in, int o) {
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

static void expect_same_pixels(VipsImage *a, VipsImage *b, const char *what) {
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
static VipsImage *noise(int width, int height, int bands, VipsBandFormat format) {
    static guint32 state = 1;
    size_t size = (size_t)width * height * bands * vips_format_sizeof(format);
    guint8 *data = g_malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (guint8)((state = state * 1664525 + 1013904223) >> 24);
    VipsImage *image = vips_image_new_from_memory_copy(data, size, width, height, bands, format);
    g_free(data);
    return image;
}

typedef struct {
    int next; /* the only row that may be asked for */
} Reader;

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
static VipsImage *in_order(VipsImage *in) {
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

static char *temporary(const char *suffix) {
    return g_strdup_printf("%s/tt-%d%s", g_get_tmp_dir(), (int)getpid(), suffix);
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

/* ---- Pipelines ------------------------------------------------------------------------------------- */

/* crop, turn, turn, shrink, join: from pixels in order the same as from memory with libvips' own turns. */
static VipsImage *pipeline(VipsImage *in, int first, int second, gboolean by_libvips) {
    VipsImage *crop, *a, *b, *shrunk, *wide, *out;
    expect_ok(vips_extract_area(in, &crop, 10, 20, in->Xsize - 15, in->Ysize - 33, NULL));
    a = by_libvips ? turn_by_libvips(crop, first) : turn(crop, names[first]);
    b = by_libvips ? turn_by_libvips(a, second) : turn(a, names[second]);
    expect_ok(vips_shrink(b, &shrunk, 2, 3, NULL));
    expect_ok(vips_embed(shrunk, &wide, 1, 2, shrunk->Xsize + 5, shrunk->Ysize + 5, NULL));
    g_object_unref(crop);
    g_object_unref(a);
    g_object_unref(b);
    g_object_unref(shrunk);
    if (first <= 2 && second <= 2)
        return wide;
    expect_ok(vips_join(wide, wide, &out, VIPS_DIRECTION_VERTICAL, NULL));
    g_object_unref(wide);
    return out;
}

static void test_pipelines(void) {
    VipsImage *in = noise(421, 333, 3, VIPS_FORMAT_UCHAR);
    for (int first = 1; first <= 8; first++)
        for (int second = 1; second <= 8; second++) {
            VipsImage *ordered = in_order(in), *reference = pipeline(in, first, second, TRUE);
            VipsImage *out = pipeline(ordered, first, second, FALSE);
            VipsImage *anywhere = pipeline(in, first, second, FALSE);
            expect_same_pixels(out, reference, names[first]);
            expect_same_pixels(anywhere, reference, names[second]);
            g_object_unref(anywhere);
            g_object_unref(out);
            g_object_unref(reference);
            g_object_unref(ordered);
        }
    g_object_unref(in);
}

/* Two pictures that are read in order side by side, then turned; and turned, then side by side. */
static void test_joins(void) {
    VipsImage *in = noise(200, 150, 3, VIPS_FORMAT_UCHAR);
    for (int o = 1; o <= 8; o++) {
        VipsImage *x = in_order(in), *y = in_order(in), *pair, *reference_pair;
        expect_ok(vips_join(x, y, &pair, VIPS_DIRECTION_HORIZONTAL, NULL));
        expect_ok(vips_join(in, in, &reference_pair, VIPS_DIRECTION_HORIZONTAL, NULL));
        VipsImage *out = turn(pair, names[o]), *reference = turn_by_libvips(reference_pair, o);
        expect_same_pixels(out, reference, "join, turn");
        g_object_unref(out);
        g_object_unref(reference);
        g_object_unref(pair);
        g_object_unref(reference_pair);
        g_object_unref(x);
        g_object_unref(y);

        x = in_order(in);
        y = in_order(in);
        VipsImage *a = turn(x, names[o]), *b = turn(y, names[o]), *c = turn_by_libvips(in, o);
        expect_ok(vips_join(a, b, &pair, VIPS_DIRECTION_HORIZONTAL, NULL));
        expect_ok(vips_join(c, c, &reference, VIPS_DIRECTION_HORIZONTAL, NULL));
        expect_same_pixels(pair, reference, "turn, join");
        g_object_unref(reference);
        g_object_unref(pair);
        g_object_unref(a);
        g_object_unref(b);
        g_object_unref(c);
        g_object_unref(x);
        g_object_unref(y);
    }
    g_object_unref(in);
}

/* ---- Threads --------------------------------------------------------------------------------------- */

typedef struct {
    VipsImage *image;
    int orientation; /* 0: the image is the result itself */
    guint8 *pixels;
    size_t size;
} Share;

static gpointer use_shared(gpointer data) {
    Share *share = data;
    VipsImage *out =
        share->orientation ? turn(share->image, names[share->orientation]) : g_object_ref(share->image);
    share->pixels = vips_image_write_to_memory(out, &share->size);
    g_object_unref(out);
    vips_thread_shutdown();
    return NULL;
}

static void expect_shared(VipsImage *image, int orientation, VipsImage *reference) {
    GThread *threads[8];
    Share shares[8];
    size_t size;
    void *pixels = vips_image_write_to_memory(reference, &size);
    for (int i = 0; i < 8; i++) {
        shares[i] = (Share){.image = image, .orientation = orientation};
        threads[i] = g_thread_new("share", use_shared, &shares[i]);
    }
    for (int i = 0; i < 8; i++) {
        g_thread_join(threads[i]);
        g_assert_nonnull(shares[i].pixels);
        g_assert_cmpmem(shares[i].pixels, shares[i].size, pixels, size);
        g_free(shares[i].pixels);
    }
    g_free(pixels);
}

static void test_threads(void) {
    VipsImage *in = noise(801, 603, 3, VIPS_FORMAT_UCHAR);
    vips_image_set_int(in, VIPS_META_ORIENTATION, 6);
    for (int o = 1; o <= 8; o++) {
        VipsImage *reference = turn_by_libvips(in, o);
        expect_shared(in, o, reference);
        if (o > 2) {
            VipsImage *ordered = in_order(in), *out = turn(ordered, names[o]);
            expect_shared(out, 0, reference);
            g_object_unref(out);
            g_object_unref(ordered);
        }
        g_object_unref(reference);
    }
    g_object_unref(in);
}

static void test_concurrency(void) {
    VipsImage *in = noise(801, 603, 3, VIPS_FORMAT_UCHAR);
    int before = vips_concurrency_get();
    for (int n = 1; n <= 32; n++) {
        vips_concurrency_set(n);
        VipsImage *ordered = in_order(in), *out = turn(ordered, "rot90"), *reference = turn_by_libvips(in, 6);
        expect_same_pixels(out, reference, "concurrency");
        g_object_unref(reference);
        g_object_unref(out);
        g_object_unref(ordered);
    }
    vips_concurrency_set(before);
    g_object_unref(in);
}

/* Through the library's file, by any number of threads. */
static void test_memory_limit(void) {
    VipsImage *in = noise(801, 1603, 3, VIPS_FORMAT_UCHAR); /* 3.8 MB */
    int before = vips_concurrency_get();
    for (int n = 1; n <= 8; n += 3)
        for (int o = 1; o <= 8; o++) {
            VipsImage *ordered = in_order(in), *reference = turn_by_libvips(in, o), *out;
            vips_concurrency_set(n);
            gsize held = vips_tracked_get_mem();
            expect_ok(vips_call("tt_transpose", ordered, &out, "orientation", o, "memory_limit",
                                (guint64)1 << 20, NULL));
            g_assert_cmpuint(vips_tracked_get_mem() - held, <=, (1 << 20) + 8192);
            expect_same_pixels(out, reference, names[o]);
            if (o > 2) /* others stream by */
                expect_same_pixels(out, reference, "again");
            g_object_unref(out);
            g_object_unref(reference);
            g_object_unref(ordered);
        }
    vips_concurrency_set(before);
    g_object_unref(in);
}

/* ---- Memory, caching, demand ----------------------------------------------------------------------- */

/* What other tests left there would come and go while memory is counted. */
static void empty_cache(void) {
    int max = vips_cache_get_max();
    vips_cache_set_max(0);
    vips_cache_set_max(max);
}

static void test_lazy(void) {
    VipsImage *in = noise(400, 300, 3, VIPS_FORMAT_UCHAR), *ordered = in_order(in);
    empty_cache();
    size_t bytes = 400 * 300 * 3, before = vips_tracked_get_mem();
    VipsImage *out = turn(ordered, "rot90");
    g_assert_cmpint((gint64)(vips_tracked_get_mem() - before), >=,
                    (gint64)bytes); /* libvips knows of the frame */
    VipsRegion *region = vips_region_new(ordered);
    /* Nothing has been read: the first row can still be had. */
    expect_ok(vips_region_prepare(region, &(VipsRect){0, 0, 400, 1}));
    g_object_unref(region);
    g_object_unref(out);
    g_object_unref(ordered);
    g_object_unref(in);
}

/* The first row asked of a source that can be read anywhere needs a column of tiles, not the picture. */
static void test_no_frame(void) {
    VipsImage *in = noise(1000, 1000, 3, VIPS_FORMAT_UCHAR);
    for (int o = 1; o <= 8; o++) {
        empty_cache();
        size_t before = vips_tracked_get_mem();
        VipsImage *out = turn(in, names[o]);
        VipsRegion *region = vips_region_new(out);
        expect_ok(vips_region_prepare(region, &(VipsRect){0, 0, 64, 64}));
        g_assert_cmpint((gint64)(vips_tracked_get_mem() - before), <, 1000 * 1000 / 2);
        g_object_unref(region);
        g_object_unref(out);
    }
    g_object_unref(in);
}

/* What libvips holds once its threads for the last picture have ended, which may be after it was given up. */
static size_t settled_memory(void) {
    size_t now = vips_tracked_get_mem(), before;
    do {
        before = now;
        g_usleep(100000);
        now = vips_tracked_get_mem();
    } while (now != before);
    return now;
}

/* Opened for sequential access, some files must be read in order and others need not. Only those that must
 * are held, and only what is held or read anywhere loses the mark. */
static void test_files(void) {
    static const struct {
        const char *suffix, *options;
        gboolean in_order;
    } files[] = {
        {".tif", "[tile,tile-width=128,tile-height=128]", FALSE},
        {".tif", "[compression=deflate]", TRUE},
        {".png", "", TRUE},
        {".png", "[interlace]", FALSE},
        {".v", "", FALSE},
    };
    VipsImage *in = noise(600, 1000, 3, VIPS_FORMAT_UCHAR), *cut, *reference, *step = turn_by_libvips(in, 6);
    expect_ok(vips_extract_area(in, &cut, 100, 50, 400, 900, NULL));
    reference = turn_by_libvips(cut, 6);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        char *name = temporary(files[i].suffix), *with_options = g_strconcat(name, files[i].options, NULL);
        expect_ok(vips_image_write_to_file(in, with_options, NULL));
        for (int cropped = 0; cropped <= 1; cropped++) {
            VipsImage *file = vips_image_new_from_file(name, "access", VIPS_ACCESS_SEQUENTIAL, NULL), *source;
            g_assert_true(vips_image_is_sequential(file));
            if (cropped)
                expect_ok(vips_extract_area(file, &source, 100, 50, 400, 900, NULL));
            else
                source = g_object_ref(file);
            empty_cache();
            size_t bytes = VIPS_IMAGE_SIZEOF_IMAGE(source), before = settled_memory();
            VipsImage *out = turn(source, "rot90"), *mirrored = turn(source, "fliph");
            gboolean held = (gint64)(vips_tracked_get_mem() - before) >= (gint64)bytes;
            if (held != files[i].in_order)
                g_error("%s: %s", with_options, held ? "held" : "not held");
            g_assert_false(vips_image_is_sequential(out));
            g_assert_cmpint(!!vips_image_is_sequential(mirrored), ==, files[i].in_order);
            expect_same_pixels(out, cropped ? reference : step, with_options);
            g_object_unref(mirrored);
            g_object_unref(out);
            g_object_unref(source);
            g_object_unref(file);
        }
        g_unlink(name);
        g_free(with_options);
        g_free(name);
    }
    g_object_unref(reference);
    g_object_unref(cut);
    g_object_unref(step);
    g_object_unref(in);
}

static void test_cache(void) {
    VipsImage *in = noise(40, 30, 3, VIPS_FORMAT_UCHAR), *ordered = in_order(in);
    VipsImage *first = turn(in, "rot90"), *second = turn(in, "rot90"), *other = turn(in, "rot270");
    g_assert_true(first == second);
    g_assert_true(first != other);
    g_object_unref(first);
    g_object_unref(second);
    g_object_unref(other);
    first = turn(ordered, "rot90");
    second = turn(ordered, "rot90");
    g_assert_true(first != second);
    g_object_unref(first);
    g_object_unref(second);
    g_object_unref(ordered);
    g_object_unref(in);
}

/* Read twice, and in any order: the frame stays. */
static void test_frame_again(void) {
    VipsImage *in = noise(400, 300, 3, VIPS_FORMAT_UCHAR), *ordered = in_order(in);
    VipsImage *out = turn(ordered, "transverse"), *reference = turn_by_libvips(in, 7), *back, *reference_back;
    expect_same_pixels(out, reference, "first");
    expect_same_pixels(out, reference, "second");
    expect_ok(vips_flip(out, &back, VIPS_DIRECTION_VERTICAL, NULL));
    expect_ok(vips_flip(reference, &reference_back, VIPS_DIRECTION_VERTICAL, NULL));
    expect_same_pixels(back, reference_back, "bottom up");
    g_object_unref(back);
    g_object_unref(reference_back);
    g_object_unref(reference);
    g_object_unref(out);
    g_object_unref(ordered);
    g_object_unref(in);
}

/* ---- Progress, kill, errors ------------------------------------------------------------------------ */

typedef struct {
    int starts, ends, kill_at, percent, end_percent, rows_read;
} Watch;

static void on_start(VipsImage *image G_GNUC_UNUSED, VipsProgress *progress G_GNUC_UNUSED, Watch *watch) {
    watch->starts++;
}

static void on_progress(VipsImage *image, VipsProgress *progress, Watch *watch) {
    watch->percent = progress->percent;
    if (watch->kill_at && progress->percent >= watch->kill_at)
        vips_image_set_kill(image, TRUE);
}

static void on_end(VipsImage *image G_GNUC_UNUSED, VipsProgress *progress, Watch *watch) {
    watch->ends++;
    watch->end_percent = progress->percent;
}

static void watch_image(VipsImage *image, Watch *watch) {
    vips_image_set_progress(image, TRUE);
    g_signal_connect(image, "preeval", G_CALLBACK(on_start), watch);
    g_signal_connect(image, "eval", G_CALLBACK(on_progress), watch);
    g_signal_connect(image, "posteval", G_CALLBACK(on_end), watch);
}

/* Watched at the source, at the turn, or after it. */
static void run_watched(int where, gboolean ordered, Watch *watch, gboolean expect_success) {
    /* Blurred before and after, so that either half takes long enough to be stopped in. */
    VipsImage *in = noise(1000, 3000, 1, VIPS_FORMAT_UCHAR), *slow, *out, *last;
    expect_ok(vips_gaussblur(in, &slow, 8, "precision", VIPS_PRECISION_FLOAT, NULL));
    VipsImage *source = ordered ? in_order(slow) : vips_image_new();
    if (!ordered)
        expect_ok(vips_image_write(slow, source));
    g_object_unref(slow);
    if (where == 0)
        watch_image(source, watch);
    out = turn(source, "rot90");
    if (where == 1)
        watch_image(out, watch);
    expect_ok(vips_gaussblur(out, &last, 8, "precision", VIPS_PRECISION_FLOAT, NULL));
    if (where == 2)
        watch_image(last, watch);
    size_t size;
    void *pixels = vips_image_write_to_memory(last, &size);
    g_assert_cmpint(pixels != NULL, ==, expect_success);
    if (!expect_success) {
        g_assert_nonnull(strstr(vips_error_buffer(), "killed"));
        vips_error_clear();
    }
    if (ordered)
        watch->rows_read = ((Reader *)g_object_get_data(G_OBJECT(source), "reader"))->next;
    g_free(pixels);
    g_object_unref(last);
    g_object_unref(out);
    g_object_unref(source);
    g_object_unref(in);
}

static void test_progress(void) {
    for (int ordered = 0; ordered <= 1; ordered++)
        for (int where = 0; where <= 2; where++) {
            Watch watch = {0};
            run_watched(where, ordered, &watch, TRUE);
            /* Reading into a frame shows as a run of its own, where it can be seen from. */
            g_assert_cmpint(watch.starts, ==, ordered && where < 2 ? 2 : 1);
            g_assert_cmpint(watch.ends, ==, watch.starts);
            g_assert_cmpint(watch.end_percent, ==, 100);
            g_assert_cmpint(watch.percent, >, 0);
        }
}

static void test_kill(void) {
    guint handler = ignore_warnings();
    for (int ordered = 0; ordered <= 1; ordered++)
        for (int where = 0; where <= 2; where++) {
            Watch watch = {.kill_at = 10};
            run_watched(where, ordered, &watch, FALSE);
            g_assert_cmpint(watch.percent, <, 100);
            /* Where it can be seen while the source is being read, that stops. */
            if (ordered && where < 2)
                g_assert_cmpint(watch.rows_read, <, 3000);
        }
    heed_warnings(handler);
}

static void expect_error(VipsImage *in, const char *part, const char *option, ...) {
    va_list ap;
    VipsImage *out = NULL;
    VipsOperation *operation = vips_operation_new("tt_transpose");
    g_object_set(operation, "in", in, NULL);
    va_start(ap, option);
    g_object_set_valist(G_OBJECT(operation), option, ap);
    va_end(ap);
    g_assert_cmpint(vips_cache_operation_buildp(&operation), !=, 0);
    g_assert_null(out);
    char **lines = g_strsplit(vips_error_buffer(), "\n", -1);
    g_assert_true(g_str_has_prefix(lines[0], "tt_transpose: "));
    if (!strstr(lines[0], part))
        g_error("'%s' is not in '%s'", part, lines[0]);
    g_assert_cmpstr(lines[1], ==, "");
    g_assert_cmpuint(g_strv_length(lines), ==, 2);
    g_strfreev(lines);
    vips_error_clear();
    vips_object_unref_outputs(VIPS_OBJECT(operation));
    g_object_unref(operation);
}

static void test_errors(void) {
    VipsImage *in = noise(400, 300, 3, VIPS_FORMAT_UCHAR), *ordered = in_order(in);
    expect_error(in, "no backend is named 'nope'", "backend", "nope", NULL);
    expect_error(in, "no device -1", "device", -1, NULL);
    g_setenv("TMPDIR", "/dev/null/nowhere", TRUE);
    expect_error(ordered, "/dev/null/nowhere", "memory_limit", (guint64)1000, NULL);
    g_unsetenv("TMPDIR");
    g_object_unref(ordered);
    g_object_unref(in);

    /* a row of 3,000,000 pixels of 800 bytes would be longer than libvips allows */
    VipsImage *black, *tall;
    expect_ok(vips_black(&black, 1, 3000000, "bands", 100, NULL));
    expect_ok(vips_cast(black, &tall, VIPS_FORMAT_DOUBLE, NULL));
    expect_error(tall, "rows of 2400000000 bytes", "orientation", by_name("rot90"), NULL);
    g_object_unref(black);
    g_object_unref(tall);
}

/* A source that breaks off: its own message arrives, and a second try fails as well. */
static int break_off(VipsRegion *out, void *seq G_GNUC_UNUSED, void *a G_GNUC_UNUSED, void *b G_GNUC_UNUSED,
                     gboolean *stop G_GNUC_UNUSED) {
    if (VIPS_RECT_BOTTOM(&out->valid) > 100) {
        vips_error("reader", "broke off");
        return -1;
    }
    vips_region_black(out);
    return 0;
}

static void test_broken_source(void) {
    VipsImage *in = vips_image_new(), *out;
    vips_image_init_fields(in, 300, 300, 1, VIPS_FORMAT_UCHAR, VIPS_CODING_NONE, VIPS_INTERPRETATION_B_W, 1,
                           1);
    expect_ok(vips_image_pipelinev(in, VIPS_DEMAND_STYLE_THINSTRIP, NULL));
    expect_ok(vips_image_generate(in, NULL, break_off, NULL, NULL, NULL));
    vips_image_set_int(in, VIPS_META_SEQUENTIAL, 1);
    out = turn(in, "rot90");
    for (int i = 0; i < 2; i++) {
        g_assert_null(vips_image_write_to_memory(out, &(size_t){0}));
        g_assert_nonnull(strstr(vips_error_buffer(), i ? "could not be read" : "broke off"));
        vips_error_clear();
    }
    g_object_unref(out);
    g_object_unref(in);
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
    g_test_init(&argc, &argv, NULL);
    if (VIPS_INIT(argv[0]))
        g_error("libvips: %s", vips_error_buffer());
    /* Twice: the second time does nothing. */
    for (int i = 0; i < 2; i++)
        if (argc != 2 || !g_module_open(argv[1], G_MODULE_BIND_LAZY))
            g_error("%s MODULE: %s", argv[0], argc == 2 ? g_module_error() : "which?");
    g_type_class_ref(g_type_from_name("TtTranspose")); /* registers the orientations */
    g_test_add_func("/letters", test_letters);
    g_test_add_func("/formats", test_formats);
    g_test_add_func("/codings", test_codings);
    g_test_add_func("/large", test_large);
    g_test_add_func("/mapped-file", test_mapped_file);
    g_test_add_func("/pages", test_pages);
    g_test_add_func("/page-height-of-no-page", test_page_height_of_no_page);
    g_test_add_func("/header", test_header);
    g_test_add_func("/auto", test_auto);
    g_test_add_func("/auto-exif", test_auto_exif);
    g_test_add_func("/auto-bad-exif", test_auto_bad_exif);
    g_test_add_func("/auto-xmp", test_auto_xmp);
    g_test_add_func("/auto-without-field", test_auto_without_field);
    g_test_add_func("/pipelines", test_pipelines);
    g_test_add_func("/joins", test_joins);
    g_test_add_func("/threads", test_threads);
    g_test_add_func("/concurrency", test_concurrency);
    g_test_add_func("/memory-limit", test_memory_limit);
    g_test_add_func("/lazy", test_lazy);
    g_test_add_func("/no-frame", test_no_frame);
    g_test_add_func("/files", test_files);
    g_test_add_func("/cache", test_cache);
    g_test_add_func("/frame-again", test_frame_again);
    g_test_add_func("/progress", test_progress);
    g_test_add_func("/kill", test_kill);
    g_test_add_func("/errors", test_errors);
    g_test_add_func("/broken-source", test_broken_source);
    g_test_add_func("/backends", test_backends);
    int result = g_test_run();
    vips_shutdown();
    return result;
}
