/* SPDX-License-Identifier: MIT
 *
 * The orientation tag of an image: what it says, and its removal.
 */
#ifndef TT_IMAGE_TAG_H
#define TT_IMAGE_TAG_H

#include <tiletranspose/tt.h>
#include <vips/vips.h>

/* TT_NONE if nothing states a tag. */
TtOrientation tt_image_tag(VipsImage *in);

/* Removes the tag from `out`, a copy of `in` with the same metadata, since its pixels have been turned
 * upright: the field itself, and EXIF's, XMP's and those in the texts of a PNG become 1. All else stays as it
 * is in `in`. */
void tt_image_remove_tag(VipsImage *in, VipsImage *out);

#endif
