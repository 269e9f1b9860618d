/* SPDX-License-Identifier: MIT
 *
 * The size of the picture as an XMP packet states it.
 */
#ifndef XMP_SIZES_H
#define XMP_SIZES_H

#include <glib.h>
#include <tiletranspose/tt.h>

/* width x height: of the picture before the turn, of which the turn keeps the first kept_width columns and
 * kept_height rows. Each size is an attribute or an element. The packet keeps its length: what a number loses
 * in digits becomes spaces behind all else. */
void xmp_turn_sizes(guint8 *packet, gsize size, TtOrientation turn, guint width, guint height,
                    guint kept_width, guint kept_height);

#endif
