/* SPDX-License-Identifier: MIT
 *
 * Deflate by short codes for frequent bytes alone, without any search for repeats.
 */
#ifndef DEFLATE_CODES_H
#define DEFLATE_CODES_H

#include <glib.h>

/* Packs data into blocks of a raw deflate stream and returns their bytes, 0 if there is no room for them.
 * Unless `last`, the stream goes on behind them at a whole byte. */
gsize deflate_codes(const guint8 *data, gsize size, guint8 *to, gsize room, gboolean last);

#endif
