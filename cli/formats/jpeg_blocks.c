/* SPDX-License-Identifier: MIT
 *
 * Moving blocks and turning each.
 */
#include "jpeg_blocks.h"

#include <string.h>

/* One component: its blocks row by row, and how many of them the turn moves. */
typedef struct {
    JBLOCKROW *rows;
    JDIMENSION width, height;
} Plane;

JpegSteps jpeg_steps(TtOrientation turn) {
    TtRect corner = tt_map_rect(turn, 2, 2, (TtRect){0, 0, 1, 1});
    JpegSteps s = {.swap = tt_swaps_axes(turn) != 0};
    s.mirror_x = (s.swap ? corner.y : corner.x) != 0;
    s.mirror_y = (s.swap ? corner.x : corner.y) != 0;
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++)
            s.signs[v * DCTSIZE + u] = ((s.mirror_x & u) ^ (s.mirror_y & v)) & 1 ? -1 : 1;
    return s;
}

/* A single component has its blocks one by one, whatever its sampling factors say. */
static guint unit_width(j_decompress_ptr p) {
    return DCTSIZE * (p->num_components == 1 ? 1 : (guint)p->max_h_samp_factor);
}

static guint unit_height(j_decompress_ptr p) {
    return DCTSIZE * (p->num_components == 1 ? 1 : (guint)p->max_v_samp_factor);
}

void jpeg_blocks_remainder(j_decompress_ptr from, TtOrientation turn, guint *columns, guint *rows) {
    JpegSteps s = jpeg_steps(turn);
    *columns = s.mirror_x ? from->image_width % unit_width(from) : 0;
    *rows = s.mirror_y ? from->image_height % unit_height(from) : 0;
}

gsize jpeg_blocks_bytes(j_decompress_ptr from) {
    gsize bytes = 0;
    for (int i = 0; i < from->num_components; i++) {
        const jpeg_component_info *c = &from->comp_info[i];
        bytes += (gsize)c->width_in_blocks * c->height_in_blocks * sizeof(JBLOCK);
    }
    return bytes;
}

static void transpose_table(JQUANT_TBL *table) {
    UINT16 old[DCTSIZE2];
    memcpy(old, table->quantval, sizeof(old));
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++)
            table->quantval[u * DCTSIZE + v] = old[v * DCTSIZE + u];
}

void jpeg_blocks_turn_header(j_decompress_ptr from, j_compress_ptr to, TtOrientation turn) {
    guint columns, rows;
    jpeg_blocks_remainder(from, turn, &columns, &rows);
    to->image_width = from->image_width - columns;
    to->image_height = from->image_height - rows;
    if (!tt_swaps_axes(turn))
        return;
    JDIMENSION width = to->image_width;
    to->image_width = to->image_height;
    to->image_height = width;
    for (int i = 0; i < to->num_components; i++) {
        jpeg_component_info *c = &to->comp_info[i];
        int across = c->h_samp_factor;
        c->h_samp_factor = c->v_samp_factor;
        c->v_samp_factor = across;
    }
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        if (to->quant_tbl_ptrs[i])
            transpose_table(to->quant_tbl_ptrs[i]);
}

/* Blocks of one component along an axis, with those that fill the last unit. */
static JDIMENSION padded_blocks(JDIMENSION size, int factor, int largest) {
    JDIMENSION unit = DCTSIZE * (JDIMENSION)largest;
    return (size + unit - 1) / unit * (JDIMENSION)factor;
}

jvirt_barray_ptr *jpeg_blocks_request(j_compress_ptr to) {
    int across = 1, down = 1;
    for (int i = 0; i < to->num_components; i++) {
        across = MAX(across, to->comp_info[i].h_samp_factor);
        down = MAX(down, to->comp_info[i].v_samp_factor);
    }
    jvirt_barray_ptr *arrays =
        to->mem->alloc_small((j_common_ptr)to, JPOOL_IMAGE, sizeof(*arrays) * (gsize)to->num_components);
    for (int i = 0; i < to->num_components; i++) {
        const jpeg_component_info *c = &to->comp_info[i];
        arrays[i] = to->mem->request_virt_barray(
            (j_common_ptr)to, JPOOL_IMAGE, FALSE, padded_blocks(to->image_width, c->h_samp_factor, across),
            padded_blocks(to->image_height, c->v_samp_factor, down), (JDIMENSION)c->v_samp_factor);
    }
    return arrays;
}

/* libjpeg-turbo holds all rows in memory, where they stay. */
static Plane plane_of(j_common_ptr owner, const jpeg_component_info *c, jvirt_barray_ptr array,
                      gboolean writable) {
    JDIMENSION v = (JDIMENSION)c->v_samp_factor, padded = (c->height_in_blocks + v - 1) / v * v;
    Plane plane = {owner->mem->alloc_large(owner, JPOOL_IMAGE, sizeof(JBLOCKROW) * padded),
                   c->width_in_blocks, c->height_in_blocks};
    for (JDIMENSION y = 0; y < padded; y++)
        plane.rows[y] = owner->mem->access_virt_barray(owner, array, y, 1, (boolean)writable)[0];
    return plane;
}

/* Without the blocks of a remainder. */
static Plane source_plane(j_decompress_ptr from, int i, jvirt_barray_ptr array, const JpegSteps *s) {
    const jpeg_component_info *c = &from->comp_info[i];
    Plane plane = plane_of((j_common_ptr)from, c, array, FALSE);
    gboolean single = from->num_components == 1;
    if (s->mirror_x)
        plane.width = from->image_width / unit_width(from) * (single ? 1 : (JDIMENSION)c->h_samp_factor);
    if (s->mirror_y)
        plane.height = from->image_height / unit_height(from) * (single ? 1 : (JDIMENSION)c->v_samp_factor);
    return plane;
}

/* The source's block that becomes the one at (x, y). */
static const JCOEF *source_block(const Plane *source, const JpegSteps *s, JDIMENSION x, JDIMENSION y) {
    JDIMENSION column = s->swap ? y : x, row = s->swap ? x : y;
    return source->rows[s->mirror_y ? source->height - 1 - row : row]
                       [s->mirror_x ? source->width - 1 - column : column];
}

/* Eight coefficients. A step puts each number of a beside its partner in b. */
typedef JCOEF Row __attribute__((vector_size(DCTSIZE * sizeof(JCOEF))));
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Rows i and i + 4 are dealt into rows 2i and 2i + 1; three times that is a transpose. */
static void deal(const Row *from, Row *to) {
    for (int i = 0; i < DCTSIZE / 2; i++) {
        to[2 * i] = LOWER(from[i], from[i + DCTSIZE / 2]);
        to[2 * i + 1] = UPPER(from[i], from[i + DCTSIZE / 2]);
    }
}

void jpeg_steps_turn(const JCOEF *from, JCOEF *to, const JpegSteps *s) {
    Row a[DCTSIZE], b[DCTSIZE], signs[DCTSIZE];
    memcpy(a, from, sizeof(a));
    memcpy(signs, s->signs, sizeof(signs));
    for (int i = 0; i < DCTSIZE; i++)
        a[i] *= signs[i];
    if (s->swap) {
        deal(a, b);
        deal(b, a);
        deal(a, b);
    }
    memcpy(to, s->swap ? b : a, sizeof(a));
}

/* In bands, so that the few blocks that are read from each row of the source are neighbours. */
static void turn_plane(const Plane *source, const Plane *result, const JpegSteps *s) {
    enum { BAND = 8 };
    for (JDIMENSION top = 0; top < result->height; top += BAND)
        for (JDIMENSION x = 0; x < result->width; x++)
            for (JDIMENSION y = top; y < MIN(top + BAND, result->height); y++)
                jpeg_steps_turn(source_block(source, s, x, y), result->rows[y][x], s);
}

void jpeg_blocks_turn(j_decompress_ptr from, jvirt_barray_ptr *source, j_compress_ptr to,
                      jvirt_barray_ptr *result, TtOrientation turn) {
    JpegSteps s = jpeg_steps(turn);
    for (int i = 0; i < to->num_components; i++) {
        Plane a = source_plane(from, i, source[i], &s);
        Plane b = plane_of((j_common_ptr)to, &to->comp_info[i], result[i], TRUE);
        turn_plane(&a, &b, &s);
    }
}

static gboolean tables_equal(const JQUANT_TBL *a, const JQUANT_TBL *b, gboolean swap) {
    if (!a || !b)
        return FALSE;
    for (int v = 0; v < DCTSIZE; v++)
        for (int u = 0; u < DCTSIZE; u++)
            if (a->quantval[v * DCTSIZE + u] != b->quantval[swap ? u * DCTSIZE + v : v * DCTSIZE + u])
                return FALSE;
    return TRUE;
}

/* The other way round than the turn went: each block of b, turned back, is a block of a. */
static gboolean planes_equal(const Plane *a, const Plane *b, const JpegSteps *s) {
    JCOEF expected;
    for (JDIMENSION y = 0; y < b->height; y++)
        for (JDIMENSION x = 0; x < b->width; x++) {
            const JCOEF *from = source_block(a, s, x, y), *to = b->rows[y][x];
            for (int i = 0; i < DCTSIZE2; i++) {
                expected = (JCOEF)(from[i] * s->signs[i]);
                if (expected != to[s->swap ? i % DCTSIZE * DCTSIZE + i / DCTSIZE : i])
                    return FALSE;
            }
        }
    return TRUE;
}

gboolean jpeg_blocks_equal(j_decompress_ptr a, jvirt_barray_ptr *a_arrays, TtOrientation turn,
                           j_decompress_ptr b, jvirt_barray_ptr *b_arrays) {
    JpegSteps s = jpeg_steps(turn);
    guint columns, rows;
    jpeg_blocks_remainder(a, turn, &columns, &rows);
    guint width = a->image_width - columns, height = a->image_height - rows;
    if (a->num_components != b->num_components || b->image_width != (s.swap ? height : width) ||
        b->image_height != (s.swap ? width : height))
        return FALSE;
    for (int i = 0; i < a->num_components; i++) {
        const jpeg_component_info *from = &a->comp_info[i], *to = &b->comp_info[i];
        Plane source = source_plane(a, i, a_arrays[i], &s);
        Plane result = plane_of((j_common_ptr)b, to, b_arrays[i], FALSE);
        if (to->h_samp_factor != (s.swap ? from->v_samp_factor : from->h_samp_factor) ||
            to->v_samp_factor != (s.swap ? from->h_samp_factor : from->v_samp_factor) ||
            result.width != (s.swap ? source.height : source.width) ||
            result.height != (s.swap ? source.width : source.height) ||
            !tables_equal(from->quant_table, to->quant_table, s.swap) || !planes_equal(&source, &result, &s))
            return FALSE;
    }
    return TRUE;
}
