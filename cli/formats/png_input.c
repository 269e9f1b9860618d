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
    ssize_t part;
    do
        part = pread(input->fd, to, n, offset);
    while (part < 0 && errno == EINTR);
    *got = (gsize)MAX(part, 0);
    return part >= 0 || system_fault(error, "read it", errno);
}

gboolean png_input_of_file(PngInput *input, int fd, const char *path, GError **error) {
    struct stat info;
    if (fstat(fd, &info))
        return system_fault(error, "examine it", errno);
    *input = (PngInput){.path = path, .size = info.st_size, .read = read_file, .fd = fd};
    return TRUE;
}

gboolean png_input_read(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error) {
    for (gsize got; n; to += got, n -= got, offset += (goffset)got) {
        if (!input->read(input, to, n, offset, &got, error))
            return FALSE;
        if (!got)
            return input->size == G_MAXINT64
                       ? fault(error, STATUS_FAILED, "is cut short: restore it from a copy")
                       : fault(error, STATUS_FAILED,
                               "became shorter while it was read: leave it alone and try again");
    }
    return TRUE;
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
