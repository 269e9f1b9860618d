/* SPDX-License-Identifier: MIT
 *
 * The directories of a TIFF or BigTIFF, without their pixels.
 */
#include "tiff_tags.h"

#include <string.h>

enum {
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    DESCRIPTION = 270,
    X_RESOLUTION = 282,
    Y_RESOLUTION = 283,
    RESOLUTION_UNIT = 296,
    PREDICTOR = 317,
    TILE_WIDTH = 322,
    TILE_HEIGHT = 323,
    SUB_IFDS = 330,
    EXTRA_SAMPLES = 338,
    PIXEL_SCALE = 33550,
    TIE_POINTS = 33922,
    TRANSFORMATION = 34264,
    GEO_KEYS = 34735,
    DNG_VERSION = 50706,
    SHORT = 3,
    MAX_PAGES = 65536, /* more is a loop */
};

/* Tags that libvips keeps, or makes anew for the turned picture. */
static const guint16 kept[] = {254, 255, 256, 257, 258, 259, 262, 266, 270,   273,   274,  277,
                               278, 279, 280, 281, 282, 283, 284, 296, 297,   317,   320,  322,
                               323, 324, 325, 338, 339, 340, 341, 347, 529,   530,   531,  532,
                               512, 513, 514, 515, 519, 700, 292, 293, 33723, 34377, 34675};

static const struct {
    guint tag;
    const char *name;
} names[] = {{269, "DocumentName"},
             {271, "Make"},
             {272, "Model"},
             {285, "PageName"},
             {305, "Software"},
             {306, "DateTime"},
             {315, "Artist"},
             {316, "HostComputer"},
             {33432, "Copyright"},
             {34665, "Exif"},
             {34853, "GPS"},
             {318, "WhitePoint"},
             {301, "TransferFunction"},
             {319, "PrimaryChromaticities"}};

/* What each page has of its own and libvips has once. */
static const guint16 own[] = {DESCRIPTION, X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT};
enum { OWN_X = 1, OWN_Y = 2 };

typedef struct {
    FILE *file;
    gboolean big_endian, big;
    gboolean failed; /* the file ended */
    guint page;
    guint64 first[G_N_ELEMENTS(own)], this[G_N_ELEMENTS(own)]; /* their sums; 0 if absent */
    guint unit;
    guint64 summable; /* how many bytes more are worth their time */
    TiffTags *tags;
} Walk;

static guint64 number(Walk *w, int bytes) {
    guint8 raw[8];
    guint64 value = 0;
    if (w->failed || fread(raw, 1, (gsize)bytes, w->file) != (gsize)bytes) {
        w->failed = TRUE;
        return 0;
    }
    for (int i = 0; i < bytes; i++)
        value = value << 8 | raw[w->big_endian ? i : bytes - 1 - i];
    return value;
}

static void note_lost(TiffTags *tags, guint tag) {
    char digits[16];
    const char *name = digits;
    g_snprintf(digits, sizeof(digits), "%u", tag);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (names[i].tag == tag)
            name = names[i].name;
    if (!tags->lost)
        tags->lost = g_string_new(name);
    else if (!strstr(tags->lost->str, name))
        g_string_append_printf(tags->lost, ", %s", name);
}

static gboolean is_kept(guint tag) {
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        if (kept[i] == tag)
            return TRUE;
    return FALSE;
}

static void take(Walk *w, guint tag, guint value) {
    TiffTags *tags = w->tags;
    guint *of_first = tag == BITS          ? &tags->bits
                      : tag == COMPRESSION ? &tags->compression
                      : tag == PHOTOMETRIC ? &tags->photometric
                      : tag == PREDICTOR   ? &tags->predictor
                      : tag == TILE_WIDTH  ? &tags->tile_width
                      : tag == TILE_HEIGHT ? &tags->tile_height
                                           : NULL;
    if (of_first && w->page == 0)
        *of_first = value;
    if (tag == EXTRA_SAMPLES && value == 1)
        tags->premultiplied = TRUE;
    if (tag == EXTRA_SAMPLES && value == 0)
        tags->unnamed = TRUE;
    if (tag == RESOLUTION_UNIT)
        w->unit = value;
    if (tag == SUB_IFDS || tag == DNG_VERSION)
        tags->nested = TRUE;
    else if (tag == PIXEL_SCALE || tag == TIE_POINTS || tag == TRANSFORMATION || tag == GEO_KEYS)
        tags->geographic = TRUE;
    else if (!is_kept(tag))
        note_lost(tags, tag);
}

static guint64 bytes_of(guint type) {
    return type == 3 || type == 8                                ? 2
           : type == 4 || type == 9 || type == 11 || type == 13  ? 4
           : type == 5 || type == 10 || type == 12 || type >= 16 ? 8
                                                                 : 1;
}

/* Of the first MiB of an entry's value, which is at the file's position or where the offset there points. */
static guint64 sum_of(Walk *w, guint type, guint64 count) {
    guint64 room = w->big ? 8 : 4, sum = 14695981039346656037u ^ count;
    guint64 bytes = MIN(count, 1 << 20) * bytes_of(type);
    if (bytes > w->summable) {
        w->tags->pages_differ = TRUE; /* for all that is known */
        return sum | 1;
    }
    w->summable -= bytes;
    if (bytes > room && fseeko(w->file, (off_t)number(w, (int)room), SEEK_SET))
        return sum | 1;
    for (int c; bytes && (c = getc(w->file)) != EOF; bytes--)
        sum = (sum ^ (guint64)c) * 1099511628211u;
    return sum | 1;
}

static void end_page(Walk *w) {
    if (w->page == 0) {
        memcpy(w->first, w->this, sizeof(w->first));
        w->tags->shape_only = w->unit == 1 && w->this[OWN_X] != w->this[OWN_Y];
    } else if (memcmp(w->first, w->this, sizeof(w->first))) {
        w->tags->pages_differ = TRUE;
    }
    memset(w->this, 0, sizeof(w->this));
}

/* An entry: its tag and its value, the first one where it has several that fit in; else an offset. */
static void read_entry(Walk *w) {
    guint tag = (guint)number(w, 2), type = (guint)number(w, 2);
    guint64 count = number(w, w->big ? 8 : 4);
    off_t value_at = ftello(w->file);
    guint value = (guint)number(w, type == SHORT ? 2 : 4);
    if (tag == BITS && count > (w->big ? 4 : 2)) { /* each channel's bits are elsewhere: they are equal */
        fseeko(w->file, value_at, SEEK_SET);
        fseeko(w->file, (off_t)number(w, w->big ? 8 : 4), SEEK_SET);
        value = (guint)number(w, 2);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
        if (own[i] == tag) {
            fseeko(w->file, value_at, SEEK_SET);
            w->this[i] = sum_of(w, type, count);
        }
    fseeko(w->file, value_at + (w->big ? 8 : 4), SEEK_SET);
    if (!w->failed)
        take(w, tag, value);
}

gboolean tiff_tags_read(FILE *file, TiffTags *tags) {
    Walk w = {.file = file, .summable = 64 << 20, .tags = tags};
    *tags = (TiffTags){.bits = 1, .compression = 1};
    rewind(file);
    w.big_endian = getc(file) == 'M';
    getc(file);
    w.big = tags->big = number(&w, 2) == 43;
    if (w.big)
        number(&w, 4); /* the size of offsets, always 8 */
    guint64 next = number(&w, w.big ? 8 : 4), seen = 0;
    for (; next && !w.failed && w.page < MAX_PAGES; w.page++) {
        if (fseeko(file, (off_t)next, SEEK_SET))
            return FALSE;
        guint64 entries = number(&w, w.big ? 8 : 2);
        for (guint64 i = 0; i < entries && !w.failed; i++)
            read_entry(&w);
        end_page(&w);
        if (!(w.page & (w.page + 1)))
            seen = next; /* a loop comes to one of these again */
        next = number(&w, w.big ? 8 : 4);
        if (next && next == seen)
            break;
    }
    return !w.failed;
}

void tiff_tags_clear(TiffTags *tags) {
    if (tags->lost)
        g_string_free(tags->lost, TRUE);
    tags->lost = NULL;
}
