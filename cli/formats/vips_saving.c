/* SPDX-License-Identifier: MIT
 *
 * Options for libvips' savers.
 *
 * A format that can be compressed without loss is, whatever the source was; where there is no such way the
 * quality is at least the source's, and the loss is stated.
 */
#include "vips_saving.h"

#include <errno.h>
#include <string.h>

#include "../say.h"
#include "bmp_header.h"
#include "heif_properties.h"
#include "jp2_boxes.h"
#include "jpeg_header.h"
#include "jxl_header.h"
#include "radiance_header.h"
#include "tiff_block.h"
#include "tiff_tags.h"
#include "vips_trial.h"

/* One more loss, as "whose ...". */
static void lose(Saving *s, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void lose(Saving *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (s->loss->len)
        g_string_append(s->loss, ", ");
    g_string_append_vprintf(s->loss, format, args);
    va_end(args);
}

static gboolean cut_short(GError **error) {
    return fault(error, STATUS_FAILED, "is cut short: restore it from a copy");
}

static int number_of(VipsImage *image, const char *name, int otherwise) {
    int value;
    return vips.image_get_typeof(image, name) && !vips.image_get_int(image, name, &value) ? value : otherwise;
}

static gboolean operation_takes(const char *operation, const char *option) {
    GType type = vips.type_find("VipsOperation", operation);
    return type && vips.object_class_find_property(vips.type_class_ref(type), option);
}

static void save_jpeg(Saving *s, FILE *file) {
    JpegHeader header = jpeg_header_read(file);
    g_string_printf(s->options, "Q=%d,subsample-mode=%s%s", header.quality, header.subsampled ? "on" : "off",
                    header.progressive ? ",interlace" : "");
    lose(s, "whose pixels are compressed again with loss (at quality %d)", header.quality);
    if (header.extra)
        lose(s, "whose comments or other data beside the picture libvips does not keep");
}

/* ---- TIFF --------------------------------------------------------------------------------------------- */

/* The source's compression if it has no loss, deflate in place of one that does. */
static const char *tiff_compression(const TiffTags *tags) {
    switch (tags->compression) {
    case 1:
        return "none";
    case 2:
    case 3:
    case 4:
        return "ccittfax4";
    case 5:
        return "lzw";
    case 32773:
        return "packbits";
    case 50000:
        return "zstd";
    default:
        return "deflate";
    }
}

static void lose_of_tiff(Saving *s, const TiffTags *tags) {
    enum { YCBCR = 6, OLD_JPEG = 6, JPEG = 7 };
    if (tags->photometric == YCBCR && tags->compression != OLD_JPEG && tags->compression != JPEG)
        lose(s, "whose colours libvips converts to RGB");
    if (tags->pages_differ)
        lose(s,
             "whose pages have descriptions or resolutions of their own, of which libvips keeps the first");
    if (tags->shape_only)
        lose(s, "whose resolutions have no unit, and get one");
    if (tags->unnamed)
        lose(s, "whose extra channels, which it does not name, become alpha");
    if (tags->lost)
        lose(s, "whose tags libvips does not keep (%s)", tags->lost->str);
}

static gboolean save_tiff(Saving *s, FILE *file, VipsImage *image, GError **error) {
    TiffTags tags;
    if (!tiff_tags_read(file, &tags)) {
        tiff_tags_clear(&tags);
        return cut_short(error);
    }
    const char *compression = tiff_compression(&tags), *refusal = NULL;
    gboolean predicts = strchr("ldz", *compression) != NULL;
    gboolean packed = image->Bands == 1 && tags.photometric <= 1 && tags.bits < 8;
    if (tags.bits == 4 && (image->Xsize % 2 || vips.image_get_page_height(image) % 2))
        packed = FALSE; /* libvips packs the last of an odd number of 4-bit samples wrongly */
    guint64 bytes = (guint64)image->Xsize * (guint64)image->Ysize * (guint64)image->Bands *
                    vips.format_sizeof(image->BandFmt);
    if (tags.geographic)
        refusal =
            "ties its pixels to places on the map (GeoTIFF), which libvips would lose: use gdalwarp or a "
            "program of that field";
    else if (tags.nested)
        refusal =
            "holds images within images, or a camera's raw data, which libvips would lose: convert it first";
    else if (tags.premultiplied)
        refusal = "has colours multiplied by alpha, which libvips would round: convert it first";
    if (!refusal) {
        g_string_printf(s->options, "compression=%s", compression);
        if (predicts && (tags.predictor == 2 || tags.predictor == 3))
            g_string_append_printf(s->options, ",predictor=%s", tags.predictor == 2 ? "horizontal" : "float");
        if (packed)
            g_string_append_printf(s->options, ",bitdepth=%u%s", tags.bits,
                                   tags.photometric == 0 && tags.bits == 1 ? ",miniswhite" : "");
        if (tags.tile_width && tags.tile_height)
            g_string_append_printf(s->options, ",tile,tile-width=%u,tile-height=%u", tags.tile_width,
                                   tags.tile_height);
        if (tags.big || bytes > 3900000000u)
            g_string_append(s->options, ",bigtiff");
        lose_of_tiff(s, &tags);
        s->tile_width = tags.tile_width;
        s->tile_height = tags.tile_height;
    }
    tiff_tags_clear(&tags);
    return !refusal || fault(error, STATUS_FAILED, "%s", refusal);
}

/* ---- The others --------------------------------------------------------------------------------------- */

/* Of equal frames libwebp makes one, which reading back shows. */
static gboolean save_webp(Saving *s, FILE *file, VipsImage *image, gboolean strip, GError **error) {
    gboolean exact = operation_takes("webpsave_target", "exact"); /* from 8.16 */
    if (vips.image_get_page_height(image) < image->Ysize)
        s->may_change = "pixels of its frames";
    g_string_assign(s->options, exact ? "lossless,exact" : "lossless");
    if (!exact && image->Bands == 4)
        s->may_change = "colours that full transparency hides";
    if (!webp_read_rest(file, strip, &s->webp, error))
        return FALSE;
    if (s->webp.in_frames)
        lose(s, "whose unknown chunks within frames libvips does not keep");
    return TRUE;
}

/* Of sRGB, whose curve libvips writes for all that are much like it, or not stated. */
static gboolean is_srgb(const HeifProperties *h) {
    return !h->coded || (h->primaries <= 2 && (h->curve <= 2 || h->curve == 6 || h->curve == 13));
}

/* What libvips before 8.15 is built with does not survive AV1 of 10 bits; later it states bits by another
 * name. */
static void save_heif_bits(Saving *s, VipsImage *image, const char *compression) {
    int bits = number_of(image, "bits-per-sample", number_of(image, "heif-bitdepth", 12));
    if (image->BandFmt != VIPS_FORMAT_USHORT)
        return;
    if (bits == 10 && !strcmp(compression, "av1") && !vips.image_get_typeof(image, "bits-per-sample")) {
        lose(s, "whose samples of 10 bits become ones of 12");
        bits = 12;
    }
    g_string_append_printf(s->options, ",bitdepth=%d", bits);
}

/* Of what stands beside the picture libvips writes EXIF, XMP and the profile, which the trial is for. */
static gboolean heif_has_extra(VipsImage *image) {
    static const char *const plain[] = {"heif-primary", "heif-compression", "heif-bitdepth"};
    gboolean extra = FALSE;
    char **names = vips.image_get_fields(image);
    for (char **name = names; *name; name++) {
        gboolean is_plain = !g_str_has_prefix(*name, "heif-");
        for (gsize i = 0; i < G_N_ELEMENTS(plain); i++)
            is_plain |= !strcmp(*name, plain[i]);
        extra |= !is_plain;
    }
    g_strfreev(names);
    return extra;
}

static gboolean save_heif(Saving *s, const ForeignFormat *format, FILE *file, VipsImage *image,
                          GError **error) {
    HeifProperties heif = heif_properties_read(file);
    gboolean is_avif = !strcmp(format->format.name, "AVIF"); /* of which libvips sees the first brand alone */
    const char *compression = is_avif || heif.av1 ? "av1" : "hevc";
    if (!is_srgb(&heif) && !vips.image_get_typeof(image, VIPS_META_ICC_NAME))
        return fault(
            error, STATUS_FAILED,
            "says by codes what its colours mean (CICP %u/%u), which libvips would lose: convert it first",
            heif.primaries, heif.curve);
    g_string_printf(s->options, "compression=%s,Q=95,subsample-mode=%s", compression,
                    heif.subsampled ? "on" : "off");
    lose(s, "whose pixels are compressed again with loss (at quality 95)");
    save_heif_bits(s, image, compression);
    if (heif_has_extra(image))
        lose(s, "whose XMP or other data beside the picture libvips does not keep");
    if (heif.light)
        lose(s, "whose light levels (HDR) libvips does not keep");
    if (heif.further)
        lose(s, "whose depth, gain map or other image beside the picture libvips does not keep");
    return TRUE;
}

static gboolean save_jxl(Saving *s, const ForeignFormat *format, FILE *file, VipsImage *image,
                         GError **error) {
    g_string_assign(s->options, "lossless");
    /* Before 8.15 libvips does not read them. */
    char *kept = g_strconcat(vips.image_get_typeof(image, VIPS_META_EXIF_NAME) ? "Exif" : "",
                             vips.image_get_typeof(image, VIPS_META_XMP_NAME) ? "xml " : "", NULL);
    if (jxl_has_extra(file, kept))
        lose(s, "whose boxes beside the picture (EXIF, XMP and the like) libvips does not keep");
    g_free(kept);
    return operation_takes(format->load, "n") || !jxl_is_animated(file) ||
           fault(error, STATUS_FAILED,
                 "is animated, and this libvips would keep its first frame only: use a later libvips");
}

/* An encoder holds a row of tiles as numbers of 4 bytes. A large picture in one tile, which takes a decoder
 * as much, becomes one in tiles. */
static void save_jp2k_tiles(Saving *s, const Jp2Boxes *boxes, VipsImage *image) {
    enum { LARGEST = 32768, MOST_BYTES = 256 << 20 };
    guint64 row = (guint64)boxes->tile_height * (guint64)image->Xsize * (guint64)image->Bands * 4;
    if (!boxes->tile_width || !boxes->tile_height)
        return;
    s->one_tile = boxes->tile_width >= boxes->width && boxes->tile_height >= boxes->height &&
                  MAX(boxes->width, boxes->height) <= LARGEST &&
                  (guint64)image->Ysize * (guint64)image->Xsize * (guint64)image->Bands * 4 <= MOST_BYTES;
    if (!s->one_tile && row <= MOST_BYTES)
        g_string_append_printf(s->options, ",tile-width=%u,tile-height=%u", MIN(boxes->tile_width, LARGEST),
                               MIN(boxes->tile_height, LARGEST));
}

static gboolean save_jp2k(Saving *s, FILE *file, VipsImage *image, GError **error) {
    Jp2Boxes boxes = jp2_boxes_read(file);
    s->held = (guint64)MIN(boxes.tile_width, (guint)image->Xsize) *
              MIN(boxes.tile_height, (guint)image->Ysize) * (guint64)image->Bands *
              4; /* as numbers of 4 bytes */
    if (boxes.geographic)
        return fault(error, STATUS_FAILED,
                     "ties its pixels to places on the map (GeoJP2 or GML), which libvips would lose: use "
                     "gdalwarp or a program of that field");
    g_string_assign(s->options, "lossless");
    save_jp2k_tiles(s, &boxes, image);
    if (boxes.bits != 8 * vips.format_sizeof(image->BandFmt))
        lose(s, "whose samples of %u bits become ones of %u", boxes.bits,
             8 * (guint)vips.format_sizeof(image->BandFmt));
    if (boxes.subsampled)
        lose(s, "whose colours libvips converts to RGB");
    if (vips.image_get_typeof(image, VIPS_META_ICC_NAME))
        lose(s, "whose colour profile libvips does not keep");
    if (boxes.extra)
        lose(s, "whose boxes beside the picture (XMP, EXIF, resolution and the like) libvips does not keep");
    return TRUE;
}

static void save_bmp(Saving *s, FILE *file) {
    BmpHeader header = bmp_header_read(file);
    g_string_assign(s->options, "format=bmp");
    s->may_change = "pixels";
    if (header.few_bits)
        lose(s, "whose pixels of few bits become colours of 24");
    if (header.resolution)
        lose(s, "whose resolution libvips does not keep");
    if (header.profile)
        lose(s, "whose colour profile libvips does not keep");
}

/* libvips reads any order of rows and pixels as the common one. */
static gboolean save_radiance(Saving *s, FILE *file, GError **error) {
    RadianceHeader header = radiance_header_read(file);
    if (header.extra)
        lose(s, "whose view and other lines of its header libvips does not keep");
    return header.upright ||
           fault(
               error, STATUS_FAILED,
               "does not have its rows from top to bottom and from left to right (-Y and +X), which libvips "
               "would read wrongly: convert it first");
}

/* libvips gives pictures that have no EXIF one, unless it is told what else to keep, which it can be from
 * 8.15 on. */
static void write_no_exif(Saving *s, const ForeignFormat *format) {
    if (operation_takes(format->save, "keep"))
        g_string_append_printf(s->options, "%skeep=xmp:iptc:icc:other", s->options->len ? "," : "");
}

/* Behind the pixels of libvips' own format stands its metadata. Where that is not XML, libvips only warns,
 * shows the picture without it, and would write none. */
static gboolean save_vips(FILE *file, VipsImage *image, GError **error) {
    static const GMarkupParser nothing = {NULL};
    guint64 bytes = vips.format_sizeof(image->BandFmt) * (guint64)image->Bands * (guint64)image->Xsize;
    if (!g_uint64_checked_mul(&bytes, bytes, (guint64)image->Ysize) || bytes > G_MAXINT64 / 2)
        return cut_short(error);
    off_t pixels = (off_t)image->sizeof_header + (off_t)bytes;
    char part[4096];
    gsize n = 0;
    if (fseeko(file, 0, SEEK_END) || ftello(file) < pixels)
        return cut_short(error);
    if (ftello(file) == pixels)
        return TRUE;
    if (fseeko(file, pixels, SEEK_SET))
        return system_fault(error, "read it", errno);
    GMarkupParseContext *context = g_markup_parse_context_new(&nothing, 0, NULL, NULL);
    gboolean good = TRUE;
    while (good && (n = fread(part, 1, sizeof(part), file)))
        good = g_markup_parse_context_parse(context, part, (gssize)n, NULL);
    good = good && g_markup_parse_context_end_parse(context, NULL);
    g_markup_parse_context_free(context);
    if (!good)
        return fault(error, STATUS_FAILED,
                     "has metadata behind its pixels that cannot be read: restore it from a copy");
    return !vips_library_lost_metadata() ||
           fault(
               error, STATUS_FAILED,
               "has metadata that libvips did not read, for want of memory: free some, or allow fewer files "
               "at once by -j");
}

/* A page as a whole. Of formats that are not there, libvips has rows, or rows of tiles, as it asks for them.
 */
static void hold_page(Saving *s, const ForeignFormat *format, VipsImage *image) {
    static const char *const whole[] = {"webp", "heif", "jxl", "magick"};
    for (gsize i = 0; i < G_N_ELEMENTS(whole); i++)
        if (g_str_has_prefix(format->save, whole[i]))
            s->held = (guint64)image->Xsize * (guint64)vips.image_get_page_height(image) *
                      (guint64)image->Bands * vips.format_sizeof(image->BandFmt);
}

static void lose_of_metadata(Saving *s, const ForeignFormat *format, VipsImage *image) {
    char *loss = trial_of_metadata(format, s->options->str, image);
    if (loss)
        lose(s, "%s", loss);
    g_free(loss);
}

/* libexif and libvips take long for directories of tens of thousands of entries, and longer for ones that
 * lead to themselves. */
static gboolean check_exif(VipsImage *image, GError **error) {
    enum { NESTED = 0x8769, MOST_ENTRIES = 5000 };
    const void *block;
    size_t size;
    TiffBlock t;
    if (!vips.image_get_typeof(image, VIPS_META_EXIF_NAME) ||
        vips.image_get_blob(image, VIPS_META_EXIF_NAME, &block, &size) ||
        !tiff_block_open(&t, (guint8 *)block, size))
        return TRUE;
    gsize first = tiff_block_number(&t, 4, 4), entry = tiff_block_find(&t, first, NESTED);
    guint32 nested = entry ? tiff_block_number(&t, tiff_block_value(&t, entry), 2) : 0;
    return MAX(tiff_block_number(&t, first, 2), nested) <= MOST_ENTRIES ||
           fault(error, STATUS_FAILED,
                 "has EXIF of more than %d entries, as no camera writes, so it is damaged or made to exhaust "
                 "time: restore it from a copy",
                 MOST_ENTRIES);
}

gboolean saving_decide(Saving *s, const ForeignFormat *format, FILE *file, VipsImage *image, gboolean strip,
                       GError **error) {
    gboolean good = TRUE;
    *s = (Saving){.options = g_string_new(NULL), .loss = g_string_new(NULL)};
    hold_page(s, format, image);
    if (!check_exif(image, error))
        return FALSE;
    if (g_str_has_prefix(format->save, "jpeg"))
        save_jpeg(s, file);
    else if (g_str_has_prefix(format->save, "tiff"))
        good = save_tiff(s, file, image, error);
    else if (g_str_has_prefix(format->save, "webp"))
        good = save_webp(s, file, image, strip, error);
    else if (g_str_has_prefix(format->save, "heif"))
        good = save_heif(s, format, file, image, error);
    else if (g_str_has_prefix(format->save, "jxl"))
        good = save_jxl(s, format, file, image, error);
    else if (g_str_has_prefix(format->save, "jp2k"))
        good = save_jp2k(s, file, image, error);
    else if (g_str_has_prefix(format->save, "rad"))
        good = save_radiance(s, file, error);
    else if (g_str_has_prefix(format->save, "magick"))
        save_bmp(s, file);
    else if (g_str_has_prefix(format->save, "vips")) {
        write_no_exif(s, format); /* which vips_bare.c does */
        good = save_vips(file, image, error);
    }
    static const char *const with_exif[] = {"jpeg", "heif", "jxl"};
    for (gsize i = 0; good && i < G_N_ELEMENTS(with_exif); i++)
        if (g_str_has_prefix(format->save, with_exif[i])) {
            if (!vips.image_get_typeof(image, VIPS_META_EXIF_NAME))
                write_no_exif(s, format);
            if (!strip)
                lose_of_metadata(s, format, image);
        }
    return good;
}

void saving_clear(Saving *s) {
    if (s->options)
        g_string_free(s->options, TRUE);
    if (s->loss)
        g_string_free(s->loss, TRUE);
    webp_clear_rest(&s->webp);
    *s = (Saving){0};
}
