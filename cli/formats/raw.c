/* SPDX-License-Identifier: MIT
 *
 * Bare pixels: rows from top to bottom without gaps or header. Their geometry comes from --raw. From a pipe
 * they are read in order.
 */
#include <errno.h>
#include <sys/stat.h>

#include "../say.h"
#include "bare_rows.h"
#include "format.h"

typedef struct {
    Reader reader;
    FILE *file;
    RawGeometry raw;
    BareRows rows;
} RawReader;

typedef struct {
    Writer writer;
    FILE *file;
} RawWriter;

static const char *description(void) {
    return "raw";
}

static gboolean probe(const guint8 *head, gsize size) {
    (void)head;
    (void)size;
    return FALSE;
}

static gboolean streams(const guint8 *head, gsize size) {
    (void)head;
    (void)size;
    return TRUE;
}

static gboolean wrong_size(const RawGeometry *raw, const char *held, GError **error) {
    return fault(error, STATUS_FAILED,
                 "holds %s, but --raw says %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT
                 " pixels of %" G_GSIZE_FORMAT " bytes: correct --raw or the file",
                 held, raw->width, raw->height, raw->bytes);
}

static gboolean check_size(const RawGeometry *raw, gsize bytes, FILE *file, GError **error) {
    struct stat info;
    if (fileno(file) < 0)
        return TRUE; /* the end will show */
    if (fstat(fileno(file), &info))
        return system_fault(error, "examine it", errno);
    if (bytes == (gsize)info.st_size)
        return TRUE;
    char *held = g_strdup_printf("%" G_GINT64_FORMAT " bytes", (gint64)info.st_size);
    wrong_size(raw, held, error);
    g_free(held);
    return FALSE;
}

static Reader *open_raw(const Format *self, FILE *file, const char *path, const Options *options,
                        GError **error) {
    const RawGeometry *raw = &options->raw;
    gsize row, all;
    if (!g_size_checked_mul(&row, raw->width, raw->bytes) || !g_size_checked_mul(&all, row, raw->height)) {
        wrong_size(raw, "less", error);
        return NULL;
    }
    if (!check_size(raw, all, file, error))
        return NULL;
    RawReader *r = g_new0(RawReader, 1);
    r->reader = (Reader){.format = self,
                         .path = path,
                         .pages = 1,
                         .tag = TT_NONE,
                         .anywhere = fileno(file) >= 0,
                         .file_pitch = row};
    r->reader.shape = tt_image(NULL, (ptrdiff_t)row, raw->width, raw->height, 1, (guint32)raw->bytes * 8);
    r->file = file;
    r->raw = *raw;
    r->rows = (BareRows){fileno(file), 0, row, raw->bytes * 8, raw->height, FALSE};
    return &r->reader;
}

static gboolean read_rows(Reader *reader, const TtImage *rows, GError **error) {
    return bare_rows_read_on(((RawReader *)reader)->file, rows, error);
}

static gboolean read_end(Reader *reader, GError **error) {
    const RawReader *r = (const RawReader *)reader;
    return getc(r->file) == EOF || wrong_size(&r->raw, "more", error);
}

static gboolean read_rect(Reader *reader, TtRect rect, const TtImage *into, GError **error) {
    return bare_rows_read(&((RawReader *)reader)->rows, rect, into, reader->spare, error);
}

static void close_raw(Reader *reader) {
    bare_rows_clear(&((RawReader *)reader)->rows);
    g_free(reader);
}

static Writer *create(FILE *file, Reader *source, TtOrientation turn, gboolean tag_used, GError **error) {
    (void)source;
    (void)turn;
    (void)tag_used;
    (void)error;
    RawWriter *w = g_new0(RawWriter, 1);
    w->writer = (Writer){.format = &raw_format, .passes = 1};
    w->file = file;
    return &w->writer;
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    return bare_rows_write(((RawWriter *)writer)->file, rows, error);
}

static void dispose(Writer *writer) {
    g_free(writer);
}

const Format raw_format = {
    .name = "raw",
    .extensions = {"raw", "bin"},
    .description = description,
    .probe = probe,
    .streams = streams,
    .open = open_raw,
    .read_rows = read_rows,
    .read_rect = read_rect,
    .read_end = read_end,
    .close = close_raw,
    .create = create,
    .write_rows = write_rows,
    .dispose = dispose,
};
