/* SPDX-License-Identifier: MIT
 *
 * The device store: a frame's picture in the GPU's memory. Bands go up through a ring of slots while the next
 * are decoded, are turned there, and finished rows come down, with some tens of megabytes of host memory in
 * all.
 */
#include "store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "../error.h"
#include "../orient.h"
#include "../orientation.h"
#include "../threads.h"
#include "link.h"

enum { SLOTS = 16, ROW_ALIGN = 256 };
/* Of a slot, or as many as one pixel takes. */
static const size_t pinned_bytes = (size_t)2 << 20, slot_bytes = (size_t)8 << 20;

typedef struct {
    TtStore store;
    int device;
    unsigned threads;
    TtImage picture; /* its data is on the GPU */
    TtLinkSlot slots[SLOTS];
    size_t here, there; /* bytes of a slot: of pinned memory, on the GPU */
    bool taken[SLOTS];
    size_t next;           /* slot to look at first: one left long ago has sent its part */
    pthread_mutex_t lock;  /* of taken, next and failed */
    pthread_cond_t vacant; /* a slot is */
    TtStatus failed;       /* once the GPU has failed, what was put may be missing */
} DeviceStore;

/* ---- Slots ------------------------------------------------------------------------------------------- */

static TtLinkSlot *take_slot(DeviceStore *s) {
    TtLinkSlot *slot = NULL;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        for (int i = 0; !slot && i < SLOTS; i++)
            if (!s->taken[(s->next + i) % SLOTS])
                slot = &s->slots[(s->next + i) % SLOTS];
        if (slot)
            break;
        pthread_cond_wait(&s->vacant, &s->lock);
    }
    s->taken[slot - s->slots] = true;
    s->next = (slot - s->slots + 1) % SLOTS;
    pthread_mutex_unlock(&s->lock);
    return slot;
}

static void leave_slot(DeviceStore *s, TtLinkSlot *slot, TtStatus status) {
    pthread_mutex_lock(&s->lock);
    s->taken[slot - s->slots] = false;
    if (status)
        s->failed = status;
    pthread_cond_signal(&s->vacant);
    pthread_mutex_unlock(&s->lock);
}

/* What is put is on its way when put() returns; it has come when all slots have been waited for. */
static TtStatus wait_for_all(DeviceStore *s, const TtCudaUse *use) {
    for (int i = 0; i < SLOTS; i++) {
        CuResult result = use->driver->cuStreamSynchronize(s->slots[i].stream);
        if (result)
            return tt_driver_failed(use->driver, result, "turning a picture");
    }
    pthread_mutex_lock(&s->lock);
    TtStatus failed = s->failed;
    pthread_mutex_unlock(&s->lock);
    return failed ? tt_fail(failed, "the GPU failed earlier: free the frame") : TT_OK;
}

/* ---- Rectangles ---------------------------------------------------------------------------------------- */

/* An image's rows here and in a slot's memory. */
static TtLinkRows rows_of(const TtImage *image) {
    bool planar = image->layout == TT_PLANAR && image->channels > 1, upward = image->pitch < 0;
    size_t samples = image->width * (planar ? 1 : image->channels);
    TtLinkRows r = {.host_plane = image->plane_pitch,
                    .row_bytes = samples * image->sample_bits / 8,
                    .rows = image->height};
    r.host = (uint8_t *)image->data + (upward ? (ptrdiff_t)(image->height - 1) * image->pitch : 0);
    r.host_pitch = upward ? -(size_t)image->pitch : (size_t)image->pitch;
    r.planes = planar ? image->channels : 1;
    r.device_pitch = tt_link_pitch(r.row_bytes, r.host_pitch);
    r.device_plane = r.device_pitch * r.rows;
    return r;
}

/* The same rows in a slot's pinned memory. */
static TtLinkRows staged_rows(const TtLinkRows *r, uint8_t *pinned) {
    TtLinkRows s = *r;
    s.host = pinned;
    s.host_pitch = r->row_bytes;
    s.host_plane = (ptrdiff_t)(s.host_pitch * r->rows);
    return s;
}

/* An image in parts that a slot holds: whole rows if they fit. */
typedef struct {
    size_t width, height, across, count;
} Parts;

static Parts parts_of(const TtImage *image, size_t bytes) {
    size_t pixel = (size_t)image->channels * image->sample_bits / 8,
           padding = (size_t)ROW_ALIGN * image->channels;
    size_t most = bytes >= padding + pixel ? (bytes - padding) / pixel : 1;
    Parts p = {.width = image->width < most ? image->width : most, .height = 1};
    size_t rows = bytes / (p.width * pixel + padding);
    if (p.width == image->width && rows > 1)
        p.height = rows < image->height ? rows : image->height;
    p.across = (image->width - 1) / p.width + 1;
    p.count = p.across * ((image->height - 1) / p.height + 1);
    return p;
}

static TtRect part_at(const TtImage *image, const Parts *p, size_t i) {
    TtRect r = {i % p->across * p->width, i / p->across * p->height, p->width, p->height};
    r.width = r.width < image->width - r.x ? r.width : image->width - r.x;
    r.height = r.height < image->height - r.y ? r.height : image->height - r.y;
    return r;
}

/* The image on the GPU whose rows r describes. */
static TtImage on_device(const TtImage *image, const TtLinkRows *r) {
    bool upward = image->pitch < 0;
    TtImage d = *image;
    d.data = (void *)(uintptr_t)(r->device + (upward ? (r->rows - 1) * r->device_pitch : 0));
    d.pitch = upward ? -(ptrdiff_t)r->device_pitch : (ptrdiff_t)r->device_pitch;
    d.plane_pitch = (ptrdiff_t)r->device_plane;
    return d;
}

static TtStatus turn(const TtCudaUse *use, const TtImage *src, const TtImage *dst, TtOrientation o) {
    TtMove move = tt_move_of(src, dst, o);
    return tt_cuda_plan(&move, (TtCudaBatch){1, 0, 0}, false, tt_cuda_most_shared(use), tt_cuda_launch_one,
                        (void *)use);
}

/* ---- Up and down --------------------------------------------------------------------------------------- */

/* A piece on its way, in parts that several threads take care of: they are what copies between the caller's
 * memory and pinned memory. */
typedef struct {
    DeviceStore *store;
    const TtImage *image;
    TtOrientation orientation; /* up */
    TtRect place;              /* of the image in the picture */
    bool up, pinned;           /* pinned: the image's memory is */
    Parts parts;
    atomic_size_t next;
    TtLinkFailure failure;
} Passage;

/* Goes on its way up. Pinned memory goes by itself. */
static TtStatus send_part(Passage *p, TtCudaUse *use, TtLinkSlot *slot, TtRect part) {
    const TtDriver *d = use->driver;
    TtImage view = tt_subimage(p->image, part), picture = p->store->picture;
    TtRect to = tt_map_rect(p->orientation, p->image->width, p->image->height, part);
    to.x += p->place.x;
    to.y += p->place.y;
    TtLinkRows rows = rows_of(&view);
    rows.device = slot->memory;
    if (!p->pinned) {
        rows.device_pitch = rows.row_bytes;
        rows.device_plane = rows.row_bytes * rows.rows;
    }
    TtLinkRows staged = staged_rows(&rows, slot->pinned);
    TtStatus status;
    CuResult result = d->cuEventSynchronize(slot->arrived); /* what the slot held has gone up */
    if (!result && !p->pinned && (status = tt_link_copy_host(&rows, &staged)))
        return status;
    if (result || (result = tt_link_copy(use, p->pinned ? &rows : &staged, true)) ||
        (result = d->cuEventRecord(slot->arrived, slot->stream))) {
        d->cuStreamSynchronize(slot->stream); /* part of it may be on its way */
        return tt_driver_failed(d, result, "receiving a band");
    }
    TtImage src = on_device(&view, &rows), dst = tt_subimage(&picture, to);
    return turn(use, &src, &dst, p->orientation);
}

static TtStatus fetch_part(Passage *p, TtCudaUse *use, TtLinkSlot *slot, TtRect part) {
    TtImage view = tt_subimage(p->image, part);
    TtRect from = {p->place.x + part.x, p->place.y + part.y, part.width, part.height};
    TtImage there = tt_subimage(&p->store->picture, from);
    TtLinkRows rows = rows_of(&view);
    rows.device = (CuPointer)(uintptr_t)there.data;
    rows.device_pitch = (size_t)there.pitch;
    rows.device_plane = (size_t)there.plane_pitch;
    TtLinkRows staged = staged_rows(&rows, slot->pinned);
    CuResult result = tt_link_copy(use, &staged, false);
    CuResult done = use->driver->cuStreamSynchronize(slot->stream); /* also what went before a failure */
    result = result ? result : done;
    if (result)
        return tt_driver_failed(use->driver, result, "returning rows");
    TtImage arrived = view;
    arrived.data = slot->pinned;
    arrived.pitch = (ptrdiff_t)staged.host_pitch;
    arrived.plane_pitch = staged.host_plane;
    TtOptions plain = {sizeof(plain), "cpu", 1, 0};
    return tt_orient(&arrived, &view, TT_NONE, &plain);
}

static void carry(const void *arg, size_t thread) {
    Passage *p = (Passage *)arg;
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(p->store->device, &use);
    (void)thread;
    for (size_t i; !status && !tt_link_has_failed(&p->failure) &&
                   (i = atomic_fetch_add(&p->next, 1)) < p->parts.count;) {
        TtRect part = part_at(p->image, &p->parts, i);
        TtLinkSlot *slot = take_slot(p->store);
        use.stream = slot->stream;
        status = p->up ? send_part(p, &use, slot, part) : fetch_part(p, &use, slot, part);
        leave_slot(p->store, slot, p->up ? status : TT_OK);
    }
    if (status)
        tt_link_failed(&p->failure, status);
    tt_cuda_leave(&use);
}

static TtStatus carry_all(Passage *p) {
    p->parts = parts_of(p->image, p->up && p->pinned ? p->store->there : p->store->here);
    size_t threads = p->up && p->pinned ? 1 : p->store->threads < SLOTS ? p->store->threads : SLOTS;
    pthread_mutex_init(&p->failure.lock, NULL);
    tt_parallel(carry, p, threads < p->parts.count ? threads : p->parts.count, (unsigned)threads);
    TtStatus status = tt_link_tell(&p->failure);
    pthread_mutex_destroy(&p->failure.lock);
    return status;
}

/* The caller may use pinned memory again when it has gone up. A slot that others have used since has sent its
 * part before theirs. */
static TtStatus wait_for_arrival(DeviceStore *s, const TtCudaUse *use) {
    for (int i = 0; i < SLOTS; i++) {
        CuResult result = use->driver->cuEventSynchronize(s->slots[i].arrived);
        if (result)
            return tt_driver_failed(use->driver, result, "receiving a band");
    }
    return TT_OK;
}

static TtStatus put(TtStore *store, const TtImage *piece, TtOrientation o, TtRect to,
                    const TtOptions *options) {
    DeviceStore *s = (DeviceStore *)store;
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(s->device, &use);
    (void)options; /* the device and the threads are the frame's */
    if (status)
        return status;
    Passage p = {.store = s,
                 .image = piece,
                 .orientation = o,
                 .place = to,
                 .up = true,
                 .pinned = tt_link_pinned(&use, piece->data)};
    status = carry_all(&p);
    if (p.pinned) {
        TtStatus arrived = wait_for_arrival(s, &use);
        status = status ? status : arrived;
    }
    tt_cuda_leave(&use);
    return status;
}

/* Into pinned memory, by one copy of the driver's. */
static TtStatus fetch_at_once(DeviceStore *s, TtCudaUse *use, TtRect from, const TtImage *into) {
    TtImage there = tt_subimage(&s->picture, from);
    TtLinkRows rows = rows_of(into);
    TtLinkSlot *slot = take_slot(s);
    rows.device = (CuPointer)(uintptr_t)there.data;
    rows.device_pitch = (size_t)there.pitch;
    rows.device_plane = (size_t)there.plane_pitch;
    use->stream = slot->stream;
    CuResult result = tt_link_copy(use, &rows, false);
    CuResult done = use->driver->cuStreamSynchronize(slot->stream); /* also what went before a failure */
    result = result ? result : done;
    leave_slot(s, slot, TT_OK);
    return result ? tt_driver_failed(use->driver, result, "returning rows") : TT_OK;
}

static TtStatus read_back(TtStore *store, TtRect from, const TtImage *into, const TtOptions *options) {
    DeviceStore *s = (DeviceStore *)store;
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(s->device, &use);
    (void)options;
    if (status)
        return status;
    Passage p = {.store = s, .image = into, .place = from, .pinned = tt_link_pinned(&use, into->data)};
    if (!(status = wait_for_all(s, &use)))
        status = p.pinned && into->pitch > 0 ? fetch_at_once(s, &use, from, into) : carry_all(&p);
    tt_cuda_leave(&use);
    return status;
}

/* ---- The store ----------------------------------------------------------------------------------------- */

static void free_store(TtStore *store) {
    DeviceStore *s = (DeviceStore *)store;
    TtCudaUse use;
    if (!tt_cuda_enter_device(s->device, &use)) {
        for (int i = 0; i < SLOTS; i++)
            tt_link_slot_free(&use, &s->slots[i]);
        if (s->picture.data)
            use.driver->cuMemFree((CuPointer)(uintptr_t)s->picture.data);
        tt_cuda_leave(&use);
    }
    pthread_cond_destroy(&s->vacant);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static TtStatus allocate(DeviceStore *s, size_t bytes) {
    TtCudaUse use;
    TtStatus status = tt_cuda_enter_device(s->device, &use);
    if (status)
        return status;
    const TtDriver *d = use.driver;
    size_t available = 0, total = 0;
    CuPointer memory = 0;
    CuResult result = d->cuMemGetInfo(&available, &total);
    if (!result && !(result = d->cuMemAlloc(&memory, bytes)))
        s->picture.data = (void *)(uintptr_t)memory;
    for (int i = 0; !result && i < SLOTS; i++)
        if (!(result = tt_link_slot_new(&use, s->there, s->here, &s->slots[i])))
            result = d->cuEventRecord(s->slots[i].arrived, s->slots[i].stream);
    tt_cuda_leave(&use);
    if (result == CU_OUT_OF_MEMORY)
        return tt_fail(
            TT_ERROR_MEMORY,
            "the picture takes %.1f MB of the GPU's memory, of which %.1f of %.1f MB are free: choose "
            "another backend",
            (double)bytes / 1e6, (double)available / 1e6, (double)total / 1e6);
    return result ? tt_driver_failed(d, result, "allocating memory") : TT_OK;
}

TtStatus tt_store_device_new(const TtImage *result, const TtFrameOptions *options, unsigned threads,
                             TtStore **store) {
    TtImage shape = *result;
    shape.pitch = 0; /* whatever it was, the picture's rows go downward, and are aligned */
    TtLinkRows rows = rows_of(&shape);
    size_t pixel = (size_t)shape.channels * (shape.sample_bits / 8),
           padded = pixel + (size_t)ROW_ALIGN * shape.channels, bytes;
    if (rows.device_pitch < rows.row_bytes || __builtin_mul_overflow(rows.device_pitch, rows.rows, &bytes) ||
        __builtin_mul_overflow(bytes, rows.planes, &bytes) || bytes > PTRDIFF_MAX)
        return tt_fail(TT_ERROR_MEMORY, "the picture is too large for the GPU's memory");
    DeviceStore *s = calloc(1, sizeof(*s));
    if (!s)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    s->store = (TtStore){.put = put, .read = read_back, .free = free_store, .kind = TT_STORE_DEVICE};
    s->device = options->device;
    s->threads = threads;
    s->here = padded > pinned_bytes ? padded : pinned_bytes;
    s->there = padded > slot_bytes ? padded : slot_bytes;
    s->picture = on_device(&shape, &rows);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->vacant, NULL);
    TtStatus status = allocate(s, bytes);
    if (status) {
        free_store(&s->store);
        return status;
    }
    snprintf(s->store.where, sizeof(s->store.where), "%.1f MB in the memory of GPU %d", (double)bytes / 1e6,
             s->device);
    *store = &s->store;
    return TT_OK;
}
