/* SPDX-License-Identifier: MIT
 *
 * A JPEG turned without its pixels, coded as it was.
 */
#ifndef JPEG_TURN_H
#define JPEG_TURN_H

#include "jpeg_segments.h"

/* From a decompressor whose coefficients are `source` to a compressor that has a destination. Errors of
 * libjpeg leave it by its error_exit. */
void jpeg_turn(j_decompress_ptr from, jvirt_barray_ptr *source, j_compress_ptr to, const SegmentsTurn *how);

/* The compressor as the decompressor is: components, tables, progressive or not, arithmetic coding, restarts.
 * Its size and sampling are those before the turn. */
void jpeg_copy_coding(j_decompress_ptr from, j_compress_ptr to);

/* A JPEG in memory, as small as can be, into as many bytes. The bytes used; 0 if they do not suffice, or if
 * it is damaged or cannot be turned perfectly. */
gsize jpeg_turn_within(const guint8 *data, gsize size, TtOrientation turn, guint8 *into);

#endif
