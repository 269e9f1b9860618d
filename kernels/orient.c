/* SPDX-License-Identifier: MIT
 *
 * tt_orient: check the arguments, boil the turn down to one of three kernels, hand it to a backend.
 */
#include "orient.h"

#include <string.h>

#include "backend.h"
#include "error.h"
#include "image.h"
#include "orientation.h"

/* The elements of one side of a move. Whole pixels move when neither side is planar. */
static TtSide side_of(const TtImage *image, bool whole_pixels) {
    size_t sample = image->sample_bits / 8, pixel = sample * image->channels;
    bool planar = image->channels > 1 && image->layout == TT_PLANAR;
    return (TtSide){
        .data = image->data,
        .pitch = image->height > 1 ? image->pitch : 0, /* of one row it may be anything */
        .step = planar ? sample : pixel,
        .plane = whole_pixels ? 0
                 : planar     ? image->plane_pitch
                              : (ptrdiff_t)sample,
    };
}

static void read_bottom_up(TtSide *side, size_t height) {
    side->data += (ptrdiff_t)(height - 1) * side->pitch;
    side->pitch = -side->pitch;
}

TtMove tt_move_of(const TtImage *src, const TtImage *dst, TtOrientation o) {
    bool whole_pixels =
        src->channels == 1 || (src->layout == TT_INTERLEAVED && dst->layout == TT_INTERLEAVED);
    size_t sample = src->sample_bits / 8;
    TtMove move = {
        .src = side_of(src, whole_pixels),
        .dst = side_of(dst, whole_pixels),
        .width = dst->width,
        .height = dst->height,
        .bytes = whole_pixels ? sample * src->channels : sample,
        .bits = src->sample_bits < 8 ? src->sample_bits : 0,
        .channels = whole_pixels ? 1 : src->channels,
    };
    if (tt_flips_y(o))
        read_bottom_up(&move.src, src->height);
    if (tt_swaps_axes(o)) {
        move.kernel = TT_TRANSPOSE_ROWS;
        if (tt_flips_x(o)) /* the source's columns are the destination's rows */
            read_bottom_up(&move.dst, dst->height);
    } else {
        move.kernel = tt_flips_x(o) ? TT_REVERSE_ROWS : TT_COPY_ROWS;
    }
    return move;
}

TtStatus tt_pair_check(const TtImage *src, const TtImage *dst, TtOrientation o) {
    TtExtent from, to;
    TtStatus status;
    if ((status = tt_image_extent(src, "source", &from)) ||
        (status = tt_image_extent(dst, "destination", &to)))
        return status;
    if (!tt_orientation_valid(o))
        return tt_fail(TT_ERROR_ARGUMENT, "%d is no orientation: they are numbered 1 to 8", (int)o);
    if (src->channels != dst->channels || src->sample_bits != dst->sample_bits)
        return tt_fail(TT_ERROR_ARGUMENT, "source and destination differ: %u channels of %u bits, %u of %u",
                       src->channels, src->sample_bits, dst->channels, dst->sample_bits);
    size_t width = tt_swaps_axes(o) ? src->height : src->width;
    size_t height = tt_swaps_axes(o) ? src->width : src->height;
    if (dst->width != width || dst->height != height)
        return tt_fail(
            TT_ERROR_ARGUMENT, "%zu x %zu pixels turned by %s need a destination of %zu x %zu, not %zu x %zu",
            src->width, src->height, tt_orientation_name(o), width, height, dst->width, dst->height);
    if (tt_images_overlap(src, &from, dst, &to))
        return tt_fail(TT_ERROR_OVERLAP,
                       "source and destination share memory: turn into a buffer of its own");
    return TT_OK;
}

TtStatus tt_options_read(const TtOptions *options, const TtBackend **backend, unsigned *threads) {
    TtStatus status;
    *backend = NULL;
    *threads = 0;
    if (options && options->struct_size < sizeof(TtOptions))
        return tt_fail(TT_ERROR_ARGUMENT, "the options' struct_size is not set");
    *backend = tt_backend_find(options ? options->backend : NULL, &status);
    *threads = options ? options->threads : 0;
    return status;
}

TtStatus tt_orient(const TtImage *src, const TtImage *dst, TtOrientation o, const TtOptions *options) {
    const TtBackend *backend;
    unsigned threads;
    TtStatus status;
    if ((status = tt_pair_check(src, dst, o)) || (status = tt_options_read(options, &backend, &threads)))
        return status;
    TtMove move = tt_move_of(src, dst, o);
    move.device = options ? options->device : 0;
    return backend->move(&move, threads);
}
