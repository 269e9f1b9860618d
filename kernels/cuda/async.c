/* SPDX-License-Identifier: MIT
 *
 * Pixels on the GPU: everything is checked, then enqueued on the caller's stream.
 */
#include <stdio.h>
#include <string.h>

#include "../error.h"
#include "../image.h"
#include "../orient.h"
#include "device.h"
#include "image.h"

static TtStatus check_options(const TtOptions *options) {
    if (!options)
        return TT_OK;
    if (options->struct_size < sizeof(TtOptions))
        return tt_fail(TT_ERROR_ARGUMENT, "the options' struct_size is not set");
    if (options->backend && strcmp(options->backend, "auto") && strcmp(options->backend, "cuda"))
        return tt_fail(TT_ERROR_ARGUMENT, "pixels on a GPU are turned by the backend 'cuda', not '%s'",
                       options->backend);
    return TT_OK;
}

static TtStatus check(const TtImage *src, const TtImage *dst, TtOrientation o) {
    TtStatus status = tt_pair_check(src, dst, o);
    if (!status && src->sample_bits % 8)
        return tt_fail(TT_ERROR_ARGUMENT, "samples of %u bits are turned in host memory only",
                       src->sample_bits);
    return status;
}

static TtStatus enter(const TtImage *src, const TtImage *dst, TtStream stream, TtCudaUse *use) {
    TtStatus status = tt_cuda_enter_memory(src->data, "source", stream, use);
    if (!status && (status = tt_cuda_check_memory(use, dst->data, "destination")))
        tt_cuda_leave(use);
    return status;
}

TtStatus tt_orient_async(const TtImage *src, const TtImage *dst, TtOrientation o, TtStream stream,
                         const TtOptions *options) {
    return tt_orient_strided_async(src, dst, 1, 0, 0, o, stream, options);
}

/* ---- Many images of one geometry -------------------------------------------------------------------- */

/* The extent of n images together; false if it does not fit the address space. */
static bool all_of(const TtExtent *one, size_t n, ptrdiff_t stride, TtExtent *all) {
    size_t distance = stride < 0 ? -(size_t)stride : (size_t)stride, reach;
    *all = *one;
    if (__builtin_mul_overflow(n - 1, distance, &reach) || reach > PTRDIFF_MAX)
        return false;
    return stride < 0 ? !__builtin_sub_overflow(all->low, reach, &all->low)
                      : !__builtin_add_overflow(all->end, reach, &all->end);
}

/* Whether any of n sources meets any of n destinations. With equal strides only neighbours can meet; with
 * others the ranges decide, which refuses some layouts that would do. */
static bool batches_meet(const TtImage *src, const TtImage *dst, size_t n, ptrdiff_t src_stride,
                         ptrdiff_t dst_stride, const TtExtent *from, const TtExtent *to) {
    TtExtent all_from, all_to;
    all_of(from, n, src_stride, &all_from);
    all_of(to, n, dst_stride, &all_to);
    if (all_from.low >= all_to.end || all_to.low >= all_from.end)
        return false;
    if (src_stride != dst_stride || !src_stride)
        return true;
    ptrdiff_t nearest = ((ptrdiff_t)to->low - (ptrdiff_t)from->low) / src_stride;
    size_t length = (from->end - from->low) + (to->end - to->low);
    ptrdiff_t span = (ptrdiff_t)(length / (size_t)(src_stride < 0 ? -src_stride : src_stride)) + 1;
    for (ptrdiff_t k = nearest - span; k <= nearest + span; k++) {
        if ((size_t)(k < 0 ? -k : k) >= n)
            continue;
        TtImage moved = *src;
        TtExtent extent = *from;
        moved.data = (uint8_t *)src->data + k * src_stride;
        extent.low += (uintptr_t)(k * src_stride);
        extent.end += (uintptr_t)(k * src_stride);
        if (tt_images_overlap(&moved, &extent, dst, to))
            return true;
    }
    return false;
}

static TtStatus check_strides(const TtImage *src, const TtImage *dst, size_t n, ptrdiff_t src_stride,
                              ptrdiff_t dst_stride) {
    TtExtent from, to, all;
    tt_image_extent(src, "source", &from);
    tt_image_extent(dst, "destination", &to);
    if (!all_of(&from, n, src_stride, &all) || !all_of(&to, n, dst_stride, &all))
        return tt_fail(TT_ERROR_ARGUMENT, "%zu images reach past the end of the address space", n);
    size_t distance = dst_stride < 0 ? -(size_t)dst_stride : (size_t)dst_stride;
    if (distance < to.end - to.low)
        return tt_fail(TT_ERROR_ARGUMENT,
                       "the destinations' stride of %td bytes lets images of %zu bytes run into each other",
                       dst_stride, (size_t)(to.end - to.low));
    if (batches_meet(src, dst, n, src_stride, dst_stride, &from, &to))
        return tt_fail(TT_ERROR_OVERLAP,
                       "sources and destinations share memory: turn into buffers of their own");
    return TT_OK;
}

TtStatus tt_orient_strided_async(const TtImage *src, const TtImage *dst, size_t n, ptrdiff_t src_stride,
                                 ptrdiff_t dst_stride, TtOrientation o, TtStream stream,
                                 const TtOptions *options) {
    TtCudaUse use;
    TtStatus status;
    if ((status = check_options(options)) || (status = check(src, dst, o)))
        return status;
    if (!n)
        return TT_OK;
    if ((n > 1 && (status = check_strides(src, dst, n, src_stride, dst_stride))) ||
        (status = enter(src, dst, stream, &use)))
        return status;
    TtMove move = tt_move_of(src, dst, o);
    status = tt_cuda_plan(&move, (TtCudaBatch){n, src_stride, dst_stride}, false, tt_cuda_most_shared(&use),
                          tt_cuda_launch_one, &use);
    tt_cuda_leave(&use);
    return status;
}

/* ---- Lists ------------------------------------------------------------------------------------------- */

enum { PENDING = 6, MOST_BLOCKS = 0x7fffffff };

/* Launches being filled, each of another kernel. */
typedef struct {
    const TtCudaUse *use;
    TtCudaLaunch launches[PENDING];
    TtTaskList lists[PENDING];
} Lists;

static TtStatus flush(Lists *lists, unsigned i) {
    TtStatus status = TT_OK;
    if (lists->lists[i].count)
        status = tt_cuda_launch(lists->use, &lists->launches[i], &lists->lists[i]);
    lists->lists[i].count = 0;
    return status;
}

/* The list that a launch can join; else an empty one, else the fullest, flushed. */
static TtStatus list_for(Lists *lists, const TtCudaLaunch *launch, unsigned *at) {
    unsigned best = 0;
    for (unsigned i = 0; i < PENDING; i++) {
        TtTaskList *list = &lists->lists[i];
        if (list->count && lists->launches[i].kernel == launch->kernel) {
            *at = i;
            bool fits =
                list->count < TT_TASKS_MAX && launch->blocks <= MOST_BLOCKS - lists->launches[i].blocks;
            return fits ? TT_OK : flush(lists, i);
        }
        if (lists->lists[best].count && (!list->count || list->count > lists->lists[best].count))
            best = i;
    }
    *at = best;
    return flush(lists, best);
}

static TtStatus add(void *arg, const TtCudaLaunch *launch) {
    Lists *lists = arg;
    unsigned i;
    TtStatus status = list_for(lists, launch, &i);
    if (status)
        return status;
    TtTaskList *list = &lists->lists[i];
    TtCudaLaunch *whole = &lists->launches[i];
    if (!list->count) {
        whole->kernel = launch->kernel;
        whole->blocks = whole->shared_bytes = 0;
    }
    list->first[list->count] = whole->blocks;
    list->tasks[list->count++] = launch->task;
    whole->blocks += launch->blocks;
    if (whole->shared_bytes < launch->shared_bytes)
        whole->shared_bytes = launch->shared_bytes;
    return TT_OK;
}

TtStatus tt_orient_list_async(const TtImage *const *src, const TtImage *const *dst, const TtOrientation *o,
                              size_t n, TtStream stream, const TtOptions *options) {
    TtCudaUse use;
    TtStatus status = check_options(options);
    if (!status && n && (!src || !dst || !o))
        status = tt_fail(TT_ERROR_ARGUMENT, "a list of images is NULL");
    for (size_t i = 0; !status && i < n; i++)
        status = check(src[i], dst[i], o[i]);
    if (status || !n || (status = enter(src[0], dst[0], stream, &use)))
        return status;
    for (size_t i = 1; !status && i < n; i++)
        if (!(status = tt_cuda_check_memory(&use, src[i]->data, "source")))
            status = tt_cuda_check_memory(&use, dst[i]->data, "destination");

    Lists lists = {.use = &use};
    for (size_t i = 0; !status && i < n; i++) {
        TtMove move = tt_move_of(src[i], dst[i], o[i]);
        status = tt_cuda_plan(&move, (TtCudaBatch){1, 0, 0}, true, tt_cuda_most_shared(&use), add, &lists);
    }
    for (unsigned i = 0; !status && i < PENDING; i++)
        status = flush(&lists, i);
    tt_cuda_leave(&use);
    return status;
}

TtStatus tt_device_prepare(int device) {
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(device, &use);
    if (!status)
        tt_cuda_leave(&use);
    return status;
}

TtStatus tt_device_describe(int device, char *text, size_t size) {
    TtStatus status;
    CuDevice handle;
    char name[128] = "";
    int count = 0, major = 0, minor = 0;
    const TtDriver *d = tt_driver(&status);
    if (!d)
        return status;
    if (d->cuDeviceGetCount(&count) || device < 0 || device >= count || d->cuDeviceGet(&handle, device))
        return tt_fail(TT_ERROR_NO_DEVICE, "there is no GPU %d: the driver finds %d, numbered from 0", device,
                       count);
    d->cuDeviceGetName(name, sizeof(name), handle);
    d->cuDeviceGetAttribute(&major, CU_DEVICE_MAJOR, handle);
    d->cuDeviceGetAttribute(&minor, CU_DEVICE_MINOR, handle);
    snprintf(text, size, "%s, architecture %d%d, driver for CUDA %d.%d, kernels for %s", name, major, minor,
             d->version / 1000, d->version % 1000 / 10, tt_cuda_image_archs);
    return TT_OK;
}
