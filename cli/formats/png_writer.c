/* SPDX-License-Identifier: MIT
 *
 * Chunks in order; rows to the deflater, those of an interlaced picture thinned out to the present pass.
 */
#include "png_writer.h"

#include <setjmp.h>
#include <string.h>

#include "../fault.h"
#include "deflate.h"

struct PngWriter {
    PngOutput output;
    PngHeader header;
    GPtrArray *chunks;
    PngDeflate *deflate;
    int pass;
    gsize next_row;  /* of the pass */
    guint8 *thinned; /* a row of the pass */
    png_structp png;
    png_infop info;
    char message[160]; /* libpng's last error */
    GError *error;     /* of the output, if that came first */
};

/* ---- libpng ----------------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp message) {
    PngWriter *w = png_get_error_ptr(png);
    g_strlcpy(w->message, message, sizeof(w->message));
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_write(png_structp png, png_bytep data, size_t size) {
    PngWriter *w = png_get_io_ptr(png);
    if (!w->output.write(w->output.user, data, size, &w->error))
        png_error(png, "cannot write");
}

static void on_flush(png_structp png) {
    (void)png;
}

static gboolean unwritable(PngWriter *w, GError **error) {
    if (!w->error)
        return fault(error, STATUS_FAILED, "cannot be written by libpng (%s): free memory and try again",
                     w->message);
    g_propagate_error(error, g_steal_pointer(&w->error));
    return FALSE;
}

static gboolean write_chunk(PngWriter *w, const char *type, const guint8 *data, gsize size, GError **error) {
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    png_write_chunk(w->png, (png_const_bytep)type, data, size);
    return TRUE;
}

static gboolean write_chunks(PngWriter *w, ChunkPlace place, GError **error) {
    for (guint i = 0; w->chunks && i < w->chunks->len; i++) {
        const Chunk *chunk = w->chunks->pdata[i];
        if (chunk->place == place && !write_chunk(w, chunk->type, chunk->data->data, chunk->data->len, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean write_info(PngWriter *w, gboolean palette, GError **error) {
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    palette ? png_write_info(w->png, w->info) : png_write_info_before_PLTE(w->png, w->info);
    return TRUE;
}

static gboolean start(PngWriter *w, const PngWriterOptions *options, GError **error) {
    const PngHeader *h = &w->header;
    w->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, w, on_error, on_warning);
    w->info = w->png ? png_create_info_struct(w->png) : NULL;
    if (!w->info)
        return fault(error, STATUS_FAILED, "needs more memory than the system has: free some");
    if (setjmp(png_jmpbuf(w->png)))
        return unwritable(w, error);
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_check_for_invalid_index(w->png, 0);
    png_set_IHDR(w->png, w->info, (png_uint_32)h->shape.width, (png_uint_32)h->shape.height, h->bit_depth,
                 h->colour_type, h->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (h->colours)
        png_set_PLTE(w->png, w->info, (png_const_colorp)h->palette, h->colours);
    if (options->describe)
        options->describe(w->png, w->info, options->user);
    return TRUE;
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static gsize row_bytes(const PngHeader *h, guint64 pixels) {
    return (pixels * h->shape.channels * h->shape.sample_bits + 7) / 8;
}

static void put_number(guint8 *to, guint32 n) {
    n = GUINT32_TO_BE(n);
    memcpy(to, &n, sizeof(n));
}

/* Not by libpng: its checksum takes several times as long. */
static gboolean emit(gpointer user, const guint8 *data, gsize size, GError **error) {
    const PngOutput *to = &((PngWriter *)user)->output;
    guint8 head[8] = {[4] = 'I', 'D', 'A', 'T'}, tail[4];
    put_number(head, (guint32)size);
    put_number(tail, deflate_crc32(deflate_crc32(0, head + 4, 4), data, size));
    return to->write(to->user, head, sizeof(head), error) && to->write(to->user, data, size, error) &&
           to->write(to->user, tail, sizeof(tail), error);
}

/* Every so many-th pixel of a row, packed. */
static void thin_out(const PngHeader *h, const guint8 *row, int pass, guint8 *to) {
    gsize bits = h->shape.channels * h->shape.sample_bits, bytes = bits / 8;
    gsize width = h->shape.width, step = (gsize)1 << PNG_PASS_COL_SHIFT(pass);
    gsize start = PNG_PASS_START_COL(pass);
    if (bytes) {
        for (gsize x = start; x < width; x += step, to += bytes)
            memcpy(to, row + x * bytes, bytes);
        return;
    }
    memset(to, 0, row_bytes(h, PNG_PASS_COLS(width, pass)));
    for (gsize x = start, at = 0; x < width; x += step, at += bits) {
        guint sample = row[x * bits / 8] >> (8 - bits - x * bits % 8) & ((1U << bits) - 1);
        to[at / 8] |= (guint8)(sample << (8 - bits - at % 8));
    }
}

static gboolean interlaced_row(PngWriter *w, const guint8 *row, GError **error) {
    const PngHeader *h = &w->header;
    gsize y = w->next_row++, columns = PNG_PASS_COLS(h->shape.width, w->pass);
    gboolean good = TRUE;
    if (columns && PNG_ROW_IN_INTERLACE_PASS(y, w->pass)) {
        thin_out(h, row, w->pass, w->thinned);
        good = png_deflate_row(w->deflate, w->thinned, row_bytes(h, columns),
                               y == PNG_PASS_START_ROW(w->pass), error);
    }
    if (w->next_row == h->shape.height) {
        w->next_row = 0;
        w->pass++;
    }
    return good;
}

guint png_writer_passes(const PngWriter *w) {
    return w->header.interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
}

gboolean png_writer_rows(PngWriter *w, const TtImage *rows, GError **error) {
    gsize size = row_bytes(&w->header, w->header.shape.width);
    for (gsize y = 0; y < rows->height; y++) {
        const guint8 *row = (const guint8 *)rows->data + (ptrdiff_t)y * rows->pitch;
        if (!(w->header.interlaced ? interlaced_row(w, row, error)
                                   : png_deflate_row(w->deflate, row, size, w->next_row++ == 0, error)))
            return FALSE;
    }
    return TRUE;
}

/* ---- The story of one picture ----------------------------------------------------------------------- */

PngWriter *png_writer_new(const PngWriterOptions *options, GError **error) {
    const PngHeader *header = options->header;
    PngWriter *w = g_new0(PngWriter, 1);
    w->output = options->output;
    w->header = *header;
    w->chunks = options->chunks;
    w->deflate = png_deflate_new(&(PngDeflateOptions){
        .bits = header->shape.channels * header->shape.sample_bits,
        .residues = header->bit_depth >= 8 && header->colour_type != PNG_COLOR_TYPE_PALETTE,
        .bytes = png_filtered_bytes(header),
        .packing = options->packing,
        .cores = options->cores,
        .emit = emit,
        .user = w,
    });
    if (header->interlaced && !(w->thinned = g_try_malloc(row_bytes(header, header->shape.width))))
        fault(error, STATUS_FAILED, "needs more memory for a row than the system has: free some");
    else if (start(w, options, error) && write_info(w, FALSE, error) &&
             write_chunks(w, BEFORE_PALETTE, error) && write_info(w, TRUE, error) &&
             write_chunks(w, BEFORE_PIXELS, error))
        return w;
    png_writer_free(w);
    return NULL;
}

gboolean png_writer_end(PngWriter *w, GError **error) {
    return png_deflate_end(w->deflate, error) && write_chunks(w, AFTER_PIXELS, error) &&
           write_chunk(w, "IEND", NULL, 0, error);
}

void png_writer_free(PngWriter *w) {
    if (w->png)
        png_destroy_write_struct(&w->png, &w->info);
    png_deflate_free(w->deflate);
    g_free(w->thinned);
    g_clear_error(&w->error);
    g_free(w);
}
