/* SPDX-License-Identifier: MIT
 *
 * The driver's library, libcuda.so.1, opened when first needed. The few types and functions of its stable
 * interface that are used are declared here, so that building needs no CUDA headers.
 */
#ifndef TT_CUDA_DRIVER_H
#define TT_CUDA_DRIVER_H

#include "../tiletranspose/tt.h"

typedef int CuResult; /* 0 is success */
typedef int CuDevice;
typedef struct CuContextStruct *CuContext;
typedef struct CuModuleStruct *CuModule;
typedef struct CuFunctionStruct *CuFunction;
typedef struct CuStreamStruct *CuStream;
typedef struct CuEventStruct *CuEvent;
typedef uint64_t CuPointer;

enum {
    CU_OUT_OF_MEMORY = 2,
    CU_NOT_INITIALIZED = 3,
    CU_NO_DEVICE = 100,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY = 209,
    CU_UNSUPPORTED_PTX = 222,

    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2,

    CU_POINTER_CONTEXT = 1,
    CU_POINTER_MEMORY_TYPE = 2,
    CU_POINTER_DEVICE_POINTER = 3,
    CU_POINTER_DEVICE_ORDINAL = 9,
    CU_POINTER_RANGE_START = 11,
    CU_POINTER_RANGE_SIZE = 12,

    CU_DEVICE_MAJOR = 75,
    CU_DEVICE_MINOR = 76,
    CU_DEVICE_SHARED_PER_BLOCK_OPTIN = 97,

    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_FUNCTION_CARVEOUT = 9,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_NO_TIMING = 2,
    CU_CAPTURE_RELAXED = 2,
};

typedef struct {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    CuPointer src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    CuPointer dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width_bytes, height;
} CuCopy2D;

/* name, version suffix of the symbol, parameters. Those in the second list may be missing in an old driver.
 */
#define TT_CUDA_FUNCTIONS(F)                                                                                 \
    F(cuInit, "", unsigned flags)                                                                            \
    F(cuDriverGetVersion, "", int *version)                                                                  \
    F(cuGetErrorName, "", CuResult error, const char **name)                                                 \
    F(cuGetErrorString, "", CuResult error, const char **text)                                               \
    F(cuDeviceGetCount, "", int *count)                                                                      \
    F(cuDeviceGet, "", CuDevice *device, int ordinal)                                                        \
    F(cuDeviceGetName, "", char *name, int length, CuDevice device)                                          \
    F(cuDeviceGetAttribute, "", int *value, int attribute, CuDevice device)                                  \
    F(cuDevicePrimaryCtxRetain, "", CuContext *context, CuDevice device)                                     \
    F(cuDevicePrimaryCtxRelease, "_v2", CuDevice device)                                                     \
    F(cuCtxPushCurrent, "_v2", CuContext context)                                                            \
    F(cuCtxPopCurrent, "_v2", CuContext *context)                                                            \
    F(cuCtxGetDevice, "", CuDevice *device)                                                                  \
    F(cuPointerGetAttributes, "", unsigned count, int *attributes, void **values, CuPointer pointer)         \
    F(cuModuleLoadData, "", CuModule *module, const void *image)                                             \
    F(cuModuleUnload, "", CuModule module)                                                                   \
    F(cuModuleGetFunction, "", CuFunction *function, CuModule module, const char *name)                      \
    F(cuFuncSetAttribute, "", CuFunction function, int attribute, int value)                                 \
    F(cuLaunchKernel, "", CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,            \
      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,          \
      void **parameters, void **extra)                                                                       \
    F(cuStreamGetCtx, "", CuStream stream, CuContext *context)                                               \
    F(cuThreadExchangeStreamCaptureMode, "", int *mode)                                                      \
    F(cuMemGetInfo, "_v2", size_t *available, size_t *total)                                                 \
    F(cuMemAlloc, "_v2", CuPointer *pointer, size_t bytes)                                                   \
    F(cuMemFree, "_v2", CuPointer pointer)                                                                   \
    F(cuMemcpy2DAsync, "_v2", const CuCopy2D *copy, CuStream stream)                                         \
    F(cuStreamCreate, "", CuStream *stream, unsigned flags)                                                  \
    F(cuStreamSynchronize, "", CuStream stream)                                                              \
    F(cuStreamDestroy, "_v2", CuStream stream)                                                               \
    F(cuMemHostAlloc, "", void **pointer, size_t bytes, unsigned flags)                                      \
    F(cuMemFreeHost, "", void *pointer)                                                                      \
    F(cuEventCreate, "", CuEvent *event, unsigned flags)                                                     \
    F(cuEventRecord, "", CuEvent event, CuStream stream)                                                     \
    F(cuEventSynchronize, "", CuEvent event)                                                                 \
    F(cuEventDestroy, "_v2", CuEvent event)

#define TT_CUDA_NEWER_FUNCTIONS(F) F(cuCtxGetId, "", CuContext context, unsigned long long *id)

typedef struct {
#define FIELD(name, suffix, ...) CuResult (*name)(__VA_ARGS__);
    TT_CUDA_FUNCTIONS(FIELD)
    TT_CUDA_NEWER_FUNCTIONS(FIELD)
#undef FIELD
    int version; /* of the driver's interface: 12040 is 12.4 */
} TtDriver;

/* The driver, initialised; or NULL, and *status and tt_last_error() say what is wrong: no kernels in this
 * build, no library, one too old, no device, a process forked from one that used it. */
const TtDriver *tt_driver(TtStatus *status);

/* What a failed call means; `doing` is what was being done. */
TtStatus tt_driver_failed(const TtDriver *driver, CuResult result, const char *doing);

#endif
