/* SPDX-License-Identifier: MIT
 *
 * What a GIF is made of: a screen, and blocks one after another.
 */
#ifndef GIF_BLOCKS_H
#define GIF_BLOCKS_H

#include <stdio.h>

#include <glib.h>

enum { GIF_PADDING = 0, GIF_EXTENSION = 0x21, GIF_FRAME = 0x2c, GIF_TRAILER = 0x3b };  /* kinds of blocks */
enum { GIF_TEXT = 1, GIF_CONTROL = 0xf9, GIF_COMMENT = 0xfe, GIF_APPLICATION = 0xff }; /* of extensions */
enum { GIF_INTERLACED = 0x40 };                                                        /* a frame's flag */

typedef struct {
    guint width, height;
    guint8 head[13]; /* as it lies in the file */
    GByteArray *colours;
} GifScreen;

typedef struct {
    int kind;
    guint8 label; /* of an extension */
    /* Of a frame: */
    guint left, top, width, height;
    guint8 flags, bits; /* as stored: of codes, less one */
    GByteArray *colours;
    /* Of a frame the codes; of an extension its pieces as they lie, with their lengths and an empty one. */
    GByteArray *data;
} GifBlock;

/* Each is filled anew; all begin as {0} and end by their clear. A block behind the trailer is what follows in
 * the file. */
gboolean gif_screen_read(FILE *file, GifScreen *screen, GError **error);
gboolean gif_block_read(FILE *file, GifBlock *block, GError **error);
void gif_screen_clear(GifScreen *screen);
void gif_block_clear(GifBlock *block);

/* Errors of writing stay with the file. */
void gif_screen_write(FILE *file, const GifScreen *screen);
void gif_block_write(FILE *file, const GifBlock *block);

/* Whether an extension is an application's of this name, of 11 letters. */
gboolean gif_block_is_of(const GifBlock *block, const char *application);

#endif
