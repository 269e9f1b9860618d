/* SPDX-License-Identifier: MIT
 *
 * From a move to launches: which kernel, which tiles, which numbers. Nothing here touches a GPU.
 */
#ifndef TT_CUDA_PLAN_H
#define TT_CUDA_PLAN_H

#include "../backend.h"
#include "task.h"

/* A kernel as the host sees it. */
typedef struct {
    const char *name;
    unsigned threads;
    int carveout;
    bool list; /* takes a TtTaskList, else one TtTask */
} TtCudaKernel;

enum { TT_CUDA_KERNELS_MAX = 160 };
extern const TtCudaKernel tt_cuda_kernels[];
extern const unsigned tt_cuda_kernel_count;

typedef struct {
    unsigned kernel; /* index */
    unsigned blocks, shared_bytes;
    TtTask task;
} TtCudaLaunch;

/* n images of one geometry, an equal distance apart on each side. */
typedef struct {
    size_t count;
    ptrdiff_t src_stride, dst_stride;
} TtCudaBatch;

/* Calls `launch` for each launch that the move needs, until one fails: nearly always one. `in_list`: only
 * with kernels that take lists. Samples of less than a byte are not for GPUs. */
TtStatus tt_cuda_plan(const TtMove *move, TtCudaBatch batch, bool in_list, size_t most_shared,
                      TtStatus (*launch)(void *arg, const TtCudaLaunch *launch), void *arg);

#endif
