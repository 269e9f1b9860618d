/* SPDX-License-Identifier: MIT
 *
 * tt_pngload: read a PNG, as a libvips operation.
 *
 *     vips tt_pngload in.png out.v
 *
 * It gives what libvips' own pngload gives, several times as fast: samples of 1, 2 and 4 bits as bytes,
 * palettes as colours, tRNS as alpha, 16 bits as ushort; resolution, ICC profile, EXIF, XMP, texts,
 * background. The same optional arguments mean the same:
 *
 * unlimited     reads chunks of any size and number
 * fail-on       none: rows that are damaged or missing are black, with a warning, and checksums are not
 * looked at; truncated: such rows are an error; error: wrong checksums are one too; warning: and so is
 *               whatever libpng warns of
 * access, memory, ...  as all loaders of libvips have them
 *
 * tt_pngload_buffer and tt_pngload_source read from memory and from a VipsSource, which may be a pipe.
 *
 * A picture is read when its first pixel is asked for, and from top to bottom, by the thread that asks and
 * an idle core that unpacks ahead of it. An interlaced one is read whole, into memory. Of a file that is far
 * too small for what it claims that is an error before, as it is for others unless missing rows are borne.
 */
#define G_LOG_DOMAIN "VIPS" /* as its own loaders warn */

#include <png.h>
#include <string.h>
#include <vips/vips.h>

#include "../cli/fault.h"
#include "../cli/formats/png_reader.h"
#include "tt_png.h"

enum {
    STRIP = 16,               /* rows that are read at once */
    SIGNATURE = 8,            /* bytes */
    INTERLACE = 28,           /* the byte that says whether a picture is interlaced */
    MOST_TEXTS = 50,          /* that are kept, and the chunks' */
    MOST_CHUNK = 50 << 20,    /* bytes of memory, */
    MOST_CHUNKS = 100,        /* unless unlimited */
    DEFAULT_RESOLUTION = 2834 /* pixels a metre: 72 dots an inch */
};

typedef struct {
    VipsForeignLoad parent_instance;

    VipsSource *source; /* set by what is derived */
    gboolean unlimited;
} TtPngload;

typedef VipsForeignLoadClass TtPngloadClass;

G_DEFINE_ABSTRACT_TYPE(TtPngload, tt_pngload, VIPS_TYPE_FOREIGN_LOAD)

/* A picture that is being read; it lives as long as the image that it is read into. */
typedef struct {
    PngInput input;
    VipsSource *source;
    goffset at; /* where the source stands */
    VipsImage *image;
    VipsImage *loaded; /* what the program has of it */
    VipsFailOn fail_on;
    gboolean unlimited;
    char *warning; /* of libpng's, that is an error */
    PngReader *png;
    int next;        /* row */
    gboolean broken; /* no more rows can be had */
} Reading;

/* ---- The source ------------------------------------------------------------------------------------- */

static gboolean read_source(PngInput *input, guint8 *to, gsize n, goffset offset, gsize *got,
                            GError **error) {
    Reading *r = input->user;
    /* A pipe that is past its header can't seek, nor need it. */
    if (offset != r->at && vips_source_seek(r->source, offset, SEEK_SET) < 0)
        return tt_png_told(error);
    gint64 part = vips_source_read(r->source, to, n);
    if (part < 0)
        return tt_png_told(error);
    *got = (gsize)part;
    r->at = offset + part;
    return TRUE;
}

static gboolean is_png(VipsSource *source) {
    const unsigned char *head = vips_source_sniff(source, SIGNATURE);
    return head && !memcmp(head, "\x89PNG\r\n\x1a\n", SIGNATURE);
}

/* ---- The header ------------------------------------------------------------------------------------- */

static void set_resolution(VipsImage *image, png_structp png, png_infop info) {
    png_uint_32 x = DEFAULT_RESOLUTION, y = DEFAULT_RESOLUTION;
    int unit = PNG_RESOLUTION_METER;
    png_get_pHYs(png, info, &x, &y, &unit);
    double scale = unit == PNG_RESOLUTION_METER ? 1000 : 1;
    image->Xres = x / scale;
    image->Yres = y / scale;
}

static void set_shape(VipsImage *image, png_structp png, png_infop info) {
    int type = png_get_color_type(png, info), deep = png_get_bit_depth(png, info) > 8;
    gboolean colour = type & PNG_COLOR_MASK_COLOR;
    gboolean alpha = type & PNG_COLOR_MASK_ALPHA || png_get_valid(png, info, PNG_INFO_tRNS);
    static const VipsInterpretation interpretations[2][2] = {
        {VIPS_INTERPRETATION_B_W, VIPS_INTERPRETATION_GREY16},
        {VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_RGB16},
    };
    vips_image_init_fields(image, (int)png_get_image_width(png, info), (int)png_get_image_height(png, info),
                           (colour ? 3 : 1) + (alpha ? 1 : 0), deep ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR,
                           VIPS_CODING_NONE, interpretations[colour != 0][deep], 1, 1);
    set_resolution(image, png, info);
}

static void set_profiles(VipsImage *image, png_structp png, png_infop info) {
    png_charp name;
    png_bytep data;
    png_uint_32 size;
    int compression;
    if (png_get_iCCP(png, info, &name, &compression, &data, &size))
        vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, data, size);
#ifdef PNG_eXIf_SUPPORTED
    if (png_get_eXIf_1(png, info, &size, &data))
        vips_image_set_blob_copy(image, VIPS_META_EXIF_NAME, data, size);
#endif
}

static void set_texts(const Reading *r, png_structp png, png_infop info) {
    png_textp texts;
    int n;
    png_get_text(png, info, &texts, &n);
    if (n > MOST_TEXTS && !r->unlimited) {
        g_warning("%d texts, of which %d are read", n, MOST_TEXTS);
        n = MOST_TEXTS;
    }
    for (int i = 0; i < n; i++) {
        if (!strcmp(texts[i].key, "XML:com.adobe.xmp")) {
            vips_image_set_blob_copy(r->image, VIPS_META_XMP_NAME, texts[i].text, strlen(texts[i].text));
            continue;
        }
        char name[256];
        g_snprintf(name, sizeof(name), "png-comment-%d-%s", i, texts[i].key);
        vips_image_set_string(r->image, name, texts[i].text);
    }
}

static void set_background(VipsImage *image, png_structp png, png_infop info) {
    png_color_16p colour;
    int type = png_get_color_type(png, info), scale = image->BandFmt == VIPS_FORMAT_UCHAR ? 1 : 256;
    if (!png_get_bKGD(png, info, &colour) || type == PNG_COLOR_TYPE_PALETTE)
        return;
    double grey[] = {colour->gray / scale};
    double rgb[] = {colour->red / scale, colour->green / scale, colour->blue / scale};
    if (type & PNG_COLOR_MASK_COLOR)
        vips_image_set_array_double(image, "background", rgb, 3);
    else
        vips_image_set_array_double(image, "background", grey, 1);
}

/* Beside what is common to all versions of libvips, what each notes of the form of the file. */
static void set_form(VipsImage *image, png_structp png, png_infop info) {
    int depth = png_get_bit_depth(png, info);
    if (png_get_interlace_type(png, info) != PNG_INTERLACE_NONE)
        vips_image_set_int(image, "interlaced", 1);
#ifdef VIPS_META_BITS_PER_SAMPLE
    vips_image_set_int(image, VIPS_META_BITS_PER_SAMPLE, depth);
#endif
    if (png_get_color_type(png, info) != PNG_COLOR_TYPE_PALETTE)
        return;
    vips_image_set_int(image, "palette-bit-depth", depth);
#ifdef VIPS_META_PALETTE
    vips_image_set_int(image, VIPS_META_PALETTE, 1);
#endif
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static void before_header(png_structp png, gpointer user) {
    const Reading *r = user;
    /* Many profiles differ from the one that they claim to be. */
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_set_user_limits(png, VIPS_MAX_COORD, VIPS_MAX_COORD);
    if (!r->unlimited) {
        png_set_chunk_malloc_max(png, MOST_CHUNK);
        png_set_chunk_cache_max(png, MOST_CHUNKS);
    }
    if (r->fail_on < VIPS_FAIL_ON_ERROR)
        png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
}

static gboolean after_header(png_structp png, png_infop info, gpointer user) {
    const Reading *r = user;
    png_set_expand(png);
    if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
        png_set_swap(png);
    set_shape(r->image, png, info);
    set_profiles(r->image, png, info);
    set_texts(r, png, info);
    set_background(r->image, png, info);
    set_form(r->image, png, info);
    return png_get_bit_depth(png, info) != 8 || png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE ||
           png_get_valid(png, info, PNG_INFO_tRNS);
}

static void warn(const char *message, gpointer user) {
    Reading *r = user;
    if (r->fail_on < VIPS_FAIL_ON_WARNING)
        g_warning("%s: %s", vips_connection_nick(VIPS_CONNECTION(r->source)), message);
    else if (!r->warning)
        r->warning = g_strdup(message);
}

static int fail(const Reading *r, GError *error) {
    return tt_png_fail("tt_pngload", VIPS_CONNECTION(r->source), error);
}

static void close_reading(Reading *r) {
    if (r->png)
        png_reader_close(r->png);
    g_object_unref(r->source);
    g_free(r->warning);
    g_free(r);
}

static VipsForeignFlags flags_of(VipsSource *source) {
    const unsigned char *head = vips_source_sniff(source, INTERLACE + 1);
    return head && head[INTERLACE] ? VIPS_FOREIGN_PARTIAL : VIPS_FOREIGN_SEQUENTIAL;
}

static gboolean open_png(Reading *r, GError **error) {
    gint64 size = 0;
    PngReaderOptions options = {
        .input = &r->input,
        /* A pipe may have no more than is needed, for now or for ever: it is not read ahead. */
        .cores = vips_source_is_mappable(r->source) ? tt_png_cores() : NULL,
        .trusting = r->fail_on < VIPS_FAIL_ON_ERROR,
        .before = before_header,
        .after = after_header,
        .warn = warn,
        .user = r,
    };
    if (vips_source_rewind(r->source))
        return tt_png_told(error);
    if (!is_png(r->source))
        return fault(error, STATUS_FAILED, "is not a PNG");
    /* What is read whole must be worth its memory; and libvips takes that of hundreds of rows for any. */
    if ((flags_of(r->source) & VIPS_FOREIGN_PARTIAL || r->fail_on >= VIPS_FAIL_ON_TRUNCATED) &&
        vips_source_is_mappable(r->source))
        size = vips_source_length(r->source);
    if (!png_input_find_pixels(&r->input, &options.pixels, error))
        return FALSE;
    options.pixels.bytes = (guint64)MAX(size - options.pixels.begin, 0);
    if (!(r->png = png_reader_open(&options, error)))
        return FALSE;
    return !r->warning || fault(error, STATUS_FAILED, "is not quite right (%s)", r->warning);
}

/* Opens the source and describes the picture in `image`. NULL: it cannot be read. */
static Reading *open_reading(const TtPngload *self, VipsImage *image) {
    Reading *r = g_new0(Reading, 1);
    r->source = g_object_ref(self->source);
    r->image = image;
    r->fail_on = self->parent_instance.fail_on;
    r->unlimited = self->unlimited;
    r->input = (PngInput){.size = G_MAXINT64, .read = read_source, .user = r};
    VIPS_SETSTR(image->filename, vips_connection_filename(VIPS_CONNECTION(r->source)));
    GError *error = NULL;
    if (open_png(r, &error)) {
        if (!vips_image_pipelinev(image, VIPS_DEMAND_STYLE_THINSTRIP, NULL))
            return r;
    } else {
        fail(r, error);
    }
    close_reading(r);
    return NULL;
}

/* No more rows can be had. Returns 0 if that is to be borne. */
static int break_off(Reading *r, GError *error) {
    r->broken = TRUE;
    vips_foreign_load_invalidate(r->loaded);
    if (r->fail_on >= VIPS_FAIL_ON_TRUNCATED)
        return fail(r, error);
    g_warning("%s %s", vips_connection_nick(VIPS_CONNECTION(r->source)), error->message);
    g_error_free(error);
    return 0;
}

static gboolean is_failed(const Reading *r) {
    return r->broken && r->fail_on >= VIPS_FAIL_ON_TRUNCATED;
}

static int read_row(Reading *r, void *to) {
    TtImage row = {.data = to, .height = 1};
    GError *error = NULL;
    if (!r->broken && !png_reader_rows(r->png, &row, &error) && break_off(r, error))
        return -1;
    if (r->broken)
        memset(to, 0, VIPS_IMAGE_SIZEOF_LINE(r->image));
    return 0;
}

/* Called by one thread at a time, from top to bottom: vips_sequential() sees to that. */
static int read_strip(VipsRegion *out, void *seq G_GNUC_UNUSED, void *a, void *b G_GNUC_UNUSED,
                      gboolean *stop G_GNUC_UNUSED) {
    Reading *r = a;
    const VipsRect *strip = &out->valid;
    int result = 0;
    if (is_failed(r))
        return -1; /* which was said */
    if (strip->top != r->next) {
        vips_error("tt_pngload", "out of order read at line %d", r->next);
        return -1;
    }
    cores_join(tt_png_cores());
    for (; !result && r->next < VIPS_RECT_BOTTOM(strip); r->next++)
        result = read_row(r, VIPS_REGION_ADDR(out, 0, r->next));
    cores_leave(tt_png_cores());
    return result;
}

static int read_in_order(Reading *r, VipsImage *real) {
    VipsImage **ordered = (VipsImage **)vips_object_local_array(VIPS_OBJECT(real), 1);
    return vips_image_generate(r->image, NULL, read_strip, NULL, r, NULL) ||
           vips_sequential(r->image, ordered, "tile_height", STRIP, NULL) ||
           vips_image_write(ordered[0], real);
}

static int read_whole(Reading *r, VipsImage *real) {
    VipsImage *image = r->image;
    if (vips_image_write_prepare(image))
        return -1;
    memset(image->data, 0, VIPS_IMAGE_SIZEOF_IMAGE(image));
    TtImage whole = tt_image(image->data, (ptrdiff_t)VIPS_IMAGE_SIZEOF_LINE(image), (size_t)image->Xsize,
                             (size_t)image->Ysize, 1, 8 * (uint32_t)VIPS_IMAGE_SIZEOF_PEL(image));
    GError *error = NULL;
    cores_join(tt_png_cores());
    gboolean good = png_reader_whole(r->png, &whole, &error);
    cores_leave(tt_png_cores());
    return (!good && break_off(r, error)) || vips_image_write(image, real);
}

/* ---- The operation ---------------------------------------------------------------------------------- */

static void on_close(VipsImage *image G_GNUC_UNUSED, gpointer reading) {
    close_reading(reading);
}

/* Everything was read, or nothing more will be: a file need not stay open. */
static void on_minimise(VipsImage *image G_GNUC_UNUSED, gpointer reading) {
    Reading *r = reading;
    png_reader_rest(r->png);
    vips_source_minimise(r->source);
}

static int tt_pngload_header(VipsForeignLoad *load) {
    TtPngload *self = (TtPngload *)load;
    Reading *r = open_reading(self, load->out);
    if (!r)
        return -1;
    close_reading(r);
    vips_source_minimise(self->source);
    return 0;
}

static int tt_pngload_load(VipsForeignLoad *load) {
    TtPngload *self = (TtPngload *)load;
    VipsImage **image = (VipsImage **)vips_object_local_array(VIPS_OBJECT(load->real), 1);
    gboolean whole = load->flags & VIPS_FOREIGN_PARTIAL;
    image[0] = whole ? vips_image_new_memory() : vips_image_new();
    Reading *r = open_reading(self, image[0]);
    if (!r)
        return -1;
    r->loaded = load->real;
    g_signal_connect(r->image, "close", G_CALLBACK(on_close), r);
    g_signal_connect(r->image, "minimise", G_CALLBACK(on_minimise), r);
    /* libvips loses the error of the last rows where another thread finds at that moment that there are no
     * more. */
    return (whole ? read_whole(r, load->real) : read_in_order(r, load->real)) || is_failed(r) ||
           vips_source_decode(self->source);
}

static VipsForeignFlags tt_pngload_get_flags(VipsForeignLoad *load) {
    return flags_of(((TtPngload *)load)->source);
}

static VipsForeignFlags tt_pngload_get_flags_filename(const char *filename) {
    VipsSource *source = vips_source_new_from_file(filename);
    if (!source)
        return 0;
    VipsForeignFlags flags = flags_of(source);
    g_object_unref(source);
    return flags;
}

static void tt_pngload_dispose(GObject *object) {
    VIPS_UNREF(((TtPngload *)object)->source);
    G_OBJECT_CLASS(tt_pngload_parent_class)->dispose(object);
}

static void set_names(gpointer class, const char *nickname, const char *description) {
    G_OBJECT_CLASS(class)->set_property = vips_object_set_property;
    G_OBJECT_CLASS(class)->get_property = vips_object_get_property;
    VIPS_OBJECT_CLASS(class)->nickname = nickname;
    VIPS_OBJECT_CLASS(class)->description = description;
}

static void tt_pngload_class_init(TtPngloadClass *class) {
    set_names(class, "tt_pngload_base", "load PNG, fast");
    G_OBJECT_CLASS(class)->dispose = tt_pngload_dispose;
    class->get_flags_filename = tt_pngload_get_flags_filename;
    class->get_flags = tt_pngload_get_flags;
    class->header = tt_pngload_header;
    class->load = tt_pngload_load;
    if (tt_png_is_chosen())
        VIPS_FOREIGN_CLASS(class)->priority = 300; /* libvips' own has 200 */

    VIPS_ARG_BOOL(class, "unlimited", 23, "Unlimited", "Read chunks of any size and number",
                  VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtPngload, unlimited), FALSE);
}

static void tt_pngload_init(TtPngload *self G_GNUC_UNUSED) {}

/* ---- From a file ------------------------------------------------------------------------------------ */

typedef struct {
    TtPngload parent_instance;
    char *filename;
} TtPngloadFile;

typedef TtPngloadClass TtPngloadFileClass;

G_DEFINE_TYPE(TtPngloadFile, tt_pngload_file, tt_pngload_get_type())

static int tt_pngload_file_build(VipsObject *object) {
    const char *filename = ((TtPngloadFile *)object)->filename;
    if (filename && !(((TtPngload *)object)->source = vips_source_new_from_file(filename)))
        return -1;
    return VIPS_OBJECT_CLASS(tt_pngload_file_parent_class)->build(object);
}

static gboolean tt_pngload_file_is_a(const char *filename) {
    VipsSource *source = tt_png_is_chosen() ? vips_source_new_from_file(filename) : NULL;
    if (!source)
        return FALSE;
    gboolean is = is_png(source);
    g_object_unref(source);
    return is;
}

static void tt_pngload_file_class_init(TtPngloadFileClass *class) {
    set_names(class, "tt_pngload", "load PNG from file, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngload_file_build;
    class->is_a = tt_pngload_file_is_a;
    if (tt_png_is_chosen())
        VIPS_FOREIGN_CLASS(class)->suffs = tt_png_suffixes;
    VIPS_ARG_STRING(class, "filename", 1, "Filename", "Filename to load from", VIPS_ARGUMENT_REQUIRED_INPUT,
                    G_STRUCT_OFFSET(TtPngloadFile, filename), NULL);
}

static void tt_pngload_file_init(TtPngloadFile *self G_GNUC_UNUSED) {}

/* ---- From memory ------------------------------------------------------------------------------------ */

typedef struct {
    TtPngload parent_instance;
    VipsBlob *blob;
} TtPngloadBuffer;

typedef TtPngloadClass TtPngloadBufferClass;

G_DEFINE_TYPE(TtPngloadBuffer, tt_pngload_buffer, tt_pngload_get_type())

static int tt_pngload_buffer_build(VipsObject *object) {
    VipsBlob *blob = ((TtPngloadBuffer *)object)->blob;
    if (blob && !(((TtPngload *)object)->source = vips_source_new_from_blob(blob))) {
        vips_error("tt_pngload", "%s", "the buffer is empty"); /* of which libvips says nothing */
        return -1;
    }
    return VIPS_OBJECT_CLASS(tt_pngload_buffer_parent_class)->build(object);
}

static gboolean tt_pngload_buffer_is_a(const void *data, size_t size) {
    VipsSource *source = tt_png_is_chosen() ? vips_source_new_from_memory(data, size) : NULL;
    if (!source)
        return FALSE;
    gboolean is = is_png(source);
    g_object_unref(source);
    return is;
}

static void tt_pngload_buffer_class_init(TtPngloadBufferClass *class) {
    set_names(class, "tt_pngload_buffer", "load PNG from buffer, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngload_buffer_build;
    class->is_a_buffer = tt_pngload_buffer_is_a;
    VIPS_ARG_BOXED(class, "buffer", 1, "Buffer", "Buffer to load from", VIPS_ARGUMENT_REQUIRED_INPUT,
                   G_STRUCT_OFFSET(TtPngloadBuffer, blob), VIPS_TYPE_BLOB);
}

static void tt_pngload_buffer_init(TtPngloadBuffer *self G_GNUC_UNUSED) {}

/* ---- From a source ---------------------------------------------------------------------------------- */

typedef struct {
    TtPngload parent_instance;
    VipsSource *source;
} TtPngloadSource;

typedef TtPngloadClass TtPngloadSourceClass;

G_DEFINE_TYPE(TtPngloadSource, tt_pngload_source, tt_pngload_get_type())

static int tt_pngload_source_build(VipsObject *object) {
    VipsSource *source = ((TtPngloadSource *)object)->source;
    if (source)
        ((TtPngload *)object)->source = g_object_ref(source);
    return VIPS_OBJECT_CLASS(tt_pngload_source_parent_class)->build(object);
}

static gboolean tt_pngload_source_is_a(VipsSource *source) {
    return tt_png_is_chosen() && is_png(source);
}

static void tt_pngload_source_class_init(TtPngloadSourceClass *class) {
    set_names(class, "tt_pngload_source", "load PNG from source, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngload_source_build;
    VIPS_OPERATION_CLASS(class)->flags |= VIPS_OPERATION_NOCACHE;
    class->is_a_source = tt_pngload_source_is_a;
    VIPS_ARG_OBJECT(class, "source", 1, "Source", "Source to load from", VIPS_ARGUMENT_REQUIRED_INPUT,
                    G_STRUCT_OFFSET(TtPngloadSource, source), VIPS_TYPE_SOURCE);
}

static void tt_pngload_source_init(TtPngloadSource *self G_GNUC_UNUSED) {}
