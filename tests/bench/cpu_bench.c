/* SPDX-License-Identifier: MIT
 *
 * The CPU's kernels on this machine, as fractions of a copy:
 *
 *     cpu_bench [--backend NAME] [--threads N] [--rounds N] [--megabytes N] [--huge] [--only PIXEL]
 *
 * A row for each kind of pixel; far beyond the cache and within the level-2 cache; aligned sizes, odd ones,
 * and powers of two with both neighbours; a turn, a mirror, a half turn.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_measure.h"

static const char *backend = "cpu", *only;
static unsigned threads = 1, rounds = 7;
static size_t megabytes = 128;
static MeasuredBuffers buffers;

static void one(const MeasuredPixel *pixel, size_t width, size_t height, TtOrientation o) {
    MeasuredCase c = {pixel, width, height, o, backend, threads};
    Measured m;
    if (measure_bytes(&c) > buffers.bytes)
        return;
    if (measure_case(&c, &buffers, rounds, &m)) {
        fprintf(stderr, "%s\n", tt_last_error());
        exit(1);
    }
    printf("%-8s %-9s %6zu x %-6zu %-9s %7.2f GB/s, copy %7.2f, of copy %.2f\n", pixel->name, backend, width,
           height, tt_orientation_name(o), m.gb_per_s, m.copy_gb_per_s, m.of_copy);
    fflush(stdout);
}

static void all(const MeasuredPixel *pixel) {
    static const TtOrientation turns[] = {TT_ROT90, TT_FLIPH, TT_ROT180, TT_FLIPV};
    size_t bytes = pixel->channels * pixel->sample_bits / 8;
    size_t side = (size_t)sqrt((double)(megabytes * 1000000 / bytes)), power = 1;
    size_t even = side / 64 * 64 + (side / 64 * 64 * bytes % 1024 ? 0 : 64), odd = (side - 4) | 1;
    size_t in_l2 = (size_t)sqrt(384e3 / (double)bytes) / 16 * 16;
    while (2 * power < side)
        power *= 2;
    for (int i = 0; i < 4; i++) {
        one(pixel, even, even, turns[i]);
        one(pixel, odd, odd + 2, turns[i]);
    }
    one(pixel, power, power, TT_ROT90);
    one(pixel, power - 64, power - 64, TT_ROT90);
    one(pixel, power + 64, power + 64, TT_ROT90);
    for (int i = 0; i < 3; i++)
        one(pixel, in_l2, in_l2, turns[i]);
    one(pixel, in_l2 | 1, in_l2 - 3, TT_ROT90);
}

static int usage(void) {
    fprintf(stderr, "usage: cpu_bench [--backend NAME] [--threads N] [--rounds N] [--megabytes N] [--huge] "
                    "[--only PIXEL]\n");
    return 2;
}

int main(int argc, char **argv) {
    int huge = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--huge"))
            huge = 1;
        else if (!*value)
            return usage();
        else if (!strcmp(argv[i], "--backend"))
            backend = argv[++i];
        else if (!strcmp(argv[i], "--threads"))
            threads = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--rounds"))
            rounds = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--megabytes"))
            megabytes = (size_t)atol(argv[++i]);
        else if (!strcmp(argv[i], "--only"))
            only = argv[++i];
        else
            return usage();
    }
    if (!threads || !rounds || !megabytes)
        return usage();
    if (measure_buffers_new(&buffers, megabytes * 1250000, huge)) {
        fprintf(stderr, "not enough memory\n");
        return 1;
    }
    for (const MeasuredPixel *p = measured_pixels; p->name; p++)
        if (!only || !strcmp(only, p->name))
            all(p);
    measure_buffers_free(&buffers);
    return 0;
}
