/* SPDX-License-Identifier: MIT
 *
 * The operation in pipelines: on demand, by many threads, within a memory limit, stopped, and with sources
 * that fail.
 *
 *     test_operation_demand MODULE
 */
#include <glib/gstdio.h>
#include <string.h>

#include "turns.h"

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

/* Whether a turn holds its picture, of which libvips knows. What threads of earlier pictures held may go at
 * the same time, and hide that: what is expected is then seen later. */
static gboolean turn_holds(VipsImage *in, gboolean expected) {
    gboolean holds;
    int tries = 0;
    do {
        empty_cache();
        size_t before = vips_tracked_get_mem();
        VipsImage *out = turn(in, "rot90");
        holds = (gint64)(vips_tracked_get_mem() - before) >= (gint64)VIPS_IMAGE_SIZEOF_IMAGE(in);
        g_object_unref(out);
    } while (holds != expected && tries++ < 1000 && (g_usleep(10000), TRUE));
    return holds;
}

static void test_lazy(void) {
    VipsImage *in = noise(400, 300, 3, VIPS_FORMAT_UCHAR), *ordered = in_order(in);
    g_assert_true(turn_holds(ordered, TRUE));
    VipsImage *out = turn(ordered, "rot90");
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
            if (turn_holds(source, files[i].in_order) != files[i].in_order)
                g_error("%s: %s", with_options, files[i].in_order ? "not held" : "held");
            VipsImage *out = turn(source, "rot90"), *mirrored = turn(source, "fliph");
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

int main(int argc, char **argv) {
    start(&argc, &argv);
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
    return finish();
}
