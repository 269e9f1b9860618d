/* SPDX-License-Identifier: MIT
 *
 * A piece's way into the picture that it is a part of.
 */
#include <stdlib.h>

#include "../error.h"
#include "store.h"

static void set_sample(uint8_t *row, size_t x, unsigned bits, unsigned value) {
    unsigned shift = 8 - bits - (unsigned)(x * bits % 8), mask = ((1u << bits) - 1) << shift;
    uint8_t *byte = row + x * bits / 8;
    *byte = (uint8_t)((*byte & ~mask) | value << shift);
}

static unsigned get_sample(const uint8_t *row, size_t x, unsigned bits) {
    return row[x * bits / 8] >> (8 - bits - x * bits % 8) & ((1u << bits) - 1);
}

/* A packed rectangle whose sides do not fall on whole bytes of the picture: it is turned apart, then set
 * sample by sample. Only such rectangles share bytes with others, so only they take the lock. */
static TtStatus place_across_bytes(const TtImage *piece, TtOrientation o, const TtImage *picture, TtRect to,
                                   pthread_mutex_t *seam, const TtOptions *options) {
    unsigned bits = piece->sample_bits;
    size_t pitch = (to.width * bits + 7) / 8;
    uint8_t *turned = malloc(pitch * to.height);
    if (!turned)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for %zu bytes of a piece", pitch * to.height);
    TtImage apart = tt_image(turned, (ptrdiff_t)pitch, to.width, to.height, 1, bits);
    TtStatus status = tt_orient(piece, &apart, o, options);
    pthread_mutex_lock(seam);
    for (size_t y = 0; !status && y < to.height; y++) {
        uint8_t *row = (uint8_t *)picture->data + (ptrdiff_t)(to.y + y) * picture->pitch;
        for (size_t x = 0; x < to.width; x++)
            set_sample(row, to.x + x, bits, get_sample(turned + y * pitch, x, bits));
    }
    pthread_mutex_unlock(seam);
    free(turned);
    return status;
}

TtStatus tt_place(const TtImage *piece, TtOrientation o, const TtImage *picture, TtRect to,
                  pthread_mutex_t *seam, const TtOptions *options) {
    size_t per_byte = piece->sample_bits < 8 ? 8 / piece->sample_bits : 1, end = to.x + to.width;
    if (to.x % per_byte || (end % per_byte && end != picture->width))
        return place_across_bytes(piece, o, picture, to, seam, options);
    TtImage view = tt_subimage(picture, to);
    return tt_orient(piece, &view, o, options);
}
