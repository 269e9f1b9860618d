/* SPDX-License-Identifier: MIT
 *
 * The chunks of a WebP file, as RFC 9649 lays them out.
 */
#include "webp_chunks.h"

#include <string.h>

static gboolean is_known(const guint8 *type) {
    static const char known[] = "VP8XVP8 VP8LALPHANIMANMFICCPEXIFXMP ";
    for (const char *p = known; *p; p += 4)
        if (!memcmp(type, p, 4))
            return TRUE;
    return FALSE;
}

static guint32 number(const guint8 *p) {
    return (guint32)p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

gboolean webp_has_extra(FILE *file) {
    guint8 head[12];
    rewind(file);
    if (fread(head, 1, 12, file) != 12)
        return FALSE;
    off_t end = 8 + (off_t)number(head + 4);
    end += end % 2;
    for (off_t at = 12; at + 8 <= end;) {
        if (fseeko(file, at, SEEK_SET) || fread(head, 1, 8, file) != 8)
            return FALSE; /* decoding will tell */
        if (!is_known(head))
            return TRUE;
        guint32 size = number(head + 4);
        at += 8 + (off_t)size + size % 2;
    }
    return !fseeko(file, 0, SEEK_END) && ftello(file) > end;
}
