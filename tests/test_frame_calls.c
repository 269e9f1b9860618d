/* SPDX-License-Identifier: MIT
 *
 * Frames, call by call: what is refused, limits, the cancel flag, and where bands are to end. With "spill" as
 * its argument, through a file.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "random.h"
#include "tiletranspose/tt_frame.h"

static uint64_t random_state = 3;
static TtFrameStore store = TT_STORE_MEMORY; /* of every frame here */

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static TtFrameOptions in_store(void) {
    return (TtFrameOptions){.struct_size = sizeof(TtFrameOptions), .store = store};
}

static void put_refused(TtFrame *frame, TtImage piece, size_t x, size_t y, const char *words) {
    TtStatus status = tt_frame_put(frame, &piece, x, y);
    EXPECT(status == TT_ERROR_ARGUMENT && strstr(tt_last_error(), words), "status %d, '%s', not '%s'",
           (int)status, tt_last_error(), words);
}

static void read_refused(TtFrame *frame, TtRect r, TtImage into, const char *words) {
    TtStatus status = tt_frame_read(frame, r, &into);
    EXPECT(status == TT_ERROR_ARGUMENT && strstr(tt_last_error(), words), "status %d, '%s', not '%s'",
           (int)status, tt_last_error(), words);
}

static void test_refusals(void) {
    uint8_t pixels[1000] = {0}, rows[1000];
    TtImage shape = tt_image(NULL, 0, 20, 10, 1, 8), all = tt_image(pixels, 20, 20, 10, 1, 8);
    TtFrame *frame = NULL;
    EXPECT(tt_frame_new(NULL, TT_ROT90, NULL, &frame) == TT_ERROR_ARGUMENT, "no shape");
    EXPECT(tt_frame_new(&shape, TT_ROT90, NULL, NULL) == TT_ERROR_ARGUMENT, "no place");
    EXPECT(tt_frame_new(&shape, (TtOrientation)0, NULL, &frame) == TT_ERROR_ARGUMENT, "orientation 0");
    EXPECT(tt_frame_new(&shape, (TtOrientation)9, NULL, &frame) == TT_ERROR_ARGUMENT, "orientation 9");
    TtFrameOptions options = {0};
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "struct_size 0");
    options = (TtFrameOptions){.struct_size = sizeof(options), .backend = "fast"};
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "backend");
    EXPECT(strstr(tt_last_error(), "'fast'"), "%s", tt_last_error());
    TtImage none = shape;
    none.width = 0;
    options = in_store();
    options.store = (TtFrameStore)3;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "store 3");
    options = in_store();
    EXPECT(tt_frame_new(&none, TT_ROT90, NULL, &frame) == TT_ERROR_ARGUMENT, "no pixels");
    EXPECT(!frame, "a refused frame was stored");

    if (!EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    put_refused(frame, all, 1, 0, "outside");
    put_refused(frame, all, 0, 1, "outside");
    put_refused(frame, all, SIZE_MAX, 0, "outside");
    put_refused(frame, all, 0, SIZE_MAX, "outside");
    put_refused(frame, tt_image(pixels, 21, 21, 10, 1, 8), 0, 0, "outside");
    put_refused(frame, tt_image(pixels, 20, 10, 10, 1, 16), 0, 0, "of 16 bits");
    put_refused(frame, tt_image(pixels, 20, 10, 10, 2, 8), 0, 0, "2 channels");
    put_refused(frame, tt_image(NULL, 20, 20, 10, 1, 8), 0, 0, "NULL");
    put_refused(frame, tt_image(pixels, 19, 20, 10, 1, 8), 0, 0, "pitch");
    put_refused(NULL, all, 0, 0, "frame is NULL");
    EXPECT(tt_frame_put(frame, NULL, 0, 0) == TT_ERROR_ARGUMENT, "no piece");

    TtImage into = tt_image(rows, 10, 10, 20, 1, 8);
    memset(rows, 5, sizeof(rows));
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 10, 20}, &into) == TT_ERROR_NOT_READY, "nothing put");
    EXPECT(strstr(tt_last_error(), "row 0"), "%s", tt_last_error());
    EXPECT(tt_frame_put(frame, &all, 0, 0) == TT_OK, "%s", tt_last_error());
    read_refused(frame, (TtRect){0, 0, 10, 21}, tt_image(rows, 10, 10, 21, 1, 8), "cannot read");
    read_refused(frame, (TtRect){1, 0, 10, 20}, into, "cannot read");
    read_refused(frame, (TtRect){0, 1, 10, 20}, into, "cannot read");
    read_refused(frame, (TtRect){SIZE_MAX, 0, 10, 20}, into, "cannot read");
    read_refused(frame, (TtRect){0, SIZE_MAX, 10, 20}, into, "cannot read");
    read_refused(frame, (TtRect){0, 0, 9, 20}, into, "cannot read");
    read_refused(frame, (TtRect){0, 0, 0, 0}, tt_image(rows, 10, 0, 0, 1, 8), "no pixels");
    read_refused(frame, (TtRect){0, 0, 10, 20}, tt_image(NULL, 10, 10, 20, 1, 8), "NULL");
    read_refused(frame, (TtRect){0, 0, 10, 20}, tt_image(rows, 20, 10, 20, 1, 16), "differ");
    read_refused(NULL, (TtRect){0, 0, 10, 20}, into, "frame is NULL");
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 10, 20}, NULL) == TT_ERROR_ARGUMENT, "no place");
    for (size_t i = 0; i < sizeof(rows); i++)
        EXPECT(rows[i] == 5, "a refused read wrote byte %zu", i);
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 10, 20}, &into) == TT_OK, "%s", tt_last_error());
    tt_frame_free(frame);
    tt_frame_free(NULL);

    /* Packed rows are read from a whole byte on. */
    TtImage bits = tt_image(NULL, 0, 20, 10, 1, 2), bits_of = tt_image(pixels, 5, 20, 10, 1, 2);
    if (!EXPECT(tt_frame_new(&bits, TT_NONE, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    EXPECT(tt_frame_put(frame, &bits_of, 0, 0) == TT_OK, "%s", tt_last_error());
    for (size_t x = 0; x < 8; x++) {
        into = tt_image(rows, 3, 10, 10, 1, 2);
        EXPECT(tt_frame_read(frame, (TtRect){x, 0, 10, 10}, &into) == (x % 4 ? TT_ERROR_ARGUMENT : TT_OK),
               "column %zu", x);
    }
    tt_frame_free(frame);
}

/* A piece that was refused counts for nothing; a row that is half complete takes its other half. */
static void test_put_twice(void) {
    uint8_t pixels[200] = {0};
    TtImage shape = tt_image(NULL, 0, 20, 10, 1, 8), half = tt_image(pixels, 10, 10, 10, 1, 8);
    TtImage row = tt_image(pixels, 20, 20, 1, 1, 8);
    TtFrameOptions options = in_store();
    TtFrame *frame;
    if (!EXPECT(tt_frame_new(&shape, TT_NONE, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    EXPECT(tt_frame_put(frame, &half, 0, 0) == TT_OK, "%s", tt_last_error());
    put_refused(frame, row, 0, 3, "put before");
    EXPECT(tt_frame_read(frame, (TtRect){0, 3, 20, 1}, &row) == TT_ERROR_NOT_READY, "half a row");
    EXPECT(tt_frame_put(frame, &half, 10, 0) == TT_OK, "%s", tt_last_error());
    put_refused(frame, half, 10, 0, "put before");
    EXPECT(tt_frame_read(frame, (TtRect){0, 3, 20, 1}, &row) == TT_OK, "%s", tt_last_error());
    tt_frame_free(frame);
}

/* The limit of the memory store alone. */
static void test_memory_limit(void) {
    /* Row lengths on both sides of those that the store pads. */
    static const size_t widths[] = {1, 100, 1023, 1024, 1025, 4096, 5000};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        for (int o = 1; o <= 8; o++) {
            TtImage shape = tt_image(NULL, 0, widths[i], 1100, 3, 8);
            TtFrameOptions options = {.struct_size = sizeof(options),
                                      .memory_limit = widths[i] * 1100 * 3,
                                      .store = TT_STORE_MEMORY};
            TtFrame *frame = NULL;
            EXPECT(tt_frame_new(&shape, (TtOrientation)o, &options, &frame) == TT_OK,
                   "a picture as large as the limit: %s: %zu wide, %s", tt_last_error(), widths[i],
                   eight_names[o]);
            tt_frame_free(frame);
            frame = NULL;
            options.memory_limit--;
            EXPECT(tt_frame_new(&shape, (TtOrientation)o, &options, &frame) == TT_ERROR_MEMORY && !frame,
                   "a byte more than the limit: %zu wide, %s", widths[i], eight_names[o]);
            EXPECT(strstr(tt_last_error(), "bytes of memory"), "%s", tt_last_error());
        }
    TtImage shape = tt_image(NULL, 0, (size_t)1 << 31, (size_t)1 << 30, 1, 8);
    TtFrameOptions options = {.struct_size = sizeof(options), .store = TT_STORE_MEMORY};
    TtFrame *frame = NULL;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_MEMORY && !frame, "two exabytes");
    shape = tt_image(NULL, 0, PTRDIFF_MAX, 1, 1, 8);
    options.memory_limit = SIZE_MAX;
    EXPECT(tt_frame_new(&shape, TT_NONE, &options, &frame) == TT_ERROR_MEMORY && !frame, "eight exabytes");
}

static void *set(void *flag) {
    *(atomic_int *)flag = 1;
    return NULL;
}

static void test_cancel(void) {
    atomic_int cancel = 0;
    pthread_t thread;
    uint8_t pixels[200] = {0}, rows[200];
    TtImage shape = tt_image(NULL, 0, 20, 10, 1, 8), half = tt_image(pixels, 20, 20, 5, 1, 8);
    TtImage into = tt_image(rows, 20, 20, 5, 1, 8);
    TtFrameOptions options = {
        .struct_size = sizeof(options), .cancel = (const volatile int *)&cancel, .store = store};
    TtFrame *frame;
    if (!EXPECT(tt_frame_new(&shape, TT_NONE, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    EXPECT(tt_frame_put(frame, &half, 0, 0) == TT_OK, "%s", tt_last_error());
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 20, 5}, &into) == TT_OK, "%s", tt_last_error());
    memset(rows, 5, sizeof(rows));
    cancel = 1;
    EXPECT(tt_frame_put(frame, &half, 0, 5) == TT_ERROR_CANCELLED, "a put after the flag");
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 20, 5}, &into) == TT_ERROR_CANCELLED, "a read after the flag");
    EXPECT(rows[0] == 5 && rows[99] == 5, "a cancelled read wrote");
    cancel = 0;
    EXPECT(tt_frame_put(frame, &half, 0, 5) == TT_OK, "the cancelled put counted: %s", tt_last_error());
    if (EXPECT(!pthread_create(&thread, NULL, set, &cancel), "no thread")) {
        while (tt_frame_read(frame, (TtRect){0, 0, 20, 5}, &into) == TT_OK)
            ;
        EXPECT(strstr(tt_last_error(), "cancelled"), "%s", tt_last_error());
        pthread_join(thread, NULL);
    }
    tt_frame_free(frame);
}

/* The frame keeps nothing of the caller's, also not the name of a backend. */
static void test_name_of_backend(void) {
    char name[] = "c";
    uint8_t pixel = 7;
    TtImage shape = tt_image(&pixel, 1, 1, 1, 1, 8);
    TtFrameOptions options = {.struct_size = sizeof(options), .backend = name, .store = store};
    TtFrame *frame;
    if (!EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    memset(name, 'x', 1);
    EXPECT(tt_frame_put(frame, &shape, 0, 0) == TT_OK, "%s", tt_last_error());
    tt_frame_free(frame);
}

/* ---- Bands ------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t channels, bits;
} Format;

static const Format formats[] = {{1, 1}, {1, 2},  {1, 4},  {1, 8},  {3, 8},
                                 {4, 8}, {1, 16}, {3, 16}, {2, 32}, {5, 24}};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static void *nothing(size_t bytes, void *user) {
    (void)bytes;
    return user; /* no pixel is ever put there */
}

static void no_release(void *memory, size_t bytes, void *user) {
    (void)memory;
    (void)bytes;
    (void)user;
}

static void check_cuts(size_t width, size_t height, Format f, TtLayout layout, int o) {
    TtImage shape = tt_image(NULL, 0, width, height, f.channels, f.bits);
    shape.layout = layout;
    char somewhere;
    TtFrameOptions options = {.struct_size = sizeof(options), .memory_limit = SIZE_MAX, .allocate = nothing};
    options.store = TT_STORE_MEMORY;
    options.release = no_release;
    options.user = &somewhere;
    TtFrame *frame;
    if (!EXPECT(tt_frame_new(&shape, (TtOrientation)o, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;

    /* A column of the source is a row of the result: its bands fill bytes there, counted from where it
     * starts, and cache lines if that does not take too many rows. */
    size_t sample_bits = layout == TT_PLANAR ? f.bits : f.bits * f.channels,
           row = (width * f.bits * f.channels + 7) / 8;
    size_t per_byte = f.bits < 8 ? 8 / f.bits : 1, per_line = 1;
    while (per_line * sample_bits % 512)
        per_line++;
    bool from_below = o == 3 || o == 4 || o == 6 || o == 7;
    size_t bands = 0, longest_band = 0;
    for (size_t y = 0, end; y < height; y = end, bands++) {
        end = tt_frame_cut(frame, y);
        if (!EXPECT(end > y && end <= height, "%zu after %zu of %zu: %s", end, y, height, eight_names[o]))
            break;
        longest_band = end - y > longest_band ? end - y : longest_band;
        size_t in_result = from_below ? height - end : end;
        if (eight_swaps(o) && end < height) {
            EXPECT(in_result % per_byte == 0, "a band of %u bits ends within a byte: %zu, %s", f.bits, end,
                   eight_names[o]);
            if (per_line * row <= (size_t)16 << 20)
                EXPECT(in_result % per_line == 0, "a band ends within a cache line: row %zu of %zu, %s", end,
                       height, eight_names[o]);
        }
    }
    size_t largest = row * per_byte > (size_t)16 << 20 ? row * per_byte : (size_t)16 << 20;
    EXPECT(longest_band * row <= largest, "a band of %zu rows of %zu bytes: %s", longest_band, row,
           eight_names[o]);
    EXPECT(bands <= 2 + height * row / (1 << 20) + height / 32, "%zu bands of %zu rows: %s", bands, height,
           eight_names[o]);

    /* From anywhere, and past the end. */
    for (int i = 0; i < 20; i++) {
        size_t y = random_below(&random_state, height), end = tt_frame_cut(frame, y);
        EXPECT(end > y && end <= height && (end - y) * row <= largest, "%zu after %zu of %zu: %s", end, y,
               height, eight_names[o]);
    }
    EXPECT(tt_frame_cut(frame, height) == height && tt_frame_cut(frame, SIZE_MAX) == height, "past the end");
    tt_frame_free(frame);
}

static void test_cuts(void) {
    static const size_t widths[] = {1, 7, 100, 3000, 28400, 1000003}, heights[] = {1, 5, 63, 64, 1000, 34001};
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t w = 0; w < 6; w++)
            for (size_t h = 0; h < 6; h++)
                for (int o = 1; o <= 8; o++) {
                    check_cuts(widths[w], heights[h], formats[f], TT_INTERLEAVED, o);
                    if (formats[f].channels > 1)
                        check_cuts(widths[w], heights[h], formats[f], TT_PLANAR, o);
                }
}

int main(int argc, char **argv) {
    unsetenv("TT_BACKEND");
    unsetenv("TT_MEMORY_LIMIT");
    if (argc > 1 && !strcmp(argv[1], "spill"))
        store = TT_STORE_SPILL;
    test_refusals();
    test_put_twice();
    test_memory_limit();
    test_cancel();
    test_name_of_backend();
    test_cuts();
    return expect_result();
}
