/* SPDX-License-Identifier: MIT
 *
 * Reading from a file, and what is common to all inputs.
 */
#include "png_input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fault.h"

enum { SIGNATURE = 8, FRAME = 12 }; /* bytes in front of all chunks, and around a chunk's data */

static gboolean read_file(PngInput *input, guint8 *to, gsize n, goffset offset, gsize *got, GError **error) {
    for (*got = 0; *got < n;) {
        ssize_t part = pread(input->fd, to + *got, n - *got, offset + (goffset)*got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return system_fault(error, "read it", errno);
        if (!part)
            break;
        *got += (gsize)part;
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

gboolean png_input_read(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error) {
    gsize got;
    if (!input->read(input, to, n, offset, &got, error))
        return FALSE;
    if (got == n)
        return TRUE;
    return input->size == G_MAXINT64
               ? fault(error, STATUS_FAILED, "is cut short: restore it from a copy")
               : fault(error, STATUS_FAILED,
                       "became shorter while it was read: leave it alone and try again");
}

gboolean png_input_find_pixels(PngInput *input, PngPixels *pixels, GError **error) {
    guint8 head[8];
    for (goffset offset = SIGNATURE;; offset += FRAME + (goffset)png_big_endian(head)) {
        if (!png_input_read(input, head, sizeof(head), offset, error))
            return FALSE;
        if (!memcmp(head + 4, "IDAT", 4)) {
            *pixels = (PngPixels){offset, G_MAXINT64, 0};
            return TRUE;
        }
        if (!memcmp(head + 4, "IEND", 4))
            return fault(error, STATUS_FAILED, "is damaged: it has no pixel data; restore it from a copy");
    }
}
