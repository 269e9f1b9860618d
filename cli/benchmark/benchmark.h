/* SPDX-License-Identifier: MIT
 *
 * imgtranspose --benchmark: how fast this machine turns pictures, and how near that is to copying them.
 */
#ifndef BENCHMARK_H
#define BENCHMARK_H

#include "../options.h"

/* Measures, shows a table and writes the report that the options ask for. FALSE and an error whose code is
 * the exit status when a backend is missing, when a turned pixel is wrong, or once *cancel is not 0. */
gboolean benchmark(const Options *options, const atomic_int *cancel, GError **error);

#endif
