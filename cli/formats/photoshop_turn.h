/* SPDX-License-Identifier: MIT
 *
 * What a turn changes in Photoshop's resources, as a JPEG's APP13 holds them.
 */
#ifndef PHOTOSHOP_TURN_H
#define PHOTOSHOP_TURN_H

#include <glib.h>

/* Drops thumbnails, and with swap exchanges the resolutions. The segment's new size. */
gsize photoshop_turn(guint8 *segment, gsize size, gboolean swap);

#endif
