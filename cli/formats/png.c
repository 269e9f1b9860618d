/* SPDX-License-Identifier: MIT
 *
 * PNG as a format of the command.
 *
 * An interlaced picture arrives as seven sparse ones, so it is decoded whole before its first row can be
 * turned; it is then read anywhere and needs no frame.
 */
#include <errno.h>
#include <string.h>

#include "../heap.h"
#include "../say.h"
#include "deflate.h"
#include "format.h"
#include "png_chunks.h"
#include "png_reader.h"
#include "png_writer.h"

enum { SIGNATURE = 8 };

typedef struct {
    Reader reader;
    const Options *options;
    PngInput input;
    PngChunks chunks;
    PngReader *png;
    TtImage pixels; /* of an interlaced picture; data is NULL before it is decoded */
} Source;

typedef struct {
    Writer writer;
    PngWriter *png;
} Target;

static const char *description(void) {
    static char text[160];
    g_snprintf(text, sizeof(text), "PNG (libpng %s, %s)", png_get_libpng_ver(NULL), deflate_description());
    return text;
}

static gboolean probe(const guint8 *head, gsize size) {
    return size >= SIGNATURE && !png_sig_cmp((png_bytep)head, 0, SIGNATURE);
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static void close_png(Reader *reader) {
    Source *s = (Source *)reader;
    if (s->png)
        png_reader_close(s->png);
    png_chunks_clear(&s->chunks);
    g_free(s->pixels.data);
    g_free(s);
}

/* The chunks first: they can be told by a walk over the file, and say where its pixels are. */
static gboolean open_file(Source *s, FILE *file, GError **error) {
    if (!png_input_of_file(&s->input, fileno(file), s->reader.path, error) ||
        !png_chunks_read(&s->input, options_memory(s->options), &s->chunks, error))
        return FALSE;
    if (s->chunks.animated)
        return fault(
            error, STATUS_FAILED,
            "is an animated PNG, whose frames a turn of its first would lose: turn the frames apart");
    s->png = png_reader_open(&(PngReaderOptions){.input = &s->input,
                                                 .pixels = s->chunks.pixels,
                                                 .cores = s->options->cores,
                                                 .plainly = s->options->plainly},
                             error);
    return s->png != NULL;
}

static Reader *open_png(const Format *self, FILE *file, const char *path, const Options *options,
                        GError **error) {
    heap_keep();
    Source *s = g_new0(Source, 1);
    s->reader = (Reader){.format = self, .path = path, .pages = 1};
    s->options = options;
    if (!open_file(s, file, error)) {
        close_png(&s->reader);
        return NULL;
    }
    const PngHeader *header = png_reader_header(s->png);
    s->reader.shape = header->shape;
    s->reader.anywhere = header->interlaced;
    if (header->interlaced)
        s->reader.held = (gsize)header->shape.pitch * header->shape.height;
    s->reader.tag = s->chunks.tag;
    s->reader.loss = s->chunks.loss->len ? s->chunks.loss->str : NULL;
    s->reader.damaged = s->reader.loss != NULL;
    return &s->reader;
}

static gboolean read_rows(Reader *reader, const TtImage *rows, GError **error) {
    return png_reader_rows(((Source *)reader)->png, rows, error);
}

/* Checks the end of the pixels. In place nothing may be lost, not even what no viewer shows. */
static gboolean end_pixels(Source *s, GError **error) {
    gboolean more;
    if (!png_reader_end(s->png, &more, error))
        return FALSE;
    if (more && s->options->in_place)
        return fault(error, STATUS_FAILED,
                     "holds more pixel data than its size needs, so it is not turned in place: use -o or -d");
    if (more)
        say_warning(s->reader.path, "holds more pixel data than its size needs, which a turn leaves out");
    return TRUE;
}

static gboolean decode_whole(Source *s, GError **error) {
    s->pixels = s->reader.shape;
    if (s->reader.held <= options_memory(s->options))
        s->pixels.data = g_try_malloc0(s->reader.held);
    if (!s->pixels.data)
        return fault(error, STATUS_FAILED,
                     "is interlaced and takes %.1f MB of memory, more than is allowed: raise "
                     "--memory-limit or free memory",
                     (double)s->reader.held / 1e6);
    return png_reader_whole(s->png, &s->pixels, error) && end_pixels(s, error);
}

static gboolean read_rect(Reader *reader, TtRect rect, const TtImage *into, GError **error) {
    Source *s = (Source *)reader;
    if (!s->pixels.data && !decode_whole(s, error))
        return FALSE;
    TtImage from = tt_subimage(&s->pixels, rect);
    TtOptions how = {sizeof(how), s->options->backend, (guint)s->options->threads};
    return !tt_orient(&from, into, TT_NONE, &how) || library_fault(error);
}

static gboolean read_end(Reader *reader, GError **error) {
    return end_pixels((Source *)reader, error);
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static gboolean write_file(gpointer user, const guint8 *data, gsize size, GError **error) {
    return fwrite(data, 1, size, user) == size || system_fault(error, "write the output", errno);
}

static Writer *create(FILE *file, Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    Source *s = (Source *)reader;
    PngChunks *chunks = &s->chunks;
    PngHeader header = *png_reader_header(s->png);
    if (tt_swaps_axes(turn)) {
        header.shape.width = s->reader.shape.height;
        header.shape.height = s->reader.shape.width;
    }
    const Chunk *private = turn != TT_NONE && s->options->in_place ? png_chunks_private(chunks) : NULL;
    if (private) {
        fault(error, STATUS_FAILED,
              "has a chunk %s that may depend on its pixels, so it is not turned in place: use -o or -d",
              private->type);
        return NULL;
    }
    png_chunks_turn(chunks, reader->path, turn, &reader->shape, tag_used || !s->options->stored);
    if (s->options->strip)
        png_chunks_strip(chunks);
    PngPacking packing = {s->options->png_level, s->options->png_filters};
    PngWriter *png = png_writer_new(&(PngWriterOptions){.output = {write_file, file},
                                                        .header = &header,
                                                        .chunks = chunks->list,
                                                        .packing = packing,
                                                        .cores = s->options->cores},
                                    error);
    if (!png)
        return NULL;
    Target *t = g_new0(Target, 1);
    t->writer = (Writer){&png_format, png_writer_passes(png)};
    t->png = png;
    return &t->writer;
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    return png_writer_rows(((Target *)writer)->png, rows, error);
}

static gboolean finish(Writer *writer, GError **error) {
    return png_writer_end(((Target *)writer)->png, error);
}

static void dispose(Writer *writer) {
    png_writer_free(((Target *)writer)->png);
    g_free(writer);
}

const Format png_format = {
    .name = "PNG",
    .extensions = {"png"},
    .description = description,
    .probe = probe,
    .open = open_png,
    .read_rows = read_rows,
    .read_rect = read_rect,
    .read_end = read_end,
    .close = close_png,
    .create = create,
    .write_rows = write_rows,
    .finish = finish,
    .dispose = dispose,
};
