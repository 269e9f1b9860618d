/* SPDX-License-Identifier: MIT
 *
 * Which metadata libvips keeps when it saves a picture: tried out, for versions and formats differ.
 */
#ifndef VIPS_TRIAL_H
#define VIPS_TRIAL_H

#include "vips_formats.h"
#include "vips_library.h"

/* Saves a small picture with the metadata of `image` and reads it back. What does not come back to the byte,
 * as "whose ..., whose ..."; NULL if nothing. Of EXIF, numbers that a turn changes anyway do not count. */
char *trial_of_metadata(const ForeignFormat *format, const char *options, VipsImage *image);

#endif
