/* SPDX-License-Identifier: MIT
 *
 * How a GeoTIFF ties its pixels to places, and what a turn makes of that.
 */
#ifndef TIFF_GEO_H
#define TIFF_GEO_H

#include <tiletranspose/tt.h>

#include "tiff_output.h"

/* Whether pixels are tied to places. */
gboolean tiff_is_geo(const TiffDirectory *directory);

/* A tag that says where pixels are, which tiff_geo_turn() writes anew. */
gboolean tiff_is_geo_place(guint tag);

/* Why the places cannot be written anew, NULL if they can. */
const char *tiff_geo_refusal(const TiffDirectory *directory);

/* Adds the entries that tie the pixels of the turned picture to the same places. */
gboolean tiff_geo_turn(const TiffFile *file, const TiffDirectory *directory, TtOrientation turn, gsize width,
                       gsize height, GArray *entries, GError **error);

#endif
