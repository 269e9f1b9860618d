/* SPDX-License-Identifier: MIT
 *
 * libtiff's codecs, strip by strip and tile by tile, on as many threads as like.
 *
 * libtiff only unpacks and packs here. Where blocks lie and what tags say is left to the other files, since
 * it does not copy what it does not know.
 */
#ifndef TIFF_CODEC_H
#define TIFF_CODEC_H

#include "tiff_directory.h"
#include "tiff_picture.h"

/* Decoders of one file, lent to one thread at a time. */
typedef struct TiffDecoders TiffDecoders;
TiffDecoders *tiff_decoders_new(const TiffFile *file, gsize memory);
void tiff_decoders_free(TiffDecoders *decoders);

/* Unpacks block i of the picture: tiff_block_bytes() in the machine's order of bytes. Damage is an error. */
gboolean tiff_decode(TiffDecoders *decoders, const TiffPicture *picture, gsize block, guint8 *to,
                     GError **error);

/* The same of a strip by and by: rows bands, from top to bottom, each handed to take, which may change it. */
typedef gboolean (*TiffTakeRows)(gpointer user, guint8 *rows, gsize first, gsize n, GError **error);
gboolean tiff_decode_rows(TiffDecoders *decoders, const TiffPicture *picture, gsize block, TiffTakeRows take,
                          gpointer user, GError **error);

/* Encoders for blocks of one picture, lent likewise. */
typedef struct TiffEncoders TiffEncoders;
TiffEncoders *tiff_encoders_new(const TiffFile *file, const TiffPicture *picture);
void tiff_encoders_free(TiffEncoders *encoders);

/* Packs a block of so many rows and appends it to `to`. The data may be changed. */
gboolean tiff_encode(TiffEncoders *encoders, guint8 *data, gsize rows, GByteArray *to, GError **error);

/* Why libtiff cannot unpack the picture and pack it again without loss, NULL if it can. */
const char *tiff_codec_refusal(const TiffFile *file, const TiffPicture *picture);

const char *tiff_codec_description(void);

#endif
