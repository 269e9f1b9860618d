/* SPDX-License-Identifier: MIT
 *
 * Blocks of EXIF and XMP in the texts of PNGs: as they are, or as hexadecimal digits among white space, which
 * ImageMagick calls a raw profile.
 */
#ifndef TEXT_BLOCKS_H
#define TEXT_BLOCKS_H

#include <glib.h>

/* Which of several blocks speaks first of the orientation: that with the highest rank. */
enum { RANK_XMP = 1, RANK_PROFILE, RANK_EXIF };

typedef struct {
    guint8 *data; /* may be changed in place */
    gsize size;
    gboolean xmp; /* else EXIF */
    int rank;
} Block;

typedef void (*VisitBlock)(const Block *block, gpointer data);

/* Whether a text with this keyword may hold one. */
gboolean text_may_hold_block(const char *keyword);

/* Visits what the text may be, which its keyword tells; changes are written back, and the text keeps its
 * length. */
void text_blocks_visit(const char *keyword, guint8 *text, gsize size, VisitBlock visit, gpointer data);

#endif
