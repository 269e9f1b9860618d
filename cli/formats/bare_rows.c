/* SPDX-License-Identifier: MIT
 *
 * Reading rows from where they lie.
 */
#define _GNU_SOURCE
#include "bare_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../say.h"

/* So many parts of rows are asked for before they are needed: a disk is fast when it has much to do. */
enum { AHEAD = 256 };

gboolean bare_bytes_read(int fd, guint8 *to, gsize n, off_t offset, GError **error) {
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

static guint8 *row_of(const TtImage *image, gsize y) {
    return (guint8 *)image->data + (ptrdiff_t)y * image->pitch;
}

static off_t row_offset(const BareRows *rows, gsize y) {
    return rows->start + (off_t)((rows->bottom_up ? rows->height - 1 - y : y) * rows->row_bytes);
}

/* Whole rows, which follow each other in the file but not in memory: as many at once as the system takes. */
static gboolean read_whole_rows(const BareRows *rows, gsize first, const TtImage *into, GError **error) {
    enum { MOST = 1024 };
    struct iovec parts[MOST];
    const gsize bytes = rows->row_bytes;
    for (gsize y = 0, n; y < into->height; y += n) {
        n = MIN(into->height - y, MOST);
        for (gsize i = 0; i < n; i++)
            parts[i] = (struct iovec){row_of(into, y + i), bytes};
        if (preadv(rows->fd, parts, (int)n, row_offset(rows, first + y)) == (ssize_t)(n * bytes))
            continue;
        for (gsize i = 0; i < n; i++)
            if (!bare_bytes_read(rows->fd, row_of(into, y + i), bytes, row_offset(rows, first + y + i),
                                 error))
                return FALSE;
    }
    return TRUE;
}

static gboolean read_from_memory(int fd, guint8 *to, gsize n, off_t offset) {
    struct iovec part = {to, n};
    return preadv2(fd, &part, 1, offset, RWF_NOWAIT) == (ssize_t)n;
}

/* The parts of the rows from y on that lie `skipped` bytes behind their starts will be read next. */
static void ask_ahead(BareRows *rows, gsize y, gsize skipped, gsize bytes) {
    off_t which = rows->start + (off_t)skipped;
    if (!rows->from_disk) /* and nothing between those parts */
        posix_fadvise(rows->fd, 0, 0, POSIX_FADV_RANDOM);
    if (!rows->from_disk || rows->ahead_of != which || rows->ahead < y)
        rows->ahead = y;
    rows->from_disk = TRUE;
    rows->ahead_of = which;
    for (gsize end = MIN(y + AHEAD, rows->height); rows->ahead < end; rows->ahead++)
        posix_fadvise(rows->fd, row_offset(rows, rows->ahead) + (off_t)skipped, (off_t)bytes,
                      POSIX_FADV_WILLNEED);
}

/* Parts of rows at once, if the last is not in memory: the first may be there with the header. */
static gboolean read_directly(BareRows *rows, TtRect r, gsize skipped, gsize bytes, const TtImage *into) {
    off_t first = row_offset(rows, r.y) + (off_t)skipped, apart = (off_t)rows->row_bytes;
    if (!rows->from_disk &&
        read_from_memory(rows->fd, into->data, bytes, first + (off_t)(r.height - 1) * apart))
        return FALSE;
    if (!rows->direct_tried)
        rows->direct = direct_rows_new(rows->fd);
    rows->direct_tried = TRUE;
    return rows->direct &&
           direct_rows_read(rows->direct, first, apart, bytes, r.height, into->data, into->pitch);
}

gboolean bare_rows_read(BareRows *rows, TtRect r, const TtImage *into, gboolean spare, GError **error) {
    gsize bytes = (r.width * rows->pixel_bits + 7) / 8, skipped = r.x * rows->pixel_bits / 8;
    gboolean whole = bytes == rows->row_bytes;
    if (whole && !rows->bottom_up)
        return into->pitch == (ptrdiff_t)bytes
                   ? bare_bytes_read(rows->fd, into->data, bytes * r.height, row_offset(rows, r.y), error)
                   : read_whole_rows(rows, r.y, into, error);
    if (spare && !whole && !rows->bottom_up && read_directly(rows, r, skipped, bytes, into))
        return TRUE;
    for (gsize y = 0; y < r.height; y++) {
        off_t offset = row_offset(rows, r.y + y) + (off_t)skipped;
        guint8 *to = row_of(into, y);
        if (!whole && !rows->from_disk && read_from_memory(rows->fd, to, bytes, offset))
            continue;
        if (!whole)
            ask_ahead(rows, r.y + y, skipped, bytes);
        if (!bare_bytes_read(rows->fd, to, bytes, offset, error))
            return FALSE;
    }
    return TRUE;
}

void bare_rows_clear(BareRows *rows) {
    g_clear_pointer(&rows->direct, direct_rows_free);
}

gboolean bare_rows_read_on(FILE *file, const TtImage *into, GError **error) {
    gsize bytes = (into->width * into->channels * into->sample_bits + 7) / 8;
    for (gsize y = 0; y < into->height; y++)
        if (fread(row_of(into, y), 1, bytes, file) != bytes)
            return ferror(file) ? system_fault(error, "read it", errno)
                                : fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
    return TRUE;
}

gboolean bare_rows_write(FILE *file, const TtImage *rows, GError **error) {
    gsize bytes = (rows->width * rows->channels * rows->sample_bits + 7) / 8, n = rows->height;
    if (rows->pitch == (ptrdiff_t)bytes) { /* at once */
        bytes *= n;
        n = 1;
    }
    for (gsize i = 0; i < n; i++)
        if (fwrite(row_of(rows, i), 1, bytes, file) != bytes)
            return system_fault(error, "write the output", errno);
    return TRUE;
}

/* ---- Blocks ------------------------------------------------------------------------------------------- */

static void swap_samples(const TtImage *image, gsize pixel_bits, gsize size) {
    gsize samples = image->width * pixel_bits / 8 / size;
    for (gsize y = 0; y < image->height; y++) {
        guint8 *row = row_of(image, y);
        for (gsize i = 0; i < samples; i++, row += size)
            for (gsize a = 0, b = size - 1; a < b; a++, b--) {
                guint8 byte = row[a];
                row[a] = row[b];
                row[b] = byte;
            }
    }
}

/* Blocks as wide as r are read one after another, each at once: a disk is to know of all of them. */
static void ask_for_blocks(const BareBlocks *blocks, gsize across, TtRect r) {
    gsize left = (r.x + blocks->width - 1) / blocks->width, right = (r.x + r.width) / blocks->width;
    for (gsize row = r.y / blocks->height; row * blocks->height < r.y + r.height; row++)
        for (gsize column = left; column < right; column++)
            posix_fadvise(blocks->rows.fd, (off_t)blocks->starts[row * across + column],
                          (off_t)(blocks->height * blocks->rows.row_bytes), POSIX_FADV_WILLNEED);
}

gboolean bare_blocks_read(BareBlocks *blocks, gsize picture_width, TtRect r, const TtImage *into,
                          gboolean spare, GError **error) {
    gsize across = (picture_width - 1) / blocks->width + 1;
    if (across > 1)
        ask_for_blocks(blocks, across, r);
    for (gsize y = r.y, y_end; y < r.y + r.height; y = y_end) {
        y_end = MIN((y / blocks->height + 1) * blocks->height, r.y + r.height);
        for (gsize x = r.x, x_end; x < r.x + r.width; x = x_end) {
            x_end = MIN((x / blocks->width + 1) * blocks->width, r.x + r.width);
            TtImage part = tt_subimage(into, (TtRect){x - r.x, y - r.y, x_end - x, y_end - y});
            TtRect within = {x % blocks->width, y % blocks->height, part.width, part.height};
            blocks->rows.start = (off_t)blocks->starts[y / blocks->height * across + x / blocks->width];
            if (!bare_rows_read(&blocks->rows, within, &part, spare && part.width == r.width, error))
                return FALSE;
        }
    }
    if (blocks->swapped)
        swap_samples(into, blocks->rows.pixel_bits, blocks->swapped);
    return TRUE;
}

void bare_blocks_clear(BareBlocks *blocks) {
    bare_rows_clear(&blocks->rows);
    g_clear_pointer(&blocks->starts, g_free);
}
