/* SPDX-License-Identifier: MIT
 *
 * Reading entries. Nothing that the file claims is trusted: sizes are compared with the file's before memory
 * is asked for.
 */
#include "tiff_directory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../fault.h"
#include "bare_rows.h"

static gboolean cut_short(GError **error) {
    return fault(error, STATUS_FAILED, "is cut short or damaged: restore it from a copy");
}

/* Who asks for no error does without the value, as if the file had none. */
static gboolean refused(const TiffFile *file, int number, GError **error) {
    if (!error && file->unread)
        g_atomic_int_set(file->unread, number);
    return FALSE;
}

gboolean tiff_file_read(const TiffFile *file, guint64 at, gpointer to, gsize n, GError **error) {
    if (at > file->size || n > file->size - at)
        return cut_short(error);
    errno = 0;
    return bare_bytes_read(file->fd, to, n, (off_t)at, error) ||
           refused(file, errno ? errno : EIO /* became shorter */, error);
}

gboolean tiff_file_was_read(const TiffFile *file, gboolean good, GError **error) {
    int number = g_atomic_int_get(file->unread);
    if (!number)
        return good;
    g_clear_error(error);
    return system_fault(error, "read all of it", number);
}

guint64 tiff_number(const TiffFile *file, const guint8 *data, gsize n) {
    guint64 value = 0;
    for (gsize i = 0; i < n; i++)
        value = value << 8 | data[file->big_endian ? i : n - 1 - i];
    return value;
}

void tiff_put_number(const TiffFile *file, guint8 *data, gsize n, guint64 value) {
    for (gsize i = 0; i < n; i++, value >>= 8)
        data[file->big_endian ? n - 1 - i : i] = (guint8)value;
}

gboolean tiff_file_open(TiffFile *file, int fd, GError **error) {
    struct stat info;
    guint8 head[16];
    if (fstat(fd, &info))
        return system_fault(error, "examine it", errno);
    *file = (TiffFile){.fd = fd, .size = (guint64)info.st_size};
    if (!tiff_file_read(file, 0, head, 8, error))
        return FALSE;
    file->big_endian = head[0] == 'M';
    file->big = tiff_number(file, head + 2, 2) == 43;
    if (file->big && !tiff_file_read(file, 0, head, 16, error))
        return FALSE;
    if (file->big && tiff_number(file, head + 4, 4) != (file->big_endian ? 8u << 16 : 8u))
        return cut_short(error);
    file->first = file->big ? tiff_number(file, head + 8, 8) : tiff_number(file, head + 4, 4);
    return file->first || fault(error, STATUS_FAILED, "has no page: restore it from a copy");
}

gsize tiff_type_size(guint type) {
    static const guint8 sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < G_N_ELEMENTS(sizes) ? sizes[type] : 0;
}

gsize tiff_entry_size(const TiffEntry *entry) {
    return tiff_type_size(entry->type) * entry->count;
}

static TiffEntry read_entry(const TiffFile *file, const guint8 *raw, guint64 at) {
    gsize room = file->big ? 8 : 4;
    TiffEntry entry = {.tag = (guint)tiff_number(file, raw, 2),
                       .type = (guint)tiff_number(file, raw + 2, 2),
                       .count = tiff_number(file, raw + 4, room),
                       .at = at + 4 + room};
    gsize bytes = tiff_type_size(entry.type);
    if (!bytes || entry.count > file->size / bytes)
        return entry;
    if (entry.count * bytes > room)
        entry.at = tiff_number(file, raw + 4 + room, room);
    entry.good = entry.at <= file->size && entry.count * bytes <= file->size - entry.at;
    return entry;
}

TiffDirectory *tiff_directory_read(const TiffFile *file, guint64 at, GError **error) {
    const gsize count_bytes = file->big ? 8 : 2, entry_bytes = file->big ? 20 : 12;
    guint8 raw[8];
    if (!tiff_file_read(file, at, raw, count_bytes, error))
        return NULL;
    guint64 n = tiff_number(file, raw, count_bytes);
    if (n > 65535 || n * entry_bytes > file->size) {
        cut_short(error);
        return NULL;
    }
    TiffDirectory *d = g_new0(TiffDirectory, 1);
    gsize bytes = n * entry_bytes, link = file->big ? 8 : 4;
    guint8 *all = g_malloc(bytes + link);
    *d = (TiffDirectory){.at = at, .n = n, .entries = g_new0(TiffEntry, n)};
    if (!tiff_file_read(file, at + count_bytes, all, bytes + link, error)) {
        g_free(all);
        tiff_directory_free(d);
        return NULL;
    }
    for (gsize i = 0; i < n; i++)
        d->entries[i] = read_entry(file, all + i * entry_bytes, at + count_bytes + i * entry_bytes);
    d->next = tiff_number(file, all + bytes, link);
    g_free(all);
    return d;
}

void tiff_directory_free(TiffDirectory *directory) {
    g_free(directory->entries);
    g_free(directory);
}

const TiffEntry *tiff_directory_find(const TiffDirectory *directory, guint tag) {
    for (gsize i = 0; i < directory->n; i++)
        if (directory->entries[i].tag == tag && directory->entries[i].good)
            return &directory->entries[i];
    return NULL;
}

guint8 *tiff_entry_data(const TiffFile *file, const TiffEntry *entry, GError **error) {
    gsize size = tiff_entry_size(entry);
    guint8 *data = g_try_malloc(size + 1);
    if (!data) {
        fault(error, STATUS_FAILED, "needs %.1f MB of memory for a tag, which the system has not: free some",
              (double)size / 1e6);
        refused(file, ENOMEM, error);
        return NULL;
    }
    data[size] = 0;
    if (tiff_file_read(file, entry->at, data, size, error))
        return data;
    g_free(data);
    return NULL;
}

guint64 *tiff_entry_numbers(const TiffFile *file, const TiffEntry *entry, GError **error) {
    enum { BYTE = 1, SHORT = 3, LONG = 4, IFD = 13, LONG8 = 16, IFD8 = 18 };
    gsize bytes = tiff_type_size(entry->type);
    guint64 *numbers = NULL;
    if (entry->type != BYTE && entry->type != SHORT && entry->type != LONG && entry->type != IFD &&
        entry->type != LONG8 && entry->type != IFD8) {
        fault(error, STATUS_FAILED, "is damaged, its tag %u being no number: restore it from a copy",
              entry->tag);
        return NULL;
    }
    guint8 *data = tiff_entry_data(file, entry, error);
    if (data && !(numbers = g_try_new(guint64, entry->count + 1))) {
        fault(error, STATUS_FAILED, "needs more memory for its tags than the system has: free some");
        refused(file, ENOMEM, error);
    }
    for (guint64 i = 0; numbers && i < entry->count; i++)
        numbers[i] = tiff_number(file, data + i * bytes, bytes);
    g_free(data);
    return numbers;
}

guint64 tiff_directory_number(const TiffFile *file, const TiffDirectory *directory, guint tag,
                              guint64 otherwise) {
    const TiffEntry *entry = tiff_directory_find(directory, tag);
    if (!entry || !entry->count)
        return otherwise;
    TiffEntry first = *entry;
    first.count = 1;
    guint64 *numbers = tiff_entry_numbers(file, &first, NULL), value = numbers ? numbers[0] : otherwise;
    g_free(numbers);
    return value;
}
