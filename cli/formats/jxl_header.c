/* SPDX-License-Identifier: MIT
 *
 * The first fields of a JPEG XL codestream, as ISO/IEC 18181-1 packs them: bits, the lowest first.
 */
#include "jxl_header.h"

#include <string.h>

typedef struct {
    guint8 bytes[64];
    gsize at; /* in bits */
} Bits;

static guint32 take(Bits *b, int n) {
    guint32 value = 0;
    for (int i = 0; i < n && b->at < 8 * sizeof(b->bytes); i++, b->at++)
        value |= (guint32)(b->bytes[b->at / 8] >> b->at % 8 & 1) << i;
    return value;
}

/* A number whose length stands before it in two bits. */
static void skip_number(Bits *b, const int lengths[4]) {
    take(b, lengths[take(b, 2)]);
}

/* SizeHeader: one bit tells whether the sizes count in eights. */
static void skip_size(Bits *b) {
    static const int lengths[4] = {9, 13, 18, 30};
    gboolean eights = take(b, 1) == 1;
    for (int side = 0; side < 2; side++) {
        if (eights)
            take(b, 5);
        else
            skip_number(b, lengths);
        if (side == 0 && take(b, 3)) /* the width follows from a ratio */
            return;
    }
}

static void skip_preview_size(Bits *b) {
    static const int eighths[4] = {0, 0, 5, 9}, lengths[4] = {6, 8, 10, 12};
    gboolean eights = take(b, 1) == 1;
    for (int side = 0; side < 2; side++) {
        skip_number(b, eights ? eighths : lengths);
        if (side == 0 && take(b, 3))
            return;
    }
}

/* To the codestream: at the start of a bare one, in a box of a container. */
static gboolean find_codestream(FILE *file) {
    guint8 box[16];
    rewind(file);
    if (fread(box, 1, 2, file) == 2 && box[0] == 0xff && box[1] == 0x0a)
        return !fseeko(file, 0, SEEK_SET);
    rewind(file);
    while (fread(box, 1, 8, file) == 8) {
        guint64 size = (guint64)box[0] << 24 | (guint64)(box[1] << 16 | box[2] << 8 | box[3]), header = 8;
        if (!memcmp(box + 4, "jxlc", 4))
            return TRUE;
        if (!memcmp(box + 4, "jxlp", 4)) /* a part, and its number first */
            return !fseeko(file, 4, SEEK_CUR);
        if (size == 1) {
            if (fread(box, 1, 8, file) != 8)
                return FALSE;
            memcpy(&size, box, 8);
            size = GUINT64_FROM_BE(size);
            header = 16;
        }
        if (size < header || fseeko(file, (off_t)(size - header), SEEK_CUR))
            return FALSE;
    }
    return FALSE;
}

gboolean jxl_is_animated(FILE *file) {
    Bits b = {.at = 16}; /* behind the signature */
    if (!find_codestream(file) || fread(b.bytes, 1, sizeof(b.bytes), file) < 4)
        return FALSE;
    skip_size(&b);
    if (take(&b, 1) || !take(&b, 1)) /* all is as by default, or the extra fields are */
        return FALSE;
    take(&b, 3); /* orientation */
    if (take(&b, 1))
        skip_size(&b); /* intrinsic */
    if (take(&b, 1))
        skip_preview_size(&b);
    return take(&b, 1) == 1;
}
