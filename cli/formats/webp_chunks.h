/* SPDX-License-Identifier: MIT
 *
 * What a WebP holds that libvips does not keep.
 */
#ifndef WEBP_CHUNKS_H
#define WEBP_CHUNKS_H

#include <stdio.h>

#include <glib.h>

/* Whether there are chunks that the format does not know, or bytes behind its end. */
gboolean webp_has_extra(FILE *file);

#endif
