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

static const size_t default_limit = (size_t)256 << 20;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* n cut to a multiple of unit, but at least one unit and at most all. */
static size_t in_units(size_t n, size_t unit, size_t all) {
    size_t units = n / unit ? n / unit * unit : unit;
    return smaller(units, all);
}

/* How long a piece of so many pixels is when its other edge is given. */
static size_t pixels_along(double pixels, size_t other_edge) {
    double n = pixels / (double)other_edge;
    return n < (double)PTRDIFF_MAX ? (size_t)n : PTRDIFF_MAX;
}

/* Bytes of a piece of width x height pixels and of its turned twin: packed rows end on whole bytes. */
static double bytes_of(const TtImage *shape, TtOrientation o, size_t width, size_t height) {
    double bits = (double)shape->channels * shape->sample_bits;
    double source = ceil((double)width * bits / 8) * (double)height;
    return source + (tt_swaps_axes(o) ? ceil((double)height * bits / 8) * (double)width : source);
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

    size_t limit = options->memory_limit ? options->memory_limit : default_limit;
    size_t unit_x = options->tile_width ? options->tile_width : 1;
    size_t unit_y = options->tile_height ? options->tile_height : 1;
    bool whole_rows = options->whole_rows || extent.packed, swaps = tt_swaps_axes(o);
    size_t byte_unit = extent.packed ? 8 / shape->sample_bits : 1; /* a view must start on a byte */
    while (unit_x % byte_unit)
        unit_x *= 2;

    /* Pixels a piece may have, and the edges that make its rows long on both sides. */
    double pixels = (double)limit / (2.0 * shape->channels * shape->sample_bits / 8);
    size_t edge = pixels_along(sqrt(pixels), 1);
    size_t width = in_units(edge, unit_x, shape->width), height = in_units(edge, unit_y, shape->height);
    if (whole_rows && swaps)
        height = shape->height;
    else if (whole_rows)
        width = shape->width;
    if (height == shape->height)
        width = in_units(pixels_along(pixels, height), unit_x, shape->width);
    if (width == shape->width && !(whole_rows && swaps))
        height = in_units(pixels_along(pixels, width), unit_y, shape->height);

    /* Whole tiles may be too much to ask; then the smallest piece that is right must do. */
    if (bytes_of(shape, o, width, height) > (double)limit && (!whole_rows || swaps))
        width = in_units(pixels_along(pixels, height), byte_unit, shape->width);
    if (bytes_of(shape, o, width, height) > (double)limit && !(whole_rows && swaps))
        height = in_units(pixels_along(pixels, width), 1, shape->height);
    double need = bytes_of(shape, o, width, height);
    if (need > (double)limit)
        return tt_fail(TT_ERROR_MEMORY,
                       "a piece of this picture takes %.0f bytes, and the memory limit is %zu", need, limit);

    *plan = (TtPlan){.orientation = o,
                     .source_width = shape->width,
                     .source_height = shape->height,
                     .width = width,
                     .height = height,
                     .columns = (shape->width - 1) / width + 1,
                     .rows = (shape->height - 1) / height + 1};
    if (__builtin_mul_overflow(plan->columns, plan->rows, &plan->count))
        return tt_fail(TT_ERROR_MEMORY,
                       "the memory limit of %zu bytes cuts this picture into too many pieces", limit);
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
