/* SPDX-License-Identifier: MIT
 *
 * JPEG, turned without its pixels where that is possible, and by its pixels where the user asks for it.
 *
 * A file is either read as coefficients, by jpeg_format's turn, or as rows of pixels in the colours that it
 * is compressed in, so that no conversion of colours adds to the loss of compressing them again.
 */
#include <errno.h>
#include <string.h>

#include "../heap.h"
#include "../input_file.h"
#include "../say.h"
#include "jpeg_blocks.h"
#include "jpeg_errors.h"
#include "jpeg_tag.h"
#include "jpeg_turn.h"
#include "orientation_tag.h"

typedef struct {
    Reader reader;
    FILE *file;
    JpegWay way;
    gboolean strip, in_place;
    gsize memory; /* allowed */
    struct jpeg_decompress_struct from;
    JpegErrors errors;
    struct jpeg_progress_mgr progress;
    jvirt_barray_ptr *coefficients; /* NULL until they are read */
    gboolean started;               /* rows are read */
    gboolean has_exif, has_index, has_tag;
    SegmentsTurn how;
    GString *loss;
} JpegReader;

typedef struct {
    Writer writer;
    JpegReader *source;
    FILE *file;
    struct jpeg_compress_struct to;
    JpegErrors errors;
} JpegWriter;

static const char *describe_library(void) {
    return "JPEG (libjpeg-turbo " G_STRINGIFY(LIBJPEG_TURBO_VERSION) ")";
}

static gboolean is_jpeg(const guint8 *head, gsize size) {
    return size >= 3 && !memcmp(head, "\xff\xd8\xff", 3);
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gboolean is_cancelled(const JpegReader *r) {
    return r->reader.cancel && *r->reader.cancel;
}

/* Called by libjpeg with each row of blocks that it reads or writes. */
static void look_for_cancel(j_common_ptr library) {
    if (is_cancelled(library->client_data))
        ERREXIT(library, JERR_CANT_SUSPEND);
}

static gboolean library_stopped(JpegReader *r, GError **error) {
    if (is_cancelled(r))
        return fault(error, STATUS_SIGNAL, "interrupted");
    if (ferror(r->file))
        return system_fault(error, "read it", errno);
    return jpeg_errors_fault(&r->errors, error);
}

static gboolean read_header(JpegReader *r, GError **error) {
    struct jpeg_decompress_struct *from = &r->from;
    if (setjmp(r->errors.jump))
        return library_stopped(r, error);
    jpeg_create_decompress(from);
    from->client_data = r;
    from->progress = &r->progress;
    r->progress.progress_monitor = look_for_cancel;
    jpeg_stdio_src(from, r->file);
    jpeg_segments_save(from);
    jpeg_read_header(from, TRUE);
    jpeg_mark_unscanned(from);
    if (from->data_precision != 8)
        return fault(error, STATUS_FAILED, "has %d bits a sample, and 8 are read: convert it first",
                     from->data_precision);
    from->out_color_space = from->jpeg_color_space;
    return TRUE;
}

static void describe(JpegReader *r) {
    const struct jpeg_decompress_struct *from = &r->from;
    guint channels = (guint)from->num_components;
    int tag = jpeg_segments_orientation(&r->from);
    r->reader.shape = tt_image(NULL, (ptrdiff_t)from->image_width * (ptrdiff_t)channels, from->image_width,
                               from->image_height, channels, 8);
    r->reader.tag = tag ? (TtOrientation)tag : TT_NONE;
    for (jpeg_saved_marker_ptr m = from->marker_list; m; m = m->next) {
        gboolean exif = jpeg_is_exif(m->marker, m->data, m->data_length);
        r->has_exif |= exif;
        r->has_tag |= exif && exif_orientation(m->data, m->data_length, FALSE);
        r->has_index |= jpeg_is_index(m->marker, m->data, m->data_length);
    }
}

static void close_jpeg(Reader *reader) {
    JpegReader *r = (JpegReader *)reader;
    jpeg_destroy_decompress(&r->from);
    g_string_free(r->loss, TRUE);
    g_free(r);
}

static Reader *open_jpeg(const Format *self, FILE *file, const char *path, const Options *options,
                         GError **error) {
    heap_keep();
    JpegReader *r = g_new0(JpegReader, 1);
    r->reader = (Reader){.format = self, .path = path, .pages = 1, .by_tag = options->jpeg == JPEG_TAG};
    r->file = file;
    r->way = options->jpeg;
    r->strip = options->strip;
    r->memory = options_memory(options);
    r->in_place = options->in_place;
    r->loss = g_string_new(NULL);
    r->from.err = jpeg_errors_init(&r->errors);
    if (!read_header(r, error)) {
        close_jpeg(&r->reader);
        return NULL;
    }
    describe(r);
    return &r->reader;
}

/* What no decoder minds, but a copy would not have. */
static gboolean check_passed_over(JpegReader *r, GError **error) {
    if (!r->errors.passed_over)
        return TRUE;
    if (r->in_place)
        return fault(error, STATUS_FAILED,
                     "has bytes that are no part of its picture, so it is not turned in place: use -o or -d");
    say_warning(r->reader.path,
                "has bytes that are no part of its picture, which may be damaged: look at it");
    return TRUE;
}

static gboolean read_rows(Reader *reader, const TtImage *rows, GError **error) {
    JpegReader *r = (JpegReader *)reader;
    if (setjmp(r->errors.jump))
        return library_stopped(r, error);
    if (!r->started)
        jpeg_start_decompress(&r->from);
    r->started = TRUE;
    for (gsize y = 0; y < rows->height; y++) {
        JSAMPROW row = (JSAMPROW)rows->data + (ptrdiff_t)y * rows->pitch;
        jpeg_read_scanlines(&r->from, &row, 1);
    }
    return TRUE;
}

static gboolean read_end(Reader *reader, GError **error) {
    JpegReader *r = (JpegReader *)reader;
    if (setjmp(r->errors.jump))
        return library_stopped(r, error);
    jpeg_finish_decompress(&r->from);
    return check_passed_over(r, error);
}

static gboolean read_coefficients(JpegReader *r, GError **error) {
    if (setjmp(r->errors.jump))
        return library_stopped(r, error);
    r->coefficients = jpeg_read_coefficients(&r->from);
    for (int i = 0; i < r->from.num_components; i++)
        if (!r->from.comp_info[i].quant_table)
            return fault(error, STATUS_FAILED, "lacks the scan of a colour: restore it from a copy");
    return TRUE;
}

/* ---- Choosing the way --------------------------------------------------------------------------------- */

static void add_loss(JpegReader *r, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_loss(JpegReader *r, const char *format, ...) {
    va_list arguments;
    g_string_append(r->loss, r->loss->len ? ", and whose " : "whose ");
    va_start(arguments, format);
    g_string_append_vprintf(r->loss, format, arguments);
    va_end(arguments);
    r->reader.loss = r->loss->str;
}

/* "5 columns", "3 rows" or "5 columns and 3 rows". */
static char *remainder_text(guint columns, guint rows) {
    GString *text = g_string_new(NULL);
    if (columns)
        g_string_append_printf(text, "%u column%s", columns, columns == 1 ? "" : "s");
    if (rows)
        g_string_append_printf(text, "%s%u row%s", columns ? " and " : "", rows, rows == 1 ? "" : "s");
    return g_string_free(text, FALSE);
}

static gboolean refuse_imperfect(const char *remainder, GError **error) {
    return fault(
        error, STATUS_FAILED,
        "cannot be turned so without loss, as its last %s do not fill a block: --jpeg trim cuts them "
        "off, --jpeg reencode compresses it again, --jpeg tag keeps its pixels and turns its tag",
        remainder);
}

static gboolean trim(JpegReader *r, guint columns, guint rows, const char *remainder, GError **error) {
    if (columns == r->how.width || rows == r->how.height)
        return fault(error, STATUS_FAILED, "is too small to be trimmed: use --jpeg reencode or tag");
    r->how.kept_width -= columns;
    r->how.kept_height -= rows;
    r->reader.first_differs = TRUE;
    add_loss(r, "last %s are cut off", remainder);
    return TRUE;
}

/* A remainder is in the way of a perfect turn. */
static gboolean choose_other_way(JpegReader *r, guint columns, guint rows, GError **error) {
    gboolean good = TRUE;
    char *remainder = remainder_text(columns, rows);
    if (r->way == JPEG_TRIM) {
        good = trim(r, columns, rows, remainder, error);
    } else if (r->way == JPEG_REENCODE) {
        r->reader.by_itself = FALSE;
        add_loss(r, "pixels are compressed again");
    } else {
        good = refuse_imperfect(remainder, error);
    }
    g_free(remainder);
    return good;
}

/* Coefficients have no other place to wait in. */
static gboolean check_memory(const JpegReader *r, GError **error) {
    return r->reader.own_memory <= r->memory ||
           fault(error, STATUS_FAILED, "takes %.1f MB of memory, more than is allowed: raise --memory-limit",
                 (double)r->reader.own_memory / 1e6);
}

static gboolean decide(Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    JpegReader *r = (JpegReader *)reader;
    guint columns, rows, width = r->from.image_width, height = r->from.image_height;
    gsize bytes = jpeg_blocks_bytes(&r->from);
    reader->by_itself = TRUE;
    if (reader->by_tag) {
        reader->own_memory = bytes;
        r->how = (SegmentsTurn){.turn = TT_NONE, .tag = tt_compose(reader->tag, turn), .state_tag = TRUE};
        if (!check_memory(r, error))
            return FALSE;
        return (r->has_tag && !r->strip) || !r->has_index ||
               fault(
                   error, STATUS_FAILED,
                   "has further pictures, whose index (MPF) counts bytes, and no orientation tag to change: "
                   "use another --jpeg, and no --strip with this one");
    }
    r->how = (SegmentsTurn){.turn = turn,
                            .tag = TT_NONE,
                            .state_tag = tag_used || reader->tag == TT_NONE,
                            .strip = r->strip,
                            .width = width,
                            .height = height,
                            .kept_width = width,
                            .kept_height = height,
                            .path = reader->path};
    if (r->has_index)
        add_loss(r, "further pictures (MPF) are left out");
    jpeg_blocks_remainder(&r->from, turn, &columns, &rows);
    if ((columns || rows) && !choose_other_way(r, columns, rows, error))
        return FALSE;
    reader->own_memory = reader->by_itself ? 2 * bytes : r->from.progressive_mode ? bytes : 0;
    return check_memory(r, error);
}

/* ---- Turning by itself -------------------------------------------------------------------------------- */

/* What follows the picture in the file. Programs that put data there look for them from the end. */
static gboolean copy_trailer(JpegReader *r, FILE *to, GError **error) {
    guint8 buffer[65536];
    gsize n;
    if (r->strip || r->has_index)
        return TRUE;
    if (r->from.src->bytes_in_buffer)
        fwrite(r->from.src->next_input_byte, 1, r->from.src->bytes_in_buffer, to);
    while ((n = fread(buffer, 1, sizeof(buffer), r->file)))
        fwrite(buffer, 1, n, to);
    return (!ferror(r->file) || system_fault(error, "read it", errno)) &&
           (!ferror(to) || system_fault(error, "write the output", errno));
}

static gboolean turn_coefficients(JpegReader *r, FILE *file, GError **error) {
    struct jpeg_compress_struct to = {.mem = NULL};
    to.err = r->from.err;
    if (setjmp(r->errors.jump)) {
        jpeg_destroy_compress(&to);
        return library_stopped(r, error);
    }
    jpeg_create_compress(&to);
    to.client_data = r;
    to.progress = &r->progress;
    jpeg_stdio_dest(&to, file);
    jpeg_turn(&r->from, r->coefficients, &to, &r->how);
    jpeg_destroy_compress(&to);
    return copy_trailer(r, file, error);
}

static gboolean turn_tag(JpegReader *r, FILE *file, GError **error) {
    JpegTag how = {.tag = r->how.tag,
                   .has_exif = r->has_exif,
                   .strip = r->strip,
                   .end = ftello(r->file) - (goffset)r->from.src->bytes_in_buffer};
    return jpeg_tag_write(r->file, file, &how, error);
}

static gboolean turn_itself(Reader *reader, FILE *file, const atomic_int *cancel, GError **error) {
    JpegReader *r = (JpegReader *)reader;
    (void)cancel; /* which the reader has */
    return read_coefficients(r, error) && check_passed_over(r, error) &&
           (reader->by_tag ? turn_tag(r, file, error) : turn_coefficients(r, file, error));
}

static gboolean same(JpegReader *r, JpegReader *copy, GError **error) {
    TtOrientation tag = r->how.state_tag ? r->how.tag : r->reader.tag;
    if (copy->reader.tag != tag)
        return fault(
            error, STATUS_FAILED,
            "its turned copy has another orientation tag, so it was not kept: check disk and memory");
    if (setjmp(r->errors.jump))
        return library_stopped(r, error);
    if (setjmp(copy->errors.jump))
        return library_stopped(copy, error);
    return jpeg_blocks_equal(&r->from, r->coefficients, r->how.turn, &copy->from, copy->coefficients) ||
           copy_fault(error);
}

static gboolean verify_itself(Reader *reader, FILE *output, GError **error) {
    JpegReader *r = (JpegReader *)reader;
    const Options options = {.jpeg = JPEG_LOSSLESS};
    JpegReader *copy = (JpegReader *)open_jpeg(reader->format, output, reader->path, &options, error);
    if (!copy || !read_coefficients(copy, error)) {
        g_prefix_error(error, "its turned copy cannot be read back: ");
        if (copy)
            close_jpeg(&copy->reader);
        return FALSE;
    }
    gboolean good = same(r, copy, error);
    close_jpeg(&copy->reader);
    return good;
}

/* ---- Writing pixels ----------------------------------------------------------------------------------- */

static gboolean writer_stopped(JpegWriter *w, GError **error) {
    if (is_cancelled(w->source))
        return fault(error, STATUS_SIGNAL, "interrupted");
    return jpeg_errors_fault(&w->errors, error);
}

static void dispose(Writer *writer) {
    JpegWriter *w = (JpegWriter *)writer;
    jpeg_destroy_compress(&w->to);
    g_free(w);
}

static gboolean start(JpegWriter *w, GError **error) {
    JpegReader *r = w->source;
    if (setjmp(r->errors.jump)) /* of the source, which hands over its tables */
        return library_stopped(r, error);
    if (setjmp(w->errors.jump))
        return writer_stopped(w, error);
    jpeg_create_compress(&w->to);
    w->to.client_data = r;
    w->to.progress = &r->progress;
    jpeg_stdio_dest(&w->to, w->file);
    jpeg_copy_coding(&r->from, &w->to);
    jpeg_blocks_turn_header(&r->from, &w->to, r->how.turn);
    w->to.image_width = tt_swaps_axes(r->how.turn) ? r->how.height : r->how.width;
    w->to.image_height = tt_swaps_axes(r->how.turn) ? r->how.width : r->how.height;
    jpeg_start_compress(&w->to, TRUE);
    jpeg_segments_write(&r->from, &w->to, &r->how);
    return TRUE;
}

static Writer *create(FILE *file, Reader *source, TtOrientation turn, gboolean tag_used, GError **error) {
    JpegWriter *w = g_new0(JpegWriter, 1);
    (void)turn; /* as decided */
    (void)tag_used;
    w->writer = (Writer){.format = source->format, .passes = 1};
    w->source = (JpegReader *)source;
    w->file = file;
    w->to.err = jpeg_errors_init(&w->errors);
    if (start(w, error))
        return &w->writer;
    dispose(&w->writer);
    return NULL;
}

static gboolean write_rows(Writer *writer, const TtImage *rows, GError **error) {
    JpegWriter *w = (JpegWriter *)writer;
    if (setjmp(w->errors.jump))
        return writer_stopped(w, error);
    for (gsize y = 0; y < rows->height; y++) {
        JSAMPROW row = (JSAMPROW)rows->data + (ptrdiff_t)y * rows->pitch;
        jpeg_write_scanlines(&w->to, &row, 1);
    }
    return TRUE;
}

static gboolean finish(Writer *writer, GError **error) {
    JpegWriter *w = (JpegWriter *)writer;
    if (setjmp(w->errors.jump))
        return writer_stopped(w, error);
    jpeg_finish_compress(&w->to);
    return copy_trailer(w->source, w->file, error);
}

const Format jpeg_format = {.name = "JPEG",
                            .extensions = {"jpg", "jpeg", "jpe", "jfif"},
                            .description = describe_library,
                            .probe = is_jpeg,
                            .open = open_jpeg,
                            .read_rows = read_rows,
                            .read_end = read_end,
                            .close = close_jpeg,
                            .create = create,
                            .write_rows = write_rows,
                            .finish = finish,
                            .dispose = dispose,
                            .decide = decide,
                            .turn = turn_itself,
                            .verify = verify_itself};
