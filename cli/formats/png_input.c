/* SPDX-License-Identifier: MIT
 *
 * Reading from a file.
 */
#include "png_input.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../say.h"

static gboolean read_file(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error) {
    while (n) {
        ssize_t got = pread(input->fd, to, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? system_fault(error, "read it", errno)
                           : fault(error, STATUS_FAILED,
                                   "became shorter while it was read: leave it alone and try again");
        to += got;
        n -= (gsize)got;
        offset += got;
    }
    return TRUE;
}

gboolean png_input_of_file(PngInput *input, int fd, const char *path, GError **error) {
    struct stat info;
    if (fstat(fd, &info))
        return system_fault(error, "examine it", errno);
    *input = (PngInput){.path = path, .size = info.st_size, .read = read_file, .fd = fd};
    return TRUE;
}
