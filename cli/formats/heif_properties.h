/* SPDX-License-Identifier: MIT
 *
 * Properties of a HEIF or AVIF file that libvips does not pass on.
 */
#ifndef HEIF_PROPERTIES_H
#define HEIF_PROPERTIES_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean av1;           /* and no HEVC */
    gboolean subsampled;    /* colour has half the width and half the height */
    gboolean coded;         /* codes say what colours mean (CICP): */
    guint primaries, curve; /* these */
    gboolean light;         /* levels of light, or a display of its own, are stated */
    gboolean further;       /* a depth or gain map, or another image that is no alpha */
} HeifProperties;

HeifProperties heif_properties_read(FILE *file);

#endif
