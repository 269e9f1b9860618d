/* SPDX-License-Identifier: MIT
 *
 * Plain loops over bits: such files are few.
 */
#include "tiff_steps.h"

#include <string.h>

gboolean tiff_steps_are_odd(const TiffPicture *p) {
    return p->step_bits % 8 && p->step_bits != 1 && p->step_bits != 2 && p->step_bits != 4;
}

TtImage tiff_step(const TiffPicture *p) {
    if (p->step_bits < 8 && !tiff_steps_are_odd(p))
        return tt_image(NULL, 0, 0, 0, 1, (guint32)p->step_bits);
    return tt_image(NULL, 0, 0, 0, (guint32)((p->step_bits + 7) / 8), 8);
}

static guint bit_at(const guint8 *row, gsize i) {
    return row[i / 8] >> (7 - i % 8) & 1u;
}

static void set_bit(guint8 *row, gsize i, guint bit) {
    row[i / 8] = (guint8)(row[i / 8] | bit << (7 - i % 8));
}

void tiff_steps_unpack(const TiffPicture *p, const guint8 *rows, gsize pitch, gsize first,
                       const TtImage *to) {
    gsize bits = p->step_bits, bytes = to->channels;
    for (gsize y = 0; y < to->height; y++) {
        guint8 *row = (guint8 *)to->data + (ptrdiff_t)y * to->pitch;
        memset(row, 0, to->width * bytes);
        for (gsize x = 0; x < to->width; x++)
            for (gsize i = 0; i < bits; i++)
                set_bit(row + x * bytes, i, bit_at(rows + y * pitch, first + x * bits + i));
    }
}

void tiff_steps_pack(const TiffPicture *p, const TtImage *from, guint8 *rows, gsize pitch) {
    gsize bits = p->step_bits, bytes = from->channels;
    for (gsize y = 0; y < from->height; y++) {
        const guint8 *row = (const guint8 *)from->data + (ptrdiff_t)y * from->pitch;
        memset(rows + y * pitch, 0, (from->width * bits + 7) / 8);
        for (gsize x = 0; x < from->width; x++)
            for (gsize i = 0; i < bits; i++)
                set_bit(rows + y * pitch, x * bits + i, bit_at(row + x * bytes, i));
    }
}

void tiff_steps_turned(const TiffPicture *from, TtOrientation turn, const TtImage *units) {
    guint across = from->units_across, down = from->units_down, n = across * down;
    guint place[16];
    guint8 old[16];
    if (n == 1)
        return;
    guint row = tt_swaps_axes(turn) ? down : across;
    for (guint i = 0; i < n; i++) {
        TtRect there = tt_map_rect(turn, across, down, (TtRect){i % across, i / across, 1, 1});
        place[i] = (guint)(there.y * row + there.x);
    }
    for (gsize y = 0; y < units->height; y++)
        for (gsize x = 0; x < units->width; x++) {
            guint8 *unit = (guint8 *)units->data + (ptrdiff_t)y * units->pitch + x * units->channels;
            memcpy(old, unit, n);
            for (guint i = 0; i < n; i++)
                unit[place[i]] = old[i];
        }
}
