/* SPDX-License-Identifier: MIT
 *
 * Files of libvips' formats whose pixels lie there as they are, read and written without its pipelines, which
 * copy each row several times.
 */
#ifndef VIPS_BARE_H
#define VIPS_BARE_H

#include "bare_rows.h"
#include "format.h"
#include "vips_library.h"

/* Where the pixels of a .v file lie, `image` being what libvips makes of it. */
void native_pixels_find(FILE *file, const VipsImage *image, BareBlocks *blocks);

/* Writes a .v file or, if is_tiff, a TIFF in strips without compression. header is of the picture to be
 * written, and is used up, but not taken over; save() lets libvips make such a file of it. */
Writer *bare_create(FILE *file, VipsImage *header, gboolean is_tiff,
                    gboolean (*save)(gpointer data, GError **error), gpointer data, GError **error);

#endif
