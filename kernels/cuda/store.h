/* SPDX-License-Identifier: MIT */
#ifndef TT_CUDA_STORE_H
#define TT_CUDA_STORE_H

#include "../frame/store.h"

/* The picture in the memory of options->device. Whole bytes a sample. TT_ERROR_MEMORY if it has not so much,
 * TT_ERROR_NO_DEVICE if there is no such GPU. `threads` copy between the caller's memory and pinned memory.
 */
TtStatus tt_store_device_new(const TtImage *result, const TtFrameOptions *options, unsigned threads,
                             TtStore **store);

#endif
