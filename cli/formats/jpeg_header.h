/* SPDX-License-Identifier: MIT
 *
 * How a JPEG was compressed, as its header tells: what a new compression must not fall behind.
 */
#ifndef JPEG_HEADER_H
#define JPEG_HEADER_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    int quality;         /* the lowest, 1 to 100, whose tables round no coarser than the file's anywhere */
    gboolean subsampled; /* colour at half the width and half the height, 4:2:0 */
    gboolean progressive;
    gboolean
        extra; /* holds comments, data of applications that libvips does not keep, or data behind its end */
} JpegHeader;

/* Reads the file's segments from its start. A file that cannot be understood is taken to be of the
 * best quality: decoding it will tell what is wrong with it. */
JpegHeader jpeg_header_read(FILE *file);

#endif
