/* SPDX-License-Identifier: MIT
 *
 * tt_plan: the pieces cover the result once, in its order, within the limit, in whole tiles.
 */
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "random.h"
#include "tiletranspose/tt_frame.h"

static const size_t default_limit = (size_t)256 << 20;

typedef struct {
    size_t width, height;
    uint32_t channels, bits;
    int orientation;
    TtPlanOptions options;
} Job;

static const char *describe(const Job *j) {
    static char text[256];
    snprintf(text, sizeof(text), "%zux%zu of %u x %u bits by %s, limit %zu, tiles %zux%zu, %s", j->width,
             j->height, j->channels, j->bits, eight_names[j->orientation], j->options.memory_limit,
             j->options.tile_width, j->options.tile_height,
             j->options.whole_rows ? "whole rows" : "any pieces");
    return text;
}

static TtImage shape_of(const Job *j) {
    return tt_image(NULL, 0, j->width, j->height, j->channels, j->bits);
}

static bool packed(const Job *j) {
    return j->bits < 8;
}

static size_t row_bytes(size_t width, const Job *j) {
    size_t per_byte = packed(j) ? 8 / j->bits : 1;
    return packed(j) ? width / per_byte + (width % per_byte != 0) : width * j->channels * j->bits / 8;
}

/* The bytes of a piece of the source and of its turned twin. */
static size_t bytes_of(TtRect r, const Job *j) {
    size_t source = row_bytes(r.width, j) * r.height;
    return source + (eight_swaps(j->orientation) ? row_bytes(r.height, j) * r.width : source);
}

/* The smallest piece that is right for the job: a pixel; whole rows of the result, and whole bytes of the
 * source's rows, where they are asked for. */
static TtRect smallest(const Job *j) {
    TtRect r = {0, 0, 1, 1};
    size_t byte = packed(j) ? 8 / j->bits : 1;
    if (packed(j) || j->options.whole_rows) {
        if (eight_swaps(j->orientation)) {
            r.height = j->height;
            r.width = byte < j->width ? byte : j->width;
        } else {
            r.width = j->width;
        }
    }
    return r;
}

static void check_piece(const Job *j, const TtPlan *plan, size_t i, uint8_t *covered, TtRect *previous) {
    TtRect from, to;
    tt_plan_piece(plan, i, &from, &to);
    size_t across = eight_swaps(j->orientation) ? j->height : j->width;
    size_t down = eight_swaps(j->orientation) ? j->width : j->height;
    EXPECT(from.width && from.height && from.x + from.width <= j->width && from.y + from.height <= j->height,
           "piece %zu lies outside the source: %s", i, describe(j));
    if (!EXPECT(to.width && to.height && to.x + to.width <= across && to.y + to.height <= down,
                "piece %zu lies outside the result: %s", i, describe(j)))
        return;
    EXPECT(bytes_of(from, j) <= j->options.memory_limit, "piece %zu takes %zu bytes: %s", i,
           bytes_of(from, j), describe(j));

    /* It lands where its corners do. */
    for (int corner = 0; corner < 4; corner++) {
        size_t x = corner & 1 ? to.x + to.width - 1 : to.x, y = corner & 2 ? to.y + to.height - 1 : to.y;
        Point p = eight_source(j->orientation, j->width, j->height, x, y);
        EXPECT(p.x - from.x < from.width && p.y - from.y < from.height, "piece %zu, corner %d: %s", i, corner,
               describe(j));
    }
    EXPECT(from.width * from.height == to.width * to.height, "piece %zu: %s", i, describe(j));

    for (size_t y = to.y; y < to.y + to.height; y++)
        for (size_t x = to.x; x < to.x + to.width; x++)
            covered[y * across + x]++;

    /* From left to right, then from top to bottom. */
    if (i)
        EXPECT(to.y == previous->y ? to.x == previous->x + previous->width && to.height == previous->height
                                   : to.x == 0 && to.y == previous->y + previous->height,
               "piece %zu is out of order: %s", i, describe(j));
    *previous = to;

    if (j->options.whole_rows || packed(j))
        EXPECT(to.x == 0 && to.width == across, "piece %zu is not whole rows: %s", i, describe(j));
    if (packed(j))
        EXPECT(from.x * j->bits % 8 == 0 && to.x * j->bits % 8 == 0, "piece %zu starts within a byte: %s", i,
               describe(j));
}

/* Where a piece of so many whole tiles fits, cuts fall between tiles. */
static void check_tiles(const Job *j, const TtPlan *plan) {
    size_t tile_width = j->options.tile_width ? j->options.tile_width : 1;
    size_t tile_height = j->options.tile_height ? j->options.tile_height : 1;
    TtRect least = smallest(j);
    while (packed(j) && tile_width * j->bits % 8)
        tile_width *= 2; /* cuts have to fall on bytes too */
    if (least.width < tile_width)
        least.width = tile_width < j->width ? tile_width : j->width;
    if (least.height < tile_height)
        least.height = tile_height < j->height ? tile_height : j->height;
    if (bytes_of(least, j) > j->options.memory_limit)
        return;
    for (size_t i = 0; i < plan->count; i++) {
        TtRect from, to;
        tt_plan_piece(plan, i, &from, &to);
        EXPECT(from.x % tile_width == 0 && from.y % tile_height == 0, "piece %zu starts within a tile: %s", i,
               describe(j));
    }
}

/* The limit is used: not a row more would fit, or one piece less would not do where pieces are as high as the
 * source. */
static void check_large_enough(const Job *j, const TtPlan *plan) {
    TtRect more = {0, 0, plan->width, plan->height};
    size_t unit = packed(j) ? 8 / j->bits : 1;
    if (plan->count < 2 || j->options.tile_width > 1 || j->options.tile_height > 1)
        return;
    if (more.height < j->height)
        more.height++;
    else
        more.width = ((j->width - 1) / (plan->columns - 1) / unit + 1) * unit;
    EXPECT(bytes_of(more, j) > j->options.memory_limit, "pieces of %zux%zu are small: %s", plan->width,
           plan->height, describe(j));
}

static void check(const Job *j) {
    TtImage shape = shape_of(j);
    TtPlan plan;
    memset(&plan, 0x5a, sizeof(plan));
    TtStatus status = tt_plan(&shape, (TtOrientation)j->orientation, &j->options, &plan);
    size_t needed = bytes_of(smallest(j), j);
    if (needed > j->options.memory_limit) {
        char number[32];
        snprintf(number, sizeof(number), "%zu bytes", needed);
        EXPECT(status == TT_ERROR_MEMORY, "status %d: %s", (int)status, describe(j));
        EXPECT(strstr(tt_last_error(), number), "'%s' does not say %s: %s", tt_last_error(), number,
               describe(j));
        return;
    }
    if (!EXPECT(status == TT_OK, "%s: %s", tt_last_error(), describe(j)))
        return;
    EXPECT(plan.count <= j->width * j->height, "%zu pieces: %s", plan.count, describe(j));

    uint8_t *covered = calloc(j->width, j->height);
    if (!covered)
        exit(EXIT_FAILURE);
    TtRect previous = {0};
    for (size_t i = 0; i < plan.count; i++)
        check_piece(j, &plan, i, covered, &previous);
    for (size_t i = 0; i < j->width * j->height; i++)
        if (!EXPECT(covered[i] == 1, "pixel %zu is covered %d times: %s", i, covered[i], describe(j)))
            break;
    free(covered);
    check_tiles(j, &plan);
    check_large_enough(j, &plan);
}

static void test_random(void) {
    static const struct {
        uint32_t channels, bits;
    } formats[] = {{1, 1}, {1, 2}, {1, 4}, {1, 8}, {3, 8}, {4, 16}, {7, 64}};
    uint64_t random = 5;
    for (int i = 0; i < 20000; i++) {
        size_t f = random_below(&random, 7), edge = 1 + random_below(&random, 60);
        Job j = {.width = 1 + random_below(&random, edge),
                 .height = 1 + random_below(&random, 60),
                 .channels = formats[f].channels,
                 .bits = formats[f].bits,
                 .orientation = 1 + i % 8,
                 .options = {.struct_size = sizeof(TtPlanOptions)}};
        size_t all = bytes_of((TtRect){0, 0, j.width, j.height}, &j);
        j.options.memory_limit = 1 + random_below(&random, random_below(&random, 2) ? all + 9 : all / 10 + 9);
        if (random_below(&random, 2)) {
            j.options.tile_width = random_below(&random, 20);
            j.options.tile_height = random_below(&random, 20);
        }
        j.options.whole_rows = random_below(&random, 2) ? 0 : 1;
        check(&j);
    }
}

/* Nothing is cut that fits. */
static void test_one_piece(void) {
    TtImage shape = tt_image(NULL, 0, 1000, 700, 3, 8);
    TtPlan plan;
    for (int o = 1; o <= 8; o++) {
        EXPECT(tt_plan(&shape, (TtOrientation)o, NULL, &plan) == TT_OK && plan.count == 1, "%s",
               eight_names[o]);
        TtPlanOptions options = {.struct_size = sizeof(options), .memory_limit = 2 * 1000 * 700 * 3};
        EXPECT(tt_plan(&shape, (TtOrientation)o, &options, &plan) == TT_OK && plan.count == 1, "%s",
               eight_names[o]);
        options.memory_limit--;
        EXPECT(tt_plan(&shape, (TtOrientation)o, &options, &plan) == TT_OK && plan.count > 1, "%s",
               eight_names[o]);
    }
    /* The default limit is 256 MiB, for both sides together. */
    shape = tt_image(NULL, 0, 16384, 8192, 1, 8);
    EXPECT(tt_plan(&shape, TT_ROT90, NULL, &plan) == TT_OK && plan.count == 1, "128 MiB");
    shape.height++;
    EXPECT(tt_plan(&shape, TT_ROT90, NULL, &plan) == TT_OK && plan.count > 1, "a row more");
}

static void test_huge(void) {
    static const struct {
        size_t width, height;
        uint32_t channels, bits;
    } huge[] = {{(size_t)1 << 31, (size_t)1 << 31, 1, 8},
                {3000000000u, 3000000000u, 1, 1},
                {400000000, 3000000000u, 1, 1},
                {3000000000u, 20000000, 1, 1},
                {(size_t)1 << 62, 1, 1, 8},
                {1, (size_t)1 << 62, 1, 8},
                {(size_t)1 << 40, 1000003, 3, 16},
                {1000003, (size_t)1 << 40, 3, 16},
                {SIZE_MAX, 1, 1, 1},
                {PTRDIFF_MAX, 1, 1, 8}};
    for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++)
        for (int o = 1; o <= 8; o++) {
            Job j = {huge[i].width, huge[i].height, huge[i].channels, huge[i].bits, o, {sizeof(j.options)}};
            TtImage shape = shape_of(&j);
            TtPlan plan;
            TtStatus status = tt_plan(&shape, (TtOrientation)o, &j.options, &plan);
            if (bytes_of(smallest(&j), &j) > default_limit) { /* rows that have to be whole are too long */
                EXPECT(status == TT_ERROR_MEMORY, "%s", describe(&j));
                continue;
            }
            if (!EXPECT(status == TT_OK, "%s: %s", tt_last_error(), describe(&j)))
                continue;
            TtRect first_from, first, last_from, last;
            tt_plan_piece(&plan, 0, &first_from, &first);
            tt_plan_piece(&plan, plan.count - 1, &last_from, &last);
            size_t across = eight_swaps(o) ? j.height : j.width, down = eight_swaps(o) ? j.width : j.height;
            EXPECT(!first.x && !first.y, "the first piece: %s", describe(&j));
            EXPECT(last.x + last.width == across && last.y + last.height == down, "the last piece: %s",
                   describe(&j));
            EXPECT(bytes_of(first_from, &j) <= default_limit && bytes_of(last_from, &j) <= (size_t)256 << 20,
                   "the limit: %s", describe(&j));
        }
    /* More pieces than can be counted. */
    TtImage shape = tt_image(NULL, 0, (size_t)1 << 31, (size_t)1 << 31, 1, 8);
    TtPlanOptions options = {.struct_size = sizeof(options), .memory_limit = 2};
    TtPlan plan;
    EXPECT(tt_plan(&shape, TT_ROT90, &options, &plan) == TT_OK && plan.count == (size_t)1 << 62,
           "as many pieces as pixels: %s", tt_last_error());
    /* Tiles larger than anything. */
    options = (TtPlanOptions){sizeof(options), 0, SIZE_MAX, SIZE_MAX, 0};
    for (unsigned bits = 1; bits <= 8; bits *= 2) {
        shape = tt_image(NULL, 0, 100, 99, 1, bits);
        EXPECT(tt_plan(&shape, TT_ROT90, &options, &plan) == TT_OK && plan.count == 1, "one tile of %u bits",
               bits);
    }
}

static void test_refusals(void) {
    TtImage shape = tt_image(NULL, 0, 10, 10, 1, 8);
    TtPlanOptions options = {.struct_size = sizeof(options)};
    TtPlan plan, untouched;
    memset(&plan, 0x5a, sizeof(plan));
    memset(&untouched, 0x5a, sizeof(untouched));
    EXPECT(tt_plan(NULL, TT_NONE, NULL, &plan) == TT_ERROR_ARGUMENT, "no shape");
    EXPECT(tt_plan(&shape, TT_NONE, NULL, NULL) == TT_ERROR_ARGUMENT, "no plan");
    EXPECT(tt_plan(&shape, (TtOrientation)0, NULL, &plan) == TT_ERROR_ARGUMENT, "orientation 0");
    EXPECT(tt_plan(&shape, (TtOrientation)9, NULL, &plan) == TT_ERROR_ARGUMENT, "orientation 9");
    options.struct_size = 0;
    EXPECT(tt_plan(&shape, TT_NONE, &options, &plan) == TT_ERROR_ARGUMENT, "struct_size 0");
    shape.width = 0;
    EXPECT(tt_plan(&shape, TT_NONE, NULL, &plan) == TT_ERROR_ARGUMENT, "no pixels");
    shape.width = SIZE_MAX;
    EXPECT(tt_plan(&shape, TT_NONE, NULL, &plan) == TT_ERROR_ARGUMENT, "too many pixels");
    EXPECT(strstr(tt_last_error(), "too large"), "%s", tt_last_error());
    shape.width = (size_t)PTRDIFF_MAX + 1;
    shape.height = 1;
    EXPECT(tt_plan(&shape, TT_NONE, NULL, &plan) == TT_ERROR_ARGUMENT, "half the address space and a byte");
    EXPECT(!memcmp(&plan, &untouched, sizeof(plan)), "a refused plan was written");
}

int main(void) {
    test_random();
    test_one_piece();
    test_huge();
    test_refusals();
    return expect_result();
}
