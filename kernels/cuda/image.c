/* SPDX-License-Identifier: MIT
 *
 * The fat binary that nvcc made, as the array that bin2c made of it.
 */
#include "image.h"

#include "cuda_image.h"

const unsigned char *const tt_cuda_image = image_array;
const size_t tt_cuda_image_bytes = sizeof(image_array);
const char *const tt_cuda_image_archs = TT_CUDA_ARCHS;
