/* SPDX-License-Identifier: MIT
 *
 * The boxes of a JP2 file, as ISO/IEC 15444-1 annex I lays them out.
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

static void read_boxes(FILE *file, off_t at, off_t end, const char *plain, Jp2Boxes *boxes) {
    for (Box box; read_box(file, at, end, &box); at = box.end) {
        boxes->geographic |= is_geographic(file, &box);
        boxes->extra |= !is_one_of(&box, plain);
        if (is_one_of(&box, "jp2h") && strstr(plain, "jp2h"))
            read_boxes(file, box.body, box.end, "ihdrbpcccolrpclrcmapcdef", boxes);
    }
}

Jp2Boxes jp2_boxes_read(FILE *file) {
    Jp2Boxes boxes = {0};
    rewind(file);
    if (getc(file) == 0xff || fseeko(file, 0, SEEK_END))
        return boxes;
    read_boxes(file, 0, ftello(file), "jP  ftypjp2hjp2c", &boxes);
    return boxes;
}
