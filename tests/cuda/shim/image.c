/* SPDX-License-Identifier: MIT
 *
 * In place of the compiled kernels: the fake driver has its own.
 */
#include "../../../kernels/cuda/image.h"

const unsigned char *const tt_cuda_image = (const unsigned char *)"fake";
const size_t tt_cuda_image_bytes = 4;
const char *const tt_cuda_image_archs = "cpu";
