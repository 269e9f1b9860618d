/* SPDX-License-Identifier: MIT
 *
 * The backend "cuda" for pixels in host memory.
 *
 * Pinned memory is the GPU's to read and write. Where rows become columns a kernel turns straight from one
 * picture to the other, if whole lines of memory can go over the link: copy engines are slower both ways at
 * once with runs as short as columns have. All else is theirs: upload, turn, download, in pieces of which
 * several are under way, so that both directions of the link are busy.
 *
 * Pixels in other memory would have to pass through pinned memory. To copy a pixel there and another back
 * costs a processor more than to turn it, so the processor turns them, whoever is asked for.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../backend.h"
#include "../cpu/cpu.h"
#include "../error.h"
#include "../threads.h"
#include "cuda.h"
#include "link.h"

enum { LANES = 4, RUN = 8192, LINE = 128 };
/* Bytes of a piece's side. A copy engine takes rows in chunks of 8 KiB: runs a little longer or much shorter
 * cost up to twice the time. */
static const size_t piece_bytes = (size_t)32 << 20;
static const size_t band_bytes = (size_t)384 << 20;

typedef struct {
    size_t x, y, width, height;
} Part; /* of a side, in elements */

typedef struct {
    const TtMove *move;
    Part most;
    size_t across, pieces, lanes;
    TtLinkSlot slots[LANES];
    atomic_size_t next; /* piece */
    TtLinkFailure failure;
} Job;

/* ---- Pieces ------------------------------------------------------------------------------------------ */

static TtLinkRows rows_of(const TtMove *m, const TtSide *host, Part part) {
    bool planar = m->channels > 1 && host->step == m->bytes;
    TtLinkRows r = {.host_plane = host->plane, .rows = part.height};
    size_t lowest = host->pitch < 0 ? part.y + part.height - 1 : part.y;
    r.host = host->data + (ptrdiff_t)lowest * host->pitch + (ptrdiff_t)(part.x * host->step);
    r.host_pitch = host->pitch < 0 ? -(size_t)host->pitch : (size_t)host->pitch;
    r.row_bytes = part.width * host->step;
    r.planes = planar ? m->channels : 1;
    r.device_pitch = tt_link_pitch(r.row_bytes, r.host_pitch);
    r.device_plane = r.device_pitch * r.rows;
    return r;
}

static size_t bytes_of(const TtLinkRows *r) {
    return r->device_plane * r->planes;
}

/* The part of the source that lands in a part of the destination. */
static Part source_of(const TtMove *m, Part p) {
    if (m->kernel == TT_TRANSPOSE_ROWS)
        return (Part){p.y, p.x, p.height, p.width};
    return m->kernel == TT_REVERSE_ROWS ? (Part){m->width - p.x - p.width, p.y, p.width, p.height} : p;
}

static size_t bytes_of_part(const TtMove *m, Part part) {
    TtLinkRows src = rows_of(m, &m->src, source_of(m, part)), dst = rows_of(m, &m->dst, part);
    return bytes_of(&src) + bytes_of(&dst);
}

/* A part whose two sides fit: of whole rows, and where rows become columns one whose runs are RUN bytes or
 * little less on either side; thin pictures make it longer. */
static Part part_that_fits(const TtMove *m, size_t memory) {
    Part part = {0, 0, m->width, m->height};
    if (m->kernel == TT_TRANSPOSE_ROWS) {
        size_t side = RUN / m->bytes ? RUN / m->bytes : 1;
        part.width = side < m->width ? side : m->width;
        part.height = part.width < side ? side * side / part.width : side;
        part.height = part.height < m->height ? part.height : m->height;
        if (part.height < side)
            part.width = side * side / part.height < m->width ? side * side / part.height : m->width;
    }
    while (bytes_of_part(m, part) > memory && part.height > 1)
        part.height = (part.height + 1) / 2;
    while (bytes_of_part(m, part) > memory && part.width > 1)
        part.width = (part.width + 1) / 2;
    return part;
}

/* The side as it lies on the GPU, where rows follow each other as in host memory. */
static TtSide on_device(const TtLinkRows *r, const TtSide *host) {
    bool upward = host->pitch < 0;
    CuPointer first = r->device + (upward ? (r->rows - 1) * r->device_pitch : 0);
    return (TtSide){.data = (uint8_t *)(uintptr_t)first,
                    .pitch = upward ? -(ptrdiff_t)r->device_pitch : (ptrdiff_t)r->device_pitch,
                    .plane = r->planes > 1 ? (ptrdiff_t)r->device_plane : host->plane,
                    .step = host->step};
}

/* ---- Lanes ------------------------------------------------------------------------------------------- */

static TtStatus move_part(const Job *j, TtCudaUse *use, const TtLinkSlot *slot, Part part) {
    const TtMove *m = j->move;
    TtLinkRows src = rows_of(m, &m->src, source_of(m, part)), dst = rows_of(m, &m->dst, part);
    src.device = slot->memory;
    dst.device = slot->memory + bytes_of(&src);
    TtMove move = *m;
    move.src = on_device(&src, &m->src);
    move.dst = on_device(&dst, &m->dst);
    move.width = part.width;
    move.height = part.height;
    CuResult result = tt_link_copy(use, &src, true);
    if (result)
        return tt_driver_failed(use->driver, result, "receiving an image");
    TtStatus status =
        tt_cuda_plan(&move, (TtCudaBatch){1, 0, 0}, false, tt_cuda_most_shared(use), tt_cuda_launch_one, use);
    if (!status && ((result = tt_link_copy(use, &dst, false)) ||
                    (result = use->driver->cuStreamSynchronize(slot->stream))))
        return tt_driver_failed(use->driver, result, "turning an image");
    return status;
}

/* A thread with a slot: takes piece after piece. */
static void lane(const void *arg, size_t i) {
    Job *j = (Job *)arg;
    const TtMove *m = j->move;
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(m->device, &use);
    use.stream = j->slots[i].stream;
    for (size_t n;
         !status && !tt_link_has_failed(&j->failure) && (n = atomic_fetch_add(&j->next, 1)) < j->pieces;) {
        Part part = {n % j->across * j->most.width, n / j->across * j->most.height, j->most.width,
                     j->most.height};
        part.width = part.width < m->width - part.x ? part.width : m->width - part.x;
        part.height = part.height < m->height - part.y ? part.height : m->height - part.y;
        status = move_part(j, &use, &j->slots[i], part);
    }
    if (status)
        tt_link_failed(&j->failure, status);
    tt_cuda_leave(&use);
}

static void drop_slots(const TtCudaUse *use, Job *j) {
    for (int i = 0; i < LANES; i++)
        tt_link_slot_free(use, &j->slots[i]);
}

/* Slots for pieces of at most so many bytes; as many as there are pieces, if those are fewer. */
static CuResult make_slots(const TtCudaUse *use, Job *j, size_t bytes) {
    const TtMove *m = j->move;
    j->most = part_that_fits(m, bytes);
    j->across = (m->width - 1) / j->most.width + 1;
    j->pieces = ((m->height - 1) / j->most.height + 1) * j->across;
    j->lanes = LANES < j->pieces ? LANES : j->pieces;
    TtLinkRows src = rows_of(m, &m->src, source_of(m, j->most)), dst = rows_of(m, &m->dst, j->most);
    CuResult result = 0;
    for (size_t i = 0; !result && i < j->lanes; i++)
        result = tt_link_slot_new(use, bytes_of(&src) + bytes_of(&dst), 0, &j->slots[i]);
    if (result)
        drop_slots(use, j);
    return result;
}

/* By way of the GPU's memory. */
static TtStatus move_in_pieces(const TtCudaUse *use, Job *j) {
    const TtDriver *d = use->driver;
    size_t available, total;
    CuResult result = d->cuMemGetInfo(&available, &total);
    if (result)
        return tt_driver_failed(d, result, "looking up its free memory");
    size_t bytes = 2 * piece_bytes;
    while ((result = make_slots(use, j, bytes)) == CU_OUT_OF_MEMORY && j->most.width * j->most.height > 1)
        bytes = bytes_of_part(j->move, j->most) / 2;
    if (result == CU_OUT_OF_MEMORY)
        return tt_fail(TT_ERROR_MEMORY, "the GPU has no memory left: %zu of its %zu bytes are free",
                       available, total);
    if (result)
        return tt_driver_failed(d, result, "allocating memory");
    tt_parallel(lane, j, j->lanes, (unsigned)j->lanes);
    drop_slots(use, j); /* which waits: nothing may still use the caller's memory */
    return tt_link_tell(&j->failure);
}

/* Whether a kernel that reads and writes host memory is faster than pieces: where whole lines of memory go
 * over the link, which those of 3 bytes and of rows between lines are not. */
static bool suits_link(const TtMove *m, CuPointer src, CuPointer dst) {
    uint64_t all = src | dst | (uint64_t)m->src.pitch | (uint64_t)m->dst.pitch;
    return m->kernel == TT_TRANSPOSE_ROWS && m->channels == 1 && m->bytes != 3 && src && dst &&
           all % LINE == 0;
}

/* In bands of the source that the GPU's table of pages covers: past it each page is looked up for each tile,
 * at half the speed. */
static TtStatus turn_over_link(const TtCudaUse *use, const TtMove *m, CuPointer src, CuPointer dst) {
    const TtDriver *d = use->driver;
    TtCudaUse own = *use;
    size_t pitch = m->src.pitch < 0 ? -(size_t)m->src.pitch : (size_t)m->src.pitch,
           rows = pitch ? band_bytes / pitch / LINE * LINE : m->width; /* a row alone has no pitch */
    rows = rows ? rows : LINE;
    TtStatus status = TT_OK;
    CuResult result = d->cuStreamCreate(&own.stream, CU_STREAM_NON_BLOCKING);
    if (result)
        return tt_driver_failed(d, result, "making a stream");
    for (size_t x = 0; !status && x < m->width; x += rows) {
        TtMove band = *m;
        band.src.data = (uint8_t *)(uintptr_t)src + (ptrdiff_t)x * m->src.pitch;
        band.dst.data = (uint8_t *)(uintptr_t)dst + x * m->bytes;
        band.width = m->width - x < rows ? m->width - x : rows;
        status = tt_cuda_plan(&band, (TtCudaBatch){1, 0, 0}, false, tt_cuda_most_shared(use),
                              tt_cuda_launch_one, &own);
    }
    result = d->cuStreamSynchronize(own.stream);
    d->cuStreamDestroy(own.stream);
    return status ? status : result ? tt_driver_failed(d, result, "turning an image") : TT_OK;
}

/* Whether a side begins and ends in pinned memory; then *device is its data to the GPU, or 0 where it is not
 * sure to reach all of it. */
static bool side_pinned(const TtCudaUse *use, const TtMove *m, const TtSide *side, Part whole,
                        CuPointer *device) {
    TtLinkRows r = rows_of(m, side, whole);
    const uint8_t *end = r.host + (r.rows - 1) * r.host_pitch + r.row_bytes + (r.planes - 1) * r.host_plane;
    if (!tt_link_pinned(use, r.host) || !tt_link_pinned(use, end - 1))
        return false;
    *device = tt_link_reaches(use, r.host, end) ? tt_link_on_device(use, side->data) : 0;
    return true;
}

static TtStatus move(const TtMove *m, unsigned threads) {
    Job job = {.move = m};
    CuPointer src, dst;
    Part whole = {0, 0, m->width, m->height};
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(m->device, &use);
    if (status)
        return status;
    if (m->bits || !side_pinned(&use, m, &m->src, source_of(m, whole), &src) ||
        !side_pinned(&use, m, &m->dst, whole, &dst)) {
        const TtBackend *cpu = tt_backend_find("cpu", &status);
        status = cpu ? cpu->move(m, threads) : status;
    } else if (suits_link(m, src, dst)) {
        status = turn_over_link(&use, m, src, dst);
    } else {
        pthread_mutex_init(&job.failure.lock, NULL);
        status = move_in_pieces(&use, &job);
        pthread_mutex_destroy(&job.failure.lock);
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
