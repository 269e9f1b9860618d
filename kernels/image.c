/* SPDX-License-Identifier: MIT
 *
 * Checks of images: sizes that fit, rows and planes that do not run into each other, views, overlap.
 */
#include "image.h"

#include <string.h>

#include "error.h"

static size_t magnitude(ptrdiff_t n) {
    return n < 0 ? -(size_t)n : (size_t)n;
}

/* a * b + c, or false. */
static bool mul_add(size_t a, size_t b, size_t c, size_t *result) {
    return !__builtin_mul_overflow(a, b, result) && !__builtin_add_overflow(*result, c, result);
}

/* Counted in bytes all the way: a row may be longer than half a gigabyte where size_t has 32 bits. */
static bool row_bytes_of(const TtImage *image, const TtExtent *extent, size_t *row_bytes) {
    if (extent->packed) {
        size_t per_byte = 8 / image->sample_bits;
        *row_bytes = image->width / per_byte + (image->width % per_byte != 0);
        return true;
    }
    return mul_add(image->sample_bits / 8, image->channels / extent->planes, 0, row_bytes) &&
           mul_add(*row_bytes, image->width, 0, row_bytes);
}

TtStatus tt_image_shape(const TtImage *image, const char *role, TtExtent *extent) {
    memset(extent, 0, sizeof(*extent));
    if (!image)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image is NULL", role);
    if (image->struct_size < sizeof(TtImage))
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image's struct_size is not set: use tt_image()", role);
    if (!image->width || !image->height)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image has no pixels: %zu x %zu", role, image->width,
                       image->height);
    if (!image->channels)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image has no channels", role);

    unsigned bits = image->sample_bits;
    extent->packed = bits == 1 || bits == 2 || bits == 4;
    if (!extent->packed && (!bits || bits % 8))
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the %s image has %u bits a sample: 1, 2, 4 or whole bytes are needed", role, bits);
    if (extent->packed && image->channels > 1)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the %s image has %u channels of %u bits: packed samples have one channel", role,
                       image->channels, bits);
    if (image->channels > 1 && image->layout != TT_INTERLEAVED && image->layout != TT_PLANAR)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image's layout %d is unknown", role, (int)image->layout);

    extent->planes = image->layout == TT_PLANAR ? image->channels : 1;
    size_t all;
    if (!row_bytes_of(image, extent, &extent->row_bytes) ||
        !mul_add(extent->row_bytes, image->height, 0, &all) || !mul_add(all, extent->planes, 0, &all) ||
        all > PTRDIFF_MAX)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the %s image is too large to address: %zu x %zu pixels of %u x %u bits", role,
                       image->width, image->height, image->channels, bits);
    return TT_OK;
}

/* Moves [low, end) to hold also its copy n times `distance` further on. */
static bool extend(uintptr_t *low, uintptr_t *end, size_t n, ptrdiff_t distance) {
    size_t reach;
    if (!mul_add(n, magnitude(distance), 0, &reach) || reach > PTRDIFF_MAX)
        return false;
    return distance < 0 ? !__builtin_sub_overflow(*low, reach, low)
                        : !__builtin_add_overflow(*end, reach, end);
}

/* Planes may follow each other, or lie in the gaps between each other's rows: all have the same pitch, so
 * two share a byte only if their columns meet. plane_bytes is from a plane's first byte to its last. */
static bool planes_meet(const TtImage *image, const TtExtent *extent, size_t plane_bytes) {
    size_t pitch = magnitude(image->pitch), distance = magnitude(image->plane_pitch), row = extent->row_bytes;
    for (size_t i = 1; i < extent->planes && i * distance < plane_bytes; i++) {
        if (image->height > 1 && i >= pitch / row) /* more rows than fit side by side into a pitch */
            return true;
        size_t column = image->height > 1 ? i * distance % pitch : 0;
        if (column < row || column + row > pitch)
            return true;
    }
    return false;
}

TtStatus tt_image_extent(const TtImage *image, const char *role, TtExtent *extent) {
    TtStatus status = tt_image_shape(image, role, extent);
    if (status)
        return status;
    if (!image->data)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image's data is NULL", role);

    size_t pitch = magnitude(image->pitch);
    if (image->height > 1 && pitch < extent->row_bytes)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the %s image's pitch of %td bytes is too small for its rows of %zu bytes", role,
                       image->pitch, extent->row_bytes);

    extent->low = (uintptr_t)image->data;
    extent->end = extent->low;
    bool fits = !__builtin_add_overflow(extent->end, extent->row_bytes, &extent->end) &&
                extend(&extent->low, &extent->end, image->height - 1, image->pitch);
    size_t plane_bytes = extent->end - extent->low;
    fits = fits && extend(&extent->low, &extent->end, extent->planes - 1, image->plane_pitch) &&
           extent->end - extent->low <= PTRDIFF_MAX;
    if (!fits)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image reaches past the end of the address space", role);

    if (planes_meet(image, extent, plane_bytes))
        return tt_fail(
            TT_ERROR_ARGUMENT,
            "the %s image's plane_pitch of %td bytes lets its planes of %zu bytes run into each other", role,
            image->plane_pitch, plane_bytes);
    return TT_OK;
}

/* Rows of two planes that are the same distance apart: they share a byte only if their columns meet,
 * counted round the pitch. Without that they share the range between the first and last byte. */
static bool planes_overlap(uintptr_t a, size_t a_bytes, const TtImage *a_image, uintptr_t b, size_t b_bytes,
                           const TtImage *b_image) {
    size_t pitch = magnitude(a_image->pitch);
    size_t a_span = (a_image->height - 1) * pitch + a_bytes;
    size_t b_span = (b_image->height - 1) * magnitude(b_image->pitch) + b_bytes;
    if (a >= b + b_span || b >= a + a_span)
        return false;
    if (pitch != magnitude(b_image->pitch) || a_image->height == 1 || b_image->height == 1)
        return true;
    size_t ahead = b > a ? (b - a) % pitch : (pitch - (a - b) % pitch) % pitch;
    return ahead < a_bytes || ahead + b_bytes > pitch;
}

/* The lowest byte of a plane. */
static uintptr_t plane_low(const TtImage *image, size_t plane) {
    uintptr_t first = (uintptr_t)image->data + plane * (uintptr_t)image->plane_pitch;
    return image->pitch < 0 ? first - (image->height - 1) * magnitude(image->pitch) : first;
}

bool tt_images_overlap(const TtImage *a, const TtExtent *a_extent, const TtImage *b,
                       const TtExtent *b_extent) {
    const size_t most_pairs = 1 << 20; /* of planes to compare: past them, near is taken for shared */
    if (a_extent->low >= b_extent->end || b_extent->low >= a_extent->end)
        return false;
    if (a_extent->planes > most_pairs / b_extent->planes)
        return true;
    for (size_t i = 0; i < a_extent->planes; i++)
        for (size_t j = 0; j < b_extent->planes; j++)
            if (planes_overlap(plane_low(a, i), a_extent->row_bytes, a, plane_low(b, j), b_extent->row_bytes,
                               b))
                return true;
    return false;
}

TtImage tt_subimage(const TtImage *image, TtRect r) {
    TtImage view = {.struct_size = sizeof(TtImage)};
    TtExtent extent;
    if (tt_image_extent(image, "viewed", &extent))
        return view;
    view = *image;
    view.data = NULL;
    view.width = r.width;
    view.height = r.height;
    bool inside = r.width && r.height && r.x < image->width && r.width <= image->width - r.x &&
                  r.y < image->height && r.height <= image->height - r.y;
    size_t per_byte = extent.packed ? 8 / image->sample_bits : 1;
    size_t bytes = extent.packed ? 1 : (size_t)image->sample_bits / 8 * (image->channels / extent.planes);
    if (inside && r.x % per_byte == 0)
        view.data = (uint8_t *)image->data + (ptrdiff_t)r.y * image->pitch + r.x / per_byte * bytes;
    return view;
}
