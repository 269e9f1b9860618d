/* SPDX-License-Identifier: MIT
 *
 * tt_plan() for pictures of any size, also those that no machine holds: pieces lie inside, land where
 * tt_map_rect() says, follow each other without gaps, and keep to the limit.
 */
#include "../eight.h"
#include "fuzz.h"
#include "take.h"
#include "tiletranspose/tt_frame.h"

enum { LOOKED_AT = 200 };

static size_t take_size(Input *input) {
    static const size_t most[] = {20, 70000, (size_t)1 << 31, SIZE_MAX / 4};
    return take(input, 1, most[take(input, 0, 3)]);
}

/* Both sides of a piece. Rows of packed samples end on whole bytes. */
static unsigned __int128 bytes_of_piece(const TtImage *shape, TtRect from, TtRect to) {
    unsigned __int128 pixel = (unsigned __int128)shape->channels * shape->sample_bits;
    return (from.width * pixel + 7) / 8 * from.height + (to.width * pixel + 7) / 8 * to.height;
}

static void require_piece(const TtImage *shape, TtOrientation o, const TtPlanOptions *options,
                          const TtPlan *plan, size_t i, TtRect *last) {
    size_t limit = options->memory_limit ? options->memory_limit : (size_t)256 << 20;
    size_t across = eight_swaps((int)o) ? shape->height : shape->width;
    size_t down = eight_swaps((int)o) ? shape->width : shape->height;
    TtRect from, to;
    tt_plan_piece(plan, i, &from, &to);
    REQUIRE(from.width && from.height && from.x < shape->width && from.width <= shape->width - from.x &&
                from.y < shape->height && from.height <= shape->height - from.y,
            "piece %zu lies outside", i);
    TtRect there = tt_map_rect(o, shape->width, shape->height, from);
    REQUIRE(there.x == to.x && there.y == to.y && there.width == to.width && there.height == to.height,
            "piece %zu lands elsewhere", i);
    REQUIRE(bytes_of_piece(shape, from, to) <= limit, "piece %zu takes more than %zu bytes", i, limit);
    REQUIRE(to.width == across || (!options->whole_rows && shape->sample_bits >= 8),
            "piece %zu is not of whole rows", i);
    if (i == 0)
        REQUIRE(to.x == 0 && to.y == 0, "the first piece is not the first");
    else if (last->x + last->width < across)
        REQUIRE(to.y == last->y && to.x == last->x + last->width && to.height == last->height,
                "piece %zu is not the neighbour", i);
    else
        REQUIRE(to.x == 0 && to.y == last->y + last->height, "piece %zu begins no row", i);
    if (i + 1 == plan->count)
        REQUIRE(to.x + to.width == across && to.y + to.height == down, "the last piece is not the last");
    *last = to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t bits[] = {1, 2, 4, 8, 16, 24, 32, 64};
    Input input = {data, size};
    TtOrientation o = (TtOrientation)take(&input, 1, 8);
    uint32_t sample = bits[take(&input, 0, 7)];
    size_t width = take_size(&input), height = take_size(&input);
    TtImage shape = tt_image(NULL, 0, width, height, sample < 8 ? 1 : (uint32_t)take(&input, 1, 300), sample);
    TtPlanOptions options = {.struct_size = sizeof(options),
                             .memory_limit = take(&input, 0, (size_t)1 << 40),
                             .whole_rows = (int)take(&input, 0, 1)};
    if (take(&input, 0, 1)) {
        options.tile_width = take(&input, 1, 70000);
        options.tile_height = take(&input, 1, 70000);
    }
    TtPlan plan;
    TtStatus status = tt_plan(&shape, o, &options, &plan);
    if (status) {
        REQUIRE(status == TT_ERROR_MEMORY || status == TT_ERROR_ARGUMENT, "status %d", (int)status);
        return 0;
    }
    TtRect last = {0, 0, 0, 0};
    for (size_t i = 0; i < plan.count && i < LOOKED_AT; i++)
        require_piece(&shape, o, &options, &plan, i, &last);
    if (plan.count > 2 * LOOKED_AT) {
        TtRect from;
        tt_plan_piece(&plan, plan.count - LOOKED_AT - 1, &from, &last);
        for (size_t i = plan.count - LOOKED_AT; i < plan.count; i++)
            require_piece(&shape, o, &options, &plan, i, &last);
    }
    return 0;
}
