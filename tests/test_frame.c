/* SPDX-License-Identifier: MIT
 *
 * Frames: random disjoint pieces go in, in random order and from several threads; what comes out is held
 * against the naive loop. With "spill" as its argument, all through a file.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "pictures.h"
#include "random.h"
#include "tiletranspose/tt_frame.h"

enum { PIECES = 64, WRITERS = 3 };

static uint64_t random_state = 3;
static TtFrameStore store = TT_STORE_MEMORY; /* of every frame here */

typedef struct {
    uint32_t channels, bits;
} Format;

static const Format formats[] = {{1, 1}, {1, 2},  {1, 4},  {1, 8},  {3, 8},
                                 {4, 8}, {1, 16}, {3, 16}, {2, 32}, {5, 24}};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* A picture of its own memory, full of random bytes. */
static TtImage new_picture(size_t width, size_t height, Format f, TtLayout layout) {
    TtImage p = tt_image(NULL, 0, width, height, f.channels, f.bits);
    p.layout = layout;
    picture_lay_out(&p, &random_state);
    uint8_t *memory = malloc(picture_bytes(&p));
    if (!memory)
        exit(EXIT_FAILURE);
    random_fill(&random_state, memory, picture_bytes(&p));
    picture_place(&p, memory);
    return p;
}

static void free_picture(TtImage *p) {
    free(picture_lowest(p));
}

static TtLayout random_layout(void) {
    return random_below(&random_state, 2) ? TT_PLANAR : TT_INTERLEAVED;
}

/* A copy of the rectangle r, in a layout of its own: a packed one starts on a byte wherever r does. */
static TtImage cut_out(const TtImage *p, TtRect r) {
    TtImage piece = new_picture(r.width, r.height, (Format){p->channels, p->sample_bits}, random_layout());
    for (size_t y = 0; y < r.height; y++)
        for (size_t x = 0; x < r.width; x++)
            if (p->sample_bits < 8)
                picture_set_packed(&piece, x, y, picture_get_packed(p, r.x + x, r.y + y));
            else
                for (uint32_t c = 0; c < p->channels; c++)
                    memcpy(picture_sample(&piece, x, y, c), picture_sample(p, r.x + x, r.y + y, c),
                           p->sample_bits / 8);
    return piece;
}

/* ---- Pieces ---------------------------------------------------------------------------------------- */

typedef struct {
    TtRect rect;
    TtImage image;
} Piece;

typedef struct {
    TtImage picture, truth; /* before and after the turn */
    int orientation;
    Piece pieces[PIECES];
    size_t count;
    TtFrame *frame;
    atomic_size_t next, finished;
} Job;

static const char *describe(const Job *j) {
    static _Thread_local char text[160];
    snprintf(text, sizeof(text), "%zux%zu of %u x %u bits %s by %s in %zu pieces", j->picture.width,
             j->picture.height, j->picture.channels, j->picture.sample_bits,
             j->picture.layout == TT_PLANAR ? "planar" : "interleaved", eight_names[j->orientation],
             j->count);
    return text;
}

/* Guillotine: any piece is cut in two, anywhere, until there are enough. */
static void split(Job *j, size_t want) {
    j->pieces[0].rect = (TtRect){0, 0, j->picture.width, j->picture.height};
    j->count = 1;
    for (size_t tries = 0; j->count < want && tries < 10 * want; tries++) {
        TtRect *a = &j->pieces[random_below(&random_state, j->count)].rect, b = *a;
        if (random_below(&random_state, 2)) {
            if (a->width < 2)
                continue;
            a->width = 1 + random_below(&random_state, a->width - 1);
            b.x += a->width;
            b.width -= a->width;
        } else {
            if (a->height < 2)
                continue;
            a->height = 1 + random_below(&random_state, a->height - 1);
            b.y += a->height;
            b.height -= a->height;
        }
        j->pieces[j->count++].rect = b;
    }
    for (size_t i = j->count - 1; i; i--) { /* shuffled */
        size_t k = random_below(&random_state, i + 1);
        TtRect r = j->pieces[i].rect;
        j->pieces[i].rect = j->pieces[k].rect;
        j->pieces[k].rect = r;
    }
    for (size_t i = 0; i < j->count; i++)
        j->pieces[i].image = cut_out(&j->picture, j->pieces[i].rect);
}

static void start(Job *j, size_t width, size_t height, Format f, int o, size_t pieces,
                  const TtFrameOptions *options) {
    memset(j, 0, sizeof(*j));
    j->orientation = o;
    j->picture = new_picture(width, height, f, random_layout());
    j->truth = eight_swaps(o) ? new_picture(height, width, f, TT_INTERLEAVED)
                              : new_picture(width, height, f, TT_INTERLEAVED);
    picture_turn(&j->picture, &j->truth, o);
    split(j, pieces);
    TtFrameOptions stored = options ? *options : (TtFrameOptions){.struct_size = sizeof(stored)};
    stored.store = store;
    if (store == TT_STORE_SPILL && !stored.memory_limit) /* from a few tiles in memory to all */
        stored.memory_limit = 1 + random_below(&random_state, picture_bytes(&j->picture) * 3 / 2);
    if (!EXPECT(tt_frame_new(&j->picture, (TtOrientation)o, &stored, &j->frame) == TT_OK, "%s: %s",
                tt_last_error(), describe(j)))
        exit(EXIT_FAILURE);
    TtImage result = tt_frame_result(j->frame);
    EXPECT(result.width == j->truth.width && result.height == j->truth.height && !result.data &&
               result.channels == f.channels && result.sample_bits == f.bits &&
               result.layout == j->picture.layout && result.struct_size == sizeof(TtImage),
           "the result's shape: %s", describe(j));
}

static void finish(Job *j) {
    tt_frame_free(j->frame);
    for (size_t i = 0; i < j->count; i++)
        free_picture(&j->pieces[i].image);
    free_picture(&j->truth);
    free_picture(&j->picture);
}

static TtStatus put(Job *j, size_t i) {
    return tt_frame_put(j->frame, &j->pieces[i].image, j->pieces[i].rect.x, j->pieces[i].rect.y);
}

/* ---- Reading --------------------------------------------------------------------------------------- */

static TtStatus read_and_compare(Job *j, TtRect r, uint64_t *random) {
    size_t row = (r.width * j->truth.sample_bits * j->truth.channels + 7) / 8, gap = random_below(random, 5);
    uint8_t *memory = malloc((row + gap) * r.height);
    if (!memory)
        exit(EXIT_FAILURE);
    memset(memory, 0xa7, (row + gap) * r.height);
    TtImage into =
        tt_image(memory, (ptrdiff_t)(row + gap), r.width, r.height, j->truth.channels, j->truth.sample_bits);
    TtStatus status = tt_frame_read(j->frame, r, &into);
    if (!status)
        for (size_t y = 0; y < r.height; y++) {
            for (size_t x = 0; x < r.width; x++) {
                bool same = true;
                if (into.sample_bits < 8)
                    same = picture_get_packed(&into, x, y) == picture_get_packed(&j->truth, r.x + x, r.y + y);
                for (uint32_t c = 0; into.sample_bits >= 8 && c < into.channels; c++)
                    same &= !memcmp(picture_sample(&into, x, y, c),
                                    picture_sample(&j->truth, r.x + x, r.y + y, c), into.sample_bits / 8);
                EXPECT(same, "pixel %zu, %zu of the result: %s", r.x + x, r.y + y, describe(j));
            }
            size_t unused = row * 8 - r.width * into.sample_bits * into.channels;
            EXPECT(!(memory[y * (row + gap) + row - 1] & ((1u << unused) - 1)), "unused bits of row %zu: %s",
                   r.y + y, describe(j));
        }
    for (size_t y = 0; y + 1 < r.height; y++)
        for (size_t x = row; x < row + gap; x++)
            EXPECT(memory[y * (row + gap) + x] == 0xa7, "between rows: %s", describe(j));
    free(memory);
    return status;
}

static TtRect random_rect(const TtImage *p, uint64_t *random) {
    TtRect r = {random_below(random, p->width), random_below(random, p->height), 0, 0};
    if (p->sample_bits < 8)
        r.x -= r.x % (8 / p->sample_bits);
    r.width = 1 + random_below(random, p->width - r.x);
    r.height = 1 + random_below(random, p->height - r.y);
    return r;
}

/* ---- One thread: which rows are ready, at each moment ------------------------------------------------ */

static void test_ready_rows(size_t width, size_t height, Format f, int o) {
    Job j;
    size_t missing[64];
    start(&j, width, height, f, o, 1 + random_below(&random_state, 12), NULL);
    for (size_t y = 0; y < j.truth.height; y++)
        missing[y] = j.truth.width;
    for (size_t i = 0; i < j.count; i++) {
        TtRect from = j.pieces[i].rect;
        EXPECT(put(&j, i) == TT_OK, "%s: %s", tt_last_error(), describe(&j));
        for (size_t y = 0; y < j.truth.height; y++)
            for (size_t x = 0; x < j.truth.width; x++) {
                Point p = eight_source(o, width, height, x, y);
                missing[y] -= p.x - from.x < from.width && p.y - from.y < from.height;
            }
        for (size_t y = 0; y < j.truth.height; y++) {
            TtStatus want = missing[y] ? TT_ERROR_NOT_READY : TT_OK;
            TtStatus got = read_and_compare(&j, (TtRect){0, y, j.truth.width, 1}, &random_state);
            EXPECT(got == want, "row %zu, %zu of its pixels missing: status %d: %s", y, missing[y], (int)got,
                   describe(&j));
        }
        TtRect r = random_rect(&j.truth, &random_state);
        bool ready = true;
        for (size_t y = r.y; y < r.y + r.height; y++)
            ready &= !missing[y];
        EXPECT(read_and_compare(&j, r, &random_state) == (ready ? TT_OK : TT_ERROR_NOT_READY), "%s",
               describe(&j));
    }
    /* Complete: nothing more is taken, and all that was put is still there. */
    for (size_t i = 0; i < j.count; i++)
        EXPECT(put(&j, i) == TT_ERROR_ARGUMENT && strstr(tt_last_error(), "put before"), "put twice: %s",
               describe(&j));
    EXPECT(read_and_compare(&j, (TtRect){0, 0, j.truth.width, j.truth.height}, &random_state) == TT_OK, "%s",
           describe(&j));
    finish(&j);
}

/* ---- Several threads: writers and a reader ----------------------------------------------------------- */

static void *write_pieces(void *data) {
    Job *j = data;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->count;)
        EXPECT(put(j, i) == TT_OK, "%s: %s", tt_last_error(), describe(j));
    atomic_fetch_add(&j->finished, 1);
    return NULL;
}

/* Reads while others write: each row is not ready or right. */
static void *read_rows(void *data) {
    Job *j = data;
    uint64_t random = 7;
    bool finished;
    do {
        finished = atomic_load(&j->finished) == WRITERS;
        TtRect r = random_rect(&j->truth, &random);
        r.height = 1;
        TtStatus status = read_and_compare(j, r, &random);
        EXPECT(status == TT_OK || (status == TT_ERROR_NOT_READY && !finished), "%s: %s", tt_last_error(),
               describe(j));
        sched_yield();
    } while (!finished);
    return NULL;
}

static void test_threads(size_t width, size_t height, Format f, int o, unsigned threads) {
    Job j;
    TtFrameOptions options = {.struct_size = sizeof(options), .threads = threads};
    pthread_t ids[WRITERS + 1];
    start(&j, width, height, f, o, 2 + random_below(&random_state, PIECES - 2), &options);
    for (size_t i = 0; i <= WRITERS; i++)
        if (pthread_create(&ids[i], NULL, i < WRITERS ? write_pieces : read_rows, &j))
            exit(EXIT_FAILURE);
    for (size_t i = 0; i <= WRITERS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < 3; i++)
        EXPECT(read_and_compare(&j, random_rect(&j.truth, &random_state), &random_state) == TT_OK, "%s: %s",
               tt_last_error(), describe(&j));
    EXPECT(read_and_compare(&j, (TtRect){0, 0, j.truth.width, j.truth.height}, &random_state) == TT_OK,
           "%s: %s", tt_last_error(), describe(&j));
    finish(&j);
}

/* Packed columns of one pixel: two to eight pieces share each byte of the result. */
static void test_shared_bytes(void) {
    for (unsigned bits = 1; bits <= 4; bits *= 2) {
        Job j;
        pthread_t ids[WRITERS];
        start(&j, PIECES, 3000, (Format){1, bits}, 2, 1, NULL);
        free_picture(&j.pieces[0].image);
        for (j.count = 0; j.count < PIECES; j.count++) {
            j.pieces[j.count].rect = (TtRect){j.count, 0, 1, 3000};
            j.pieces[j.count].image = cut_out(&j.picture, j.pieces[j.count].rect);
        }
        for (size_t i = 0; i < WRITERS; i++)
            if (pthread_create(&ids[i], NULL, write_pieces, &j))
                exit(EXIT_FAILURE);
        for (size_t i = 0; i < WRITERS; i++)
            pthread_join(ids[i], NULL);
        EXPECT(read_and_compare(&j, (TtRect){0, 0, PIECES, 3000}, &random_state) == TT_OK, "%s: %s",
               tt_last_error(), describe(&j));
        finish(&j);
    }
}

static void test_pieces(void) {
    for (size_t f = 0; f < FORMATS; f++)
        for (int o = 1; o <= 8; o++) {
            for (int i = 0; i < 6; i += SLOWER)
                test_ready_rows(1 + random_below(&random_state, 40), 1 + random_below(&random_state, 40),
                                formats[f], o);
            for (int i = 0; i < 2; i++)
                test_threads(1 + random_below(&random_state, 300), 1 + random_below(&random_state, 200),
                             formats[f], o, 1);
        }
    /* Pieces large enough that the library's own threads run inside the callers'. */
    for (int o = 1; o <= 8; o++) {
        test_threads(801, 1403, formats[4], o, 2);
        test_threads(2203, 1501, formats[2], o, 2);
    }
}

/* As a decoder and an encoder would: bands of the frame's choice, then rows from top to bottom, twice. */
static void test_in_order(size_t width, size_t height, Format f, int o, size_t limit) {
    Job j;
    TtFrameOptions options = {.struct_size = sizeof(options), .memory_limit = limit};
    start(&j, width, height, f, o, 1, &options);
    free_picture(&j.pieces[0].image);
    j.count = 0;
    for (size_t y = 0, end; y < height; y = end) {
        end = tt_frame_cut(j.frame, y);
        TtImage band = tt_subimage(&j.picture, (TtRect){0, y, width, end - y});
        EXPECT(tt_frame_put(j.frame, &band, 0, y) == TT_OK, "%s: %s", tt_last_error(), describe(&j));
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t y = 0, rows; y < j.truth.height; y += rows) {
            rows = j.truth.height - y < 37 ? j.truth.height - y : 37;
            EXPECT(read_and_compare(&j, (TtRect){0, y, j.truth.width, rows}, &random_state) == TT_OK,
                   "%s: %s", tt_last_error(), describe(&j));
        }
    finish(&j);
}

static void test_bands(void) {
    for (int o = 1; o <= 8; o++) {
        test_in_order(1701, 1203, formats[4], o, (size_t)8 << 20);
        test_in_order(1701, 1203, formats[4], o, (size_t)7 << 20);
        test_in_order(4101, 5203, formats[0], o, (size_t)3 << 20);
        test_in_order(911, 1043, formats[8], o, (size_t)8 << 20);
        test_in_order(2048, 512, formats[3], o, (size_t)2 << 20); /* rows of whole pages */
        test_in_order(1, 3001, formats[5], o, (size_t)1 << 20);
        test_in_order(3001, 1, formats[5], o, (size_t)1 << 20);
    }
}

/* Into either layout, whatever the frame's. */
static void test_layouts(void) {
    for (int i = 0; i < 16; i++) {
        Job j;
        start(&j, 37, 23, formats[4], 1 + i % 8, 5, NULL);
        for (size_t k = 0; k < j.count; k++)
            EXPECT(put(&j, k) == TT_OK, "%s", tt_last_error());
        TtImage into = new_picture(j.truth.width, j.truth.height, formats[4], random_layout());
        size_t x, y;
        EXPECT(tt_frame_read(j.frame, (TtRect){0, 0, into.width, into.height}, &into) == TT_OK, "%s",
               tt_last_error());
        EXPECT(!picture_differs(&into, &j.truth, &x, &y), "pixel %zu, %zu: %s", x, y, describe(&j));
        free_picture(&into);
        finish(&j);
    }
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

typedef struct {
    size_t allocations, releases, bytes;
    void *memory;
    bool refuse;
} Ledger;

static void *allocate(size_t bytes, void *user) {
    Ledger *ledger = user;
    ledger->allocations++;
    ledger->bytes = bytes;
    if (ledger->refuse)
        return NULL;
    ledger->memory = malloc(bytes + 1);
    memset(ledger->memory, 0xff, bytes + 1);
    return (char *)ledger->memory + 1; /* no alignment is promised */
}

static void release(void *memory, size_t bytes, void *user) {
    Ledger *ledger = user;
    ledger->releases++;
    EXPECT(memory == (char *)ledger->memory + 1 && bytes == ledger->bytes, "what is released");
    free(ledger->memory);
}

static void test_allocator(void) {
    for (int i = 0; i < 24; i++) {
        Ledger ledger = {0};
        TtFrameOptions options = {.struct_size = sizeof(options)};
        options.allocate = allocate;
        options.release = release;
        options.user = &ledger;
        Job j;
        start(&j, 531, 77, formats[i % 3 + (i & 4)], 1 + i % 8, 9, &options);
        for (size_t k = 0; k < j.count; k++)
            EXPECT(put(&j, k) == TT_OK, "%s", tt_last_error());
        EXPECT(read_and_compare(&j, (TtRect){0, 0, j.truth.width, j.truth.height}, &random_state) == TT_OK,
               "%s", tt_last_error());
        EXPECT(ledger.allocations == 1 && !ledger.releases, "asked %zu times", ledger.allocations);
        finish(&j);
        EXPECT(ledger.allocations == 1 && ledger.releases == 1, "released %zu times", ledger.releases);
    }
    Ledger ledger = {.refuse = true};
    TtFrameOptions options = {.struct_size = sizeof(options), .allocate = allocate, .user = &ledger};
    TtImage shape = tt_image(NULL, 0, 20, 10, 1, 8);
    TtFrame *frame = NULL;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "allocate alone");
    options.release = release;
    options.allocate = NULL;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_ARGUMENT, "release alone");
    EXPECT(!ledger.allocations && !ledger.releases, "refused before memory was asked for");
    options.allocate = allocate;
    options.store = store;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_MEMORY, "an allocator that has none");
    EXPECT(ledger.allocations == 1 && !ledger.releases && !frame, "nothing to release");
}

/* Millions of short rows: several are counted together, and none comes out before it is complete. */
static void test_many_rows(void) {
    enum { ROWS = 1000003, STEP = 777 };
    uint8_t *pixels = malloc(ROWS), *rows = malloc(ROWS);
    TtImage shape = tt_image(pixels, ROWS, ROWS, 1, 1, 8), into = tt_image(rows, 1, 1, ROWS, 1, 8);
    TtFrameOptions options = {.struct_size = sizeof(options), .store = store};
    TtFrame *frame;
    for (size_t x = 0; x < ROWS; x++)
        pixels[x] = (uint8_t)(x % 251);
    if (!EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_OK, "%s", tt_last_error()))
        return;
    for (size_t x = 0; x < ROWS; x += STEP) {
        EXPECT(tt_frame_read(frame, (TtRect){0, 0, 1, ROWS}, &into) == TT_ERROR_NOT_READY, "read at %zu", x);
        TtImage piece = tt_subimage(&shape, (TtRect){x, 0, x + STEP < ROWS ? STEP : ROWS - x, 1});
        EXPECT(tt_frame_put(frame, &piece, x, 0) == TT_OK, "%s", tt_last_error());
    }
    EXPECT(tt_frame_read(frame, (TtRect){0, 0, 1, ROWS}, &into) == TT_OK, "%s", tt_last_error());
    EXPECT(!memcmp(pixels, rows, ROWS), "a row that became a column is another");
    EXPECT(tt_frame_put(frame, &(TtImage){sizeof(TtImage), pixels, 1, 1, 1, 1, 8, TT_INTERLEAVED, 0}, 5, 0) ==
               TT_ERROR_ARGUMENT,
           "a pixel put twice");
    tt_frame_free(frame);
    free(pixels);
    free(rows);
}

int main(int argc, char **argv) {
    unsetenv("TT_BACKEND");
    unsetenv("TT_MEMORY_LIMIT");
    if (argc > 1 && !strcmp(argv[1], "spill"))
        store = TT_STORE_SPILL;
    test_pieces();
    test_bands();
    test_shared_bytes();
    test_layouts();
    test_allocator();
    test_many_rows();
    return expect_result();
}
