/* SPDX-License-Identifier: MIT
 *
 * The boxes of a JP2 file, as ISO/IEC 15444-1 annex I lays them out, and the sizes at the start of its
 * codestream, as annex A has them.
 */
#define _GNU_SOURCE
#include "jp2_boxes.h"

#include <string.h>

static const guint8 geojp2[16] = {0xb1, 0x4b, 0xf8, 0xbd, 0x08, 0x3d, 0x4b, 0x43,
                                  0xa5, 0xae, 0x8c, 0xd7, 0xd5, 0xa6, 0xce, 0x03};

typedef struct {
    char type[4];
    off_t body, end;
} Box;

static guint64 number(const guint8 *p, int bytes) {
    guint64 value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

/* The box at `at`, of those up to `end`; FALSE where there is none or it does not fit. */
static gboolean read_box(FILE *file, off_t at, off_t end, Box *box) {
    guint8 head[16];
    if (at > end - 8 || fseeko(file, at, SEEK_SET) || fread(head, 1, 8, file) != 8)
        return FALSE;
    guint64 size = number(head, 4), used = 8;
    if (size == 1) {
        if (fread(head + 8, 1, 8, file) != 8)
            return FALSE;
        size = number(head + 8, 8);
        used = 16;
    } else if (size == 0) { /* it is the last */
        size = (guint64)(end - at);
    }
    if (size < used || size > (guint64)(end - at))
        return FALSE;
    memcpy(box->type, head + 4, 4);
    box->body = at + (off_t)used;
    box->end = at + (off_t)size;
    return TRUE;
}

static gboolean is_one_of(const Box *box, const char *types) {
    for (; *types; types += 4)
        if (!memcmp(box->type, types, 4))
            return TRUE;
    return FALSE;
}

/* GML in JP2 is an association that begins with a label. */
static gboolean is_geographic(FILE *file, const Box *box) {
    guint8 start[256];
    fseeko(file, box->body, SEEK_SET);
    gsize size = fread(start, 1, (gsize)MIN(box->end - box->body, (off_t)sizeof(start)), file);
    return (is_one_of(box, "uuid") && size >= 16 && !memcmp(start, geojp2, 16)) ||
           (is_one_of(box, "asoc") && memmem(start, size, "gml.", 4));
}

/* SIZ, the first segment behind the start of a codestream: fields of 4 bytes from the eighth on, and behind
 * them the number of components, of 3 bytes each. */
static void read_sizes(FILE *file, off_t at, Jp2Boxes *boxes) {
    enum {
        RIGHT = 8,
        BOTTOM = 12,
        LEFT = 16,
        TOP = 20,
        TILE_WIDTH = 24,
        TILE_HEIGHT = 28,
        COMPONENTS = 40,
        END = 42
    };
    guint8 siz[END], component[3];
    if (fseeko(file, at, SEEK_SET) || fread(siz, 1, END, file) != END || memcmp(siz, "\xff\x4f\xff\x51", 4))
        return;
    boxes->width = (guint)(number(siz + RIGHT, 4) - number(siz + LEFT, 4));
    boxes->height = (guint)(number(siz + BOTTOM, 4) - number(siz + TOP, 4));
    boxes->tile_width = (guint)number(siz + TILE_WIDTH, 4);
    boxes->tile_height = (guint)number(siz + TILE_HEIGHT, 4);
    for (guint64 n = number(siz + COMPONENTS, 2); n && fread(component, 1, 3, file) == 3; n--) {
        boxes->bits = MAX(boxes->bits, (component[0] & 0x7fu) + 1);
        boxes->subsampled |= component[1] != 1 || component[2] != 1;
    }
}

static void read_boxes(FILE *file, off_t at, off_t end, const char *plain, Jp2Boxes *boxes) {
    for (Box box; read_box(file, at, end, &box); at = box.end) {
        boxes->geographic |= is_geographic(file, &box);
        boxes->extra |= !is_one_of(&box, plain);
        if (is_one_of(&box, "jp2c") && !boxes->bits)
            read_sizes(file, box.body, boxes);
        if (is_one_of(&box, "jp2h") && strstr(plain, "jp2h"))
            read_boxes(file, box.body, box.end, "ihdrbpcccolrpclrcmapcdef", boxes);
    }
}

Jp2Boxes jp2_boxes_read(FILE *file) {
    Jp2Boxes boxes = {0};
    rewind(file);
    if (getc(file) == 0xff) {
        read_sizes(file, 0, &boxes);
        return boxes;
    }
    if (fseeko(file, 0, SEEK_END))
        return boxes;
    read_boxes(file, 0, ftello(file), "jP  ftypjp2hjp2c", &boxes);
    return boxes;
}
