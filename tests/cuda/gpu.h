/* SPDX-License-Identifier: MIT
 *
 * The driver as a program uses it: for tests that need memory and streams on a GPU, real or not.
 */
#ifndef GPU_H
#define GPU_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../expect.h"

#define GPU_FUNCTIONS(F)                                                                                     \
    F(cuInit, "", unsigned)                                                                                  \
    F(cuDeviceGetCount, "", int *)                                                                           \
    F(cuDevicePrimaryCtxRetain, "", void **, int)                                                            \
    F(cuCtxPushCurrent, "_v2", void *)                                                                       \
    F(cuCtxPopCurrent, "_v2", void **)                                                                       \
    F(cuCtxGetCurrent, "", void **)                                                                          \
    F(cuMemAlloc, "_v2", uint64_t *, size_t)                                                                 \
    F(cuMemHostAlloc, "", void **, size_t, unsigned)                                                         \
    F(cuMemFreeHost, "", void *)                                                                             \
    F(cuMemFree, "_v2", uint64_t)                                                                            \
    F(cuMemcpyHtoD, "_v2", uint64_t, const void *, size_t)                                                   \
    F(cuMemcpyDtoH, "_v2", void *, uint64_t, size_t)                                                         \
    F(cuStreamCreate, "", void **, unsigned)                                                                 \
    F(cuStreamSynchronize, "", void *)                                                                       \
    F(cuStreamDestroy, "_v2", void *)                                                                        \
    F(cuCtxSynchronize, "", void)

static struct {
#define FIELD(name, suffix, ...) int (*name)(__VA_ARGS__);
    GPU_FUNCTIONS(FIELD)
#undef FIELD
    void *library;
    void *context;
} gpu;

#define GPU(call)                                                                                            \
    do {                                                                                                     \
        int gpu_result = gpu.call;                                                                           \
        if (gpu_result) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, gpu_result);                 \
            exit(EXIT_FAILURE);                                                                              \
        }                                                                                                    \
    } while (0)

/* GPU 0, its primary context current. Exits with 77 where there is none. */
static inline void gpu_open(void) {
    gpu.library = dlopen("libcuda.so.1", RTLD_NOW);
#define LOOK_UP(name, suffix, ...)                                                                           \
    if (gpu.library && !(*(void **)&gpu.name = dlsym(gpu.library, #name suffix)))                            \
        exit(EXIT_FAILURE);
    GPU_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (!gpu.library || gpu.cuInit(0)) {
        fprintf(stderr, "skipped: no GPU here\n");
        exit(EXIT_SKIP);
    }
    GPU(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    GPU(cuCtxPushCurrent(gpu.context));
}

/* Host memory, pinned or not. */
static inline uint8_t *gpu_host_memory(size_t bytes, bool pinned) {
    void *memory = NULL;
    if (pinned)
        GPU(cuMemHostAlloc(&memory, bytes, 0));
    else
        memory = malloc(bytes);
    return memory;
}

static inline void gpu_host_free(uint8_t *memory, bool pinned) {
    if (pinned)
        GPU(cuMemFreeHost(memory));
    else
        free(memory);
}

#endif
