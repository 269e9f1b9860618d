/* SPDX-License-Identifier: MIT
 *
 * Names, extensions and first bytes of the formats that libvips reads.
 */
#include "vips_formats.h"

#include <string.h>

#include "../say.h"
#include "heif.h"

/* ---- How files begin ---------------------------------------------------------------------------------- */

static gboolean has(const guint8 *head, gsize size, gsize offset, const char *text, gsize length) {
    return size >= offset + length && !memcmp(head + offset, text, length);
}

/* Whether the ftyp box, with which all relatives of MP4 begin, lists a brand. */
static gboolean has_brand(const guint8 *head, gsize size, const char *brand) {
    if (!has(head, size, 4, "ftyp", 4))
        return FALSE;
    gsize end = MIN(size, (gsize)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3]);
    for (gsize at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) /* a version stands behind the first */
        if (!memcmp(head + at, brand, 4))
            return TRUE;
    return FALSE;
}

static gboolean has_svg(const guint8 *head, gsize size) {
    return size && (head[0] == '<' || g_ascii_isspace(head[0]) || has(head, size, 0, "\xef\xbb\xbf", 3)) &&
           g_strstr_len((const char *)head, (gssize)size, "<svg");
}

#define AT(offset, text) has(head, size, offset, text, sizeof(text) - 1)
#define BRAND(brand)     has_brand(head, size, brand)
#define PROBE(name, condition)                                                                               \
    static gboolean name(const guint8 *head, gsize size) {                                                   \
        return condition;                                                                                    \
    }

PROBE(is_jpeg, AT(0, "\xff\xd8\xff"))
PROBE(is_tiff, AT(0, "II*\0") || AT(0, "MM\0*") || AT(0, "II+\0") || AT(0, "MM\0+"))
PROBE(is_webp, AT(0, "RIFF") && AT(8, "WEBP"))
PROBE(is_moving, BRAND("avis") || BRAND("msf1") || BRAND("hevc") || BRAND("hevx"))
PROBE(is_avif, BRAND("avif"))
PROBE(is_heif, BRAND("heic") || BRAND("heix") || BRAND("heim") || BRAND("heis") || BRAND("mif1"))
PROBE(is_jxl, AT(0, "\xff\x0a") || AT(0, "\0\0\0\x0cJXL \x0d\x0a\x87\x0a"))
PROBE(is_jp2k, AT(0, "\0\0\0\x0cjP  \x0d\x0a\x87\x0a") || AT(0, "\xff\x4f\xff\x51"))
PROBE(is_radiance, AT(0, "#?RADIANCE") || AT(0, "#?RGBE"))
PROBE(is_bmp, AT(0, "BM") && AT(6, "\0\0\0\0"))
PROBE(is_vips, AT(0, "\x08\xf2\xa6\xb6") || AT(0, "\xb6\xa6\xf2\x08"))
PROBE(is_fits, AT(0, "SIMPLE  ="))
PROBE(is_nifti, AT(344, "n+1\0") || AT(344, "ni1\0") || AT(4, "n+2\0") || AT(4, "ni2\0"))
PROBE(is_analyze, AT(0, "\x5c\x01\0\0") || AT(0, "\0\0\x01\x5c"))
PROBE(is_pdf, AT(0, "%PDF-"))
PROBE(is_svg, has_svg(head, size))
PROBE(is_exr, AT(0, "\x76\x2f\x31\x01"))
PROBE(is_mat, AT(0, "MATLAB 5.0 MAT"))

/* ---- The table ---------------------------------------------------------------------------------------- */

static Reader *refuse(const Format *self, FILE *file, const char *path, const Options *options,
                      GError **error) {
    const char *refusal = ((const ForeignFormat *)self)->refusal;
    (void)file;
    (void)path;
    (void)options;
    fault(error, STATUS_FAILED, "is %s, %s", self->name,
          refusal ? refusal : "which this build, made without libvips, does not read: convert it first");
    return NULL;
}

/* By its header, or else by its pixels. */
static Reader *open_heif(const Format *self, FILE *file, const char *path, const Options *options,
                         GError **error) {
    Reader *reader = heif_open(self, file, path, options, error);
#ifdef WITH_VIPS
    return reader || *error ? reader : foreign_open(self, file, path, options, error);
#else
    return reader || *error ? reader : refuse(self, file, path, options, error);
#endif
}

#define NAMED(name_, probe_, ...) .name = name_, .probe = probe_, .extensions = {__VA_ARGS__}
#define REFUSED(reason, ...)                                                                                 \
    { .format = {NAMED(__VA_ARGS__), .open = refuse}, .refusal = reason }
#ifdef WITH_VIPS
#define TURNED(load_, save_, ...) OPENED(foreign_open, load_, save_, __VA_ARGS__)
#define OPENED(open_, load_, save_, ...)                                                                     \
    {                                                                                                        \
        .format = {NAMED(__VA_ARGS__),                                                                       \
                   .description = foreign_description,                                                       \
                   .open = open_,                                                                            \
                   .read_rows = foreign_read_rows,                                                           \
                   .read_rect = foreign_read_rect,                                                           \
                   .close = foreign_close,                                                                   \
                   .create = foreign_create,                                                                 \
                   .write_rows = foreign_write_rows,                                                         \
                   .finish = foreign_finish,                                                                 \
                   .dispose = foreign_dispose},                                                              \
        .load = load_, .save = save_                                                                         \
    }
#else
#define TURNED(load_, save_, ...) REFUSED(NULL, __VA_ARGS__)
#define OPENED(open_, load_, save_, ...)                                                                     \
    {                                                                                                        \
        .format = { NAMED(__VA_ARGS__), .open = open_ }                                                      \
    }
#endif

#define NOT_WRITTEN "which libvips reads but does not write: convert it to PNG or TIFF first"
#define IN_SPACE    "whose header ties its pixels to places in space: turn it with a program of its field"

static const ForeignFormat table[] = {
    REFUSED("whose film would be lost: turn it with a video program", "a HEIF or AVIF sequence", is_moving,
            "avifs", "heics", "heifs"),
    TURNED("jpegload_source", "jpegsave_target", "JPEG", is_jpeg, "jpg", "jpeg", "jpe", "jfif"),
    TURNED("tiffload_source", "tiffsave_target", "TIFF", is_tiff, "tif", "tiff", "btf", "tf8"),
    TURNED("webpload_source", "webpsave_target", "WebP", is_webp, "webp"),
    OPENED(open_heif, "heifload_source", "heifsave_target", "AVIF", is_avif, "avif", "heif", "hif"),
    OPENED(open_heif, "heifload_source", "heifsave_target", "HEIF", is_heif, "heic", "heif", "hif"),
    TURNED("jxlload_source", "jxlsave_target", "JPEG XL", is_jxl, "jxl"),
    TURNED("jp2kload_source", "jp2ksave_target", "JPEG 2000", is_jp2k, "jp2", "j2k", "j2c", "jpc", "jpt"),
    TURNED("radload_source", "radsave_target", "Radiance", is_radiance, "hdr", "rgbe"),
    TURNED("magickload", "magicksave_buffer", "BMP", is_bmp, "bmp", "dib"),
    TURNED("vipsload", "vipssave", "VIPS", is_vips, "v", "vips"),
    REFUSED(IN_SPACE, "FITS", is_fits, "fits", "fit", "fts"),
    REFUSED(IN_SPACE, "NIfTI", is_nifti, "nii"),
    REFUSED(IN_SPACE, "Analyze", is_analyze, "img", "hdr"),
    REFUSED(NOT_WRITTEN, "PDF", is_pdf, "pdf"),
    REFUSED(NOT_WRITTEN, "SVG", is_svg, "svg"),
    REFUSED(NOT_WRITTEN, "OpenEXR", is_exr, "exr"),
    REFUSED(NOT_WRITTEN, "MATLAB", is_mat, "mat"),
};

const Format *foreign_format_at(gsize i) {
    return i < G_N_ELEMENTS(table) ? &table[i].format : NULL;
}
