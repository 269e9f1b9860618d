/* SPDX-License-Identifier: MIT
 *
 * Pixels in the memory of a GPU, through the driver: the library's own calls need none of this.
 */
#include <dlfcn.h>
#include <string.h>

#include "../say.h"
#include "naive.h"
#include "place.h"

enum {
    POISON = 0xa5,
    BEHIND = 64,     /* bytes past the end of the destination that must stay as they are */
    LEAST_RUNS = 20, /* between two events, so that what a first launch takes longer does not count */
};

typedef unsigned long long DevicePointer;

/* The driver's functions that are used, as name, suffix of the symbol and parameters. */
#define FUNCTIONS(F)                                                                                         \
    F(cuInit, "", (unsigned))                                                                                \
    F(cuDeviceGet, "", (int *, int))                                                                         \
    F(cuDevicePrimaryCtxRetain, "", (void **, int))                                                          \
    F(cuDevicePrimaryCtxRelease, "_v2", (int))                                                               \
    F(cuCtxSetCurrent, "", (void *))                                                                         \
    F(cuCtxSynchronize, "", (void))                                                                          \
    F(cuMemAlloc, "_v2", (DevicePointer *, size_t))                                                          \
    F(cuMemFree, "_v2", (DevicePointer))                                                                     \
    F(cuMemcpyHtoD, "_v2", (DevicePointer, const void *, size_t))                                            \
    F(cuMemcpyDtoH, "_v2", (void *, DevicePointer, size_t))                                                  \
    F(cuMemcpyDtoDAsync, "_v2", (DevicePointer, DevicePointer, size_t, void *))                              \
    F(cuMemsetD8, "_v2", (DevicePointer, unsigned char, size_t))                                             \
    F(cuEventCreate, "", (void **, unsigned))                                                                \
    F(cuEventDestroy, "_v2", (void *))                                                                       \
    F(cuEventRecord, "", (void *, void *))                                                                   \
    F(cuEventSynchronize, "", (void *))                                                                      \
    F(cuEventElapsedTime, "", (float *, void *, void *))

typedef struct {
#define MEMBER(name, suffix, parameters) int(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} Driver;

typedef struct {
    Driver cuda;
    gboolean retained;
    void *events[2];
    DevicePointer source, target;
    guint8 *source_copy, *result; /* in host memory, for the check */
} Device;

static gboolean find_driver(Driver *cuda) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define FIND(name, suffix, parameters)                                                                       \
    if (!library || !(*(void **)&cuda->name = dlsym(library, #name suffix)))                                 \
        return FALSE;
    FUNCTIONS(FIND)
#undef FIND
    return TRUE;
}

static void device_close(gpointer place) {
    Device *d = place;
    for (int i = 0; i < 2; i++)
        if (d->events[i])
            d->cuda.cuEventDestroy(d->events[i]);
    if (d->source)
        d->cuda.cuMemFree(d->source);
    if (d->target)
        d->cuda.cuMemFree(d->target);
    if (d->retained)
        d->cuda.cuDevicePrimaryCtxRelease(0);
    g_free(d->source_copy);
    g_free(d->result);
    g_free(d);
}

static gboolean make_buffers(Device *d, gsize bytes) {
    void *context;
    if (d->cuda.cuInit(0) || d->cuda.cuDevicePrimaryCtxRetain(&context, 0))
        return FALSE;
    d->retained = TRUE;
    return !d->cuda.cuCtxSetCurrent(context) && !d->cuda.cuEventCreate(&d->events[0], 0) &&
           !d->cuda.cuEventCreate(&d->events[1], 0) && !d->cuda.cuMemAlloc(&d->source, bytes) &&
           !d->cuda.cuMemAlloc(&d->target, bytes + BEHIND) && (d->source_copy = g_try_malloc(bytes)) &&
           (d->result = g_try_malloc(bytes + BEHIND));
}

static gpointer device_open(gsize bytes, guint threads) {
    (void)threads;
    Device *d = g_new0(Device, 1);
    GRand *random = g_rand_new_with_seed(1);
    gboolean good = find_driver(&d->cuda) && make_buffers(d, bytes);
    for (gsize at = 0; good && at + 4 <= bytes; at += 4) {
        guint32 bits = g_rand_int(random);
        memcpy(d->source_copy + at, &bits, 4);
    }
    g_rand_free(random);
    if (good && !d->cuda.cuMemcpyHtoD(d->source, d->source_copy, bytes))
        return d;
    device_close(d);
    return NULL;
}

static gboolean gpu_fault(GError **error) {
    return fault(error, STATUS_FAILED, "the GPU failed: see the system's log of its driver");
}

/* Seconds for each of the runs that were queued since events[0]. */
static double seconds_of(Device *d, guint times, GError **error) {
    float milliseconds;
    if (d->cuda.cuEventRecord(d->events[1], NULL) || d->cuda.cuEventSynchronize(d->events[1]) ||
        d->cuda.cuEventElapsedTime(&milliseconds, d->events[0], d->events[1]))
        return gpu_fault(error), -1;
    return milliseconds / 1e3 / times;
}

static double device_copy(gpointer place, guint way, gsize bytes, guint threads, guint times,
                          GError **error) {
    (void)way;
    (void)threads;
    Device *d = place;
    times = MAX(times, LEAST_RUNS);
    int failed = d->cuda.cuEventRecord(d->events[0], NULL);
    for (guint i = 0; !failed && i < times; i++)
        failed = d->cuda.cuMemcpyDtoDAsync(d->target, d->source, bytes, NULL);
    return failed ? gpu_fault(error), -1 : seconds_of(d, times, error);
}

static double device_turn(gpointer place, const Turn *turn, guint times, GError **error) {
    Device *d = place;
    const Pixel *pixel = turn->pixel;
    gboolean swaps = tt_swaps_axes(turn->orientation);
    gsize width = swaps ? turn->height : turn->width, height = swaps ? turn->width : turn->height;
    TtImage from = tt_image((void *)(gsize)d->source, (gssize)(turn->width * pixel_bytes(pixel)), turn->width,
                            turn->height, pixel->channels, pixel->sample_bits);
    TtImage to = tt_image((void *)(gsize)d->target, (gssize)(width * pixel_bytes(pixel)), width, height,
                          pixel->channels, pixel->sample_bits);
    times = MAX(times, LEAST_RUNS);
    if (d->cuda.cuEventRecord(d->events[0], NULL))
        return gpu_fault(error), -1;
    for (guint i = 0; i < times; i++)
        if (tt_orient_async(&from, &to, turn->orientation, NULL, NULL))
            return library_fault(error), -1;
    return seconds_of(d, times, error);
}

static gboolean device_check(gpointer place, const Turn *turn, GError **error) {
    Device *d = place;
    gsize bytes = picture_bytes(turn), x, y;
    gsize rows = tt_swaps_axes(turn->orientation) ? turn->width : turn->height;
    if (d->cuda.cuMemsetD8(d->target, POISON, bytes + BEHIND))
        return gpu_fault(error);
    if (device_turn(d, turn, 1, error) < 0)
        return FALSE;
    if (d->cuda.cuCtxSynchronize() || d->cuda.cuMemcpyDtoH(d->result, d->target, bytes + BEHIND))
        return gpu_fault(error);
    if (!naive_agrees(turn, d->source_copy, d->result, 0, rows, &x, &y))
        return fault(
            error, STATUS_FAILED,
            "the pixel at (%zu, %zu) of the result is wrong: check the memory, and report it if it stays so",
            x, y);
    for (gsize i = 0; i < BEHIND; i++)
        if (d->result[bytes + i] != POISON)
            return fault(
                error, STATUS_FAILED,
                "bytes past the end of the result were written: report it, and name another --backend");
    return TRUE;
}

const Place device_memory = {
    .near_title = "On the GPU, pictures so small that a launch counts",
    .far_title = "From the GPU's memory to the GPU's memory",
    .open = device_open,
    .remedy = "nvidia-smi shows what else uses the GPU, and whether it works",
    .ways = 1,
    .copy = device_copy,
    .turn = device_turn,
    .check = device_check,
    .close = device_close,
};
