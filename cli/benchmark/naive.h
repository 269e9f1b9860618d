/* SPDX-License-Identifier: MIT
 *
 * The turn as anyone would write it, to compare with.
 */
#ifndef BENCHMARK_NAIVE_H
#define BENCHMARK_NAIVE_H

#include "place.h"

/* Compares rows [first, end) of the turned picture with the source. FALSE, and where in *x and *y, if a
 * pixel is wrong. It shares nothing with the library: not its turns, and not its algebra. */
gboolean naive_agrees(const Turn *turn, const guint8 *source, const guint8 *turned, gsize first, gsize end,
                      gsize *x, gsize *y);

#endif
