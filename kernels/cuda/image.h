/* SPDX-License-Identifier: MIT
 *
 * The compiled kernels: a fat binary, made by nvcc and built in.
 */
#ifndef TT_CUDA_IMAGE_H
#define TT_CUDA_IMAGE_H

#include <stddef.h>

extern const unsigned char *const tt_cuda_image;
extern const size_t tt_cuda_image_bytes;      /* 0: a build without nvcc */
extern const char *const tt_cuda_image_archs; /* "75 80 90": the architectures with machine code */

#endif
