/* SPDX-License-Identifier: MIT
 *
 * The backend "cuda" for pixels in host memory: upload, turn, download, in pieces that fit the GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "../backend.h"
#include "../cpu/cpu.h"
#include "../error.h"
#include "cuda.h"
#include "device.h"

enum { ROW_ALIGN = 256, LARGEST_PITCH = 0x7fffffff };

/* One side of a piece: the same rows in host memory and on the GPU. */
typedef struct {
    TtSide host;
    size_t rows, row_bytes, planes;
    size_t pitch, plane, bytes; /* on the GPU */
    CuPointer device;
} Side;

typedef struct {
    size_t x, y, width, height;
} Part; /* of a side, in elements */

static Side side_of(const TtMove *m, const TtSide *host, Part part) {
    bool planar = m->channels > 1 && host->step == m->bytes;
    Side s = {.host = *host, .rows = part.height, .row_bytes = part.width * host->step};
    s.host.data += (ptrdiff_t)part.y * host->pitch + (ptrdiff_t)(part.x * host->step);
    s.planes = planar ? m->channels : 1;
    s.pitch = (s.row_bytes + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    s.plane = s.pitch * s.rows;
    s.bytes = s.plane * s.planes;
    return s;
}

/* The side as it lies on the GPU, rows in the order of the move. */
static TtSide on_device(const Side *s) {
    return (TtSide){.data = (uint8_t *)(uintptr_t)s->device,
                    .pitch = (ptrdiff_t)s->pitch,
                    .plane = s->planes > 1 ? (ptrdiff_t)s->plane : s->host.plane,
                    .step = s->host.step};
}

/* The part of the source that lands in a part of the destination. */
static Part source_of(const TtMove *m, Part p) {
    if (m->kernel == TT_TRANSPOSE_ROWS)
        return (Part){p.y, p.x, p.height, p.width};
    return m->kernel == TT_REVERSE_ROWS ? (Part){m->width - p.x - p.width, p.y, p.width, p.height} : p;
}

/* Rows [first, first + n) of a plane, to the GPU or back. The driver copies only upward, with pitches of 31
 * bits; rows in the other order, and further apart, go one by one. */
static CuResult copy_rows(const TtCudaUse *use, const Side *s, size_t plane, bool up) {
    ptrdiff_t pitch = s->host.pitch;
    bool at_once = pitch >= (ptrdiff_t)s->row_bytes && pitch <= LARGEST_PITCH && s->pitch <= LARGEST_PITCH;
    size_t n = at_once ? s->rows : 1;
    CuResult result = 0;
    for (size_t y = 0; !result && y < s->rows; y += n) {
        uint8_t *host = s->host.data + (ptrdiff_t)plane * s->host.plane + (ptrdiff_t)y * pitch;
        CuPointer device = s->device + plane * s->plane + y * s->pitch;
        size_t host_pitch = at_once ? (size_t)pitch : s->row_bytes,
               device_pitch = at_once ? s->pitch : s->row_bytes;
        CuCopy2D copy = {.width_bytes = s->row_bytes, .height = n};
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

static CuResult copy_side(const TtCudaUse *use, const Side *s, bool up) {
    CuResult result = 0;
    for (size_t p = 0; !result && p < s->planes; p++)
        result = copy_rows(use, s, p, up);
    return result;
}

static TtStatus move_part(const TtCudaUse *use, const TtMove *m, Part part, CuPointer memory) {
    Side src = side_of(m, &m->src, source_of(m, part)), dst = side_of(m, &m->dst, part);
    src.device = memory;
    dst.device = memory + src.bytes;
    TtMove move = *m;
    move.src = on_device(&src);
    move.dst = on_device(&dst);
    move.width = part.width;
    move.height = part.height;

    CuResult result = copy_side(use, &src, true);
    if (result)
        return tt_driver_failed(use->driver, result, "receiving an image");
    TtStatus status = tt_cuda_plan(&move, (TtCudaBatch){1, 0, 0}, false, tt_cuda_most_shared(use),
                                   tt_cuda_launch_one, (void *)use);
    if (status)
        return status;
    if ((result = copy_side(use, &dst, false)) || (result = use->driver->cuStreamSynchronize(use->stream)))
        return tt_driver_failed(use->driver, result, "turning an image");
    return TT_OK;
}

static size_t bytes_of(const TtMove *m, Part part) {
    return side_of(m, &m->src, source_of(m, part)).bytes + side_of(m, &m->dst, part).bytes;
}

/* The largest part, as whole rows if it can be, whose two sides fit. */
static Part part_that_fits(const TtMove *m, size_t memory) {
    Part part = {0, 0, m->width, m->height};
    while (bytes_of(m, part) > memory && part.height > 1)
        part.height = (part.height + 1) / 2;
    while (bytes_of(m, part) > memory && part.width > 1)
        part.width = (part.width + 1) / 2;
    return part;
}

static TtStatus move_all(const TtCudaUse *use, const TtMove *m) {
    const TtDriver *d = use->driver;
    size_t available, total;
    CuPointer memory = 0;
    CuResult result = d->cuMemGetInfo(&available, &total);
    if (result)
        return tt_driver_failed(d, result, "looking up its free memory");
    Part most = part_that_fits(m, available / 4 * 3);
    while ((result = d->cuMemAlloc(&memory, bytes_of(m, most))) == CU_OUT_OF_MEMORY &&
           most.width * most.height > 1)
        most = part_that_fits(m, bytes_of(m, most) / 2);
    if (result == CU_OUT_OF_MEMORY)
        return tt_fail(TT_ERROR_MEMORY, "the GPU has no memory left: %zu of %zu bytes are free", available,
                       total);
    if (result)
        return tt_driver_failed(d, result, "allocating memory");

    TtStatus status = TT_OK;
    for (size_t y = 0; !status && y < m->height; y += most.height)
        for (size_t x = 0; !status && x < m->width; x += most.width) {
            Part part = {x, y, most.width, most.height};
            part.width = part.width < m->width - x ? part.width : m->width - x;
            part.height = part.height < m->height - y ? part.height : m->height - y;
            status = move_part(use, m, part, memory);
        }
    if (status)
        d->cuStreamSynchronize(use->stream); /* nothing may still use the caller's memory */
    d->cuMemFree(memory);
    return status;
}

static TtStatus move(const TtMove *m, unsigned threads) {
    TtCudaUse use;
    TtStatus status;
    if (m->bits) /* packed samples are for processors */
        return tt_backend_find("cpu", &status)->move(m, threads);
    if ((status = tt_cuda_enter_device(m->device, &use)))
        return status;
    CuResult result = use.driver->cuStreamCreate(&use.stream, CU_STREAM_NON_BLOCKING);
    if (result) {
        status = tt_driver_failed(use.driver, result, "making a stream");
    } else {
        status = move_all(&use, m);
        use.driver->cuStreamDestroy(use.stream);
    }
    tt_cuda_leave(&use);
    return status;
}

static bool usable(void) {
    TtStatus status;
    return tt_driver(&status) != NULL;
}

const TtBackend tt_backend_cuda = {
    .name = "cuda", .host = false, .usable = usable, .move = move, .explains = true};
