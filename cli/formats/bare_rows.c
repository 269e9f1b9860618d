/* SPDX-License-Identifier: MIT
 *
 * Reading rows from where they lie.
 */
#include "bare_rows.h"

#include <errno.h>
#include <unistd.h>

#include "../say.h"

static gboolean read_at(int fd, guint8 *to, gsize n, off_t offset, GError **error) {
    while (n) {
        ssize_t got = pread(fd, to, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_fault(error, "read it", errno);
        if (got == 0)
            return fault(error, STATUS_FAILED,
                         "became shorter while it was read: leave it alone and try again");
        to += got;
        n -= (gsize)got;
        offset += got;
    }
    return TRUE;
}

gboolean bare_rows_read(const BareRows *rows, TtRect r, const TtImage *into, GError **error) {
    gsize bytes = (r.width * rows->pixel_bits + 7) / 8, skipped = r.x * rows->pixel_bits / 8;
    if (bytes == rows->row_bytes && into->pitch == (ptrdiff_t)bytes && !rows->bottom_up)
        return read_at(rows->fd, into->data, bytes * r.height, rows->start + (off_t)(r.y * bytes), error);
    for (gsize y = 0; y < r.height; y++) {
        gsize row = rows->bottom_up ? rows->height - 1 - (r.y + y) : r.y + y;
        off_t offset = rows->start + (off_t)(row * rows->row_bytes + skipped);
        if (!read_at(rows->fd, (guint8 *)into->data + (ptrdiff_t)y * into->pitch, bytes, offset, error))
            return FALSE;
    }
    return TRUE;
}
