/* SPDX-License-Identifier: MIT
 *
 * tt_plan: cut a turn into pieces that fit a memory limit.
 *
 * The grid lies on the source, from its origin, so that pieces consist of whole tiles whatever the
 * orientation; only the order in which its cells are visited follows the result.
 */
#include "tiletranspose/tt_frame.h"

#include <math.h>

#include "../error.h"
#include "../image.h"
#include "../orientation.h"
#include "../size.h"

static const size_t default_limit = (size_t)256 << 20;

/* n cut to a multiple of unit, but at least one unit and at most all. */
static size_t in_units(size_t n, size_t unit, size_t all) {
    size_t units = n / unit ? n / unit * unit : unit;
    return smaller(units, all);
}

/* Bytes of a piece of width x height pixels and of its turned twin: packed rows end on whole bytes. */
static double bytes_of(const TtImage *shape, TtOrientation o, size_t width, size_t height) {
    double bits = (double)shape->channels * shape->sample_bits;
    double source = ceil((double)width * bits / 8) * (double)height;
    return source + (tt_swaps_axes(o) ? ceil((double)height * bits / 8) * (double)width : source);
}

/* What a piece may be. */
typedef struct {
    const TtImage *shape;
    TtOrientation orientation;
    size_t limit, unit_x, unit_y; /* edges are multiples of the unit, or all of the source's */
} Pieces;

static bool fits(const Pieces *p, size_t width, size_t height) {
    return bytes_of(p->shape, p->orientation, width, height) <= (double)p->limit;
}

/* How wide (or high) a piece may be whose other edge is given; 0 if not even one unit fits. */
static size_t longest(const Pieces *p, bool is_width, size_t other) {
    size_t all = is_width ? p->shape->width : p->shape->height, unit = is_width ? p->unit_x : p->unit_y;
    size_t least = 0, most = all / unit; /* so many units fit; no more do */
    if (is_width ? fits(p, all, other) : fits(p, other, all))
        return all;
    while (least < most) {
        size_t middle = most - (most - least) / 2;
        if (is_width ? fits(p, middle * unit, other) : fits(p, other, middle * unit))
            least = middle;
        else
            most = middle - 1;
    }
    return least * unit;
}

TtStatus tt_plan(const TtImage *shape, TtOrientation o, const TtPlanOptions *options, TtPlan *plan) {
    static const TtPlanOptions defaults = {.struct_size = sizeof(TtPlanOptions)};
    TtExtent extent;
    TtStatus status = tt_image_shape(shape, "planned", &extent);
    if (status)
        return status;
    if (!options)
        options = &defaults;
    if (options->struct_size < sizeof(TtPlanOptions) || !tt_orientation_valid(o) || !plan)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "a plan needs an orientation, options with struct_size set, a place for it");

    bool whole_rows = options->whole_rows || extent.packed, swaps = tt_swaps_axes(o);
    size_t byte_unit = extent.packed ? 8 / shape->sample_bits : 1; /* a view must start on a byte */
    size_t least_x = whole_rows && !swaps ? shape->width : byte_unit;
    size_t least_y = whole_rows && swaps ? shape->height : 1;
    Pieces pieces = {shape, o, options->memory_limit ? options->memory_limit : default_limit, least_x,
                     least_y};
    if (options->tile_width && least_x == byte_unit)
        for (pieces.unit_x = options->tile_width; pieces.unit_x % byte_unit;)
            pieces.unit_x *= 2;
    if (options->tile_height && least_y == 1)
        pieces.unit_y = options->tile_height;

    /* Whole tiles may be too much to ask; then the smallest piece that is right must do. */
    if (!fits(&pieces, smaller(pieces.unit_x, shape->width), smaller(pieces.unit_y, shape->height))) {
        pieces.unit_x = least_x;
        pieces.unit_y = least_y;
        double need = bytes_of(shape, o, smaller(least_x, shape->width), smaller(least_y, shape->height));
        if (need > (double)pieces.limit)
            return tt_fail(TT_ERROR_MEMORY,
                           "a piece of this picture takes %.0f bytes, and the memory limit is %zu", need,
                           pieces.limit);
    }

    /* Square pieces have long rows on both sides; where the source ends, the other edge takes the rest. */
    double edge = sqrt((double)pieces.limit / (2.0 * shape->channels * shape->sample_bits / 8));
    size_t width =
        in_units(edge < (double)PTRDIFF_MAX ? (size_t)edge : PTRDIFF_MAX, pieces.unit_x, shape->width);
    width = smaller(width, longest(&pieces, true, smaller(pieces.unit_y, shape->height)));
    size_t height = longest(&pieces, false, width);
    if (height == shape->height) /* none takes more memory than it has to */
        width = even_part(shape->width, longest(&pieces, true, height), pieces.unit_x);

    *plan = (TtPlan){.orientation = o,
                     .source_width = shape->width,
                     .source_height = shape->height,
                     .width = width,
                     .height = height,
                     .columns = (shape->width - 1) / width + 1,
                     .rows = (shape->height - 1) / height + 1};
    if (__builtin_mul_overflow(plan->columns, plan->rows, &plan->count))
        return tt_fail(TT_ERROR_MEMORY,
                       "the memory limit of %zu bytes cuts this picture into too many pieces", pieces.limit);
    return TT_OK;
}

void tt_plan_piece(const TtPlan *plan, size_t i, TtRect *source, TtRect *result) {
    TtOrientation o = plan->orientation;
    size_t across = tt_swaps_axes(o) ? plan->rows : plan->columns;
    /* The cell's place in the result's grid is undone like a pixel's. */
    TtRect cell = {i % across, i / across, 1, 1};
    cell = tt_map_rect(tt_invert(o), across, plan->count / across, cell);
    TtRect from = {cell.x * plan->width, cell.y * plan->height, plan->width, plan->height};
    from.width = smaller(from.width, plan->source_width - from.x);
    from.height = smaller(from.height, plan->source_height - from.y);
    *source = from;
    *result = tt_map_rect(o, plan->source_width, plan->source_height, from);
}
