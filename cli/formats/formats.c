/* SPDX-License-Identifier: MIT
 *
 * The table of formats: the command's own, then those it has from libvips.
 */
#include <string.h>

#include "format.h"
#include "vips_formats.h"

/* Raw has no signature: it is asked for by --raw and never probed. */
static const Format *const own[] = {
    &png_format,  &pnm_format, &gif_format, &raw_format,
#ifdef WITH_JPEG
    &jpeg_format,
#endif
#ifdef WITH_TIFF
    &tiff_format,
#endif
};

const Format *format_at(gsize i) {
    return i < G_N_ELEMENTS(own) ? own[i] : foreign_format_at(i - G_N_ELEMENTS(own));
}

const Format *format_probe(const guint8 *head, gsize size) {
    const Format *format;
    for (gsize i = 0; (format = format_at(i)); i++)
        if (format->probe(head, size))
            return format;
    return NULL;
}

static gboolean has_extension(const Format *format, const char *extension) {
    for (const char *const *own_one = format->extensions; *own_one; own_one++)
        if (!g_ascii_strcasecmp(extension, *own_one))
            return TRUE;
    return FALSE;
}

gboolean format_is_called(const Format *format, const char *name) {
    return !g_ascii_strcasecmp(format->name, name) || has_extension(format, name);
}

static const char *extension_of(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && !strchr(dot, G_DIR_SEPARATOR) ? dot + 1 : "";
}

gboolean format_is_in_name(const char *path) {
    const Format *format;
    for (gsize i = 0; (format = format_at(i)); i++)
        if (has_extension(format, extension_of(path)))
            return TRUE;
    return FALSE;
}

gboolean format_may_be_named(const Format *format, const char *path) {
    return has_extension(format, extension_of(path)) || !format_is_in_name(path);
}
