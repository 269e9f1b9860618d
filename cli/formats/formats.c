/* SPDX-License-Identifier: MIT
 *
 * The table of formats.
 */
#include <string.h>

#include "format.h"

/* Raw has no signature: it is asked for by --raw and never probed. */
const Format *const formats[] = {&png_format, &raw_format, NULL};

const Format *format_probe(const guint8 *head, gsize size) {
    for (const Format *const *format = formats; *format; format++)
        if ((*format)->probe(head, size))
            return *format;
    return NULL;
}

const Format *format_named(const char *path, const char **foreign) {
    static const char *const others[] = {"jpg",  "jpeg", "tif", "tiff", "webp", "gif", "bmp",
                                         "avif", "heic", "jxl", "jp2",  "ppm",  "pgm", "pbm",
                                         "pnm",  "pam",  "hdr", "exr",  "pdf",  "svg"};
    const char *dot = strrchr(path, '.');
    *foreign = NULL;
    if (!dot || strchr(dot, G_DIR_SEPARATOR))
        return NULL;
    for (const Format *const *format = formats; *format; format++)
        for (const char *const *extension = (*format)->extensions; *extension; extension++)
            if (!g_ascii_strcasecmp(dot + 1, *extension))
                return *format;
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        if (!g_ascii_strcasecmp(dot + 1, others[i]))
            *foreign = others[i];
    return NULL;
}
