/* SPDX-License-Identifier: MIT
 *
 * Keywords, and digits to bytes and back.
 */
#include "text_blocks.h"

#include <string.h>

enum { MOST_BYTES = 4 << 20 };

/* The second "APP1" is no repetition: such a segment of a JPEG is either. */
static const struct {
    const char *keyword;
    gboolean xmp, digits;
    int rank;
} carriers[] = {
    {"Raw profile type exif", FALSE, TRUE, RANK_PROFILE},
    {"Raw profile type APP1", FALSE, TRUE, RANK_PROFILE},
    {"Raw profile type APP1", TRUE, TRUE, RANK_XMP},
    {"Raw profile type xmp", TRUE, TRUE, RANK_XMP},
    {"XML:com.adobe.xmp", TRUE, FALSE, RANK_XMP},
};

gboolean text_may_hold_block(const char *keyword) {
    for (gsize i = 0; i < G_N_ELEMENTS(carriers); i++)
        if (!strcmp(keyword, carriers[i].keyword))
            return TRUE;
    return FALSE;
}

/* The digits begin behind two lines with a name and a length. */
static guint8 *first_digit(guint8 *text, const guint8 *end) {
    for (int lines = 0; text < end && lines < 3; text++)
        lines += *text == '\n';
    return text;
}

static GByteArray *read_digits(const guint8 *text, const guint8 *end) {
    GByteArray *bytes = g_byte_array_new();
    int high = -1;
    for (; text < end && bytes->len < MOST_BYTES; text++) {
        int value = g_ascii_xdigit_value((char)*text);
        if (value < 0)
            continue;
        if (high < 0) {
            high = value;
            continue;
        }
        guint8 byte = (guint8)(high * 16 + value);
        g_byte_array_append(bytes, &byte, 1);
        high = -1;
    }
    return bytes;
}

/* Writes bytes over the digits that stand for them, but only over those that differ. */
static void write_digits(guint8 *text, const guint8 *end, const GByteArray *bytes) {
    gsize n = 0;
    for (; text < end && n < 2 * (gsize)bytes->len; text++) {
        if (!g_ascii_isxdigit(*text))
            continue;
        int value = n % 2 ? bytes->data[n / 2] & 15 : bytes->data[n / 2] >> 4;
        if (g_ascii_xdigit_value((char)*text) != value)
            *text = (guint8) "0123456789abcdef"[value];
        n++;
    }
}

static void visit_digits(guint8 *text, gsize size, Block block, VisitBlock visit, gpointer data) {
    const guint8 *end = text + size;
    guint8 *start = first_digit(text, end);
    GByteArray *bytes = read_digits(start, end);
    block.data = bytes->data;
    block.size = bytes->len;
    if (block.size)
        visit(&block, data);
    write_digits(start, end, bytes);
    g_byte_array_unref(bytes);
}

void text_blocks_visit(const char *keyword, guint8 *text, gsize size, VisitBlock visit, gpointer data) {
    for (gsize i = 0; i < G_N_ELEMENTS(carriers); i++) {
        const Block block = {.data = text, .size = size, .xmp = carriers[i].xmp, .rank = carriers[i].rank};
        if (strcmp(keyword, carriers[i].keyword))
            continue;
        if (carriers[i].digits)
            visit_digits(text, size, block, visit, data);
        else
            visit(&block, data);
    }
}
