/* SPDX-License-Identifier: MIT
 *
 * The backend "cuda" for pixels in host memory: upload, turn, download, in pieces. Several are under way at
 * once, so that both directions of the link are busy: a quarter turn's piece is some of its rows, which are
 * columns of the source.
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

enum { LANES = 8, PINNED_LANES = 4, PINNED_RUN = 8192, PLAIN_RUN = 4096 };
/* Bytes of a side. A copy engine takes rows in chunks of 8 KiB: runs a little longer or much shorter cost up
 * to twice the time. */
static const size_t pinned_piece = (size_t)32 << 20, plain_piece = (size_t)2 << 20;

typedef struct {
    size_t x, y, width, height;
} Part; /* of a side, in elements */

typedef struct {
    const TtMove *move;
    bool src_pinned, dst_pinned; /* the caller's memory */
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

/* A part whose two sides fit: of whole rows, and where rows become columns one whose runs are `run` bytes or
 * little less on either side; thin pictures make it longer. */
static Part part_that_fits(const TtMove *m, size_t memory, size_t run) {
    Part part = {0, 0, m->width, m->height};
    if (m->kernel == TT_TRANSPOSE_ROWS) {
        size_t side = run / m->bytes ? run / m->bytes : 1;
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

/* The same rows in a slot's pinned memory, laid out as on the GPU. */
static TtLinkRows staged_rows(const TtLinkRows *r, uint8_t *pinned) {
    TtLinkRows s = *r;
    s.host = pinned;
    s.host_pitch = r->device_pitch;
    s.host_plane = (ptrdiff_t)r->device_plane;
    return s;
}

/* ---- Lanes ------------------------------------------------------------------------------------------- */

static TtStatus move_part(const Job *j, TtCudaUse *use, const TtLinkSlot *slot, Part part) {
    const TtMove *m = j->move;
    TtLinkRows src = rows_of(m, &m->src, source_of(m, part)), dst = rows_of(m, &m->dst, part);
    src.device = slot->memory;
    dst.device = slot->memory + bytes_of(&src);
    TtLinkRows src_staged = staged_rows(&src, slot->pinned);
    TtLinkRows dst_staged = staged_rows(&dst, slot->pinned + (j->src_pinned ? 0 : bytes_of(&src)));
    TtStatus status;
    if (!j->src_pinned && (status = tt_link_copy_host(&src, &src_staged)))
        return status;
    TtMove move = *m;
    move.src = on_device(&src, &m->src);
    move.dst = on_device(&dst, &m->dst);
    move.width = part.width;
    move.height = part.height;
    CuResult result = tt_link_copy(use, j->src_pinned ? &src : &src_staged, true);
    if (result)
        return tt_driver_failed(use->driver, result, "receiving an image");
    if ((status = tt_cuda_plan(&move, (TtCudaBatch){1, 0, 0}, false, tt_cuda_most_shared(use),
                               tt_cuda_launch_one, use)))
        return status;
    if ((result = tt_link_copy(use, j->dst_pinned ? &dst : &dst_staged, false)) ||
        (result = use->driver->cuStreamSynchronize(slot->stream)))
        return tt_driver_failed(use->driver, result, "turning an image");
    return j->dst_pinned ? TT_OK : tt_link_copy_host(&dst_staged, &dst);
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

/* ---- The job ----------------------------------------------------------------------------------------- */

static void drop_slots(const TtCudaUse *use, Job *j) {
    for (int i = 0; i < LANES; i++)
        tt_link_slot_free(use, &j->slots[i]);
}

/* Slots for pieces of at most so many bytes; as many as there are pieces, if those are fewer. */
static CuResult make_slots(const TtCudaUse *use, Job *j, size_t bytes, size_t run, size_t lanes) {
    const TtMove *m = j->move;
    j->most = part_that_fits(m, bytes, run);
    j->across = (m->width - 1) / j->most.width + 1;
    j->pieces = ((m->height - 1) / j->most.height + 1) * j->across;
    j->lanes = lanes < j->pieces ? lanes : j->pieces;
    TtLinkRows src = rows_of(m, &m->src, source_of(m, j->most)), dst = rows_of(m, &m->dst, j->most);
    size_t pinned = (j->src_pinned ? 0 : bytes_of(&src)) + (j->dst_pinned ? 0 : bytes_of(&dst));
    CuResult result = 0;
    for (size_t i = 0; !result && i < j->lanes; i++)
        result = tt_link_slot_new(use, bytes_of(&src) + bytes_of(&dst), pinned, &j->slots[i]);
    if (result)
        drop_slots(use, j);
    return result;
}

static TtStatus move_all(const TtCudaUse *use, Job *j, unsigned threads) {
    const TtDriver *d = use->driver;
    size_t available, total;
    CuResult result = d->cuMemGetInfo(&available, &total);
    if (result)
        return tt_driver_failed(d, result, "looking up its free memory");
    j->src_pinned = tt_link_pinned(use, j->move->src.data);
    j->dst_pinned = tt_link_pinned(use, j->move->dst.data);
    bool pinned = j->src_pinned && j->dst_pinned;
    size_t bytes = 2 * (pinned ? pinned_piece : plain_piece), lanes = tt_threads_of(threads);
    lanes = lanes < LANES ? lanes : LANES;
    if (pinned || lanes < PINNED_LANES) /* the link, not the threads, is to be busy */
        lanes = PINNED_LANES;
    while ((result = make_slots(use, j, bytes, pinned ? PINNED_RUN : PLAIN_RUN, lanes)) == CU_OUT_OF_MEMORY &&
           j->most.width * j->most.height > 1)
        bytes = bytes_of_part(j->move, j->most) / 2;
    if (result == CU_OUT_OF_MEMORY)
        return tt_fail(TT_ERROR_MEMORY,
                       "the GPU has no memory left, or this machine no pinned memory: %zu of the GPU's %zu "
                       "bytes are free",
                       available, total);
    if (result)
        return tt_driver_failed(d, result, "allocating memory");
    tt_parallel(lane, j, j->lanes, (unsigned)j->lanes);
    drop_slots(use, j); /* which waits: nothing may still use the caller's memory */
    return tt_link_tell(&j->failure);
}

static TtStatus move(const TtMove *m, unsigned threads) {
    Job job = {.move = m};
    TtCudaUse use;
    TtStatus status;
    if (m->bits) /* packed samples are for processors */
        return tt_backend_find("cpu", &status)->move(m, threads);
    if ((status = tt_cuda_enter_device(m->device, &use)))
        return status;
    pthread_mutex_init(&job.failure.lock, NULL);
    status = move_all(&use, &job, threads);
    pthread_mutex_destroy(&job.failure.lock);
    tt_cuda_leave(&use);
    return status;
}

static bool usable(void) {
    TtStatus status;
    return tt_driver(&status) != NULL;
}

const TtBackend tt_backend_cuda = {
    .name = "cuda", .host = false, .usable = usable, .move = move, .explains = true};
