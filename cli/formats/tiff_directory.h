/* SPDX-License-Identifier: MIT
 *
 * The directories of a TIFF or BigTIFF, entry by entry, as they stand in the file.
 *
 * Values are left in the file's order of bytes, so that they can be copied to the byte.
 */
#ifndef TIFF_DIRECTORY_H
#define TIFF_DIRECTORY_H

#include <glib.h>

typedef struct {
    int fd;
    guint64 size;
    gboolean big_endian, big; /* BigTIFF */
    guint64 first;            /* where the first directory is */
    gint *unread; /* if not NULL: gets the system's error of what was read with an error of NULL */
} TiffFile;

typedef struct {
    guint tag, type;
    guint64 count;
    guint64 at;    /* of the first value, in the file */
    gboolean good; /* its type is known, and all of it is in the file */
} TiffEntry;

typedef struct {
    guint64 at, next;
    gsize n;
    TiffEntry *entries;
} TiffDirectory;

/* Reads the header. */
gboolean tiff_file_open(TiffFile *file, int fd, GError **error);

/* n bytes at an offset; FALSE if the file ends before. */
gboolean tiff_file_read(const TiffFile *file, guint64 at, gpointer to, gsize n, GError **error);

/* good, unless the system refused what was asked for with an error of NULL: what is taken for not being there
 * may be, and an error that came of it is replaced. */
gboolean tiff_file_was_read(const TiffFile *file, gboolean good, GError **error);

/* A number of n bytes in the file's order. */
guint64 tiff_number(const TiffFile *file, const guint8 *data, gsize n);
void tiff_put_number(const TiffFile *file, guint8 *data, gsize n, guint64 value);

/* NULL with error if it is not wholly in the file. */
TiffDirectory *tiff_directory_read(const TiffFile *file, guint64 at, GError **error);
void tiff_directory_free(TiffDirectory *directory);

/* The first entry of that tag that is good, or NULL. */
const TiffEntry *tiff_directory_find(const TiffDirectory *directory, guint tag);

/* Bytes of a value; 0 for an unknown type. */
gsize tiff_type_size(guint type);
gsize tiff_entry_size(const TiffEntry *entry);

/* All of a good entry's values, tiff_entry_size() bytes and a 0; free them with g_free(). */
guint8 *tiff_entry_data(const TiffFile *file, const TiffEntry *entry, GError **error);

/* The same as numbers, of an entry whose type is a whole number; NULL if it is not, too. */
guint64 *tiff_entry_numbers(const TiffFile *file, const TiffEntry *entry, GError **error);

/* The first number of a tag; `otherwise` if there is none. */
guint64 tiff_directory_number(const TiffFile *file, const TiffDirectory *directory, guint tag,
                              guint64 otherwise);

#endif
