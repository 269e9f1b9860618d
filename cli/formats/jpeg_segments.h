/* SPDX-License-Identifier: MIT
 *
 * What a JPEG says beside its pixels, segment by segment, and what a turn changes in it.
 */
#ifndef JPEG_SEGMENTS_H
#define JPEG_SEGMENTS_H

#include <stdio.h>

#include <glib.h>
#include <jpeglib.h>
#include <tiletranspose/tt.h>

/* What becomes of the segments. */
typedef struct {
    TtOrientation turn;            /* of the pixels */
    TtOrientation tag;             /* what the file says afterwards, if state_tag */
    gboolean state_tag;            /* otherwise it says what it did */
    gboolean strip;                /* keep only what shows the picture */
    guint width, height;           /* before the turn */
    guint kept_width, kept_height; /* what of it is kept */
    gboolean smallest;             /* with the best codes */
    const char *path;              /* for notes */
} SegmentsTurn;

/* Has the decompressor keep all segments. Call it before jpeg_read_header(). */
void jpeg_segments_save(j_decompress_ptr from);

/* After the header: components of later scans have no tables yet, where libjpeg leaves numbers at random. */
void jpeg_mark_unscanned(j_decompress_ptr from);

/* The orientation that they state, EXIF before XMP; 0 if none does. */
int jpeg_segments_orientation(j_decompress_ptr from);

gboolean jpeg_is_exif(int marker, const guint8 *data, gsize size);
gboolean jpeg_is_xmp(int marker, const guint8 *data, gsize size);
enum { XMP_NAME = 29 }; /* bytes before the packet */

/* The index of further pictures that follow this one in the file: it counts bytes. */
gboolean jpeg_is_index(int marker, const guint8 *data, gsize size);

/* Whether --strip keeps it. */
gboolean jpeg_is_needed(int marker, const guint8 *data, gsize size);

/* Writes those of `from` as they are after the turn. */
void jpeg_segments_write(j_decompress_ptr from, j_compress_ptr to, const SegmentsTurn *how);

#endif
