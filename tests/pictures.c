/* SPDX-License-Identifier: MIT */
#include "pictures.h"

#include <string.h>

#include "eight.h"
#include "random.h"

static size_t planes_of(const TtImage *p) {
    return p->layout == TT_PLANAR ? p->channels : 1;
}

size_t picture_row_bytes(const TtImage *p) {
    return (p->width * p->sample_bits * (p->channels / planes_of(p)) + 7) / 8;
}

void picture_lay_out(TtImage *p, uint64_t *random) {
    static const size_t gaps[] = {0, 0, 1, 3, 13, 64};
    enum { GAPS = sizeof(gaps) / sizeof(gaps[0]) };
    ptrdiff_t row = (ptrdiff_t)(picture_row_bytes(p) + gaps[random_below(random, GAPS)]);
    ptrdiff_t gap = (ptrdiff_t)gaps[random_below(random, GAPS)];
    uint64_t choice = random_bits(random);

    p->struct_size = sizeof(*p);
    p->pitch = row;
    p->plane_pitch = row * (ptrdiff_t)p->height + gap;
    if (p->layout == TT_PLANAR && (choice & 1)) { /* row by row */
        p->plane_pitch = row;
        p->pitch = row * (ptrdiff_t)p->channels + gap;
    }
    if (choice & 2)
        p->pitch = -p->pitch;
    if (choice & 4)
        p->plane_pitch = -p->plane_pitch;
}

/* How far the lowest byte lies before data, and the end behind it. */
static void reach(const TtImage *p, ptrdiff_t *before, ptrdiff_t *behind) {
    ptrdiff_t rows = p->pitch * (ptrdiff_t)(p->height - 1);
    ptrdiff_t planes = planes_of(p) > 1 ? p->plane_pitch * (ptrdiff_t)(planes_of(p) - 1) : 0;
    *before = (rows < 0 ? -rows : 0) + (planes < 0 ? -planes : 0);
    *behind = (rows > 0 ? rows : 0) + (planes > 0 ? planes : 0) + (ptrdiff_t)picture_row_bytes(p);
}

size_t picture_bytes(const TtImage *p) {
    ptrdiff_t before, behind;
    reach(p, &before, &behind);
    return (size_t)(before + behind);
}

void *picture_lowest(const TtImage *p) {
    ptrdiff_t before, behind;
    reach(p, &before, &behind);
    return (uint8_t *)p->data - before;
}

void picture_place(TtImage *p, void *lowest) {
    ptrdiff_t before, behind;
    reach(p, &before, &behind);
    p->data = (uint8_t *)lowest + before;
}

static uint8_t *row_of(const TtImage *p, size_t y) {
    return (uint8_t *)p->data + (ptrdiff_t)y * p->pitch;
}

unsigned picture_get_packed(const TtImage *p, size_t x, size_t y) {
    size_t bit = x * p->sample_bits;
    return (unsigned)row_of(p, y)[bit / 8] >> (8 - p->sample_bits - bit % 8) & ((1u << p->sample_bits) - 1);
}

void picture_set_packed(const TtImage *p, size_t x, size_t y, unsigned value) {
    size_t bit = x * p->sample_bits, shift = 8 - p->sample_bits - bit % 8;
    unsigned mask = ((1u << p->sample_bits) - 1) << shift;
    uint8_t *byte = row_of(p, y) + bit / 8;
    *byte = (uint8_t)((*byte & ~mask) | value << shift);
}

uint8_t *picture_sample(const TtImage *p, size_t x, size_t y, uint32_t channel) {
    size_t sample = p->sample_bits / 8;
    if (p->layout == TT_PLANAR)
        return row_of(p, y) + (ptrdiff_t)channel * p->plane_pitch + x * sample;
    return row_of(p, y) + (x * p->channels + channel) * sample;
}

void picture_turn(const TtImage *src, const TtImage *dst, int o) {
    for (size_t y = 0; y < dst->height; y++) {
        if (dst->sample_bits < 8)
            memset(row_of(dst, y), 0, picture_row_bytes(dst)); /* the unused bits too */
        for (size_t x = 0; x < dst->width; x++) {
            Point from = eight_source(o, src->width, src->height, x, y);
            if (dst->sample_bits < 8)
                picture_set_packed(dst, x, y, picture_get_packed(src, from.x, from.y));
            else
                for (uint32_t c = 0; c < dst->channels; c++)
                    memcpy(picture_sample(dst, x, y, c), picture_sample(src, from.x, from.y, c),
                           dst->sample_bits / 8);
        }
    }
}

int picture_differs(const TtImage *a, const TtImage *b, size_t *at_x, size_t *at_y) {
    for (size_t y = 0; y < a->height; y++)
        for (size_t x = 0; x < a->width; x++) {
            int differs = a->sample_bits < 8 && picture_get_packed(a, x, y) != picture_get_packed(b, x, y);
            for (uint32_t c = 0; a->sample_bits >= 8 && c < a->channels; c++)
                differs |= memcmp(picture_sample(a, x, y, c), picture_sample(b, x, y, c), a->sample_bits / 8);
            if (differs) {
                *at_x = x;
                *at_y = y;
                return 1;
            }
        }
    return 0;
}
