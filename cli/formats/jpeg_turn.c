/* SPDX-License-Identifier: MIT
 *
 * From coefficients to coefficients.
 */
#include "jpeg_turn.h"

#include <string.h>

#include "jpeg_blocks.h"
#include "jpeg_codes.h"
#include "jpeg_errors.h"

/* Bytes of coefficients up to which the best codes cost no time to speak of, and others some of the size. */
enum { SMALL = 1 << 20 };

/* Bytes of coefficients that a thumbnail may have: a few bytes can claim the largest of pictures. */
enum { MOST_WITHIN = 16 << 20 };

static gboolean same_code(const JHUFF_TBL *a, const JHUFF_TBL *b) {
    return !a || (b && !memcmp(a->bits, b->bits, sizeof(a->bits)) &&
                  !memcmp(a->huffval, b->huffval, sizeof(a->huffval)));
}

/* Whether the source was coded with the tables of the standard, which the compressor has by default. A file
 * with tables of its own would grow with those. */
static gboolean is_standard(j_decompress_ptr from, j_compress_ptr to) {
    for (int i = 0; i < NUM_HUFF_TBLS; i++)
        if (!same_code(from->dc_huff_tbl_ptrs[i], to->dc_huff_tbl_ptrs[i]) ||
            !same_code(from->ac_huff_tbl_ptrs[i], to->ac_huff_tbl_ptrs[i]))
            return FALSE;
    return TRUE;
}

/* Restarts that come every so many rows of units do so afterwards. */
static void copy_restarts(j_decompress_ptr from, j_compress_ptr to) {
    guint unit = DCTSIZE * (from->num_components == 1 ? 1 : (guint)from->max_h_samp_factor);
    guint across = (from->image_width + unit - 1) / unit;
    if (from->restart_interval % across)
        to->restart_interval = from->restart_interval;
    else
        to->restart_in_rows = (int)(from->restart_interval / across);
}

void jpeg_copy_coding(j_decompress_ptr from, j_compress_ptr to) {
    jpeg_copy_critical_parameters(from, to);
    to->write_JFIF_header = to->write_Adobe_marker = FALSE; /* they come with the segments */
    to->arith_code = from->arith_code;
    if (!from->arith_code && !from->progressive_mode && !is_standard(from, to))
        to->optimize_coding = jpeg_blocks_bytes(from) < SMALL || !jpeg_codes_copy(from, to);
    copy_restarts(from, to);
    if (from->progressive_mode)
        jpeg_simple_progression(to);
}

void jpeg_turn(j_decompress_ptr from, jvirt_barray_ptr *source, j_compress_ptr to, const SegmentsTurn *how) {
    jpeg_copy_coding(from, to);
    jpeg_blocks_turn_header(from, to, how->turn);
    to->optimize_coding |= how->smallest && !to->arith_code;
    jvirt_barray_ptr *result = jpeg_blocks_request(to);
    jpeg_write_coefficients(to, result);
    jpeg_segments_write(from, to, how);
    jpeg_blocks_turn(from, source, to, result, how->turn);
    jpeg_finish_compress(to);
}

static void start_nothing(j_compress_ptr to) {
    (void)to;
}

static boolean is_full(j_compress_ptr to) {
    ERREXIT(to, JERR_BUFFER_SIZE);
    return FALSE;
}

gsize jpeg_turn_within(const guint8 *data, gsize size, TtOrientation turn, guint8 *into) {
    struct jpeg_decompress_struct from = {.mem = NULL};
    struct jpeg_compress_struct to = {.mem = NULL};
    struct jpeg_destination_mgr destination = {into, size, start_nothing, is_full, start_nothing};
    JpegErrors errors;
    guint columns, rows;
    volatile gsize used = 0;
    from.err = to.err = jpeg_errors_init(&errors);
    if (setjmp(errors.jump))
        goto out;
    jpeg_create_decompress(&from);
    jpeg_create_compress(&to);
    jpeg_mem_src(&from, (guint8 *)data, size);
    to.dest = &destination;
    jpeg_segments_save(&from);
    jpeg_read_header(&from, TRUE);
    jpeg_mark_unscanned(&from);
    jpeg_blocks_remainder(&from, turn, &columns, &rows);
    if (columns || rows || jpeg_blocks_bytes(&from) > MOST_WITHIN)
        goto out;
    SegmentsTurn how = {.turn = turn,
                        .smallest = TRUE,
                        .width = from.image_width,
                        .height = from.image_height,
                        .kept_width = from.image_width,
                        .kept_height = from.image_height};
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&from);
    /* A length that is wrong may hold other things, which must stay. */
    gsize own = size - from.src->bytes_in_buffer;
    destination.free_in_buffer = own;
    jpeg_turn(&from, coefficients, &to, &how);
    used = own - destination.free_in_buffer;

out:
    jpeg_destroy_compress(&to);
    jpeg_destroy_decompress(&from);
    return used;
}
