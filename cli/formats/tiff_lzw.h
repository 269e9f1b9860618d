/* SPDX-License-Identifier: MIT
 *
 * LZW as TIFF 6.0 has it, codes beginning with their highest bit.
 */
#ifndef TIFF_LZW_H
#define TIFF_LZW_H

#include <glib.h>

enum { LZW_BEYOND = 8 };

/* What packing takes, to be used again. For one thread at a time. */
typedef struct TiffLzw TiffLzw;
TiffLzw *tiff_lzw_new(void);
void tiff_lzw_free(TiffLzw *lzw);

/* Room that a block needs at most. */
gsize tiff_lzw_bound(gsize size);

/* Packs a block into such room and returns how many bytes it took. */
gsize tiff_lzw_pack(TiffLzw *lzw, const guint8 *data, gsize size, guint8 *to);

/* Unpacks `size` bytes, and ignores what may follow. LZW_BEYOND bytes behind those packed are read too. FALSE
 * if they are not all there, or packed in another way than the specification's, which some writers had before
 * it. */
gboolean tiff_lzw_unpack(TiffLzw *lzw, const guint8 *packed, gsize n, guint8 *to, gsize size);

#endif
