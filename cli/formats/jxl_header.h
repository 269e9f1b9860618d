/* SPDX-License-Identifier: MIT
 *
 * What libvips does not tell of a JPEG XL: before 8.15 that it is an animation, and what is beside the
 * picture.
 */
#ifndef JXL_HEADER_H
#define JXL_HEADER_H

#include <stdio.h>

#include <glib.h>

/* FALSE too if the header cannot be understood: decoding the file will tell what is wrong with it. */
gboolean jxl_is_animated(FILE *file);

/* Whether there are boxes beside the picture and those of these types, of four letters each. */
gboolean jxl_has_extra(FILE *file, const char *kept);

#endif
