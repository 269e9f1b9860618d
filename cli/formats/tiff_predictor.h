/* SPDX-License-Identifier: MIT
 *
 * TIFF's predictors: rows as differences from sample to sample.
 */
#ifndef TIFF_PREDICTOR_H
#define TIFF_PREDICTOR_H

#include "tiff_picture.h"

/* Whether the picture's samples are of a kind that its predictor, or none, can be applied to here. */
gboolean tiff_predictor_fits(const TiffPicture *picture);

/* From samples in the machine's order of bytes to what is packed, in the file's order, and back: in place, of
 * so many rows of a block. spare: bytes of a row. */
void tiff_predict(const TiffFile *file, const TiffPicture *picture, guint8 *data, gsize rows, guint8 *spare);
void tiff_unpredict(const TiffFile *file, const TiffPicture *picture, guint8 *data, gsize rows,
                    guint8 *spare);

#endif
