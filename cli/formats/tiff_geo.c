/* SPDX-License-Identifier: MIT
 *
 * From pixels of the result to pixels of the source, and from there, as the file has it, to the map.
 */
#include "tiff_geo.h"

#include <string.h>

#include "../fault.h"
#include "tiff_tag.h"

enum { N = 4, TIE = 6, RASTER_TYPE = 1025, PIXEL_IS_POINT = 2 };

gboolean tiff_is_geo_place(guint tag) {
    return tag == TAG_PIXEL_SCALE || tag == TAG_TIE_POINTS || tag == TAG_TRANSFORMATION;
}

gboolean tiff_is_geo(const TiffDirectory *d) {
    static const guint tags[] = {TAG_PIXEL_SCALE,       TAG_TIE_POINTS, TAG_TRANSFORMATION,
                                 TAG_INTERGRAPH_MATRIX, TAG_GEO_KEYS,   TAG_RPC};
    for (gsize i = 0; i < G_N_ELEMENTS(tags); i++)
        if (tiff_directory_find(d, tags[i]))
            return TRUE;
    return FALSE;
}

const char *tiff_geo_refusal(const TiffDirectory *d) {
    if (tiff_directory_find(d, TAG_RPC))
        return "ties its pixels to the map by polynomials (RPC), which are not rewritten: use gdalwarp";
    if (tiff_directory_find(d, TAG_INTERGRAPH_MATRIX) && !tiff_directory_find(d, TAG_TRANSFORMATION))
        return "ties its pixels to the map by Intergraph's matrix, which is not rewritten: use "
               "gdal_translate first";
    return NULL;
}

static double double_at(const TiffFile *file, const guint8 *data, gsize i) {
    guint64 bits = tiff_number(file, data + 8 * i, 8);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void put_double(const TiffFile *file, guint8 *data, gsize i, double value) {
    guint64 bits;
    memcpy(&bits, &value, sizeof(bits));
    tiff_put_number(file, data + 8 * i, 8, bits);
}

/* The doubles of a tag, in the file's order; NULL if it is not there or has fewer. */
static guint8 *doubles(const TiffFile *file, const TiffDirectory *d, guint tag, gsize least, gsize *n) {
    const TiffEntry *entry = tiff_directory_find(d, tag);
    if (!entry || entry->type != TYPE_DOUBLE || entry->count < least)
        return NULL;
    *n = entry->count;
    return tiff_entry_data(file, entry, NULL);
}

/* Coordinates count from the middle of the first pixel, not from its corner. */
static gboolean is_point(const TiffFile *file, const TiffDirectory *d) {
    const TiffEntry *entry = tiff_directory_find(d, TAG_GEO_KEYS);
    guint64 *keys = entry ? tiff_entry_numbers(file, entry, NULL) : NULL;
    gboolean point = FALSE;
    for (guint64 i = 4; keys && i + 4 <= entry->count; i += 4)
        if (keys[i] == RASTER_TYPE && !keys[i + 1])
            point = keys[i + 3] == PIXEL_IS_POINT;
    g_free(keys);
    return point;
}

/* Source coordinates are a * x + b * y + c of those of the result, for each axis. */
typedef struct {
    double a, b, c;
} Row;

static void rows_back(TtOrientation turn, double width, double height, Row row[2]) {
    TtRect corner = tt_map_rect(turn, 2, 2, (TtRect){0, 0, 1, 1});
    gboolean swap = tt_swaps_axes(turn) != 0;
    gboolean mirror_x = (swap ? corner.y : corner.x) != 0, mirror_y = (swap ? corner.x : corner.y) != 0;
    double x = mirror_x ? -1 : 1, y = mirror_y ? -1 : 1;
    row[0] = (Row){swap ? 0 : x, swap ? x : 0, mirror_x ? width : 0};
    row[1] = (Row){swap ? y : 0, swap ? 0 : y, mirror_y ? height : 0};
}

static void matrix_of_tie(const TiffFile *file, const guint8 *scale, const guint8 *tie, double m[N * N]) {
    double sx = double_at(file, scale, 0), sy = double_at(file, scale, 1), sz = double_at(file, scale, 2);
    const double all[N * N] = {sx, 0,   0,  double_at(file, tie, 3) - double_at(file, tie, 0) * sx,
                               0,  -sy, 0,  double_at(file, tie, 4) + double_at(file, tie, 1) * sy,
                               0,  0,   sz, double_at(file, tie, 5) - double_at(file, tie, 2) * sz,
                               0,  0,   0,  1};
    memcpy(m, all, sizeof(all));
}

static void add_matrix(const TiffFile *file, const double m[N * N], const Row row[2], GArray *entries) {
    guint8 *data = g_malloc(8 * N * N);
    for (gsize i = 0; i < N; i++) {
        double x = m[N * i], y = m[N * i + 1];
        put_double(file, data, N * i, x * row[0].a + y * row[1].a);
        put_double(file, data, N * i + 1, x * row[0].b + y * row[1].b);
        put_double(file, data, N * i + 2, m[N * i + 2]);
        put_double(file, data, N * i + 3, m[N * i + 3] + x * row[0].c + y * row[1].c);
    }
    tiff_add_entry(entries, TAG_TRANSFORMATION, TYPE_DOUBLE, N * N, data);
}

/* Points of the source that are tied each by itself: they move as pixels do. */
static void move_ties(const TiffFile *file, guint8 *ties, gsize n, TtOrientation turn, double width,
                      double height) {
    Row row[2];
    gboolean swap = tt_swaps_axes(turn) != 0;
    rows_back(tt_invert(turn), swap ? height : width, swap ? width : height, row);
    for (gsize i = 0; i + TIE <= n; i += TIE) {
        double x = double_at(file, ties, i), y = double_at(file, ties, i + 1);
        put_double(file, ties, i, row[0].a * x + row[0].b * y + row[0].c);
        put_double(file, ties, i + 1, row[1].a * x + row[1].b * y + row[1].c);
    }
}

gboolean tiff_geo_turn(const TiffFile *file, const TiffDirectory *d, TtOrientation turn, gsize width,
                       gsize height, GArray *entries, GError **error) {
    gsize n_ties = 0, n;
    double less = is_point(file, d) ? 1 : 0, m[N * N];
    Row row[2];
    guint8 *matrix = doubles(file, d, TAG_TRANSFORMATION, N * N, &n),
           *scale = doubles(file, d, TAG_PIXEL_SCALE, 3, &n),
           *ties = doubles(file, d, TAG_TIE_POINTS, TIE, &n_ties);
    gboolean good = TRUE;
    rows_back(turn, (double)width - less, (double)height - less, row);
    if (matrix) {
        for (gsize i = 0; i < N * N; i++)
            m[i] = double_at(file, matrix, i);
        add_matrix(file, m, row, entries);
    } else if (scale && n_ties == TIE) {
        matrix_of_tie(file, scale, ties, m);
        add_matrix(file, m, row, entries);
    } else if (ties && !scale) {
        move_ties(file, ties, n_ties, turn, (double)width - less, (double)height - less);
        tiff_add_entry(entries, TAG_TIE_POINTS, TYPE_DOUBLE, n_ties, g_steal_pointer(&ties));
    } else if (scale || ties || tiff_directory_find(d, TAG_TRANSFORMATION)) {
        good = fault(error, STATUS_FAILED,
                     "ties its pixels to the map in a way that is not rewritten: use gdal_translate first");
    }
    g_free(matrix);
    g_free(scale);
    g_free(ties);
    return good;
}
