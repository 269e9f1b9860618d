/* SPDX-License-Identifier: MIT
 *
 * Pixels that lie in a file as they are: rows one after another without gaps, in one block or, as in a TIFF,
 * in several that stand in any order.
 */
#ifndef BARE_ROWS_H
#define BARE_ROWS_H

#include <stdio.h>
#include <sys/types.h>

#include <glib.h>
#include <tiletranspose/tt.h>

#include "direct_rows.h"

/* n bytes of a file that has them. */
gboolean bare_bytes_read(int fd, guint8 *to, gsize n, off_t offset, GError **error);

typedef struct {
    int fd;
    off_t start; /* of the first row in the file */
    gsize row_bytes, pixel_bits, height;
    gboolean bottom_up; /* the first row in the file is the lowest */

    /* How parts of rows were read so far. */
    gboolean from_disk; /* the system does not have them in memory */
    off_t ahead_of;     /* where in the first row those parts lie that were asked for ahead */
    gsize ahead;        /* and up to which row */
    gboolean direct_tried;
    DirectRows *direct; /* NULL: not yet tried, or impossible */
} BareRows;

/* Reads the pixels of r, which starts at a whole byte. Parts of rows are best read from the top down. spare:
 * Reader's. */
gboolean bare_rows_read(BareRows *rows, TtRect r, const TtImage *into, gboolean spare, GError **error);
void bare_rows_clear(BareRows *rows);

/* Reads the next rows of a file from where it stands. */
gboolean bare_rows_read_on(FILE *file, const TtImage *into, GError **error);

/* Writes rows without gaps. */
gboolean bare_rows_write(FILE *file, const TtImage *rows, GError **error);

/* Strips or tiles, from left to right and top to bottom, all of one size; those at the edges are filled up,
 * or, if they are as wide as the picture, end with it. */
typedef struct {
    BareRows rows; /* of the block that was read last */
    gsize width, height;
    guint64 *starts; /* in the file; freed by bare_blocks_clear(). NULL: there are no such blocks */
    gsize swapped;   /* bytes of a sample, whose order is not the machine's; else 0 */
} BareBlocks;

gboolean bare_blocks_read(BareBlocks *blocks, gsize picture_width, TtRect r, const TtImage *into,
                          gboolean spare, GError **error);
void bare_blocks_clear(BareBlocks *blocks);

#endif
