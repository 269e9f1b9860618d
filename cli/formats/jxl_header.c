/* SPDX-License-Identifier: MIT
 *
 * The first fields of a JPEG XL codestream, as ISO/IEC 18181-1 packs them: bits, the lowest first; and the
 * boxes of part 2.
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

typedef struct {
    char type[4];
    guint64 body; /* bytes; G_MAXUINT64 if it is the last box and goes to the end of the file */
} Box;

static gboolean read_box(FILE *file, Box *box) {
    guint8 head[8];
    if (fread(head, 1, 8, file) != 8)
        return FALSE;
    memcpy(box->type, head + 4, 4);
    guint64 size = (guint64)head[0] << 24 | (guint64)(head[1] << 16 | head[2] << 8 | head[3]), used = 8;
    if (size == 1) {
        if (fread(head, 1, 8, file) != 8)
            return FALSE;
        memcpy(&size, head, 8);
        size = GUINT64_FROM_BE(size);
        used = 16;
    }
    box->body = size ? size - used : G_MAXUINT64;
    return !size || size >= used;
}

static gboolean is_one_of(const Box *box, const char *types) {
    for (; *types; types += 4)
        if (!memcmp(box->type, types, 4))
            return TRUE;
    return FALSE;
}

static gboolean skip_box(FILE *file, const Box *box) {
    return box->body <= G_MAXINT64 && !fseeko(file, (off_t)box->body, SEEK_CUR);
}

static gboolean is_bare(FILE *file) {
    rewind(file);
    gboolean bare = getc(file) == 0xff && getc(file) == 0x0a;
    rewind(file);
    return bare;
}

/* To the codestream: at the start of a bare one, in a box of a container. */
static gboolean find_codestream(FILE *file) {
    Box box;
    if (is_bare(file))
        return TRUE;
    while (read_box(file, &box)) {
        if (is_one_of(&box, "jxlc"))
            return TRUE;
        if (is_one_of(&box, "jxlp")) /* a part, and its number first */
            return !fseeko(file, 4, SEEK_CUR);
        if (!skip_box(file, &box))
            return FALSE;
    }
    return FALSE;
}

/* A box in Brotli's compression: it says first which box it is. */
static gboolean open_compressed(FILE *file, Box *box) {
    if (!is_one_of(box, "brob"))
        return TRUE;
    box->body -= box->body == G_MAXUINT64 ? 0 : 4;
    return fread(box->type, 1, 4, file) == 4;
}

gboolean jxl_has_extra(FILE *file, const char *kept) {
    Box box;
    if (is_bare(file))
        return FALSE;
    while (read_box(file, &box) && open_compressed(file, &box)) {
        if (!is_one_of(&box, "JXL ftypjxlcjxlpjxlljxli") && !is_one_of(&box, kept))
            return TRUE;
        if (!skip_box(file, &box))
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
