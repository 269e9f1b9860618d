/* SPDX-License-Identifier: MIT
 *
 * Strips and tiles as zlib streams, with TIFF's predictors, by the fast libraries of deflate.h.
 */
#ifndef TIFF_DEFLATE_H
#define TIFF_DEFLATE_H

#include "tiff_picture.h"

/* For one thread at a time. */
typedef struct TiffPacker TiffPacker;
TiffPacker *tiff_packer_new(const TiffFile *file, const TiffPicture *picture);
void tiff_packer_free(TiffPacker *packer);

/* Appends so many rows of a block, which are in the machine's order of bytes and are changed. FALSE if the
 * predictor does not know such samples. */
gboolean tiff_packer_pack(TiffPacker *packer, guint8 *data, gsize rows, GByteArray *to);

#endif
