/* SPDX-License-Identifier: MIT
 *
 * The orientation tag in the two forms that formats embed: EXIF and XMP.
 *
 * The first two functions return the orientation that the block states, 1 to 8, or 0 if it states none that
 * is valid. With reset, the tag becomes 1 in place and no other byte changes, so that maker notes with
 * offsets of their own stay right.
 */
#ifndef ORIENTATION_TAG_H
#define ORIENTATION_TAG_H

#include <glib.h>

/* A TIFF block as EXIF holds it, with or without "Exif\0\0" in front. */
int exif_orientation(guint8 *block, gsize size, gboolean reset);

/* An XMP packet in UTF-8: tiff:Orientation as an attribute or as an element. */
int xmp_orientation(guint8 *packet, gsize size, gboolean reset);

/* The same places, set to an orientation. FALSE, and nothing changed, if the block has no entry for it. */
gboolean exif_set_orientation(guint8 *block, gsize size, int orientation);
void xmp_set_orientation(guint8 *packet, gsize size, int orientation);

#endif
