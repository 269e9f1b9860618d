/* SPDX-License-Identifier: MIT
 *
 * Reading attributes of <Pixels>. A description is text that ends with a 0.
 */
#include "tiff_ome.h"

#include <stdlib.h>
#include <string.h>

static gboolean is_ome(const char *text) {
    return strstr(text, "<OME") != NULL && strstr(text, "<?xml") != NULL;
}

/* The next start tag of that name, prefix or no, from `at`; *end is its '>'. */
static char *next_tag(char *at, const char *name, char **end) {
    gsize length = strlen(name);
    for (char *p = at; (p = strstr(p, name)); p += length)
        if ((p[-1] == '<' || p[-1] == ':') && strchr(" \t\r\n/>", p[length]) && (*end = strchr(p, '>')))
            return p;
    return NULL;
}

/* Names of attributes with SizeX in them: PhysicalSizeXUnit is one, too. */
void tiff_ome_swap(char *text, gsize size) {
    char *end;
    if (strnlen(text, size) == 0 || !is_ome(text))
        return;
    for (char *tag = text + 1; (tag = next_tag(tag, "Pixels", &end)); tag = end) {
        char quote = 0;
        for (char *p = tag; p < end; p++) {
            if (quote || *p == '"' || *p == '\'')
                quote = quote == *p ? 0 : quote ? quote : *p;
            else if (g_str_has_prefix(p, "SizeX") || g_str_has_prefix(p, "SizeY"))
                p[4] = p[4] == 'X' ? 'Y' : 'X';
        }
    }
}

static gsize number_of(const char *tag, const char *end, const char *name) {
    gsize length = strlen(name);
    for (const char *p = tag; (p = strstr(p, name)) && p < end; p += length)
        if (g_ascii_isspace(p[-1]) && p[length] == '=')
            return (gsize)strtoull(p + length + 2, NULL, 10);
    return 0;
}

/* ImageJ keeps the pages of large stacks behind the only directory. */
static const char *imagej_refusal(const char *text, gsize pages) {
    const char *images = strstr(text, "\nimages=");
    return images && strtoull(images + 8, NULL, 10) > pages
               ? "is a stack of ImageJ, most of whose images have no directory: save it as another kind of "
                 "TIFF"
               : NULL;
}

const char *tiff_ome_refusal(const char *text, gsize size, gboolean swap, gsize width, gsize height,
                             gsize pages) {
    char *end;
    if (strnlen(text, size) && g_str_has_prefix(text, "ImageJ="))
        return imagej_refusal(text, pages);
    if (!size || !is_ome(text))
        return NULL;
    if (strstr(text, "<ROI") || strstr(text, ":ROI"))
        return "describes regions of its picture (ROI in OME-XML), which would not follow: remove them first";
    if (!swap)
        return NULL;
    if (strstr(text, "BinaryOnly") || strstr(text, "FileName="))
        return "is one file of several that OME-XML describes, whose sizes would not agree: join them first";
    gboolean found = FALSE;
    for (char *tag = (char *)text + 1; (tag = next_tag(tag, "Pixels", &end)); tag = end, found = TRUE)
        if (number_of(tag, end, "SizeX") != width || number_of(tag, end, "SizeY") != height)
            return "has pages that are not of the size that its OME-XML states, so that it is unsure what to "
                   "change: "
                   "convert it first";
    return found ? NULL : "has OME-XML without sizes: convert it first";
}
