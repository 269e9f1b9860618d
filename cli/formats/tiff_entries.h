/* SPDX-License-Identifier: MIT
 *
 * What a turn makes of the entries of a TIFF's directories.
 *
 * An entry that says nothing of geometry is copied to the byte, whether its tag is known or not.
 */
#ifndef TIFF_ENTRIES_H
#define TIFF_ENTRIES_H

#include <tiletranspose/tt.h>

#include "tiff_output.h"
#include "tiff_picture.h"

typedef struct {
    TtOrientation turn; /* of the pixels */
    gboolean state_tag; /* orientation tags become `tag`; otherwise they stay */
    TtOrientation tag;
    gboolean strip;            /* keep only what shows the picture */
    gsize width, height;       /* before the turn */
    const guint8 *jpeg_tables; /* in place of the directory's, if there are any */
    gsize jpeg_tables_size;
    const TiffPicture *from, *to; /* NULL: a directory without pixels */
} TiffEntriesTurn;

/* The orientation that a directory states, in its tag or else in XMP; 0 if it states none. */
int tiff_entries_orientation(const TiffFile *file, const TiffDirectory *directory);

/* Adds what a copy would lose, as "whose ...". *damaged: that is damage. */
void tiff_entries_losses(const TiffFile *file, const TiffDirectory *directory, gboolean strip, GString *loss,
                         gboolean *damaged);

/* The entries of the turned directory, without SubIFDs. Directories of EXIF and GPS are written to output. */
GArray *tiff_entries_turned(const TiffFile *file, const TiffDirectory *directory, const TiffEntriesTurn *how,
                            TiffOutput *output, GError **error);

#endif
