/* SPDX-License-Identifier: MIT
 *
 * What a WebP file holds beside its pixels. libvips writes EXIF anew, and where there is none, and leaves out
 * what it does not know, and what it does where that comes twice or the file's head does not mention it.
 */
#ifndef WEBP_CHUNKS_H
#define WEBP_CHUNKS_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    GByteArray *film;    /* the chunk that says how often an animation is shown, and before what colour */
    GByteArray *unknown; /* chunks that libvips does not read */
    GByteArray *behind;  /* what follows the picture in the file */
    gboolean in_frames;  /* there are such chunks within frames, too, which have no place to be put back to */
} WebpRest;

typedef struct {
    const void *data;
    gsize size; /* 0 if there is none */
} WebpBlock;

/* `strip` leaves what shows. Clear the rest even if this fails. */
gboolean webp_read_rest(FILE *file, gboolean strip, WebpRest *rest, GError **error);
void webp_clear_rest(WebpRest *rest);

/* A file that libvips has saved, with this in place of what it wrote beside the pixels, but for the profile.
 * exif may be NULL: that is kept as it was written. */
GByteArray *webp_dressed(const GByteArray *saved, const WebpRest *rest, const WebpBlock *exif,
                         const WebpBlock *xmp);

#endif
