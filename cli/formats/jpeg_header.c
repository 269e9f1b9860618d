/* SPDX-License-Identifier: MIT
 *
 * Quantisation tables and sampling factors of a JPEG.
 */
#include "jpeg_header.h"

#include <string.h>

/* Tables K.1 and K.2 of ITU-T T.81 in zigzag order, which encoders scale by the quality. */
static const guint8 luminance[64] = {
    16, 11,  12, 14, 12, 10, 16,  14,  13,  14, 18, 17,  16,  19,  24,  40,  26, 24,  22,  22, 24, 49,
    35, 37,  29, 40, 58, 51, 61,  60,  57,  51, 56, 55,  64,  72,  92,  78,  64, 68,  87,  69, 55, 56,
    80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99};
static const guint8 chrominance[64] = {17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99,
                                       99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
                                       99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
                                       99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

enum {
    START = 0xd8,
    END = 0xd9,
    SCAN = 0xda,
    RESTART_FIRST = 0xd0,
    RESTART_LAST = 0xd7,
    COMMENT = 0xfe,
    APP_FIRST = 0xe0,
    APP_LAST = 0xef,
    TABLES = 0xdb,
    FRAME_FIRST = 0xc0,
    FRAME_LAST = 0xcf
};

typedef struct {
    guint16 steps[4][64]; /* 0 where no table was given */
    int components;
    guint8 sampling[4], table[4];
    int frame; /* the marker */
} Tables;

static gboolean is_frame(int marker) {
    return marker >= FRAME_FIRST && marker <= FRAME_LAST && marker != 0xc4 && marker != 0xc8 &&
           marker != 0xcc;
}

static void read_tables(Tables *t, const guint8 *p, const guint8 *end) {
    while (p < end) {
        int wide = *p >> 4 ? 2 : 1, number = *p & 3;
        if (end - ++p < 64 * wide)
            return;
        for (int i = 0; i < 64; i++, p += wide)
            t->steps[number][i] = (guint16)(wide == 2 ? p[0] << 8 | p[1] : p[0]);
    }
}

static void read_frame(Tables *t, int marker, const guint8 *p, const guint8 *end) {
    if (end - p < 6 || p[5] < 1 || p[5] > 4 || end - p < 6 + 3 * p[5])
        return;
    t->frame = marker;
    t->components = p[5];
    for (int i = 0; i < t->components; i++) {
        t->sampling[i] = p[6 + 3 * i + 1];
        t->table[i] = p[6 + 3 * i + 2] & 3;
    }
}

/* The next marker, behind any data; 0 at the end of the file. */
static int next_marker(FILE *file) {
    int c = getc(file);
    for (;;) {
        while (c != 0xff && c != EOF)
            c = getc_unlocked(file);
        while (c == 0xff) /* fill bytes */
            c = getc(file);
        if (c == EOF)
            return 0;
        if (c && c != 1 && (c < RESTART_FIRST || c > RESTART_LAST))
            return c;
    }
}

/* The next marker and what it holds, in `segment`; 0 at the end. */
static int next_segment(FILE *file, GByteArray *segment) {
    int marker = next_marker(file), high, low;
    g_byte_array_set_size(segment, 0);
    if (marker == 0 || marker == END)
        return marker;
    if ((high = getc(file)) < 0 || (low = getc(file)) < 0)
        return 0;
    int size = (high << 8 | low) - 2;
    if (size < 0)
        return 0;
    g_byte_array_set_size(segment, (guint)size);
    return fread(segment->data, 1, segment->len, file) == segment->len ? marker : 0;
}

/* What an application's data begin with where libvips keeps them, or writes them anew. Of the profile and of
 * what Photoshop says there may be several parts, of the others one. */
static const struct {
    int marker;
    const char *start;
    gsize length;
    gboolean repeats;
} kept[] = {{0xe0, "JFIF", 5, FALSE},
            {0xe1, "Exif\0", 6, FALSE},
            {0xe1, "http://ns.adobe.com/xap/1.0/", 29, FALSE},
            {0xe2, "ICC_PROFILE", 12, TRUE},
            {0xed, "Photoshop 3.0", 14, TRUE},
            {0xee, "Adobe", 5, FALSE}};

/* *seen: a bit for each of those that came before. */
static gboolean is_kept(int marker, const GByteArray *segment, guint *seen) {
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        if (kept[i].marker == marker && segment->len >= kept[i].length &&
            !memcmp(segment->data, kept[i].start, kept[i].length)) {
            gboolean again = *seen >> i & 1;
            *seen |= 1u << i;
            return !again || kept[i].repeats;
        }
    return FALSE;
}

static gboolean no_coarser(const guint8 *standard, int quality, const guint16 *steps) {
    int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    for (int i = 0; i < 64; i++)
        if (CLAMP((standard[i] * scale + 50) / 100, 1, 255) > MAX(steps[i], 1))
            return FALSE;
    return TRUE;
}

/* Of three components the first is brightness and the others are colour; one or four are all compressed as
 * brightness. */
static int quality_of(const Tables *t) {
    for (int quality = 1; quality < 100; quality++) {
        gboolean good = t->components > 0;
        for (int i = 0; good && i < t->components; i++)
            good = no_coarser(t->components == 3 && i > 0 ? chrominance : luminance, quality,
                              t->steps[t->table[i]]);
        if (good)
            return quality;
    }
    return 100;
}

static gboolean is_subsampled(const Tables *t) {
    return t->components == 3 && t->sampling[0] == 0x22 && t->sampling[1] == 0x11 && t->sampling[2] == 0x11;
}

JpegHeader jpeg_header_read(FILE *file) {
    Tables t = {.components = 0};
    GByteArray *segment = g_byte_array_new();
    gboolean extra = FALSE, scanned = FALSE;
    guint seen = 0;
    int marker;
    rewind(file);
    if (getc(file) == 0xff && getc(file) == START)
        while ((marker = next_segment(file, segment))) {
            const guint8 *end = segment->data + segment->len;
            scanned |= marker == SCAN;
            if (marker == TABLES && !scanned)
                read_tables(&t, segment->data, end);
            else if (is_frame(marker) && !t.frame)
                read_frame(&t, marker, segment->data, end);
            else if (marker == COMMENT || (marker >= APP_FIRST && marker <= APP_LAST))
                extra |= !is_kept(marker, segment, &seen);
            else if (marker == END) {
                extra |= getc(file) != EOF;
                break;
            }
        }
    g_byte_array_unref(segment);
    gboolean progressive = t.frame == 0xc2 || t.frame == 0xc6 || t.frame == 0xca || t.frame == 0xce;
    return (JpegHeader){quality_of(&t), is_subsampled(&t), progressive, extra};
}
