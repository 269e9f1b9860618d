/* SPDX-License-Identifier: MIT
 *
 * What a Radiance picture says of itself that libvips does not pass on.
 */
#ifndef RADIANCE_HEADER_H
#define RADIANCE_HEADER_H

#include <stdio.h>

#include <glib.h>

typedef struct {
    gboolean upright; /* rows from top to bottom, pixels from left to right: "-Y height +X width" */
    gboolean extra;   /* has lines that libvips does not keep: of views, commands, comments */
} RadianceHeader;

/* Reads the header from the start of the file. */
RadianceHeader radiance_header_read(FILE *file);

#endif
