/* SPDX-License-Identifier: MIT
 *
 * What a turn changes in EXIF beside the orientation: sizes, resolutions, the subject's place, the thumbnail.
 *
 * Blocks are changed in place and keep their length and all offsets, so that maker notes with offsets of
 * their own stay right.
 */
#ifndef EXIF_TURN_H
#define EXIF_TURN_H

#include <glib.h>
#include <tiletranspose/tt.h>

/* width x height: of the picture before the turn, of which the turn keeps the first kept_width columns and
 * kept_height rows. upright: the thumbnail's own orientation becomes 1 too. */
void exif_turn(guint8 *block, gsize size, TtOrientation turn, guint width, guint height, guint kept_width,
               guint kept_height, gboolean upright);

/* Whether there is a thumbnail. *data is its JPEG inside the block, or NULL if it is anything else. */
gboolean exif_thumbnail(guint8 *block, gsize size, guint8 **data, gsize *bytes);
void exif_set_thumbnail(guint8 *block, gsize size, const guint8 *data, gsize bytes); /* not larger */
void exif_drop_thumbnail(guint8 *block, gsize size);

/* The same block with an orientation that it had no entry for, in a new directory behind all else. */
GByteArray *exif_with_orientation(const guint8 *block, gsize size, TtOrientation tag);

/* A block, with "Exif\0\0" in front, that says nothing but an orientation. */
GByteArray *exif_of_orientation(TtOrientation tag);

#endif
