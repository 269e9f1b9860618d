/* SPDX-License-Identifier: MIT
 *
 * A TIFF block in memory, as EXIF holds it: numbers and directory entries, read and changed in place.
 *
 * Nothing outside the block is read or written, whatever its offsets say.
 */
#ifndef TIFF_BLOCK_H
#define TIFF_BLOCK_H

#include <glib.h>

typedef struct {
    guint8 *data;
    gsize size;
    gboolean big_endian;
} TiffBlock;

enum { TIFF_SHORT = 3, TIFF_LONG = 4, TIFF_RATIONAL = 5, TIFF_ENTRY = 12 /* bytes */ };

/* A block with or without "Exif\0\0" in front; FALSE if it is none. */
gboolean tiff_block_open(TiffBlock *t, guint8 *block, gsize size);

/* An unsigned number of n bytes; 0 outside the block. */
guint32 tiff_block_number(const TiffBlock *t, gsize offset, int n);
void tiff_block_put(const TiffBlock *t, gsize offset, int n, guint32 value);

/* Offset of the tag's first entry in the directory at that offset; 0 if there is none. */
gsize tiff_block_find(const TiffBlock *t, gsize directory, guint32 tag);

/* Where the offset of the next directory stands. */
gsize tiff_block_next(const TiffBlock *t, gsize directory);

/* The number that an entry holds, a SHORT or a LONG; 0 if it holds another thing, or is 0. */
guint32 tiff_block_value(const TiffBlock *t, gsize entry);

/* Puts the number where tiff_block_value() reads it; FALSE, and nothing changed, if it does not fit. */
gboolean tiff_block_set(const TiffBlock *t, gsize entry, guint32 value);

#endif
