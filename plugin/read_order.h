/* SPDX-License-Identifier: MIT
 *
 * In which order the pixels of a libvips image can be had.
 */
#ifndef TT_READ_ORDER_H
#define TT_READ_ORDER_H

#include <vips/vips.h>

/* TRUE if pixels must be asked for from top to bottom, once. FALSE for an image opened for sequential access
 * all the same if its pixels are in memory or in a mapped file, or if what they come from can be read
 * anywhere: a tiled TIFF, say. */
gboolean tt_must_read_in_order(VipsImage *image);

#endif
