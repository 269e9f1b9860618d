/* SPDX-License-Identifier: MIT
 *
 * What a JPEG 2000 file holds beside its picture, and how its codestream is made: libvips passes neither on.
 */
#ifndef JP2_BOXES_H
#define JP2_BOXES_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean geographic; /* its pixels are tied to places on the map, by GeoJP2 or GML in JP2 */
    gboolean extra;      /* has XMP, EXIF, other XML, a resolution, or anything else of that kind */
    guint width, height, tile_width, tile_height; /* 0 if there is no codestream */
    guint bits;                                   /* of the deepest component */
    gboolean subsampled;                          /* some component has fewer pixels than the picture */
} Jp2Boxes;

/* Walks the boxes from the start of the file. A bare codestream has none. */
Jp2Boxes jp2_boxes_read(FILE *file);

#endif
