/* SPDX-License-Identifier: MIT
 *
 * Reading from what cannot seek.
 */
#define _GNU_SOURCE
#include "input_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../kernels/frame/spill_file.h"
#include "fault.h"

typedef struct {
    int fd;
    const atomic_int *stop, *cancel;
    gsize at, size; /* within the head, and of it once it was read */
    gboolean begun, left;
    char head[INPUT_PIPE_HEAD];
} Pipe;

/* Waits, as for a named pipe that nobody writes to yet, but not when the command is to end: then only what
 * keeps coming is read to its end, and not even that when it is given up. */
static ssize_t read_some(Pipe *p, char *to, size_t n) {
    for (;;) {
        struct pollfd one = {p->fd, POLLIN, 0};
        int ready = poll(&one, 1, 100);
        if (*p->cancel || (!ready && *p->stop)) {
            errno = EINTR;
            return -1;
        }
        ssize_t got = ready > 0 ? read(p->fd, to, n) : -1;
        if (got >= 0 || (ready && errno != EINTR && errno != EAGAIN))
            return got;
    }
}

static ssize_t read_pipe(void *cookie, char *to, size_t n) {
    Pipe *p = cookie;
    ssize_t got = 1;
    while (!p->begun && got > 0 && p->size < sizeof(p->head)) {
        got = read_some(p, p->head + p->size, sizeof(p->head) - p->size);
        if (got < 0)
            return -1;
        p->size += (gsize)got;
    }
    p->begun = TRUE;
    if (p->at == p->size) {
        got = read_some(p, to, n);
        p->left = p->left || got > 0;
        return got;
    }
    n = MIN(n, p->size - p->at);
    memcpy(to, p->head + p->at, n);
    p->at += n;
    return (ssize_t)n;
}

static int seek_pipe(void *cookie, off64_t *offset, int whence) {
    Pipe *p = cookie;
    gint64 to = *offset + (whence == SEEK_CUR ? (gint64)p->at : 0);
    if (p->left || whence == SEEK_END || to < 0 || to > (gint64)p->size) {
        errno = ESPIPE;
        return -1;
    }
    p->at = (gsize)to;
    *offset = to;
    return 0;
}

static int close_pipe(void *cookie) {
    Pipe *p = cookie;
    int result = close(p->fd);
    g_free(p);
    return result;
}

FILE *input_pipe_open(int fd, const atomic_int *stop, const atomic_int *cancel, GError **error) {
    static const cookie_io_functions_t functions = {
        .read = read_pipe, .seek = seek_pipe, .close = close_pipe};
    Pipe *p = g_new0(Pipe, 1);
    p->fd = fd;
    p->stop = stop;
    p->cancel = cancel;
    fcntl(fd, F_SETPIPE_SZ, 1 << 20); /* fewer changes between the two processes, where that is allowed */
    FILE *stream = fopencookie(p, "r", functions);
    if (stream)
        return stream;
    system_fault(error, "read it", errno);
    close_pipe(p);
    return NULL;
}

static gboolean cannot(GError **error, const char *verb, const char *folder) {
    return fault(
        error, STATUS_FAILED,
        "comes from a pipe, and a temporary file for it in %s cannot be %s (%s): set TMPDIR to a folder "
        "with room",
        folder, verb, g_strerror(errno));
}

static gboolean copy(FILE *from, FILE *to, const char *folder, GError **error) {
    enum { PART = 1 << 18 };
    char *part = g_malloc(PART);
    gboolean good = TRUE;
    for (gsize n; good && (n = fread(part, 1, PART, from));)
        good = fwrite(part, 1, n, to) == n || cannot(error, "written", folder);
    good = good && (!ferror(from) || system_fault(error, "read it", errno)) &&
           ((!fflush(to) && !fseeko(to, 0, SEEK_SET)) || cannot(error, "written", folder));
    g_free(part);
    return good;
}

FILE *input_pipe_spool(FILE *stream, GError **error) {
    const char *folder = tt_spill_folder();
    int fd = tt_spill_open_nameless(folder);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (file && copy(stream, file, folder, error))
        return file;
    if (file)
        fclose(file);
    else
        cannot(error, "made", folder);
    if (!file && fd >= 0)
        close(fd);
    return NULL;
}
