/* SPDX-License-Identifier: MIT
 *
 * PNG through libpng: pixels exactly as the file packs them, no transformation in either direction.
 *
 * An interlaced picture arrives as seven sparse ones, so it is decoded whole before its first row can be
 * turned; it is then read anywhere and needs no frame.
 */
#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "../say.h"
#include "format.h"
#include "png_chunks.h"

enum { SIGNATURE = 8 };

typedef struct {
    Reader reader;
    png_structp png;
    png_infop info;
    char message[160]; /* libpng's last error */
    PngChunks chunks;
    int bit_depth, colour_type, interlace;
    TtImage pixels; /* of an interlaced picture; data is NULL before it is decoded */
    gsize memory_limit;
} PngReader;

typedef struct {
    Writer writer;
    png_structp png;
    png_infop info;
    char message[160];
    GPtrArray *chunks; /* of Chunk, the source's */
} PngWriter;

static const char *description(void) {
    static char text[64];
    g_snprintf(text, sizeof(text), "PNG (libpng %s)", png_get_libpng_ver(NULL));
    return text;
}

static gboolean probe(const guint8 *head, gsize size) {
    return size >= SIGNATURE && !png_sig_cmp((png_bytep)head, 0, SIGNATURE);
}

/* ---- libpng's callbacks: both structs hold the message for the fault ---------------------------------- */

static void on_error(png_structp png, png_const_charp message) {
    g_strlcpy(png_get_error_ptr(png), message, sizeof(((PngReader *)NULL)->message));
    png_longjmp(png, 1);
}

/* libpng only warns when the pixels' checksum is wrong or their stream ends early; that is damage. Pixels
 * too many are not. */
static void on_warning(png_structp png, png_const_charp message) {
    static const char *const harmless[] = {"Too much image data", "Extra compressed data",
                                           "Too many IDATs found"};
    if (!strstr(message, "IDAT"))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(harmless); i++)
        if (strstr(message, harmless[i]))
            return;
    on_error(png, message);
}

static void on_write_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t n) {
    FILE *file = png_get_io_ptr(png);
    if (fread(to, 1, n, file) != n)
        png_error(png, ferror(file) ? g_strerror(errno) : "it ends too early");
}

static void on_write(png_structp png, png_bytep from, size_t n) {
    if (fwrite(from, 1, n, png_get_io_ptr(png)) != n)
        png_error(png, g_strerror(errno));
}

static void on_flush(png_structp png) {
    (void)png;
}

static gboolean damaged(PngReader *r, GError **error) {
    return fault(error, STATUS_FAILED, "is damaged (%s): restore it from a copy", r->message);
}

static gboolean unwritable(PngWriter *w, GError **error) {
    return fault(error, STATUS_FAILED, "cannot write the output: %s", w->message);
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static void close_png(Reader *reader) {
    PngReader *r = (PngReader *)reader;
    if (r->png)
        png_destroy_read_struct(&r->png, &r->info, NULL);
    png_chunks_clear(&r->chunks);
    g_free(r->pixels.data);
    g_free(r);
}

/* Deflate makes at most 1032 bytes out of one: what claims more is damaged, or made to exhaust memory. */
static gboolean check_claim(PngReader *r, GError **error) {
    double claimed = ((double)png_get_rowbytes(r->png, r->info) + 1) * (double)r->reader.shape.height;
    if (claimed <= 1032.0 * ((double)r->chunks.pixel_bytes + 1))
        return TRUE;
    return fault(error, STATUS_FAILED,
                 "claims %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " pixels, more than its %" G_GUINT64_FORMAT
                 " bytes of pixel data can hold: it is damaged or made to exhaust memory",
                 r->reader.shape.width, r->reader.shape.height, r->chunks.pixel_bytes);
}

static gboolean read_header(PngReader *r, FILE *file, GError **error) {
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r->message, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info)
        return fault(error, STATUS_FAILED, "cannot start libpng: out of memory");
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    png_set_read_fn(r->png, file, on_read);
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(r->png, 0);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* png_chunks has them */
    png_set_check_for_invalid_index(r->png, 0);
    png_read_info(r->png, r->info);

    png_uint_32 width, height;
    png_get_IHDR(r->png, r->info, &width, &height, &r->bit_depth, &r->colour_type, &r->interlace, NULL, NULL);
    r->reader.shape = tt_image(NULL, (ptrdiff_t)png_get_rowbytes(r->png, r->info), width, height,
                               png_get_channels(r->png, r->info), (guint32)r->bit_depth);
    r->reader.anywhere = r->interlace != PNG_INTERLACE_NONE;
    png_set_interlace_handling(r->png);
    png_start_read_image(r->png);
    return check_claim(r, error);
}

static Reader *open_png(const Format *self, FILE *file, const char *path, const Options *options,
                        GError **error) {
    PngReader *r = g_new0(PngReader, 1);
    r->reader = (Reader){.format = self, .path = path, .pages = 1};
    r->memory_limit = options->memory_limit ? options->memory_limit : G_MAXSSIZE;
    if (!png_chunks_read(file, path, &r->chunks, error))
        goto failed;
    if (r->chunks.animated) {
        fault(error, STATUS_FAILED,
              "is an animated PNG, whose frames a turn of its first would lose: turn the frames apart");
        goto failed;
    }
    if (!read_header(r, file, error))
        goto failed;
    r->reader.tag = r->chunks.tag;
    return &r->reader;

failed:
    close_png(&r->reader);
    return NULL;
}

static gboolean read_rows(Reader *reader, const TtImage *rows, GError **error) {
    PngReader *r = (PngReader *)reader;
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    for (gsize y = 0; y < rows->height; y++)
        png_read_row(r->png, (png_bytep)rows->data + (ptrdiff_t)y * rows->pitch, NULL);
    return TRUE;
}

static gboolean decode_passes(PngReader *r, GError **error) {
    gsize row = png_get_rowbytes(r->png, r->info), height = r->reader.shape.height;
    r->pixels = r->reader.shape;
    if (row <= r->memory_limit / height)
        r->pixels.data = g_try_malloc0_n(height, row);
    if (!r->pixels.data)
        return fault(error, STATUS_FAILED,
                     "is interlaced and takes %.1f MB of memory, more than is allowed: raise "
                     "--memory-limit or free memory",
                     (double)row * (double)height / 1e6);
    for (guint pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        if (!read_rows(&r->reader, &r->pixels, error))
            return FALSE;
    return TRUE;
}

static gboolean read_rect(Reader *reader, TtRect rect, const TtImage *into, GError **error) {
    PngReader *r = (PngReader *)reader;
    if (!r->pixels.data && !decode_passes(r, error))
        return FALSE;
    TtImage view = tt_subimage(&r->pixels, rect);
    return !tt_orient(&view, into, TT_NONE, NULL) || library_fault(error);
}

static gboolean read_end(Reader *reader, GError **error) {
    PngReader *r = (PngReader *)reader;
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    png_read_end(r->png, NULL);
    return TRUE;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void dispose(Writer *writer) {
    PngWriter *w = (PngWriter *)writer;
    if (w->png)
        png_destroy_write_struct(&w->png, &w->info);
    g_free(w);
}

static void write_chunks(PngWriter *w, ChunkPlace place) {
    for (guint i = 0; i < w->chunks->len; i++) {
        const Chunk *chunk = w->chunks->pdata[i];
        if (chunk->place == place)
            png_write_chunk(w->png, (png_const_bytep)chunk->type, chunk->data->data, chunk->data->len);
    }
}

/* zlib's level. Where deflate found little to save in the source it finds no more by searching long: for
 * photographs level 2 makes files as small as level 6 in a third of the time. Drawings, which shrink to
 * less than a quarter, reward the search. */
static int level_for(const PngReader *source) {
    double raw = (double)png_get_rowbytes(source->png, source->info) * (double)source->reader.shape.height;
    return (double)source->chunks.pixel_bytes * 4 > raw ? 2 : 6;
}

static gboolean write_header(PngWriter *w, PngReader *source, TtOrientation turn, GError **error) {
    const TtImage *shape = &source->reader.shape;
    gboolean swap = tt_swaps_axes(turn);
    png_colorp palette;
    int colours;
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_check_for_invalid_index(w->png, 0);
    png_set_compression_level(w->png, level_for(source));
    png_set_IHDR(w->png, w->info, (png_uint_32)(swap ? shape->height : shape->width),
                 (png_uint_32)(swap ? shape->width : shape->height), source->bit_depth, source->colour_type,
                 source->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (png_get_PLTE(source->png, source->info, &palette, &colours))
        png_set_PLTE(w->png, w->info, palette, colours);
    png_write_info_before_PLTE(w->png, w->info);
    write_chunks(w, BEFORE_PALETTE);
    png_write_info(w->png, w->info);
    write_chunks(w, BEFORE_PIXELS);
    w->writer.passes = (guint)png_set_interlace_handling(w->png);
    return TRUE;
}

static Writer *create(FILE *file, Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    PngReader *source = (PngReader *)reader;
    PngWriter *w = g_new0(PngWriter, 1);
    w->writer.format = &png_format;
    png_chunks_turn(&source->chunks, reader->path, turn, tag_used);
    w->chunks = source->chunks.list;
    w->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, w->message, on_error, on_write_warning);
    w->info = w->png ? png_create_info_struct(w->png) : NULL;
    if (!w->info) {
        fault(error, STATUS_FAILED, "cannot start libpng: out of memory");
    } else {
        png_set_write_fn(w->png, file, on_write, on_flush);
        if (write_header(w, source, turn, error))
            return &w->writer;
    }
    dispose(&w->writer);
    return NULL;
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    PngWriter *w = (PngWriter *)writer;
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    for (gsize y = 0; y < rows->height; y++)
        png_write_row(w->png, (png_const_bytep)rows->data + (ptrdiff_t)y * rows->pitch);
    return TRUE;
}

static gboolean finish(Writer *writer, GError **error) {
    PngWriter *w = (PngWriter *)writer;
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    write_chunks(w, AFTER_PIXELS);
    png_write_end(w->png, NULL);
    return TRUE;
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
