/* SPDX-License-Identifier: MIT
 *
 * The codec of all formats that the command has from libvips.
 *
 * libvips pulls and the command pushes: a saver runs in a thread of its own and waits for each row that it
 * asks for until foreign_write_rows() brings it. Rows are handed over in the command's own memory, so that no
 * second picture is held.
 */
#include "vips_formats.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../say.h"
#include "orientation_tag.h"
#include "tiff_blocks.h"
#include "vips_bare.h"
#include "vips_library.h"
#include "vips_saving.h"
#include "vips_turned.h"

typedef struct {
    Reader reader;
    const ForeignFormat *format;
    FILE *file;
    VipsImage *image; /* page under page */
    VipsAccess access;
    BareBlocks bare; /* where the pixels lie, if they lie there as they are */
    gsize pixel_bytes, next_row;
    gboolean strip;
    VipsFailOn fail_on;
    Saving saving;
} ForeignReader;

typedef struct {
    Writer writer;
    const ForeignFormat *format;
    char *options;
    FILE *file;
    VipsImage *image;     /* as the saver sees it: its rows come from foreign_write_rows() */
    const WebpRest *webp; /* what is put into what was saved; NULL of other formats */
    GByteArray *saved;    /* if it is so */
    gsize row_bytes;
    GThread *thread;

    GMutex lock; /* of what follows */
    GCond changed;
    const TtImage *band; /* handed over and not used up; NULL if none */
    gsize band_row, next_row;
    gboolean stopping; /* no more rows will come */
    int system_error;  /* of the first write that failed; 0 if none has */
    gboolean ended;    /* the saver has, with or without a fault */
    GError *fault;     /* NULL if it has saved all */
} ForeignWriter;

/* Held while a file is open: libvips' messages do not tell which thread they are for, and it uses all cores
 * for one file anyway. Recursive, since a copy is compared with an original that is still open. */
static GRecMutex one_file;

const char *foreign_description(void) {
    static GString *text;
    if (text)
        return text->str;
    GError *error = NULL;
    if (!vips_library_open(0, &error)) {
        text = g_string_new("libvips (not on this machine)");
        g_error_free(error);
        return text->str;
    }
    text = g_string_new(NULL);
    g_string_printf(text, "libvips %s (", vips.version_string());
    const char *separator = "";
    const ForeignFormat *format;
    for (gsize i = 0; (format = (const ForeignFormat *)foreign_format_at(i)); i++)
        if (format->load && vips.type_find("VipsOperation", format->load) &&
            vips.type_find("VipsOperation", format->save)) {
            g_string_append_printf(text, "%s%s", separator, format->format.name);
            separator = ", ";
        }
    g_string_append_c(text, ')');
    return text->str;
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

static gboolean unreadable(GError **error) {
    char *message = vips_library_message();
    fault(error, STATUS_FAILED, "cannot be read (%s): restore it from a copy", message);
    g_free(message);
    return FALSE;
}

static gboolean takes(VipsOperation *operation, const char *property) {
    return vips.object_class_find_property(G_OBJECT_GET_CLASS(operation), property) != NULL;
}

/* A name of an open file, for the few operations that know files by their names only. */
static char *name_of(int descriptor) {
    return g_strdup_printf("/proc/self/fd/%d", descriptor);
}

static gboolean set_source(VipsOperation *operation, int descriptor) {
    if (!takes(operation, "source")) {
        char *name = name_of(descriptor);
        vips.object_set(operation, "filename", name, NULL);
        g_free(name);
        return TRUE;
    }
    VipsSource *source = lseek(descriptor, 0, SEEK_SET) ? NULL : vips.source_new_from_descriptor(descriptor);
    if (!source)
        return FALSE;
    vips.object_set(operation, "source", source, NULL);
    vips.object_unref(source);
    return TRUE;
}

/* The image, of which no pixel is decoded yet: the first page, or all. *pages: how many there are. */
static VipsImage *load(const ForeignReader *r, gboolean all, int *pages, GError **error) {
    const ForeignFormat *format = r->format;
    VipsImage *image = NULL;
    VipsOperation *operation = vips.operation_new(format->load);
    if (!operation || !vips.type_find("VipsOperation", format->save)) {
        g_free(vips_library_message());
        fault(error, STATUS_FAILED,
              "is %s, which the libvips of this machine does not %s: install its module", format->format.name,
              operation ? "write" : "read");
        goto out;
    }
    vips.object_set(operation, "access", r->access, "fail_on", r->fail_on, NULL);
    if (all)
        vips.object_set(operation, "page", 0, "n", -1, NULL);
    if (!set_source(operation, fileno(r->file)) || vips.object_build((VipsObject *)operation)) {
        unreadable(error);
    } else {
        vips.object_get(operation, "out", &image, NULL);
        *pages = takes(operation, "n") ? vips.image_get_n_pages(image) : 1;
    }
    vips.object_unref_outputs((VipsObject *)operation);

out:
    if (operation)
        vips.object_unref(operation);
    return image;
}

/* What libvips says where it could read the pages, but not one below the other. */
static gboolean pages_differ(const GError *error) {
    return strstr(error->message, " differs from page ") ||
           strstr(error->message, "not all pages are the same size");
}

static gboolean load_pages(ForeignReader *r, GError **error) {
    int pages = 1;
    if (!(r->image = load(r, FALSE, &pages, error)))
        return FALSE;
    if (pages > 1) {
        vips.object_unref(r->image);
        if (!(r->image = load(r, TRUE, &pages, error))) {
            if (!pages_differ(*error))
                return FALSE;
            g_clear_error(error);
            return fault(error, STATUS_FAILED,
                         "has %d pages, which are not all of one size and type: split it first", pages);
        }
    }
    gsize height = (gsize)vips.image_get_page_height(r->image);
    r->reader.pages = (gsize)r->image->Ysize / height;
    return pages == 1 || r->reader.pages == (gsize)pages ||
           fault(error, STATUS_FAILED,
                 "has %d pages, of which libvips reads %" G_GSIZE_FORMAT ": split it first", pages,
                 r->reader.pages);
}

static gboolean is_native(const ForeignFormat *format) {
    return !strcmp(format->load, "vipsload");
}

/* What libvips has read of the tag, or a pipeline has set. */
static int tag_of_field(VipsImage *image) {
    int tag = 0;
    if (vips.image_get_typeof(image, VIPS_META_ORIENTATION))
        vips.image_get_int(image, VIPS_META_ORIENTATION, &tag);
    return tag;
}

static int tag_of_block(VipsImage *image, const char *name, int (*read)(guint8 *, gsize, gboolean)) {
    const void *block;
    size_t size;
    return vips.image_get_typeof(image, name) && !vips.image_get_blob(image, name, &block, &size)
               ? read((guint8 *)block, size, FALSE)
               : 0;
}

/* The orientation tag: EXIF's, or else the format's own, or else XMP's. In libvips' own format its field is
 * what counts. Decoders of the HEIF family and of JPEG XL have applied theirs, and by their standards any
 * other means nothing. */
static TtOrientation tag_of(const ForeignReader *r) {
    if (g_str_has_prefix(r->format->load, "heif") || g_str_has_prefix(r->format->load, "jxl"))
        return TT_NONE;
    int tag = is_native(r->format) ? tag_of_field(r->image) : 0;
    if (!tag)
        tag = tag_of_block(r->image, VIPS_META_EXIF_NAME, exif_orientation);
    if (!tag)
        tag = tag_of_field(r->image);
    if (!tag)
        tag = tag_of_block(r->image, VIPS_META_XMP_NAME, xmp_orientation);
    return tag >= 1 && tag <= 8 ? (TtOrientation)tag : TT_NONE;
}

static void describe(ForeignReader *r) {
    Reader *reader = &r->reader;
    const VipsImage *image = r->image;
    gsize sample = vips.format_sizeof(image->BandFmt);
    r->pixel_bytes = sample * (gsize)image->Bands;
    reader->shape = tt_image(NULL, (ptrdiff_t)(r->pixel_bytes * (gsize)image->Xsize), (gsize)image->Xsize,
                             (gsize)image->Ysize / reader->pages, (guint32)image->Bands, (guint32)sample * 8);
    reader->tag = tag_of(r);
    reader->tile_width = r->saving.tile_width;
    reader->tile_height = r->saving.tile_height;
    reader->own_memory = (gsize)MIN(2 * r->saving.held, G_MAXSIZE / 4);
    reader->loss = r->saving.loss->len ? r->saving.loss->str : NULL;
    reader->may_change = r->saving.may_change;
}

/* Pixels that lie in the file as they are need no decoding. */
static void find_bare_pixels(ForeignReader *r) {
    if (r->reader.pages > 1)
        return;
    if (g_str_has_prefix(r->format->load, "tiff"))
        tiff_blocks_find(r->file, &r->reader.shape, &r->bare);
    else if (is_native(r->format))
        native_pixels_find(r->file, r->image, &r->bare);
}

/* Tiles that must be decoded can be had in any order. */
static gboolean open_tiles(ForeignReader *r, GError **error) {
    int pages = 1;
    if (!r->saving.tile_width || r->bare.starts || r->reader.pages > 1)
        return TRUE;
    r->access = VIPS_ACCESS_RANDOM;
    vips.object_unref(r->image);
    return (r->image = load(r, FALSE, &pages, error)) != NULL;
}

/* libvips reads on from where it left the file, which the look at the header moves. */
static gboolean decide_saving(ForeignReader *r, GError **error) {
    int descriptor = fileno(r->file);
    off_t position = lseek(descriptor, 0, SEEK_CUR);
    return saving_decide(&r->saving, r->format, r->file, r->image, r->strip, error) &&
           (lseek(descriptor, position, SEEK_SET) == position || system_fault(error, "read it", errno));
}

/* It has no other place to wait in: a file of a few bytes may claim any size. */
static gboolean check_memory(const ForeignReader *r, const Options *options, GError **error) {
    return r->saving.held <= options_memory(options) ||
           fault(error, STATUS_FAILED,
                 "takes %.1f MB of memory to be decoded, more than is allowed: raise --memory-limit",
                 (double)r->saving.held / 1e6);
}

Reader *foreign_open(const Format *self, FILE *file, const char *path, const Options *options,
                     GError **error) {
    if (!vips_library_open((int)cores_count(options->cores), error))
        return NULL;
    g_rec_mutex_lock(&one_file);
    ForeignReader *r = g_new0(ForeignReader, 1);
    r->reader = (Reader){.format = self, .path = path};
    r->format = (const ForeignFormat *)self;
    r->file = file;
    r->strip = options->strip;
    /* libjpeg only warns of pixels that it makes up for missing ones. */
    r->fail_on = strcmp(self->name, "JPEG") ? VIPS_FAIL_ON_ERROR : VIPS_FAIL_ON_WARNING;
    r->access = VIPS_ACCESS_SEQUENTIAL;
    vips_library_lost_metadata(); /* that of other files is of no interest */
    if (!load_pages(r, error) || !decide_saving(r, error) || !check_memory(r, options, error))
        goto failed;
    describe(r);
    off_t position = lseek(fileno(r->file), 0, SEEK_CUR);
    find_bare_pixels(r);
    lseek(fileno(r->file), position, SEEK_SET);
    if (!open_tiles(r, error))
        goto failed;
    if (r->bare.starts && r->bare.width == r->reader.shape.width &&
        r->bare.height >= r->reader.shape.height * r->reader.pages) {
        r->reader.file_start = (off_t)r->bare.starts[0];
        r->reader.file_pitch = r->bare.rows.row_bytes;
    }
    r->reader.anywhere = r->bare.starts || !vips.image_is_sequential(r->image);
    r->reader.decodes_tiles = r->access == VIPS_ACCESS_RANDOM;
    return &r->reader;

failed:
    foreign_close(&r->reader);
    return NULL;
}

/* Whether a failure was libjpeg's warning of bytes that it passed over, which as a rule do no harm. */
static gboolean only_passed_over(ForeignReader *r, const char *message) {
    return r->fail_on == VIPS_FAIL_ON_WARNING && strstr(message, "extraneous bytes before marker");
}

/* Loads once more, without minding warnings, and reads to where the first reading stopped. */
static gboolean read_on_leniently(ForeignReader *r, VipsRegion **region, const VipsRect *wanted,
                                  GError **error) {
    int pages;
    enum { ROWS = 16 };
    say_warning(r->reader.path,
                "has bytes that are no part of its picture, which may be damaged: look at it");
    r->fail_on = VIPS_FAIL_ON_ERROR;
    vips.object_unref(*region);
    vips.object_unref(r->image);
    *region = NULL;
    if (!(r->image = load(r, FALSE, &pages, error)))
        return FALSE;
    *region = vips.region_new(r->image);
    VipsRect rows = {0, 0, r->image->Xsize, ROWS};
    for (; rows.top + ROWS <= wanted->top; rows.top += ROWS)
        if (vips.region_prepare(*region, &rows))
            return unreadable(error);
    return !vips.region_prepare(*region, wanted) || unreadable(error);
}

static gboolean prepare(ForeignReader *r, VipsRegion **region, const VipsRect *wanted, GError **error) {
    if (!vips.region_prepare(*region, wanted))
        return TRUE;
    char *message = vips_library_message();
    gboolean good = only_passed_over(r, message)
                        ? read_on_leniently(r, region, wanted, error)
                        : fault(error, STATUS_FAILED, "cannot be read (%s): restore it from a copy", message);
    g_free(message);
    return good;
}

/* Decodes a row of tiles at a time: libvips would keep as much as it is asked for at once. */
static gboolean decode_rect(ForeignReader *r, VipsRegion **region, TtRect rect, const TtImage *into,
                            GError **error) {
    gsize step = r->access == VIPS_ACCESS_RANDOM ? r->saving.tile_height : rect.height;
    for (gsize y = rect.y, end; y < rect.y + rect.height; y = end) {
        end = MIN((y / step + 1) * step, rect.y + rect.height);
        if (step == rect.height)
            end = rect.y + rect.height;
        VipsRect wanted = {(int)rect.x, (int)y, (int)rect.width, (int)(end - y)};
        if (!prepare(r, region, &wanted, error))
            return FALSE;
        const VipsRect *valid = &(*region)->valid;
        const guint8 *from = (*region)->data + (gsize)(wanted.top - valid->top) * (gsize)(*region)->bpl +
                             (gsize)(wanted.left - valid->left) * r->pixel_bytes;
        for (; y < end; y++, from += (*region)->bpl)
            memcpy((guint8 *)into->data + (ptrdiff_t)(y - rect.y) * into->pitch, from,
                   rect.width * r->pixel_bytes);
    }
    return TRUE;
}

/* A region belongs to the thread that made it, and reads come from several, one after another. */
gboolean foreign_read_rect(Reader *reader, TtRect rect, const TtImage *into, GError **error) {
    ForeignReader *r = (ForeignReader *)reader;
    if (r->bare.starts)
        return bare_blocks_read(&r->bare, (gsize)r->image->Xsize, rect, into, reader->spare, error);
    VipsRegion *region = vips.region_new(r->image);
    gboolean good = decode_rect(r, &region, rect, into, error);
    if (region)
        vips.object_unref(region);
    return good;
}

gboolean foreign_read_rows(Reader *reader, const TtImage *rows, GError **error) {
    ForeignReader *r = (ForeignReader *)reader;
    TtRect rect = {0, r->next_row, rows->width, rows->height};
    r->next_row += rows->height;
    return foreign_read_rect(reader, rect, rows, error);
}

void foreign_close(Reader *reader) {
    ForeignReader *r = (ForeignReader *)reader;
    if (r->image)
        vips.object_unref(r->image);
    saving_clear(&r->saving);
    bare_blocks_clear(&r->bare);
    g_free(r);
    g_rec_mutex_unlock(&one_file);
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

static gboolean lacks_rows(ForeignWriter *w) {
    g_mutex_lock(&w->lock);
    gboolean lacks = w->stopping && w->next_row < (gsize)w->image->Ysize;
    g_mutex_unlock(&w->lock);
    return lacks;
}

/* The system's error that made the saver fail; 0 if none did. It is lost where libvips has written its own
 * format, so room for the pixels is asked for once more. */
static int system_error_of(ForeignWriter *w) {
    if (w->system_error || strcmp(w->format->save, "vipssave") || lacks_rows(w))
        return w->system_error;
    return posix_fallocate(fileno(w->file), 0, (off_t)w->row_bytes * w->image->Ysize + (1 << 16));
}

static gboolean saver_fault(ForeignWriter *w, GError **error) {
    char *message = vips_library_message();
    int number = system_error_of(w);
    if (number)
        system_fault(error, "write the output", number);
    else
        fault(error, STATUS_FAILED, "cannot be written by libvips (%s): convert it to another format first",
              message);
    g_free(message);
    return FALSE;
}

/* Called by libvips, always with whole rows in order, for this stands behind vips_sequential(). */
static int bring_rows(VipsRegion *out, void *seq, void *a, void *b, gboolean *stop) {
    ForeignWriter *w = a;
    (void)seq;
    (void)b;
    (void)stop;
    g_mutex_lock(&w->lock);
    gboolean good = out->valid.left == 0 && (gsize)out->valid.top == w->next_row;
    for (int y = 0; good && y < out->valid.height; y++) {
        while (!w->band && !w->stopping)
            g_cond_wait(&w->changed, &w->lock);
        if (!w->band) {
            good = FALSE;
            break;
        }
        memcpy(out->data + (gsize)y * (gsize)out->bpl,
               (const guint8 *)w->band->data + (ptrdiff_t)w->band_row * w->band->pitch, w->row_bytes);
        w->next_row++;
        if (++w->band_row == w->band->height) {
            w->band = NULL;
            g_cond_broadcast(&w->changed);
        }
    }
    g_mutex_unlock(&w->lock);
    if (!good)
        vips.error("imgtranspose", "%s", "stopped");
    return good ? 0 : -1;
}

/* No more rows come after a write that failed. */
static void note_failed_write(ForeignWriter *w, int number) {
    g_mutex_lock(&w->lock);
    w->system_error = number;
    w->stopping = TRUE;
    g_cond_broadcast(&w->changed);
    g_mutex_unlock(&w->lock);
}

/* Called by libvips. Encoders do not expect that a write fails: JPEG 2000's tries again for ever, others go
 * on and complain of what came of it. So none does, as they see it; the first fault is noted. */
static gint64 write_bytes(VipsTargetCustom *target, const void *bytes, gint64 size, ForeignWriter *w) {
    (void)target;
    if (w->saved) {
        g_byte_array_append(w->saved, bytes, (guint)size);
        return size;
    }
    for (gint64 done = 0; done < size && !w->system_error;) {
        ssize_t n = write(fileno(w->file), (const guint8 *)bytes + done, (gsize)(size - done));
        if (n > 0)
            done += n;
        else if (!n || errno != EINTR)
            note_failed_write(w, n ? errno : EIO);
    }
    return size;
}

static gint64 read_bytes(VipsTargetCustom *target, void *bytes, gint64 size, ForeignWriter *w) {
    (void)target;
    return read(fileno(w->file), bytes, (gsize)size);
}

static gint64 seek(VipsTargetCustom *target, gint64 offset, int whence, ForeignWriter *w) {
    (void)target;
    return lseek(fileno(w->file), offset, whence);
}

/* libvips writes its own format only under a name that ends in .v: a link, in a folder of its own. */
static char *make_link(int descriptor, GError **error) {
    char *folder = g_dir_make_tmp("imgtranspose-XXXXXX", NULL);
    char *name = name_of(descriptor), *link = folder ? g_build_filename(folder, "output.v", NULL) : NULL;
    if (!link || symlink(name, link)) {
        fault(error, STATUS_FAILED,
              "cannot be written without a folder for temporary files (%s): set TMPDIR to one",
              g_strerror(errno));
        if (folder)
            rmdir(folder);
        g_clear_pointer(&link, g_free);
    }
    g_free(name);
    g_free(folder);
    return link;
}

static void remove_link(char *link) {
    char *folder = g_path_get_dirname(link);
    unlink(link);
    rmdir(folder);
    g_free(folder);
    g_free(link);
}

static void set_target(VipsOperation *operation, ForeignWriter *w) {
    VipsTargetCustom *target = vips.target_custom_new();
    vips.signal_connect_data(target, "write", G_CALLBACK(write_bytes), w, NULL, 0);
    vips.signal_connect_data(target, "read", G_CALLBACK(read_bytes), w, NULL, 0);
    vips.signal_connect_data(target, "seek", G_CALLBACK(seek), w, NULL, 0);
    vips.object_set(operation, "target", target, NULL);
    vips.object_unref(target);
}

/* *link: what to remove when all is written. */
static gboolean set_output(VipsOperation *operation, ForeignWriter *w, char **link, GError **error) {
    if (takes(operation, "target"))
        set_target(operation, w);
    if (!takes(operation, "filename"))
        return TRUE;
    if (!(*link = make_link(fileno(w->file), error)))
        return FALSE;
    vips.object_set(operation, "filename", *link, NULL);
    return TRUE;
}

/* A saver for a buffer leaves the bytes to be written. */
static void write_buffer(VipsOperation *operation, ForeignWriter *w) {
    VipsBlob *blob = NULL;
    size_t size = 0;
    vips.object_get(operation, "buffer", &blob, NULL);
    const void *bytes = vips.blob_get(blob, &size);
    write_bytes(NULL, bytes, (gint64)size, w);
    vips.area_unref((VipsArea *)blob);
}

static WebpBlock block_of(VipsImage *image, const char *name) {
    WebpBlock block = {0};
    if (vips.image_get_typeof(image, name))
        vips.image_get_blob(image, name, &block.data, &block.size);
    return block;
}

/* Metadata as they were, turned, in place of those that libvips writes. What it makes of a tag that has no
 * EXIF to be in is kept. */
static void write_webp(ForeignWriter *w) {
    const WebpBlock exif = block_of(w->image, VIPS_META_EXIF_NAME),
                    xmp = block_of(w->image, VIPS_META_XMP_NAME);
    GByteArray *saved = g_steal_pointer(&w->saved);
    GByteArray *dressed =
        webp_dressed(saved, w->webp, exif.size || tag_of_field(w->image) <= 1 ? &exif : NULL, &xmp);
    write_bytes(NULL, dressed->data, dressed->len, w);
    g_byte_array_unref(dressed);
    g_byte_array_unref(saved);
}

static gboolean run_operation(VipsOperation *operation, ForeignWriter *w, GError **error) {
    gboolean saved = !vips.object_set_from_string((VipsObject *)operation, w->options) &&
                     !vips.object_build((VipsObject *)operation);
    if (saved && takes(operation, "buffer"))
        write_buffer(operation, w);
    if (saved && w->saved)
        write_webp(w);
    vips.object_unref_outputs((VipsObject *)operation);
    return (saved && !w->system_error) || saver_fault(w, error);
}

static gboolean save(ForeignWriter *w, GError **error) {
    VipsImage *ordered = NULL;
    VipsOperation *operation = vips.operation_new(w->format->save);
    char *link = NULL;
    gboolean good = FALSE;
    if (!operation || vips.sequential(w->image, &ordered, "tile_height", 16, NULL)) {
        saver_fault(w, error);
        goto out;
    }
    vips.image_remove(ordered, VIPS_META_SEQUENTIAL);
    vips.object_set(operation, "in", ordered, NULL);
    good = set_output(operation, w, &link, error) && run_operation(operation, w, error);

out:
    if (link)
        remove_link(link);
    if (operation)
        vips.object_unref(operation);
    if (ordered)
        vips.object_unref(ordered);
    return good;
}

static gboolean save_pixel(gpointer writer, GError **error) {
    return save(writer, error);
}

static gpointer run_saver(gpointer data) {
    ForeignWriter *w = data;
    GError *fault = NULL;
    save(w, &fault);
    vips.thread_shutdown();
    g_mutex_lock(&w->lock);
    w->fault = fault;
    w->ended = TRUE;
    g_cond_broadcast(&w->changed);
    g_mutex_unlock(&w->lock);
    return NULL;
}

static int most_rows(VipsImage *image) {
    return ((GParamSpecInt *)vips.object_class_find_property(G_OBJECT_GET_CLASS(image), "height"))->maximum;
}

/* NULL if libvips does not count so far: it has pages one under another. */
static VipsImage *turned_header(const ForeignReader *source, TtOrientation turn, gboolean tag_used,
                                GError **error) {
    const Reader *reader = &source->reader;
    const HeaderTurn how = {.turn = turn,
                            .width = reader->shape.width,
                            .height = reader->shape.height,
                            .pages = reader->pages,
                            .upright = tag_used || reader->tag == TT_NONE,
                            .strip = source->strip,
                            .tag = tag_used ? TT_NONE : reader->tag};
    guint64 rows = (guint64)reader->pages * (tt_swaps_axes(turn) ? how.width : how.height);
    VipsImage *image = vips_turned(source->image, &how);
    if ((guint64)image->Ysize == rows)
        return image;
    fault(error, STATUS_FAILED,
          "would have %" G_GUINT64_FORMAT " rows in its %" G_GSIZE_FORMAT
          " pages, and libvips counts to %d: split it first",
          rows, reader->pages, most_rows(image));
    vips.object_unref(image);
    return NULL;
}

static char *options_of(const Saving *saving, const VipsImage *image) {
    return saving->one_tile ? g_strdup_printf("%s,tile-width=%d,tile-height=%d", saving->options->str,
                                              image->Xsize, image->Ysize)
                            : g_strdup(saving->options->str);
}

Writer *foreign_create(FILE *file, Reader *reader, TtOrientation turn, gboolean tag_used, GError **error) {
    const ForeignReader *source = (const ForeignReader *)reader;
    VipsImage *image = turned_header(source, turn, tag_used, error);
    if (!image)
        return NULL;
    ForeignWriter *w = g_new0(ForeignWriter, 1);
    w->writer = (Writer){.format = reader->format, .passes = 1};
    w->format = source->format;
    w->file = file;
    w->image = image;
    w->options = options_of(&source->saving, w->image);
    w->row_bytes = (gsize)w->image->Xsize * source->pixel_bytes;
    w->webp = source->saving.webp.film ? &source->saving.webp : NULL;
    w->saved = w->webp ? g_byte_array_new() : NULL;
    g_mutex_init(&w->lock);
    g_cond_init(&w->changed);
    gboolean native = is_native(source->format);
    if (native || (source->bare.starts && !source->saving.tile_width)) {
        Writer *bare = bare_create(file, w->image, !native, save_pixel, w, error);
        foreign_dispose(&w->writer);
        return bare;
    }
    vips.image_generate(w->image, NULL, bring_rows, NULL, w, NULL);
    if ((w->thread = g_thread_try_new("saver", run_saver, w, error)))
        return &w->writer;
    (*error)->code = STATUS_FAILED;
    foreign_dispose(&w->writer);
    return NULL;
}

/* It ended before all rows had come. */
static gboolean saver_ended(ForeignWriter *w, GError **error) {
    if (w->fault)
        g_propagate_error(error, g_steal_pointer(&w->fault));
    else
        fault(error, STATUS_FAILED, "cannot be written by libvips (it took a part only): try again");
    return FALSE;
}

gboolean foreign_write_rows(Writer *writer, const TtImage *rows, GError **error) {
    ForeignWriter *w = (ForeignWriter *)writer;
    g_mutex_lock(&w->lock);
    w->band = rows;
    w->band_row = 0;
    g_cond_broadcast(&w->changed);
    while (w->band && !w->ended)
        g_cond_wait(&w->changed, &w->lock);
    gboolean good = !w->band;
    w->band = NULL;
    g_mutex_unlock(&w->lock);
    return good || saver_ended(w, error);
}

/* Waits for the saver, to which no more rows will come. */
static void end_saver(ForeignWriter *w) {
    g_mutex_lock(&w->lock);
    w->stopping = TRUE;
    g_cond_broadcast(&w->changed);
    g_mutex_unlock(&w->lock);
    g_thread_join(w->thread);
    w->thread = NULL;
}

gboolean foreign_finish(Writer *writer, GError **error) {
    ForeignWriter *w = (ForeignWriter *)writer;
    end_saver(w);
    return !w->fault || saver_ended(w, error);
}

void foreign_dispose(Writer *writer) {
    ForeignWriter *w = (ForeignWriter *)writer;
    if (w->thread)
        end_saver(w);
    vips.object_unref(w->image);
    g_mutex_clear(&w->lock);
    g_cond_clear(&w->changed);
    g_free(w->options);
    g_clear_error(&w->fault);
    if (w->saved)
        g_byte_array_unref(w->saved);
    g_free(w);
}
