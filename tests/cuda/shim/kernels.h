/* SPDX-License-Identifier: MIT
 *
 * The library's kernels, compiled for the CPU, by name.
 */
#ifndef TT_SHIM_KERNELS_H
#define TT_SHIM_KERNELS_H

/* Runs one thread of a kernel with its parameter. */
typedef void (*ShimKernel)(const void *parameter);

/* NULL if there is none. */
ShimKernel shim_kernel(const char *name);

#endif
