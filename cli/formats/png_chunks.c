/* SPDX-License-Identifier: MIT
 *
 * Reading, keeping and turning PNG chunks.
 *
 * libpng reads header, palette and pixels; everything else passes by it as bytes. So no field is lost that
 * libpng does not know, an orientation tag behind the pixels is known before they are decoded, and nothing
 * is written in another form than it had.
 */
#include "png_chunks.h"

#include <string.h>
#include <zlib.h>

#include "../say.h"
#include "deflate.h"
#include "exif_turn.h"
#include "orientation_tag.h"
#include "text_blocks.h"
#include "xmp_sizes.h"

enum {
    SIGNATURE = 8,
    FRAME = 12,          /* length, type and checksum around a chunk's data */
    MOST_TEXT = 4 << 20, /* bytes of a packed text that are looked at for a tag */
    ALIKE = 16,          /* so many chunks of pixels of one size let others be expected, */
    NOT_SMALL = 4096,    /* if they are so large */
};

static void free_chunk(gpointer chunk) {
    g_byte_array_unref(((Chunk *)chunk)->data);
    g_free(chunk);
}

void png_chunks_clear(PngChunks *chunks) {
    if (chunks->list)
        g_ptr_array_unref(chunks->list);
    if (chunks->loss)
        g_string_free(chunks->loss, TRUE);
    *chunks = (PngChunks){0};
}

static gboolean is_type(const char *type, const char *wanted) {
    return !memcmp(type, wanted, 4);
}

/* ---- Blocks of EXIF and XMP ------------------------------------------------------------------------- */

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
    if (status == Z_STREAM_END && text->len)
        return text;
    g_byte_array_unref(text);
    return NULL;
}

/* A text that is compressed from `start` on: inflated, visited, and deflated again if it was changed. */
static void visit_compressed(GByteArray *chunk, gsize start, const char *keyword, VisitBlock visit,
                             gpointer data) {
    GByteArray *text = inflated(chunk->data + start, chunk->len - start);
    if (!text)
        return;
    guint8 *before = g_memdup2(text->data, text->len);
    text_blocks_visit(keyword, text->data, text->len, visit, data);
    if (memcmp(before, text->data, text->len)) {
        uLongf size = compressBound(text->len);
        guint8 *packed = g_malloc(size);
        if (compress2(packed, &size, text->data, text->len, Z_BEST_COMPRESSION) == Z_OK) {
            g_byte_array_set_size(chunk, (guint)start);
            g_byte_array_append(chunk, packed, (guint)size);
        }
        g_free(packed);
    }
    g_free(before);
    g_byte_array_unref(text);
}

/* A text chunk's keyword ends with a zero byte; then zTXt has a method, iTXt a flag, a method and two more
 * strings, before the text begins. */
static void visit_text_chunk(Chunk *chunk, VisitBlock visit, gpointer data) {
    guint8 *start = chunk->data->data, *end = start + chunk->data->len,
           *p = memchr(start, 0, chunk->data->len);
    if (!p || !text_may_hold_block((const char *)start))
        return;
    p++;
    gboolean compressed = is_type(chunk->type, "zTXt");
    if (is_type(chunk->type, "iTXt")) {
        if (end - p < 2)
            return;
        compressed = p[0] == 1;
        p += 2;
        for (int strings = 0; strings < 2; strings++, p++)
            if (!(p = memchr(p, 0, (gsize)(end - p))))
                return;
    } else if (compressed) {
        p++;
    }
    if (p >= end)
        return;
    char *keyword = g_strdup((const char *)start); /* the data may move */
    if (compressed)
        visit_compressed(chunk->data, (gsize)(p - start), keyword, visit, data);
    else
        text_blocks_visit(keyword, p, (gsize)(end - p), visit, data);
    g_free(keyword);
}

static void visit_blocks(Chunk *chunk, VisitBlock visit, gpointer data) {
    const Block exif = {chunk->data->data, chunk->data->len, FALSE, RANK_EXIF};
    if (is_type(chunk->type, "eXIf"))
        visit(&exif, data);
    else if (is_type(chunk->type, "tEXt") || is_type(chunk->type, "zTXt") || is_type(chunk->type, "iTXt"))
        visit_text_chunk(chunk, visit, data);
}

/* What blocks state: the highest rank and its tag; rank 0 if there is none. */
typedef struct {
    int rank, tag;
} Statement;

static void note_statement(const Block *block, gpointer data) {
    Statement *best = data;
    int tag = block->xmp ? xmp_orientation(block->data, block->size, FALSE)
                         : exif_orientation(block->data, block->size, FALSE);
    if (tag && block->rank > best->rank)
        *best = (Statement){block->rank, tag};
}

static Statement chunk_statement(Chunk *chunk) {
    Statement s = {0, TT_NONE};
    visit_blocks(chunk, note_statement, &s);
    return s;
}

static TtOrientation find_tag(GPtrArray *list) {
    Statement s = {0, TT_NONE};
    for (guint i = 0; i < list->len; i++)
        visit_blocks(list->pdata[i], note_statement, &s);
    return (TtOrientation)s.tag;
}

typedef struct {
    const char *path;
    TtOrientation turn;
    guint width, height;
    gboolean upright;
} BlockTurn;

static void drop_thumbnail(const Block *exif, const char *path) {
    guint8 *thumbnail;
    gsize size;
    if (!exif_thumbnail(exif->data, exif->size, &thumbnail, &size))
        return;
    exif_drop_thumbnail(exif->data, exif->size);
    say_note(path, "its EXIF thumbnail shows the picture as it was, left out");
}

static void turn_block(const Block *block, gpointer data) {
    const BlockTurn *t = data;
    if (block->xmp) {
        xmp_turn_sizes(block->data, block->size, t->turn, t->width, t->height, t->width, t->height);
        if (t->upright)
            xmp_orientation(block->data, block->size, TRUE);
        return;
    }
    exif_turn(block->data, block->size, t->turn, t->width, t->height, t->width, t->height, t->upright);
    if (t->turn != TT_NONE)
        drop_thumbnail(block, t->path);
    if (t->upright)
        exif_orientation(block->data, block->size, TRUE);
}

/* ---- Where a chunk belongs -------------------------------------------------------------------------- */

enum { ONCE = 1, SHOWN = 2, PLACELESS = 4 };

/* What the PNG specification and its extensions say of their chunks: the places from `first` to `last` are
 * legal; ONCE: there is one; SHOWN: the picture looks different without it; PLACELESS: it says nothing of
 * places in the picture. */
static const struct {
    char type[5];
    ChunkPlace first, last;
    int is;
} known[] = {
    {"cHRM", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"gAMA", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"iCCP", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"sRGB", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"cICP", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"mDCV", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"cLLI", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"mDCv", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS}, /* these two as drafts spelled them */
    {"cLLi", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | SHOWN | PLACELESS},
    {"sBIT", BEFORE_PALETTE, BEFORE_PALETTE, ONCE | PLACELESS},
    {"tRNS", BEFORE_PIXELS, BEFORE_PIXELS, ONCE | SHOWN | PLACELESS},
    {"bKGD", BEFORE_PIXELS, BEFORE_PIXELS, ONCE | SHOWN | PLACELESS},
    {"hIST", BEFORE_PIXELS, BEFORE_PIXELS, ONCE | PLACELESS},
    {"pHYs", BEFORE_PALETTE, BEFORE_PIXELS, ONCE | SHOWN | PLACELESS},
    {"sPLT", BEFORE_PALETTE, BEFORE_PIXELS, PLACELESS},
    {"pCAL", BEFORE_PALETTE, BEFORE_PIXELS, ONCE | PLACELESS},
    {"sCAL", BEFORE_PALETTE, BEFORE_PIXELS, ONCE | PLACELESS},
    {"oFFs", BEFORE_PALETTE, BEFORE_PIXELS, ONCE},
    {"vpAg", BEFORE_PALETTE, AFTER_PIXELS, ONCE},
    {"caNv", BEFORE_PALETTE, AFTER_PIXELS, ONCE},
    {"sTER", BEFORE_PALETTE, BEFORE_PIXELS, ONCE},
    {"tIME", BEFORE_PALETTE, AFTER_PIXELS, ONCE | PLACELESS},
    {"eXIf", BEFORE_PALETTE, AFTER_PIXELS, ONCE | PLACELESS},
};

/* The chunk's row in the table, or -1. */
static int known_as(const char *type) {
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        if (is_type(type, known[i].type))
            return (int)i;
    return -1;
}

static gboolean is(const Chunk *chunk, int what) {
    int i = known_as(chunk->type);
    return i >= 0 && known[i].is & what;
}

static ChunkPlace legal_place(const Chunk *chunk, gboolean palette) {
    int i = known_as(chunk->type);
    if (i < 0)
        return chunk->place;
    /* Without a palette, all places before the pixels are one. */
    if (!palette && chunk->place != AFTER_PIXELS)
        return chunk->place;
    return CLAMP(chunk->place, known[i].first, known[i].last);
}

/* An earlier chunk of this type, NULL if there is none. */
static const Chunk *earlier(const PngChunks *chunks, const char *type) {
    for (guint i = 0; i < chunks->list->len; i++) {
        const Chunk *chunk = chunks->list->pdata[i];
        if (is_type(chunk->type, type))
            return chunk;
    }
    return NULL;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Something that the turned picture will lack: "whose ..., ... and so on". */
G_GNUC_PRINTF(2, 3)
static void lose(PngChunks *chunks, const char *format, ...) {
    va_list args;
    va_start(args, format);
    g_string_append(chunks->loss, chunks->loss->len ? ", " : "whose ");
    g_string_append_vprintf(chunks->loss, format, args);
    va_end(args);
}

/* A chunk without which the picture would look different is not left out. */
static gboolean drop_damaged(PngChunks *chunks, const Chunk *chunk, GError **error) {
    if (is_type(chunk->type, "tRNS") || is_type(chunk->type, "eXIf"))
        return fault(error, STATUS_FAILED,
                     "is damaged (the checksum of its chunk %s is wrong): restore it from a copy",
                     chunk->type);
    lose(chunks, "chunk %s has a bad checksum and is left out", chunk->type);
    return TRUE;
}

/* Whether a chunk that is the second of its kind must go. The first one is what decoders use. */
static gboolean is_surplus(PngChunks *chunks, const Chunk *chunk, const char *path) {
    const Chunk *first = is(chunk, ONCE) ? earlier(chunks, chunk->type) : NULL;
    if (!first)
        return FALSE;
    if (first->data->len == chunk->data->len &&
        !memcmp(first->data->data, chunk->data->data, chunk->data->len))
        say_note(path, "the chunk %s is there twice and is written once", chunk->type);
    else
        lose(chunks, "second, different chunk %s is left out", chunk->type);
    return TRUE;
}

/* A chunk with room for its data, which is all that the file decides the size of before pixels are. */
static Chunk *new_chunk(PngChunks *chunks, const char *type, ChunkPlace place, guint32 size, gsize limit,
                        GError **error) {
    chunks->bytes += size;
    guint8 *data = chunks->bytes <= limit ? g_try_malloc(MAX(size, 1)) : NULL; /* not NULL if empty either */
    if (!data) {
        fault(error, STATUS_FAILED,
              "holds %.1f MB beside its pixels (up to its chunk %.4s), more memory than is allowed: raise "
              "--memory-limit or free memory",
              (double)chunks->bytes / 1e6, type);
        return NULL;
    }
    Chunk *chunk = g_new0(Chunk, 1);
    memcpy(chunk->type, type, 4);
    chunk->place = place;
    chunk->data = g_byte_array_new_take(data, size);
    return chunk;
}

static gboolean read_chunk(PngInput *input, goffset offset, Chunk *chunk, PngChunks *chunks, GError **error) {
    guint32 size = chunk->data->len;
    guint8 stored[4];
    if (!png_input_read(input, chunk->data->data, size, offset + 8, error) ||
        !png_input_read(input, stored, 4, offset + 8 + size, error)) {
        free_chunk(chunk);
        return FALSE;
    }
    guint32 sum = deflate_crc32(deflate_crc32(0, (const guint8 *)chunk->type, 4), chunk->data->data, size);
    gboolean good = TRUE;
    if (sum != png_big_endian(stored))
        good = drop_damaged(chunks, chunk, error);
    else if (!is_surplus(chunks, chunk, input->path)) {
        g_ptr_array_add(chunks->list, chunk);
        return TRUE;
    }
    free_chunk(chunk);
    return good;
}

/* The file's end where a chunk should begin. Without its last chunk alone it has lost nothing. */
static gboolean end_of_file(PngInput *input, goffset offset, PngChunks *chunks, GError **error) {
    static const guint8 end[] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
    guint8 rest[sizeof(end)];
    gsize n = (gsize)(input->size - offset);
    if (!png_input_read(input, rest, n, offset, error))
        return FALSE;
    if (!chunks->pixels.bytes || memcmp(rest, end, n))
        return fault(error, STATUS_FAILED, "is cut short: its last chunk is missing; restore it from a copy");
    lose(chunks, "last chunk is missing and is added");
    return TRUE;
}

/* A chunk of pixels: those that follow each other count. */
static void note_pixels(PngChunks *chunks, goffset offset, guint32 size) {
    if (!chunks->pixels.end) {
        chunks->pixels.begin = offset;
    } else if (offset != chunks->pixels.end) {
        if (!chunks->scattered)
            lose(chunks, "pixel data behind other chunks is left out");
        chunks->scattered = TRUE;
        return;
    }
    chunks->pixels.end = offset + FRAME + (goffset)size;
    chunks->pixels.bytes += size;
}

/* Chunks of pixels may be many, and to look at each is to fetch much of the file once more. So chunks alike
 * are supposed between two of them that are whole chunks apart, which whoever reads the pixels will see.
 * Moves on to the last of them. */
static gboolean skip_alike(PngInput *input, const guint8 *head, goffset *offset, PngPixels *pixels,
                           GError **error) {
    guint32 size = png_big_endian(head);
    goffset whole = FRAME + (goffset)size;
    gboolean grow = TRUE;
    guint8 there[8];
    for (goffset n = ALIKE; n; n = grow ? n * 2 : n / 2) {
        goffset next = *offset + n * whole;
        gboolean inside = next <= input->size - FRAME;
        if (inside && !png_input_read(input, there, sizeof(there), next, error))
            return FALSE;
        if (inside && !memcmp(there, head, sizeof(there))) {
            *offset = next;
            pixels->end += n * whole;
            pixels->bytes += (guint64)n * size;
        } else {
            grow = FALSE;
        }
    }
    return TRUE;
}

static gboolean walk(PngInput *input, gsize limit, PngChunks *chunks, GError **error) {
    ChunkPlace place = BEFORE_PALETTE;
    guint8 head[8], alike[8] = {0};
    guint n_alike = 0;
    for (goffset offset = SIGNATURE;;) {
        if (input->size - offset < FRAME)
            return end_of_file(input, offset, chunks, error);
        if (!png_input_read(input, head, 8, offset, error))
            return FALSE;
        guint32 size = png_big_endian(head);
        const char *type = (const char *)head + 4;
        for (int i = 0; i < 4; i++)
            if (!g_ascii_isalpha(type[i]))
                return fault(error, STATUS_FAILED,
                             "is damaged at byte %" G_GINT64_FORMAT ": restore it from a copy",
                             (gint64)offset);
        if (size > G_MAXINT32)
            return fault(error, STATUS_FAILED,
                         "is damaged at byte %" G_GINT64_FORMAT
                         " (a chunk is larger than the format allows): restore it from a copy",
                         (gint64)offset);
        if (size > input->size - offset - FRAME)
            return fault(error, STATUS_FAILED,
                         "is cut short: its %.4s chunk at byte %" G_GINT64_FORMAT
                         " reaches past its end; restore it from a copy",
                         type, (gint64)offset);

        n_alike = memcmp(head, alike, 8) ? 1 : n_alike + 1;
        memcpy(alike, head, 8);
        goffset next = offset + FRAME + (goffset)size;
        if (is_type(type, "IEND")) {
            if (next < input->size)
                lose(chunks, "%" G_GINT64_FORMAT " bytes behind its end are left out",
                     (gint64)(input->size - next));
            return TRUE;
        }
        if (is_type(type, "IDAT")) {
            note_pixels(chunks, offset, size);
            place = AFTER_PIXELS;
            if (n_alike == ALIKE && size >= NOT_SMALL && !chunks->scattered &&
                !skip_alike(input, head, &offset, &chunks->pixels, error))
                return FALSE;
            next = offset + FRAME + (goffset)size;
        } else if (is_type(type, "IHDR") || is_type(type, "PLTE")) {
            if (place == AFTER_PIXELS)
                return fault(error, STATUS_FAILED,
                             "is damaged: its %.4s chunk is behind its pixels; restore it from a copy", type);
            if (is_type(type, "PLTE")) {
                place = BEFORE_PIXELS;
                chunks->palette = TRUE;
            }
        } else if (is_type(type, "acTL")) {
            chunks->animated = TRUE;
        } else if (g_ascii_islower(type[0])) {
            Chunk *chunk = new_chunk(chunks, type, place, size, limit, error);
            if (!chunk || !read_chunk(input, offset, chunk, chunks, error))
                return FALSE;
        } else {
            return fault(error, STATUS_FAILED,
                         "has a chunk %.4s without which its picture is not right, and which this build does "
                         "not know: convert it with the program that wrote it",
                         type);
        }
        offset = next;
    }
}

/* Chunks in places that are not legal move to those that are. */
static void settle(PngChunks *chunks, const char *path) {
    for (guint i = 0; i < chunks->list->len; i++) {
        Chunk *chunk = chunks->list->pdata[i];
        ChunkPlace place = legal_place(chunk, chunks->palette);
        if (place != chunk->place)
            say_note(path, "the chunk %s is moved to where it belongs", chunk->type);
        chunk->place = place;
    }
}

gboolean png_chunks_read(PngInput *input, gsize limit, PngChunks *chunks, GError **error) {
    *chunks = (PngChunks){.list = g_ptr_array_new_with_free_func(free_chunk), .loss = g_string_new(NULL)};
    if (!walk(input, limit, chunks, error))
        return FALSE;
    if (!chunks->pixels.end)
        return fault(error, STATUS_FAILED, "is damaged: it has no pixel data; restore it from a copy");
    settle(chunks, input->path);
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

/* Whether the chunk stays true although the pixels were turned: it says nothing of places, or else its
 * author declared it safe to copy, by a lower case last letter. */
static gboolean stays_true(const Chunk *chunk) {
    return known_as(chunk->type) < 0 ? g_ascii_islower(chunk->type[3]) : is(chunk, PLACELESS);
}

const Chunk *png_chunks_private(const PngChunks *chunks) {
    for (guint i = 0; i < chunks->list->len; i++) {
        const Chunk *chunk = chunks->list->pdata[i];
        if (known_as(chunk->type) < 0 && !stays_true(chunk))
            return chunk;
    }
    return NULL;
}

void png_chunks_turn(PngChunks *chunks, const char *path, TtOrientation turn, const TtImage *shape,
                     gboolean upright) {
    BlockTurn blocks = {path, turn, (guint)shape->width, (guint)shape->height, upright};
    for (guint i = 0; i < chunks->list->len;) {
        Chunk *chunk = chunks->list->pdata[i];
        if (turn != TT_NONE && !stays_true(chunk)) {
            say_note(path, "the chunk %s would no longer be true and is left out", chunk->type);
            g_ptr_array_remove_index(chunks->list, i);
            continue;
        }
        visit_blocks(chunk, turn_block, &blocks);
        if (tt_swaps_axes(turn) && is_type(chunk->type, "pHYs"))
            swap_resolution(chunk->data);
        if (tt_swaps_axes(turn) && is_type(chunk->type, "sCAL"))
            swap_scale(chunk->data);
        i++;
    }
}

void png_chunks_strip(PngChunks *chunks) {
    for (guint i = chunks->list->len; i-- > 0;) {
        Chunk *chunk = chunks->list->pdata[i];
        if (!is(chunk, SHOWN) && chunk_statement(chunk).tag <= TT_NONE)
            g_ptr_array_remove_index(chunks->list, i);
    }
}
