/* SPDX-License-Identifier: MIT
 *
 * What is measured, and where the pixels are while it is.
 */
#ifndef BENCHMARK_PLACE_H
#define BENCHMARK_PLACE_H

#include <glib.h>
#include <tiletranspose/tt.h>

typedef struct {
    const char *name; /* as "rgb8" */
    guint channels, sample_bits;
} Pixel;

/* One turn of a width x height picture without gaps between its rows. */
typedef struct {
    const Pixel *pixel;
    gsize width, height;
    TtOrientation orientation;
    const char *backend;
    guint threads;
} Turn;

static inline gsize pixel_bytes(const Pixel *pixel) {
    return pixel->channels * pixel->sample_bits / 8;
}

static inline gsize picture_bytes(const Turn *turn) {
    return turn->width * turn->height * pixel_bytes(turn->pixel);
}

/* Memory of one kind: two buffers, the first full of random bytes, and what can be done from the first to
 * the second. Times are seconds for each of `times` runs in a row. */
typedef struct {
    const char *near_title, *far_title; /* of the small and of the large pictures' rows */
    /* NULL without an error if there is no memory for so much; then this is what to do. */
    gpointer (*open)(gsize bytes, guint threads);
    const char *remedy;
    guint ways; /* of copying; the best of them is the most that a turn can reach */
    /* Both negative, with an error, if one failed. */
    double (*copy)(gpointer place, guint way, gsize bytes, guint threads, guint times, GError **error);
    double (*turn)(gpointer place, const Turn *turn, guint times, GError **error);
    /* Turns once into a spoiled buffer and compares each pixel with a naive loop. */
    gboolean (*check)(gpointer place, const Turn *turn, GError **error);
    void (*close)(gpointer place);
} Place;

extern const Place host_memory, device_memory;

#endif
