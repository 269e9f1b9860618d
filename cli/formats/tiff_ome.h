/* SPDX-License-Identifier: MIT
 *
 * Microscopes' descriptions in an ImageDescription, as far as they state the size of the picture.
 */
#ifndef TIFF_OME_H
#define TIFF_OME_H

#include <glib.h>

/* Exchanges what OME-XML says of X and of Y. The text keeps its length. */
void tiff_ome_swap(char *text, gsize size);

/* Why a file with this description cannot be turned for sure, NULL if it can or if it is no such. Its page
 * has that size, and pages count as many. */
const char *tiff_ome_refusal(const char *text, gsize size, gboolean swap, gsize width, gsize height,
                             gsize pages);

#endif
