/* SPDX-License-Identifier: MIT
 *
 * The library, while each call that it makes to the system fails in turn, once and from then on: an error of
 * one line or the right pixels, nothing left behind, and the next time it works.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../eight.h"
#include "../expect.h"
#include "../pictures.h"
#include "../random.h"
#include "system.h"
#include "tiletranspose/tt_frame.h"

static uint64_t random_state = 3;
static char folder[] = "faults-XXXXXX";

/* All memory is the test's own before anything fails. */
typedef struct {
    const char *name;
    TtImage picture, truth, got;
    int orientation;
    TtFrameOptions options;
    size_t piece_width, piece_height; /* of what is put at a time; 0: no frame, but one tt_orient() */
} Case;

static TtImage new_picture(size_t width, size_t height, uint32_t channels, uint32_t bits) {
    size_t pitch = (width * channels * bits + 7) / 8;
    uint8_t *memory = malloc(pitch * height);
    if (!memory)
        exit(EXIT_FAILURE);
    random_fill(&random_state, memory, pitch * height);
    return tt_image(memory, (ptrdiff_t)pitch, width, height, channels, bits);
}

static TtStatus put_all(const Case *c, TtFrame *frame) {
    TtStatus status = TT_OK;
    for (size_t y = 0; !status && y < c->picture.height; y += c->piece_height)
        for (size_t x = 0; !status && x < c->picture.width; x += c->piece_width) {
            TtRect r = {x, y, c->piece_width, c->piece_height};
            r.width = x + r.width > c->picture.width ? c->picture.width - x : r.width;
            r.height = y + r.height > c->picture.height ? c->picture.height - y : r.height;
            TtImage piece = tt_subimage(&c->picture, r);
            status = tt_frame_put(frame, &piece, x, y);
        }
    return status;
}

static TtStatus read_all(const Case *c, TtFrame *frame) {
    TtStatus status = TT_OK;
    for (size_t y = 0, rows = 37; !status && y < c->got.height; y += rows) {
        TtRect r = {0, y, c->got.width, y + rows > c->got.height ? c->got.height - y : rows};
        TtImage into = tt_subimage(&c->got, r);
        status = tt_frame_read(frame, r, &into);
    }
    return status;
}

static TtStatus turn(const Case *c) {
    if (!c->piece_width) {
        TtOptions options = {sizeof(options), c->options.backend, c->options.threads, 0};
        return tt_orient(&c->picture, &c->got, (TtOrientation)c->orientation, &options);
    }
    TtFrame *frame = NULL;
    TtStatus status = tt_frame_new(&c->picture, (TtOrientation)c->orientation, &c->options, &frame);
    EXPECT(!status == !!frame, "%s: status %d and %s frame", c->name, (int)status, frame ? "a" : "no");
    if (!status && !(status = put_all(c, frame)))
        status = read_all(c, frame);
    tt_frame_free(frame);
    return status;
}

/* false: there was no such call. */
static bool attempt(const Case *c, int error, size_t first, size_t last) {
    long left = system_left();
    size_t x, y;
    memset(c->got.data, 0x5a, picture_bytes(&c->got));
    system_heal();
    system_fault_any(error, first, last);
    TtStatus status = turn(c);
    bool reached = system_calls_any() >= first;
    system_heal();
    EXPECT(!status || (*tt_last_error() && !strchr(tt_last_error(), '\n')), "%s: call %zu: status %d: '%s'",
           c->name, first, (int)status, tt_last_error());
    EXPECT(!status || (reached && error == OWN && (status == TT_ERROR_MEMORY || status == TT_ERROR_IO)),
           "%s: call %zu, error %d: status %d: %s", c->name, first, error, (int)status, tt_last_error());
    EXPECT(status || !picture_differs(&c->got, &c->truth, &x, &y),
           "%s: call %zu, error %d: other pixels and no error", c->name, first, error);
    EXPECT(system_left() == left, "%s: call %zu, error %d: %ld things are left", c->name, first, error,
           system_left() - left);
    return reached;
}

/* Of many calls of one kind, as a spilled frame's, some: a step of 1 is each. */
static void each_call(const Case *c, const size_t step_after, size_t *tries) {
    static const int errors[] = {OWN, SHORT, EINTR};
    bool all = getenv("TT_FAULT") != NULL;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        for (int on = 0; on <= (errors[i] != EINTR); on++)
            for (size_t n = 1; attempt(c, errors[i], n, on ? SIZE_MAX : n);
                 n += all || n < step_after ? 1 : 1 + n / 8)
                ++*tries;
    EXPECT(attempt(c, OWN, SIZE_MAX, SIZE_MAX) == false, "%s without faults", c->name);
}

static void test(Case c, size_t width, size_t height, uint32_t channels, uint32_t bits) {
    c.picture = new_picture(width, height, channels, bits);
    size_t w = eight_swaps(c.orientation) ? height : width, h = eight_swaps(c.orientation) ? width : height;
    c.truth = new_picture(w, h, channels, bits);
    c.got = new_picture(w, h, channels, bits);
    picture_turn(&c.picture, &c.truth, c.orientation);
    c.options.struct_size = sizeof(c.options);
    size_t tries = 0;
    each_call(&c, 64 / SLOWER, &tries);
    printf("%s: %zu tries\n", c.name, tries);
    free(c.picture.data);
    free(c.truth.data);
    free(c.got.data);
}

int main(void) {
    unsetenv("TT_BACKEND");
    unsetenv("TT_MEMORY_LIMIT");
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    setenv("TMPDIR", folder, 1);

    TtFrameOptions threads = {.threads = 4}, limit = {.threads = 2, .memory_limit = 256 << 10},
                   spill = {.threads = 2, .memory_limit = 300 << 10, .store = TT_STORE_SPILL},
                   memory = {.threads = 2, .store = TT_STORE_MEMORY};
    test((Case){"four threads", .orientation = TT_ROT90, .options = threads}, 821, 573, 3, 8);
    test((Case){"all processors", .orientation = TT_FLIPH}, 821, 573, 3, 8);
    test((Case){"in memory", .orientation = TT_ROT90, .options = memory, .piece_width = 400,
                .piece_height = 41},
         400, 300, 3, 8);
    test((Case){"in memory, across bytes", .orientation = TT_ROT90, .options = memory, .piece_width = 104,
                .piece_height = 41},
         303, 200, 1, 1);
    test((Case){"as the limit says", .orientation = TT_ROT90, .options = limit, .piece_width = 400,
                .piece_height = 41},
         400, 300, 3, 8);
    test((Case){"in a file, rows", .orientation = TT_ROT180, .options = spill, .piece_width = 500,
                .piece_height = 99},
         500, 400, 3, 8);
    test((Case){"in a file, columns", .orientation = TT_ROT90, .options = spill, .piece_width = 300,
                .piece_height = 250},
         600, 500, 3, 8);
    test((Case){"in a file, across bytes", .orientation = TT_TRANSPOSE, .options = spill, .piece_width = 1000,
                .piece_height = 333},
         2500, 1001, 1, 1);
    EXPECT(!rmdir(folder), "%s: %s", folder, strerror(errno));
    return expect_result();
}
