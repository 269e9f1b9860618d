/* SPDX-License-Identifier: MIT
 *
 * The choice of a way for deflate, and zlib's frame around it.
 */
#include "tiff_packer.h"

#include <string.h>

#include "deflate.h"
#include "tiff_lzw.h"
#include "tiff_predictor.h"
#include "tiff_tag.h"

enum { HEAD = 2, SUM = 4 /* of zlib's frame */ };

struct TiffPacker {
    const TiffFile *file;
    Packer *packer;
    TiffLzw *lzw;
    guint8 *row; /* of one, for the predictor of floats */
    gsize row_room;
};

static gboolean is_deflate(const TiffPicture *p) {
    return p->compression == PACKED_DEFLATE || p->compression == PACKED_OLD_DEFLATE;
}

gboolean tiff_packer_fits(const TiffPicture *p) {
    return (is_deflate(p) || p->compression == PACKED_LZW) && p->fill_order != 2 && tiff_predictor_fits(p);
}

TiffPacker *tiff_packer_new(const TiffFile *file) {
    TiffPacker *p = g_new0(TiffPacker, 1);
    p->file = file;
    return p;
}

void tiff_packer_free(TiffPacker *p) {
    if (p->packer)
        packer_free(p->packer);
    if (p->lzw)
        tiff_lzw_free(p->lzw);
    g_free(p->row);
    g_free(p);
}

static guint8 *spare_row(TiffPacker *p, const TiffPicture *picture) {
    gsize row = tiff_block_row(picture);
    if (row > p->row_room) {
        p->row = g_realloc(p->row, row);
        p->row_room = row;
    }
    return p->row;
}

/* ---- Deflate ------------------------------------------------------------------------------------------ */

static const DeflateWay fastest = {DEFLATE_ISAL, 1, DEFLATE_DEFAULT};

/* The fastest way that packs a sample of the block as well as a careful one. */
static DeflateWay choose_way(Packer *p, const guint8 *data, gsize size, guint8 *to) {
    enum { SAMPLE = 1 << 15, PERMILLE = 1002 };
    const DeflateWay careful = deflate_way_like_zlib(4),
                     ways[] = {deflate_ways[0], fastest, deflate_way_like_zlib(1)};
    gsize sample = MIN(size, SAMPLE), packed;
    const guint8 *middle = data + (size - sample) / 2;
    gsize enough = packer_pack(p, careful, middle, sample, to, TRUE) * PERMILLE / 1000;
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        if ((packed = packer_pack(p, ways[i], middle, sample, to, TRUE)) && packed <= enough)
            return ways[i];
    return careful;
}

/* Of photographs all ways make about the same, and libtiff's takes longest. What is packed to a third is a
 * drawing, which zlib packs smallest for its time. */
static gsize pack_well(Packer *p, const guint8 *data, gsize size, guint8 *to) {
    const DeflateWay like_libtiff = {DEFLATE_ZLIB, 6, DEFLATE_DEFAULT};
    gsize packed = packer_pack(p, fastest, data, size, to, TRUE);
    if (packed && packed > size / 3)
        packed = packer_pack(p, choose_way(p, data, size, to), data, size, to, TRUE);
    else
        packed = 0;
    return packed ? packed : packer_pack(p, like_libtiff, data, size, to, TRUE);
}

static gsize pack_deflate(TiffPacker *p, const guint8 *data, gsize size, guint8 *to) {
    if (!p->packer)
        p->packer = packer_new();
    memcpy(to, "\x78\x9c", HEAD);
    gsize packed = pack_well(p->packer, data, size, to + HEAD);
    guint32 sum = GUINT32_TO_BE(deflate_adler32(1, data, size));
    memcpy(to + HEAD + packed, &sum, SUM);
    return packed ? HEAD + packed + SUM : 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------------- */

gboolean tiff_packer_pack(TiffPacker *p, const TiffPicture *picture, guint8 *data, gsize rows,
                          GByteArray *to) {
    gsize size = rows * tiff_block_row(picture),
          room = MAX(HEAD + packer_bound(size) + SUM, tiff_lzw_bound(size));
    guint start = to->len;
    tiff_predict(p->file, picture, data, rows, spare_row(p, picture));
    g_byte_array_set_size(to, start + (guint)room);
    if (!is_deflate(picture) && !p->lzw)
        p->lzw = tiff_lzw_new();
    gsize packed = is_deflate(picture) ? pack_deflate(p, data, size, to->data + start)
                                       : tiff_lzw_pack(p->lzw, data, size, to->data + start);
    g_byte_array_set_size(to, start + (guint)packed);
    return packed != 0;
}

gboolean tiff_packer_unpack(TiffPacker *p, const TiffPicture *picture, const guint8 *packed, gsize n,
                            guint8 *to, gsize rows) {
    gsize size = rows * tiff_block_row(picture);
    if (!is_deflate(picture) && !p->lzw)
        p->lzw = tiff_lzw_new();
    if (!(is_deflate(picture) ? deflate_unpack(packed, n, to, size)
                              : tiff_lzw_unpack(p->lzw, packed, n, to, size)))
        return FALSE;
    tiff_unpredict(p->file, picture, to, rows, spare_row(p, picture));
    return TRUE;
}
