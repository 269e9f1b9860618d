/* SPDX-License-Identifier: MIT
 *
 * Parts of rows from a disk: many asked for at once, and past the system's cache, which would copy them and
 * drive out what others need.
 */
#ifndef DIRECT_ROWS_H
#define DIRECT_ROWS_H

#include <sys/types.h>

#include <glib.h>

/* What a disk reads begins and ends at multiples of this, in the file and in memory. */
enum { DIRECT_UNIT = 512 };

typedef struct DirectRows DirectRows;

/* NULL if the system cannot do that with the file. */
DirectRows *direct_rows_new(int fd);
void direct_rows_free(DirectRows *direct);

/* Reads n parts of so many bytes, the first at an offset and each `apart` bytes behind the one before, into
 * memory in which they lie `pitch` bytes from each other, and as far from a multiple of DIRECT_UNIT as in the
 * file. What lies around each, up to that multiple, is overwritten. FALSE if that does not work: they must be
 * read in another way. */
gboolean direct_rows_read(DirectRows *direct, off_t offset, off_t apart, gsize bytes, gsize n, guint8 *to,
                          ptrdiff_t pitch);

#endif
