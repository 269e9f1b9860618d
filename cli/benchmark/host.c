/* SPDX-License-Identifier: MIT
 *
 * Pixels in the memory of the host.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "../say.h"
#include "crew.h"
#include "naive.h"
#include "place.h"

enum {
    POISON = 0xa5,
    /* The destination begins so far past the source's place in a page: a load and a store whose addresses
     * share their low twelve bits wait for each other, in copies most of all. */
    APART = 2112,
    BEHIND = 64,              /* bytes past the end of the destination that must stay as they are */
    WORTH_A_THREAD = 1 << 20, /* bytes below which a copy is faster alone */
};

typedef struct {
    gsize mapped; /* of each buffer */
    guint8 *source, *target;
    guint8 *source_map, *target_map;
    Crew *crew;
} Host;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Part i of n of so many bytes, in whole pages but for the last. */
static void part_of(gsize bytes, guint i, guint n, gsize *start, gsize *end) {
    gsize share = (bytes / n + 4095) & ~(gsize)4095;
    *start = MIN(bytes, i * share);
    *end = i + 1 == n ? bytes : MIN(bytes, *start + share);
}

/* ---- Opening ---------------------------------------------------------------------------------------- */

static void fill(gpointer arg, guint i, guint n) {
    Host *host = arg;
    gsize start, end;
    GRand *random = g_rand_new_with_seed(i + 1);
    part_of(host->mapped, i, n, &start, &end);
    for (gsize at = start; at < end; at += 4) {
        guint32 bits = g_rand_int(random);
        memcpy(host->source_map + at, &bits, 4);
    }
    memset(host->target_map + start, POISON, end - start);
    g_rand_free(random);
}

/* In huge pages where the system has them, as NumPy and the library's own frames take theirs. */
static guint8 *map(gsize bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void host_close(gpointer place) {
    Host *host = place;
    if (host->crew)
        crew_free(host->crew);
    if (host->source_map)
        munmap(host->source_map, host->mapped);
    if (host->target_map)
        munmap(host->target_map, host->mapped);
    g_free(host);
}

static gpointer host_open(gsize bytes, guint threads) {
    Host *host = g_new0(Host, 1);
    host->mapped = (bytes + APART + BEHIND + 4095) & ~(gsize)4095;
    host->source_map = map(host->mapped);
    host->target_map = map(host->mapped);
    if (!host->source_map || !host->target_map) {
        host_close(host);
        return NULL;
    }
    host->source = host->source_map;
    host->target = host->target_map + APART;
    host->crew = crew_new(threads);
    crew_run(host->crew, TRUE, fill, host);
    return host;
}

/* ---- The most that can be reached ------------------------------------------------------------------- */

typedef void Copy(void *to, const void *from, gsize bytes);

static void copy_plain(void *to, const void *from, gsize bytes) {
    memcpy(to, from, bytes);
}

#ifdef __SSE2__
/* Whole lines that go to memory without being read into the cache first. `to` is aligned. */
static void copy_past_cache(void *to, const void *from, gsize bytes) {
    guint8 *t = to;
    const guint8 *f = from;
    for (; bytes >= 64; bytes -= 64, t += 64, f += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)f), b = _mm_loadu_si128((const __m128i *)(f + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(f + 32)),
                d = _mm_loadu_si128((const __m128i *)(f + 48));
        _mm_stream_si128((__m128i *)t, a);
        _mm_stream_si128((__m128i *)(t + 16), b);
        _mm_stream_si128((__m128i *)(t + 32), c);
        _mm_stream_si128((__m128i *)(t + 48), d);
    }
    memcpy(t, f, bytes);
    _mm_sfence();
}
#endif

static Copy *const copies[] = {
    copy_plain,
#ifdef __SSE2__
    copy_past_cache,
#endif
};

typedef struct {
    const Host *host;
    Copy *copy;
    gsize bytes;
} CopyJob;

static void copy_part(gpointer arg, guint i, guint n) {
    const CopyJob *job = arg;
    gsize start, end;
    part_of(job->bytes, i, n, &start, &end);
    job->copy(job->host->target + start, job->host->source + start, end - start);
}

static double host_copy(gpointer place, guint way, gsize bytes, guint threads, guint times, GError **error) {
    (void)error;
    Host *host = place;
    CopyJob job = {host, copies[way], bytes};
    double start = seconds_now();
    for (guint i = 0; i < times; i++)
        crew_run(host->crew, threads > 1 && bytes >= WORTH_A_THREAD, copy_part, &job);
    return (seconds_now() - start) / times;
}

/* ---- The turn --------------------------------------------------------------------------------------- */

static double host_turn(gpointer place, const Turn *turn, guint times, GError **error) {
    Host *host = place;
    const Pixel *pixel = turn->pixel;
    gboolean swaps = tt_swaps_axes(turn->orientation);
    gsize width = swaps ? turn->height : turn->width, height = swaps ? turn->width : turn->height;
    gssize pitch = (gssize)(turn->width * pixel_bytes(pixel)),
           turned_pitch = (gssize)(width * pixel_bytes(pixel));
    TtImage from =
        tt_image(host->source, pitch, turn->width, turn->height, pixel->channels, pixel->sample_bits);
    TtImage to = tt_image(host->target, turned_pitch, width, height, pixel->channels, pixel->sample_bits);
    TtOptions how = {sizeof(how), turn->backend, turn->threads};
    double start = seconds_now();
    for (guint i = 0; i < times; i++)
        if (tt_orient(&from, &to, turn->orientation, &how))
            return library_fault(error), -1;
    return (seconds_now() - start) / times;
}

/* ---- The check -------------------------------------------------------------------------------------- */

typedef struct {
    const Host *host;
    const Turn *turn;
    GMutex lock;
    gboolean wrong;
    gsize x, y;
} CheckJob;

static void poison_part(gpointer arg, guint i, guint n) {
    const CheckJob *job = arg;
    gsize start, end;
    part_of(picture_bytes(job->turn) + BEHIND, i, n, &start, &end);
    memset(job->host->target + start, POISON, end - start);
}

static void check_part(gpointer arg, guint i, guint n) {
    CheckJob *job = arg;
    const Turn *turn = job->turn;
    gsize height = tt_swaps_axes(turn->orientation) ? turn->width : turn->height, x, y;
    if (naive_agrees(turn, job->host->source, job->host->target, height * i / n, height * (i + 1) / n, &x,
                     &y))
        return;
    g_mutex_lock(&job->lock);
    job->wrong = TRUE;
    job->x = x;
    job->y = y;
    g_mutex_unlock(&job->lock);
}

static gboolean host_check(gpointer place, const Turn *turn, GError **error) {
    Host *host = place;
    CheckJob job = {.host = host, .turn = turn};
    crew_run(host->crew, TRUE, poison_part, &job);
    if (host_turn(host, turn, 1, error) < 0)
        return FALSE;
    crew_run(host->crew, TRUE, check_part, &job);
    if (job.wrong)
        return fault(
            error, STATUS_FAILED,
            "the pixel at (%zu, %zu) of the result is wrong: check the memory, and report it if it stays so",
            job.x, job.y);
    for (gsize i = 0; i < BEHIND; i++)
        if (host->target[picture_bytes(turn) + i] != POISON)
            return fault(
                error, STATUS_FAILED,
                "bytes past the end of the result were written: report it, and name another --backend");
    return TRUE;
}

const Place host_memory = {
    .near_title = "In the level 2 cache",
    .far_title = "From memory to memory",
    .open = host_open,
    .remedy = "free some",
    .ways = G_N_ELEMENTS(copies),
    .copy = host_copy,
    .turn = host_turn,
    .check = host_check,
    .close = host_close,
};
