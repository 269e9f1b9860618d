/* SPDX-License-Identifier: MIT
 *
 * Checked facts about a TtImage.
 */
#ifndef TT_IMAGE_H
#define TT_IMAGE_H

#include <stdbool.h>

#include "tiletranspose/tt.h"

/* What lies where. Made only by tt_image_extent(), so that every product in it is known not to overflow. */
typedef struct {
    size_t row_bytes;   /* of one row of one plane */
    uintptr_t low, end; /* the image's bytes lie in [low, end) */
    size_t planes;
    bool packed;
} TtExtent;

/* Checks all that can be said of one image; `role` ("source") names it in the message. */
TtStatus tt_image_extent(const TtImage *image, const char *role, TtExtent *extent);

/* The same without memory behind it: sizes and sample format only. Sets row_bytes, planes and packed. */
TtStatus tt_image_shape(const TtImage *image, const char *role, TtExtent *extent);

/* Whether a byte of a may be a byte of b. Exact for two views with the same distance between rows. */
bool tt_images_overlap(const TtImage *a, const TtExtent *a_extent, const TtImage *b,
                       const TtExtent *b_extent);

#endif
