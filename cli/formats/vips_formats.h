/* SPDX-License-Identifier: MIT
 *
 * The formats that the command has from libvips.
 *
 * What they are called and how they begin is known without libvips, which is opened when a file in one of
 * them is: a batch of PNGs never pays for it, and a build without libvips names what it cannot read.
 */
#ifndef VIPS_FORMATS_H
#define VIPS_FORMATS_H

#include "format.h"

typedef struct {
    Format format;
    const char *load, *save; /* libvips' operations, by nickname */
    const char *refusal;     /* why such a file is not turned, as "whose ..."; NULL if it is */
} ForeignFormat;

/* The formats one after another, and NULL behind the last. */
const Format *foreign_format_at(gsize i);

/* vips.c: the codec of all of them. */
const char *foreign_description(void);
Reader *foreign_open(const Format *self, FILE *file, const char *path, const Options *options,
                     GError **error);
gboolean foreign_read_rows(Reader *reader, const TtImage *rows, GError **error);
gboolean foreign_read_rect(Reader *reader, TtRect r, const TtImage *into, GError **error);
void foreign_close(Reader *reader);
Writer *foreign_create(FILE *file, Reader *source, TtOrientation turn, gboolean tag_used, GError **error);
gboolean foreign_write_rows(Writer *writer, const TtImage *rows, GError **error);
gboolean foreign_finish(Writer *writer, GError **error);
void foreign_dispose(Writer *writer);

#endif
