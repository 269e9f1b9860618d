/* SPDX-License-Identifier: MIT
 *
 * A JPEG turned by its orientation tag alone.
 */
#ifndef JPEG_TAG_H
#define JPEG_TAG_H

#include <stdio.h>

#include <glib.h>
#include <tiletranspose/tt.h>

typedef struct {
    TtOrientation tag; /* what the copy says */
    gboolean has_exif; /* the file has an EXIF segment */
    gboolean strip;    /* keep only what shows the picture */
    goffset end;       /* where its picture ends */
} JpegTag;

/* Copies a JPEG, but for its orientation. A file without an entry for it gets one; in EXIF that has none
 * nothing else moves. */
gboolean jpeg_tag_write(FILE *from, FILE *to, const JpegTag *how, GError **error);

#endif
