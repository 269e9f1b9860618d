/* SPDX-License-Identifier: MIT
 *
 * A GPU in use for the length of a call: its context current, the kernels loaded into it.
 */
#ifndef TT_CUDA_DEVICE_H
#define TT_CUDA_DEVICE_H

#include "driver.h"
#include "plan.h"

typedef struct TtCudaModule TtCudaModule;

typedef struct {
    const TtDriver *driver;
    CuStream stream;
    TtCudaModule *module;
    bool entered;
} TtCudaUse;

/* Makes the context of a GPU by number current: its primary one, which stays retained. */
TtStatus tt_cuda_enter_device(int ordinal, TtCudaUse *use);

/* Makes the context current that the stream and the pixels at `pointer` belong to; `role` names them. */
TtStatus tt_cuda_enter_memory(const void *pointer, const char *role, CuStream stream, TtCudaUse *use);

/* TT_OK if the pixels at `pointer` are on the GPU in use. */
TtStatus tt_cuda_check_memory(const TtCudaUse *use, const void *pointer, const char *role);

/* Restores the context that was current before. Does nothing if the entry failed. */
void tt_cuda_leave(TtCudaUse *use);

/* Bytes of shared memory that a block may have. */
size_t tt_cuda_most_shared(const TtCudaUse *use);

/* Enqueues; for kernels that take lists `list` is used, else the task of `launch`. */
TtStatus tt_cuda_launch(const TtCudaUse *use, const TtCudaLaunch *launch, TtTaskList *list);

/* The same for a launch by itself. `arg` is the TtCudaUse. */
TtStatus tt_cuda_launch_one(void *arg, const TtCudaLaunch *launch);

#endif
