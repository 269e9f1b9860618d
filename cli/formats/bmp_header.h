/* SPDX-License-Identifier: MIT
 *
 * What a BMP says of itself that its writer, ImageMagick by way of libvips, does not keep.
 */
#ifndef BMP_HEADER_H
#define BMP_HEADER_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean few_bits; /* fewer than 24 for a pixel: a palette, say */
    gboolean resolution, profile;
} BmpHeader;

BmpHeader bmp_header_read(FILE *file);

#endif
