/* SPDX-License-Identifier: MIT
 *
 * The first directory of a TIFF or BigTIFF, as far as it says where pixels are.
 */
#include "tiff_blocks.h"

#include <string.h>
#include <sys/stat.h>

enum {
    WIDTH = 256,
    HEIGHT = 257,
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    FILL_ORDER = 266,
    STRIP_OFFSETS = 273,
    SAMPLES = 277,
    ROWS_PER_STRIP = 278,
    STRIP_BYTES = 279,
    PLANAR = 284,
    TILE_WIDTH = 322,
    TILE_HEIGHT = 323,
    TILE_OFFSETS = 324,
    TILE_BYTES = 325,
    SAMPLE_FORMAT = 339,
};

typedef struct {
    int bytes; /* of a value: 2, 4 or 8, or 0 for a type that is none of a number */
    guint64 count;
    off_t at; /* of the first */
} Entry;

typedef struct {
    FILE *file;
    gboolean big_endian, big;
    guint64 width, height, compression, photometric, fill_order, samples, rows_per_strip, planar, tile_width,
        tile_height;
    Entry bits, sample_format, starts, lengths;
} Directory;

/* 0 behind the end of the file, which means nothing in any place. */
static guint64 number(Directory *d, int bytes) {
    guint8 raw[8];
    guint64 value = 0;
    if (fread(raw, 1, (gsize)bytes, d->file) != (gsize)bytes)
        return 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | raw[d->big_endian ? i : bytes - 1 - i];
    return value;
}

static guint64 value_of(Directory *d, const Entry *entry, guint64 i) {
    if (i >= entry->count || !entry->bytes ||
        fseeko(d->file, entry->at + (off_t)(i * (guint64)entry->bytes), SEEK_SET))
        return 0;
    return number(d, entry->bytes);
}

static void read_entry(Directory *d) {
    guint tag = (guint)number(d, 2), type = (guint)number(d, 2);
    Entry entry = {type == 3 ? 2 : type == 4 ? 4 : type == 16 ? 8 : 0, number(d, d->big ? 8 : 4), 0};
    guint64 room = d->big ? 8 : 4;
    off_t field = ftello(d->file), next = field + (off_t)room;
    gboolean here = entry.count <= room / (guint64)MAX(entry.bytes, 1);
    entry.at = here ? field : (off_t)number(d, (int)room);
    guint64 *const single = tag == WIDTH            ? &d->width
                            : tag == HEIGHT         ? &d->height
                            : tag == COMPRESSION    ? &d->compression
                            : tag == PHOTOMETRIC    ? &d->photometric
                            : tag == FILL_ORDER     ? &d->fill_order
                            : tag == SAMPLES        ? &d->samples
                            : tag == ROWS_PER_STRIP ? &d->rows_per_strip
                            : tag == PLANAR         ? &d->planar
                            : tag == TILE_WIDTH     ? &d->tile_width
                            : tag == TILE_HEIGHT    ? &d->tile_height
                                                    : NULL;
    if (single)
        *single = value_of(d, &entry, 0);
    if (tag == BITS)
        d->bits = entry;
    if (tag == SAMPLE_FORMAT)
        d->sample_format = entry;
    if (tag == STRIP_OFFSETS || tag == TILE_OFFSETS)
        d->starts = entry;
    if (tag == STRIP_BYTES || tag == TILE_BYTES)
        d->lengths = entry;
    fseeko(d->file, next, SEEK_SET);
}

static gboolean read_directory(Directory *d) {
    rewind(d->file);
    d->big_endian = getc(d->file) == 'M';
    getc(d->file);
    d->big = number(d, 2) == 43;
    if (d->big)
        number(d, 4); /* the size of offsets, always 8 */
    guint64 start = number(d, d->big ? 8 : 4);
    if (start > G_MAXINT64 || fseeko(d->file, (off_t)start, SEEK_SET))
        return FALSE;
    for (guint64 left = number(d, d->big ? 8 : 2); left && left < 65536; left--)
        read_entry(d);
    return TRUE;
}

/* Grey, RGB or inks in whole bytes, which libvips takes as they are. */
static gboolean is_plain(Directory *d, const TtImage *shape) {
    enum { GREY = 1, RGB = 2, INKS = 5, INTEGERS = 1, SIGNED = 2, FLOATS = 3 };
    if (d->compression != 1 || d->planar != 1 || d->fill_order != 1 || d->width != shape->width ||
        d->height != shape->height || d->samples != shape->channels || shape->sample_bits % 8 ||
        (d->photometric != GREY && d->photometric != RGB && d->photometric != INKS))
        return FALSE;
    for (guint64 i = 0; i < d->samples; i++) {
        guint64 format = d->sample_format.count ? value_of(d, &d->sample_format, i) : INTEGERS;
        if (value_of(d, &d->bits, i) != shape->sample_bits ||
            (format != INTEGERS && format != SIGNED && format != FLOATS))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_starts(Directory *d, BareBlocks *blocks, guint64 size) {
    guint64 across = (d->width - 1) / blocks->width + 1, down = (d->height - 1) / blocks->height + 1;
    guint64 count = across * down, block_bytes = blocks->rows.row_bytes * blocks->height;
    if (count != d->starts.count || count > size)
        return FALSE;
    blocks->starts = g_try_new(guint64, count);
    if (!blocks->starts || !d->starts.bytes || fseeko(d->file, d->starts.at, SEEK_SET))
        return FALSE;
    for (guint64 i = 0; i < count; i++) {
        guint64 rows = d->tile_width ? blocks->height : MIN(blocks->height, d->height - i * blocks->height);
        guint64 start = number(d, d->starts.bytes), bytes = blocks->rows.row_bytes * rows;
        if (!start || bytes > size || start > size - bytes)
            return FALSE;
        blocks->starts[i] = start;
    }
    /* A block that says to be shorter is damaged, or of a kind that libtiff knows what to do with. */
    if (d->lengths.count != count || !d->lengths.bytes || fseeko(d->file, d->lengths.at, SEEK_SET))
        return FALSE;
    for (guint64 i = 0; i < count; i++) {
        guint64 rows = d->tile_width ? blocks->height : MIN(blocks->height, d->height - i * blocks->height);
        if (number(d, d->lengths.bytes) < blocks->rows.row_bytes * rows)
            return FALSE;
    }
    /* Strips that follow each other are one, which can be read in longer runs. */
    gboolean follow = across == 1 && blocks->width == d->width;
    for (guint64 i = 1; i < count && follow; i++)
        follow = blocks->starts[i] == blocks->starts[i - 1] + block_bytes;
    if (follow)
        blocks->height = d->height;
    return TRUE;
}

void tiff_blocks_find(FILE *file, const TtImage *shape, BareBlocks *blocks) {
    Directory d = {.file = file,
                   .compression = 1,
                   .fill_order = 1,
                   .samples = 1,
                   .planar = 1,
                   .rows_per_strip = G_MAXUINT32};
    struct stat info;
    *blocks = (BareBlocks){0};
    if (fstat(fileno(file), &info) || !read_directory(&d) || !is_plain(&d, shape) ||
        !d.tile_width != !d.tile_height || !d.rows_per_strip || d.tile_width > G_MAXINT32 ||
        d.tile_height > G_MAXINT32)
        return;
    blocks->width = d.tile_width ? d.tile_width : shape->width;
    blocks->height = d.tile_height ? d.tile_height : MIN(d.rows_per_strip, shape->height);
    gsize pixel_bits = (gsize)shape->channels * shape->sample_bits;
    blocks->rows = (BareRows){
        .fd = fileno(file), .row_bytes = blocks->width * (pixel_bits / 8), .pixel_bits = pixel_bits};
    if (d.big_endian == (G_BYTE_ORDER == G_LITTLE_ENDIAN) && shape->sample_bits > 8)
        blocks->swapped = shape->sample_bits / 8;
    if (!read_starts(&d, blocks, (guint64)info.st_size))
        bare_blocks_clear(blocks);
    blocks->rows.height = blocks->height;
}
