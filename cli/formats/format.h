/* SPDX-License-Identifier: MIT
 *
 * What a file format is to the command: a struct of functions, one file a format.
 *
 * A reader gives pixels exactly as the file packs them, rows in order or any rectangle; a writer takes
 * the turned rows in order. A codec's own state starts with a Reader or a Writer.
 *
 * A file may hold several pages (an animation's frames are pages too), all of one size. Each is turned by
 * itself. Their rows come and go as those of one picture with page under page.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stdio.h>

#include <glib.h>
#include <tiletranspose/tt.h>

#include "../options.h"

typedef struct Format Format;

/* An open file, as its codec describes it. */
typedef struct {
    const Format *format;
    const char *path;  /* for messages; owned by the caller of open */
    TtImage shape;     /* size and pixel format of a page; its data is NULL */
    gsize pages;       /* at least 1 */
    TtOrientation tag; /* what the file says makes it upright; TT_NONE if it says nothing */
    gboolean anywhere; /* read_rect works; otherwise read_rows, in order and once */
    off_t file_start;  /* where rows of bare pixels lie one after another: the first, */
    gsize file_pitch;  /* and how many bytes from each to the next; else 0 */
    gboolean spare; /* set by the caller of read_rect while up to DIRECT_UNIT bytes around each row of `into`
                       may be overwritten */
    gsize held;     /* bytes of the whole picture, if read_rect decodes it into memory; else 0 */
    gsize tile_width, tile_height; /* of a source in tiles, for read_rect; else 0 */
    gboolean decodes_tiles;        /* whole ones, whatever part of them is read */
    const char *loss;              /* what a turned copy would lose, as "whose ..."; NULL if nothing */
    gboolean damaged;              /* that is what is damaged in the file, or should not be there */
    gboolean by_tag;               /* its turn is composed into its tag */
    gboolean by_itself;            /* decide says: the format turns it, not its rows */
    gboolean first_differs; /* decide says: the first page is cut, or not turned by the turn that it got */
    gsize own_memory;       /* bytes that the format will hold beside rows, as decide says */
    const char
        *may_change; /* what writing may not keep, as "colours", which only reading back can tell; or NULL */
    const atomic_int *cancel; /* set by the caller of open: not 0 ends any call soon; NULL until then */
} Reader;

typedef struct {
    const Format *format;
    guint passes; /* how many times all rows are wanted, from top to bottom */
} Writer;

struct Format {
    const char *name;          /* as users write it: "PNG" */
    const char *extensions[8]; /* of files in this format, lower case, without the dot */
    /* Name and library for --version, static; formats of one codec share it. NULL if there is none. */
    const char *(*description)(void);

    /* Whether a file that begins with these bytes is in this format. */
    gboolean (*probe)(const guint8 *head, gsize size);

    /* Whether a file that begins so is read in order, once and by stdio alone but for seeking in its first
     * INPUT_PIPE_HEAD bytes, if it has no descriptor. Such a file has no tag. NULL: none. */
    gboolean (*streams)(const guint8 *head, gsize size);

    /* Reads the header. `self` is this format; the file is at its start and stays the caller's. */
    Reader *(*open)(const Format *self, FILE *file, const char *path, const Options *options, GError **error);
    gboolean (*read_rows)(Reader *reader, const TtImage *rows, GError **error);
    /* r is in the coordinates of page under page, and lies in one page. */
    gboolean (*read_rect)(Reader *reader, TtRect r, const TtImage *into, GError **error);
    /* All rows are read in order: checks what follows them in the file. May be NULL. */
    gboolean (*read_end)(Reader *reader, GError **error);
    void (*close)(Reader *reader);

    /* Writes the header of the picture that `source`, of the same format, becomes when turned. tag_used:
     * the turn includes the tag, which becomes 1. The file stays the caller's. */
    Writer *(*create)(FILE *file, Reader *source, TtOrientation turn, gboolean tag_used, GError **error);
    gboolean (*write_rows)(Writer *writer, const TtImage *rows, GError **error);
    gboolean (*finish)(Writer *writer, GError **error); /* may be NULL */
    void (*dispose)(Writer *writer);                    /* after finish, or instead of it */

    /* Of a format whose files can be turned without their pixels; NULL in others. */

    /* Once the turn is known: whether it can be done, how, and what it loses. */
    gboolean (*decide)(Reader *reader, TtOrientation turn, gboolean tag_used, GError **error);
    /* Writes the turned file, if it is by_itself. */
    gboolean (*turn)(Reader *reader, FILE *file, const atomic_int *cancel, GError **error);
    /* Whether that file, read back, is what reader's becomes. */
    gboolean (*verify)(Reader *reader, FILE *file, GError **error);
    /* Whether all pixels are good, of a file that is copied as it is. NULL: read_rows or read_rect tell. */
    gboolean (*check)(Reader *reader, const atomic_int *cancel, GError **error);
};

/* The formats one after another, and NULL behind the last. */
const Format *format_at(gsize i);

/* The format of a file that begins so; NULL if none fits. Needs at most FORMAT_HEAD bytes. */
enum { FORMAT_HEAD = 1024 };
const Format *format_probe(const guint8 *head, gsize size);

/* Whether users call it so: by its name or one of its extensions, in any case. */
gboolean format_is_called(const Format *format, const char *name);

/* Whether a name's extension, in any case, is some format's. */
gboolean format_is_in_name(const char *path);

/* Whether a file of this format may have this name: its extension, in any case, is one of the format's,
 * or of no format at all. */
gboolean format_may_be_named(const Format *format, const char *path);

extern const Format png_format, pnm_format, gif_format, raw_format, jpeg_format, tiff_format;

#endif
