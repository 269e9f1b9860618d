/* SPDX-License-Identifier: MIT
 *
 * Linux' own asynchronous calls: threads that wait would do, too, but dozens of them.
 */
#define _GNU_SOURCE
#include "direct_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AT_ONCE = 256 };

struct DirectRows {
    int fd;
    aio_context_t context;
    struct iocb requests[AT_ONCE];
};

DirectRows *direct_rows_new(int fd) {
    DirectRows *d = g_new0(DirectRows, 1);
    char name[64];
    g_snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    d->fd = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC); /* the codecs' own descriptor stays as it is */
    if (d->fd >= 0 && !syscall(SYS_io_setup, AT_ONCE, &d->context))
        return d;
    d->context = 0;
    direct_rows_free(d);
    return NULL;
}

void direct_rows_free(DirectRows *d) {
    if (!d)
        return;
    if (d->context)
        syscall(SYS_io_destroy, d->context);
    if (d->fd >= 0)
        close(d->fd);
    g_free(d);
}

static gboolean same_place(guint64 a, guint64 b) {
    return (a - b) % DIRECT_UNIT == 0;
}

/* Waits for as many as were begun. FALSE if one of them read less than it needs. */
static gboolean finish(DirectRows *d, gsize begun) {
    struct io_event events[AT_ONCE];
    gboolean good = TRUE;
    for (long n; begun; begun -= (gsize)n) {
        n = syscall(SYS_io_getevents, d->context, 1L, (long)begun, events, NULL);
        if (n < 0 && errno != EINTR)
            g_error("the disk's reads cannot be waited for (io_getevents: %s): see the system's log",
                    g_strerror(errno)); /* the kernel still writes into our memory */
        n = MAX(n, 0);
        for (long i = 0; i < n; i++)
            good = good && events[i].res >= (gint64)events[i].data;
    }
    return good;
}

static gsize begin(DirectRows *d, gsize n) {
    struct iocb *list[AT_ONCE];
    gsize begun = 0;
    for (gsize i = 0; i < n; i++)
        list[i] = &d->requests[i];
    for (long now; begun < n; begun += (gsize)now) {
        now = syscall(SYS_io_submit, d->context, (long)(n - begun), list + begun);
        if (now <= 0)
            break;
    }
    return begun;
}

gboolean direct_rows_read(DirectRows *d, off_t offset, off_t apart, gsize bytes, gsize n, guint8 *to,
                          ptrdiff_t pitch) {
    if (!same_place((guintptr)to, (guint64)offset) || !same_place((guint64)pitch, (guint64)apart))
        return FALSE;
    for (gsize first = 0, part; first < n; first += part) {
        part = MIN(n - first, AT_ONCE);
        for (gsize i = 0; i < part; i++, offset += apart, to += pitch) {
            gsize before = (gsize)offset % DIRECT_UNIT;
            gsize all = (before + bytes + DIRECT_UNIT - 1) / DIRECT_UNIT * DIRECT_UNIT;
            d->requests[i] = (struct iocb){.aio_data = before + bytes,
                                           .aio_lio_opcode = IOCB_CMD_PREAD,
                                           .aio_fildes = (guint32)d->fd,
                                           .aio_buf = (guintptr)(to - before),
                                           .aio_nbytes = all,
                                           .aio_offset = (gint64)((gsize)offset - before)};
        }
        gsize begun = begin(d, part);
        if (!finish(d, begun) || begun < part)
            return FALSE;
    }
    return TRUE;
}
