/* SPDX-License-Identifier: MIT
 *
 * The blocks of a GIF, as GIF89a lays them out.
 */
#include "gif_blocks.h"

#include <string.h>

enum { EXTENSION = 0x21, FRAME = 0x2c, TRAILER = 0x3b, CONTROL = 0xf9, APPLICATION = 0xff };

/* Reading on behind the end would hide a seek past it. */
static gboolean skip(FILE *file, gsize n) {
    while (n && getc(file) != EOF)
        n--;
    return n == 0;
}

/* A colour table, if the packed field of what comes before it says that there is one. */
static gboolean skip_colours(FILE *file, int packed) {
    return !(packed & 0x80) || skip(file, (gsize)3 << ((packed & 7) + 1));
}

/* Data in pieces, each with its length before it, to an empty one. */
static gboolean skip_pieces(FILE *file) {
    int length;
    while ((length = getc(file)) > 0)
        if (!skip(file, (gsize)length))
            return FALSE;
    return length == 0;
}

static gboolean skip_extension(FILE *file, gboolean *extra) {
    char name[11];
    int label = getc(file);
    if (label != APPLICATION) {
        *extra |= label != CONTROL;
        return skip_pieces(file);
    }
    int length = getc(file);
    if (length != sizeof(name)) {
        *extra = TRUE;
        return length >= 0 && skip(file, (gsize)length) && (length == 0 || skip_pieces(file));
    }
    if (fread(name, 1, sizeof(name), file) != sizeof(name))
        return FALSE;
    *extra |= memcmp(name, "NETSCAPE2.0", 11) && memcmp(name, "ANIMEXTS1.0", 11); /* how often it is shown */
    return skip_pieces(file);
}

static gboolean skip_frame(FILE *file) {
    return skip(file, 8) && skip_colours(file, getc(file)) && skip(file, 1) && skip_pieces(file);
}

GifBlocks gif_blocks_read(FILE *file) {
    GifBlocks blocks = {0};
    rewind(file);
    gboolean good = skip(file, 10);
    int packed = getc(file);
    good = good && skip(file, 2) && skip_colours(file, packed);
    while (good) {
        int kind = getc(file);
        if (kind == TRAILER) {
            blocks.whole = TRUE;
            blocks.extra |= getc(file) != EOF;
            break;
        }
        good = kind == EXTENSION ? skip_extension(file, &blocks.extra)
               : kind == FRAME   ? skip_frame(file)
                                 : kind == 0; /* padding, as some writers leave it */
    }
    return blocks;
}
