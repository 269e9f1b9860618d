/* SPDX-License-Identifier: MIT
 *
 * libpng reads the file up to its pixels. From there on it is fed with the same picture whose pixel data
 * are unpacked already, without filters where that is quicker, and wrapped in stored blocks: its own inflate
 * then only copies. Where filters are undone here and nothing is interlaced or converted, rows go past it.
 */
#define _GNU_SOURCE
#include "png_reader.h"

#include <setjmp.h>
#include <string.h>

#include "../fault.h"
#include "png_inflate.h"
#include "png_unfilter.h"

enum { MOST_STORED = 65535 }; /* bytes in a stored block of deflate */

/* The made-up rest of the file. */
typedef struct {
    PngInflate *source;
    PngUnfilter *unfilter; /* NULL: by libpng */
    const guint8 *piece;
    gsize piece_left; /* not yet in a chunk */
    guint8 frame[64]; /* bytes between pixel data: the end of a chunk and the head of the next */
    gsize frame_size, frame_at;
    gsize data_left; /* of the present chunk's pixel data */
    gboolean ended;
} Feed;

struct PngReader {
    PngReaderOptions options;
    PngHeader header;
    gboolean converted; /* rows are, by libpng */
    gboolean bare;      /* rows need nothing of libpng */
    gsize taken;        /* such rows */
    goffset offset;     /* in the file, before the pixels */
    Feed feed;
    png_structp png;
    png_infop info;
    char message[160]; /* libpng's last error */
    GError *error;     /* of the input or of inflate, if that came first */
};

/* ---- What libpng is fed with ------------------------------------------------------------------------ */

static void put(Feed *f, const void *bytes, gsize n) {
    memcpy(f->frame + f->frame_size, bytes, n);
    f->frame_size += n;
}

static void put_number(Feed *f, gsize n) {
    const guint8 bytes[] = {(guint8)(n >> 24), (guint8)(n >> 16), (guint8)(n >> 8), (guint8)n};
    put(f, bytes, 4);
}

/* A first chunk with nothing but the head of the stream. */
static void begin_feed(Feed *f) {
    put_number(f, 2);
    put(f, "IDAT\x78\x01", 6);
}

/* The end of the chunk before, and the head of one with n bytes of pixel data. libpng is told to ignore the
 * checksums, which are therefore zeros. */
static void begin_chunk(Feed *f, gsize n, gboolean last) {
    const guint8 stored[] = {last, (guint8)n, (guint8)(n >> 8), (guint8)~n, (guint8)(~n >> 8)};
    f->frame_size = f->frame_at = 0;
    put_number(f, 0);
    put_number(f, n + sizeof(stored) + (last ? 4 : 0));
    put(f, "IDAT", 4);
    put(f, stored, sizeof(stored));
    f->data_left = n;
}

static void end_feed(Feed *f) {
    begin_chunk(f, 0, TRUE);
    put_number(f, 0); /* the stream's checksum, */
    put_number(f, 0); /* the chunk's, */
    put_number(f, 0); /* and IEND */
    put(f, "IEND\xae\x42\x60\x82", 8);
    f->ended = TRUE;
}

/* FALSE with r->error: what comes next cannot be had. Without one there is no piece after the last. */
static gboolean next_piece(PngReader *r) {
    Feed *f = &r->feed;
    if (f->piece_left)
        return TRUE;
    guint8 *piece = png_inflate_next(f->source, &f->piece_left, &r->error);
    if (f->unfilter)
        png_unfilter(f->unfilter, piece, f->piece_left);
    f->piece = piece;
    return !r->error;
}

static gboolean next_chunk(PngReader *r) {
    Feed *f = &r->feed;
    if (!next_piece(r))
        return FALSE;
    if (!f->piece) {
        end_feed(f);
        return TRUE;
    }
    gsize n = MIN(f->piece_left, MOST_STORED);
    begin_chunk(f, n, FALSE);
    f->piece_left -= n;
    return TRUE;
}

static gsize copy_some(Feed *f, guint8 *to, gsize n) {
    gsize part = MIN(n, f->frame_size - f->frame_at);
    if (part) {
        memcpy(to, f->frame + f->frame_at, part);
        f->frame_at += part;
        return part;
    }
    part = MIN(n, f->data_left);
    if (!part)
        return 0;
    memcpy(to, f->piece, part);
    f->piece += part;
    f->data_left -= part;
    return part;
}

static void on_read(png_structp png, png_bytep to, size_t n) {
    PngReader *r = png_get_io_ptr(png);
    gsize part = (gsize)MIN((goffset)n, r->options.pixels.begin - r->offset);
    if (part && !png_input_read(r->options.input, to, part, r->offset, &r->error))
        png_error(png, "cannot read");
    r->offset += (goffset)part;
    for (to += part, n -= part; n; to += part, n -= part) {
        part = copy_some(&r->feed, to, n);
        if (!part && (r->feed.ended || !next_chunk(r)))
            png_error(png, "it ends too early");
    }
}

/* ---- libpng ----------------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp message) {
    PngReader *r = png_get_error_ptr(png);
    g_strlcpy(r->message, message, sizeof(r->message));
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    PngReader *r = png_get_error_ptr(png);
    /* Of the stream that it is fed with, which some builds of libpng and zlib look at all the same. */
    gboolean of_feed = !strcmp(message, "IDAT: incorrect data check");
    if (r->options.warn && !of_feed)
        r->options.warn(message, r->options.user);
}

static gboolean damaged(PngReader *r, GError **error) {
    if (r->error) {
        g_propagate_error(error, g_steal_pointer(&r->error));
        return FALSE;
    }
    if (strcasestr(r->message, "memory"))
        return fault(error, STATUS_FAILED, "needs more memory than the system has: free some");
    return fault(error, STATUS_FAILED, "is damaged (%s): restore it from a copy", r->message);
}

static gboolean read_header(PngReader *r, GError **error) {
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info)
        return fault(error, STATUS_FAILED, "needs more memory than the system has: free some");
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(r->png, 0);
    png_set_check_for_invalid_index(r->png, 0);
    if (r->options.before)
        r->options.before(r->png, r->options.user);
    else
        png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
#ifdef PNG_IGNORE_ADLER32
    png_set_option(r->png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);
#endif
    png_read_info(r->png, r->info);
    png_set_crc_action(r->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE); /* of what it is fed with */

    PngHeader *h = &r->header;
    png_uint_32 width, height;
    int interlace;
    png_colorp palette;
    png_get_IHDR(r->png, r->info, &width, &height, &h->bit_depth, &h->colour_type, &interlace, NULL, NULL);
    h->interlaced = interlace != PNG_INTERLACE_NONE;
    h->shape = tt_image(NULL, (ptrdiff_t)png_get_rowbytes(r->png, r->info), width, height,
                        png_get_channels(r->png, r->info), (guint32)h->bit_depth);
    if (png_get_PLTE(r->png, r->info, &palette, &h->colours))
        for (int i = 0; i < h->colours; i++)
            memcpy(h->palette[i], &palette[i], 3);
    r->converted = r->options.after && r->options.after(r->png, r->info, r->options.user);
    return TRUE;
}

/* A row has less than 2^34 bytes and there are less than 2^31: together they can be too many. */
static guint64 filtered_rows(const PngHeader *h, guint64 columns, guint64 rows) {
    guint64 row = (columns * h->shape.channels * h->shape.sample_bits + 7) / 8 + 1;
    return !columns ? 0 : rows > (G_MAXUINT64 >> 3) / row ? G_MAXUINT64 >> 3 : row * rows;
}

guint64 png_filtered_bytes(const PngHeader *h) {
    guint64 sum = 0;
    if (!h->interlaced)
        return filtered_rows(h, h->shape.width, h->shape.height);
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        sum += filtered_rows(h, PNG_PASS_COLS(h->shape.width, pass), PNG_PASS_ROWS(h->shape.height, pass));
    return sum;
}

/* Deflate makes at most 1032 bytes out of one: what claims more is damaged, or made to exhaust memory. */
static gboolean check_claim(const PngReader *r, guint64 bytes, GError **error) {
    if (!r->options.pixels.bytes || (double)bytes <= 1032.0 * ((double)r->options.pixels.bytes + 1))
        return TRUE;
    return fault(
        error, STATUS_FAILED,
        "claims %" G_GSIZE_FORMAT " x %" G_GSIZE_FORMAT " pixels, more than its %" G_GUINT64_FORMAT
        " bytes of pixel data can hold, so it is damaged or made to exhaust memory: restore it from a copy",
        r->header.shape.width, r->header.shape.height, r->options.pixels.bytes);
}

static gboolean start_pixels(PngReader *r, GError **error) {
    guint64 bytes = png_filtered_bytes(&r->header);
    if (!check_claim(r, bytes, error))
        return FALSE;
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    const PngReaderOptions *o = &r->options;
    const Unpacker *unpacker = o->plainly ? plain_unpacker : NULL;
    r->feed.source =
        png_inflate_new(&(PngInflateOptions){o->input, o->pixels, bytes, o->cores, unpacker, o->trusting});
    const TtImage *shape = &r->header.shape;
    if (!r->header.interlaced && !o->plainly)
        r->feed.unfilter =
            png_unfilter_new((gsize)shape->pitch, MAX(shape->channels * shape->sample_bits / 8, 1));
    r->bare = r->feed.unfilter && !r->converted;
    png_set_interlace_handling(r->png);
    png_start_read_image(r->png);
    return TRUE;
}

PngReader *png_reader_open(const PngReaderOptions *options, GError **error) {
    PngReader *r = g_new0(PngReader, 1);
    r->options = *options;
    begin_feed(&r->feed);
    if (read_header(r, error) && start_pixels(r, error))
        return r;
    png_reader_close(r);
    return NULL;
}

const PngHeader *png_reader_header(const PngReader *r) {
    return &r->header;
}

/* The next n bytes of the rows and of the numbers in front of them. */
static gboolean take(PngReader *r, guint8 *to, gsize n) {
    Feed *f = &r->feed;
    for (gsize part; n; to += part, n -= part) {
        if (!next_piece(r))
            return FALSE;
        g_assert(f->piece_left); /* no more rows are wanted than there are */
        part = MIN(n, f->piece_left);
        memcpy(to, f->piece, part);
        f->piece += part;
        f->piece_left -= part;
    }
    return TRUE;
}

/* A row without libpng, which would copy it five times. */
static gboolean take_row(PngReader *r, guint8 *to, GError **error) {
    guint8 filter;
    if (take(r, &filter, 1) && filter)
        g_strlcpy(r->message, "bad adaptive filter value", sizeof(r->message));
    else if (!r->error && take(r, to, (gsize)r->header.shape.pitch) &&
             (++r->taken < r->header.shape.height || next_piece(r))) /* the end belongs to the last row */
        return TRUE;
    return damaged(r, error);
}

gboolean png_reader_rows(PngReader *r, const TtImage *rows, GError **error) {
    if (r->bare) {
        for (gsize y = 0; y < rows->height; y++)
            if (!take_row(r, (guint8 *)rows->data + (ptrdiff_t)y * rows->pitch, error))
                return FALSE;
        return TRUE;
    }
    if (setjmp(png_jmpbuf(r->png)))
        return damaged(r, error);
    for (gsize y = 0; y < rows->height; y++)
        png_read_row(r->png, (png_bytep)rows->data + (ptrdiff_t)y * rows->pitch, NULL);
    return TRUE;
}

gboolean png_reader_whole(PngReader *r, const TtImage *whole, GError **error) {
    for (guint pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        if (!png_reader_rows(r, whole, error))
            return FALSE;
    return TRUE;
}

gboolean png_reader_end(PngReader *r, gboolean *more, GError **error) {
    gsize size;
    if (!r->feed.ended && png_inflate_next(r->feed.source, &size, &r->error))
        g_assert_not_reached(); /* libpng has taken all that there is */
    if (r->error)
        return damaged(r, error);
    *more = png_inflate_has_more(r->feed.source);
    return TRUE;
}

void png_reader_rest(PngReader *r) {
    png_inflate_rest(r->feed.source);
}

void png_reader_close(PngReader *r) {
    if (r->png)
        png_destroy_read_struct(&r->png, &r->info, NULL);
    if (r->feed.source)
        png_inflate_free(r->feed.source);
    png_unfilter_free(r->feed.unfilter);
    g_clear_error(&r->error);
    g_free(r);
}
