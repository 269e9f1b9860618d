/* SPDX-License-Identifier: MIT
 *
 * The eight orientations on the coefficients of a JPEG.
 *
 * A picture is compressed in blocks of 8x8; a unit is what one block of each component and their
 * neighbours cover, 8x8 to 32x32 pixels. Units move as pixels do. Within a block a mirror negates every
 * other frequency and a transpose is one of the coefficients. The last unit of a row or column may lie
 * partly outside the picture: it can stay last, but cannot become the first.
 *
 * Errors of libjpeg leave all of these by its error_exit.
 */
#ifndef JPEG_BLOCKS_H
#define JPEG_BLOCKS_H

#include <stdio.h>

#include <glib.h>
#include <jpeglib.h>
#include <tiletranspose/tt.h>

/* A turn as a mirroring of the source in each axis, and then a transpose. */
typedef struct {
    gboolean mirror_x, mirror_y, swap;
    JCOEF signs[DCTSIZE2]; /* of the source's coefficients */
} JpegSteps;

JpegSteps jpeg_steps(TtOrientation turn);

/* One block. */
void jpeg_steps_turn(const JCOEF *from, JCOEF *to, const JpegSteps *steps);

/* How many of the picture's last columns and rows stand in the way of the turn: both 0 if it is perfect. */
void jpeg_blocks_remainder(j_decompress_ptr from, TtOrientation turn, guint *columns, guint *rows);

/* The bytes of all coefficients. */
gsize jpeg_blocks_bytes(j_decompress_ptr from);

/* Gives `to`, which has from's critical parameters, the size (without the remainder), sampling and tables of
 * the turned picture. */
void jpeg_blocks_turn_header(j_decompress_ptr from, j_compress_ptr to, TtOrientation turn);

/* Arrays for the coefficients of `to`, which are there once jpeg_write_coefficients() has been called. */
jvirt_barray_ptr *jpeg_blocks_request(j_compress_ptr to);
void jpeg_blocks_turn(j_decompress_ptr from, jvirt_barray_ptr *source, j_compress_ptr to,
                      jvirt_barray_ptr *result, TtOrientation turn);

/* Whether b is a turned by `turn`: tables, sampling and all coefficients. */
gboolean jpeg_blocks_equal(j_decompress_ptr a, jvirt_barray_ptr *a_arrays, TtOrientation turn,
                           j_decompress_ptr b, jvirt_barray_ptr *b_arrays);

#endif
