/* SPDX-License-Identifier: MIT
 *
 * What a file format is to the command: a struct of functions, one file a format.
 *
 * A reader gives pixels exactly as the file packs them, rows in order or any rectangle; a writer takes
 * the turned rows in order. A codec's own state starts with a Reader or a Writer.
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
    TtImage shape;     /* size and pixel format of the picture; its data is NULL */
    TtOrientation tag; /* what the file says makes it upright; TT_NONE if it says nothing */
    gboolean anywhere; /* read_rect works; otherwise read_rows, in order and once */
} Reader;

typedef struct {
    const Format *format;
    guint passes; /* how many times all rows are wanted, from top to bottom */
} Writer;

struct Format {
    const char *name;                 /* as users write it: "PNG" */
    const char *extensions[8];        /* of files in this format, lower case, without the dot */
    const char *(*description)(void); /* name and library for --version; static */

    /* Whether a file that begins with these bytes is in this format. */
    gboolean (*probe)(const guint8 *head, gsize size);

    /* Reads the header. The file is at its start and stays the caller's. */
    Reader *(*open)(FILE *file, const char *path, const Options *options, GError **error);
    gboolean (*read_rows)(Reader *reader, const TtImage *rows, GError **error);
    gboolean (*read_rect)(Reader *reader, TtRect r, const TtImage *into, GError **error);
    /* All rows are read: checks what follows them in the file. */
    gboolean (*read_end)(Reader *reader, GError **error);
    void (*close)(Reader *reader);

    /* Writes the header of the picture that `source`, of the same format, becomes when turned. tag_used:
     * the turn includes the tag, which becomes 1. The file stays the caller's. */
    Writer *(*create)(FILE *file, Reader *source, TtOrientation turn, gboolean tag_used, GError **error);
    gboolean (*write_rows)(Writer *writer, const TtImage *rows, GError **error);
    gboolean (*finish)(Writer *writer, GError **error);
    void (*dispose)(Writer *writer); /* after finish, or instead of it */
};

/* All formats, NULL-terminated, and the one of a file that begins so; NULL if none fits. */
extern const Format *const formats[];
const Format *format_probe(const guint8 *head, gsize size);

/* The format that a file's name promises by its extension, in any case; NULL if it promises none. The
 * name of a format this build does not write is given in *foreign. */
const Format *format_named(const char *path, const char **foreign);

extern const Format png_format, raw_format;

#endif
