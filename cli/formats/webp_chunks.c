/* SPDX-License-Identifier: MIT
 *
 * The chunks of a WebP file, as RFC 9649 lays them out.
 */
#include "webp_chunks.h"

#include <errno.h>
#include <string.h>

#include "../fault.h"

enum { FILE_HEAD = 12, CHUNK_HEAD = 8, FRAME_HEAD = 16 };
enum { XMP_FLAG = 4, EXIF_FLAG = 8, ALPHA_FLAG = 16, PROFILE_FLAG = 32 };

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

static gboolean cut_short(FILE *file, GError **error) {
    return ferror(file) ? system_fault(error, "read it", errno)
                        : fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
}

/* To one of the rest's, whose sum with the pixels has to fit one array of 4 GB. */
static gboolean copy_bytes(FILE *file, off_t at, off_t end, const WebpRest *rest, GByteArray *to,
                           GError **error) {
    enum { MOST = 1 << 30 };
    gsize before = to->len, n = (gsize)(end - at);
    if (end - at > MOST || n + rest->film->len + rest->unknown->len + rest->behind->len > MOST)
        return fault(error, STATUS_FAILED,
                     "has more than 1 GB of data that are no part of a WebP, in it or behind it: leave them "
                     "out with --strip, or convert it first");
    g_byte_array_set_size(to, (guint)(before + n));
    return (!fseeko(file, at, SEEK_SET) && fread(to->data + before, 1, n, file) == n) ||
           cut_short(file, error);
}

static gboolean read_head(FILE *file, off_t at, guint8 *head, GError **error) {
    return (!fseeko(file, at, SEEK_SET) && fread(head, 1, CHUNK_HEAD, file) == CHUNK_HEAD) ||
           cut_short(file, error);
}

static off_t size_of(const guint8 *head) {
    return CHUNK_HEAD + (off_t)number(head + 4) + number(head + 4) % 2;
}

/* That of the file's head without which libvips does not read such a chunk; 0 if it does not ask. */
static guint8 flag_of(const guint8 *head) {
    return is_type(head, "ICCP")   ? PROFILE_FLAG
           : is_type(head, "EXIF") ? EXIF_FLAG
           : is_type(head, "XMP ") ? XMP_FLAG
                                   : 0;
}

/* Whether libvips reads it. *flags: of what it has not read yet. */
static gboolean is_read(const guint8 *head, guint8 *flags) {
    guint8 flag = flag_of(head);
    if (!flag)
        return is_type(head, "VP8XVP8 VP8LALPHANMF");
    gboolean read = (*flags & flag) && number(head + 4);
    *flags &= (guint8)~flag;
    return read;
}

static gboolean look_into_frame(FILE *file, off_t at, off_t end, WebpRest *rest, GError **error) {
    guint8 head[CHUNK_HEAD];
    for (at += CHUNK_HEAD + FRAME_HEAD; at + CHUNK_HEAD <= end; at += size_of(head)) {
        if (!read_head(file, at, head, error))
            return FALSE;
        rest->in_frames |= !is_type(head, "VP8 VP8LALPH");
    }
    return TRUE;
}

static gboolean read_chunks(FILE *file, off_t end, gboolean strip, WebpRest *rest, GError **error) {
    guint8 head[CHUNK_HEAD], flags = 0;
    for (off_t at = FILE_HEAD, next; at + CHUNK_HEAD <= end; at = next) {
        if (!read_head(file, at, head, error))
            return FALSE;
        next = at + size_of(head);
        gboolean film = is_type(head, "ANIM");
        if (at == FILE_HEAD && is_type(head, "VP8X"))
            flags = (guint8)getc(file); /* there is more of the file */
        if (is_type(head, "ANMF") && !strip && !look_into_frame(file, at, MIN(next, end), rest, error))
            return FALSE;
        if (!is_read(head, &flags) && (film || !strip) &&
            !copy_bytes(file, at, MIN(next, end), rest, film ? rest->film : rest->unknown, error))
            return FALSE;
    }
    return TRUE;
}

gboolean webp_read_rest(FILE *file, gboolean strip, WebpRest *rest, GError **error) {
    guint8 head[FILE_HEAD];
    *rest = (WebpRest){g_byte_array_new(), g_byte_array_new(), g_byte_array_new(), FALSE};
    rewind(file);
    if (fread(head, 1, FILE_HEAD, file) != FILE_HEAD || fseeko(file, 0, SEEK_END))
        return cut_short(file, error);
    off_t end = CHUNK_HEAD + (off_t)number(head + 4), last = ftello(file);
    if (last < end)
        return cut_short(file, error);
    end += end % 2;
    return read_chunks(file, end, strip, rest, error) &&
           (strip || last <= end || copy_bytes(file, end, last, rest, rest->behind, error));
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
