/* SPDX-License-Identifier: MIT
 *
 * Copying segments until the pixels begin, and then bytes.
 */
#include "jpeg_tag.h"

#include <errno.h>
#include <string.h>

#include "../say.h"
#include "exif_turn.h"
#include "jpeg_segments.h"
#include "orientation_tag.h"

enum { APP0 = JPEG_APP0, APP1 = JPEG_APP0 + 1, SCAN = 0xda, LENGTH_MAX = 0xffff };

static void write_segment(FILE *to, int marker, const guint8 *data, gsize size) {
    gsize length = size + 2;
    const guint8 head[4] = {0xff, (guint8)marker, (guint8)(length >> 8), (guint8)length};
    fwrite(head, 1, sizeof(head), to);
    if (size)
        fwrite(data, 1, size, to);
}

static void write_block(FILE *to, GByteArray *block) {
    write_segment(to, APP1, block->data, block->len);
    g_byte_array_unref(block);
}

/* Markers without a length; 0 is a stuffed byte. */
static gboolean stands_alone(int marker) {
    return marker == 0 || marker == 0x01 || (marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7);
}

/* The marker of the next segment, and what it holds; 0 if there is none. Bytes that fill are passed over. */
static int read_segment(FILE *from, GByteArray *segment) {
    int c, marker, high, low;
    do {
        while ((c = getc(from)) != EOF && c != 0xff)
            ;
        while ((marker = getc(from)) == 0xff)
            ;
    } while (c != EOF && stands_alone(marker));
    if (c == EOF || marker == EOF || marker == SCAN || marker == JPEG_EOI)
        return marker == SCAN ? SCAN : 0;
    if ((high = getc(from)) == EOF || (low = getc(from)) == EOF || (high << 8 | low) < 2)
        return 0;
    g_byte_array_set_size(segment, (guint)(high << 8 | low) - 2);
    return fread(segment->data, 1, segment->len, from) == segment->len ? marker : 0;
}

/* FALSE if EXIF has no room for an entry. */
static gboolean write_tagged(FILE *to, int marker, GByteArray *segment, const JpegTag *how,
                             gboolean *stated) {
    guint8 *data = segment->data;
    gsize size = segment->len;
    if (jpeg_is_xmp(marker, data, size))
        xmp_set_orientation(data + XMP_NAME, size - XMP_NAME, (int)how->tag);
    if (*stated || !jpeg_is_exif(marker, data, size)) {
        write_segment(to, marker, data, size);
        return TRUE;
    }
    *stated = TRUE;
    if (exif_set_orientation(data, size, (int)how->tag)) {
        write_segment(to, marker, data, size);
        return TRUE;
    }
    GByteArray *block = exif_with_orientation(data, size, how->tag);
    gboolean fits = block->len + 2 <= LENGTH_MAX;
    fits ? write_block(to, block) : (void)g_byte_array_unref(block);
    return fits;
}

static gboolean copy_to(FILE *from, FILE *to, goffset end, GError **error) {
    guint8 buffer[65536];
    gsize n = 1;
    for (goffset at = ftello(from); at < end && n; at += (goffset)n) {
        n = fread(buffer, 1, (gsize)MIN(end - at, (goffset)sizeof(buffer)), from);
        fwrite(buffer, 1, n, to);
    }
    return !ferror(from) || system_fault(error, "read it", errno);
}

gboolean jpeg_tag_write(FILE *from, FILE *to, const JpegTag *how, GError **error) {
    GByteArray *segment = g_byte_array_new();
    gboolean stated = FALSE, good = TRUE;
    int marker = 0;
    rewind(from);
    getc(from);
    getc(from);
    fwrite("\xff\xd8", 1, 2, to);
    while (good && (marker = read_segment(from, segment)) && marker != SCAN) {
        if (marker != APP0 && !stated && (!how->has_exif || how->strip)) {
            write_block(to, exif_of_orientation(how->tag));
            stated = TRUE;
        }
        gboolean beside = marker == JPEG_COM || (marker & 0xf0) == APP0;
        if (!how->strip || !beside || jpeg_is_needed(marker, segment->data, segment->len))
            good = write_tagged(to, marker, segment, how, &stated);
    }
    g_byte_array_unref(segment);
    if (!good)
        return fault(error, STATUS_FAILED,
                     "has EXIF that is too large for an orientation tag: use another --jpeg");
    if (marker != SCAN)
        return fault(error, STATUS_FAILED, "became shorter while it was read: leave it alone and try again");
    fwrite("\xff\xda", 1, 2, to);
    return copy_to(from, to, how->strip ? how->end : G_MAXINT64, error) &&
           (!ferror(to) || system_fault(error, "write the output", errno));
}
