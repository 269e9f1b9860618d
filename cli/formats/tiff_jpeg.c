/* SPDX-License-Identifier: MIT
 *
 * All coefficients of a picture are put together from its strips or tiles, and cut into those of the turned
 * one: an edge that a tile does not fill may land within another.
 *
 * Tables that all blocks share stay shared. Where the codes are not the standard's, each block gets its own.
 */
#include "tiff_jpeg.h"

#include <string.h>

#include "../each.h"
#include "../fault.h"
#include "jpeg_blocks.h"
#include "jpeg_errors.h"

enum { AT_ONCE = 256 /* turned blocks that wait to be written */ };

/* A component of the whole picture. */
typedef struct {
    JBLOCK *blocks;
    gsize width, height; /* in blocks */
    gsize across, down;  /* blocks in a unit */
} Plane;

typedef struct {
    const TiffTurner *turner;
    const TiffPicture *from;
    TiffPicture *to;
    const TiffTables *tables;
    TtOrientation turn;
    JpegSteps steps;
    int n_planes;
    Plane planes[MAX_COMPONENTS];
    gsize unit_width, unit_height;       /* pixels */
    struct jpeg_decompress_struct first; /* whose tables and sampling count for all */
    JpegErrors errors;
    gboolean standard; /* codes */
    gsize first_block;
    GByteArray *encoded[AT_ONCE];
    FirstError failure;
} Job;

/* ---- Reading ------------------------------------------------------------------------------------------ */

static guint8 *block_data(const TiffFile *file, const TiffPicture *p, gsize block, GError **error) {
    gsize bytes = p->lengths[block];
    if (p->starts[block] > file->size || bytes > file->size - p->starts[block]) {
        fault(error, STATUS_FAILED, "is cut short or damaged: restore it from a copy");
        return NULL;
    }
    guint8 *data = g_try_malloc(bytes + 1);
    if (!data)
        fault(error, STATUS_FAILED, "needs more memory than the system has: free some");
    else if (tiff_file_read(file, p->starts[block], data, bytes, error))
        return data;
    g_free(data);
    return NULL;
}

/* Up to the block's header. Errors leave it by error_exit. */
static void read_header(j_decompress_ptr from, const TiffTables *tables, const guint8 *data, gsize size) {
    jpeg_create_decompress(from);
    if (tables && tables->size) {
        jpeg_mem_src(from, tables->data, tables->size);
        jpeg_read_header(from, FALSE);
    }
    jpeg_mem_src(from, data, size);
    jpeg_read_header(from, TRUE);
}

/* Which one it is, nobody has checked before its scan. */
static const JQUANT_TBL *table_of(j_decompress_ptr from, const jpeg_component_info *component) {
    int n = component->quant_tbl_no;
    return n >= 0 && n < NUM_QUANT_TBLS ? from->quant_tbl_ptrs[n] : NULL;
}

static gboolean same_tables(j_decompress_ptr a, j_decompress_ptr b) {
    for (int i = 0; i < a->num_components; i++) {
        const jpeg_component_info *p = &a->comp_info[i], *q = &b->comp_info[i];
        const JQUANT_TBL *s = table_of(a, p), *t = table_of(b, q);
        if (p->h_samp_factor != q->h_samp_factor || p->v_samp_factor != q->v_samp_factor || !s || !t ||
            memcmp(s->quantval, t->quantval, sizeof(s->quantval)))
            return FALSE;
    }
    return TRUE;
}

static gboolean goes_on(Job *job) {
    return first_error_is_none(&job->failure, job->turner->cancel);
}

/* Pixels of a block's picture. */
static gsize block_height(const TiffPicture *p, gsize block) {
    return p->tiled ? p->block_height : tiff_block_rect(p, block).height;
}

/* A last strip may have been stored as tall as others, or taller than the picture, but not so that a few
 * bytes take the memory of a hundred pictures. */
static gboolean is_of_size(const Job *job, gsize block, j_decompress_ptr from) {
    enum { SPARE = 256 };
    const TiffPicture *p = job->from;
    return from->image_width == p->block_width && from->image_height >= block_height(p, block) &&
           from->image_height <= 2 * p->block_height + SPARE && from->num_components == job->n_planes;
}

/* The coefficients of a block, to their places among all. */
static void gather(Job *job, j_decompress_ptr from, TtRect rect) {
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(from);
    for (int i = 0; i < job->n_planes && job->planes[i].blocks; i++) {
        Plane *plane = &job->planes[i];
        gsize x = rect.x / job->unit_width * plane->across, y = rect.y / job->unit_height * plane->down;
        JDIMENSION width = from->comp_info[i].width_in_blocks, height = from->comp_info[i].height_in_blocks;
        for (JDIMENSION row = 0; row < height && y + row < plane->height; row++) {
            JBLOCKARRAY blocks = from->mem->access_virt_barray((j_common_ptr)from, arrays[i], row, 1, FALSE);
            memcpy(plane->blocks[(y + row) * plane->width + x], blocks[0],
                   MIN(width, plane->width - x) * sizeof(JBLOCK));
        }
    }
}

static gboolean read_block(Job *job, gsize block, const guint8 *data, GError **error) {
    struct jpeg_decompress_struct from = {.mem = NULL};
    JpegErrors errors;
    volatile gboolean good = FALSE;
    from.err = jpeg_errors_init(&errors);
    if (setjmp(errors.jump)) {
        jpeg_destroy_decompress(&from);
        return jpeg_errors_fault(&errors, error);
    }
    read_header(&from, job->tables, data, job->from->lengths[block]);
    if (!is_of_size(job, block, &from))
        fault(error, STATUS_FAILED, "is damaged, as a block is not of its size: restore it from a copy");
    else if (!same_tables(&job->first, &from))
        fault(error, STATUS_FAILED,
              "is compressed as JPEG with other tables in each block, which is not turned: use --jpeg tag");
    else
        good = TRUE;
    if (good)
        gather(job, &from, tiff_block_rect(job->from, block));
    jpeg_destroy_decompress(&from);
    return good;
}

static void read_item(gsize block, gpointer data) {
    Job *job = data;
    GError *error = NULL;
    if (!goes_on(job))
        return;
    guint8 *bytes = block_data(job->turner->file, job->from, block, &error);
    if (!bytes || !read_block(job, block, bytes, &error))
        first_error_set(&job->failure, error);
    g_free(bytes);
}

/* ---- The first block, which tells of all -------------------------------------------------------------- */

static void close_job(Job *job) {
    jpeg_destroy_decompress(&job->first);
    for (int i = 0; i < MAX_COMPONENTS; i++)
        g_free(job->planes[i].blocks);
}

static gboolean same_code(const JHUFF_TBL *a, const JHUFF_TBL *b) {
    return !a || (b && !memcmp(a->bits, b->bits, sizeof(a->bits)) &&
                  !memcmp(a->huffval, b->huffval, sizeof(a->huffval)));
}

/* Errors are those of `from`, but only when `to` is gone. */
static gboolean is_standard(j_decompress_ptr from) {
    struct jpeg_compress_struct to = {.mem = NULL};
    JpegErrors errors;
    volatile gboolean same = !from->progressive_mode;
    to.err = jpeg_errors_init(&errors);
    if (setjmp(errors.jump)) {
        jpeg_destroy_compress(&to);
        from->err->msg_code = errors.manager.msg_code;
        from->err->msg_parm = errors.manager.msg_parm;
        from->err->error_exit((j_common_ptr)from);
    }
    jpeg_create_compress(&to);
    jpeg_copy_critical_parameters(from, &to);
    for (int i = 0; i < NUM_HUFF_TBLS; i++)
        same = same && same_code(from->dc_huff_tbl_ptrs[i], to.dc_huff_tbl_ptrs[i]) &&
               same_code(from->ac_huff_tbl_ptrs[i], to.ac_huff_tbl_ptrs[i]);
    jpeg_destroy_compress(&to);
    return same;
}

static gboolean read_first(Job *job, const guint8 *data, gsize size, GError **error) {
    j_decompress_ptr first = &job->first;
    if (setjmp(job->errors.jump))
        return jpeg_errors_fault(&job->errors, error);
    read_header(first, job->tables, data, size);
    if (first->data_precision != 8)
        return fault(error, STATUS_FAILED, "has JPEGs of %d bits a sample, and 8 are read: convert it first",
                     first->data_precision);
    job->n_planes = first->num_components;
    for (int i = 0; i < job->n_planes; i++) {
        job->planes[i].across = job->n_planes == 1 ? 1 : (gsize)first->comp_info[i].h_samp_factor;
        job->planes[i].down = job->n_planes == 1 ? 1 : (gsize)first->comp_info[i].v_samp_factor;
        job->unit_width = MAX(job->unit_width, DCTSIZE * job->planes[i].across);
        job->unit_height = MAX(job->unit_height, DCTSIZE * job->planes[i].down);
    }
    for (int i = 0; i < job->n_planes; i++) {
        job->planes[i].width = ((job->from->width - 1) / job->unit_width + 1) * job->planes[i].across;
        job->planes[i].height = ((job->from->height - 1) / job->unit_height + 1) * job->planes[i].down;
    }
    job->standard = is_standard(first);
    return TRUE;
}

static gboolean start_job(Job *job, const TiffFile *file, GError **error) {
    first_error_init(&job->failure);
    job->first.err = jpeg_errors_init(&job->errors);
    job->steps = jpeg_steps(job->turn);
    guint8 *data = block_data(file, job->from, 0, error);
    gboolean good = data && read_first(job, data, job->from->lengths[0], error);
    g_free(data);
    return good;
}

/* ---- Whether there is a loss -------------------------------------------------------------------------- */

static gboolean is_whole(const TiffPicture *p, gsize unit_width, gsize unit_height) {
    return (p->across == 1 || p->block_width % unit_width == 0) &&
           (p->down == 1 || p->block_height % unit_height == 0);
}

static gboolean check_units(const Job *job, GError **error) {
    const TiffPicture *p = job->from;
    const JpegSteps *s = &job->steps;
    TiffPicture to = tiff_picture_turned(p, job->turn, G_MAXSIZE);
    gboolean whole = is_whole(p, job->unit_width, job->unit_height) &&
                     is_whole(&to, s->swap ? job->unit_height : job->unit_width,
                              s->swap ? job->unit_width : job->unit_height);
    tiff_picture_clear(&to);
    if (p->planar || !whole)
        return fault(
            error, STATUS_FAILED,
            "is compressed as JPEG in blocks that cannot be turned: --jpeg tag keeps its pixels and turns "
            "its tag");
    gsize columns = s->mirror_x ? p->width % job->unit_width : 0,
          rows = s->mirror_y ? p->height % job->unit_height : 0;
    return (!columns && !rows) ||
           fault(error, STATUS_FAILED,
                 "is compressed as JPEG and cannot be turned so without loss, as its last %" G_GSIZE_FORMAT
                 " %s do not fill a block: --jpeg tag keeps its pixels and turns its tag (trim and reencode "
                 "are for JPEG files)",
                 columns ? columns : rows, columns ? "columns" : "rows");
}

gboolean tiff_jpeg_decide(const TiffFile *file, const TiffPicture *from, const TiffTables *tables,
                          TtOrientation turn, gsize *memory, GError **error) {
    Job job = {.from = from, .tables = tables, .turn = turn};
    gboolean good = start_job(&job, file, error) && check_units(&job, error);
    *memory = 0;
    for (int i = 0; i < job.n_planes; i++)
        *memory += job.planes[i].width * job.planes[i].height * sizeof(JBLOCK);
    close_job(&job);
    return good;
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

static void transpose_tables(j_compress_ptr to) {
    for (int i = 0; i < NUM_QUANT_TBLS; i++) {
        JQUANT_TBL *table = to->quant_tbl_ptrs[i];
        for (int v = 0; table && v < DCTSIZE; v++)
            for (int u = v + 1; u < DCTSIZE; u++) {
                UINT16 old = table->quantval[v * DCTSIZE + u];
                table->quantval[v * DCTSIZE + u] = table->quantval[u * DCTSIZE + v];
                table->quantval[u * DCTSIZE + v] = old;
            }
    }
}

/* The first block's coding, turned. */
static void copy_coding(Job *job, j_compress_ptr to) {
    j_decompress_ptr from = &job->first;
    jpeg_copy_critical_parameters(from, to);
    to->write_JFIF_header = to->write_Adobe_marker = FALSE;
    to->arith_code = from->arith_code;
    to->optimize_coding = !job->standard && !from->arith_code;
    if (!job->steps.swap)
        return;
    transpose_tables(to);
    for (int i = 0; i < to->num_components; i++) {
        jpeg_component_info *c = &to->comp_info[i];
        int across = c->h_samp_factor;
        c->h_samp_factor = c->v_samp_factor;
        c->v_samp_factor = across;
    }
}

/* The turned blocks of one component that begin at (x, y). Beyond the picture there is nothing. */
static void scatter(const Job *job, const Plane *plane, gsize x, gsize y, j_compress_ptr to,
                    jvirt_barray_ptr array, const jpeg_component_info *c) {
    const JpegSteps *s = &job->steps;
    gsize width = s->swap ? plane->height : plane->width, height = s->swap ? plane->width : plane->height;
    /* libjpeg wants all rows of the last unit to be there. */
    JDIMENSION v = (JDIMENSION)c->v_samp_factor, rows = (c->height_in_blocks + v - 1) / v * v;
    for (JDIMENSION row = 0; row < rows; row++) {
        JBLOCKROW blocks = to->mem->access_virt_barray((j_common_ptr)to, array, row, 1, TRUE)[0];
        for (JDIMENSION column = 0; column < c->width_in_blocks; column++) {
            gsize at = MIN(x + column, width - 1), line = MIN(y + row, height - 1);
            gsize from_x = s->swap ? line : at, from_y = s->swap ? at : line;
            from_x = s->mirror_x ? plane->width - 1 - from_x : from_x;
            from_y = s->mirror_y ? plane->height - 1 - from_y : from_y;
            const JCOEF *block = plane->blocks[from_y * plane->width + from_x];
            if (x + column < width && y + row < height) {
                jpeg_steps_turn(block, blocks[column], s);
            } else { /* the mean of a neighbour, which costs the fewest bits */
                memset(blocks[column], 0, sizeof(JBLOCK));
                blocks[column][0] = block[0];
            }
        }
    }
}

static void write_tables(Job *job, j_compress_ptr to, guint8 **data, unsigned long *size) {
    jpeg_mem_dest(to, data, size);
    copy_coding(job, to);
    for (int i = 0; i < NUM_HUFF_TBLS && !job->standard; i++) {
        if (to->dc_huff_tbl_ptrs[i])
            to->dc_huff_tbl_ptrs[i]->sent_table = TRUE;
        if (to->ac_huff_tbl_ptrs[i])
            to->ac_huff_tbl_ptrs[i]->sent_table = TRUE;
    }
    jpeg_write_tables(to);
}

static void write_block(Job *job, gsize block, j_compress_ptr to, guint8 **data, unsigned long *size) {
    const TiffPicture *p = job->to;
    TtRect rect = tiff_block_rect(p, block);
    gsize unit_width = job->steps.swap ? job->unit_height : job->unit_width,
          unit_height = job->steps.swap ? job->unit_width : job->unit_height;
    jpeg_mem_dest(to, data, size);
    copy_coding(job, to);
    to->image_width = (JDIMENSION)p->block_width;
    to->image_height = (JDIMENSION)block_height(p, block);
    jvirt_barray_ptr *arrays = jpeg_blocks_request(to);
    jpeg_write_coefficients(to, arrays);
    if (job->tables->size)
        jpeg_suppress_tables(to, TRUE);
    for (int i = 0; i < job->n_planes; i++) {
        const Plane *plane = &job->planes[i];
        gsize across = job->steps.swap ? plane->down : plane->across,
              down = job->steps.swap ? plane->across : plane->down;
        scatter(job, plane, rect.x / unit_width * across, rect.y / unit_height * down, to, arrays[i],
                &to->comp_info[i]);
    }
    jpeg_finish_compress(to);
}

/* A block, or if there is none the tables, as JPEG in memory that the caller frees with free(). */
static guint8 *compress(Job *job, const gsize *block, gsize *size, GError **error) {
    struct jpeg_compress_struct to = {.mem = NULL};
    JpegErrors errors;
    guint8 *data = NULL, **place = &data;
    unsigned long length = 0, *length_place = &length;
    to.err = jpeg_errors_init(&errors);
    if (setjmp(errors.jump)) {
        jpeg_destroy_compress(&to);
        free(*place);
        jpeg_errors_fault(&errors, error);
        return NULL;
    }
    jpeg_create_compress(&to);
    if (block)
        write_block(job, *block, &to, place, length_place);
    else
        write_tables(job, &to, place, length_place);
    jpeg_destroy_compress(&to);
    *size = *length_place;
    return *place;
}

static void write_item(gsize i, gpointer data) {
    Job *job = data;
    GError *error = NULL;
    gsize size, block = job->first_block + i;
    job->encoded[i] = g_byte_array_new();
    if (!goes_on(job))
        return;
    guint8 *bytes = compress(job, &block, &size, &error);
    if (bytes)
        g_byte_array_append(job->encoded[i], bytes, (guint)size);
    else
        first_error_set(&job->failure, error);
    free(bytes);
}

static gboolean write_blocks(Job *job, TiffSink *sink, GError **error) {
    gboolean good = TRUE;
    for (gsize first = 0; good && first < job->to->blocks; first += AT_ONCE) {
        gsize n = MIN(job->to->blocks - first, AT_ONCE);
        job->first_block = first;
        each(job->turner->cores, n, write_item, job);
        good = goes_on(job);
        for (gsize i = 0; i < n; i++) {
            good = good && tiff_sink_append(sink, job->encoded[i]->data, job->encoded[i]->len,
                                            &job->to->starts[first + i], error);
            job->to->lengths[first + i] = job->encoded[i]->len;
            g_byte_array_unref(job->encoded[i]);
        }
    }
    return good;
}

static gboolean allocate_planes(Job *job, GError **error) {
    for (int i = 0; i < job->n_planes; i++) {
        Plane *plane = &job->planes[i];
        if (!(plane->blocks = g_try_malloc0_n(plane->height, plane->width * sizeof(JBLOCK))))
            return fault(error, STATUS_FAILED, "needs more memory than the system has: use --jpeg tag");
    }
    return TRUE;
}

static gboolean run(Job *job, TiffSink *sink, TiffTables *turned, GError **error) {
    each(job->turner->cores, job->from->blocks, read_item, job);
    if (!goes_on(job))
        return FALSE;
    if (job->tables->size && !(turned->data = compress(job, NULL, &turned->size, error)))
        return FALSE;
    return write_blocks(job, sink, error);
}

gboolean tiff_jpeg_turn(const TiffTurner *turner, const TiffPicture *from, const TiffTables *tables,
                        TiffPicture *to, TtOrientation turn, TiffSink *sink, TiffTables *turned,
                        GError **error) {
    Job job = {.turner = turner, .from = from, .to = to, .tables = tables, .turn = turn};
    gboolean good = start_job(&job, turner->file, error) && allocate_planes(&job, error) &&
                    run(&job, sink, turned, error);
    first_error_end(&job.failure, error);
    close_job(&job);
    return good;
}

gboolean tiff_jpeg_check(const TiffTurner *turner, const TiffPicture *picture, const TiffTables *tables,
                         GError **error) {
    Job job = {.turner = turner, .from = picture, .tables = tables, .turn = TT_NONE};
    gboolean good = start_job(&job, turner->file, error);
    if (good)
        each(turner->cores, picture->blocks, read_item, &job);
    good = good && goes_on(&job);
    first_error_end(&job.failure, error);
    close_job(&job);
    return good;
}
