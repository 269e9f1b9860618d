/* SPDX-License-Identifier: MIT
 *
 * What a GIF is made of. libvips does not tell, and shows a part of an animation as if it were the whole.
 */
#ifndef GIF_BLOCKS_H
#define GIF_BLOCKS_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean whole; /* its blocks go on to the one that says that it ends */
    gboolean extra; /* holds comments, text, data of applications or anything behind its end */
} GifBlocks;

/* Walks the blocks from the start of the file, without decoding pixels. */
GifBlocks gif_blocks_read(FILE *file);

#endif
