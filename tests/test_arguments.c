/* SPDX-License-Identifier: MIT
 *
 * What is refused, with which status, in which words; and that nothing is written then.
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"
#include "tiletranspose/tt.h"
#include "tiletranspose/tt_frame.h"

enum { WIDTH = 6, HEIGHT = 4, CHANNELS = 3, BYTES = 4096 };

static uint8_t from[BYTES], to[BYTES], untouched[BYTES];

static TtImage good_source(void) {
    return tt_image(from, WIDTH * CHANNELS, WIDTH, HEIGHT, CHANNELS, 8);
}

static TtImage good_destination(void) { /* of a quarter turn */
    return tt_image(to, HEIGHT * CHANNELS, HEIGHT, WIDTH, CHANNELS, 8);
}

static TtImage planar(TtImage image) {
    image.layout = TT_PLANAR;
    image.pitch /= CHANNELS;
    image.plane_pitch = image.pitch * (ptrdiff_t)image.height;
    return image;
}

/* One line that says `words`. */
static void expect_message(const char *words) {
    const char *message = tt_last_error();
    EXPECT(*message && !strpbrk(message, "\r\n") && message[strlen(message) - 1] != ' ', "'%s'", message);
    EXPECT(strstr(message, words), "'%s' does not say '%s'", message, words);
}

/* The message before is wiped by one that nobody expects, so that an old one cannot pass. */
static void forget_message(void) {
    TtOrientation o;
    tt_orientation_parse("(no message since)", &o);
}

static void refused(const TtImage *src, const TtImage *dst, int o, const TtOptions *options, TtStatus want,
                    const char *words) {
    memset(from, 1, sizeof(from));
    memset(to, 2, sizeof(to));
    memset(untouched, 2, sizeof(untouched));
    forget_message();
    TtStatus got = tt_orient(src, dst, (TtOrientation)o, options);
    EXPECT(got == want, "status %d, not %d, where '%s' is expected: %s", (int)got, (int)want, words,
           tt_last_error());
    expect_message(words);
    EXPECT(!memcmp(to, untouched, sizeof(to)), "the destination was written: %s", words);
}

static void refused_source(TtImage src, const char *words) {
    TtImage dst = good_destination();
    refused(&src, &dst, TT_ROT90, NULL, TT_ERROR_ARGUMENT, words);
}

static void refused_destination(TtImage dst, const char *words) {
    TtImage src = good_source();
    refused(&src, &dst, TT_ROT90, NULL, TT_ERROR_ARGUMENT, words);
}

static void accepted(TtImage src, TtImage dst, int o, const char *what) {
    TtStatus got = tt_orient(&src, &dst, (TtOrientation)o, NULL);
    EXPECT(got == TT_OK, "%s: %s", what, tt_last_error());
}

/* ---- One image ------------------------------------------------------------------------------------- */

#define WITH2(image, change, another)                                                                        \
    __extension__({                                                                                          \
        TtImage changed = image;                                                                             \
        changed.change;                                                                                      \
        changed.another;                                                                                     \
        changed;                                                                                             \
    })
#define WITH(image, change) WITH2(image, change, change)

static void test_images(void) {
    TtImage src = good_source(), dst = good_destination();
    accepted(src, dst, TT_ROT90, "the images that the others are spoiled from");
    accepted(planar(src), planar(dst), TT_ROT90, "likewise planar");

    refused(NULL, &dst, TT_ROT90, NULL, TT_ERROR_ARGUMENT, "source image is NULL");
    refused(&src, NULL, TT_ROT90, NULL, TT_ERROR_ARGUMENT, "destination image is NULL");
    refused(NULL, NULL, TT_ROT90, NULL, TT_ERROR_ARGUMENT, "is NULL");
    refused_source(WITH(src, data = NULL), "source image's data is NULL");
    refused_destination(WITH(dst, data = NULL), "destination image's data is NULL");

    refused_source(WITH(src, struct_size = 0), "struct_size");
    refused_source(WITH(src, struct_size = sizeof(TtImage) - 1), "struct_size");
    refused_destination(WITH(dst, struct_size = 0), "struct_size");
    accepted(WITH(src, struct_size = sizeof(TtImage) + 64), dst, TT_ROT90, "a struct of a later version");

    refused_source(WITH(src, width = 0), "0 x 4");
    refused_source(WITH(src, height = 0), "6 x 0");
    refused_source(WITH(src, channels = 0), "no channels");
    refused_destination(WITH(dst, width = 0), "0 x 6");
    refused_destination(WITH(dst, height = 0), "4 x 0");

    static const unsigned bad_bits[] = {0, 3, 5, 6, 7, 9, 12, 15, 17, 4294967295u};
    for (size_t i = 0; i < sizeof(bad_bits) / sizeof(bad_bits[0]); i++)
        refused_source(WITH(src, sample_bits = bad_bits[i]), "bits a sample");
    for (unsigned bits = 1; bits <= 4; bits *= 2)
        refused_source(WITH(src, sample_bits = bits), "packed samples have one channel");
    refused_source(WITH(src, layout = (TtLayout)2), "layout");
    refused_source(WITH(src, layout = (TtLayout)-1), "layout");
}

static void test_pitches(void) {
    TtImage src = good_source(), dst = good_destination();
    refused_source(WITH(src, pitch = 0), "pitch");
    refused_source(WITH(src, pitch = WIDTH * CHANNELS - 1), "17 bytes is too small for its rows of 18");
    refused_source(WITH2(src, pitch = -(WIDTH * CHANNELS - 1), data = from + 1000), "too small");
    refused_destination(WITH(dst, pitch = HEIGHT * CHANNELS - 1), "11 bytes is too small for its rows of 12");
    refused_source(WITH(src, pitch = PTRDIFF_MIN), "address space");
    refused_source(WITH(src, pitch = PTRDIFF_MAX), "address space");

    /* Packed rows end on whole bytes. */
    TtImage bits = tt_image(from, 1, 9, 2, 1, 1), turned = tt_image(to, 1, 2, 9, 1, 1);
    refused(&bits, &turned, TT_ROT90, NULL, TT_ERROR_ARGUMENT, "1 bytes is too small for its rows of 2");
    accepted(WITH(bits, pitch = 2), turned, TT_ROT90, "9 bits in 2 bytes");

    /* One row has no distance to a next. */
    TtImage row = tt_image(from, 0, 5, 1, 1, 8), column = tt_image(to, 1, 1, 5, 1, 8);
    accepted(row, column, TT_ROT90, "one row with pitch 0");
    for (int o = TT_NONE; o <= TT_ROT270; o++) {
        bool turned_up = o >= TT_TRANSPOSE;
        accepted(WITH(row, pitch = PTRDIFF_MIN),
                 turned_up ? column : WITH2(row, data = to, pitch = PTRDIFF_MIN), o,
                 "one row with any pitch");
        accepted(turned_up ? column : row, WITH2(row, data = to + 100, pitch = PTRDIFF_MIN), o,
                 "into one row with any pitch");
    }
}

static void test_planes(void) {
    TtImage src = planar(good_source()), dst = planar(good_destination());
    refused_source(WITH(src, plane_pitch = 0), "run into each other");
    refused_source(WITH(src, plane_pitch = WIDTH * HEIGHT - 1), "run into each other");
    refused_source(WITH2(src, plane_pitch = -(WIDTH * HEIGHT - 1), data = from + 1000),
                   "run into each other");
    refused_source(WITH(src, plane_pitch = WIDTH), "run into each other");
    refused_destination(WITH(dst, plane_pitch = 1), "run into each other");
    accepted(WITH2(src, plane_pitch = -WIDTH * HEIGHT, data = from + 1000), dst, TT_ROT90,
             "planes that run backward");

    /* Rows of the planes one after the other, with no byte to spare but the last gap of all. */
    TtImage rows = src;
    rows.plane_pitch = WIDTH + 2;
    rows.pitch = 2 * (WIDTH + 2) + WIDTH;
    accepted(rows, dst, TT_ROT90, "rows of three planes, side by side");
    refused_source(WITH(rows, pitch = rows.pitch - 1), "run into each other");
    refused_source(WITH(rows, plane_pitch = WIDTH - 1), "run into each other");
    rows.data = from + 1000;
    rows.pitch = -rows.pitch;
    accepted(rows, dst, TT_ROT90, "likewise upward");
    /* The second plane two rows further down, in the gap beside the first. */
    rows = WITH(src, pitch = 3 * WIDTH);
    rows.plane_pitch = 2 * rows.pitch + WIDTH;
    accepted(rows, dst, TT_ROT90, "planes beside and below each other");
    refused_source(WITH(rows, plane_pitch = 2 * rows.pitch + 1), "run into each other");
    refused_source(WITH(rows, plane_pitch = 2 * rows.pitch), "run into each other");

    /* With one channel there is nothing that a layout or a plane_pitch could say. */
    TtImage grey = tt_image(from, WIDTH, WIDTH, HEIGHT, 1, 8),
            turned = tt_image(to, HEIGHT, HEIGHT, WIDTH, 1, 8);
    grey.plane_pitch = 1;
    accepted(WITH(grey, layout = TT_PLANAR), turned, TT_ROT90, "one plane");
    accepted(WITH(grey, layout = (TtLayout)77), turned, TT_ROT90, "any layout with one channel");
}

static void test_overflow(void) {
    TtImage src = good_source();
    refused_source(WITH(src, width = SIZE_MAX), "too large to address");
    refused_source(WITH(src, width = SIZE_MAX / 3 + 2), "too large to address");
    refused_source(WITH(src, height = SIZE_MAX), "too large to address");
    refused_source(WITH2(src, width = (size_t)1 << 32, height = (size_t)1 << 32), "too large to address");
    refused_source(WITH2(src, channels = UINT_MAX, sample_bits = UINT_MAX - 7), "too large to address");
    refused_source(WITH(planar(src), channels = UINT_MAX), "");
    TtImage half = tt_image(from, 1, 1, 1, 1, 8); /* no product overflows, and it is too much all the same */
    refused_source(WITH(half, width = (size_t)PTRDIFF_MAX + 1), "too large to address");
    refused_source(WITH2(half, width = (size_t)1 << 32, height = (size_t)1 << 31), "too large to address");
    refused_source(WITH2(half, width = SIZE_MAX / 2 + 1, pitch = PTRDIFF_MAX), "too large to address");
    /* As a product it fits, as a place in memory it does not. */
    TtImage tall = WITH2(src, height = (size_t)1 << 40, pitch = (ptrdiff_t)1 << 24);
    refused_source(tall, "address space");
    refused_source(WITH(tall, pitch = -tall.pitch), "address space");
    refused_source(WITH(src, data = (void *)(UINTPTR_MAX - 20)), "address space");
    refused_source(WITH2(src, data = (void *)20, pitch = -WIDTH * CHANNELS), "address space");
    TtImage apart = planar(src);
    refused_source(WITH(apart, plane_pitch = PTRDIFF_MAX), "address space");
    refused_source(WITH(apart, plane_pitch = PTRDIFF_MIN), "address space");
}

/* ---- The pair -------------------------------------------------------------------------------------- */

static void test_pair(void) {
    TtImage src = good_source(), dst = good_destination();
    refused_destination(WITH(dst, width = HEIGHT - 1), "4 x 6, not 3 x 6");
    refused_destination(WITH(dst, height = WIDTH - 1), "4 x 6, not 4 x 5");
    refused_destination(WITH(dst, height = WIDTH + 1), "4 x 6, not 4 x 7");
    refused(&src, &dst, TT_FLIPH, NULL, TT_ERROR_ARGUMENT, "fliph");
    refused_destination(WITH2(dst, channels = 2, pitch = 12), "3 channels of 8 bits, 2 of 8");
    refused_destination(WITH2(dst, sample_bits = 16, pitch = 24), "3 channels of 8 bits, 3 of 16");
    static const int bad[] = {0, 9, -1, INT_MAX, INT_MIN};
    for (int i = 0; i < 5; i++)
        refused(&src, &dst, bad[i], NULL, TT_ERROR_ARGUMENT, "is no orientation");
}

static void test_options(void) {
    TtImage src = good_source(), dst = good_destination();
    TtOptions options = {sizeof(options), NULL, 0};
    EXPECT(tt_orient(&src, &dst, TT_ROT90, &options) == TT_OK, "%s", tt_last_error());
    options.struct_size = 0;
    refused(&src, &dst, TT_ROT90, &options, TT_ERROR_ARGUMENT, "struct_size");
    options.struct_size = sizeof(options);

    static const char *const unknown[] = {"fast", "C", "c ", "autoo", "c\nc"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        options.backend = unknown[i];
        refused(&src, &dst, TT_ROT90, &options, TT_ERROR_ARGUMENT, "no backend is named");
        EXPECT(tt_backend_check(unknown[i]) == TT_ERROR_ARGUMENT, "%s", unknown[i]);
    }
    options.backend = "fast";
    refused(&src, &dst, TT_ROT90, &options, TT_ERROR_ARGUMENT, " c"); /* says which there are */

    /* Each that is known here, and says it runs or not, does what it says. */
    static const char *const always[] = {"auto", "cpu", "c"};
    for (size_t i = 0; i < 3; i++)
        EXPECT(tt_backend_check(always[i]) == TT_OK, "%s: %s", always[i], tt_last_error());
    const char *name;
    bool has_c = false;
    for (size_t i = 0; (name = tt_backend_name(i)); i++) {
        TtStatus status = tt_backend_check(name);
        has_c |= !strcmp(name, "c");
        options.backend = name;
        EXPECT(status == TT_OK || status == TT_ERROR_NO_DEVICE, "%s: %d", name, (int)status);
        if (status)
            refused(&src, &dst, TT_ROT90, &options, TT_ERROR_NO_DEVICE, name);
    }
    EXPECT(has_c && !tt_backend_name(1000) && !tt_backend_name(SIZE_MAX), "the list of backends");
}

static void test_environment(void) {
    TtImage src = good_source(), dst = good_destination();
    TtOptions by_name = {sizeof(by_name), "c", 1}, by_default = {sizeof(by_default), NULL, 1};
    setenv("TT_BACKEND", "fast", 1);
    refused(&src, &dst, TT_ROT90, NULL, TT_ERROR_ARGUMENT, "'fast' (from TT_BACKEND)");
    refused(&src, &dst, TT_ROT90, &by_default, TT_ERROR_ARGUMENT, "'fast' (from TT_BACKEND)");
    EXPECT(tt_orient(&src, &dst, TT_ROT90, &by_name) == TT_OK, "a name of the call's own: %s",
           tt_last_error());
    TtFrame *frame = NULL;
    EXPECT(tt_frame_new(&src, TT_ROT90, NULL, &frame) == TT_ERROR_ARGUMENT && !frame, "a frame");
    static const char *const fine[] = {"c", "cpu", "auto", ""};
    for (size_t i = 0; i < 4; i++) {
        setenv("TT_BACKEND", fine[i], 1);
        EXPECT(tt_orient(&src, &dst, TT_ROT90, NULL) == TT_OK, "'%s': %s", fine[i], tt_last_error());
    }
    unsetenv("TT_BACKEND");
}

/* ---- Overlap --------------------------------------------------------------------------------------- */

static uint8_t shared[BYTES], before[BYTES];

/* Both images lie in `shared`; refused, and not a byte of it changed, or accepted. */
static void overlapping(bool overlap, TtImage src, TtImage dst, int o, const char *what) {
    for (size_t i = 0; i < BYTES; i++)
        shared[i] = before[i] = (uint8_t)(i * 37);
    forget_message();
    TtStatus got = tt_orient(&src, &dst, (TtOrientation)o, NULL);
    EXPECT(got == (overlap ? TT_ERROR_OVERLAP : TT_OK), "%s: status %d: %s", what, (int)got, tt_last_error());
    if (overlap) {
        expect_message("share memory");
        EXPECT(!memcmp(shared, before, BYTES), "%s: memory was written", what);
    }
}

static TtImage at(ptrdiff_t offset, ptrdiff_t pitch, size_t width, size_t height) {
    return tt_image(shared + offset, pitch, width, height, 1, 8);
}

static void test_overlap(void) {
    overlapping(true, at(0, 4, 4, 4), at(0, 4, 4, 4), TT_TRANSPOSE, "the same buffer");
    overlapping(true, at(0, 4, 4, 4), at(0, 4, 4, 4), TT_NONE, "the same buffer, even to copy");
    overlapping(true, at(100, 4, 4, 4), at(115, 4, 4, 4), TT_ROT90, "the last byte");
    overlapping(true, at(115, 4, 4, 4), at(100, 4, 4, 4), TT_ROT90, "the first byte");
    overlapping(false, at(100, 4, 4, 4), at(116, 4, 4, 4), TT_ROT90, "just behind");
    overlapping(false, at(116, 4, 4, 4), at(100, 4, 4, 4), TT_ROT90, "just before");

    overlapping(true, at(112, -4, 4, 4), at(100, 4, 4, 4), TT_FLIPV, "the same buffer upward");
    overlapping(true, at(112, -4, 4, 4), at(97, 4, 4, 4), TT_ROT90, "upward, its lowest byte");
    overlapping(false, at(112, -4, 4, 4), at(116, 4, 4, 4), TT_ROT90, "upward, just before");
    overlapping(false, at(112, -4, 4, 4), at(84, 4, 4, 4), TT_ROT90, "upward, just behind");

    /* Columns of one larger image. */
    overlapping(false, at(0, 16, 4, 4), at(4, 16, 4, 4), TT_ROT90, "columns side by side");
    overlapping(false, at(4, 16, 4, 4), at(0, 16, 4, 4), TT_ROT90, "columns side by side, the other way");
    overlapping(true, at(0, 16, 4, 4), at(3, 16, 4, 4), TT_ROT90, "columns that share one");
    overlapping(true, at(3, 16, 4, 4), at(0, 16, 4, 4), TT_ROT90, "columns that share one, the other way");
    overlapping(false, at(0, 16, 8, 4), at(8, 16, 8, 4), TT_FLIPH, "the two halves");
    overlapping(false, at(8, 16, 8, 4), at(0, 16, 8, 4), TT_FLIPH, "the two halves, the other way");
    overlapping(false, at(48, -16, 8, 4), at(8, 16, 8, 4), TT_FLIPV, "the two halves, one upward");
    overlapping(true, at(48, -16, 9, 4), at(8, 16, 9, 4), TT_FLIPV, "halves and one more, one upward");
    overlapping(true, at(0, 16, 8, 4), at(12, 16, 8, 4), TT_FLIPH, "a row that ends in the next");
    overlapping(false, at(0, 16, 8, 4), at(8 + 64, 16, 8, 4), TT_FLIPH, "the other half, further down");
    overlapping(false, at(0, 16, 4, 4), at(32 + 4, 16, 4, 4), TT_ROT90, "beside, two rows down");
    overlapping(true, at(0, 16, 4, 4), at(32 + 2, 16, 4, 4), TT_ROT90, "two rows and two columns on");

    /* Where the rows are not the same distance apart, what lies between first and last byte counts. */
    overlapping(true, at(0, 16, 4, 4), at(4, 15, 4, 4), TT_ROT90, "rows of two distances");

    /* Planes: the destination between the source's, or over one of them. */
    TtImage src = tt_image(shared, 4, 4, 4, 2, 8), dst = tt_image(shared + 16, 8, 4, 4, 2, 8);
    src.layout = TT_PLANAR;
    src.plane_pitch = 48;
    overlapping(false, src, dst, TT_ROT90, "between the planes");
    dst.data = shared + 17;
    overlapping(true, src, dst, TT_ROT90, "a byte into the second plane");
    dst.data = shared + 15;
    overlapping(true, src, dst, TT_ROT90, "a byte into the first plane");
    TtImage other = src;
    other.data = shared + 16;
    overlapping(false, src, other, TT_ROT90, "planes of both, taking turns");
    other.data = shared + 33;
    overlapping(true, src, other, TT_ROT90, "likewise, a byte too far");

    /* Packed. */
    TtImage bits = tt_image(shared, 2, 9, 9, 1, 1), turned = tt_image(shared + 17, 2, 9, 9, 1, 1);
    overlapping(true, bits, turned, TT_ROT90, "the last bit's byte");
    turned.data = shared + 18;
    overlapping(false, bits, turned, TT_ROT90, "the byte behind");
}

/* ---- Views ----------------------------------------------------------------------------------------- */

static void test_views(void) {
    TtImage image = good_source();
    TtImage view = tt_subimage(&image, (TtRect){2, 1, 3, 2});
    EXPECT(view.data == from + WIDTH * CHANNELS + 2 * CHANNELS && view.width == 3 && view.height == 2 &&
               view.pitch == image.pitch && view.struct_size == sizeof(TtImage),
           "a view");
    view = tt_subimage(&image, (TtRect){0, 0, WIDTH, HEIGHT});
    EXPECT(view.data == from && view.width == WIDTH && view.height == HEIGHT && view.pitch == image.pitch &&
               view.channels == CHANNELS && view.sample_bits == 8,
           "a view of it all");
    TtImage upward = WITH2(image, data = from + 300, pitch = -image.pitch);
    EXPECT(tt_subimage(&upward, (TtRect){1, 2, 1, 1}).data == from + 300 - 2 * WIDTH * CHANNELS + CHANNELS,
           "a view of rows that run upward");
    TtImage planes = planar(image);
    view = tt_subimage(&planes, (TtRect){2, 1, 1, 1});
    EXPECT(view.data == from + WIDTH + 2 && view.plane_pitch == planes.plane_pitch, "a view of planes");
    TtImage bits = tt_image(from, 4, 16, 4, 1, 2);
    EXPECT(tt_subimage(&bits, (TtRect){4, 1, 3, 1}).data == from + 5, "a view of packed samples");

    static const TtRect outside[] = {{0, 0, 7, 1},        {0, 0, 1, 5},        {6, 0, 1, 1}, {0, 4, 1, 1},
                                     {SIZE_MAX, 0, 2, 1}, {1, 0, SIZE_MAX, 1}, {0, 0, 0, 1}, {0, 0, 1, 0},
                                     {0, SIZE_MAX, 1, 2}, {0, 1, 1, SIZE_MAX}};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        view = tt_subimage(&image, outside[i]);
        EXPECT(!view.data, "a view outside, number %zu", i);
        refused_source(view, "");
    }
    EXPECT(!tt_subimage(&bits, (TtRect){1, 0, 4, 1}).data, "packed samples not on a byte");
    EXPECT(!tt_subimage(NULL, (TtRect){0, 0, 1, 1}).data, "a view of nothing");
    EXPECT(!tt_subimage(&(TtImage){0}, (TtRect){0, 0, 1, 1}).data, "a view of an image that was not set");
}

/* ---- Words ----------------------------------------------------------------------------------------- */

static void test_status_strings(void) {
    for (int i = TT_OK; i <= TT_ERROR_CANCELLED; i++) {
        const char *words = tt_status_string((TtStatus)i);
        EXPECT(words && *words && strcmp(words, tt_status_string((TtStatus)-1)), "status %d", i);
        for (int j = TT_OK; j < i; j++)
            EXPECT(strcmp(words, tt_status_string((TtStatus)j)), "statuses %d and %d: %s", i, j, words);
    }
    EXPECT(*tt_status_string((TtStatus)-1) && *tt_status_string((TtStatus)1000), "an unknown status");
    EXPECT(!strcmp(tt_status_string(TT_ERROR_MEMORY), "out of memory"), "the header's example");
    EXPECT(TT_ERROR_CANCELLED == 8 && TT_ERROR_OVERLAP == 2 && TT_ERROR_NO_DEVICE == 5, "the ABI");
}

static void test_version(void) {
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", TT_VERSION_MAJOR, TT_VERSION_MINOR, TT_VERSION_PATCH);
    EXPECT(!strcmp(tt_version(), version), "%s, not %s", tt_version(), version);
    EXPECT(!strcmp(tt_version(), BUILD_VERSION), "%s, the build says %s", tt_version(), BUILD_VERSION);
}

static void *fail_elsewhere(void *arg) {
    (void)arg;
    EXPECT(!*tt_last_error(), "a new thread's message is empty, not '%s'", tt_last_error());
    TtOrientation o;
    tt_orientation_parse("elsewhere", &o);
    expect_message("'elsewhere'");
    return NULL;
}

static void test_message_of_the_thread(void) {
    TtOrientation o;
    tt_orientation_parse("here", &o);
    pthread_t thread;
    if (!EXPECT(!pthread_create(&thread, NULL, fail_elsewhere, NULL), "a thread"))
        return;
    pthread_join(thread, NULL);
    expect_message("'here'");
    tt_orientation_parse("rot90", &o);
    expect_message("'here'"); /* a call that succeeds leaves it alone */
    char long_name[5000];
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    EXPECT(tt_orientation_parse(long_name, &o) == TT_ERROR_ARGUMENT, "a long name");
    expect_message("no orientation is named");
}

int main(void) {
    EXPECT(!*tt_last_error(), "no message before the first failure");
    unsetenv("TT_BACKEND");
    test_images();
    test_pitches();
    test_planes();
    test_overflow();
    test_pair();
    test_options();
    test_environment();
    test_overlap();
    test_views();
    test_status_strings();
    test_version();
    test_message_of_the_thread();
    return expect_result();
}
