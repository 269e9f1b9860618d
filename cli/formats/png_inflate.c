/* SPDX-License-Identifier: MIT
 *
 * A ring of pieces. Whoever consumes them has those that are free filled by an idle core; without one it
 * fills one when it needs one. The file is read in large steps however small its chunks are.
 */
#include "png_inflate.h"

#include <string.h>

#include "../fault.h"

enum { PIECES = 4, STEP = 256 << 10, TRAILER = 65536 };

typedef struct {
    guint8 *data;
    gsize size;
} Piece;

struct PngInflate {
    PngInflateOptions options;
    gpointer state; /* the unpacker's */

    /* The file, as whoever unpacks sees it. */
    guint8 *step;
    gsize step_size, step_at;
    goffset offset;       /* of the step's end */
    gboolean other_chunk; /* behind those of pixels was seen */
    guint32 left;         /* bytes of the chunk's data that were not handed on */
    guint32 sum;          /* CRC of the chunk so far */
    gboolean in_chunk;

    guint64 made; /* bytes unpacked for the picture */
    gboolean ended, has_more;
    GError *error; /* what ended it, if not the end */

    Piece ring[PIECES];
    guint filled, given; /* running numbers of pieces */
    gboolean holding;    /* the consumer has piece `given` */
    gboolean helped;     /* a helper is filling pieces; until it is done, all above is its own */
    gboolean stop;
    GMutex lock;
    GCond progress;
};

/* ---- The file --------------------------------------------------------------------------------------- */

/* Reads some more; nothing more, without an error, at the end. */
static gboolean fill_step(PngInflate *d, GError **error) {
    gsize n = (gsize)MIN(d->options.pixels.end - d->offset, STEP);
    d->step_at = d->step_size = 0;
    if (n && !d->options.input->read(d->options.input, d->step, n, d->offset, &d->step_size, error))
        return FALSE;
    d->offset += (goffset)d->step_size;
    return TRUE;
}

static gboolean at_end(PngInflate *d, gboolean *end, GError **error) {
    *end = d->other_chunk;
    if (*end || d->step_at < d->step_size)
        return TRUE;
    if (!fill_step(d, error))
        return FALSE;
    *end = !d->step_size;
    return TRUE;
}

static gboolean cut_short(GError **error) {
    return fault(error, STATUS_FAILED, "is damaged (its pixel data ends too early): restore it from a copy");
}

/* Copies n bytes of the chunks' frames. */
static gboolean take(PngInflate *d, guint8 *to, gsize n, GError **error) {
    for (gsize part; n; to += part, n -= part, d->step_at += part) {
        if (d->step_at == d->step_size && !fill_step(d, error))
            return FALSE;
        if (!d->step_size)
            return cut_short(error);
        part = MIN(n, d->step_size - d->step_at);
        memcpy(to, d->step + d->step_at, part);
    }
    return TRUE;
}

static gboolean end_chunk(PngInflate *d, GError **error) {
    guint8 stored[4];
    if (!take(d, stored, 4, error))
        return FALSE;
    d->in_chunk = FALSE;
    return d->options.trusting || png_big_endian(stored) == d->sum ||
           fault(error, STATUS_FAILED,
                 "is damaged (the checksum of its pixel data is wrong): restore it from a copy");
}

static gboolean begin_chunk(PngInflate *d, GError **error) {
    guint8 head[8];
    if (!take(d, head, 8, error))
        return FALSE;
    d->other_chunk = memcmp(head + 4, "IDAT", 4) != 0;
    if (d->other_chunk && d->options.pixels.end == G_MAXINT64)
        return TRUE;
    if (d->other_chunk)
        return fault(error, STATUS_FAILED, "was changed while it was read: leave it alone and try again");
    d->left = png_big_endian(head);
    d->sum = deflate_crc32(0, head + 4, 4);
    d->in_chunk = TRUE;
    return TRUE;
}

/* The next bytes of compressed data, which are not consumed; none at the end of all chunks. */
static gboolean compressed(PngInflate *d, const guint8 **data, gsize *n, GError **error) {
    *n = 0;
    for (;;) {
        if (d->in_chunk && !d->left && !end_chunk(d, error))
            return FALSE;
        gboolean end;
        if (!at_end(d, &end, error))
            return FALSE;
        if (end)
            return !d->in_chunk || cut_short(error);
        if (!d->in_chunk) {
            if (!begin_chunk(d, error))
                return FALSE;
            continue;
        }
        *data = d->step + d->step_at;
        *n = MIN(d->left, d->step_size - d->step_at);
        return TRUE;
    }
}

static void consume(PngInflate *d, gsize n) {
    d->sum = deflate_crc32(d->sum, d->step + d->step_at, n);
    d->step_at += n;
    d->left -= (guint32)n;
}

/* Checks the checksums of what nobody needs any more. */
static gboolean skip_rest(PngInflate *d, GError **error) {
    const guint8 *data;
    gsize n;
    while (compressed(d, &data, &n, error)) {
        if (!n)
            return TRUE;
        d->has_more = TRUE;
        consume(d, n);
    }
    return FALSE;
}

/* ---- Unpacking, on any one thread ------------------------------------------------------------------- */

/* Unpacks up to `room` bytes; fewer only at the end of the stream, or before an error. */
static gboolean unpack(PngInflate *d, guint8 *to, gsize room, gsize *size, GError **error) {
    const guint8 *data = NULL, *in;
    guint8 *out = to;
    *size = 0;
    while (!d->ended && room) {
        gsize n, left;
        if (!compressed(d, &data, &n, error))
            return FALSE;
        in = data;
        left = n;
        gsize before = room;
        UnpackStatus status = d->options.unpacker->unpack(d->state, &in, &left, &out, &room);
        *size = (gsize)(out - to);
        if (status == UNPACK_DAMAGED)
            return fault(error, STATUS_FAILED,
                         "is damaged (its pixel data cannot be unpacked): restore it from a copy");
        if (n)
            consume(d, n - left);
        d->has_more |= status == UNPACK_END_PASSED;
        if (status == UNPACK_END || status == UNPACK_END_PASSED)
            d->ended = TRUE;
        else if (!n && room == before)
            return cut_short(error);
    }
    return TRUE;
}

/* All that the picture needs was unpacked: what comes behind it must be the end, or may be left. */
static gboolean check_end(PngInflate *d, GError **error) {
    guint8 beyond[TRAILER];
    gsize size = 0;
    if (!d->ended && !unpack(d, beyond, sizeof(beyond), &size, error))
        return FALSE;
    d->has_more |= size > 0;
    return skip_rest(d, error);
}

/* What could be unpacked counts, also if an error ended it. */
static void fill_piece(PngInflate *d, Piece *piece, GError **error) {
    gsize wanted = (gsize)MIN(d->options.bytes - d->made, PNG_INFLATE_PIECE);
    gboolean good = unpack(d, piece->data, wanted, &piece->size, error);
    d->made += piece->size;
    if (d->made == d->options.bytes && d->options.trusting)
        g_clear_error(error);
    else if (good && piece->size < wanted)
        cut_short(error);
    else if (good && d->made == d->options.bytes)
        check_end(d, error);
}

/* Fills one free piece. FALSE if there is nothing to do. */
static gboolean fill_one(PngInflate *d) {
    g_mutex_lock(&d->lock);
    gboolean possible = !d->stop && !d->error && d->made < d->options.bytes && d->filled - d->given < PIECES;
    Piece *piece = &d->ring[d->filled % PIECES];
    g_mutex_unlock(&d->lock);
    if (!possible)
        return FALSE;
    GError *error = NULL;
    fill_piece(d, piece, &error);
    g_mutex_lock(&d->lock);
    d->error = error;
    d->filled += piece->size > 0;
    g_cond_signal(&d->progress);
    g_mutex_unlock(&d->lock);
    return !error;
}

static void help(gpointer data, gpointer user) {
    PngInflate *d = data;
    (void)user;
    while (fill_one(d))
        ;
    g_mutex_lock(&d->lock);
    d->helped = FALSE;
    g_cond_signal(&d->progress);
    g_mutex_unlock(&d->lock);
}

/* ---- The consumer's side ---------------------------------------------------------------------------- */

static gboolean may_offer(const PngInflate *d) {
    return !d->helped && !d->error && d->made < d->options.bytes && d->filled - d->given <= PIECES / 2;
}

/* Has the free pieces filled by an idle core, if there is one. Called under the lock. */
static void offer(PngInflate *d) {
    d->helped = TRUE;
    g_mutex_unlock(&d->lock);
    gboolean taken = cores_offer(d->options.cores, help, d);
    g_mutex_lock(&d->lock);
    if (!taken)
        d->helped = FALSE;
}

guint8 *png_inflate_next(PngInflate *d, gsize *size, GError **error) {
    guint8 *data = NULL;
    *size = 0;
    g_mutex_lock(&d->lock);
    d->given += (guint)d->holding;
    d->holding = FALSE;
    for (;;) {
        if (d->filled > d->given) {
            const Piece *piece = &d->ring[d->given % PIECES];
            d->holding = TRUE;
            data = piece->data;
            *size = piece->size;
            if (may_offer(d))
                offer(d);
            break;
        }
        if (d->helped) {
            g_cond_wait(&d->progress, &d->lock);
            continue;
        }
        if (d->error || d->made == d->options.bytes)
            break;
        g_mutex_unlock(&d->lock);
        fill_one(d);
        g_mutex_lock(&d->lock);
    }
    if (!data && d->error)
        g_propagate_error(error, g_error_copy(d->error));
    g_mutex_unlock(&d->lock);
    return data;
}

gboolean png_inflate_has_more(const PngInflate *d) {
    return d->has_more;
}

PngInflate *png_inflate_new(const PngInflateOptions *options) {
    PngInflate *d = g_new0(PngInflate, 1);
    d->options = *options;
    if (!d->options.unpacker)
        d->options.unpacker = unpackers[0];
    d->state = d->options.unpacker->start();
    d->offset = options->pixels.begin;
    d->step = g_malloc(STEP);
    for (int i = 0; i < PIECES; i++)
        d->ring[i].data = g_malloc((gsize)MIN(options->bytes, PNG_INFLATE_PIECE));
    g_mutex_init(&d->lock);
    g_cond_init(&d->progress);
    return d;
}

void png_inflate_rest(PngInflate *d) {
    g_mutex_lock(&d->lock);
    d->stop = TRUE;
    while (d->helped)
        g_cond_wait(&d->progress, &d->lock);
    d->stop = FALSE;
    g_mutex_unlock(&d->lock);
}

void png_inflate_free(PngInflate *d) {
    png_inflate_rest(d);
    d->options.unpacker->stop(d->state);
    for (int i = 0; i < PIECES; i++)
        g_free(d->ring[i].data);
    g_free(d->step);
    g_clear_error(&d->error);
    g_mutex_clear(&d->lock);
    g_cond_clear(&d->progress);
    g_free(d);
}
