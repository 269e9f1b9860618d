/* SPDX-License-Identifier: MIT
 *
 * How the pixels of one directory of a TIFF are laid out: size, samples, strips or tiles, compression.
 */
#ifndef TIFF_PICTURE_H
#define TIFF_PICTURE_H

#include <tiletranspose/tt.h>

#include "tiff_directory.h"

typedef struct {
    guint64 directory; /* where it is in the file */
    gsize width, height;
    guint samples, bits, sample_format;
    guint compression, predictor, photometric, fill_order;
    guint32 t4_options, t6_options;
    gboolean planar;                 /* a plane for each sample, one after another */
    guint units_across, units_down;  /* pixels of a unit of YCbCr that share their colour; else 1 */
    gboolean tiled;                  /* or strips, which are as wide as the picture */
    gsize block_width, block_height; /* of a strip or tile */
    gsize across, down, planes;      /* blocks */
    gsize blocks;                    /* of all planes */
    guint64 *starts, *lengths;       /* of each block, in the file */
    gsize step_bits;                 /* of a pixel (or unit) of a plane, as the file has it */
    gboolean sparse;                 /* some blocks are not there: all their samples are as this one */
    guint8 empty[8];                 /* in the machine's order of bytes, */
    gboolean odd_empty;              /* or not a number that fits */
} TiffPicture;

/* Whether the directory has pixels. */
gboolean tiff_is_picture(const TiffDirectory *directory);

gboolean tiff_picture_read(const TiffFile *file, const TiffDirectory *directory, TiffPicture *picture,
                           GError **error);
void tiff_picture_clear(TiffPicture *picture);

/* Why it cannot be decoded and encoded again without loss, as "is ... : remedy"; NULL if it can. */
const char *tiff_picture_refusal(const TiffPicture *picture);

/* The turned picture, whose blocks are not placed yet. Compressed strips of more than so many bytes become
 * several. */
TiffPicture tiff_picture_turned(const TiffPicture *picture, TtOrientation turn, gsize most);

/* Sizes in steps, which are pixels but where several share their colour. */
gsize tiff_steps_across(const TiffPicture *picture, gsize pixels);
gsize tiff_steps_down(const TiffPicture *picture, gsize pixels);

/* What block i (of one plane or all) covers of the picture, in steps. */
TtRect tiff_block_rect(const TiffPicture *picture, gsize block);

/* Bytes of a row of a block, and of a whole block, as they are before compression. */
gsize tiff_block_row(const TiffPicture *picture);
gsize tiff_block_bytes(const TiffPicture *picture, gsize block);

/* Whether a block is left out, as GDAL leaves out what is empty, and bytes of such a one. */
gboolean tiff_block_is_missing(const TiffPicture *picture, gsize block);
void tiff_block_clear(const TiffPicture *picture, guint8 *data, gsize size);

/* Whether rows of so many bytes of a block hold nothing else. */
gboolean tiff_block_is_empty(const TiffPicture *picture, const guint8 *rows, gsize bytes, gsize n);

/* Bytes of all pixels. */
guint64 tiff_picture_bytes(const TiffPicture *picture);

#endif
