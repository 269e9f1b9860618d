/* SPDX-License-Identifier: MIT
 *
 * Rows of pixels that lie in a file as they are, one after another without gaps.
 */
#ifndef BARE_ROWS_H
#define BARE_ROWS_H

#include <sys/types.h>

#include <glib.h>
#include <tiletranspose/tt.h>

typedef struct {
    int fd;
    off_t start; /* of the first row in the file */
    gsize row_bytes, pixel_bits, height;
    gboolean bottom_up; /* the first row in the file is the lowest */
} BareRows;

/* Reads the pixels of r, which starts at a whole byte. */
gboolean bare_rows_read(const BareRows *rows, TtRect r, const TtImage *into, GError **error);

#endif
