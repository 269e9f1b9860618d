/* SPDX-License-Identifier: MIT
 *
 * Two rings: of steps, the compressed bytes as the file's chunks hold them, read and checked, and of pieces,
 * unpacked. Unpacking is the slower by far, and one thread's work at a time. Whoever consumes pieces has
 * those that are free filled by an idle core, and reads steps while it waits; without one it does all when it
 * needs it. The file is read in large steps however small its chunks are.
 */
#include "png_inflate.h"

#include <string.h>

#include "../fault.h"

enum {
    PIECES = 4,
    STEPS = 3,
    STEP = 128 << 10, /* bytes that are read at once */
    FRAMES = 12,      /* between the data of two chunks */
    TRAILER = 65536
};

typedef struct {
    guint8 *data;
    gsize size;
} Piece;

typedef struct {
    guint8 *data;
    gsize size, at; /* at: what was unpacked of it */
    gboolean last;
    GError *error; /* what comes after the last one's bytes, if not the end */
} Step;

struct PngInflate {
    PngInflateOptions options;
    gpointer state; /* the unpacker's */

    /* The file, as whoever reads it sees it. */
    guint8 *raw;
    gsize raw_size, raw_at;
    goffset offset;       /* of the end of the raw bytes */
    gboolean other_chunk; /* behind those of pixels was seen */
    guint32 left;         /* bytes of the chunk's data that were not handed on */
    guint32 sum;          /* CRC of the chunk so far */
    gboolean in_chunk;

    Step steps[STEPS];
    guint read, used;  /* running numbers of steps */
    gboolean reading;  /* somebody reads a step */
    gboolean read_all; /* that there are, or can be had */

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
static gboolean fill_raw(PngInflate *d, GError **error) {
    gsize n = (gsize)MIN(d->options.pixels.end - d->offset, STEP);
    d->raw_at = d->raw_size = 0;
    if (n && !d->options.input->read(d->options.input, d->raw, n, d->offset, &d->raw_size, error))
        return FALSE;
    d->offset += (goffset)d->raw_size;
    return TRUE;
}

static gboolean at_end(PngInflate *d, gboolean *end, GError **error) {
    *end = d->other_chunk;
    if (*end || d->raw_at < d->raw_size)
        return TRUE;
    if (!fill_raw(d, error))
        return FALSE;
    *end = !d->raw_size;
    return TRUE;
}

static gboolean cut_short(GError **error) {
    return fault(error, STATUS_FAILED, "is damaged (its pixel data ends too early): restore it from a copy");
}

/* Copies n bytes of the chunks' frames. */
static gboolean take(PngInflate *d, guint8 *to, gsize n, GError **error) {
    for (gsize part; n; to += part, n -= part, d->raw_at += part) {
        if (d->raw_at == d->raw_size && !fill_raw(d, error))
            return FALSE;
        if (!d->raw_size)
            return cut_short(error);
        part = MIN(n, d->raw_size - d->raw_at);
        memcpy(to, d->raw + d->raw_at, part);
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
        return fault(
            error, STATUS_FAILED,
            "has another chunk amid those of its pixels, or was changed while it was read: restore it "
            "from a copy");
    d->left = png_big_endian(head);
    d->sum = deflate_crc32(0, head + 4, 4);
    d->in_chunk = TRUE;
    return TRUE;
}

/* The next bytes of compressed data, which are not consumed; none at the end of all chunks. */
static gboolean chunk_data(PngInflate *d, const guint8 **data, gsize *n, GError **error) {
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
        *data = d->raw + d->raw_at;
        *n = MIN(d->left, d->raw_size - d->raw_at);
        return TRUE;
    }
}

/* Whether the next bytes of data were read, so that nobody has to wait for them. */
static gboolean is_at_hand(const PngInflate *d) {
    return d->raw_size - d->raw_at > (d->left ? 0 : FRAMES);
}

/* Takes over what was read, and reads if that is nothing. */
static void fill_step(PngInflate *d, Step *step) {
    const guint8 *data;
    gsize n;
    step->size = step->at = 0;
    do {
        step->last = !chunk_data(d, &data, &n, &step->error) || !n;
        if (step->last)
            return;
        d->sum = deflate_crc32(d->sum, data, n);
        memcpy(step->data + step->size, data, n);
        step->size += n;
        d->raw_at += n;
        d->left -= (guint32)n;
    } while (is_at_hand(d));
}

/* ---- Steps, read by any thread, one at a time ------------------------------------------------------- */

/* Reads one step, if there is room and nobody does. FALSE if not. Called under the lock. */
static gboolean read_one(PngInflate *d) {
    if (d->reading || d->read_all || d->read - d->used == STEPS)
        return FALSE;
    d->reading = TRUE;
    g_mutex_unlock(&d->lock);
    Step *step = &d->steps[d->read % STEPS];
    fill_step(d, step);
    g_mutex_lock(&d->lock);
    d->reading = FALSE;
    d->read_all = step->last;
    d->read++;
    g_cond_broadcast(&d->progress);
    return TRUE;
}

/* The step with the next bytes of compressed data; none are left in it at the end of all chunks. */
static Step *next_step(PngInflate *d) {
    Step *step = &d->steps[d->used % STEPS];
    g_mutex_lock(&d->lock);
    while (d->used == d->read || (step->at == step->size && !step->last)) {
        if (d->used < d->read)
            step = &d->steps[++d->used % STEPS];
        else if (!read_one(d))
            g_cond_wait(&d->progress, &d->lock);
    }
    g_mutex_unlock(&d->lock);
    return step;
}

static gboolean compressed(PngInflate *d, Step **next, GError **error) {
    Step *step = *next = next_step(d);
    if (step->at < step->size || !step->error)
        return TRUE;
    g_propagate_error(error, g_error_copy(step->error));
    return FALSE;
}

/* Checks the checksums of what nobody needs any more. */
static gboolean skip_rest(PngInflate *d, GError **error) {
    for (Step *step; compressed(d, &step, error); step->at = step->size) {
        if (step->at == step->size)
            return TRUE;
        d->has_more = TRUE;
    }
    return FALSE;
}

/* ---- Unpacking, on any one thread ------------------------------------------------------------------- */

/* Unpacks up to `room` bytes; fewer only at the end of the stream, or before an error. */
static gboolean unpack(PngInflate *d, guint8 *to, gsize room, gsize *size, GError **error) {
    guint8 *out = to;
    Step *step;
    *size = 0;
    if (!d->state)
        return fault(error, STATUS_FAILED, "cannot be unpacked, since the system has no memory: free some");
    while (!d->ended && room) {
        if (!compressed(d, &step, error))
            return FALSE;
        const guint8 *in = step->data + step->at;
        gsize n = step->size - step->at, left = n, before = room;
        UnpackStatus status = d->options.unpacker->unpack(d->state, &in, &left, &out, &room);
        *size = (gsize)(out - to);
        if (status == UNPACK_DAMAGED)
            return fault(error, STATUS_FAILED,
                         "is damaged (its pixel data cannot be unpacked): restore it from a copy");
        step->at += n - left;
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
    g_cond_broadcast(&d->progress);
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
    g_cond_broadcast(&d->progress);
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
            if (!read_one(d))
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
    d->raw = g_malloc(STEP);
    for (int i = 0; i < STEPS; i++)
        d->steps[i].data = g_malloc(STEP);
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
    for (int i = 0; i < STEPS; i++) {
        g_free(d->steps[i].data);
        g_clear_error(&d->steps[i].error);
    }
    g_free(d->raw);
    g_clear_error(&d->error);
    g_mutex_clear(&d->lock);
    g_cond_clear(&d->progress);
    g_free(d);
}
