/* SPDX-License-Identifier: MIT
 *
 * Where the pixels of an uncompressed TIFF lie.
 */
#ifndef TIFF_BLOCKS_H
#define TIFF_BLOCKS_H

#include <stdio.h>

#include "bare_rows.h"

/* Fills *blocks if the first page's pixels lie in the file as libvips gives them, with this shape, but
 * for the order of bytes, and all are there. Otherwise blocks->starts is NULL. The file's position is lost.
 */
void tiff_blocks_find(FILE *file, const TtImage *shape, BareBlocks *blocks);

#endif
