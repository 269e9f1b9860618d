/* SPDX-License-Identifier: MIT
 *
 * A TIFF that grows at its end: blocks of pixels, values, directories.
 */
#ifndef TIFF_OUTPUT_H
#define TIFF_OUTPUT_H

#include "tiff_directory.h"

typedef struct {
    TiffFile file; /* its order of bytes, and whether it is a BigTIFF */
    guint64 end;
    guint64 link; /* where the offset of the next directory is to be written */
    guint inner;  /* directories without pixels that the present page has so far */
    GArray
        *written; /* of TiffWritten: what reading back must find, the caller's to free; NULL if nobody will */
} TiffOutput;

typedef struct {
    guint64 at, size;
    guint32 sum; /* CRC */
} TiffWritten;

/* An entry to be written: values in the file's order of bytes. */
typedef struct {
    guint tag, type;
    guint64 count;
    guint8 *data; /* owned */
} TiffNewEntry;

gboolean tiff_output_open(TiffOutput *output, int fd, gboolean big_endian, gboolean big,
                          gboolean keep_written, GError **error);

/* Appends bytes at an even offset, which *at becomes. */
gboolean tiff_output_append(TiffOutput *output, const guint8 *data, gsize size, guint64 *at, GError **error);

/* Writes over what is there: parts of a block whose room was taken before. */
gboolean tiff_output_write(TiffOutput *output, guint64 at, const guint8 *data, gsize size, GError **error);
guint64 tiff_output_take(TiffOutput *output, guint64 size);

/* Appends a directory of entries (of TiffNewEntry), which are sorted first. */
gboolean tiff_output_directory(TiffOutput *output, GArray *entries, guint64 *at, GError **error);

/* Makes the directory, whose place and count of entries these are, the next one of the file, or of no chain.
 */
gboolean tiff_output_chain(TiffOutput *output, guint64 directory, guint entries, GError **error);

GArray *tiff_new_entries(void);
void tiff_new_entries_free(GArray *entries);
void tiff_add_entry(GArray *entries, guint tag, guint type, guint64 count, guint8 *data);

/* Numbers as values of that type. */
guint8 *tiff_values(const TiffFile *file, guint type, const guint64 *numbers, gsize n);

#endif
