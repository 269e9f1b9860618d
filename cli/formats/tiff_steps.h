/* SPDX-License-Identifier: MIT
 *
 * Pixels of a TIFF as they are turned: as they stand in the file, if they are of whole bytes or of 1, 2 or 4
 * bits; otherwise (10, 12 or 14 bits, or three samples of one) unpacked to whole bytes.
 *
 * Where several pixels of YCbCr share their colour, all of them are turned as one.
 */
#ifndef TIFF_STEPS_H
#define TIFF_STEPS_H

#include "tiff_picture.h"

/* Their format in memory. */
TtImage tiff_step(const TiffPicture *picture);

gboolean tiff_steps_are_odd(const TiffPicture *picture);

/* Unpacks rows, in which the steps begin at bit `first`. */
void tiff_steps_unpack(const TiffPicture *picture, const guint8 *rows, gsize pitch, gsize first,
                       const TtImage *to);
void tiff_steps_pack(const TiffPicture *picture, const TtImage *from, guint8 *rows, gsize pitch);

/* Turns what is within each of those units, of a picture that was `from`. */
void tiff_steps_turned(const TiffPicture *from, TtOrientation turn, const TtImage *units);

#endif
