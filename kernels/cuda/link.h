/* SPDX-License-Identifier: MIT
 *
 * The way of host memory to the GPU and back. Copies run by themselves only from and to pinned memory, so
 * pixels from other memory pass through slots of it, which are few and small.
 */
#ifndef TT_CUDA_LINK_H
#define TT_CUDA_LINK_H

#include <pthread.h>

#include "device.h"

/* The same rows of bytes in host memory and on the GPU: `planes` times `rows` of them. */
typedef struct {
    uint8_t *host; /* of the lowest row in memory */
    size_t host_pitch;
    ptrdiff_t host_plane;
    CuPointer device;
    size_t device_pitch, device_plane;
    size_t row_bytes, rows, planes;
} TtLinkRows;

/* Whether the driver has pinned the memory at p. */
bool tt_link_pinned(const TtCudaUse *use, const void *p);

/* Where the GPU finds pinned memory; 0: nowhere. */
CuPointer tt_link_on_device(const TtCudaUse *use, const void *p);

/* Whether the GPU finds all from begin to end there: one allocation or registration. */
bool tt_link_reaches(const TtCudaUse *use, const uint8_t *begin, const uint8_t *end);

/* The pitch on the GPU that suits rows of so many bytes, which lie so far apart in host memory. */
static inline size_t tt_link_pitch(size_t row_bytes, size_t host_pitch) {
    return host_pitch == row_bytes ? row_bytes : (row_bytes + 255) / 256 * 256;
}

/* Enqueues the copy of all rows to the GPU (up) or back on use->stream. */
CuResult tt_link_copy(const TtCudaUse *use, const TtLinkRows *rows, bool up);

/* Copies the rows between two places in host memory. */
TtStatus tt_link_copy_host(const TtLinkRows *from, const TtLinkRows *to);

/* The first failure of several threads, for the one that has to tell it. */
typedef struct {
    pthread_mutex_t lock;
    TtStatus status;
    char text[512];
} TtLinkFailure;

void tt_link_failed(TtLinkFailure *failure, TtStatus status); /* with this thread's tt_last_error() */
bool tt_link_has_failed(TtLinkFailure *failure);
TtStatus tt_link_tell(TtLinkFailure *failure);

/* A stream with memory of its own on both sides of the link. */
typedef struct {
    CuStream stream;
    CuEvent arrived; /* the pixels on the GPU */
    uint8_t *pinned; /* NULL: none was asked for */
    CuPointer memory;
} TtLinkSlot;

/* CU_OUT_OF_MEMORY also for pinned memory. Frees what it got if it fails. */
CuResult tt_link_slot_new(const TtCudaUse *use, size_t bytes, size_t pinned_bytes, TtLinkSlot *slot);

/* Waits for the slot's work first. */
void tt_link_slot_free(const TtCudaUse *use, TtLinkSlot *slot);

#endif
