/* SPDX-License-Identifier: MIT
 *
 * A build without nvcc: no kernels, and the driver is never opened.
 */
#include "image.h"

const unsigned char *const tt_cuda_image = NULL;
const size_t tt_cuda_image_bytes = 0;
const char *const tt_cuda_image_archs = "";
