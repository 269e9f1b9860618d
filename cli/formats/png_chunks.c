/* SPDX-License-Identifier: MIT
 *
 * Reading, keeping and turning PNG chunks.
 *
 * libpng reads header, palette and pixels; everything else passes by it as bytes. So no field is lost that
 * libpng does not know, an orientation tag behind the pixels is known before they are decoded, and nothing
 * is written in another form than it had.
 */
#include "png_chunks.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "../say.h"
#include "orientation_tag.h"

enum {
    SIGNATURE = 8,
    FRAME = 12,                   /* length, type and checksum around a chunk's data */
    MOST_TEXT = 64 * 1024 * 1024, /* of a compressed text that may hold a tag */
};

static void free_chunk(gpointer chunk) {
    g_byte_array_unref(((Chunk *)chunk)->data);
    g_free(chunk);
}

void png_chunks_clear(PngChunks *chunks) {
    if (chunks->list)
        g_ptr_array_unref(chunks->list);
    chunks->list = NULL;
}

static guint32 big_endian(const guint8 *p) {
    return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

static gboolean is_type(const char *type, const char *wanted) {
    return !memcmp(type, wanted, 4);
}

static gboolean read_at(int fd, guint8 *to, gsize n, goffset offset, GError **error) {
    while (n) {
        ssize_t got = pread(fd, to, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? system_fault(error, "read it", errno)
                           : fault(error, STATUS_FAILED, "became shorter while it was read: try again");
        to += got;
        n -= (gsize)got;
        offset += got;
    }
    return TRUE;
}

/* ---- The orientation tag ---------------------------------------------------------------------------- */

/* Bytes written as hexadecimal digits among white space: a "Raw profile type ..." text, whose first two
 * lines are a name and a length. Calls find on them and writes back what it changed. */
static int profile_orientation(guint8 *text, gsize size, int (*find)(guint8 *, gsize, gboolean),
                               gboolean reset) {
    gsize start = 0;
    for (int lines = 0; start < size && lines < 3; start++)
        lines += text[start] == '\n';
    GByteArray *bytes = g_byte_array_new();
    GArray *digits = g_array_new(FALSE, FALSE, sizeof(guint8 *));
    for (gsize i = start; i < size; i++)
        if (g_ascii_isxdigit(text[i])) {
            guint8 *digit = text + i;
            g_array_append_val(digits, digit);
        }
    for (guint i = 0; i + 1 < digits->len; i += 2) {
        guint8 byte = (guint8)(g_ascii_xdigit_value(*(char *)g_array_index(digits, guint8 *, i)) << 4 |
                               g_ascii_xdigit_value(*(char *)g_array_index(digits, guint8 *, i + 1)));
        g_byte_array_append(bytes, &byte, 1);
    }
    int found = find(bytes->data, bytes->len, reset);
    for (guint i = 0; found && reset && i < bytes->len; i++) {
        static const char hex[] = "0123456789abcdef";
        guint8 *high = g_array_index(digits, guint8 *, 2 * i),
               *low = g_array_index(digits, guint8 *, 2 * i + 1);
        if ((guint8)(g_ascii_xdigit_value((char)*high) << 4 | g_ascii_xdigit_value((char)*low)) ==
            bytes->data[i])
            continue;
        *high = (guint8)hex[bytes->data[i] >> 4];
        *low = (guint8)hex[bytes->data[i] & 15];
    }
    g_byte_array_unref(bytes);
    g_array_unref(digits);
    return found;
}

static int text_orientation(const char *keyword, guint8 *text, gsize size, gboolean reset) {
    if (!strcmp(keyword, "XML:com.adobe.xmp"))
        return xmp_orientation(text, size, reset);
    if (!strcmp(keyword, "Raw profile type xmp"))
        return profile_orientation(text, size, xmp_orientation, reset);
    if (!strcmp(keyword, "Raw profile type exif") || !strcmp(keyword, "Raw profile type APP1"))
        return profile_orientation(text, size, exif_orientation, reset);
    return 0;
}

static GByteArray *inflated(const guint8 *data, gsize size) {
    GByteArray *text = g_byte_array_new();
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
    int status = inflateInit(&z);
    while (status == Z_OK && text->len < MOST_TEXT) {
        guint8 piece[16384];
        z.next_out = piece;
        z.avail_out = sizeof(piece);
        status = inflate(&z, Z_NO_FLUSH);
        g_byte_array_append(text, piece, (guint)(sizeof(piece) - z.avail_out));
        if (z.avail_out && status == Z_OK && !z.avail_in)
            status = Z_DATA_ERROR;
    }
    inflateEnd(&z);
    if (status == Z_STREAM_END)
        return text;
    g_byte_array_unref(text);
    return NULL;
}

/* A text that is compressed from `start` on: inflated, looked at, and deflated again if it was changed. */
static int compressed_orientation(GByteArray *data, gsize start, const char *keyword, gboolean reset) {
    GByteArray *text = inflated(data->data + start, data->len - start);
    if (!text)
        return 0;
    int found = text_orientation(keyword, text->data, text->len, reset);
    if (found && reset) {
        uLongf size = compressBound(text->len);
        guint8 *packed = g_malloc(size);
        if (compress2(packed, &size, text->data, text->len, Z_BEST_COMPRESSION) == Z_OK) {
            g_byte_array_set_size(data, (guint)start);
            g_byte_array_append(data, packed, (guint)size);
        }
        g_free(packed);
    }
    g_byte_array_unref(text);
    return found;
}

/* What a text chunk states. Its keyword ends with a zero byte; then zTXt has a method, iTXt a flag, a
 * method and two more strings, before the text begins. */
static int text_chunk_orientation(Chunk *chunk, gboolean reset) {
    guint8 *data = chunk->data->data, *end = data + chunk->data->len, *p = memchr(data, 0, chunk->data->len);
    if (!p || !++p)
        return 0;
    const char *keyword = (const char *)data;
    gboolean compressed = is_type(chunk->type, "zTXt");
    if (is_type(chunk->type, "iTXt")) {
        if (end - p < 2)
            return 0;
        compressed = p[0] == 1;
        p += 2;
        for (int strings = 0; strings < 2; strings++, p++)
            if (!(p = memchr(p, 0, (gsize)(end - p))))
                return 0;
    } else if (compressed) {
        p++;
    }
    if (p > end)
        return 0;
    if (compressed) {
        char *name = g_strdup(keyword); /* the data may move */
        int found = compressed_orientation(chunk->data, (gsize)(p - data), name, reset);
        g_free(name);
        return found;
    }
    return text_orientation(keyword, p, (gsize)(end - p), reset);
}

static int chunk_orientation(Chunk *chunk, gboolean reset) {
    if (is_type(chunk->type, "eXIf"))
        return exif_orientation(chunk->data->data, chunk->data->len, reset);
    if (is_type(chunk->type, "tEXt") || is_type(chunk->type, "zTXt") || is_type(chunk->type, "iTXt"))
        return text_chunk_orientation(chunk, reset);
    return 0;
}

/* eXIf speaks first, then a raw profile, then XMP. */
static TtOrientation find_tag(GPtrArray *list) {
    int best = TT_NONE, best_rank = 0;
    for (guint i = 0; i < list->len; i++) {
        Chunk *chunk = list->pdata[i];
        int found = chunk_orientation(chunk, FALSE);
        int rank = !found ? 0 : is_type(chunk->type, "eXIf") ? 3 : is_type(chunk->type, "iTXt") ? 1 : 2;
        if (rank > best_rank) {
            best = found;
            best_rank = rank;
        }
    }
    return (TtOrientation)best;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static gboolean read_chunk(int fd, const char *path, goffset offset, guint32 size, const char *type,
                           ChunkPlace place, PngChunks *chunks, GError **error) {
    guint8 stored[4];
    Chunk *chunk = g_new0(Chunk, 1);
    memcpy(chunk->type, type, 4);
    chunk->place = place;
    chunk->data = g_byte_array_new();
    g_byte_array_set_size(chunk->data, size);
    if (!read_at(fd, chunk->data->data, size, offset + 8, error) ||
        !read_at(fd, stored, 4, offset + 8 + size, error)) {
        free_chunk(chunk);
        return FALSE;
    }
    uLong sum = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);
    if (size)
        sum = crc32(sum, chunk->data->data, size);
    if (sum != big_endian(stored)) {
        say_warning(path, "the chunk %s has a bad checksum and is left out", chunk->type);
        free_chunk(chunk);
        return TRUE;
    }
    g_ptr_array_add(chunks->list, chunk);
    return TRUE;
}

static gboolean walk(int fd, const char *path, goffset file_size, PngChunks *chunks, GError **error) {
    ChunkPlace place = BEFORE_PALETTE;
    for (goffset offset = SIGNATURE;;) {
        guint8 head[8];
        if (file_size - offset < FRAME)
            return fault(error, STATUS_FAILED,
                         "is cut short: its last chunk is missing; restore it from a copy");
        if (!read_at(fd, head, 8, offset, error))
            return FALSE;
        guint32 size = big_endian(head);
        const char *type = (const char *)head + 4;
        for (int i = 0; i < 4; i++)
            if (!g_ascii_isalpha(type[i]))
                return fault(error, STATUS_FAILED,
                             "is damaged at byte %" G_GINT64_FORMAT ": restore it from a copy",
                             (gint64)offset);
        if (size > file_size - offset - FRAME)
            return fault(error, STATUS_FAILED,
                         "is cut short: its %.4s chunk at byte %" G_GINT64_FORMAT
                         " reaches past its end; restore it from a copy",
                         type, (gint64)offset);

        if (is_type(type, "IEND"))
            return TRUE;
        if (is_type(type, "IDAT")) {
            chunks->pixel_bytes += size;
            place = AFTER_PIXELS;
        } else if (is_type(type, "PLTE")) {
            place = BEFORE_PIXELS;
        } else if (is_type(type, "acTL")) {
            chunks->animated = TRUE;
        } else if (g_ascii_islower(type[0])) {
            if (!read_chunk(fd, path, offset, size, type, place, chunks, error))
                return FALSE;
        }
        offset += FRAME + (goffset)size;
    }
}

gboolean png_chunks_read(FILE *file, const char *path, PngChunks *chunks, GError **error) {
    struct stat info;
    *chunks = (PngChunks){.list = g_ptr_array_new_with_free_func(free_chunk)};
    if (fstat(fileno(file), &info))
        return system_fault(error, "examine it", errno);
    if (!walk(fileno(file), path, info.st_size, chunks, error))
        return FALSE;
    chunks->tag = find_tag(chunks->list);
    return TRUE;
}

/* ---- Turning ---------------------------------------------------------------------------------------- */

/* pHYs: pixels a unit along x and along y, then the unit. */
static void swap_resolution(GByteArray *data) {
    if (data->len < 8)
        return;
    for (int i = 0; i < 4; i++) {
        guint8 byte = data->data[i];
        data->data[i] = data->data[i + 4];
        data->data[i + 4] = byte;
    }
}

/* sCAL: a unit, then the width and the height of a pixel as text with a zero byte between them. */
static void swap_scale(GByteArray *data) {
    guint8 *separator = data->len > 1 ? memchr(data->data + 1, 0, data->len - 1) : NULL;
    if (!separator)
        return;
    GByteArray *old = g_byte_array_new_take(g_memdup2(data->data, data->len), data->len);
    gsize width = (gsize)(separator - data->data) - 1, height = data->len - width - 2;
    memcpy(data->data + 1, old->data + width + 2, height);
    data->data[1 + height] = 0;
    memcpy(data->data + height + 2, old->data + 1, width);
    g_byte_array_unref(old);
}

/* Chunks that stay true although the pixels were turned: those of the PNG specification and its
 * extensions that say nothing of places, and what its author declared safe to copy (a lower case last
 * letter). */
static gboolean stays_true(const char *type) {
    static const char kept[][5] = {"cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI",
                                   "bKGD", "hIST", "tRNS", "sPLT", "tIME", "pCAL", "sCAL"};
    if (is_type(type, "oFFs"))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        if (is_type(type, kept[i]))
            return TRUE;
    return g_ascii_islower(type[3]);
}

void png_chunks_turn(PngChunks *chunks, const char *path, TtOrientation turn, gboolean tag_used) {
    for (guint i = 0; i < chunks->list->len;) {
        Chunk *chunk = chunks->list->pdata[i];
        if (turn != TT_NONE && !stays_true(chunk->type)) {
            say_note(path, "the chunk %s would no longer be true and is left out", chunk->type);
            g_ptr_array_remove_index(chunks->list, i);
            continue;
        }
        if (tag_used)
            chunk_orientation(chunk, TRUE);
        if (tt_swaps_axes(turn) && is_type(chunk->type, "pHYs"))
            swap_resolution(chunk->data);
        if (tt_swaps_axes(turn) && is_type(chunk->type, "sCAL"))
            swap_scale(chunk->data);
        i++;
    }
}
