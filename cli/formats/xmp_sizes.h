/* SPDX-License-Identifier: MIT
 *
 * The size of the picture as an XMP packet states it.
 */
#ifndef XMP_SIZES_H
#define XMP_SIZES_H

#include <glib.h>

/* Exchanges widths and heights, each an attribute or an element. The packet keeps its length. */
void xmp_swap_sizes(guint8 *packet, gsize size);

#endif
