/* SPDX-License-Identifier: MIT
 *
 * How libvips is to save the turned copy of a file, so that it is no poorer than the file.
 */
#ifndef VIPS_SAVING_H
#define VIPS_SAVING_H

#include <stdio.h>

#include "vips_formats.h"
#include "vips_library.h"
#include "webp_chunks.h"

typedef struct {
    GString *options;              /* of the save operation, as "Q=90,interlace" */
    GString *loss;                 /* what is lost all the same, as "whose ..."; empty if nothing */
    const char *may_change;        /* see Reader */
    gsize tile_width, tile_height; /* of a source in tiles; else 0 */
    gboolean one_tile;             /* the whole picture is one, and is to stay so */
    WebpRest webp;                 /* what to put into such a file again */
    guint64 held;                  /* bytes of pixels that a decoder holds at once; and an encoder, too */
} Saving;

/* Decides from the file's header and what libvips says of the image. Refused, with what is wrong, are
 * files whose copy would be false. What `strip` leaves out is no loss. The file's position is lost. */
gboolean saving_decide(Saving *saving, const ForeignFormat *format, FILE *file, VipsImage *image,
                       gboolean strip, GError **error);
void saving_clear(Saving *saving);

#endif
