/* SPDX-License-Identifier: MIT
 *
 * HEIF and AVIF, turned by what the file says of how its pictures lie.
 */
#ifndef HEIF_H
#define HEIF_H

#include "format.h"

/* NULL without an error if the file must be turned by its pixels. */
Reader *heif_open(const Format *self, FILE *file, const char *path, const Options *options, GError **error);

#endif
