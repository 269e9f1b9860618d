/* SPDX-License-Identifier: MIT
 *
 * Placing and writing.
 */
#include "tiff_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../fault.h"
#include "deflate.h"
#include "tiff_tag.h"

static gboolean put(int fd, guint64 at, const guint8 *data, gsize size, GError **error) {
    while (size) {
        ssize_t n = pwrite(fd, data, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return system_fault(error, "write the output", errno);
        data += n;
        at += (guint64)n;
        size -= (gsize)n;
    }
    return TRUE;
}

static void note(TiffOutput *o, guint64 at, const guint8 *data, gsize size) {
    if (!o->written)
        return;
    TiffWritten written = {at, size, deflate_crc32(0, data, size)};
    g_array_append_val(o->written, written);
}

gboolean tiff_output_open(TiffOutput *o, int fd, gboolean big_endian, gboolean big, gboolean keep_written,
                          GError **error) {
    guint8 head[16] = {0};
    *o = (TiffOutput){.file = {.fd = fd, .big_endian = big_endian, .big = big}};
    if (keep_written)
        o->written = g_array_new(FALSE, FALSE, sizeof(TiffWritten));
    memcpy(head, big_endian ? "MM" : "II", 2);
    tiff_put_number(&o->file, head + 2, 2, big ? 43 : 42);
    if (big)
        tiff_put_number(&o->file, head + 4, 2, 8);
    o->link = big ? 8 : 4;
    o->end = big ? 16 : 8;
    return put(fd, 0, head, o->end, error);
}

guint64 tiff_output_take(TiffOutput *o, guint64 size) {
    guint64 at = o->end + o->end % 2;
    o->end = at + size;
    return at;
}

gboolean tiff_output_write(TiffOutput *o, guint64 at, const guint8 *data, gsize size, GError **error) {
    if (!o->file.big && at + size > G_MAXUINT32)
        return fault(error, STATUS_FAILED,
                     "grows past the 4 GB that a TIFF may have: convert it to a BigTIFF first");
    note(o, at, data, size);
    return put(o->file.fd, at, data, size, error);
}

gboolean tiff_output_append(TiffOutput *o, const guint8 *data, gsize size, guint64 *at, GError **error) {
    *at = tiff_output_take(o, size);
    return tiff_output_write(o, *at, data, size, error);
}

/* ---- Directories -------------------------------------------------------------------------------------- */

static void clear_entry(gpointer data) {
    g_free(((TiffNewEntry *)data)->data);
}

GArray *tiff_new_entries(void) {
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(TiffNewEntry));
    g_array_set_clear_func(entries, clear_entry);
    return entries;
}

void tiff_new_entries_free(GArray *entries) {
    g_array_unref(entries);
}

void tiff_add_entry(GArray *entries, guint tag, guint type, guint64 count, guint8 *data) {
    TiffNewEntry entry = {tag, type, count, data};
    g_array_append_val(entries, entry);
}

guint8 *tiff_values(const TiffFile *file, guint type, const guint64 *numbers, gsize n) {
    gsize bytes = tiff_type_size(type);
    guint8 *data = g_malloc(n * bytes + 1);
    for (gsize i = 0; i < n; i++)
        tiff_put_number(file, data + i * bytes, bytes, numbers[i]);
    return data;
}

static int by_tag(gconstpointer a, gconstpointer b) {
    return (int)((const TiffNewEntry *)a)->tag - (int)((const TiffNewEntry *)b)->tag;
}

static void append_number(GByteArray *to, const TiffFile *file, gsize bytes, guint64 value) {
    guint8 raw[8];
    tiff_put_number(file, raw, bytes, value);
    g_byte_array_append(to, raw, (guint)bytes);
}

/* The entries themselves, and behind them the values that do not fit into an entry. */
gboolean tiff_output_directory(TiffOutput *o, GArray *entries, guint64 *at, GError **error) {
    const gsize room = o->file.big ? 8 : 4;
    guint64 start = o->end + o->end % 2;
    gsize behind = (o->file.big ? 8 : 2) + entries->len * (4 + 2 * room) + room;
    GByteArray *head = g_byte_array_new(), *values = g_byte_array_new();
    g_array_sort(entries, by_tag); /* is stable */
    append_number(head, &o->file, o->file.big ? 8 : 2, entries->len);
    for (guint i = 0; i < entries->len; i++) {
        const TiffNewEntry *entry = &g_array_index(entries, TiffNewEntry, i);
        gsize size = tiff_type_size(entry->type) * entry->count;
        append_number(head, &o->file, 2, entry->tag);
        append_number(head, &o->file, 2, entry->type);
        append_number(head, &o->file, room, entry->count);
        if (size <= room) {
            guint8 raw[8] = {0};
            memcpy(raw, entry->data, size);
            g_byte_array_append(head, raw, (guint)room);
            continue;
        }
        append_number(head, &o->file, room, start + behind + values->len);
        g_byte_array_append(values, entry->data, (guint)size);
        if (values->len % 2)
            g_byte_array_append(values, (const guint8 *)"", 1);
    }
    append_number(head, &o->file, room, 0);
    g_byte_array_append(head, values->data, values->len);
    gboolean good = tiff_output_append(o, head->data, head->len, at, error);
    /* Where the next one is stands here is written later. */
    if (good && o->written) {
        TiffWritten *last = &g_array_index(o->written, TiffWritten, o->written->len - 1);
        last->size = behind - room;
        last->sum = deflate_crc32(0, head->data, last->size);
        if (values->len)
            note(o, start + behind, values->data, values->len);
    }
    g_byte_array_unref(head);
    g_byte_array_unref(values);
    return good;
}

gboolean tiff_output_chain(TiffOutput *o, guint64 directory, guint entries, GError **error) {
    const gsize room = o->file.big ? 8 : 4;
    guint8 raw[8];
    tiff_put_number(&o->file, raw, room, directory);
    if (!tiff_output_write(o, o->link, raw, room, error))
        return FALSE;
    o->link = directory + (o->file.big ? 8 : 2) + entries * (4 + 2 * room);
    return TRUE;
}
