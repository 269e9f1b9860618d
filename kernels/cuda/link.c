/* SPDX-License-Identifier: MIT */
#include "link.h"

#include <stdio.h>
#include <string.h>

#include "../backend.h"
#include "../error.h"

enum { LARGEST_PITCH = 0x7fffffff };

static bool ask(const TtCudaUse *use, const void *p, int attribute, void *value) {
    return !use->driver->cuPointerGetAttributes(1, &attribute, &value, (CuPointer)(uintptr_t)p);
}

bool tt_link_pinned(const TtCudaUse *use, const void *p) {
    unsigned type = 0;
    return ask(use, p, CU_POINTER_MEMORY_TYPE, &type) && type == CU_MEMORY_HOST;
}

CuPointer tt_link_on_device(const TtCudaUse *use, const void *p) {
    CuPointer device = 0;
    return ask(use, p, CU_POINTER_DEVICE_POINTER, &device) ? device : 0;
}

bool tt_link_reaches(const TtCudaUse *use, const uint8_t *begin, const uint8_t *end) {
    CuPointer start = 0, device = tt_link_on_device(use, begin);
    size_t bytes = 0;
    return device && ask(use, begin, CU_POINTER_RANGE_START, &start) &&
           ask(use, begin, CU_POINTER_RANGE_SIZE, &bytes) && device >= start &&
           (size_t)(end - begin) <= bytes && device - start <= bytes - (size_t)(end - begin);
}

/* Rows without gaps are one to the driver, which is twice as fast then. It takes pitches of 31 bits; rows
 * further apart, and one alone with any, go one by one. */
static CuResult copy_plane(const TtCudaUse *use, const TtLinkRows *rows, size_t plane, bool up) {
    TtLinkRows one = *rows, *r = &one;
    if (r->host_pitch == r->row_bytes && r->device_pitch == r->row_bytes &&
        r->row_bytes * r->rows <= LARGEST_PITCH) {
        r->row_bytes *= r->rows;
        r->rows = 1;
    }
    bool at_once =
        r->host_pitch >= r->row_bytes && r->host_pitch <= LARGEST_PITCH && r->device_pitch <= LARGEST_PITCH;
    size_t n = at_once ? r->rows : 1;
    CuResult result = 0;
    for (size_t y = 0; !result && y < r->rows; y += n) {
        uint8_t *host = r->host + (ptrdiff_t)plane * r->host_plane + y * r->host_pitch;
        CuPointer device = r->device + plane * r->device_plane + y * r->device_pitch;
        size_t host_pitch = at_once ? r->host_pitch : r->row_bytes,
               device_pitch = at_once ? r->device_pitch : r->row_bytes;
        CuCopy2D copy = {.width_bytes = r->row_bytes, .height = n};
        if (up) {
            copy.src_type = CU_MEMORY_HOST, copy.src_host = host, copy.src_pitch = host_pitch;
            copy.dst_type = CU_MEMORY_DEVICE, copy.dst_device = device, copy.dst_pitch = device_pitch;
        } else {
            copy.src_type = CU_MEMORY_DEVICE, copy.src_device = device, copy.src_pitch = device_pitch;
            copy.dst_type = CU_MEMORY_HOST, copy.dst_host = host, copy.dst_pitch = host_pitch;
        }
        result = use->driver->cuMemcpy2DAsync(&copy, use->stream);
    }
    return result;
}

CuResult tt_link_copy(const TtCudaUse *use, const TtLinkRows *rows, bool up) {
    CuResult result = 0;
    for (size_t p = 0; !result && p < rows->planes; p++)
        result = copy_plane(use, rows, p, up);
    return result;
}

TtStatus tt_link_copy_host(const TtLinkRows *from, const TtLinkRows *to) {
    TtStatus status;
    const TtBackend *cpu = tt_backend_find("cpu", &status);
    for (size_t p = 0; cpu && p < from->planes; p++) {
        TtMove move = {.kernel = TT_COPY_ROWS,
                       .width = from->row_bytes,
                       .height = from->rows,
                       .bytes = 1,
                       .channels = 1};
        move.src = (TtSide){from->host + (ptrdiff_t)p * from->host_plane, (ptrdiff_t)from->host_pitch, 0, 1};
        move.dst = (TtSide){to->host + (ptrdiff_t)p * to->host_plane, (ptrdiff_t)to->host_pitch, 0, 1};
        if ((status = cpu->move(&move, 1)))
            return status;
    }
    return cpu ? TT_OK : status;
}

void tt_link_failed(TtLinkFailure *failure, TtStatus status) {
    pthread_mutex_lock(&failure->lock);
    if (!failure->status) {
        failure->status = status;
        snprintf(failure->text, sizeof(failure->text), "%s", tt_last_error());
    }
    pthread_mutex_unlock(&failure->lock);
}

bool tt_link_has_failed(TtLinkFailure *failure) {
    pthread_mutex_lock(&failure->lock);
    bool failed = failure->status;
    pthread_mutex_unlock(&failure->lock);
    return failed;
}

TtStatus tt_link_tell(TtLinkFailure *failure) {
    return tt_link_has_failed(failure) ? tt_fail(failure->status, "%s", failure->text) : TT_OK;
}

CuResult tt_link_slot_new(const TtCudaUse *use, size_t bytes, size_t pinned_bytes, TtLinkSlot *slot) {
    const TtDriver *d = use->driver;
    CuResult result;
    memset(slot, 0, sizeof(*slot));
    if (!(result = d->cuMemAlloc(&slot->memory, bytes)) &&
        !(result = d->cuStreamCreate(&slot->stream, CU_STREAM_NON_BLOCKING)) &&
        !(result = d->cuEventCreate(&slot->arrived, CU_EVENT_NO_TIMING)) && pinned_bytes)
        result = d->cuMemHostAlloc((void **)&slot->pinned, pinned_bytes, 0);
    if (result)
        tt_link_slot_free(use, slot);
    return result;
}

void tt_link_slot_free(const TtCudaUse *use, TtLinkSlot *slot) {
    const TtDriver *d = use->driver;
    if (slot->stream) {
        d->cuStreamSynchronize(slot->stream);
        d->cuStreamDestroy(slot->stream);
    }
    if (slot->arrived)
        d->cuEventDestroy(slot->arrived);
    if (slot->pinned)
        d->cuMemFreeHost(slot->pinned);
    if (slot->memory)
        d->cuMemFree(slot->memory);
    memset(slot, 0, sizeof(*slot));
}
