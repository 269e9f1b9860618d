/* SPDX-License-Identifier: MIT
 *
 * A mapped file of pixels that is larger than the memory for it, read by columns. Of each row some bytes are
 * wanted; the system would fetch a hundred kilobytes around them, and drop these again before they are wanted
 * in their turn. So it is told to fetch nothing by itself, and which columns come next.
 */
#ifndef TT_COLUMNS_AHEAD_H
#define TT_COLUMNS_AHEAD_H

#include <glib.h>

typedef struct ColumnsAhead ColumnsAhead;

/* `rows` rows of so many bytes follow each other from `first` on, in a mapping that stays until the end. So
 * many bytes of memory are for what was fetched, or what three pages of each row take if that is more.
 * Backward: the last columns are read first. */
ColumnsAhead *columns_ahead_new(guint8 *first, gsize row_bytes, gsize rows, gsize memory, gboolean backward);
void columns_ahead_free(ColumnsAhead *ahead); /* NULL is allowed */

/* Bytes `from` to `to` of so many rows are about to be read, by any thread. */
void columns_ahead_of(ColumnsAhead *ahead, gsize from, gsize to, gsize rows);

#endif
