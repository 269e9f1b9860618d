/* SPDX-License-Identifier: MIT
 *
 * tt_transpose: turn an image, as a libvips operation.
 *
 *     vips tt_transpose in.png out.png --orientation rot90
 *
 * The optional arguments:
 *
 * orientation   none, fliph, rot180, flipv, transpose, rot90, transverse, rot270, or auto; transpose unless
 *               given. Turns are clockwise. `auto` turns as the image's orientation tag says (EXIF's, or
 *               else that of a PNG's raw profile, or else XMP's) and removes the tag from all of them. Any
 *               other turns the pixels as they are stored and leaves the tag alone, so a viewer that obeys it
 *               turns them once more.
 * backend       the code that moves the pixels: auto, cpu, or one name of the library's table. Not given, the
 *               environment's TT_BACKEND counts, or auto where that is unset.
 * device        the number of the GPU, for a backend that has one
 * memory-limit  bytes of pixels to hold in memory at most. A picture that must wait for its last row and is
 * larger goes through a temporary file in TMPDIR. 0: the environment's TT_MEMORY_LIMIT, or half of what the
 * machine allows, for all pictures of the process
 *
 * Pixels of every band format and coding move whole (a libvips band is a channel of the library). Images of
 * several pages, one above the other, are turned page by page. Horizontal and vertical resolution change
 * places with the axes, the offsets say where the old origin went, every other field stays.
 *
 * A source whose pixels can be had in any order is turned region by region, as they are asked for; the system
 * is told which columns of a file come next if it is larger than memory. A source
 * that must be read from top to bottom is read when the first pixel is asked for, into the library's frame,
 * unless the orientation needs no waiting.
 */
#include "tt_transpose.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <tiletranspose/tt.h>
#include <tiletranspose/tt_frame.h>
#include <vips/vips.h>

#include "../kernels/frame/budget.h"
#include "columns_ahead.h"
#include "image_tag.h"
#include "read_order.h"

enum { ORIENTATION_AUTO = 0, ORIENTATION_LAST = TT_ROT270 + 1 };

typedef struct {
    VipsOperation parent_instance;

    VipsImage *in;
    VipsImage *out;
    int orientation;
    char *backend;
    int device;
    guint64 memory_limit;

    TtOrientation turn; /* `orientation`, with auto looked up */
    gboolean in_order;  /* how the source must be read */
    TtOptions options;  /* of each turn of a piece, in a thread of libvips' */
    int pages, page_height, turned_page_height;
    VipsImage *source; /* `in`, or a cache of its tiles */
    void *mapping;     /* of the whole file of `in`, if it is one of plain pixels */
    size_t mapped;
    ColumnsAhead *ahead;                 /* of a mapping that is larger than memory */
    TtFrame *frame;                      /* NULL if the turn is made region by region */
    gboolean frame_filled, frame_failed; /* changed under the lock that libvips starts readers with */
} TtTranspose;

typedef VipsOperationClass TtTransposeClass;

G_DEFINE_TYPE(TtTranspose, tt_transpose, VIPS_TYPE_OPERATION)

static int fail(const char *message) {
    vips_error("tt_transpose", "%s", message);
    return -1;
}

static int check(TtStatus status) {
    return status ? fail(tt_last_error()) : 0;
}

/* A part of a region, as the library sees it: pixels of so many bytes. */
static TtImage image_of(const VipsImage *image, void *data, size_t pitch, size_t width, size_t height) {
    return tt_image(data, (ptrdiff_t)pitch, width, height, 1, 8 * (uint32_t)VIPS_IMAGE_SIZEOF_PEL(image));
}

/* Whether what comes first in the source, as the first of pages that are turned as one picture, lands below
 * what follows it. */
static gboolean first_lands_last(TtOrientation turn) {
    return tt_map_rect(turn, 2, 2, (TtRect){0, 0, 1, 1}).y == 1;
}

/* ---- Region by region ------------------------------------------------------------------------------ */

/* Makes *view the rectangle r of the source, which `region` is on. */
static int view_source(TtTranspose *self, VipsRegion *region, const VipsRect *r, TtImage *view) {
    const VipsImage *in = self->in;
    if (self->mapping) {
        size_t line = VIPS_IMAGE_SIZEOF_LINE(in);
        size_t from = (size_t)r->left * VIPS_IMAGE_SIZEOF_PEL(in);
        guint8 *first = (guint8 *)self->mapping + in->sizeof_header;
        *view = image_of(in, first + r->top * line + from, line, (size_t)r->width, (size_t)r->height);
        if (self->ahead)
            columns_ahead_of(self->ahead, from, from + (size_t)r->width * VIPS_IMAGE_SIZEOF_PEL(in),
                             (size_t)r->height);
        return 0;
    }
    if (vips_region_prepare(region, r))
        return -1;
    *view = image_of(in, VIPS_REGION_ADDR(region, r->left, r->top), (size_t)VIPS_REGION_LSKIP(region),
                     (size_t)r->width, (size_t)r->height);
    return 0;
}

static int turn_region(VipsRegion *out, void *seq, void *a G_GNUC_UNUSED, void *b,
                       gboolean *stop G_GNUC_UNUSED) {
    TtTranspose *self = b;
    const VipsRect *r = &out->valid;
    TtOrientation back = tt_invert(self->turn);
    for (int top = r->top, bottom; top < VIPS_RECT_BOTTOM(r); top = bottom) {
        int page = top / self->turned_page_height, page_top = page * self->turned_page_height;
        bottom = VIPS_MIN(VIPS_RECT_BOTTOM(r), page_top + self->turned_page_height);

        TtRect part = {(size_t)r->left, (size_t)(top - page_top), (size_t)r->width, (size_t)(bottom - top)};
        TtRect from = tt_map_rect(back, (size_t)self->out->Xsize, (size_t)self->turned_page_height, part);
        VipsRect needed = {(int)from.x, (int)from.y + page * self->page_height, (int)from.width,
                           (int)from.height};
        TtImage view, turned = image_of(self->out, VIPS_REGION_ADDR(out, r->left, top),
                                        (size_t)VIPS_REGION_LSKIP(out), part.width, part.height);
        if (view_source(self, seq, &needed, &view) ||
            check(tt_orient(&view, &turned, self->turn, &self->options)))
            return -1;
    }
    return 0;
}

/* libvips reads a file of plain pixels through a window that it moves over it. A turn that walks down its
 * columns would map every page again for each of them; a mapping of the whole stays. */
static void map_file(TtTranspose *self) {
    const VipsImage *in = self->in;
    guint64 bytes = (guint64)in->sizeof_header + VIPS_IMAGE_SIZEOF_IMAGE(in);
    if (in->dtype != VIPS_IMAGE_OPENIN || in->data || in->fd == -1 || bytes > (guint64)in->file_length ||
        bytes > G_MAXSIZE)
        return;
    void *mapping = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, in->fd, 0);
    if (mapping == MAP_FAILED)
        return; /* the window will do */
    self->mapping = mapping;
    self->mapped = (size_t)bytes;

    size_t memory = tt_memory_allowed();
    if (tt_swaps_axes(self->turn) && bytes > memory)
        self->ahead = columns_ahead_new((guint8 *)mapping + in->sizeof_header, VIPS_IMAGE_SIZEOF_LINE(in),
                                        (gsize)in->Ysize, memory / 2, first_lands_last(self->turn));
}

/* A row of regions of a turned result runs down a column of the source's tiles, and several rows run down the
 * same. A loader of tiles keeps two rows of them, so it remembers the columns of a picture that is no higher
 * than wide; of a higher one it would decode each tile again and again. */
static gboolean forgets_columns(const TtTranspose *self) {
    const VipsImage *in = self->in;
    return tt_swaps_axes(self->turn) && in->dtype == VIPS_IMAGE_PARTIAL &&
           in->dhint == VIPS_DEMAND_STYLE_SMALLTILE && in->Ysize > in->Xsize;
}

/* Keeps two columns of large tiles, or of smaller ones if they are very long. Where the caller's limit has no
 * room for them none are kept: decoding tiles again is slow, and right. */
static int keep_columns(TtTranspose *self) {
    const guint64 limit = self->memory_limit ? self->memory_limit : (guint64)512 << 20;
    int edge = 512;
    guint64 column_bytes;
    for (;; edge /= 2) {
        column_bytes = (guint64)edge * VIPS_IMAGE_SIZEOF_PEL(self->in) *
                       (guint64)VIPS_ROUND_UP((gint64)self->in->Ysize, edge);
        if (2 * column_bytes <= limit || edge == 128)
            break;
    }
    if (self->memory_limit && 2 * column_bytes > self->memory_limit)
        return 0;
    if (vips_tilecache(self->in, &self->source, "tile_width", edge, "tile_height", edge, "max_tiles",
                       2 * ((self->in->Ysize - 1) / edge + 2), "threaded", TRUE, NULL))
        return -1;
    return 0;
}

static int generate_from_regions(TtTranspose *self) {
    gboolean swaps = tt_swaps_axes(self->turn);
    map_file(self);
    if (forgets_columns(self) && keep_columns(self))
        return -1;
    return vips_image_pipelinev(self->out, swaps ? VIPS_DEMAND_STYLE_SMALLTILE : VIPS_DEMAND_STYLE_FATSTRIP,
                                self->source ? self->source : self->in, NULL);
}

/* Newer libvips notes the tiles of a cache in its metadata; what counts is what `in` says. */
static void restore_tile_size(TtTranspose *self) {
    static const char *const names[] = {"tile-width", "tile-height"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        GValue value = G_VALUE_INIT;
        if (!vips_image_get_typeof(self->in, names[i]))
            vips_image_remove(self->out, names[i]);
        else if (!vips_image_get(self->in, names[i], &value)) {
            vips_image_set(self->out, names[i], &value);
            g_value_unset(&value);
        }
    }
}

/* ---- Through a frame ------------------------------------------------------------------------------- */

/* The frame turns all pages as one picture. In it the pages follow each other along the axis that becomes
 * the vertical one, and in the order that the turn makes right again. */
static TtStatus put_page_part(TtTranspose *self, const TtImage *piece, int page, size_t x, size_t y) {
    size_t place = (size_t)(first_lands_last(self->turn) ? self->pages - 1 - page : page);
    if (tt_swaps_axes(self->turn))
        x += place * (size_t)self->in->Xsize;
    else
        y += place * (size_t)self->page_height;
    return tt_frame_put(self->frame, piece, x, y);
}

static int put_band(VipsRegion *region, void *seq G_GNUC_UNUSED, void *a, void *b G_GNUC_UNUSED,
                    gboolean *stop G_GNUC_UNUSED) {
    TtTranspose *self = a;
    const VipsRect *r = &region->valid;
    if (vips_image_iskilled(self->out))
        return -1;
    for (int top = r->top, bottom; top < VIPS_RECT_BOTTOM(r); top = bottom) {
        int page = top / self->page_height, page_top = page * self->page_height;
        bottom = VIPS_MIN(VIPS_RECT_BOTTOM(r), page_top + self->page_height);
        TtImage piece = image_of(self->in, VIPS_REGION_ADDR(region, r->left, top),
                                 (size_t)VIPS_REGION_LSKIP(region), (size_t)r->width, (size_t)(bottom - top));
        if (check(put_page_part(self, &piece, page, (size_t)r->left, (size_t)(top - page_top))))
            return -1;
    }
    return 0;
}

/* Bands that fill whole lines of the result, but none higher than the rows that libvips' readers in order are
 * prepared to see out of step: a thread that lags behind must still find its own. */
static int band_height(const TtTranspose *self) {
    size_t first = tt_frame_cut(self->frame, 0), second = tt_frame_cut(self->frame, first);
    size_t good = second > first ? second - first : first;
    int tile_width, tile_height, rows_in_step;
    vips_get_tile_size(self->in, &tile_width, &tile_height, &rows_in_step);
    return (int)MIN(good, (size_t)rows_in_step);
}

/* Reads the whole source, in libvips' threads. Progress shows, and a kill is seen, on the images that this
 * one's do. */
static int fill_frame(TtTranspose *self) {
    VipsImage *reader = vips_image_new();
    int result = vips_image_write(self->in, reader);
    if (!result) {
        reader->progress_signal = self->out->progress_signal ? self->out->progress_signal : self->out;
        result = vips_sink_tile(reader, self->in->Xsize, band_height(self), NULL, put_band, NULL, self, NULL);
    }
    g_object_unref(reader);
    return result;
}

/* libvips holds a lock of the image's while it starts a reader of it. */
static void *start_frame(VipsImage *out G_GNUC_UNUSED, void *a G_GNUC_UNUSED, void *b) {
    TtTranspose *self = b;
    if (self->frame_failed) {
        if (!*vips_error_buffer()) /* the reason was taken away by now */
            fail("the source could not be read");
        return NULL;
    }
    if (!self->frame_filled && fill_frame(self)) {
        self->frame_failed = TRUE;
        return NULL;
    }
    self->frame_filled = TRUE;
    return self;
}

static int read_frame(VipsRegion *out, void *seq G_GNUC_UNUSED, void *a G_GNUC_UNUSED, void *b,
                      gboolean *stop G_GNUC_UNUSED) {
    TtTranspose *self = b;
    const VipsRect *r = &out->valid;
    TtRect rows = {(size_t)r->left, (size_t)r->top, (size_t)r->width, (size_t)r->height};
    TtImage into = image_of(self->out, VIPS_REGION_ADDR(out, r->left, r->top), (size_t)VIPS_REGION_LSKIP(out),
                            rows.width, rows.height);
    return check(tt_frame_read(self->frame, rows, &into));
}

/* libvips counts this memory, and bounds its cache of operations by the count. Huge pages, because a band
 * that becomes a column touches every row. */
static void *allocate(size_t bytes, void *user G_GNUC_UNUSED) {
    const size_t huge = (size_t)2 << 20;
    void *memory = vips_tracked_malloc(bytes);
    size_t first = VIPS_ROUND_UP((size_t)memory, huge), end = VIPS_ROUND_DOWN((size_t)memory + bytes, huge);
    if (memory && first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
    return memory;
}

static void release(void *memory, size_t bytes G_GNUC_UNUSED, void *user G_GNUC_UNUSED) {
    vips_tracked_free(memory);
}

static int generate_from_frame(TtTranspose *self) {
    const size_t width = (size_t)self->in->Xsize, height = (size_t)self->page_height;
    const size_t pages = (size_t)self->pages;
    TtImage shape = tt_swaps_axes(self->turn) ? image_of(self->in, NULL, 0, pages * width, height)
                                              : image_of(self->in, NULL, 0, width, pages * height);
    TtFrameOptions options = {
        .struct_size = sizeof(options),
        .memory_limit = (size_t)MIN(self->memory_limit, G_MAXSIZE),
        .backend = self->options.backend,
        .threads = self->options.threads,
        .device = self->device,
        .allocate = allocate,
        .release = release,
    };
    if (check(tt_frame_new(&shape, self->turn, &options, &self->frame)) ||
        vips_image_pipelinev(self->out, VIPS_DEMAND_STYLE_FATSTRIP, self->in, NULL))
        return -1;
    self->out->dhint = VIPS_DEMAND_STYLE_FATSTRIP; /* whatever the source prefers */
    return 0;
}

/* ---- The result's header --------------------------------------------------------------------------- */

/* Where the old origin went: a corner of the result. */
static void set_offsets(TtTranspose *self) {
    TtRect corner = tt_map_rect(self->turn, 2, 2, (TtRect){0, 0, 1, 1});
    self->out->Xoffset = corner.x ? self->out->Xsize : 0;
    self->out->Yoffset = corner.y ? self->out->Ysize : 0;
}

/* A page-height that does not divide the image says nothing. After a change of axes it could come to divide
 * it by chance, so then it becomes the height of the whole. */
static void set_page_height(TtTranspose *self) {
    if (vips_image_get_typeof(self->in, VIPS_META_PAGE_HEIGHT))
        vips_image_set_int(self->out, VIPS_META_PAGE_HEIGHT, self->turned_page_height);
}

static void set_header(TtTranspose *self) {
    VipsImage *in = self->in, *out = self->out;
    if (self->source)
        restore_tile_size(self);
    if (self->orientation == ORIENTATION_AUTO)
        tt_image_remove_tag(in, out);
    if (self->turn != TT_NONE)
        set_offsets(self);
    if (tt_swaps_axes(self->turn)) {
        out->Xres = in->Yres;
        out->Yres = in->Xres;
        set_page_height(self);
    }
}

/* ---- The operation --------------------------------------------------------------------------------- */

/* The pages of `in`, and the size of the result. */
static int plan(TtTranspose *self) {
    const VipsImage *in = self->in;
    gboolean swaps = tt_swaps_axes(self->turn);
    self->page_height = vips_image_get_page_height(self->in);
    self->pages = in->Ysize / self->page_height;
    self->turned_page_height = swaps ? in->Xsize : self->page_height;

    guint64 width = (guint64)(swaps ? self->page_height : in->Xsize);
    guint64 height = (guint64)self->turned_page_height * (guint64)self->pages;
    guint64 row_bytes = width * VIPS_IMAGE_SIZEOF_PEL(in);
    if (row_bytes >= G_MAXINT || height >= G_MAXINT) {
        vips_error("tt_transpose",
                   "the turned image would have %" G_GUINT64_FORMAT " rows of %" G_GUINT64_FORMAT
                   " bytes, and libvips counts both only to %d",
                   height, row_bytes, G_MAXINT);
        return -1;
    }
    return 0;
}

/* The options of the library's calls. */
static int choose_backend(TtTranspose *self) {
    if (self->device < 0) {
        vips_error("tt_transpose", "there is no device %d: GPUs are numbered from 0", self->device);
        return -1;
    }
    const char *name = self->backend ? self->backend : g_getenv("TT_BACKEND");
    if (!name || !*name)
        name = "auto";
    /* libvips brings the threads. */
    self->options = (TtOptions){.struct_size = sizeof(TtOptions),
                                .backend = g_intern_string(name),
                                .threads = 1,
                                .device = self->device};
    return check(tt_backend_check(name));
}

/* The turn that is asked for. Before 8.18 "last", which counts the values, passes for one of them: the
 * message is what libvips says of any other word. */
static int choose_turn(TtTranspose *self) {
    if (self->orientation == ORIENTATION_LAST)
        return fail(
            "enum 'TtOrientation' has no member 'last', should be one of: auto, none, fliph, rot180, flipv, "
            "transpose, rot90, transverse, rot270");
    self->turn =
        self->orientation == ORIENTATION_AUTO ? tt_image_tag(self->in) : (TtOrientation)self->orientation;
    return 0;
}

/* Rows that stay rows need no waiting. A GPU is given the whole picture, not regions of a few kilobytes. */
static gboolean needs_frame(TtTranspose *self) {
    return (self->in_order && self->turn != TT_FLIPH) || !strcmp(self->options.backend, "cuda");
}

static int generate(TtTranspose *self) {
    if (self->turn == TT_NONE)
        return vips_image_write(self->in, self->out);
    if (needs_frame(self) ? generate_from_frame(self) : generate_from_regions(self))
        return -1;
    self->out->Xsize = tt_swaps_axes(self->turn) ? self->page_height : self->in->Xsize;
    self->out->Ysize = self->turned_page_height * self->pages;
    if (self->frame)
        return vips_image_generate(self->out, start_frame, read_frame, NULL, NULL, self);
    return vips_image_generate(self->out, vips_start_one, turn_region, vips_stop_one,
                               self->source ? self->source : self->in, self);
}

static int tt_transpose_build(VipsObject *object) {
    TtTranspose *self = (TtTranspose *)object;
    if (VIPS_OBJECT_CLASS(tt_transpose_parent_class)->build(object))
        return -1;
    g_object_set(self, "out", vips_image_new(), NULL);

    if (choose_turn(self) || choose_backend(self) || vips_image_pio_input(self->in) || plan(self))
        return -1;
    self->in_order = tt_must_read_in_order(self->in);
    if (generate(self))
        return -1;
    set_header(self);
    /* A frame can be read in any order, as often as wanted. */
    if (self->frame || !self->in_order)
        vips_image_remove(self->out, VIPS_META_SEQUENTIAL);
    return 0;
}

/* libvips' cache would keep a frame in memory. */
static VipsOperationFlags tt_transpose_get_flags(VipsOperation *operation) {
    VipsOperationFlags flags = VIPS_OPERATION_CLASS(tt_transpose_parent_class)->get_flags(operation);
    return ((TtTranspose *)operation)->frame ? flags | VIPS_OPERATION_NOCACHE : flags;
}

/* The buffers of a few megabytes that libvips' threads had, too. glibc keeps such in an arena for each
 * thread, and a process that turns picture after picture would seem to grow for a long time. */
static void give_memory_back(TtTranspose *self) {
    if (!self->frame)
        return;
    VIPS_FREEF(tt_frame_free, self->frame);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void tt_transpose_dispose(GObject *object) {
    TtTranspose *self = (TtTranspose *)object;
    G_OBJECT_CLASS(tt_transpose_parent_class)->dispose(object);
    VIPS_UNREF(self->source);
    g_clear_pointer(&self->ahead, columns_ahead_free);
    give_memory_back(self);
    if (self->mapping)
        munmap(self->mapping, self->mapped);
    self->mapping = NULL;
}

static GType orientation_type(void) {
    static GEnumValue values[] = {
        {ORIENTATION_AUTO, "TT_AUTO", "auto"},
        {TT_NONE, "TT_NONE", NULL},
        {TT_FLIPH, "TT_FLIPH", NULL},
        {TT_ROT180, "TT_ROT180", NULL},
        {TT_FLIPV, "TT_FLIPV", NULL},
        {TT_TRANSPOSE, "TT_TRANSPOSE", NULL},
        {TT_ROT90, "TT_ROT90", NULL},
        {TT_TRANSVERSE, "TT_TRANSVERSE", NULL},
        {TT_ROT270, "TT_ROT270", NULL},
        {ORIENTATION_LAST, "TT_LAST", "last"},
        {0, NULL, NULL},
    };
    for (int o = TT_NONE; o <= TT_ROT270; o++)
        values[o].value_nick = tt_orientation_name((TtOrientation)o);
    /* Before 8.18 the last value of an enum is taken for a count, and not shown. */
    if (vips_version(1) >= 18)
        values[ORIENTATION_LAST] = values[ORIENTATION_LAST + 1];
    return g_enum_register_static("TtOrientation", values);
}

static void tt_transpose_class_init(TtTransposeClass *class) {
    GObjectClass *gobject_class = G_OBJECT_CLASS(class);
    VipsObjectClass *object_class = VIPS_OBJECT_CLASS(class);

    gobject_class->set_property = vips_object_set_property;
    gobject_class->get_property = vips_object_get_property;
    gobject_class->dispose = tt_transpose_dispose;
    object_class->nickname = "tt_transpose";
    object_class->description = "turn an image: eight orientations, or upright by its tag";
    object_class->build = tt_transpose_build;
    /* So that the vips command opens files for sequential access. */
    class->flags = VIPS_OPERATION_SEQUENTIAL;
    class->get_flags = tt_transpose_get_flags;

    VIPS_ARG_IMAGE(class, "in", 1, "Input", "Image to turn", VIPS_ARGUMENT_REQUIRED_INPUT,
                   G_STRUCT_OFFSET(TtTranspose, in));
    VIPS_ARG_IMAGE(class, "out", 2, "Output", "Turned image", VIPS_ARGUMENT_REQUIRED_OUTPUT,
                   G_STRUCT_OFFSET(TtTranspose, out));
    VIPS_ARG_ENUM(class, "orientation", 3, "Orientation",
                  "How to turn, clockwise; auto: as the orientation tag says, and remove the tag",
                  VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtTranspose, orientation), orientation_type(),
                  TT_TRANSPOSE);
    VIPS_ARG_STRING(class, "backend", 4, "Backend", "Code that moves the pixels: auto, cpu, or one by name",
                    VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtTranspose, backend), NULL);
    VIPS_ARG_INT(class, "device", 5, "Device", "Number of the GPU, for a backend that has one",
                 VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtTranspose, device), G_MININT, G_MAXINT, 0);
    VIPS_ARG_UINT64(
        class, "memory_limit", 6, "Memory limit",
        "Bytes of pixels to hold in memory, larger pictures in a file; 0: what the machine allows",
        VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtTranspose, memory_limit), 0, G_MAXUINT64, 0);
}

static void tt_transpose_init(TtTranspose *self) {
    self->orientation = TT_TRANSPOSE;
}
