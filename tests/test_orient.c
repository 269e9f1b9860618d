/* SPDX-License-Identifier: MIT
 *
 * tt_orient of every backend that runs here, byte for byte against a naive loop.
 *
 *     test_orient [--backend NAME] [--every N]
 *
 * Each picture lies against a page that cannot be touched, once behind it and once before it. The source's
 * memory is read-only and random. The destination's is poisoned: bytes between rows have to stay so. What
 * does not fit into the product of sizes, formats and orientations (pitches, layouts, how many channels
 * share a pixel, threads) is drawn at random for each case, from a fixed seed.
 */
#include <signal.h>
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "guarded.h"
#include "pictures.h"
#include "random.h"

enum { MARGIN = 64, ARENA = 48 << 20 };

/* What is being tried: printed when it goes wrong. */
static struct {
    const char *backend;
    TtImage src, dst;
    int orientation;
    unsigned threads;
    bool at_end;
} now;

static Guarded source, destination;
static uint8_t *expected; /* stands for the destination, byte for byte */
static uint64_t random_state = 2;
static size_t cases, every = 1;
static const char *backends[32]; /* under test */
static size_t backend_count;

static void describe_image(char *text, size_t bytes, const char *role, const TtImage *p) {
    snprintf(text, bytes, "%s %zux%zu, %u channels of %u bits, %s, pitch %td, plane pitch %td", role,
             p->width, p->height, p->channels, p->sample_bits,
             p->layout == TT_PLANAR ? "planar" : "interleaved", p->pitch, p->plane_pitch);
}

static const char *describe(void) {
    static char text[512], src[160], dst[160];
    describe_image(src, sizeof(src), "from", &now.src);
    describe_image(dst, sizeof(dst), "to", &now.dst);
    snprintf(text, sizeof(text), "backend %s, %s, %u threads, guard page %s: %s; %s", now.backend,
             eight_names[now.orientation], now.threads, now.at_end ? "behind" : "before", src, dst);
    return text;
}

/* A byte too far. The one who crashed is not going to use stdio any more, so we may. */
static void on_crash(int number) {
    fprintf(stderr, "memory was touched that is not the pictures': %s\n", describe());
    signal(number, SIG_DFL);
    raise(number);
}

static bool fits(const TtImage *picture) {
    return picture_bytes(picture) + MARGIN <= ARENA;
}

static void place(TtImage *picture, Guarded arena) {
    picture_place(picture, now.at_end ? arena.end - picture_bytes(picture) : arena.low);
}

/* Turns as `now` says, with each backend, and compares all bytes from the guard page to a margin beyond
 * the picture. */
static void run_case(void) {
    place(&now.src, source);
    place(&now.dst, destination);
    size_t span = picture_bytes(&now.dst) + MARGIN;
    uint8_t *got = now.at_end ? destination.end - span : destination.low;
    TtImage truth = now.dst;
    truth.data = expected + ((uint8_t *)now.dst.data - got);
    int poison = (int)(random_bits(&random_state) & 255);
    memset(expected, poison, span);
    picture_turn(&now.src, &truth, now.orientation);
    cases++;

    for (size_t b = 0; b < backend_count; b++) {
        now.backend = backends[b];
        memset(got, poison, span);
        TtOptions options = {sizeof(options), now.backend, now.threads};
        TtStatus status = tt_orient(&now.src, &now.dst, (TtOrientation)now.orientation, &options);
        if (!EXPECT(status == TT_OK, "%s: %s", tt_last_error(), describe()) || !memcmp(got, expected, span))
            continue;
        size_t i = 0;
        while (got[i] == expected[i])
            i++;
        EXPECT(got[i] == expected[i], "byte %td after the first pixel is %02x, not %02x, poison %02x: %s",
               got + i - (uint8_t *)now.dst.data, (unsigned)got[i], (unsigned)expected[i], (unsigned)poison,
               describe());
    }
}

/* ---- Formats --------------------------------------------------------------------------------------- */

typedef struct {
    size_t bytes; /* of a pixel; 0: packed */
    unsigned bits;
} Format;

static const Format formats[] = {{1, 0},  {2, 0},  {3, 0},  {4, 0},  {5, 0},  {6, 0},  {7, 0},  {8, 0},
                                 {9, 0},  {10, 0}, {11, 0}, {12, 0}, {13, 0}, {14, 0}, {15, 0}, {16, 0},
                                 {24, 0}, {32, 0}, {48, 0}, {0, 1},  {0, 2},  {0, 4}};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Pictures of the format: the pixel cut into a random number of channels, laid out at random. */
static void set_pictures(Format format, int o, size_t width, size_t height) {
    uint32_t channels = 1;
    if (format.bytes)
        do
            channels = 1 + (uint32_t)random_below(&random_state, format.bytes);
        while (format.bytes % channels);
    unsigned bits = format.bytes ? (unsigned)(8 * format.bytes / channels) : format.bits;
    now.orientation = o;
    now.src = tt_image(NULL, 0, width, height, channels, bits);
    now.dst =
        tt_image(NULL, 0, eight_swaps(o) ? height : width, eight_swaps(o) ? width : height, channels, bits);
    uint64_t choice = random_bits(&random_state);
    now.src.layout = choice & 1 ? TT_PLANAR : TT_INTERLEAVED;
    now.dst.layout = choice & 2 ? TT_PLANAR : TT_INTERLEAVED;
    picture_lay_out(&now.src, &random_state);
    picture_lay_out(&now.dst, &random_state);
}

static bool drawn(void) {
    return every == 1 || !random_below(&random_state, every);
}

/* ---- Small pictures: all of them ------------------------------------------------------------------- */

static void test_small(void) {
    for (int side = 0; side < 2; side++)
        for (size_t f = 0; f < FORMATS; f++)
            for (int o = 1; o <= 8; o++)
                for (size_t height = 1; height <= 40; height++)
                    for (size_t width = 1; width <= 40; width++)
                        if (drawn()) {
                            now.at_end = side;
                            now.threads = 1 + (unsigned)random_below(&random_state, 4);
                            set_pictures(formats[f], o, width, height);
                            run_case();
                        }
}

/* ---- Pictures of several tiles, or of one element more: all formats ---------------------------------- */

static void test_tiles(void) {
    static const struct {
        size_t width, height;
    } sizes[] = {{131, 257}, {385, 129}, {97, 1031}, {700, 65}, {2917, 33}, {33, 9153}};
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            for (int o = 1; o <= 8; o++)
                if (drawn()) {
                    now.at_end = !now.at_end;
                    now.threads = 1 + (unsigned)random_below(&random_state, 4);
                    set_pictures(formats[f], o, sizes[i].width, sizes[i].height);
                    run_case();
                }
}

/* ---- Large pictures: threads at work, blocks at their edges, caches overrun ------------------------- */

static void test_large_one(Format format, size_t width, size_t height, size_t round_pitch) {
    static const unsigned threads[] = {1, 2, 3, 5, 16};
    for (int o = 1; o <= 8; o++)
        if (drawn()) {
            now.at_end = o & 1;
            now.threads = threads[random_below(&random_state, 5)];
            do
                set_pictures(format, o, width, height);
            while (!fits(&now.src) ||
                   !fits(&now.dst)); /* a wide gap after each of a million rows would not */
            if (round_pitch) {
                now.src.layout = now.dst.layout = TT_INTERLEAVED;
                size_t dst_row = (now.dst.width * now.dst.channels * now.dst.sample_bits + 7) / 8;
                now.src.pitch = now.dst.pitch = (ptrdiff_t)round_pitch;
                if (random_below(&random_state, 2)) /* ... or ends of lines within the rows written */
                    now.dst.pitch = (ptrdiff_t)(dst_row + random_below(&random_state, 64));
            }
            run_case();
        }
}

static void test_large(void) {
    static const struct {
        size_t width, height;
    } sizes[] = {{1021, 1033}, {1, 1200007}, {1200007, 1}, {4, 300000},
                 {300000, 4},  {2, 600001},  {67, 16001}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t f = i % 5; f < FORMATS; f += 5) {
            /* So many pixels that the wide formats stay within the memory. */
            size_t bytes = formats[f].bytes ? formats[f].bytes : 1, shrink = bytes > 12 ? bytes / 12 + 1 : 1;
            size_t width = sizes[i].width, height = sizes[i].height;
            if (width > height)
                width /= shrink;
            else
                height /= shrink;
            test_large_one(formats[f], width, height, 0);
        }
    for (unsigned bits = 1; bits <= 4; bits *= 2)
        test_large_one((Format){0, bits}, 4099, 4093, 0); /* packed, and more than a megabyte */

    /* Pitches that are powers of two: all rows compete for one cache set. */
    test_large_one((Format){1, 0}, 2048, 2048, 2048);
    test_large_one((Format){1, 0}, 1023, 1500, 4096);
    test_large_one((Format){2, 0}, 1024, 1024, 2048);
    test_large_one((Format){4, 0}, 1024, 1000, 4096);
    test_large_one((Format){8, 0}, 512, 509, 4096);
    test_large_one((Format){16, 0}, 256, 300, 8192);
    test_large_one((Format){0, 1}, 4096, 4096, 512);
    /* ... and few sets of a larger cache: the source is read in strips. */
    test_large_one((Format){2, 0}, 1100, 300, 16384);
    test_large_one((Format){3, 0}, 1050, 500, 8192);
    test_large_one((Format){4, 0}, 1100, 300, 16384);
    test_large_one((Format){5, 0}, 300, 600, 16384);
    test_large_one((Format){6, 0}, 300, 500, 16384);
    test_large_one((Format){8, 0}, 600, 300, 32768);
    test_large_one((Format){12, 0}, 600, 300, 32768);
    /* ... and almost such distances, at which runs are longer. */
    test_large_one((Format){3, 0}, 341, 340, 1025);
    test_large_one((Format){6, 0}, 340, 341, 2047);
    test_large_one((Format){7, 0}, 290, 291, 2048);

    /* Larger than a core's own caches. */
    test_large_one((Format){3, 0}, 2801, 2713, 0);
    test_large_one((Format){1, 0}, 5003, 4001, 0);
}

/* ---- Main ------------------------------------------------------------------------------------------ */

/* All that run here, or only the one of that name. The GPU's has tests of its own. */
static void choose_backends(const char *only) {
    const char *name;
    for (size_t i = 0; (name = tt_backend_name(i)); i++) {
        if (only ? strcmp(name, only) : !strcmp(name, "cuda"))
            continue;
        if (tt_backend_check(name))
            printf("%s: SKIPPED: %s\n", name, tt_last_error());
        else
            backends[backend_count++] = name;
    }
}

int main(int argc, char **argv) {
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && !strcmp(argv[i], "--backend"))
            only = argv[i + 1];
        else if (i + 1 < argc && !strcmp(argv[i], "--every") && atol(argv[i + 1]) > 0)
            every = (size_t)atol(argv[i + 1]);
        else {
            fprintf(stderr, "usage: test_orient [--backend NAME] [--every N]\n");
            return 2;
        }
    }

    choose_backends(only);
    if (!backend_count) {
        fprintf(stderr, "SKIPPED: the backend '%s' cannot run here\n", only ? only : "");
        return EXIT_SKIP;
    }

    source = guarded_new(ARENA);
    destination = guarded_new(ARENA);
    expected = malloc(ARENA);
    if (!expected)
        return EXIT_FAILURE;
    random_fill(&random_state, source.low, ARENA);
    guarded_make_read_only(source);
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    test_small();
    test_tiles();
    test_large();
    printf("%zu turns compared:", cases);
    for (size_t b = 0; b < backend_count; b++)
        printf(" %s", backends[b]);
    putchar('\n');

    free(expected);
    guarded_free(destination);
    guarded_free(source);
    return expect_result();
}
