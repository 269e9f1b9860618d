/* SPDX-License-Identifier: MIT
 *
 * Tensors of other libraries, by DLPack, as images of this one. Nothing is copied and nothing is kept.
 *
 *     TtTensor from, to;
 *     const char *why;
 *     if (tt_tensor_open(capsule, "NHWC", 0, &from, &why) ||
 *         tt_tensor_open(result, "NCHW", 1, &to, &why))
 *         return complain(why);
 *     TtOrientation turn = tt_tensor_turn(&from, TT_ROT90, &to);
 *     if (tt_orient_strided_async(&from.image, &to.image, from.count,
 *         from.stride, to.stride, turn, stream, NULL))
 *         return complain(tt_last_error());
 *
 * The types are those of DLPack 1.x. Its dlpack.h is taken if it was included before or is found as
 * <dlpack/dlpack.h>; otherwise they are declared here, as its ABI has them. All is static inline: a program
 * that uses it links nothing more.
 *
 * Units, errors and threads are as in tt.h, but messages are static words in *why and not in
 * tt_last_error(). The pixels belong to the tensor: whoever holds it calls its deleter once they are no
 * longer used, which for work on a stream is when the stream has got there. Order between the producer's
 * stream and the one that turns is what the two agreed on when the tensor was handed over.
 */
#ifndef TILETRANSPOSE_TT_DLPACK_H
#define TILETRANSPOSE_TT_DLPACK_H

#include "tt.h"

#if !defined DLPACK_DLPACK_H_ && defined __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
typedef struct {
    uint32_t major, minor;
} DLPackVersion;

/* A C enum of DLPack's, of which these are used here. */
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;

typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides; /* counted in elements; strides NULL: each axis lies close in the one before */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#endif

/* A tensor as images of one geometry. */
typedef struct {
    TtImage image;      /* the first of them */
    size_t count;       /* how many: 1 where there is no axis N */
    ptrdiff_t stride;   /* bytes from an image to the next, for tt_orient_strided_async(); 0: no axis N */
    TtOrientation seen; /* the tensor's axes show what this makes of the image: TT_NONE, unless the tensor is
                           a view that was mirrored or transposed */
    int on_gpu;         /* 0: host memory, for tt_orient(); else for tt_orient_async() */
    int device;         /* the GPU's number */
} TtTensor;

/* The turn between the images that makes the tensor `to` the tensor `from` turned by o. */
static inline TtOrientation tt_tensor_turn(const TtTensor *from, TtOrientation o, const TtTensor *to) {
    return tt_compose(tt_compose(from->seen, o), tt_invert(to->seen));
}

/* ---- What is refused ----------------------------------------------------------------------------------
 *
 * Views a DLTensor as images. `layout` has a letter an axis, in the tensor's order: H and W, and C and N
 * where there are such; "HW", "HWC", "CHW", "NHWC", "NCHW" or any other order.
 *
 * TT_ERROR_ARGUMENT, with one static line in *why (which may be NULL), for
 *   - a layout of other letters, without H or W, with one twice, or of another number of axes than the
 *     tensor's;
 *   - an axis without elements: there is nothing to turn;
 *   - elements that are not whole bytes, lanes included: DLPack packs smaller ones from the least significant
 *     bit, tt_orient() from the most;
 *   - strides that leave gaps in a row, between samples of a pixel, or of a plane: [:, ::2], RGB cut out of
 *     RGBA, channels in reverse. Rows, planes and images may have any distance, of either sign;
 *   - memory that is neither the host's (pinned or not) nor an NVIDIA GPU's (managed or not);
 *   - sizes that TtImage cannot count.
 * Rows that overlap, or an image that overlaps the other, are found by the call that turns. */
static inline TtStatus tt_tensor_view(const DLTensor *tensor, const char *layout, TtTensor *view,
                                      const char **why);

/* The same of what the capsule "dltensor_versioned" holds; `for_writing` also refuses a tensor that is
 * marked read-only. Of another major version of DLPack than 1 nothing is looked at: the caller may only call
 * its deleter. */
static inline TtStatus tt_tensor_open(const DLManagedTensorVersioned *managed, const char *layout,
                                      int for_writing, TtTensor *view, const char **why);

/* ---- How ----------------------------------------------------------------------------------------------- */

static inline TtStatus tt_tensor_refuse(const char *words, const char **why) {
    if (why)
        *why = words;
    return TT_ERROR_ARGUMENT;
}

/* One axis, its stride in bytes. An axis that the layout does not name has one element. */
typedef struct {
    size_t length;
    ptrdiff_t stride;
} TtTensorAxis;

static inline int tt_tensor_steps(TtTensorAxis axis, size_t bytes) {
    return axis.length == 1 || (size_t)axis.stride == bytes || -(size_t)axis.stride == bytes;
}

/* The axes N, H, W and C, in this order. */
static inline TtStatus tt_tensor_axes(const DLTensor *tensor, const char *layout, size_t bytes,
                                      TtTensorAxis axes[4], const char **why) {
    static const char letters[] = "NHWC";
    int64_t most = (int64_t)(PTRDIFF_MAX / bytes), packed = 1;
    unsigned found = 0;
    for (int i = 0; i < 4; i++) {
        axes[i].length = 1;
        axes[i].stride = 0;
    }
    int32_t count = 0;
    while (layout && layout[count])
        count++;
    if (count != tensor->ndim)
        return tt_tensor_refuse("the layout has not as many axes as the tensor", why);
    for (int32_t i = count; i-- > 0;) {
        int axis = 0;
        while (axis < 4 && letters[axis] != layout[i])
            axis++;
        if (axis == 4 || found & 1U << axis)
            return tt_tensor_refuse("the layout needs H and W, may have N and C, and nothing twice", why);
        found |= 1U << axis;
        int64_t length = tensor->shape[i];
        /* That of a single element is never taken, and may be any number. */
        int64_t stride = tensor->strides && length != 1 ? tensor->strides[i] : packed;
        if (length < 1)
            return tt_tensor_refuse("the tensor has no pixels", why);
        if (length > most || stride > most || stride < -most || packed > most / length)
            return tt_tensor_refuse("the tensor is too large to address", why);
        packed *= length;
        axes[axis].length = (size_t)length;
        axes[axis].stride = (ptrdiff_t)(stride * (int64_t)bytes);
    }
    if ((found & 6) != 6)
        return tt_tensor_refuse("the layout needs H and W, may have N and C, and nothing twice", why);
    return TT_OK;
}

static inline TtStatus tt_tensor_view(const DLTensor *tensor, const char *layout, TtTensor *view,
                                      const char **why) {
    TtTensorAxis axes[4];
    if (!tensor)
        return tt_tensor_refuse("the tensor is NULL", why);
    size_t bits = (size_t)tensor->dtype.bits * tensor->dtype.lanes, bytes = bits / 8;
    if (!bytes || bits % 8)
        return tt_tensor_refuse("the tensor's elements are not whole bytes", why);
    int device = (int)tensor->device.device_type;
    view->on_gpu = device == kDLCUDA || device == kDLCUDAManaged;
    view->device = view->on_gpu ? tensor->device.device_id : 0;
    if (!view->on_gpu && device != kDLCPU && device != kDLCUDAHost)
        return tt_tensor_refuse("the tensor is neither in host memory nor on an NVIDIA GPU", why);
    TtStatus status = tt_tensor_axes(tensor, layout, bytes, axes, why);
    if (status)
        return status;

    TtTensorAxis down = axes[1], right = axes[2], channels = axes[3];
    if (channels.length > UINT32_MAX || channels.length > PTRDIFF_MAX / bytes)
        return tt_tensor_refuse("the tensor has too many channels", why);

    /* Samples of a pixel side by side, or each channel a plane; along rows, or, transposed, along columns. */
    size_t pixel = bytes * channels.length;
    int interleaved = (channels.length == 1 || channels.stride == (ptrdiff_t)bytes) &&
                      (tt_tensor_steps(right, pixel) || tt_tensor_steps(down, pixel));
    if (!interleaved)
        pixel = bytes;
    view->seen = TT_NONE;
    if (!tt_tensor_steps(right, pixel)) {
        if (!tt_tensor_steps(down, pixel))
            return tt_tensor_refuse("the tensor has gaps between the samples of a row", why);
        right = axes[1];
        down = axes[2];
        view->seen = TT_TRANSPOSE;
    }

    view->image = tt_image((char *)tensor->data + tensor->byte_offset, down.stride, right.length, down.length,
                           (uint32_t)channels.length, (uint32_t)(8 * bytes));
    if (!interleaved) {
        view->image.layout = TT_PLANAR;
        view->image.plane_pitch = channels.stride;
    }
    if (right.length > 1 && right.stride < 0) {
        view->image.data = (char *)view->image.data + (ptrdiff_t)(right.length - 1) * right.stride;
        view->seen = tt_compose(TT_FLIPH, view->seen);
    }
    view->count = axes[0].length;
    view->stride = axes[0].stride;
    return TT_OK;
}

static inline TtStatus tt_tensor_open(const DLManagedTensorVersioned *managed, const char *layout,
                                      int for_writing, TtTensor *view, const char **why) {
    if (!managed)
        return tt_tensor_refuse("the tensor is NULL", why);
    if (managed->version.major != 1)
        return tt_tensor_refuse("the tensor is of another version of DLPack than 1", why);
    if (for_writing && managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
        return tt_tensor_refuse("the tensor is read-only", why);
    return tt_tensor_view(&managed->dl_tensor, layout, view, why);
}

#ifdef __cplusplus
}
#endif
#endif
