/* SPDX-License-Identifier: MIT
 *
 * The blocks of a GIF, as GIF89a lays them out.
 */
#include "gif_blocks.h"

#include <errno.h>
#include <string.h>

#include "../fault.h"

enum { HAS_COLOURS = 0x80, APPLICATION_NAME = 11 };

static guint number_at(const guint8 *bytes) {
    return bytes[0] | (guint)bytes[1] << 8;
}

static void put_number(guint8 *bytes, guint number) {
    bytes[0] = (guint8)number;
    bytes[1] = (guint8)(number >> 8);
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gboolean cut_short(FILE *file, GError **error) {
    return ferror(file) ? system_fault(error, "read it", errno)
                        : fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
}

/* One of no bytes has an address all the same: fwrite() and memcmp() want one. */
static GByteArray *emptied(GByteArray *bytes) {
    return bytes ? g_byte_array_set_size(bytes, 0) : g_byte_array_sized_new(1);
}

static gboolean append(FILE *file, GByteArray *to, gsize n) {
    guint before = to->len;
    g_byte_array_set_size(to, before + (guint)n);
    return fread(to->data + before, 1, n, file) == n;
}

/* A colour table, if the flags of what comes before it say that there is one. */
static gboolean read_colours(FILE *file, guint8 flags, GByteArray *colours) {
    return !(flags & HAS_COLOURS) || append(file, colours, (gsize)3 << ((flags & 7) + 1));
}

/* Data in pieces, each with its length before it, to an empty one. */
static gboolean read_pieces(FILE *file, GByteArray *to, gboolean joined) {
    int length;
    while ((length = getc(file)) >= 0) {
        guint8 byte = (guint8)length;
        if (!joined)
            g_byte_array_append(to, &byte, 1);
        if (!length)
            return TRUE;
        if (to->len > G_MAXINT32 || !append(file, to, (gsize)length))
            return FALSE;
    }
    return FALSE;
}

static gboolean read_frame(FILE *file, GifBlock *block) {
    guint8 head[9];
    if (fread(head, 1, sizeof(head), file) != sizeof(head))
        return FALSE;
    block->left = number_at(head);
    block->top = number_at(head + 2);
    block->width = number_at(head + 4);
    block->height = number_at(head + 6);
    block->flags = head[8];
    if (!read_colours(file, block->flags, block->colours))
        return FALSE;
    int bits = getc(file);
    block->bits = (guint8)bits;
    return bits >= 0 && read_pieces(file, block->data, TRUE);
}

static gboolean read_extension(FILE *file, GifBlock *block) {
    int label = getc(file);
    block->label = (guint8)label;
    return label >= 0 && read_pieces(file, block->data, FALSE);
}

gboolean gif_screen_read(FILE *file, GifScreen *screen, GError **error) {
    screen->colours = emptied(screen->colours);
    if (fread(screen->head, 1, sizeof(screen->head), file) != sizeof(screen->head) ||
        !read_colours(file, screen->head[10], screen->colours))
        return cut_short(file, error);
    screen->width = number_at(screen->head + 6);
    screen->height = number_at(screen->head + 8);
    return TRUE;
}

gboolean gif_block_read(FILE *file, GifBlock *block, GError **error) {
    block->colours = emptied(block->colours);
    block->data = emptied(block->data);
    block->kind = getc(file);
    switch (block->kind) {
    case EOF:
        return cut_short(file, error);
    case GIF_EXTENSION:
        return read_extension(file, block) || cut_short(file, error);
    case GIF_FRAME:
        return read_frame(file, block) || cut_short(file, error);
    case GIF_TRAILER:
    case GIF_PADDING:
        return TRUE;
    default:
        return fault(error, STATUS_FAILED, "is damaged between its frames: restore it from a copy");
    }
}

static void free_bytes(GByteArray *bytes) {
    g_byte_array_unref(bytes);
}

void gif_screen_clear(GifScreen *screen) {
    g_clear_pointer(&screen->colours, free_bytes);
}

void gif_block_clear(GifBlock *block) {
    g_clear_pointer(&block->colours, free_bytes);
    g_clear_pointer(&block->data, free_bytes);
}

gboolean gif_block_is_of(const GifBlock *block, const char *application) {
    return block->kind == GIF_EXTENSION && block->label == GIF_APPLICATION &&
           block->data->len > APPLICATION_NAME && block->data->data[0] == APPLICATION_NAME &&
           !memcmp(block->data->data + 1, application, APPLICATION_NAME);
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

static void write_bytes(FILE *file, const GByteArray *bytes) {
    fwrite(bytes->data, 1, bytes->len, file);
}

static void write_pieces(FILE *file, const GByteArray *data) {
    for (guint at = 0, n; at < data->len; at += n) {
        n = MIN(data->len - at, 255);
        putc((int)n, file);
        fwrite(data->data + at, 1, n, file);
    }
    putc(0, file);
}

void gif_screen_write(FILE *file, const GifScreen *screen) {
    guint8 head[sizeof(screen->head)];
    memcpy(head, screen->head, sizeof(head));
    put_number(head + 6, screen->width);
    put_number(head + 8, screen->height);
    fwrite(head, 1, sizeof(head), file);
    write_bytes(file, screen->colours);
}

void gif_block_write(FILE *file, const GifBlock *block) {
    putc(block->kind, file);
    if (block->kind == GIF_EXTENSION) {
        putc(block->label, file);
        write_bytes(file, block->data);
    } else if (block->kind == GIF_FRAME) {
        guint8 head[9];
        put_number(head, block->left);
        put_number(head + 2, block->top);
        put_number(head + 4, block->width);
        put_number(head + 6, block->height);
        head[8] = block->flags;
        fwrite(head, 1, sizeof(head), file);
        write_bytes(file, block->colours);
        putc(block->bits, file);
        write_pieces(file, block->data);
    }
}
