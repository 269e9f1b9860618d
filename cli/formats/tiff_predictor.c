/* SPDX-License-Identifier: MIT
 *
 * Sums go from left to right, a pixel after the other, with those of the last pixel at hand: through memory,
 * each would wait for the one before to be written.
 */
#include "tiff_predictor.h"

#include <string.h>

enum { HORIZONTAL = 2, FLOATS = 3, IEEE = 3 };

gboolean tiff_predictor_fits(const TiffPicture *p) {
    if (p->predictor == HORIZONTAL)
        return p->bits == 8 || p->bits == 16 || p->bits == 32 || p->bits == 64;
    if (p->predictor == FLOATS)
        return p->sample_format == IEEE && (p->bits == 16 || p->bits == 24 || p->bits == 32 || p->bits == 64);
    return p->predictor == 1;
}

/* Each sample becomes its difference from the one `stride` before, or the sum of all up to it. */
#define PREDICTORS(type)                                                                                     \
    static void differences_of_##type(type *row, gsize n, gsize stride) {                                    \
        for (gsize i = n; i-- > stride;)                                                                     \
            row[i] = (type)(row[i] - row[i - stride]);                                                       \
    }                                                                                                        \
    static void sums_of_##type(type *row, gsize n, gsize stride) {                                           \
        type a = 0, b = 0, c = 0, d = 0;                                                                     \
        gsize i = 0;                                                                                         \
        switch (stride) {                                                                                    \
        case 1:                                                                                              \
            for (; i < n; i++)                                                                               \
                row[i] = a = (type)(a + row[i]);                                                             \
            break;                                                                                           \
        case 3:                                                                                              \
            for (; i + 3 <= n; i += 3) {                                                                     \
                row[i] = a = (type)(a + row[i]);                                                             \
                row[i + 1] = b = (type)(b + row[i + 1]);                                                     \
                row[i + 2] = c = (type)(c + row[i + 2]);                                                     \
            }                                                                                                \
            break;                                                                                           \
        case 4:                                                                                              \
            for (; i + 4 <= n; i += 4) {                                                                     \
                row[i] = a = (type)(a + row[i]);                                                             \
                row[i + 1] = b = (type)(b + row[i + 1]);                                                     \
                row[i + 2] = c = (type)(c + row[i + 2]);                                                     \
                row[i + 3] = d = (type)(d + row[i + 3]);                                                     \
            }                                                                                                \
            break;                                                                                           \
        default:                                                                                             \
            for (i = stride; i < n; i++)                                                                     \
                row[i] = (type)(row[i] + row[i - stride]);                                                   \
        }                                                                                                    \
    }
PREDICTORS(guint8)
PREDICTORS(guint16)
PREDICTORS(guint32)
PREDICTORS(guint64)

/* The bytes of floats lie in planes, the highest of all first. */
static gsize plane_of(gsize byte, gsize bytes) {
    return G_BYTE_ORDER == G_LITTLE_ENDIAN ? bytes - 1 - byte : byte;
}

static void differences_of_floats(guint8 *row, gsize n, gsize bytes, gsize stride, guint8 *spare) {
    memcpy(spare, row, n * bytes);
    for (gsize b = 0; b < bytes; b++) {
        guint8 *plane = row + plane_of(b, bytes) * n;
        for (gsize i = 0; i < n; i++)
            plane[i] = spare[i * bytes + b];
    }
    differences_of_guint8(row, n * bytes, stride);
}

static void sums_of_floats(guint8 *row, gsize n, gsize bytes, gsize stride, guint8 *spare) {
    sums_of_guint8(row, n * bytes, stride);
    memcpy(spare, row, n * bytes);
    for (gsize b = 0; b < bytes; b++) {
        const guint8 *plane = spare + plane_of(b, bytes) * n;
        for (gsize i = 0; i < n; i++)
            row[i * bytes + b] = plane[i];
    }
}

/* Samples of these sizes are numbers in the file's order of bytes. */
static void exchange_order(const TiffFile *file, const TiffPicture *p, guint8 *data, gsize size) {
    if (file->big_endian == (G_BYTE_ORDER == G_BIG_ENDIAN) || p->predictor == FLOATS)
        return;
    guint bits = p->bits;
    gsize bytes = bits == 16 ? 2 : bits == 24 ? 3 : bits == 32 ? 4 : bits == 64 || bits == 128 ? 8 : 1;
    for (gsize i = 0; bytes > 1 && i + bytes <= size; i += bytes)
        for (gsize a = i, b = i + bytes - 1; a < b; a++, b--) {
            guint8 byte = data[a];
            data[a] = data[b];
            data[b] = byte;
        }
}

#define ROWS(way)                                                                                            \
    static void way##_of_rows(const TiffPicture *p, guint8 *data, gsize rows, guint8 *spare) {               \
        gsize row = tiff_block_row(p), n = row * 8 / p->bits, stride = p->planar ? 1 : p->samples;           \
        for (gsize y = 0; y < rows; y++, data += row) {                                                      \
            if (p->predictor == FLOATS)                                                                      \
                way##_of_floats(data, n, p->bits / 8, stride, spare);                                        \
            else if (p->bits == 8)                                                                           \
                way##_of_guint8(data, n, stride);                                                            \
            else if (p->bits == 16)                                                                          \
                way##_of_guint16((guint16 *)data, n, stride);                                                \
            else if (p->bits == 32)                                                                          \
                way##_of_guint32((guint32 *)data, n, stride);                                                \
            else                                                                                             \
                way##_of_guint64((guint64 *)data, n, stride);                                                \
        }                                                                                                    \
    }
ROWS(differences)
ROWS(sums)

void tiff_predict(const TiffFile *file, const TiffPicture *p, guint8 *data, gsize rows, guint8 *spare) {
    if (p->predictor != 1)
        differences_of_rows(p, data, rows, spare);
    exchange_order(file, p, data, rows * tiff_block_row(p));
}

void tiff_unpredict(const TiffFile *file, const TiffPicture *p, guint8 *data, gsize rows, guint8 *spare) {
    exchange_order(file, p, data, rows * tiff_block_row(p));
    if (p->predictor != 1)
        sums_of_rows(p, data, rows, spare);
}
