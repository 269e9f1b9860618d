/* SPDX-License-Identifier: MIT
 *
 * Strips and tiles in LZW and deflate, with TIFF's predictors: faster than libtiff has them, to the same
 * pixels.
 */
#ifndef TIFF_PACKER_H
#define TIFF_PACKER_H

#include "tiff_picture.h"

/* Whether blocks of the picture are packed and unpacked here. */
gboolean tiff_packer_fits(const TiffPicture *picture);

enum { TIFF_PACKER_BEYOND = 8 };

/* For one thread and one picture at a time. */
typedef struct TiffPacker TiffPacker;
TiffPacker *tiff_packer_new(const TiffFile *file);
void tiff_packer_free(TiffPacker *packer);

/* Appends so many rows of a block, which are in the machine's order of bytes and are changed. FALSE if
 * nothing can pack them. */
gboolean tiff_packer_pack(TiffPacker *packer, const TiffPicture *picture, guint8 *data, gsize rows,
                          GByteArray *to);

/* Unpacks so many rows of a block, behind which TIFF_PACKER_BEYOND bytes are read too. FALSE, and rows of
 * anything, if the block is damaged or of an odd kind. */
gboolean tiff_packer_unpack(TiffPacker *packer, const TiffPicture *picture, const guint8 *packed, gsize size,
                            guint8 *to, gsize rows);

#endif
