/* SPDX-License-Identifier: MIT
 *
 * tt_pngsave: write a PNG, as a libvips operation.
 *
 *     vips tt_pngsave in.v out.png
 *
 * It writes the picture, resolution, ICC profile, EXIF, XMP and texts that libvips' own pngsave writes, with
 * all of the machine's cores. The same optional arguments mean the same:
 *
 * compression   0 to 9; files become as small as pngsave makes them at this level, or at most 2 % larger;
 *               at 9, without libdeflate, 3 %
 * filter        one or several of none, sub, up, avg, paeth, all; what suits the pixels where none is named
 * interlace     for display while it loads
 * bitdepth      1, 2, 4, 8 or 16 bits a sample
 * palette, Q, dither, effort
 *               a palette of at most 256 colours, which is also what bitdepths below 8 make of colours.
 *               libvips chooses them, by code that is its own: these pictures are handed to its pngsave
 * profile, strip, keep, background, page-height
 *               as all savers of libvips have them
 *
 * tt_pngsave_buffer and tt_pngsave_target write to memory and to a VipsTarget.
 *
 * A picture is written as it is computed: nothing holds it whole, unless it is interlaced.
 */
#define G_LOG_DOMAIN "VIPS" /* as its own savers warn */

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <vips/vips.h>

#include "../cli/fault.h"
#include "../cli/formats/png_writer.h"
#include "tt_png.h"

typedef struct {
    VipsForeignSave parent_instance;

    VipsTarget *target; /* set by what is derived */
    int compression;
    gboolean interlace;
#if VIPS_MINOR_VERSION < 15
    char *profile;
#endif
    int filter;
    gboolean palette;
    int Q;
    double dither;
    int bitdepth;
    int effort;
    int colours;

    VipsImage *image; /* as it is written */
    PngWriter *png;
    gboolean told; /* of an error */
    guint8 *row;   /* as the file packs it; NULL if that is as libvips has it */
} TtPngsave;

typedef VipsForeignSaveClass TtPngsaveClass;

G_DEFINE_ABSTRACT_TYPE(TtPngsave, tt_pngsave, VIPS_TYPE_FOREIGN_SAVE)

/* ---- What is written beside the pixels -------------------------------------------------------------- */

/* libvips has told what is wrong. */
G_GNUC_NORETURN static void give_up(TtPngsave *self, png_structp png) {
    self->told = TRUE;
    png_error(png, "told");
}

static void set_profile(png_structp png, png_infop info, const void *data, size_t size) {
    png_set_iCCP(png, info, "icc", PNG_COMPRESSION_TYPE_BASE, data, (png_uint_32)size);
    if (!png_get_valid(png, info, PNG_INFO_iCCP))
        g_warning("bad ICC profile not saved");
}

static void set_named_profile(TtPngsave *self, png_structp png, png_infop info, const char *name) {
    VipsBlob *blob;
    size_t size;
    if (vips_profile_load(name, &blob, NULL))
        give_up(self, png);
    if (!blob) /* "none" */
        return;
    const void *data = vips_blob_get(blob, &size);
    set_profile(png, info, data, size);
    vips_area_unref(VIPS_AREA(blob));
}

/* The data of a field, FALSE if there is none. */
static gboolean has_blob(VipsImage *image, const char *field, const void **data, size_t *size) {
    return vips_image_get_typeof(image, field) == VIPS_TYPE_BLOB &&
           !vips_image_get_blob(image, field, data, size);
}

static void set_text(png_structp png, png_infop info, char *key, char *text, size_t size) {
    png_text one = {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = key, .text = text, .text_length = size};
    png_set_text(png, info, &one, 1);
}

static void set_xmp(png_structp png, png_infop info, VipsImage *image) {
    const void *data;
    size_t size;
    if (!has_blob(image, VIPS_META_XMP_NAME, &data, &size))
        return;
    char *text = g_strndup(data, size), key[] = "XML:com.adobe.xmp";
    set_text(png, info, key, text, strlen(text));
    g_free(text);
}

#ifdef PNG_eXIf_SUPPORTED
static void set_exif(png_structp png, png_infop info, VipsImage *image) {
    static const char jpeg[] = "Exif\0"; /* how the block begins in a JPEG */
    const void *data;
    size_t size;
    if (!has_blob(image, VIPS_META_EXIF_NAME, &data, &size))
        return;
    const guint8 *block = data;
    if (size >= sizeof(jpeg) && !memcmp(block, jpeg, 4)) {
        block += sizeof(jpeg);
        size -= sizeof(jpeg);
    }
    png_set_eXIf_1(png, info, (png_uint_32)size, (png_bytep)block);
}
#endif

typedef struct {
    png_structp png;
    png_infop info;
} Described;

/* Fields png-comment-NUMBER-KEYWORD are texts. */
static void *set_comment(VipsImage *image G_GNUC_UNUSED, const char *field, GValue *value, void *described) {
    const Described *d = described;
    char key[81];
    int number;
    if (!g_str_has_prefix(field, "png-comment-"))
        return NULL;
    const char *text = G_VALUE_TYPE(value) == VIPS_TYPE_REF_STRING ? vips_value_get_ref_string(value, NULL)
                       : G_VALUE_HOLDS_STRING(value)               ? g_value_get_string(value)
                                                                   : NULL;
    if (!text || sscanf(field, "png-comment-%d-%80s", &number, key) != 2) {
        vips_error("tt_pngsave", "the field %s is not a text with a number and a keyword", field);
        return d->png;
    }
    set_text(d->png, d->info, key, (char *)text, strlen(text));
    return NULL;
}

static const char *named_profile(const TtPngsave *self) {
#if VIPS_MINOR_VERSION < 15
    return self->profile;
#else
    return self->parent_instance.profile;
#endif
}

/* Newer versions remove the metadata before. */
static gboolean is_stripped(const TtPngsave *self) {
#if VIPS_MINOR_VERSION < 15
    return self->parent_instance.strip;
#else
    (void)self;
    return FALSE;
#endif
}

static void describe(png_structp png, png_infop info, gpointer user) {
    TtPngsave *self = user;
    VipsImage *image = self->image;
    const void *data;
    size_t size;
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_set_benign_errors(png, TRUE); /* a profile that does not fit the pixels is left out */
    png_set_pHYs(png, info, (png_uint_32)rint(image->Xres * 1000), (png_uint_32)rint(image->Yres * 1000),
                 PNG_RESOLUTION_METER);
    if (is_stripped(self))
        return;
    if (named_profile(self))
        set_named_profile(self, png, info, named_profile(self));
    else if (has_blob(image, VIPS_META_ICC_NAME, &data, &size))
        set_profile(png, info, data, size);
    set_xmp(png, info, image);
#ifdef PNG_eXIf_SUPPORTED
    set_exif(png, info, image);
#endif
    if (vips_image_map(image, set_comment, &(Described){png, info}))
        give_up(self, png);
}

/* ---- Pixels ----------------------------------------------------------------------------------------- */

static int fail(const TtPngsave *self, GError *error) {
    if (self->told)
        g_error_free(error);
    return self->told ? -1 : tt_png_fail("tt_pngsave", VIPS_CONNECTION(self->target), error);
}

static gboolean write_target(gpointer target, const guint8 *data, gsize size, GError **error) {
    return !vips_target_write(target, data, size) || tt_png_told(error);
}

static void swap_bytes(guint8 *to, const guint16 *from, gsize n) {
    for (gsize i = 0; i < n; i++) {
        guint16 sample = GUINT16_TO_BE(from[i]);
        memcpy(to + 2 * i, &sample, 2);
    }
}

/* As libpng packs bytes: one bit says whether there is anything, more are the lowest ones. */
static void pack_bits(guint8 *to, const guint8 *from, gsize n, guint bits) {
    memset(to, 0, (n * bits + 7) / 8);
    for (gsize i = 0; i < n; i++) {
        guint sample = bits == 1 ? from[i] != 0 : from[i] & ((1U << bits) - 1);
        to[i * bits / 8] |= (guint8)(sample << (8 - bits - i * bits % 8));
    }
}

/* A row as the file packs it. */
static const void *packed_row(const TtPngsave *self, const void *from) {
    gsize samples = (gsize)self->image->Xsize * (gsize)self->image->Bands;
    if (!self->row)
        return from;
    if (self->bitdepth == 16)
        swap_bytes(self->row, from, samples);
    else
        pack_bits(self->row, from, samples, (guint)self->bitdepth);
    return self->row;
}

/* Called by one thread at a time, from top to bottom. */
static int write_rows(VipsRegion *region, VipsRect *area, void *a) {
    TtPngsave *self = a;
    GError *error = NULL;
    gboolean good = TRUE;
    cores_join(tt_png_cores());
    for (int y = area->top; good && y < VIPS_RECT_BOTTOM(area); y++) {
        const void *row = packed_row(self, VIPS_REGION_ADDR(region, 0, y));
        good = png_writer_rows(self->png, &(TtImage){.data = (void *)row, .height = 1}, &error);
    }
    cores_leave(tt_png_cores());
    return good ? 0 : fail(self, error);
}

static PngHeader header_of(const TtPngsave *self) {
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    const VipsImage *image = self->image;
    return (PngHeader){
        .shape = tt_image(NULL, 0, (size_t)image->Xsize, (size_t)image->Ysize, (uint32_t)image->Bands,
                          (uint32_t)self->bitdepth),
        .bit_depth = self->bitdepth,
        .colour_type = types[image->Bands],
        .interlaced = self->interlace,
    };
}

/* The filters that are named, from libpng's bits, which begin with the eighth's. */
static guint named_filters(const TtPngsave *self) {
    gboolean named = vips_object_argument_isset(VIPS_OBJECT(self), "filter");
    return named ? (guint)(self->filter & PNG_ALL_FILTERS) >> 3 : 0;
}

static int write_picture(TtPngsave *self) {
    PngHeader header = header_of(self);
    PngWriterOptions options = {
        .output = {write_target, self->target},
        .header = &header,
        .packing = {self->compression, named_filters(self), TRUE},
        .cores = tt_png_cores(),
        .describe = describe,
        .user = self,
    };
    GError *error = NULL;
    if (!(self->png = png_writer_new(&options, &error)))
        return fail(self, error);
    for (guint pass = 0; pass < png_writer_passes(self->png); pass++)
        if (vips_sink_disc(self->image, write_rows, self))
            return -1;
    cores_join(tt_png_cores());
    gboolean good = png_writer_end(self->png, &error);
    cores_leave(tt_png_cores());
    return good ? 0 : fail(self, error);
}

/* ---- The operation ---------------------------------------------------------------------------------- */

static void choose_depth(TtPngsave *self, const VipsImage *in) {
    if (!vips_object_argument_isset(VIPS_OBJECT(self), "bitdepth"))
        self->bitdepth =
            in->Type == VIPS_INTERPRETATION_RGB16 || in->Type == VIPS_INTERPRETATION_GREY16 ? 16 : 8;
    /* The number of colours is libvips' old way to name the depth of a palette. */
    if (vips_object_argument_isset(VIPS_OBJECT(self), "colours"))
        for (self->bitdepth = 1; 1 << self->bitdepth < self->colours;)
            self->bitdepth *= 2;
    if (in->Bands > 2 && self->bitdepth < 8)
        self->palette = TRUE;
    if (self->bitdepth > 8)
        self->palette = FALSE;
}

/* As each version of libvips makes pixels fit the depth: older ones cut off what is over 255. */
static int convert(const TtPngsave *self, VipsImage *in, VipsImage **out) {
    gboolean deep = self->bitdepth > 8;
    if ((VIPS_MINOR_VERSION < 17 && !deep) || !vips_colourspace_issupported(in))
        return vips_cast(in, out, deep ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR, NULL);
    VipsInterpretation grey = deep ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_B_W;
    VipsInterpretation colour = deep ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB;
    return vips_colourspace(in, out, in->Bands > 2 ? colour : grey, NULL);
}

#if VIPS_MINOR_VERSION < 15
/* Brings the EXIF block up to date with the fields that libvips shows of it. Newer versions do so before.
 * Exported, but declared to libvips itself only. */
extern int vips__exif_update(VipsImage *image) __attribute__((weak));

static int update_exif(VipsImage *image) {
    gboolean has_exif = vips_image_get_typeof(image, VIPS_META_EXIF_NAME) != 0;
    return has_exif && vips__exif_update ? vips__exif_update(image) : 0;
}
#else
static int update_exif(VipsImage *image G_GNUC_UNUSED) {
    return 0;
}
#endif

/* The picture as it is written, with fields of its own. */
static int prepare(TtPngsave *self, VipsImage *in) {
    VipsImage **t = (VipsImage **)vips_object_local_array(VIPS_OBJECT(self), 3);
    choose_depth(self, in);
    if (convert(self, in, &t[0]) || vips_copy(t[0], &t[1], NULL))
        return -1;
    if (!is_stripped(self) && update_exif(t[1]))
        return -1;
    if (self->interlace && !self->palette && !(t[2] = vips_image_copy_memory(t[1])))
        return -1;
    self->image = t[2] ? t[2] : t[1];
    if (self->image->Bands > 4) {
        vips_error("tt_pngsave", "can't save %d band image as png", self->image->Bands);
        return -1;
    }
    return vips_image_pio_input(self->image);
}

/* By libvips' own saver. */
static int write_with_palette(TtPngsave *self) {
    VipsOperation *operation = vips_operation_new("pngsave_target");
    if (!operation)
        return -1;
    g_object_set(operation, "in", self->image, "target", self->target, "compression", self->compression,
                 "interlace", self->interlace, "filter", self->filter, "palette", TRUE, "Q", self->Q,
                 "dither", self->dither, "bitdepth", self->bitdepth, "effort", self->effort, NULL);
    if (is_stripped(self))
        g_object_set(operation, "strip", TRUE, NULL);
    if (named_profile(self))
        g_object_set(operation, "profile", named_profile(self), NULL);
    int result = vips_cache_operation_buildp(&operation);
    vips_object_unref_outputs(VIPS_OBJECT(operation));
    g_object_unref(operation);
    return result;
}

static int write_packed(TtPngsave *self) {
    if (self->bitdepth != 8)
        self->row = g_try_malloc(VIPS_IMAGE_SIZEOF_LINE(self->image));
    if (self->bitdepth != 8 && !self->row) {
        vips_error("tt_pngsave", "out of memory for a row");
        return -1;
    }
    int result = write_picture(self);
    g_clear_pointer(&self->png, png_writer_free);
    g_clear_pointer(&self->row, g_free);
    return result;
}

static int tt_pngsave_build(VipsObject *object) {
    TtPngsave *self = (TtPngsave *)object;
    if (VIPS_OBJECT_CLASS(tt_pngsave_parent_class)->build(object) ||
        prepare(self, self->parent_instance.ready))
        return -1;
    if (self->palette ? write_with_palette(self) : write_packed(self))
        return -1;
    return vips_target_end(self->target);
}

static void tt_pngsave_dispose(GObject *object) {
    VIPS_UNREF(((TtPngsave *)object)->target);
    G_OBJECT_CLASS(tt_pngsave_parent_class)->dispose(object);
}

static void set_names(gpointer class, const char *nickname, const char *description) {
    G_OBJECT_CLASS(class)->set_property = vips_object_set_property;
    G_OBJECT_CLASS(class)->get_property = vips_object_get_property;
    VIPS_OBJECT_CLASS(class)->nickname = nickname;
    VIPS_OBJECT_CLASS(class)->description = description;
}

static void tt_pngsave_class_init(TtPngsaveClass *class) {
    /* Formats of pixels in libvips' order, from uchar to dpcomplex: what has more than 8 bits becomes 16. */
    static VipsBandFormat formats[] = {
        VIPS_FORMAT_UCHAR,  VIPS_FORMAT_UCHAR,  VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT,
        VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT, VIPS_FORMAT_USHORT,
    };
    set_names(class, "tt_pngsave_base", "save PNG, fast");
    G_OBJECT_CLASS(class)->dispose = tt_pngsave_dispose;
    VIPS_OBJECT_CLASS(class)->build = tt_pngsave_build;
#if VIPS_MINOR_VERSION < 17
    class->saveable = VIPS_SAVEABLE_RGBA;
#else
    class->saveable = VIPS_FOREIGN_SAVEABLE_MONO | VIPS_FOREIGN_SAVEABLE_RGB | VIPS_FOREIGN_SAVEABLE_ALPHA;
#endif
    class->format_table = formats;
    if (tt_png_is_chosen()) {
        VIPS_FOREIGN_CLASS(class)->suffs = tt_png_suffixes;
        VIPS_FOREIGN_CLASS(class)->priority = 100; /* libvips' own has 0 */
    }

    VIPS_ARG_INT(class, "compression", 6, "Compression", "Compression factor", VIPS_ARGUMENT_OPTIONAL_INPUT,
                 G_STRUCT_OFFSET(TtPngsave, compression), 0, 9, PNG_LEVEL_DEFAULT);
    VIPS_ARG_BOOL(class, "interlace", 7, "Interlace", "Interlace image", VIPS_ARGUMENT_OPTIONAL_INPUT,
                  G_STRUCT_OFFSET(TtPngsave, interlace), FALSE);
#if VIPS_MINOR_VERSION < 15
    VIPS_ARG_STRING(class, "profile", 11, "Profile", "ICC profile to embed", VIPS_ARGUMENT_OPTIONAL_INPUT,
                    G_STRUCT_OFFSET(TtPngsave, profile), NULL);
#endif
    VIPS_ARG_FLAGS(class, "filter", 12, "Filter", "Row filters; what suits the pixels if not given",
                   VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtPngsave, filter),
                   VIPS_TYPE_FOREIGN_PNG_FILTER, VIPS_FOREIGN_PNG_FILTER_NONE);
    VIPS_ARG_BOOL(class, "palette", 13, "Palette", "Quantise to a palette, by libvips' own saver",
                  VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtPngsave, palette), FALSE);
    VIPS_ARG_INT(class, "colours", 14, "Colours", "Most colours of a palette",
                 VIPS_ARGUMENT_OPTIONAL_INPUT | VIPS_ARGUMENT_DEPRECATED, G_STRUCT_OFFSET(TtPngsave, colours),
                 2, 256, 256);
    VIPS_ARG_INT(class, "Q", 15, "Quality", "Quality of a palette", VIPS_ARGUMENT_OPTIONAL_INPUT,
                 G_STRUCT_OFFSET(TtPngsave, Q), 0, 100, 100);
    VIPS_ARG_DOUBLE(class, "dither", 16, "Dithering", "Amount of dithering", VIPS_ARGUMENT_OPTIONAL_INPUT,
                    G_STRUCT_OFFSET(TtPngsave, dither), 0, 1, 1);
    VIPS_ARG_INT(class, "bitdepth", 17, "Bit depth", "Bits a sample: 1, 2, 4, 8 or 16",
                 VIPS_ARGUMENT_OPTIONAL_INPUT, G_STRUCT_OFFSET(TtPngsave, bitdepth), 1, 16, 8);
    VIPS_ARG_INT(class, "effort", 18, "Effort", "Effort to find a palette", VIPS_ARGUMENT_OPTIONAL_INPUT,
                 G_STRUCT_OFFSET(TtPngsave, effort), 1, 10, 7);
}

static void tt_pngsave_init(TtPngsave *self) {
    self->compression = PNG_LEVEL_DEFAULT;
    self->filter = VIPS_FOREIGN_PNG_FILTER_NONE;
    self->colours = 256;
    self->Q = 100;
    self->dither = 1;
    self->bitdepth = 8;
    self->effort = 7;
}

/* ---- To a file -------------------------------------------------------------------------------------- */

typedef struct {
    TtPngsave parent_instance;
    char *filename;
} TtPngsaveFile;

typedef TtPngsaveClass TtPngsaveFileClass;

G_DEFINE_TYPE(TtPngsaveFile, tt_pngsave_file, tt_pngsave_get_type())

static int tt_pngsave_file_build(VipsObject *object) {
    const char *filename = ((TtPngsaveFile *)object)->filename;
    if (filename && !(((TtPngsave *)object)->target = vips_target_new_to_file(filename)))
        return -1;
    return VIPS_OBJECT_CLASS(tt_pngsave_file_parent_class)->build(object);
}

static void tt_pngsave_file_class_init(TtPngsaveFileClass *class) {
    set_names(class, "tt_pngsave", "save image to file as PNG, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngsave_file_build;
    VIPS_ARG_STRING(class, "filename", 1, "Filename", "Filename to save to", VIPS_ARGUMENT_REQUIRED_INPUT,
                    G_STRUCT_OFFSET(TtPngsaveFile, filename), NULL);
}

static void tt_pngsave_file_init(TtPngsaveFile *self G_GNUC_UNUSED) {}

/* ---- To memory -------------------------------------------------------------------------------------- */

typedef struct {
    TtPngsave parent_instance;
    VipsArea *buffer;
} TtPngsaveBuffer;

typedef TtPngsaveClass TtPngsaveBufferClass;

G_DEFINE_TYPE(TtPngsaveBuffer, tt_pngsave_buffer, tt_pngsave_get_type())

static int tt_pngsave_buffer_build(VipsObject *object) {
    VipsTarget *target = vips_target_new_to_memory();
    VipsBlob *blob;
    if (!target)
        return -1;
    ((TtPngsave *)object)->target = target;
    if (VIPS_OBJECT_CLASS(tt_pngsave_buffer_parent_class)->build(object))
        return -1;
    g_object_get(target, "blob", &blob, NULL);
    g_object_set(object, "buffer", blob, NULL);
    vips_area_unref(VIPS_AREA(blob));
    return 0;
}

static void tt_pngsave_buffer_class_init(TtPngsaveBufferClass *class) {
    set_names(class, "tt_pngsave_buffer", "save image to buffer as PNG, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngsave_buffer_build;
    VIPS_ARG_BOXED(class, "buffer", 1, "Buffer", "Buffer to save to", VIPS_ARGUMENT_REQUIRED_OUTPUT,
                   G_STRUCT_OFFSET(TtPngsaveBuffer, buffer), VIPS_TYPE_BLOB);
}

static void tt_pngsave_buffer_init(TtPngsaveBuffer *self G_GNUC_UNUSED) {}

/* ---- To a target ------------------------------------------------------------------------------------ */

typedef struct {
    TtPngsave parent_instance;
    VipsTarget *target;
} TtPngsaveTarget;

typedef TtPngsaveClass TtPngsaveTargetClass;

G_DEFINE_TYPE(TtPngsaveTarget, tt_pngsave_target, tt_pngsave_get_type())

static int tt_pngsave_target_build(VipsObject *object) {
    VipsTarget *target = ((TtPngsaveTarget *)object)->target;
    if (target)
        ((TtPngsave *)object)->target = g_object_ref(target);
    return VIPS_OBJECT_CLASS(tt_pngsave_target_parent_class)->build(object);
}

static void tt_pngsave_target_class_init(TtPngsaveTargetClass *class) {
    set_names(class, "tt_pngsave_target", "save image to target as PNG, fast");
    VIPS_OBJECT_CLASS(class)->build = tt_pngsave_target_build;
    VIPS_ARG_OBJECT(class, "target", 1, "Target", "Target to save to", VIPS_ARGUMENT_REQUIRED_INPUT,
                    G_STRUCT_OFFSET(TtPngsaveTarget, target), VIPS_TYPE_TARGET);
}

static void tt_pngsave_target_init(TtPngsaveTarget *self G_GNUC_UNUSED) {}
