/* SPDX-License-Identifier: MIT
 *
 * The ring of blocks, and how each decides for itself how it is packed.
 *
 * Photographs pack as small by the fastest way as by any. Drawings do not, and are often better off without
 * filters. So a block is first packed the fastest way; if that shrank it much, samples of it are packed in
 * other ways too and compared with what libpng would do. Of palettes and bits samples are packed at once.
 *
 * A file that is compared with one without filters has it simpler: what filters and the fastest way have not
 * made small is packed without filters too, nearly or just as libpng would.
 */
#include "png_deflate.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "../fault.h"
#include "deflate.h"
#include "png_filter.h"

enum {
    BLOCK = 768 << 10,  /* filtered bytes in a block, about */
    LARGE = 2 * BLOCK,  /* in one of rows alike, of which each is little more than its beginning */
    SMALL = 16 << 10,   /* in one so small that everything is tried */
    MEDIUM = 128 << 10, /* in one that is packed as quickly as its samples would be */
    LONE = 512 << 10,   /* in one that others may not make up for */
    FEW = 4 << 20,      /* in all of a file, whose blocks hardly make up for each other */
    MANY = 16 << 20,    /* in all of a file that is too large to have large blocks as well */
    SLICE = 32 << 10,   /* in a slice of a sample */
    LONG_SLICE = 128 << 10,
    LEVEL_FOR_THE_BEST = 8, /* from which it is worth the time to try what packs most */
    FLAT = 16,    /* times smaller than its bytes is a sample of a block that libpng's way packs quickly */
    TINY = 64,    /* times smaller than its filtered bytes is a block of which samples do not tell enough */
    FLATTER = 20, /* the same, of one whose longest search takes no longer than its samples */
    SLICES = 2,
    RING = 24 << 20, /* bytes that the ring's blocks hold together, about */
    MOST_CHUNK = 1 << 30,
    BEGIN = 2, /* bytes of the stream in front of its first block, */
    END = 4,   /* and behind its last */
};

/* A sample may come out larger than libpng's by so much; files are to stay within 2 %. Less is allowed where
 * no other blocks make up for an error. */
static const double tolerance = 1.015, tolerance_of_few = 1.005;

/* Filtered or not, whichever sample is so much larger is given up. */
static const double far = 1.25;

/* A block that is packed to so small a part of its size is. */
static const double little_is = .1;

/* What the fastest way makes so much larger than enough needs one of the two that look longest, which find
 * so much more in the whole of a palette's block than in samples of it. */
static const double too_far = 1.28, patience = 1.007;

/* A sample that is so little larger counts as no larger, and one that is so much larger as larger. */
static const double near = 1.01, better = 1.05, much_better = 1.15;

/* Packed to about what short codes for frequent bytes make of it, and not to less than a third or so, a block
 * hardly holds repeats: no longer search for them makes it smaller. */
static const double hopeful = 0.3, less = 0.88, more = 1.02;

typedef struct {
    gsize size, at; /* in the block's raw bytes */
} Row;

typedef struct {
    PngDeflate *owner;
    gboolean ready; /* packed; set under the owner's lock */
    gboolean last;
    guint8 *raw; /* each row behind its margin, and in front of a first row what is above it */
    gsize raw_size, raw_room;
    GArray *rows; /* of Row */
    gsize filtered_size;
    gsize alike;    /* bytes of rows that are as the one above */
    gsize sampled;  /* what the fastest way makes of short slices; 0: not yet tried */
    guint8 *packed; /* with BEGIN bytes of room in front and END behind */
    gsize packed_size, packed_room;
    guint32 sum; /* Adler-32 of the filtered bytes */
} Block;

/* What one thread needs to pack blocks. */
typedef struct {
    Packer *packer;
    guint8 *filtered;      /* the block's rows, each behind its filter's number */
    guint8 *plain, *trial; /* the same without filters; what an attempt made */
    gsize filtered_room, plain_room, trial_room;
} Bench;

struct PngDeflate {
    PngDeflateOptions options;
    guint pixel, filters;
    gboolean as_plain; /* sizes are compared with those of rows without filters, which may be used */
    gsize block_size;  /* filtered bytes that fill a block */
    Block *ring;
    guint ring_size;
    guint filling, packing, emitting; /* running numbers of blocks */
    guint helpers;                    /* that pack, until there is nothing to pack */
    guint64 taken;                    /* filtered bytes of all rows so far */
    guint8 *above;                    /* the last row of the block before */
    gsize above_room;
    gboolean begun;
    guint32 sum;
    GMutex lock; /* over the next two numbers, and what becomes ready */
    GCond progress;
    GPtrArray *benches; /* that nobody uses now */
};

static gboolean make_room(guint8 **data, gsize *room, gsize wanted) {
    if (*room >= wanted)
        return TRUE;
    g_free(*data);
    *data = g_try_malloc(wanted);
    *room = *data ? wanted : 0;
    return *data != NULL;
}

/* ---- Packing one block, on any thread --------------------------------------------------------------- */

static void filter_rows(const Block *b, guint set, guint8 *to) {
    for (guint i = 0; i < b->rows->len; i++) {
        const Row *row = &g_array_index(b->rows, Row, i);
        const guint8 *x = b->raw + row->at;
        png_filter_row(to, x, x - FILTER_MARGIN - row->size, row->size, b->owner->pixel, set);
        to += row->size + 1;
    }
}

/* What libpng would do at this level. */
static DeflateWay reference_way(const PngDeflate *d) {
    return (DeflateWay){DEFLATE_ZLIB, d->options.packing.level,
                        d->options.residues ? DEFLATE_FILTERED : DEFLATE_DEFAULT};
}

/* The size of slices of a stream, packed; G_MAXSIZE if they cannot be packed this way. */
static gsize try_slices(const Block *b, Bench *bench, DeflateWay way, const guint8 *stream, gsize slice) {
    gsize sum = 0;
    for (gsize i = 0; i < SLICES; i++) {
        const guint8 *middle = stream + b->filtered_size / (2 * SLICES) * (2 * i + 1);
        gsize packed = packer_pack(bench->packer, way, middle - slice / 2, slice, bench->trial, TRUE);
        if (!packed)
            return G_MAXSIZE;
        sum += packed;
    }
    return sum;
}

/* The bits a byte that short codes alone need for slices of a stream. */
static double entropy(const Block *b, const guint8 *stream, gsize slice) {
    guint count[256] = {0};
    gsize n = slice * SLICES;
    double bits = 0;
    for (gsize i = 0; i < SLICES; i++) {
        const guint8 *from = stream + b->filtered_size / (2 * SLICES) * (2 * i + 1) - slice / 2;
        for (gsize k = 0; k < slice; k++)
            count[from[k]]++;
    }
    for (int value = 0; value < 256; value++)
        if (count[value])
            bits += count[value] * log2((double)n / count[value]);
    return bits / (double)n;
}

static gsize slice_size(const Block *b, gsize most) {
    return MIN(most, b->filtered_size / SLICES);
}

/* The part of its size that short slices of a block are packed to by the fastest way. */
static double part_sampled(Block *b, Bench *bench) {
    gsize slice = slice_size(b, SLICE);
    if (!b->sampled)
        b->sampled = try_slices(b, bench, deflate_ways[0], bench->filtered, slice);
    return (double)b->sampled / (double)(slice * SLICES);
}

static double part_packed(const Block *b) {
    return (double)b->packed_size / (double)b->filtered_size;
}

/* What shrinks to little is packed quickly, and its repeats are far apart. */
static gsize telling_slice(Block *b, Bench *bench) {
    gsize slice = slice_size(b, SLICE);
    gboolean little = (b->packed_size ? part_packed(b) : part_sampled(b, bench)) < little_is;
    return little ? slice_size(b, LONG_SLICE) : slice;
}

/* Whether a way cannot be near: short codes by what they need at least, and the faster of those that look for
 * repeats if the fastest has found by far too few. */
static gboolean is_hopeless(const Block *b, gsize way, const guint8 *stream, gsize slice, double enough,
                            double fastest) {
    if (deflate_ways[way].library == DEFLATE_CODES)
        return entropy(b, stream, slice) / 8 * (double)(slice * SLICES) > enough;
    gboolean tiny = b->packed_size && b->packed_size < b->filtered_size / TINY;
    return way && way + 2 < deflate_n_ways && !tiny && fastest > too_far * enough;
}

/* The first way, of all from the fastest on, that comes near libpng's; *plain: without filters. */
static DeflateWay choose_by_sample(Block *b, Bench *bench, gboolean may_be_plain, gboolean *plain) {
    const guint8 *streams[] = {bench->filtered, may_be_plain ? bench->plain : NULL};
    DeflateWay reference = reference_way(b->owner);
    gsize slice = telling_slice(b, bench);
    double like = (double)try_slices(b, bench, reference, bench->filtered, slice),
           enough = like * (b->owner->options.bytes <= FEW ? tolerance_of_few : tolerance),
           fastest = HUGE_VAL;
    for (gsize i = 0; i < deflate_n_ways; i++) {
        double sizes[2] = {0, 0};
        if (i + 1 == deflate_n_ways)
            enough = like * tolerance;
        gboolean patient = i && !b->owner->options.residues && fastest > too_far * enough;
        for (*plain = FALSE; *plain < 2; ++*plain)
            if (streams[*plain] && !is_hopeless(b, i, streams[*plain], slice, enough, fastest)) {
                gboolean known = !i && !*plain && b->sampled && slice == slice_size(b, SLICE);
                sizes[*plain] =
                    (double)(known ? b->sampled
                                   : try_slices(b, bench, deflate_ways[i], streams[*plain], slice));
                if (sizes[*plain] <= enough || (patient && sizes[*plain] <= enough * patience))
                    return deflate_ways[i];
                if (!i)
                    fastest = MIN(fastest, sizes[*plain]);
            }
        /* What is far behind by one way is behind by all that look for repeats. */
        for (int one = 0; one < 2; one++)
            if (deflate_ways[i].library != DEFLATE_CODES && sizes[1 - one] &&
                sizes[one] > far * sizes[1 - one])
                streams[one] = NULL;
    }
    *plain = FALSE;
    return reference;
}

/* Keeps an attempt if it is the smallest so far. */
static void attempt(Block *b, Bench *bench, DeflateWay way, const guint8 *stream) {
    gsize packed = packer_pack(bench->packer, way, stream, b->filtered_size, bench->trial, b->last);
    if (!packed || (b->packed_size && packed >= b->packed_size))
        return;
    memcpy(b->packed + BEGIN, bench->trial, packed);
    b->packed_size = packed;
    b->sum = deflate_adler32(1, stream, b->filtered_size);
}

/* A small block: the smallest of all that can be done. */
static void pack_small(Block *b, Bench *bench, gboolean may_be_plain) {
    for (gsize i = 0; i <= deflate_n_ways; i++)
        for (gboolean plain = FALSE; plain <= may_be_plain; plain++)
            attempt(b, bench, i ? deflate_ways[i - 1] : reference_way(b->owner),
                    plain ? bench->plain : bench->filtered);
}

static void pack_with(Block *b, Bench *bench, DeflateWay way) {
    b->packed_size =
        packer_pack(bench->packer, way, bench->filtered, b->filtered_size, b->packed + BEGIN, b->last);
    b->sum = deflate_adler32(1, bench->filtered, b->filtered_size);
}

/* Whether filters leave so little that libdeflate's longest search is sooner done than samples are compared.
 */
static gboolean is_smooth(const Block *b, Bench *bench) {
    DeflateWay fastest = deflate_ways[0];
    gsize slice = slice_size(b, LONG_SLICE);
    if (deflate_ways[deflate_n_ways - 1].library != DEFLATE_LIBDEFLATE ||
        b->owner->options.packing.level != PNG_LEVEL_DEFAULT || !b->packed_size)
        return FALSE;
    if (b->packed_size < b->filtered_size / FLATTER)
        return TRUE;
    return part_packed(b) < little_is &&
           (double)try_slices(b, bench, fastest, bench->plain, slice) >
               far * (double)try_slices(b, bench, fastest, bench->filtered, slice);
}

/* Whether what libpng would do is tried on the whole block too: where samples tell too little, or an error of
 * theirs is nearly the file's, and it takes little time. */
static gboolean is_for_the_reference(const Block *b) {
    return b->packed_size < b->filtered_size / TINY || b->filtered_size <= MEDIUM ||
           (b->owner->options.bytes <= FEW && part_packed(b) < little_is);
}

static void pack_large(Block *b, Bench *bench, gboolean may_be_plain) {
    gboolean plain = FALSE;
    DeflateWay way = may_be_plain && is_smooth(b, bench) ? deflate_ways[deflate_n_ways - 1]
                                                         : choose_by_sample(b, bench, may_be_plain, &plain);
    if (plain)
        memcpy(bench->filtered, bench->plain, b->filtered_size);
    if (plain || !b->packed_size || memcmp(&way, &deflate_ways[0], sizeof(way)))
        pack_with(b, bench, way);
    else if (b->owner->options.bytes <= LONE)
        attempt(b, bench, deflate_ways[deflate_n_ways - 1], bench->filtered);
    if (!is_for_the_reference(b))
        return;
    if (plain)
        filter_rows(b, b->owner->filters, bench->filtered);
    attempt(b, bench, reference_way(b->owner), bench->filtered);
}

/* Room to try things in, and the block without filters if it may come to that. */
static gboolean set_up(Block *b, Bench *bench, gboolean may_be_plain) {
    if (!make_room(&bench->trial, &bench->trial_room, packer_bound(MAX(b->filtered_size, LONG_SLICE))))
        return FALSE;
    if (!may_be_plain)
        return TRUE;
    if (!make_room(&bench->plain, &bench->plain_room, b->filtered_size))
        return FALSE;
    filter_rows(b, FILTER_NONE, bench->plain);
    return TRUE;
}

/* Whether what the fastest way made of it, to that part of its size, has probably left much to gain. Samples
 * of less than a byte, and numbers of colours, repeat in ways that their frequencies do not tell. */
static gboolean is_hopeful(const Block *b, const Bench *bench, double packed) {
    if (!b->owner->options.residues || b->filtered_size <= LONE)
        return TRUE;
    double codes = entropy(b, bench->filtered, slice_size(b, SLICE)) / 8;
    return packed < hopeful || packed < codes * less || packed > codes * more;
}

/* What libpng would do without filters, and what may take its place: a faster zlib would be blind for what
 * repeats far apart. */
static DeflateWay plain_way(const PngDeflate *d) {
    return (DeflateWay){DEFLATE_ZLIB, d->options.packing.level, DEFLATE_DEFAULT};
}

static DeflateWay fast_plain_way(const PngDeflate *d) {
    DeflateWay last = deflate_ways[deflate_n_ways - 1];
    return last.library == DEFLATE_LIBDEFLATE ? last : plain_way(d);
}

/* Just as libpng would, or the fast way, if that packs samples about as well. */
static void pack_plain(Block *b, Bench *bench, gboolean flat) {
    DeflateWay way = plain_way(b->owner), fast = fast_plain_way(b->owner);
    gsize slice = MIN(SLICE, b->filtered_size / SLICES);
    gboolean best = way.level >= LEVEL_FOR_THE_BEST;
    if (!flat && !best && fast.library != way.library &&
        (double)try_slices(b, bench, fast, bench->plain, slice) <=
            (double)try_slices(b, bench, way, bench->plain, slice) * near)
        way = fast;
    attempt(b, bench, way, bench->plain);
    if (best)
        attempt(b, bench, (DeflateWay){DEFLATE_LIBDEFLATE, 12, DEFLATE_DEFAULT}, bench->plain);
}

/* Whether filters have made a block smaller than `way` makes a sample without. A sample lacks the repeats
 * that the whole has in front of it, so one of a block with many is longer. */
static gboolean is_better_filtered(const Block *b, Bench *bench, DeflateWay way, gsize slice, double by) {
    slice = MIN(slice, b->filtered_size / SLICES);
    double sample = (double)try_slices(b, bench, way, bench->plain, slice);
    return (double)b->packed_size / (double)b->filtered_size * (double)(slice * SLICES) * by < sample;
}

/* A block whose size is compared with that of its rows without filters. */
static void pack_as_plain(Block *b, Bench *bench) {
    DeflateWay fastest = deflate_ways[0], fast = fast_plain_way(b->owner);
    gsize slice = MIN(SLICE, b->filtered_size / SLICES);
    gboolean flat = try_slices(b, bench, fastest, bench->plain, slice) * FLAT < slice * SLICES;
    if (!flat) {
        filter_rows(b, b->owner->filters, bench->filtered);
        pack_with(b, bench, fastest);
        if (is_hopeful(b, bench, part_packed(b))
                ? is_better_filtered(b, bench, fastest, SLICE, 1) &&
                      is_better_filtered(b, bench, fast, LONG_SLICE, much_better)
                : is_better_filtered(b, bench, fastest, SLICE, far) ||
                      is_better_filtered(b, bench, fast, SLICE, better))
            return;
    }
    pack_plain(b, bench, flat);
}

/* Whether the fastest way is tried on all of a block first. It packs few drawings well, and their samples say
 * so sooner; what shrinks to little is done as soon. */
static gboolean is_for_the_fastest(Block *b, Bench *bench) {
    if (!b->owner->options.residues || b->filtered_size <= LONE)
        return b->owner->options.residues || b->filtered_size <= MEDIUM;
    double sampled = part_sampled(b, bench);
    return sampled < little_is || !is_hopeful(b, bench, sampled);
}

static void pack_block(Block *b, Bench *bench) {
    const PngDeflate *d = b->owner;
    gboolean may_be_plain = d->options.residues && !d->options.packing.filters;
    b->packed_size = 0;
    if (!make_room(&bench->filtered, &bench->filtered_room, b->filtered_size))
        return;
    if (d->as_plain && d->options.packing.level && b->filtered_size > SMALL && set_up(b, bench, TRUE)) {
        pack_as_plain(b, bench);
        if (b->packed_size)
            return;
    }
    filter_rows(b, d->filters, bench->filtered);
    if (d->options.packing.level && b->filtered_size > SMALL) {
        if (!set_up(b, bench, FALSE))
            return;
        if (is_for_the_fastest(b, bench))
            pack_with(b, bench, deflate_ways[0]);
        if ((!b->packed_size || is_hopeful(b, bench, part_packed(b))) && set_up(b, bench, may_be_plain))
            pack_large(b, bench, may_be_plain);
    } else if (d->options.packing.level && set_up(b, bench, may_be_plain)) {
        pack_small(b, bench, may_be_plain);
    }
    if (!b->packed_size)
        pack_with(b, bench, reference_way(d));
}

/* ---- Who packs: helpers, and the owner when the ring is full ----------------------------------------- */

/* Called under the lock, as all of these. */
static Bench *take_bench(PngDeflate *d) {
    if (d->benches->len)
        return g_ptr_array_steal_index_fast(d->benches, d->benches->len - 1);
    Bench *bench = g_new0(Bench, 1);
    bench->packer = packer_new();
    return bench;
}

static void free_bench(gpointer data) {
    Bench *bench = data;
    packer_free(bench->packer);
    g_free(bench->filtered);
    g_free(bench->plain);
    g_free(bench->trial);
    g_free(bench);
}

/* Packs the oldest block that nobody has begun. FALSE if there is none. */
static gboolean pack_one(PngDeflate *d, Bench *bench) {
    if (d->packing == d->filling)
        return FALSE;
    Block *b = &d->ring[d->packing++ % d->ring_size];
    g_mutex_unlock(&d->lock);
    pack_block(b, bench);
    g_mutex_lock(&d->lock);
    b->ready = TRUE;
    g_cond_signal(&d->progress);
    return TRUE;
}

static void help(gpointer data, gpointer user) {
    PngDeflate *d = data;
    (void)user;
    g_mutex_lock(&d->lock);
    Bench *bench = take_bench(d);
    while (pack_one(d, bench))
        ;
    g_ptr_array_add(d->benches, bench);
    d->helpers--;
    g_cond_signal(&d->progress);
    g_mutex_unlock(&d->lock);
}

/* Has a block that was added packed on an idle core, unless helpers that are there will come to it. */
static void call_helper(PngDeflate *d) {
    d->helpers++;
    g_mutex_unlock(&d->lock);
    gboolean taken = cores_offer(d->options.cores, help, d);
    g_mutex_lock(&d->lock);
    d->helpers -= !taken;
}

/* ---- The ring, on the owner's thread ---------------------------------------------------------------- */

static gboolean no_memory(gsize bytes, GError **error) {
    return fault(error, STATUS_FAILED,
                 "needs %.1f MB of memory to pack its rows, which the system has not: free some",
                 (double)bytes / 1e6);
}

static gboolean emit_pieces(PngDeflate *d, const guint8 *data, gsize size, GError **error) {
    for (gsize n; size; data += n, size -= n) {
        n = MIN(size, MOST_CHUNK);
        if (!d->options.emit(d->options.user, data, n, error))
            return FALSE;
    }
    return TRUE;
}

/* Gives away the oldest block, which is ready, with the stream's own bytes around it. */
static gboolean emit_block(PngDeflate *d, GError **error) {
    static const guint8 speed[] = {0x01, 0x01, 0x5e, 0x5e, 0x5e, 0x5e, 0x9c, 0xda, 0xda, 0xda};
    Block *b = &d->ring[d->emitting % d->ring_size];
    guint8 *data = b->packed + BEGIN;
    gsize size = b->packed_size;
    if (!size)
        return no_memory(b->filtered_size, error);
    d->sum = (guint32)adler32_combine(d->sum, b->sum, (z_off_t)b->filtered_size);
    if (b->last) {
        for (int i = 0; i < END; i++)
            data[size + (gsize)i] = (guint8)(d->sum >> (24 - 8 * i));
        size += END;
    }
    if (!d->begun) {
        data -= BEGIN;
        size += BEGIN;
        data[0] = 0x78; /* deflate with a window of 32 KiB */
        data[1] = speed[d->options.packing.level];
        d->begun = TRUE;
    }
    d->emitting++;
    b->ready = FALSE;
    b->raw_size = b->filtered_size = b->alike = b->sampled = 0;
    g_array_set_size(b->rows, 0);
    return emit_pieces(d, data, size, error);
}

/* Whether the oldest block is packed. Waits until it is, or packs meanwhile, if there are more than `most`.
 */
static gboolean is_ready(PngDeflate *d, guint most) {
    Block *b = &d->ring[d->emitting % d->ring_size];
    g_mutex_lock(&d->lock);
    while (!b->ready && (d->filling - d->emitting > most || !d->helpers)) {
        Bench *bench = take_bench(d);
        if (!pack_one(d, bench))
            g_cond_wait(&d->progress, &d->lock);
        g_ptr_array_add(d->benches, bench);
    }
    gboolean ready = b->ready;
    g_mutex_unlock(&d->lock);
    return ready;
}

/* Emits what is ready, until at most `most` blocks are left. */
static gboolean emit_ready(PngDeflate *d, guint most, GError **error) {
    while (d->emitting < d->filling && is_ready(d, most))
        if (!emit_block(d, error))
            return FALSE;
    return TRUE;
}

/* The block that is being filled is full. */
static gboolean submit(PngDeflate *d, GError **error) {
    Block *b = &d->ring[d->filling % d->ring_size];
    const Row *row = &g_array_index(b->rows, Row, b->rows->len - 1);
    gsize bound = packer_bound(b->filtered_size) + BEGIN + END;
    if (!make_room(&b->packed, &b->packed_room, bound) || !make_room(&d->above, &d->above_room, row->size))
        return no_memory(bound, error);
    memcpy(d->above, b->raw + row->at, row->size);
    g_mutex_lock(&d->lock);
    d->filling++;
    if (d->helpers < d->filling - d->packing)
        call_helper(d);
    g_mutex_unlock(&d->lock);
    return emit_ready(d, d->ring_size - 1, error);
}

/* Room for n more bytes behind the raw ones. At first for a whole block, since what grows leaves holes; what
 * is not used of it is no memory yet. */
static gboolean grow_raw(Block *b, gsize n) {
    if (b->raw_size + n <= b->raw_room)
        return TRUE;
    const PngDeflate *d = b->owner;
    gsize whole = d->options.bytes <= MANY ? MIN(LARGE, d->options.bytes) : d->block_size;
    gsize room = MAX(b->raw_size + n, b->raw_room ? b->raw_room + b->raw_room / 4 : whole / 8 * 9 + n);
    guint8 *raw = g_try_realloc(b->raw, room);
    if (!raw)
        return FALSE;
    b->raw = raw;
    b->raw_room = room;
    return TRUE;
}

/* Appends a row behind its margin; NULL: zeros. */
static gsize append(Block *b, const guint8 *row, gsize size) {
    guint8 *to = b->raw + b->raw_size;
    memset(to, 0, FILTER_MARGIN);
    row ? memcpy(to + FILTER_MARGIN, row, size) : memset(to + FILTER_MARGIN, 0, size);
    b->raw_size += FILTER_MARGIN + size;
    return b->raw_size - size;
}

static gboolean is_full(const PngDeflate *d, const Block *b) {
    gboolean large = d->options.bytes <= MANY && b->alike > b->filtered_size / 8 * 7;
    return b->filtered_size >= (large ? MAX(LARGE, d->block_size) : d->block_size) || b->last;
}

gboolean png_deflate_row(PngDeflate *d, const guint8 *row, gsize size, gboolean first, GError **error) {
    Block *b = &d->ring[d->filling % d->ring_size];
    if (!grow_raw(b, 2 * (size + FILTER_MARGIN)))
        return no_memory(2 * size, error);
    if (first || !b->rows->len)
        append(b, first ? NULL : d->above, size);
    Row kept = {size, append(b, row, size)};
    const guint8 *copy = b->raw + kept.at;
    if (!first && !memcmp(copy, copy - FILTER_MARGIN - size, size))
        b->alike += size;
    g_array_append_val(b->rows, kept);
    b->filtered_size += size + 1;
    d->taken += size + 1;
    b->last = d->taken == d->options.bytes;
    return !is_full(d, b) || submit(d, error);
}

gboolean png_deflate_end(PngDeflate *d, GError **error) {
    g_assert(d->taken == d->options.bytes);
    return emit_ready(d, 0, error);
}

PngDeflate *png_deflate_new(const PngDeflateOptions *options) {
    PngDeflate *d = g_new0(PngDeflate, 1);
    d->options = *options;
    d->pixel = MAX(options->bits / 8, 1);
    d->filters = options->packing.filters                      ? options->packing.filters
                 : options->residues && options->packing.level ? FILTERS_ALL
                                                               : FILTER_NONE;
    d->options.residues = d->filters != FILTER_NONE;
    d->as_plain = options->packing.as_plain && d->options.residues && !options->packing.filters;
    guint64 blocks = (options->bytes + BLOCK - 1) / BLOCK;
    d->block_size = (options->bytes + blocks - 1) / blocks;
    d->ring_size = (guint)CLAMP(RING / (3 * MAX(d->block_size, BLOCK)), 1, 2 * cores_count(options->cores));
    d->ring = g_new0(Block, d->ring_size);
    for (guint i = 0; i < d->ring_size; i++) {
        d->ring[i].owner = d;
        d->ring[i].rows = g_array_new(FALSE, FALSE, sizeof(Row));
    }
    d->sum = 1;
    g_mutex_init(&d->lock);
    g_cond_init(&d->progress);
    d->benches = g_ptr_array_new_with_free_func(free_bench);
    return d;
}

void png_deflate_free(PngDeflate *d) {
    g_mutex_lock(&d->lock);
    d->packing = d->filling;
    while (d->helpers)
        g_cond_wait(&d->progress, &d->lock);
    g_mutex_unlock(&d->lock);
    for (guint i = 0; i < d->ring_size; i++) {
        g_free(d->ring[i].raw);
        g_array_unref(d->ring[i].rows);
        g_free(d->ring[i].packed);
    }
    g_free(d->ring);
    g_free(d->above);
    g_ptr_array_unref(d->benches);
    g_mutex_clear(&d->lock);
    g_cond_clear(&d->progress);
    g_free(d);
}
