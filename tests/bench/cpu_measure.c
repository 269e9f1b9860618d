/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "cpu_measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MOST_THREADS = 256, MOST_ROUNDS = 1000, MARGIN = 64 };

static const double LEAST_SECONDS = 0.002; /* of a timing: small images are turned several times */

const MeasuredPixel measured_pixels[] = {
    {"u8", 1, 8},   {"u16", 1, 16}, {"rgb8", 3, 8},    {"rgba8", 4, 8},    {"rgb16", 3, 16},
    {"f32", 1, 32}, {"f64", 1, 64}, {"rgbf32", 3, 32}, {"rgbaf32", 4, 32}, {NULL, 0, 0}};

/* ---- Buffers ----------------------------------------------------------------------------------------- */

static uint8_t *pages(size_t bytes, int huge) {
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memory;
}

int measure_buffers_new(MeasuredBuffers *buffers, size_t bytes, int huge) {
    *buffers = (MeasuredBuffers){pages(bytes + MARGIN, huge), pages(bytes + MARGIN, huge), bytes};
    if (!buffers->src || !buffers->dst)
        return -1;
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(buffers->src + i, &state, 8);
    }
    memset(buffers->dst, 0xa5, bytes + MARGIN);
    return 0;
}

void measure_buffers_free(MeasuredBuffers *buffers) {
    if (buffers->src)
        munmap(buffers->src, buffers->bytes + MARGIN);
    if (buffers->dst)
        munmap(buffers->dst, buffers->bytes + MARGIN);
}

size_t measure_bytes(const MeasuredCase *c) {
    return c->width * c->height * c->pixel->channels * c->pixel->sample_bits / 8;
}

/* ---- What is timed ----------------------------------------------------------------------------------- */

typedef struct {
    uint8_t *dst;
    const uint8_t *src;
    size_t bytes;
    int past_cache;
} Copy;

static void copy_past_cache(uint8_t *dst, const uint8_t *src, size_t bytes) {
#ifdef __SSE2__
    size_t i = -(uintptr_t)dst % 64;
    memcpy(dst, src, i < bytes ? i : bytes);
    for (; i + 64 <= bytes; i += 64)
        for (size_t j = i; j < i + 64; j += 16)
            _mm_stream_si128((__m128i *)(dst + j), _mm_loadu_si128((const __m128i *)(src + j)));
    if (i < bytes)
        memcpy(dst + i, src + i, bytes - i);
    _mm_sfence();
#else
    memcpy(dst, src, bytes);
#endif
}

static void *copy_part(void *data) {
    const Copy *c = data;
    if (c->past_cache)
        copy_past_cache(c->dst, c->src, c->bytes);
    else
        memcpy(c->dst, c->src, c->bytes);
    return NULL;
}

static void copy(const MeasuredBuffers *b, size_t bytes, unsigned threads, int past_cache) {
    pthread_t helpers[MOST_THREADS];
    Copy parts[MOST_THREADS];
    int started[MOST_THREADS];
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    for (unsigned t = 0; t < threads; t++) {
        size_t from = bytes * t / threads / 64 * 64;
        size_t to = t + 1 < threads ? bytes * (t + 1) / threads / 64 * 64 : bytes;
        parts[t] = (Copy){b->dst + from, b->src + from, to - from, past_cache};
        started[t] = t && !pthread_create(&helpers[t], NULL, copy_part, &parts[t]);
        if (t && !started[t])
            copy_part(&parts[t]);
    }
    copy_part(&parts[0]);
    for (unsigned t = 1; t < threads; t++)
        if (started[t])
            pthread_join(helpers[t], NULL);
}

static TtStatus turn(const MeasuredCase *c, const MeasuredBuffers *b) {
    int swaps = tt_swaps_axes(c->orientation);
    size_t width = swaps ? c->height : c->width, height = swaps ? c->width : c->height;
    size_t bytes = c->pixel->channels * c->pixel->sample_bits / 8;
    TtImage src = tt_image(b->src, (ptrdiff_t)(c->width * bytes), c->width, c->height, c->pixel->channels,
                           c->pixel->sample_bits);
    TtImage dst = tt_image(b->dst, (ptrdiff_t)(width * bytes), width, height, c->pixel->channels,
                           c->pixel->sample_bits);
    TtOptions options = {sizeof(options), c->backend, c->threads};
    return tt_orient(&src, &dst, c->orientation, &options);
}

/* ---- Timing ------------------------------------------------------------------------------------------ */

static double now(unsigned threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef enum { TURN, MEMCPY, PAST_CACHE } What;

static double seconds(What what, const MeasuredCase *c, const MeasuredBuffers *b, unsigned times) {
    double start = now(c->threads);
    for (unsigned i = 0; i < times; i++)
        if (what == TURN)
            turn(c, b);
        else
            copy(b, measure_bytes(c), c->threads, what == PAST_CACHE);
    return (now(c->threads) - start) / times;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned n) {
    qsort(values, n, sizeof(*values), by_size);
    return values[n / 2];
}

TtStatus measure_case(const MeasuredCase *c, const MeasuredBuffers *buffers, unsigned rounds,
                      Measured *result) {
    static double turns[MOST_ROUNDS], copies[MOST_ROUNDS], ratios[MOST_ROUNDS];
    TtStatus status = turn(c, buffers); /* the first is not counted */
    if (status)
        return status;
    double once = seconds(TURN, c, buffers, 1);
    unsigned times = once < LEAST_SECONDS ? 1 + (unsigned)(LEAST_SECONDS / (once + 1e-9)) : 1;
    rounds = rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
    for (unsigned i = 0; i < rounds; i++) {
        double plain = seconds(MEMCPY, c, buffers, times), past = seconds(PAST_CACHE, c, buffers, times);
        copies[i] = plain < past ? plain : past;
        turns[i] = seconds(TURN, c, buffers, times);
        ratios[i] = copies[i] / turns[i];
    }
    result->seconds = median(turns, rounds);
    result->gb_per_s = 2e-9 * (double)measure_bytes(c) / result->seconds;
    result->copy_gb_per_s = 2e-9 * (double)measure_bytes(c) / median(copies, rounds);
    result->of_copy = median(ratios, rounds);
    return TT_OK;
}
