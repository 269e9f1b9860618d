/* SPDX-License-Identifier: MIT
 *
 * GIF: each frame is turned as it is stored, as numbers of colours in a part of the screen.
 *
 * So its colours, transparency, delay and what becomes of it stay, and so does every other block. A frame
 * that is shown over the one before shows the same, since the turned places are the same.
 */
#include <errno.h>
#include <string.h>

#include "../say.h"
#include "format.h"
#include "gif_blocks.h"
#include "gif_codes.h"
#include "orientation_tag.h"
#include "xmp_sizes.h"

#define XMP "XMP DataXMP"

enum { XMP_START = 12 }; /* in the pieces, whose lengths are letters of it */

typedef struct {
    Reader reader;
    const Options *options;
    FILE *file;
    gsize largest; /* pixels of a frame */
    TtOrientation turn;
    gboolean upright; /* the turned copy is to say so */
} GifReader;

static const char *description(void) {
    return "GIF";
}

static gboolean is_gif(const guint8 *head, gsize size) {
    return size >= 6 && (!memcmp(head, "GIF87a", 6) || !memcmp(head, "GIF89a", 6));
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gsize pixels_of(const GifBlock *frame) {
    return (gsize)frame->width * frame->height;
}

static gboolean check_frame(const GifScreen *screen, const GifBlock *frame, GError **error) {
    if (frame->bits < GIF_FEWEST_BITS || frame->bits > GIF_MOST_BITS ||
        pixels_of(frame) > gif_codes_most(frame->data->len))
        return fault(error, STATUS_FAILED, "has a damaged frame: restore it from a copy");
    if (pixels_of(frame) > G_MAXINT32)
        return fault(error, STATUS_FAILED, "has a frame of more than 2 GB: convert it first");
    if (!pixels_of(frame))
        return fault(error, STATUS_FAILED, "has a frame without pixels: convert it first");
    return (frame->left + frame->width <= screen->width && frame->top + frame->height <= screen->height) ||
           fault(
               error, STATUS_FAILED,
               "has a frame that reaches over the edge of its screen of %u x %u, of which each program makes "
               "something else: convert it first",
               screen->width, screen->height);
}

static gboolean look_at_block(GifReader *r, const GifScreen *screen, const GifBlock *block, GError **error) {
    if (block->kind == GIF_FRAME) {
        r->reader.pages++;
        r->largest = MAX(r->largest, pixels_of(block));
        return check_frame(screen, block, error);
    }
    if (block->kind == GIF_EXTENSION && block->label == GIF_TEXT)
        return fault(
            error, STATUS_FAILED,
            "has text to be drawn over it (a plain text extension), which cannot be turned: convert it "
            "first");
    if (gif_block_is_of(block, XMP)) {
        int tag = xmp_orientation(block->data->data + XMP_START, block->data->len - XMP_START, FALSE);
        r->reader.tag = tag ? (TtOrientation)tag : r->reader.tag;
    }
    return TRUE;
}

static gboolean look_at_blocks(GifReader *r, GError **error) {
    GifScreen screen = {0};
    GifBlock block = {0};
    gboolean good = gif_screen_read(r->file, &screen, error);
    if (good)
        r->reader.shape = tt_image(NULL, (ptrdiff_t)screen.width, screen.width, screen.height, 1, 8);
    while (good && block.kind != GIF_TRAILER)
        good = gif_block_read(r->file, &block, error) && look_at_block(r, &screen, &block, error);
    gif_block_clear(&block);
    gif_screen_clear(&screen);
    return good && (r->reader.pages || fault(error, STATUS_FAILED, "has no frame: restore it from a copy"));
}

static void close_gif(Reader *reader) {
    g_free(reader);
}

static Reader *open_gif(const Format *self, FILE *file, const char *path, const Options *options,
                        GError **error) {
    GifReader *r = g_new0(GifReader, 1);
    r->reader = (Reader){.format = self, .path = path, .tag = TT_NONE, .by_itself = TRUE};
    r->options = options;
    r->file = file;
    if (look_at_blocks(r, error))
        return &r->reader;
    close_gif(&r->reader);
    return NULL;
}

static gboolean decide(Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    GifReader *r = (GifReader *)reader;
    r->turn = turn;
    r->upright = tag_used;
    reader->own_memory = 4 * r->largest; /* its pixels, those turned, and their codes at the worst */
    return reader->own_memory <= options_memory(r->options) ||
           fault(error, STATUS_FAILED,
                 "takes %.1f MB of memory for a frame, more than is allowed: raise --memory-limit",
                 (double)reader->own_memory / 1e6);
}

/* ---- Pixels ------------------------------------------------------------------------------------------- */

/* Row i of an interlaced frame is this one from the top. */
static gsize place_of_row(gsize i, gsize height, gboolean interlaced) {
    static const gsize first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    if (!interlaced)
        return i;
    for (gsize pass = 0;; pass++) {
        gsize rows = height > first[pass] ? (height - first[pass] - 1) / step[pass] + 1 : 0;
        if (i < rows)
            return first[pass] + i * step[pass];
        i -= rows;
    }
}

/* Rows from top to bottom as an interlaced frame stores them, or back. */
static void order_rows(const GifBlock *frame, const guint8 *from, guint8 *to, gboolean store) {
    for (gsize i = 0; i < frame->height; i++) {
        gsize place = place_of_row(i, frame->height, TRUE);
        memcpy(to + (store ? i : place) * frame->width, from + (store ? place : i) * frame->width,
               frame->width);
    }
}

static guint8 *allocate(const GifBlock *frame, GError **error) {
    guint8 *pixels = g_try_malloc(pixels_of(frame));
    if (!pixels)
        memory_fault(pixels_of(frame), error);
    return pixels;
}

/* From top to bottom; the caller frees them. */
static guint8 *unpack(const GifBlock *frame, GError **error) {
    guint8 *pixels = allocate(frame, error), *ordered = NULL;
    gboolean interlaced = (frame->flags & GIF_INTERLACED) != 0;
    if (!pixels || (interlaced && !(ordered = allocate(frame, error))))
        goto failed;
    if (!gif_codes_unpack(frame->data, frame->bits, pixels, pixels_of(frame))) {
        fault(error, STATUS_FAILED, "has a damaged frame: restore it from a copy");
        goto failed;
    }
    if (!interlaced)
        return pixels;
    order_rows(frame, pixels, ordered, FALSE);
    g_free(pixels);
    return ordered;

failed:
    g_free(pixels);
    g_free(ordered);
    return NULL;
}

static gboolean turn_pixels(const GifReader *r, const GifBlock *frame, guint8 **pixels, GError **error) {
    gboolean swap = tt_swaps_axes(r->turn) != 0;
    gsize width = frame->width, height = frame->height;
    guint8 *turned = allocate(frame, error);
    if (!turned)
        return FALSE;
    TtOptions how = {sizeof(how), r->options->backend, 1, r->options->device};
    TtImage from = tt_image(*pixels, (ptrdiff_t)width, width, height, 1, 8),
            to = tt_image(turned, (ptrdiff_t)(swap ? height : width), swap ? height : width,
                          swap ? width : height, 1, 8);
    gboolean good = !tt_orient(&from, &to, r->turn, &how) || library_fault(error);
    g_free(*pixels);
    *pixels = turned;
    return good;
}

/* Where it comes to be, but for its pixels. */
static void turn_place(const GifReader *r, GifBlock *frame) {
    TtRect rect = tt_map_rect(r->turn, r->reader.shape.width, r->reader.shape.height,
                              (TtRect){frame->left, frame->top, frame->width, frame->height});
    frame->left = (guint)rect.x;
    frame->top = (guint)rect.y;
    frame->width = (guint)rect.width;
    frame->height = (guint)rect.height;
}

static gboolean pack(GifBlock *frame, const guint8 *pixels, GError **error) {
    gboolean interlaced = (frame->flags & GIF_INTERLACED) != 0;
    guint8 *stored = interlaced ? allocate(frame, error) : NULL;
    if (interlaced && !stored)
        return FALSE;
    if (interlaced)
        order_rows(frame, pixels, stored, TRUE);
    frame->bits = MAX(frame->bits, 2);
    g_byte_array_unref(frame->data);
    frame->data = gif_codes_pack(interlaced ? stored : pixels, pixels_of(frame), frame->bits);
    g_free(stored);
    return TRUE;
}

static gboolean turn_frame(const GifReader *r, GifBlock *frame, GError **error) {
    guint8 *pixels = unpack(frame, error);
    gboolean good = pixels && turn_pixels(r, frame, &pixels, error);
    turn_place(r, frame);
    good = good && pack(frame, pixels, error);
    g_free(pixels);
    return good;
}

/* ---- Turning ------------------------------------------------------------------------------------------ */

static void turn_screen(const GifReader *r, GifScreen *screen) {
    guint8 *aspect = &screen->head[12]; /* a pixel is (this + 15) / 64 times as wide as high; 0: as wide */
    if (!tt_swaps_axes(r->turn))
        return;
    screen->width = (guint)r->reader.shape.height;
    screen->height = (guint)r->reader.shape.width;
    if (*aspect)
        *aspect = (guint8)CLAMP((64 * 64 + (*aspect + 15) / 2) / (*aspect + 15) - 15, 1, 255);
}

static void turn_xmp(const GifReader *r, GifBlock *block) {
    guint8 *packet = block->data->data + XMP_START;
    gsize size = block->data->len - XMP_START;
    guint width = (guint)r->reader.shape.width, height = (guint)r->reader.shape.height;
    if (r->upright)
        xmp_set_orientation(packet, size, TT_NONE);
    xmp_turn_sizes(packet, size, r->turn, width, height, width, height);
}

/* What shows, or says how it is shown: XMP does, by a tag that has still to be followed. */
static gboolean is_needed(const GifReader *r, const GifBlock *block) {
    gboolean tagged = r->reader.tag != TT_NONE && !r->upright;
    return block->kind != GIF_EXTENSION || block->label == GIF_CONTROL ||
           gif_block_is_of(block, "NETSCAPE2.0") || gif_block_is_of(block, "ANIMEXTS1.0") ||
           gif_block_is_of(block, "ICCRGBG1012") || (tagged && gif_block_is_of(block, XMP));
}

static gboolean turn_block(const GifReader *r, GifBlock *block, GError **error) {
    if (gif_block_is_of(block, XMP))
        turn_xmp(r, block);
    return block->kind != GIF_FRAME || turn_frame(r, block, error);
}

static gboolean is_cancelled(const GifReader *r, GError **error) {
    return r->reader.cancel && *r->reader.cancel && !fault(error, STATUS_SIGNAL, "interrupted");
}

static gboolean copy_rest(const GifReader *r, FILE *to, GError **error) {
    guint8 buffer[65536];
    gsize n;
    while (!r->options->strip && (n = fread(buffer, 1, sizeof(buffer), r->file)))
        fwrite(buffer, 1, n, to);
    return (!ferror(r->file) || system_fault(error, "read it", errno)) &&
           (!ferror(to) || system_fault(error, "write the output", errno));
}

static gboolean turn_itself(Reader *reader, FILE *file, const atomic_int *cancel, GError **error) {
    GifReader *r = (GifReader *)reader;
    GifScreen screen = {0};
    GifBlock block = {0};
    (void)cancel; /* which the reader has */
    rewind(r->file);
    gboolean good = gif_screen_read(r->file, &screen, error);
    if (good) {
        turn_screen(r, &screen);
        gif_screen_write(file, &screen);
    }
    while (good && block.kind != GIF_TRAILER) {
        good =
            !is_cancelled(r, error) && gif_block_read(r->file, &block, error) && turn_block(r, &block, error);
        if (good && (!r->options->strip || is_needed(r, &block)))
            gif_block_write(file, &block);
    }
    gif_block_clear(&block);
    gif_screen_clear(&screen);
    return good && copy_rest(r, file, error);
}

/* ---- Reading back ------------------------------------------------------------------------------------- */

static gboolean same_bytes(const GByteArray *a, const GByteArray *b) {
    return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* ours: of the source, turned. The head holds the sizes as they were read. */
static gboolean same_screen(const GifScreen *ours, const GifScreen *copy) {
    return copy->width == ours->width && copy->height == ours->height && !memcmp(copy->head, ours->head, 6) &&
           !memcmp(copy->head + 10, ours->head + 10, sizeof(copy->head) - 10) &&
           same_bytes(copy->colours, ours->colours);
}

static gboolean same_place(const GifBlock *ours, const GifBlock *copy) {
    return copy->left == ours->left && copy->top == ours->top && copy->width == ours->width &&
           copy->height == ours->height && copy->flags == ours->flags && copy->bits == MAX(ours->bits, 2) &&
           same_bytes(copy->colours, ours->colours);
}

/* ours: of the source. */
static gboolean verify_frame(const GifReader *r, GifBlock *ours, const GifBlock *copy, GError **error) {
    guint8 *pixels = unpack(ours, error), *back = NULL;
    gboolean good = pixels && turn_pixels(r, ours, &pixels, error);
    turn_place(r, ours);
    good =
        good &&
        ((same_place(ours, copy) && (back = unpack(copy, NULL)) && !memcmp(pixels, back, pixels_of(copy))) ||
         copy_fault(error));
    g_free(pixels);
    g_free(back);
    return good;
}

static gboolean verify_block(const GifReader *r, GifBlock *ours, const GifBlock *copy, GError **error) {
    if (copy->kind != ours->kind)
        return copy_fault(error);
    if (ours->kind == GIF_FRAME)
        return verify_frame(r, ours, copy, error);
    if (gif_block_is_of(ours, XMP))
        turn_xmp(r, ours);
    return ((ours->kind != GIF_EXTENSION || copy->label == ours->label) &&
            same_bytes(copy->data, ours->data)) ||
           copy_fault(error);
}

static gboolean next_kept(const GifReader *r, GifBlock *block, GError **error) {
    do
        if (!gif_block_read(r->file, block, error))
            return FALSE;
    while (r->options->strip && !is_needed(r, block));
    return TRUE;
}

static gboolean verify_rest(const GifReader *r, FILE *output, GError **error) {
    guint8 ours[16384], copy[sizeof(ours)];
    gsize n;
    do {
        n = r->options->strip ? 0 : fread(ours, 1, sizeof(ours), r->file);
        if (ferror(r->file))
            return system_fault(error, "read it", errno);
        if (fread(copy, 1, sizeof(copy), output) != n || memcmp(ours, copy, n))
            return copy_fault(error);
    } while (n);
    return TRUE;
}

static gboolean verify_itself(Reader *reader, FILE *output, GError **error) {
    const GifReader *r = (const GifReader *)reader;
    GifScreen screen = {0}, copied_screen = {0};
    GifBlock block = {0}, copied = {0};
    rewind(r->file);
    rewind(output);
    gboolean good = gif_screen_read(r->file, &screen, error);
    turn_screen(r, &screen);
    good = good && ((gif_screen_read(output, &copied_screen, NULL) && same_screen(&screen, &copied_screen)) ||
                    copy_fault(error));
    while (good && block.kind != GIF_TRAILER)
        good = !is_cancelled(r, error) && next_kept(r, &block, error) &&
               (gif_block_read(output, &copied, NULL) || copy_fault(error)) &&
               verify_block(r, &block, &copied, error);
    gif_block_clear(&block);
    gif_block_clear(&copied);
    gif_screen_clear(&screen);
    gif_screen_clear(&copied_screen);
    return good && verify_rest(r, output, error);
}

/* ---- Checking ----------------------------------------------------------------------------------------- */

static gboolean next_frame(FILE *file, GifBlock *block, GError **error) {
    do
        if (!gif_block_read(file, block, error))
            return FALSE;
    while (block->kind != GIF_FRAME && block->kind != GIF_TRAILER);
    return TRUE;
}

static gboolean check(Reader *reader, const atomic_int *cancel, GError **error) {
    GifReader *r = (GifReader *)reader;
    GifScreen screen = {0};
    GifBlock block = {0};
    (void)cancel;
    rewind(r->file);
    gboolean good = gif_screen_read(r->file, &screen, error);
    while (good && block.kind != GIF_TRAILER) {
        good = !is_cancelled(r, error) && next_frame(r->file, &block, error);
        guint8 *pixels = good && block.kind == GIF_FRAME ? unpack(&block, error) : NULL;
        good = good && (pixels || block.kind == GIF_TRAILER);
        g_free(pixels);
    }
    gif_block_clear(&block);
    gif_screen_clear(&screen);
    return good;
}

const Format gif_format = {.name = "GIF",
                           .extensions = {"gif"},
                           .description = description,
                           .probe = is_gif,
                           .open = open_gif,
                           .close = close_gif,
                           .decide = decide,
                           .turn = turn_itself,
                           .verify = verify_itself,
                           .check = check};
