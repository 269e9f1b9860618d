/* SPDX-License-Identifier: MIT
 *
 * Huffman codes for the turned copy of a JPEG.
 */
#ifndef JPEG_CODES_H
#define JPEG_CODES_H

#include <stdio.h>

#include <glib.h>
#include <jpeglib.h>

/* Gives the compressor the codes of the source's components. A turn hardly changes how often a symbol comes,
 * so they fit without a count; but codes made for one picture lack the symbols that it has not, and these are
 * added. FALSE if the source has none. */
gboolean jpeg_codes_copy(j_decompress_ptr from, j_compress_ptr to);

#endif
