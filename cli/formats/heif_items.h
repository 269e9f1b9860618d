/* SPDX-License-Identifier: MIT
 *
 * The items of a HEIF or AVIF file, and how each picture among them lies: what the file's meta box says.
 */
#ifndef HEIF_ITEMS_H
#define HEIF_ITEMS_H

#include <stdio.h>

#include <glib.h>
#include <tiletranspose/tt.h>

typedef struct {
    guint32 id;
    guint32 about;           /* of metadata: the picture that it describes; 0 if that is not said */
    gboolean exif, xmp;      /* metadata that may state an orientation */
    gboolean hidden, part;   /* it is shown as a part of another one, if at all */
    gboolean grid, overlaid; /* it has such parts; it is a part of one that is no grid */
    gboolean beside;         /* another picture's thumbnail, alpha, depth or gain map */
    gboolean sized;          /* a picture, whose size is width x height before it is turned */
    guint width, height;
    guint cut_width, cut_height; /* the part of it that is shown, if not all is; else 0 */
    TtOrientation lies;          /* the turn that a reader makes */
    guint64 start, length;
    gboolean in_meta; /* start counts from the meta box, else from the file's start */
    gsize pieces;     /* start and length are those of its only one */
    guint associated; /* how many lists of properties it has */
    gboolean odd;     /* it is cut out after it is turned */
} HeifItem;

typedef struct {
    guint64 at, end; /* of the meta box, in the file */
    guint64 file_size;
    guint8 *data; /* all of it, to be changed in place but for its structure */
    GArray *items, *extents;
    GHashTable *places; /* of items, by their numbers */
    guint32 primary;
    gboolean cut_short; /* items lie behind the file's end */
} HeifItems;

/* FALSE if the file is not one whose pictures can be turned by their properties alone. Free it all the same.
 */
gboolean heif_items_read(FILE *file, HeifItems *items);
void heif_items_clear(HeifItems *items); /* also of what is {0} */

/* NULL if there is none. */
HeifItem *heif_items_find(const HeifItems *items, guint32 id);

/* Whether a turn of the picture turns this: a picture that is no part of another one. */
gboolean heif_item_turns(const HeifItem *item);

/* The meta box with all that turn turned, and with where things lie behind it as they will; NULL if it cannot
 * be told in that box. */
GByteArray *heif_items_turned(const HeifItems *items, TtOrientation turn);

#endif
