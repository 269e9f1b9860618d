/* SPDX-License-Identifier: MIT
 *
 * Boxes of properties, found by their names: nothing else at the start of a file is made of those bytes. What
 * they hold is in ISO/IEC 14496-12 and 14496-15, 23008-12, and AV1's binding to it.
 */
#define _GNU_SOURCE
#include "heif_properties.h"

#include <string.h>

static guint number(const guint8 *p) {
    return (guint)p[0] << 8 | p[1];
}

static gboolean is_alpha(const char *kind) {
    return !strcmp(kind, "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha") ||
           !strcmp(kind, "urn:mpeg:hevc:2015:auxid:1");
}

HeifProperties heif_properties_read(FILE *file) {
    enum { SEARCHED = 1 << 20, BEHIND = 64 }; /* zeros, as far as is read behind a name */
    guint8 *head = g_malloc0(SEARCHED);
    rewind(file);
    gsize size = fread(head, 1, SEARCHED - BEHIND, file);
    const guint8 *end = head + size, *p = head;
    const guint8 *hevc = memmem(head, size, "hvcC", 4), *av1 = memmem(head, size, "av1C", 4);
    const guint8 *code = memmem(head, size, "colrnclx", 8);
    HeifProperties h = {.subsampled =
                            (hevc && (hevc[4 + 16] & 3) == 1) || (av1 && (av1[4 + 2] & 0x0c) == 0x0c),
                        .av1 = av1 && !hevc,
                        .coded = code != NULL};
    static const char *const lights[] = {"clli", "mdcv", "cclv", "amve"};
    for (gsize i = 0; i < G_N_ELEMENTS(lights); i++)
        h.light |= memmem(head, size, lights[i], 4) != NULL;
    if (code) {
        h.primaries = number(code + 8);
        h.curve = number(code + 10);
    }
    for (; (p = memmem(p, (gsize)(end - p), "auxC", 4)); p += 4)
        h.further |= !is_alpha((const char *)p + 8);
    g_free(head);
    return h;
}
