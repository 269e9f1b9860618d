/* SPDX-License-Identifier: MIT
 *
 * The library's kernels, compiled for the CPU, by name.
 */
#ifndef TT_SHIM_KERNELS_H
#define TT_SHIM_KERNELS_H

#include <stddef.h>

typedef struct {
    void (*run)(const void *parameter); /* one thread of it; NULL: there is no such kernel */
    size_t parameter_bytes;
} ShimKernel;

ShimKernel shim_kernel(const char *name);

#endif
