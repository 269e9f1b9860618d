/* SPDX-License-Identifier: MIT
 *
 * Contexts, and the kernels loaded into each.
 *
 * A context that a program makes for itself may be destroyed and another be made at the same address; drivers
 * from CUDA 12 number contexts, which tells them apart.
 */
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../error.h"
#include "image.h"

enum { MAX_DEVICES = 64, PLAIN_SHARED = 48 * 1024 };

struct TtCudaModule {
    TtCudaModule *next;
    CuContext context;
    unsigned long long id;
    CuModule module;
    int most_shared; /* bytes that this GPU allows a block, if asked */
    CuFunction functions[TT_CUDA_KERNELS_MAX];
    unsigned shared_bytes[TT_CUDA_KERNELS_MAX]; /* what a function was allowed past PLAIN_SHARED */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static TtCudaModule *modules;
static CuContext primaries[MAX_DEVICES];

/* ---- Loading ----------------------------------------------------------------------------------------- */

static TtStatus load_failed(const TtDriver *d, CuResult result) {
    CuDevice device;
    int major = 0, minor = 0;
    if (!d->cuCtxGetDevice(&device)) {
        d->cuDeviceGetAttribute(&major, CU_DEVICE_MAJOR, device);
        d->cuDeviceGetAttribute(&minor, CU_DEVICE_MINOR, device);
    }
    if (result == CU_NO_BINARY || result == CU_UNSUPPORTED_PTX || result == CU_INVALID_IMAGE)
        return tt_fail(
            TT_ERROR_NO_DEVICE,
            "the kernels of this build (for %s) do not run on this GPU (%d%d) with this driver (CUDA "
            "%d.%d): update the driver or build with -Dgpu_archs=%d%d",
            tt_cuda_image_archs, major, minor, d->version / 1000, d->version % 1000 / 10, major, minor);
    return tt_driver_failed(d, result, "loading the kernels");
}

static TtStatus load(const TtDriver *d, TtCudaModule *m) {
    CuResult result = d->cuModuleLoadData(&m->module, tt_cuda_image);
    if (result)
        return load_failed(d, result);
    for (unsigned i = 0; i < tt_cuda_kernel_count; i++)
        if ((result = d->cuModuleGetFunction(&m->functions[i], m->module, tt_cuda_kernels[i].name))) {
            d->cuModuleUnload(m->module);
            return tt_driver_failed(d, result, "looking up a kernel");
        }
    CuDevice device;
    m->most_shared = PLAIN_SHARED;
    if (!d->cuCtxGetDevice(&device))
        d->cuDeviceGetAttribute(&m->most_shared, CU_DEVICE_SHARED_PER_BLOCK_OPTIN, device);
    for (unsigned i = 0; i < tt_cuda_kernel_count;
         i++) /* a preference: cards that have no choice may say no */
        if (tt_cuda_kernels[i].carveout >= 0)
            d->cuFuncSetAttribute(m->functions[i], CU_FUNCTION_CARVEOUT, tt_cuda_kernels[i].carveout);
    return TT_OK;
}

/* Loading is allowed while a stream is captured only if the thread says that it does not mind. */
static TtStatus load_uncaptured(const TtDriver *d, TtCudaModule *m) {
    int mode = CU_CAPTURE_RELAXED;
    bool exchanged = !d->cuThreadExchangeStreamCaptureMode(&mode);
    TtStatus status = load(d, m);
    if (exchanged)
        d->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* The kernels in the current context. */
static TtStatus find_module(const TtDriver *d, CuContext context, TtCudaModule **module) {
    unsigned long long id = 0; /* since another context may be made where one was */
    TtStatus status = TT_OK;
    CuResult result = d->cuCtxGetId ? d->cuCtxGetId(context, &id) : 0;
    if (result)
        return tt_driver_failed(d, result, "looking up a context");
    pthread_mutex_lock(&lock);
    for (*module = modules; *module; *module = (*module)->next)
        if ((*module)->context == context && (*module)->id == id)
            break;
    if (!*module) {
        TtCudaModule *fresh = calloc(1, sizeof(*fresh));
        status = fresh ? load_uncaptured(d, fresh)
                       : tt_fail(TT_ERROR_MEMORY, "out of memory for the table of kernels");
        if (status) {
            free(fresh);
        } else {
            fresh->context = context;
            fresh->id = id;
            fresh->next = modules;
            modules = *module = fresh;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Entering ---------------------------------------------------------------------------------------- */

static TtStatus enter(TtCudaUse *use, CuContext context) {
    CuResult result = use->driver->cuCtxPushCurrent(context);
    if (result)
        return tt_driver_failed(use->driver, result, "making its context current");
    use->entered = true;
    TtStatus status = find_module(use->driver, context, &use->module);
    if (status)
        tt_cuda_leave(use);
    return status;
}

void tt_cuda_leave(TtCudaUse *use) {
    CuContext popped;
    if (use->entered)
        use->driver->cuCtxPopCurrent(&popped);
    use->entered = false;
}

static TtStatus primary_of(const TtDriver *d, int ordinal, CuContext *context) {
    CuDevice device;
    CuResult result = CU_NO_DEVICE;
    int count = 0;
    if (ordinal < 0 || ordinal >= MAX_DEVICES || (result = d->cuDeviceGetCount(&count)) || ordinal >= count)
        return tt_fail(TT_ERROR_NO_DEVICE, "there is no GPU %d: the driver finds %d, numbered from 0",
                       ordinal, count);
    pthread_mutex_lock(&lock);
    result = 0;
    if (!primaries[ordinal] && !(result = d->cuDeviceGet(&device, ordinal)))
        result = d->cuDevicePrimaryCtxRetain(&primaries[ordinal], device);
    if (result)
        primaries[ordinal] = NULL;
    *context = primaries[ordinal];
    pthread_mutex_unlock(&lock);
    return result ? tt_driver_failed(d, result, "starting a context") : TT_OK;
}

TtStatus tt_cuda_enter_device(int ordinal, TtCudaUse *use) {
    TtStatus status;
    CuContext context;
    memset(use, 0, sizeof(*use));
    if (!(use->driver = tt_driver(&status)) || (status = primary_of(use->driver, ordinal, &context)))
        return status;
    return enter(use, context);
}

typedef struct {
    CuContext context;
    int type, ordinal;
} Owner;

static TtStatus owner_of(const TtDriver *d, const void *pointer, const char *role, Owner *owner) {
    int attributes[] = {CU_POINTER_CONTEXT, CU_POINTER_MEMORY_TYPE, CU_POINTER_DEVICE_ORDINAL};
    void *values[] = {&owner->context, &owner->type, &owner->ordinal};
    memset(owner, 0, sizeof(*owner));
    owner->ordinal = -1;
    CuResult result = d->cuPointerGetAttributes(3, attributes, values, (CuPointer)(uintptr_t)pointer);
    if (result)
        return tt_driver_failed(d, result,
                                "looking up whose memory a pointer is (perhaps of an earlier failure)");
    if (!owner->type || owner->ordinal < 0)
        return tt_fail(TT_ERROR_ARGUMENT, "the %s image's data is not memory that a GPU can reach", role);
    return TT_OK;
}

/* Streams without a handle, NULL and the two default ones, belong to whichever context is current. */
static bool is_default(CuStream stream) {
    return (uintptr_t)stream <= 2;
}

TtStatus tt_cuda_enter_memory(const void *pointer, const char *role, CuStream stream, TtCudaUse *use) {
    TtStatus status;
    Owner owner;
    memset(use, 0, sizeof(*use));
    if (!(use->driver = tt_driver(&status)) || (status = owner_of(use->driver, pointer, role, &owner)))
        return status;
    CuContext context = owner.context;
    if (!is_default(stream)) {
        CuResult result = use->driver->cuStreamGetCtx(stream, &context);
        if (result)
            return tt_driver_failed(use->driver, result, "looking up the stream's context");
    } else if (!context && (status = primary_of(use->driver, owner.ordinal, &context))) {
        return status; /* memory of a pool belongs to a device, not to a context */
    }
    use->stream = stream;
    if ((status = enter(use, context)) || (status = tt_cuda_check_memory(use, pointer, role)))
        tt_cuda_leave(use);
    return status;
}

TtStatus tt_cuda_check_memory(const TtCudaUse *use, const void *pointer, const char *role) {
    const TtDriver *d = use->driver;
    CuDevice current, own;
    Owner owner;
    TtStatus status = owner_of(d, pointer, role, &owner);
    if (status)
        return status;
    CuResult result = d->cuCtxGetDevice(&current);
    if (!result)
        result = d->cuDeviceGet(&own, owner.ordinal);
    if (result)
        return tt_driver_failed(d, result, "looking up its number");
    if (current != own)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the %s image is on GPU %d, but the stream or another image is on a different one",
                       role, owner.ordinal);
    return TT_OK;
}

size_t tt_cuda_most_shared(const TtCudaUse *use) {
    return (size_t)use->module->most_shared;
}

/* ---- Launching --------------------------------------------------------------------------------------- */

/* More shared memory than kernels get unasked. Asking twice is harmless, so threads need not agree. */
static CuResult allow_shared(const TtCudaUse *use, unsigned kernel, unsigned bytes) {
    TtCudaModule *m = use->module;
    if (bytes <= PLAIN_SHARED || bytes <= __atomic_load_n(&m->shared_bytes[kernel], __ATOMIC_RELAXED))
        return 0;
    CuResult result =
        use->driver->cuFuncSetAttribute(m->functions[kernel], CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes);
    if (!result)
        __atomic_store_n(&m->shared_bytes[kernel], bytes, __ATOMIC_RELAXED);
    return result;
}

TtStatus tt_cuda_launch(const TtCudaUse *use, const TtCudaLaunch *l, TtTaskList *list) {
    const TtCudaKernel *kernel = &tt_cuda_kernels[l->kernel];
    void *parameters[] = {kernel->list ? (void *)list : (void *)&l->task};
    CuResult result = allow_shared(use, l->kernel, l->shared_bytes);
    if (!result)
        result =
            use->driver->cuLaunchKernel(use->module->functions[l->kernel], l->blocks, 1, 1, kernel->threads,
                                        1, 1, l->shared_bytes, use->stream, parameters, NULL);
    return result ? tt_driver_failed(use->driver, result, "starting a kernel") : TT_OK;
}

TtStatus tt_cuda_launch_one(void *arg, const TtCudaLaunch *launch) {
    TtTaskList list;
    if (tt_cuda_kernels[launch->kernel].list) {
        list.count = 1;
        list.first[0] = 0;
        list.tasks[0] = launch->task;
    }
    return tt_cuda_launch(arg, launch, &list);
}
