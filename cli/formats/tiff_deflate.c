/* SPDX-License-Identifier: MIT
 *
 * The predictors, the order of bytes, and zlib's frame around deflate.
 */
#include "tiff_deflate.h"

#include <string.h>

#include "deflate.h"

struct TiffPacker {
    Packer *packer;
    const TiffFile *file;
    const TiffPicture *picture;
    gsize stride; /* samples from one pixel to the next */
    guint8 *row;  /* of one row, for the predictor of floats */
};

TiffPacker *tiff_packer_new(const TiffFile *file, const TiffPicture *picture) {
    TiffPacker *p = g_new0(TiffPacker, 1);
    p->packer = packer_new();
    p->file = file;
    p->picture = picture;
    p->stride = picture->planar ? 1 : picture->samples;
    if (picture->predictor == 3)
        p->row = g_malloc(tiff_block_row(picture));
    return p;
}

void tiff_packer_free(TiffPacker *p) {
    packer_free(p->packer);
    g_free(p->row);
    g_free(p);
}

/* Each sample becomes its difference from the one before. */
#define DIFFERENCES(type)                                                                                    \
    static void differences_of_##type(type *row, gsize n, gsize stride) {                                    \
        for (gsize i = n; i-- > stride;)                                                                     \
            row[i] = (type)(row[i] - row[i - stride]);                                                       \
    }
DIFFERENCES(guint8)
DIFFERENCES(guint16)
DIFFERENCES(guint32)
DIFFERENCES(guint64)

/* The bytes of floats, the highest of all first, and then their differences. */
static void predict_floats(TiffPacker *p, guint8 *row, gsize samples, gsize bytes) {
    memcpy(p->row, row, samples * bytes);
    for (gsize i = 0; i < samples; i++)
        for (gsize b = 0; b < bytes; b++) {
            gsize from = G_BYTE_ORDER == G_LITTLE_ENDIAN ? bytes - 1 - b : b;
            row[b * samples + i] = p->row[i * bytes + from];
        }
    differences_of_guint8(row, samples * bytes, p->stride);
}

static gboolean predict(TiffPacker *p, guint8 *data, gsize rows) {
    const guint bits = p->picture->bits;
    gsize row = tiff_block_row(p->picture), samples = row * 8 / bits;
    for (gsize y = 0; y < rows; y++, data += row) {
        if (p->picture->predictor == 3 && bits % 8 == 0)
            predict_floats(p, data, samples, bits / 8);
        else if (bits == 8)
            differences_of_guint8(data, samples, p->stride);
        else if (bits == 16)
            differences_of_guint16((guint16 *)data, samples, p->stride);
        else if (bits == 32)
            differences_of_guint32((guint32 *)data, samples, p->stride);
        else if (bits == 64)
            differences_of_guint64((guint64 *)data, samples, p->stride);
        else
            return FALSE;
    }
    return TRUE;
}

/* libtiff gives samples of these sizes in the machine's order. */
static void to_order_of_file(const TiffPacker *p, guint8 *data, gsize size) {
    guint bits = p->picture->bits;
    if (p->file->big_endian == (G_BYTE_ORDER == G_BIG_ENDIAN) || p->picture->predictor == 3)
        return;
    gsize bytes = bits == 16 ? 2 : bits == 24 ? 3 : bits == 32 ? 4 : bits == 64 || bits == 128 ? 8 : 1;
    for (gsize i = 0; bytes > 1 && i + bytes <= size; i += bytes)
        for (gsize a = i, b = i + bytes - 1; a < b; a++, b--) {
            guint8 byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

/* The fastest way is taken where it packs about as well as a careful one, which a sample of the block tells.
 */
static gsize pack(TiffPacker *p, const guint8 *data, gsize size, guint8 *to) {
    enum { SAMPLE = 1 << 16, PERMILLE = 1005 };
    const DeflateWay careful = deflate_way_like_zlib(6), fast = deflate_ways[0];
    gsize sample = MIN(size, SAMPLE), start = (size - sample) / 2, packed;
    gsize by_fast = packer_pack(p->packer, fast, data + start, sample, to, TRUE);
    gsize by_careful = by_fast ? packer_pack(p->packer, careful, data + start, sample, to, TRUE) : 0;
    if (by_careful && by_fast * 1000 <= by_careful * PERMILLE &&
        (packed = packer_pack(p->packer, fast, data, size, to, TRUE)))
        return packed;
    if ((packed = packer_pack(p->packer, careful, data, size, to, TRUE)))
        return packed;
    return packer_pack(p->packer, (DeflateWay){DEFLATE_ZLIB, 6, DEFLATE_DEFAULT}, data, size, to, TRUE);
}

gboolean tiff_packer_pack(TiffPacker *p, guint8 *data, gsize rows, GByteArray *to) {
    enum { HEAD = 2, SUM = 4 };
    gsize size = rows * tiff_block_row(p->picture);
    if (p->picture->predictor != 1 && !predict(p, data, rows))
        return FALSE;
    to_order_of_file(p, data, size);
    guint start = to->len;
    g_byte_array_set_size(to, start + HEAD + (guint)packer_bound(size) + SUM);
    guint8 *out = to->data + start;
    memcpy(out, "\x78\x9c", HEAD);
    gsize packed = pack(p, data, size, out + HEAD);
    guint32 sum = deflate_adler32(1, data, size);
    for (int i = 0; i < SUM; i++)
        out[HEAD + packed + (gsize)i] = (guint8)(sum >> (24 - 8 * i));
    g_byte_array_set_size(to, start + HEAD + (guint)packed + SUM);
    return packed != 0;
}
