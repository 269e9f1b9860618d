/* SPDX-License-Identifier: MIT
 *
 * The header of a BMP, of which there are several lengths.
 */
#include "bmp_header.h"

#include <string.h>

enum { FILE_HEADER = 14, INFO = 40, V5 = 124 };

static guint32 number(const guint8 *p, int bytes) {
    guint32 value = 0;
    while (bytes--)
        value = value << 8 | p[bytes];
    return value;
}

BmpHeader bmp_header_read(FILE *file) {
    guint8 head[FILE_HEADER + V5] = {0};
    const guint8 *info = head + FILE_HEADER;
    rewind(file);
    gsize got = fread(head, 1, sizeof(head), file);
    (void)got; /* the rest is 0 */
    guint32 size = number(info, 4);
    if (size < INFO)
        return (BmpHeader){.few_bits = number(info + 10, 2) < 24};
    const guint8 *space = info + 56;
    return (BmpHeader){.few_bits = number(info + 14, 2) < 24,
                       .resolution = number(info + 24, 4) || number(info + 28, 4),
                       .profile = size >= V5 && (!memcmp(space, "DEBM", 4) || !memcmp(space, "KNIL", 4))};
}
