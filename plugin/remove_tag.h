/* SPDX-License-Identifier: MIT
 *
 * The orientation tag of an image whose pixels have been turned upright.
 */
#ifndef TT_REMOVE_TAG_H
#define TT_REMOVE_TAG_H

#include <vips/vips.h>

/* Removes the tag from `out`, a copy of `in` with the same metadata: the field itself, EXIF's and XMP's.
 * Nothing happens if `in` has none. All else stays as it is in `in`. */
void tt_remove_orientation_tag(VipsImage *in, VipsImage *out);

#endif
