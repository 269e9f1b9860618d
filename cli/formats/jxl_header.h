/* SPDX-License-Identifier: MIT
 *
 * Whether a JPEG XL is an animation, which libvips before 8.15 does not tell.
 */
#ifndef JXL_HEADER_H
#define JXL_HEADER_H

#include <stdio.h>

#include <glib.h>

/* FALSE too if the header cannot be understood: decoding the file will tell what is wrong with it. */
gboolean jxl_is_animated(FILE *file);

#endif
