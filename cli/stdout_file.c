/* SPDX-License-Identifier: MIT
 *
 * A temporary file, and its way to stdout.
 */
#include "stdout_file.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "../kernels/frame/spill_file.h"
#include "say.h"

int stdout_file_open(char **name, GError **error) {
    const char *folder = tt_spill_folder();
    int fd = tt_spill_open_nameless(folder);
    if (fd < 0)
        fault(error, STATUS_FAILED, "no temporary file can be made in %s (%s): set TMPDIR to another folder",
              folder, g_strerror(errno));
    else
        *name = g_strdup_printf("/proc/self/fd/%d", fd);
    return fd;
}

/* The whole block, to a pipe that others may have made one that does not wait, too. */
static gboolean write_all(const char *data, gsize size) {
    while (size) {
        ssize_t n = write(STDOUT_FILENO, data, size);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        else if (n < 0 && errno != EINTR)
            return FALSE;
        data += MAX(n, 0);
        size -= (gsize)MAX(n, 0);
    }
    return TRUE;
}

/* Some file systems tell only at the end that there was no room. */
static gboolean ends_well(void) {
    int copy = dup(STDOUT_FILENO);
    return copy >= 0 && !close(copy);
}

gboolean stdout_file_commit(int fd, GError **error) {
    enum { BLOCK = 1 << 18 };
    char *block = g_malloc(BLOCK);
    gboolean good = TRUE;
    off_t at = 0;
    ssize_t n;
    while (good && (n = pread(fd, block, BLOCK, at))) {
        if (n < 0)
            good = errno == EINTR || system_fault(error, "read its turned copy", errno);
        else
            good = write_all(block, (gsize)n) || system_fault(error, "write to stdout", errno);
        at += MAX(n, 0);
    }
    g_free(block);
    return good && (ends_well() || system_fault(error, "write to stdout", errno));
}
