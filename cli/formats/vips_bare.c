/* SPDX-License-Identifier: MIT
 *
 * What a header holds beside the size, and how metadata are written, is libvips' matter: it writes a file of
 * one pixel. What stands there before and behind the pixel is put, with the true size, around the true
 * pixels.
 */
#define _GNU_SOURCE /* memmem */
#include "vips_bare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../say.h"

typedef struct {
    Writer writer;
    FILE *file;
    GByteArray *head, *tail; /* around the pixels */
    guint64 width, height, row_bytes;
} BareWriter;

static gsize pixel_bytes(const VipsImage *image) {
    return vips.format_sizeof(image->BandFmt) * (gsize)image->Bands;
}

/* ---- .v: a header, rows, metadata --------------------------------------------------------------------- */

enum { V_HEADER = 64, V_WIDTH_AT = 4, V_HEIGHT_AT = 8 };

void native_pixels_find(FILE *file, const VipsImage *image, BareBlocks *blocks) {
    guint8 first = 0;
    gboolean complex = image->BandFmt == VIPS_FORMAT_COMPLEX || image->BandFmt == VIPS_FORMAT_DPCOMPLEX;
    *blocks = (BareBlocks){0};
    if (pread(fileno(file), &first, 1, 0) != 1)
        return;
    gboolean swapped = (first == 0x08) == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
    if (swapped && image->Coding != VIPS_CODING_NONE)
        return; /* libvips knows what that means */
    gsize row = pixel_bytes(image) * (gsize)image->Xsize, height = (gsize)image->Ysize;
    *blocks = (BareBlocks){.rows = {.fd = fileno(file),
                                    .row_bytes = row,
                                    .pixel_bits = 8 * pixel_bytes(image),
                                    .height = height},
                           .width = (gsize)image->Xsize,
                           .height = height,
                           .swapped = swapped ? vips.format_sizeof(image->BandFmt) / (complex ? 2 : 1) : 0};
    blocks->starts = g_new(guint64, 1);
    blocks->starts[0] = V_HEADER;
}

/* The first letters of EXIF's names, in libvips and where that shall not know them. The case of one differs.
 */
static const char exif_names[] = "exif-", hidden_names[] = "exIf-";
enum { HIDDEN_CASE = 2 };

/* libvips would write the size of the one pixel into EXIF. All fields are set anew, so that their order
 * stays. */
static void hide_exif(VipsImage *image) {
    char **names = vips.image_get_fields(image);
    for (char **name = names; *name; name++) {
        GValue value = {0};
        if (vips.image_get(image, *name, &value))
            continue;
        if (vips.image_remove(image, *name)) { /* not what the header itself holds */
            if (g_str_has_prefix(*name, exif_names))
                (*name)[HIDDEN_CASE] = hidden_names[HIDDEN_CASE];
            vips.image_set(image, *name, &value);
        }
        vips.value_unset(&value);
    }
    g_strfreev(names);
}

/* In tags alone: values may hold any text, but no bracket. */
static void show_exif(GByteArray *metadata) {
    static const char tag[] = "<field type=\"", begin[] = "\" name=\"";
    char *text = (char *)metadata->data, *end = text + metadata->len;
    while ((text = memmem(text, (gsize)(end - text), tag, strlen(tag))) &&
           (text = memmem(text + strlen(tag), (gsize)(end - text) - strlen(tag), begin, strlen(begin)))) {
        text += strlen(begin);
        if ((gsize)(end - text) > strlen(hidden_names) && g_str_has_prefix(text, hidden_names))
            text[HIDDEN_CASE] = exif_names[HIDDEN_CASE];
    }
}

static gboolean stretch_native(BareWriter *w, gsize pixel) {
    guint32 size[] = {(guint32)w->width, (guint32)w->height};
    if (w->head->len < V_HEADER + pixel)
        return FALSE;
    g_byte_array_append(w->tail, w->head->data + V_HEADER + pixel, w->head->len - V_HEADER - (guint)pixel);
    show_exif(w->tail);
    g_byte_array_set_size(w->head, V_HEADER);
    memcpy(w->head->data + V_WIDTH_AT, size, sizeof(size)); /* libvips writes in the machine's order */
    return TRUE;
}

/* ---- TIFF: all of libvips' file, rows, where strips start and how long they are ----------------------- */

enum { STRIP = 256 << 10 };

typedef struct {
    guint8 *bytes;
    guint64 length;
    gboolean big;
} TiffHead;

/* A number of the machine's order, as libvips writes; 0 where there are no such bytes. */
static guint64 number_at(const TiffHead *t, guint64 at, gsize bytes) {
    guint64 n64 = 0;
    guint32 n32 = 0;
    guint16 n16 = 0;
    if (at > t->length || bytes > t->length - at)
        return 0;
    memcpy(bytes == 8 ? (void *)&n64 : bytes == 4 ? (void *)&n32 : (void *)&n16, t->bytes + at, bytes);
    return n64 + n32 + n16;
}

static void put_number(guint8 *to, gsize bytes, guint64 number) {
    guint32 n32 = (guint32)number;
    memcpy(to, bytes == 8 ? (void *)&number : (void *)&n32, bytes);
}

/* Changes an entry of the directory. FALSE if there is none. */
static gboolean set_entry(const TiffHead *t, guint tag, guint64 count, guint64 value) {
    enum { LONG = 4, LONG8 = 16 };
    gsize word = t->big ? 8 : 4;
    guint64 directory = number_at(t, t->big ? 8 : 4, word), n = number_at(t, directory, t->big ? 8 : 2);
    guint64 entry = directory + (t->big ? 8 : 2), size = 4 + 2 * word;
    for (; n && entry + size <= t->length; n--, entry += size)
        if (number_at(t, entry, 2) == tag) {
            guint16 type = t->big ? LONG8 : LONG;
            memcpy(t->bytes + entry + 2, &type, sizeof(type));
            put_number(t->bytes + entry + 4, word, count);
            put_number(t->bytes + entry + 4 + word, word, value);
            return TRUE;
        }
    return FALSE;
}

static gboolean stretch_tiff(BareWriter *w) {
    enum { WIDTH = 256, HEIGHT = 257, STRIP_OFFSETS = 273, ROWS_PER_STRIP = 278, STRIP_BYTES = 279 };
    static const guint8 padding[16];
    g_byte_array_append(w->head, padding, (16 - w->head->len % 16) % 16);
    TiffHead t = {w->head->data, w->head->len, FALSE};
    t.big = number_at(&t, 2, 2) == 43;
    gsize word = t.big ? 8 : 4;
    guint64 rows = MIN(MAX(STRIP / w->row_bytes, 1), w->height), strips = (w->height - 1) / rows + 1;
    guint64 pixels = w->row_bytes * w->height, table = (t.length + pixels + 15) / 16 * 16;
    if (strips > G_MAXUINT / 16 / 2 || (!t.big && table + 8 * strips > G_MAXUINT32))
        return FALSE;
    g_byte_array_set_size(w->tail, (guint)(table - t.length - pixels + 2 * word * strips));
    memset(w->tail->data, 0, w->tail->len);
    guint8 *starts = w->tail->data + (table - t.length - pixels), *lengths = starts + word * strips;
    for (guint64 i = 0; i < strips; i++) {
        put_number(starts + word * i, word, t.length + i * rows * w->row_bytes);
        put_number(lengths + word * i, word, MIN(rows, w->height - i * rows) * w->row_bytes);
    }
    gboolean one = strips == 1; /* whose numbers stand in the entries */
    return set_entry(&t, WIDTH, 1, w->width) && set_entry(&t, HEIGHT, 1, w->height) &&
           set_entry(&t, ROWS_PER_STRIP, 1, rows) &&
           set_entry(&t, STRIP_OFFSETS, strips, one ? t.length : table) &&
           set_entry(&t, STRIP_BYTES, strips, one ? pixels : table + word * strips);
}

/* ---- Both --------------------------------------------------------------------------------------------- */

static int blank_pixel(VipsRegion *out, void *seq, void *a, void *b, gboolean *stop) {
    (void)seq;
    (void)a;
    (void)b;
    (void)stop;
    memset(out->data, 0, pixel_bytes(out->im));
    return 0;
}

/* Takes all bytes out of the file, which is empty then. */
static gboolean take_back(FILE *file, GByteArray *bytes) {
    struct stat info;
    if (fstat(fileno(file), &info) || info.st_size > G_MAXINT32)
        return FALSE;
    g_byte_array_set_size(bytes, (guint)info.st_size);
    return pread(fileno(file), bytes->data, bytes->len, 0) == (ssize_t)bytes->len &&
           !ftruncate(fileno(file), 0) && !fseeko(file, 0, SEEK_SET);
}

static gboolean write_bytes(BareWriter *w, const GByteArray *bytes, GError **error) {
    return fwrite(bytes->data, 1, bytes->len, w->file) == bytes->len ||
           system_fault(error, "write the output", errno);
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    return bare_rows_write(((BareWriter *)writer)->file, rows, error);
}

static gboolean finish(Writer *writer, GError **error) {
    BareWriter *w = (BareWriter *)writer;
    return write_bytes(w, w->tail, error);
}

static void dispose(Writer *writer) {
    BareWriter *w = (BareWriter *)writer;
    g_byte_array_unref(w->head);
    g_byte_array_unref(w->tail);
    g_free(w);
}

static const Format bare_writer = {.write_rows = write_rows, .finish = finish, .dispose = dispose};

Writer *bare_create(FILE *file, VipsImage *header, gboolean is_tiff,
                    gboolean (*save)(gpointer data, GError **error), gpointer data, GError **error) {
    BareWriter *w = g_new0(BareWriter, 1);
    gsize pixel = pixel_bytes(header);
    w->writer = (Writer){.format = &bare_writer, .passes = 1};
    w->file = file;
    w->head = g_byte_array_new();
    w->tail = g_byte_array_new();
    w->width = (guint64)header->Xsize;
    w->height = (guint64)header->Ysize;
    w->row_bytes = w->width * pixel;
    header->Xsize = header->Ysize = 1;
    if (!is_tiff)
        hide_exif(header);
    vips.image_generate(header, NULL, blank_pixel, NULL, NULL, NULL);
    if (!save(data, error))
        goto failed;
    if (!take_back(file, w->head)) {
        system_fault(error, "write the output", errno);
    } else if (!(is_tiff ? stretch_tiff(w) : stretch_native(w, pixel))) {
        fault(error, STATUS_FAILED,
              "is larger than its format allows, or libvips writes it in another way: convert it to another "
              "format first");
    } else if (write_bytes(w, w->head, error)) {
        return &w->writer;
    }

failed:
    dispose(&w->writer);
    return NULL;
}
