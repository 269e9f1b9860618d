/* SPDX-License-Identifier: MIT
 *
 * A frame, in memory or in a file, with rectangles put in any order and rows read before and after, against
 * the naive loop. TT_BACKEND=cuda takes one on a GPU, too.
 */
#include <string.h>
#include <unistd.h>

#include "../pictures.h"
#include "../random.h"
#include "fuzz.h"
#include "take.h"
#include "tiletranspose/tt_frame.h"

static TtImage take_shape(Input *input) {
    static const uint32_t bits[] = {1, 2, 4, 8, 16, 32, 64};
    uint32_t sample = bits[take(input, 0, 6)];
    return tt_image(NULL, 0, take(input, 1, 500), take(input, 1, 500),
                    sample < 8 ? 1 : (uint32_t)take(input, 1, 4), sample);
}

static TtImage allocate(TtImage shape, uint64_t *random) {
    picture_lay_out(&shape, random);
    picture_place(&shape, calloc(picture_bytes(&shape), 1));
    return shape;
}

/* A length of the input's that cuts the whole into a few tens of parts at most: more find nothing new,
 * slowly. */
static size_t take_step(Input *input, size_t whole) {
    size_t step = take(input, 1, 500), least = whole / 32 + 1;
    return step > least ? step : least;
}

/* A grid of pieces, in an order of the input's; those of packed samples begin at whole bytes. */
static void put_all(TtFrame *frame, const TtImage *src, Input *input, uint64_t *random) {
    size_t step = src->sample_bits < 8 ? 8 / src->sample_bits : 1;
    size_t width = (take_step(input, src->width) + step - 1) / step * step,
           height = take_step(input, src->height);
    size_t across = (src->width - 1) / width + 1, pieces = across * ((src->height - 1) / height + 1);
    size_t *order = malloc(pieces * sizeof(*order));
    for (size_t i = 0; i < pieces; i++) {
        size_t j = random_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < pieces; i++) {
        TtRect r = {order[i] % across * width, order[i] / across * height, width, height};
        r.width = r.width < src->width - r.x ? r.width : src->width - r.x;
        r.height = r.height < src->height - r.y ? r.height : src->height - r.y;
        TtImage piece = tt_subimage(src, r);
        REQUIRE(!tt_frame_put(frame, &piece, r.x, r.y), "put %zux%zu at %zu, %zu: %s", r.width, r.height, r.x,
                r.y, tt_last_error());
    }
    free(order);
}

static void read_all(TtFrame *frame, const TtImage *expected, Input *input, uint64_t *random) {
    size_t height = take_step(input, expected->height), x, y;
    for (size_t row = 0; row < expected->height; row += height) {
        TtRect r = {0, row, expected->width,
                    height < expected->height - row ? height : expected->height - row};
        TtImage shape = *expected, right = tt_subimage(expected, r);
        shape.height = r.height;
        TtImage rows = allocate(shape, random);
        REQUIRE(!tt_frame_read(frame, r, &rows), "read: %s", tt_last_error());
        REQUIRE(!picture_differs(&rows, &right, &x, &y), "wrong at %zu, %zu of the rows at %zu", x, y, row);
        free(picture_lowest(&rows));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input = {data, size};
    uint64_t random = take_bytes(&input, 4);
    if (!access("/dev/shm", W_OK)) /* a disk would take most of the time */
        setenv("TMPDIR", "/dev/shm", 1);
    TtOrientation o = (TtOrientation)take(&input, 1, 8);
    TtImage shape = take_shape(&input);
    TtFrameOptions options = {.struct_size = sizeof(options),
                              .memory_limit = take(&input, 0, 600000),
                              .store = take(&input, 0, 1) ? TT_STORE_SPILL : TT_STORE_AUTO,
                              .threads = (unsigned)take(&input, 1, 2)};
    TtFrame *frame;
    /* However little memory is allowed, there is the file. */
    REQUIRE(!tt_frame_new(&shape, o, &options, &frame), "no frame: %s", tt_last_error());
    TtImage src = allocate(shape, &random), result = allocate(tt_frame_result(frame), &random);
    random_fill(&random, picture_lowest(&src), picture_bytes(&src));
    picture_turn(&src, &result, (int)o);

    TtRect first = {0, 0, result.width, 1};
    TtImage row = tt_subimage(&result, first);
    TtImage early = row;
    early.data = malloc(picture_row_bytes(&row));
    REQUIRE(tt_frame_read(frame, first, &early) == TT_ERROR_NOT_READY, "a row before its pixels");
    free(early.data);
    put_all(frame, &src, &input, &random);
    read_all(frame, &result, &input, &random);
    tt_frame_free(frame);
    free(picture_lowest(&src)), free(picture_lowest(&result));
    return 0;
}
