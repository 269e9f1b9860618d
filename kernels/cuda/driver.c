/* SPDX-License-Identifier: MIT
 *
 * Opening libcuda.so.1, once for a process.
 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "../error.h"
#include "image.h"

/* Older drivers miss functions that are used. */
enum { OLDEST = 11000 };

static TtDriver driver;
static void *library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner; /* the process that initialised the driver; 0 before */

static CuResult initialise(void) {
    CuResult result = driver.cuInit(0);
    if (!result)
        result = driver.cuDriverGetVersion(&driver.version);
    return result;
}

/* Fills the table; the name of a function that is missing, or NULL. */
static const char *look_up(void) {
    const char *missing = NULL;
#define LOOK_UP(name, suffix, ...)                                                                           \
    if (!(*(void **)&driver.name = dlsym(library, #name suffix)) && !missing)                                \
        missing = #name;
    TT_CUDA_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#define LOOK_UP(name, suffix, ...) *(void **)&driver.name = dlsym(library, #name suffix);
    TT_CUDA_NEWER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return missing;
}

static TtStatus open_driver(void) {
    if (!tt_cuda_image_bytes)
        return tt_fail(TT_ERROR_NO_DEVICE,
                       "this build has no CUDA kernels: nvcc was not there to compile them");
    if (!library && !(library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)))
        return tt_fail(TT_ERROR_NO_DEVICE,
                       "no NVIDIA driver is installed here: libcuda.so.1 cannot be opened");
    const char *missing = look_up();
    if (missing)
        return tt_fail(TT_ERROR_NO_DEVICE,
                       "the NVIDIA driver is too old: its libcuda.so.1 has no %s; CUDA %d.%d is needed",
                       missing, OLDEST / 1000, OLDEST % 1000 / 10);
    CuResult result = initialise();
    if (result == CU_NO_DEVICE)
        return tt_fail(TT_ERROR_NO_DEVICE, "the NVIDIA driver finds no GPU here");
    if (result == CU_NOT_INITIALIZED)
        return tt_fail(TT_ERROR_NO_DEVICE,
                       "CUDA cannot be used in a process that was forked from one that used it");
    if (result) {
        const char *text = NULL;
        driver.cuGetErrorString(result, &text);
        return tt_fail(TT_ERROR_NO_DEVICE, "the NVIDIA driver does not start: %s (error %d)",
                       text ? text : "unknown", result);
    }
    if (driver.version < OLDEST)
        return tt_fail(TT_ERROR_NO_DEVICE,
                       "the NVIDIA driver is too old: it has CUDA %d.%d and %d.%d is needed",
                       driver.version / 1000, driver.version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
    owner = getpid();
    return TT_OK;
}

const TtDriver *tt_driver(TtStatus *status) {
    pthread_mutex_lock(&lock);
    if (!owner)
        *status = open_driver();
    else if (owner != getpid())
        *status = tt_fail(TT_ERROR_NO_DEVICE,
                          "CUDA cannot be used in a process that was forked from one that used it");
    else
        *status = TT_OK;
    pthread_mutex_unlock(&lock);
    return *status ? NULL : &driver;
}

TtStatus tt_driver_failed(const TtDriver *d, CuResult result, const char *doing) {
    const char *text = NULL;
    d->cuGetErrorString(result, &text);
    return tt_fail(result == CU_OUT_OF_MEMORY ? TT_ERROR_MEMORY : TT_ERROR_DEVICE,
                   "the GPU failed while %s: %s (error %d)", doing, text ? text : "unknown", result);
}
