/* SPDX-License-Identifier: MIT
 *
 * What the shim's libcuda.so.1 offers beside the driver's functions (shim/libcuda.cc).
 */
#ifndef CUDA_FAKE_H
#define CUDA_FAKE_H

#include <stdbool.h>

#include "gpu.h"

static struct {
    void (*fail_at)(long);
    long (*calls)(void);
    long (*left)(void);
    void (*memory_limit)(size_t);
} fake;

/* After gpu_open(). False where the library is a real one. */
static inline bool fake_open(void) {
    *(void **)&fake.fail_at = dlsym(gpu.library, "fake_fail_at");
    *(void **)&fake.calls = dlsym(gpu.library, "fake_calls");
    *(void **)&fake.left = dlsym(gpu.library, "fake_left");
    *(void **)&fake.memory_limit = dlsym(gpu.library, "fake_memory_limit");
    return fake.fail_at && fake.calls && fake.left && fake.memory_limit;
}

#endif
