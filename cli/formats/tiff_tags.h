/* SPDX-License-Identifier: MIT
 *
 * What a TIFF says of itself that libvips does not pass on.
 */
#ifndef TIFF_TAGS_H
#define TIFF_TAGS_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean big; /* a BigTIFF */
    /* Of the first page, as TIFF 6.0 numbers them. */
    guint compression, predictor, photometric, bits, tile_width, tile_height;
    /* Of any page. */
    gboolean geographic;    /* pixels are tied to places on the map */
    gboolean nested;        /* holds images within images, or a camera's raw data */
    gboolean premultiplied; /* its colours are multiplied by alpha */
    gboolean unnamed;       /* has channels of which it does not say what they are */
    gboolean shape_only;    /* its resolutions, which differ, have no unit */
    gboolean pages_differ;  /* in description or resolution */
    GString *lost;          /* the names of other tags that libvips does not keep, NULL if none */
} TiffTags;

/* Walks the directories. FALSE if they lead past the end of the file, which libvips takes to have fewer pages
 * then. */
gboolean tiff_tags_read(FILE *file, TiffTags *tags);
void tiff_tags_clear(TiffTags *tags);

#endif
