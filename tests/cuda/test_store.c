/* SPDX-License-Identifier: MIT
 *
 * Frames whose picture is on the GPU: bands and rectangles in, rows out, against the plain loop; and with the
 * shim's libcuda.so.1, each call to the driver failing in turn.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../eight.h"
#include "../fault/system.h"
#include "../pictures.h"
#include "../random.h"
#include "fake.h"
#include "tiletranspose/tt_frame.h"

static uint64_t random_state = 11;

static size_t below(size_t n) {
    return random_below(&random_state, n);
}

typedef struct {
    TtImage src, want, got;
    int orientation;
    bool pinned; /* src and got */
    TtFrame *frame;
} Case;

static TtImage image_of(const TtImage *shape, bool swapped, bool pinned) {
    TtImage image = *shape;
    image.width = swapped ? shape->height : shape->width;
    image.height = swapped ? shape->width : shape->height;
    picture_lay_out(&image, &random_state);
    size_t bytes = picture_bytes(&image);
    uint8_t *memory = gpu_host_memory(bytes, pinned);
    memset(memory, 0, bytes);
    picture_place(&image, memory);
    return image;
}

static void fill(Case *c, const TtImage *shape) {
    bool swaps = eight_swaps(c->orientation);
    c->src = image_of(shape, false, c->pinned);
    random_fill(&random_state, picture_lowest(&c->src), picture_bytes(&c->src));
    c->want = image_of(shape, swaps, false);
    c->got = c->want;
    size_t bytes = picture_bytes(&c->want);
    uint8_t *memory = gpu_host_memory(bytes, c->pinned);
    memset(memory, 0, bytes);
    picture_place(&c->got, memory);
    picture_turn(&c->src, &c->want, c->orientation);
}

static Case draw(void) {
    static const uint32_t samples[] = {1, 1, 2, 4, 8};
    Case c = {.orientation = 1 + (int)below(8)};
    TtImage shape = tt_image(NULL, 0, 1 + below(below(4) ? 300 : 3000), 1 + below(300),
                             1 + (uint32_t)below(4), 8 * samples[below(5)]);
    shape.layout = shape.channels > 1 && !below(4) ? TT_PLANAR : TT_INTERLEAVED;
    c.pinned = below(2);
    fill(&c, &shape);
    return c;
}

static void drop(Case *c) {
    gpu_host_free(picture_lowest(&c->src), c->pinned);
    gpu_host_free(picture_lowest(&c->got), c->pinned);
    free(picture_lowest(&c->want));
}

static TtStatus make_frame(Case *c) {
    TtFrameOptions options = {.struct_size = sizeof(options), .backend = "cuda"};
    return tt_frame_new(&c->src, (TtOrientation)c->orientation, &options, &c->frame);
}

static TtStatus put_rows(Case *c, size_t from, size_t to) {
    TtImage band = tt_subimage(&c->src, (TtRect){0, from, c->src.width, to - from});
    return tt_frame_put(c->frame, &band, 0, from);
}

static TtStatus read_rows(Case *c, size_t from, size_t to) {
    TtImage rows = tt_subimage(&c->got, (TtRect){0, from, c->got.width, to - from});
    return tt_frame_read(c->frame, (TtRect){0, from, c->got.width, to - from}, &rows);
}

static void test_bands(void) {
    Case c = draw();
    TtStatus status = make_frame(&c);
    EXPECT(!status && tt_frame_store(c.frame) == TT_STORE_DEVICE, "%s", tt_last_error());
    for (size_t y = 0, end; !status && y < c.src.height; y = end) {
        end = y + 1 + below(c.src.height - y);
        status = put_rows(&c, y, end);
    }
    for (size_t y = 0, end; !status && y < c.got.height; y = end) {
        end = y + 1 + below(c.got.height - y);
        status = read_rows(&c, y, end);
    }
    EXPECT(!status, "%s", tt_last_error());
    EXPECT(!memcmp(picture_lowest(&c.got), picture_lowest(&c.want), picture_bytes(&c.want)),
           "%s of %zu x %zu, %u channels of %u bits is wrong", eight_names[c.orientation], c.src.width,
           c.src.height, c.src.channels, c.src.sample_bits);
    tt_frame_free(c.frame);
    drop(&c);
}

/* More bands than there are slots, each of memory that is used for something else as soon as it was put. */
static void test_many_bands(bool pinned) {
    enum { BANDS = 40, ROWS = 8 };
    Case c = {.orientation = TT_TRANSVERSE, .pinned = pinned};
    TtImage shape = tt_image(NULL, 0, 50, BANDS * ROWS, 2, 8);
    fill(&c, &shape);
    TtStatus status = make_frame(&c);
    for (size_t y = 0; !status && y < c.src.height; y += ROWS) {
        status = put_rows(&c, y, y + ROWS);
        for (size_t row = y; row < y + ROWS; row++)
            memset((uint8_t *)c.src.data + (ptrdiff_t)row * c.src.pitch, 0xee, 50);
    }
    for (size_t y = 0; !status && y < c.got.height; y += 5)
        status = read_rows(&c, y, y + 5);
    EXPECT(!status && !memcmp(picture_lowest(&c.got), picture_lowest(&c.want), picture_bytes(&c.want)),
           "many bands of %s memory: %s", pinned ? "pinned" : "plain", status ? tt_last_error() : "wrong");
    tt_frame_free(c.frame);
    drop(&c);
}

/* Pixels larger than a slot, and so wide that rows are few to a slot. */
static void test_large_pixels(uint32_t channels, uint32_t sample_bytes, TtLayout layout, bool pinned) {
    Case c = {.orientation = TT_ROT90, .pinned = pinned};
    TtImage shape = tt_image(NULL, 0, 2, 3, channels, 8 * sample_bytes);
    shape.layout = layout;
    fill(&c, &shape);
    EXPECT(!make_frame(&c) && !put_rows(&c, 0, 2) && !put_rows(&c, 2, 3) && !read_rows(&c, 0, 2), "%s",
           tt_last_error());
    EXPECT(!memcmp(picture_lowest(&c.got), picture_lowest(&c.want), picture_bytes(&c.want)),
           "%u channels of %u bytes are wrong", channels, sample_bytes);
    tt_frame_free(c.frame);
    drop(&c);
}

static void test_impossible(void) {
    Case c = {.orientation = TT_NONE, .src = tt_image(NULL, 0, 1, ((size_t)1 << 56) + 1, 1, 8)};
    TtStatus status = make_frame(&c);
    EXPECT(status == TT_ERROR_MEMORY, "a picture of 2^56 rows: status %d", (int)status);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

enum { THREADS = 12 };

typedef struct {
    Case *c;
    size_t index;
    bool reading;
    TtStatus status;
} Share;

static void *work(void *arg) {
    Share *s = arg;
    size_t height = s->reading ? s->c->got.height : s->c->src.height;
    for (size_t y = s->index * 16; !s->status && y < height; y += THREADS * 16) {
        size_t end = y + 16 < height ? y + 16 : height;
        s->status = s->reading ? read_rows(s->c, y, end) : put_rows(s->c, y, end);
    }
    return NULL;
}

static void share_out(Case *c, bool reading) {
    pthread_t threads[THREADS];
    Share shares[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        shares[i] = (Share){c, i, reading, TT_OK};
        pthread_create(&threads[i], NULL, work, &shares[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(!shares[i].status, "thread %zu: status %d", i, (int)shares[i].status);
    }
}

/* Large enough that a thread's rows take several slots. */
static void test_threads(size_t width, size_t height, bool pinned) {
    Case c = {.orientation = TT_ROT270, .pinned = pinned};
    TtImage shape = tt_image(NULL, 0, width, height, 3, 8);
    fill(&c, &shape);
    EXPECT(!make_frame(&c), "%s", tt_last_error());
    share_out(&c, false);
    share_out(&c, true);
    EXPECT(!memcmp(picture_lowest(&c.got), picture_lowest(&c.want), picture_bytes(&c.want)),
           "%d threads differ", THREADS);
    tt_frame_free(c.frame);
    drop(&c);
}

/* ---- Faults -------------------------------------------------------------------------------------------- */

/* Each call to the driver, or of the library to the system, fails once. */
static void test_each_call(bool of_system) {
    uint8_t source[40 * 30], turned[40 * 30], truth[40 * 30];
    Case c = {.orientation = TT_ROT90};
    c.src = tt_image(source, 40, 40, 30, 1, 8);
    c.got = tt_image(turned, 30, 30, 40, 1, 8);
    TtImage want = tt_image(truth, 30, 30, 40, 1, 8);
    random_fill(&random_state, source, sizeof(source));
    picture_turn(&c.src, &want, TT_ROT90);
    bool reached = true;
    long n;
    for (n = 1; reached && n < 1000; n++) {
        long left = fake.left() + system_left();
        memset(turned, 0x5a, sizeof(turned));
        c.frame = NULL;
        system_heal();
        if (of_system)
            system_fault_any(OWN, (size_t)n, (size_t)n);
        else
            fake.fail_at(n);
        TtStatus status = make_frame(&c);
        if (!status && !(status = put_rows(&c, 0, 17)) && !(status = put_rows(&c, 17, 30)))
            status = read_rows(&c, 0, 40);
        reached = of_system ? (long)system_calls_any() >= n : fake.calls() >= n;
        fake.fail_at(0);
        system_heal();
        EXPECT(!status || (reached && *tt_last_error() && !strchr(tt_last_error(), '\n')),
               "call %ld: status %d: '%s'", n, (int)status, tt_last_error());
        EXPECT(status || !memcmp(turned, truth, sizeof(truth)), "call %ld: no error, and other pixels", n);
        tt_frame_free(c.frame);
        EXPECT(fake.left() + system_left() == left, "call %ld: %ld things are left", n,
               fake.left() + system_left() - left);
    }
    EXPECT(!reached && n > 2, "%ld calls", n);
}

static void test_little_memory(void) {
    static uint8_t pixels[40 * 30];
    Case c = {.orientation = TT_ROT90, .src = tt_image(pixels, 40, 40, 30, 1, 8)};
    fake.memory_limit(1000);
    TtStatus status = make_frame(&c);
    fake.memory_limit((size_t)1 << 40);
    EXPECT(status == TT_ERROR_MEMORY && strstr(tt_last_error(), "GPU's memory"), "status %d: '%s'",
           (int)status, tt_last_error());
}

static void test_arguments(void) {
    TtFrame *frame = NULL;
    TtImage shape = tt_image(NULL, 0, 8, 8, 1, 8), packed = tt_image(NULL, 0, 8, 8, 1, 1);
    TtFrameOptions options = {.struct_size = sizeof(options), .backend = "c", .store = TT_STORE_DEVICE};
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "a device store of 'c'");
    options.backend = "cuda";
    EXPECT(tt_frame_new(&packed, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "packed on the device");
    options.store = TT_STORE_AUTO;
    EXPECT(!tt_frame_new(&packed, TT_ROT90, &options, &frame) && tt_frame_store(frame) == TT_STORE_MEMORY,
           "packed samples: %s", tt_last_error());
    tt_frame_free(frame);
    options.store = TT_STORE_MEMORY;
    EXPECT(!tt_frame_new(&shape, TT_ROT90, &options, &frame) && tt_frame_store(frame) == TT_STORE_MEMORY,
           "memory by name: %s", tt_last_error());
    tt_frame_free(frame);
}

int main(void) {
    gpu_open();
    if (tt_backend_check("cuda")) {
        fprintf(stderr, "skipped: %s\n", tt_last_error());
        return EXIT_SKIP;
    }
    test_many_bands(false);
    test_many_bands(true);
    for (int i = 0; i < 150; i += SLOWER)
        test_bands();
    test_large_pixels(1, 3 << 20, TT_INTERLEAVED, false);
    if (SLOWER == 1) /* of which the shim takes two minutes with a sanitizer */
        test_large_pixels(1, 9 << 20, TT_INTERLEAVED, true);
    test_large_pixels(96, 1, TT_INTERLEAVED, false);
    test_large_pixels(40000, 1, TT_PLANAR, true);
    test_impossible();
    test_threads(3000, 400, false);
    test_threads(3000, 400, true);
    test_threads(200000, SLOWER == 1 ? 40 : 17, false);
    test_arguments();
    if (fake_open()) {
        test_each_call(false);
        test_each_call(true);
        test_little_memory();
    }
    return expect_result();
}
