/* SPDX-License-Identifier: MIT
 *
 * LZW as GIF has it: codes from their lowest bit on, in a table that starts with 2^bits colours.
 */
#ifndef GIF_CODES_H
#define GIF_CODES_H

#include <glib.h>

enum { GIF_FEWEST_BITS = 1, GIF_MOST_BITS = 8 };

/* The most pixels that so many bytes can stand for. */
guint64 gif_codes_most(gsize packed);

/* FALSE if the codes are damaged, or stand for fewer than size pixels; what comes after those is ignored. */
gboolean gif_codes_unpack(const GByteArray *packed, guint bits, guint8 *pixels, gsize size);

/* At least one pixel, each below 2^bits; bits is at least 2, since readers differ in what 1 means. */
GByteArray *gif_codes_pack(const guint8 *pixels, gsize size, guint bits);

#endif
