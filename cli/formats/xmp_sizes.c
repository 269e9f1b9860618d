/* SPDX-License-Identifier: MIT
 *
 * Changing and exchanging numbers in a text.
 */
#define _GNU_SOURCE
#include "xmp_sizes.h"

#include <string.h>

typedef struct {
    gsize at, length; /* of digits */
} Span;

/* The number of `name="123"` or `<name>123<`; FALSE if there is none. */
static gboolean find_number(const guint8 *packet, gsize size, const char *name, Span *span) {
    const guint8 *p = memmem(packet, size, name, strlen(name)), *end = packet + size;
    if (!p)
        return FALSE;
    p += strlen(name);
    if (end - p >= 2 && p[0] == '=' && (p[1] == '"' || p[1] == '\''))
        p += 2;
    else if (p < end && *p == '>')
        p++;
    else
        return FALSE;
    span->at = (gsize)(p - packet);
    while (p < end && g_ascii_isdigit(*p))
        p++;
    span->length = (gsize)(p - packet) - span->at;
    return span->length > 0;
}

static void swap_spans(guint8 *packet, Span a, Span b) {
    if (a.at > b.at) {
        Span first = b;
        b = a;
        a = first;
    }
    gsize between = b.at - a.at - a.length;
    guint8 *p = packet + a.at, *old = g_memdup2(p, b.at + b.length - a.at);
    memcpy(p, old + a.length + between, b.length);
    memcpy(p + b.length, old + a.length, between);
    memcpy(p + b.length + between, old, a.length);
    g_free(old);
}

/* A smaller number in place of one that says `whole`. */
static void cut(guint8 *packet, gsize size, const char *name, guint whole, guint kept) {
    Span span;
    char was[16], is[16];
    gsize length = (gsize)g_snprintf(was, sizeof(was), "%u", whole);
    gsize left = (gsize)g_snprintf(is, sizeof(is), "%u", kept);
    if (kept == whole || !find_number(packet, size, name, &span) || span.length != length ||
        memcmp(packet + span.at, was, length))
        return;
    gsize lost = length - left, behind = span.at + length;
    guint8 *end = memmem(packet + behind, size - behind, "<?xpacket end", 13);
    if (!end)
        end = packet + size;
    memcpy(packet + span.at, is, left);
    memmove(packet + behind - lost, packet + behind, (gsize)(end - packet) - behind);
    memset(end - lost, ' ', lost);
}

void xmp_turn_sizes(guint8 *packet, gsize size, TtOrientation turn, guint width, guint height,
                    guint kept_width, guint kept_height) {
    static const char *const pairs[][2] = {{"tiff:ImageWidth", "tiff:ImageLength"},
                                           {"exif:PixelXDimension", "exif:PixelYDimension"}};
    Span across, down;
    for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
        cut(packet, size, pairs[i][0], width, kept_width);
        cut(packet, size, pairs[i][1], height, kept_height);
        if (tt_swaps_axes(turn) && find_number(packet, size, pairs[i][0], &across) &&
            find_number(packet, size, pairs[i][1], &down))
            swap_spans(packet, across, down);
    }
}
