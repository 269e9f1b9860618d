/* SPDX-License-Identifier: MIT
 *
 * The chunks of a WebP file, as RFC 9649 lays them out.
 */
#include "webp_chunks.h"

#include <string.h>

enum { FILE_HEAD = 12, CHUNK_HEAD = 8, XMP_FLAG = 4, EXIF_FLAG = 8, ALPHA_FLAG = 16 };

static guint32 number(const guint8 *p) {
    return (guint32)p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

static void put(GByteArray *to, guint32 value, guint bytes) {
    for (; bytes; bytes--, value >>= 8)
        g_byte_array_append(to, (guint8[]){(guint8)value}, 1);
}

static void put_chunk(GByteArray *to, const char *type, gconstpointer data, gsize size) {
    g_byte_array_append(to, (const guint8 *)type, 4);
    put(to, (guint32)size, 4);
    g_byte_array_append(to, data, (guint)size);
    if (size % 2)
        put(to, 0, 1);
}

/* ---- What libvips leaves out of the source ------------------------------------------------------------ */

static gboolean is_type(const guint8 *chunk, const char *types) {
    for (; *types; types += 4)
        if (!memcmp(chunk, types, 4))
            return TRUE;
    return FALSE;
}

static gboolean copy_bytes(FILE *file, off_t at, off_t end, GByteArray *to) {
    gsize before = to->len, n = (gsize)(end - at);
    if (end - at > G_MAXINT32 / 2 || to->len > G_MAXINT32)
        return FALSE;
    g_byte_array_set_size(to, (guint)(before + n));
    return !fseeko(file, at, SEEK_SET) && fread(to->data + before, 1, n, file) == n;
}

gboolean webp_read_rest(FILE *file, WebpRest *rest) {
    guint8 head[FILE_HEAD];
    *rest = (WebpRest){g_byte_array_new(), g_byte_array_new(), g_byte_array_new()};
    rewind(file);
    if (fread(head, 1, FILE_HEAD, file) != FILE_HEAD)
        return FALSE;
    off_t end = CHUNK_HEAD + (off_t)number(head + 4), size;
    end += end % 2;
    for (off_t at = FILE_HEAD; at + CHUNK_HEAD <= end; at += size) {
        if (fseeko(file, at, SEEK_SET) || fread(head, 1, CHUNK_HEAD, file) != CHUNK_HEAD)
            return FALSE;
        size = CHUNK_HEAD + (off_t)number(head + 4) + number(head + 4) % 2;
        GByteArray *to = is_type(head, "ANIM") ? rest->film : rest->unknown;
        if (!is_type(head, "VP8XVP8 VP8LALPHANMFICCPEXIFXMP ") &&
            !copy_bytes(file, at, MIN(at + size, end), to))
            return FALSE;
    }
    if (fseeko(file, 0, SEEK_END))
        return FALSE;
    off_t last = ftello(file);
    return last <= end || copy_bytes(file, end, last, rest->behind);
}

void webp_strip_rest(WebpRest *rest) {
    g_byte_array_set_size(rest->unknown, 0);
    g_byte_array_set_size(rest->behind, 0);
}

void webp_clear_rest(WebpRest *rest) {
    if (!rest->film)
        return;
    g_byte_array_unref(rest->film);
    g_byte_array_unref(rest->unknown);
    g_byte_array_unref(rest->behind);
    *rest = (WebpRest){0};
}

/* ---- Putting it back ---------------------------------------------------------------------------------- */

/* The chunk for more than pixels, as the pixels have it. */
static void put_extended(GByteArray *to, const guint8 *lossless, guint8 flags) {
    guint32 sizes = number(lossless + CHUNK_HEAD + 1);
    GByteArray *body = g_byte_array_new();
    put(body, flags | (sizes >> 28 & 1 ? ALPHA_FLAG : 0), 4);
    put(body, sizes & 0x3fff, 3);
    put(body, sizes >> 14 & 0x3fff, 3);
    put_chunk(to, "VP8X", body->data, body->len);
    g_byte_array_unref(body);
}

/* One chunk of the saved file, if it stays. */
static void put_saved(GByteArray *to, const guint8 *chunk, gsize size, const WebpRest *rest, guint8 flags,
                      gboolean extended) {
    if (is_type(chunk, "VP8X") && size > CHUNK_HEAD) {
        guint8 kept = (chunk[CHUNK_HEAD] & (guint8) ~(EXIF_FLAG | XMP_FLAG)) | flags;
        if (!extended && !(kept & ~ALPHA_FLAG))
            return;
        g_byte_array_append(to, chunk, (guint)size);
        to->data[to->len - size + CHUNK_HEAD] = kept;
        return;
    }
    if (extended && to->len == FILE_HEAD && is_type(chunk, "VP8L") && size > CHUNK_HEAD + 5)
        put_extended(to, chunk, flags);
    if (is_type(chunk, "ANIM") && rest->film->len)
        g_byte_array_append(to, rest->film->data, rest->film->len);
    else
        g_byte_array_append(to, chunk, (guint)size);
}

static void put_metadata(GByteArray *to, const char *type, const WebpBlock *block) {
    if (block && block->size)
        put_chunk(to, type, block->data, block->size);
}

GByteArray *webp_dressed(const GByteArray *saved, const WebpRest *rest, const WebpBlock *exif,
                         const WebpBlock *xmp) {
    GByteArray *to = g_byte_array_new();
    guint8 flags = (guint8)((!exif || exif->size ? EXIF_FLAG : 0) | (xmp->size ? XMP_FLAG : 0));
    gboolean extended = flags || rest->unknown->len;
    const guint8 *end = saved->data + saved->len;
    g_byte_array_append(to, saved->data, FILE_HEAD);
    for (const guint8 *p = saved->data + FILE_HEAD; end - p >= CHUNK_HEAD;) {
        gsize size = CHUNK_HEAD + (gsize)number(p + 4) + number(p + 4) % 2;
        size = MIN(size, (gsize)(end - p)); /* of a whole file nothing is cut */
        if (!is_type(p, exif ? "EXIFXMP " : "XMP "))
            put_saved(to, p, size, rest, flags, extended);
        p += size;
    }
    put_metadata(to, "EXIF", exif);
    put_metadata(to, "XMP ", xmp);
    g_byte_array_append(to, rest->unknown->data, rest->unknown->len);
    guint32 length = GUINT32_TO_LE(to->len - 8);
    memcpy(to->data + 4, &length, 4);
    g_byte_array_append(to, rest->behind->data, rest->behind->len);
    return to;
}
