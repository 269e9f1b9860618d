/* SPDX-License-Identifier: MIT
 *
 * The backend "cuda", for the table of backends.
 */
#ifndef TT_CUDA_H
#define TT_CUDA_H

#include "../backend.h"

extern const TtBackend tt_backend_cuda;

#endif
