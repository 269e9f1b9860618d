/* SPDX-License-Identifier: MIT
 *
 * Reading the tags of geometry.
 */
#include "tiff_picture.h"

#include <string.h>

#include "../fault.h"
#include "tiff_tag.h"

enum { CUTS = 8 /* of the memory that a strip is too large for */ };

enum { YCBCR = 6, CFA = 32803, LINEAR_RAW = 34892, LOG_L = 32844, LOG_LUV = 32845 };

gboolean tiff_is_picture(const TiffDirectory *d) {
    return tiff_directory_find(d, TAG_WIDTH) && tiff_directory_find(d, TAG_HEIGHT);
}

static gboolean damaged(const char *what, GError **error) {
    return fault(error, STATUS_FAILED, "is damaged, as %s: restore it from a copy", what);
}

static gboolean read_numbers(const TiffFile *file, const TiffDirectory *d, TiffPicture *p, GError **error) {
    guint64 samples = tiff_directory_number(file, d, TAG_SAMPLES, 1);
    guint64 width = tiff_directory_number(file, d, TAG_WIDTH, 0),
            height = tiff_directory_number(file, d, TAG_HEIGHT, 0);
    const TiffEntry *bits = tiff_directory_find(d, TAG_BITS);
    if (!width || !height || width > G_MAXINT32 || height > G_MAXINT32)
        return damaged("a page has no size", error);
    if (!samples || samples > G_MAXUINT16)
        return damaged("a pixel has no samples", error);
    p->width = width;
    p->height = height;
    p->samples = (guint)samples;
    p->bits = (guint)tiff_directory_number(file, d, TAG_BITS, 1);
    guint64 *each = bits ? tiff_entry_numbers(file, bits, error) : NULL;
    for (guint64 i = 1; each && i < MIN(bits->count, samples); i++)
        if (each[i] != each[0])
            p->bits = 0;
    if (bits && !each)
        return FALSE;
    g_free(each);
    p->sample_format = (guint)tiff_directory_number(file, d, TAG_SAMPLE_FORMAT, 1);
    p->compression = (guint)tiff_directory_number(file, d, TAG_COMPRESSION, 1);
    p->predictor = (guint)tiff_directory_number(file, d, TAG_PREDICTOR, 1);
    p->photometric = (guint)tiff_directory_number(file, d, TAG_PHOTOMETRIC, 0);
    p->fill_order = (guint)tiff_directory_number(file, d, TAG_FILL_ORDER, 1);
    p->t4_options = (guint32)tiff_directory_number(file, d, TAG_T4_OPTIONS, 0);
    p->t6_options = (guint32)tiff_directory_number(file, d, TAG_T6_OPTIONS, 0);
    p->planar = tiff_directory_number(file, d, TAG_PLANAR, 1) == 2 && samples > 1;
    if (tiff_directory_number(file, d, TAG_IMAGE_DEPTH, 1) != 1 ||
        tiff_directory_number(file, d, TAG_TILE_DEPTH, 1) != 1)
        return fault(error, STATUS_FAILED, "is a volume, of which a turn is not defined: cut it into pages");
    return TRUE;
}

/* Of YCbCr, unless it is compressed as JPEG, which has its own way. */
static gboolean read_units(const TiffFile *file, const TiffDirectory *d, TiffPicture *p, GError **error) {
    p->units_across = p->units_down = 1;
    if (p->photometric != YCBCR || p->compression == PACKED_JPEG || p->planar || p->samples != 3)
        return TRUE;
    const TiffEntry *entry = tiff_directory_find(d, TAG_YCBCR_SUBSAMPLING);
    guint64 *values = entry && entry->count >= 2 ? tiff_entry_numbers(file, entry, NULL) : NULL;
    p->units_across = values ? (guint)values[0] : 2;
    p->units_down = values ? (guint)values[1] : 2;
    g_free(values);
    if ((p->units_across != 1 && p->units_across != 2 && p->units_across != 4) ||
        (p->units_down != 1 && p->units_down != 2 && p->units_down != 4))
        return damaged("its colour has no known resolution", error);
    return TRUE;
}

/* Nothing that is counted later passes 64 bits, and no block is nowhere. */
static gboolean is_plausible(const TiffPicture *p, guint64 file_size) {
    guint64 blocks, bits, all;
    return g_uint64_checked_mul(&blocks, p->across, p->down) &&
           g_uint64_checked_mul(&blocks, blocks, p->planes) && blocks <= file_size &&
           g_uint64_checked_mul(&bits, p->block_width, p->block_height) &&
           g_uint64_checked_mul(&bits, bits, MAX(p->step_bits, 8)) &&
           g_uint64_checked_mul(&all, bits, blocks) && all < G_MAXINT64;
}

gboolean tiff_block_is_missing(const TiffPicture *p, gsize block) {
    return !p->starts[block] && !p->lengths[block];
}

void tiff_block_clear(const TiffPicture *p, guint8 *data, gsize size) {
    gsize bytes = MAX(p->bits / 8, 1);
    for (gsize i = 0; i < size; i++)
        data[i] = p->empty[i % bytes % sizeof(p->empty)];
}

gboolean tiff_block_is_empty(const TiffPicture *p, const guint8 *rows, gsize bytes, gsize n) {
    gsize row = tiff_block_row(p), sample = MAX(p->bits / 8, 1);
    for (gsize y = 0; y < n; y++)
        for (gsize i = 0; i < bytes; i++)
            if (rows[y * row + i] != p->empty[i % sample % sizeof(p->empty)])
                return FALSE;
    return TRUE;
}

/* FALSE if samples cannot be of that value, or not of every. */
static gboolean set_empty(TiffPicture *p, double value) {
    enum { UNSIGNED = 1, SIGNED = 2, FLOATS = 3 };
    gsize bytes = p->bits / 8;
    if (value == 0)
        return TRUE;
    if (p->sample_format == FLOATS && p->bits == 32) {
        float single = (float)value;
        memcpy(p->empty, &single, sizeof(single));
    } else if (p->sample_format == FLOATS && p->bits == 64) {
        memcpy(p->empty, &value, sizeof(value));
    } else if ((p->sample_format == UNSIGNED || p->sample_format == SIGNED) &&
               (p->bits == 8 || p->bits == 16 || p->bits == 32)) {
        gint64 span = (gint64)1 << p->bits, least = p->sample_format == SIGNED ? -span / 2 : 0;
        if (!(value >= (double)least && value < (double)(least + span)) || value != (double)(gint64)value)
            return FALSE;
        guint64 number = GUINT64_TO_LE((guint64)(gint64)value);
        for (gsize i = 0; i < bytes; i++)
            p->empty[G_BYTE_ORDER == G_LITTLE_ENDIAN ? i : bytes - 1 - i] = ((guint8 *)&number)[i];
    } else {
        return FALSE;
    }
    return TRUE;
}

/* A block that is not there is of zeros, or of what GDAL's tag says to be no data. */
static gboolean read_empty(const TiffFile *file, const TiffDirectory *d, TiffPicture *p, GError **error) {
    for (gsize i = 0; i < p->blocks && !p->sparse; i++)
        p->sparse = tiff_block_is_missing(p, i);
    const TiffEntry *entry = p->sparse ? tiff_directory_find(d, TAG_NO_DATA) : NULL;
    if (!entry || tiff_type_size(entry->type) != 1)
        return TRUE;
    guint8 *text = tiff_entry_data(file, entry, error);
    if (text)
        p->odd_empty = !set_empty(p, g_ascii_strtod((char *)text, NULL));
    g_free(text);
    return text != NULL;
}

static gboolean read_blocks(const TiffFile *file, const TiffDirectory *d, TiffPicture *p, GError **error) {
    guint64 tile_width = tiff_directory_number(file, d, TAG_TILE_WIDTH, 0),
            tile_height = tiff_directory_number(file, d, TAG_TILE_HEIGHT, 0);
    p->tiled = tile_width && tile_height;
    if (!tile_width != !tile_height || tile_width > G_MAXINT32 || tile_height > G_MAXINT32)
        return damaged("its tiles have no size", error);
    guint64 rows = tiff_directory_number(file, d, TAG_ROWS_PER_STRIP, G_MAXUINT32);
    p->block_width = p->tiled ? tile_width : p->width;
    p->block_height = p->tiled ? tile_height : MIN(rows ? rows : p->height, p->height);
    p->planes = p->planar ? p->samples : 1;
    p->across = (p->width - 1) / p->block_width + 1;
    p->down = (p->height - 1) / p->block_height + 1;
    p->step_bits = (gsize)p->bits * (p->planar ? 1 : p->samples);
    if (p->units_across * p->units_down > 1)
        p->step_bits = (gsize)p->bits * (p->units_across * p->units_down + 2);
    if (p->step_bits > (1 << 24) || !is_plausible(p, file->size))
        return damaged("it claims more than it can hold", error);
    p->blocks = p->across * p->down * p->planes;
    const TiffEntry *starts = tiff_directory_find(d, p->tiled ? TAG_TILE_OFFSETS : TAG_STRIP_OFFSETS);
    const TiffEntry *lengths = tiff_directory_find(d, p->tiled ? TAG_TILE_BYTES : TAG_STRIP_BYTES);
    if (!starts) /* some writers give tiles under the names of strips */
        starts = tiff_directory_find(d, p->tiled ? TAG_STRIP_OFFSETS : TAG_TILE_OFFSETS);
    if (!lengths)
        lengths = tiff_directory_find(d, p->tiled ? TAG_STRIP_BYTES : TAG_TILE_BYTES);
    if (!starts || starts->count < p->blocks || (lengths && lengths->count < p->blocks))
        return damaged("it does not say where all its pixels are", error);
    p->starts = tiff_entry_numbers(file, starts, error);
    if (!p->starts)
        return FALSE;
    if (lengths)
        return (p->lengths = tiff_entry_numbers(file, lengths, error)) && read_empty(file, d, p, error);
    /* Very old files do not say how long their strips are. */
    p->lengths = g_new(guint64, p->blocks);
    for (gsize i = 0; i < p->blocks; i++)
        p->lengths[i] = p->compression == PACKED_NONE ? tiff_block_bytes(p, i)
                                                      : file->size - MIN(file->size, p->starts[i]);
    return TRUE;
}

gboolean tiff_picture_read(const TiffFile *file, const TiffDirectory *d, TiffPicture *p, GError **error) {
    *p = (TiffPicture){.directory = d->at};
    return read_numbers(file, d, p, error) && read_units(file, d, p, error) && read_blocks(file, d, p, error);
}

void tiff_picture_clear(TiffPicture *p) {
    g_clear_pointer(&p->starts, g_free);
    g_clear_pointer(&p->lengths, g_free);
}

const char *tiff_picture_refusal(const TiffPicture *p) {
    switch (p->compression) {
    case PACKED_OLD_JPEG:
        return "is compressed as JPEG in the old way (compression 6), which no two programs read alike: "
               "convert "
               "it "
               "first";
    case PACKED_NONE:
    case PACKED_LZW:
    case PACKED_JPEG:
    case PACKED_DEFLATE:
    case PACKED_OLD_DEFLATE:
    case PACKED_PACKBITS:
    case PACKED_LZMA:
    case PACKED_ZSTD:
    case PACKED_WEBP:
        break;
    case PACKED_RLE:
    case PACKED_RLE_WORDS:
    case PACKED_G3:
    case PACKED_G4:
    case PACKED_JBIG:
        if (p->bits != 1 || (p->samples != 1 && !p->planar))
            return "is damaged, as its compression is for one bit a pixel: restore it from a copy";
        break;
    default:
        return "is compressed in a way that cannot be written again without loss: convert it first";
    }
    if (p->photometric == CFA || p->photometric == LINEAR_RAW)
        return "holds a camera's raw data: develop it first";
    if (!p->bits)
        return "has samples of different sizes, which are not read: convert it first";
    if (p->width % p->units_across || p->height % p->units_down || p->block_height % p->units_down ||
        (p->units_across * p->units_down > 1 && p->bits != 8))
        return "has colour at a lower resolution, of which the last pixels have none of their own: convert "
               "it first";
    if (p->tiled && p->block_width % p->units_across)
        return "has tiles whose width is no multiple of that of a unit of its colour: convert it first";
    if (p->sparse && (p->odd_empty || p->units_across * p->units_down > 1 || p->compression == PACKED_JPEG))
        return "has blocks that are left out since they are empty, of a kind that is not filled: convert it "
               "with "
               "gdal_translate first";
    if (p->predictor < 1 || p->predictor > 3)
        return "has an unknown predictor: convert it first";
    if (p->predictor != 1 && p->units_across * p->units_down > 1)
        return "has colour at a lower resolution and a predictor, which no two programs combine alike: "
               "convert "
               "it first";
    /* Either side may become the rows of turned tiles. */
    if (p->tiled && (p->step_bits * p->block_width % 8 || p->step_bits * p->block_height % 8))
        return "has tiles whose rows do not end on a byte, or would not when turned: convert it first";
    return NULL;
}

gsize tiff_steps_across(const TiffPicture *p, gsize pixels) {
    return (pixels + p->units_across - 1) / p->units_across;
}

gsize tiff_steps_down(const TiffPicture *p, gsize pixels) {
    return (pixels + p->units_down - 1) / p->units_down;
}

TtRect tiff_block_rect(const TiffPicture *p, gsize block) {
    gsize within = block % (p->across * p->down);
    gsize x = within % p->across * p->block_width, y = within / p->across * p->block_height;
    return (TtRect){tiff_steps_across(p, x), tiff_steps_down(p, y),
                    tiff_steps_across(p, MIN(p->block_width, p->width - x)),
                    tiff_steps_down(p, MIN(p->block_height, p->height - y))};
}

gsize tiff_block_row(const TiffPicture *p) {
    return (tiff_steps_across(p, p->block_width) * p->step_bits + 7) / 8;
}

gsize tiff_block_bytes(const TiffPicture *p, gsize block) {
    gsize rows = p->tiled ? tiff_steps_down(p, p->block_height) : tiff_block_rect(p, block).height;
    return rows * tiff_block_row(p);
}

guint64 tiff_picture_bytes(const TiffPicture *p) {
    return (guint64)tiff_steps_down(p, p->height) * p->planes *
           ((tiff_steps_across(p, p->width) * (guint64)p->step_bits + 7) / 8);
}

/* As many rows as make strips of about the same size; one strip stays one. */
static gsize turned_rows(const TiffPicture *p, const TiffPicture *turned) {
    if (p->down == 1)
        return turned->height;
    gsize before = (tiff_steps_across(p, p->width) * p->step_bits + 7) / 8,
          after = (tiff_steps_across(turned, turned->width) * p->step_bits + 7) / 8;
    gsize rows = (tiff_steps_down(p, p->block_height) * before + after / 2) / after;
    if (p->compression == PACKED_JPEG) /* whole units of its blocks, but for the largest of all */
        rows = (rows + 15) / 16 * 16;
    return MIN(MAX(rows, 1) * turned->units_down, turned->height);
}

/* A strip is packed as a whole, so one that is too large for that is cut. */
static void cut_strips(TiffPicture *p, gsize most) {
    if (p->tiled || p->compression == PACKED_NONE || p->compression == PACKED_JPEG ||
        tiff_block_bytes(p, 0) <= most)
        return;
    p->block_height = MAX(most / CUTS / tiff_block_row(p), 1) * p->units_down;
    p->down = (p->height - 1) / p->block_height + 1;
    p->blocks = p->down * p->planes;
}

TiffPicture tiff_picture_turned(const TiffPicture *p, TtOrientation turn, gsize most) {
    TiffPicture t = *p;
    if (tt_swaps_axes(turn)) {
        t.width = p->height;
        t.height = p->width;
        t.units_across = p->units_down;
        t.units_down = p->units_across;
        t.block_width = p->tiled ? p->block_height : t.width;
        t.block_height = p->tiled ? p->block_width : turned_rows(p, &t);
        t.across = (t.width - 1) / t.block_width + 1;
        t.down = (t.height - 1) / t.block_height + 1;
        t.blocks = t.across * t.down * t.planes;
    }
    if (turn != TT_NONE)
        cut_strips(&t, most);
    t.starts = g_new0(guint64, t.blocks);
    t.lengths = g_new0(guint64, t.blocks);
    return t;
}
