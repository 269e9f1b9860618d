/* SPDX-License-Identifier: MIT
 *
 * How fast this machine turns pixels in host memory, compared with how fast it copies them.
 *
 * The limit is the better of memcpy and a copy past the cache, by as many threads, of as many bytes, between
 * the same two buffers. Turn and copies take turns, so that what else the machine does falls on all alike,
 * and each round's ratio counts, not its times: the result is the median of the rounds.
 */
#ifndef CPU_MEASURE_H
#define CPU_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <tiletranspose/tt.h>

/* The kinds of pixels that are worth a row in a table; NULL past the last. */
typedef struct {
    const char *name;
    uint32_t channels, sample_bits;
} MeasuredPixel;

extern const MeasuredPixel measured_pixels[];

typedef struct {
    const MeasuredPixel *pixel;
    size_t width, height; /* of the source */
    TtOrientation orientation;
    const char *backend; /* as TtOptions has it */
    unsigned threads;
} MeasuredCase;

typedef struct {
    double seconds;       /* of one turn */
    double gb_per_s;      /* bytes read plus bytes written */
    double copy_gb_per_s; /* of the better copy */
    double of_copy;       /* the better copy's time, divided by the turn's */
} Measured;

/* Two buffers, for all cases up to so many bytes of pixels: the source random, both touched. `huge` asks for
 * huge pages. */
typedef struct {
    uint8_t *src, *dst;
    size_t bytes;
} MeasuredBuffers;

int measure_buffers_new(MeasuredBuffers *buffers, size_t bytes, int huge);
void measure_buffers_free(MeasuredBuffers *buffers);

/* The bytes of one image of the case. */
size_t measure_bytes(const MeasuredCase *c);

/* Measures one case in so many rounds. One thread is timed by its own clock, several by the wall's. */
TtStatus measure_case(const MeasuredCase *c, const MeasuredBuffers *buffers, unsigned rounds,
                      Measured *result);

#endif
