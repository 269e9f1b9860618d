/* SPDX-License-Identifier: MIT
 *
 * Walking Photoshop's resources: "8BIM", number, name, size, data; names and data are padded to even sizes.
 */
#include "photoshop_turn.h"

#include <string.h>

enum { RESOLUTION = 0x03ed, OLD_THUMBNAIL = 0x0409, THUMBNAIL = 0x040c, AXIS = 8 /* bytes */ };

static gsize even(gsize n) {
    return n + n % 2;
}

static void swap_axes(guint8 *data) {
    guint8 across[AXIS];
    memcpy(across, data, AXIS);
    memcpy(data, data + AXIS, AXIS);
    memcpy(data + AXIS, across, AXIS);
}

gsize photoshop_turn(guint8 *segment, gsize size, gboolean swap) {
    static const char start[] = "Photoshop 3.0";
    gsize at = sizeof(start);
    if (size < at || memcmp(segment, start, at))
        return size;
    while (size - at >= 12 && !memcmp(segment + at, "8BIM", 4)) {
        guint8 *resource = segment + at;
        gsize data = 6 + even(1 + (gsize)resource[6]);
        if (size - at < data + 4)
            break;
        const guint8 *p = resource + data;
        gsize bytes = (gsize)p[0] << 24 | (gsize)p[1] << 16 | (gsize)p[2] << 8 | p[3];
        data += 4;
        if (bytes > size - at - data) /* goes on in the next segment */
            break;
        gsize next = MIN(at + data + even(bytes), size);
        int number = resource[4] << 8 | resource[5];
        if (number == THUMBNAIL || number == OLD_THUMBNAIL) {
            memmove(resource, segment + next, size - next);
            size -= next - at;
            continue;
        }
        if (swap && number == RESOLUTION && bytes == 2 * AXIS)
            swap_axes(resource + data);
        at = next;
    }
    return size;
}
