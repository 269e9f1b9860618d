/* SPDX-License-Identifier: MIT
 *
 * Samples of 1, 2 and 4 bits, packed from the most significant bit: plain loops that make one byte of
 * the destination at a time out of the samples that belong in it.
 */
#include <string.h>

#include "../size.h"
#include "cpu.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Sample x of a row. */
ALWAYS_INLINE unsigned sample_at(const uint8_t *row, size_t x, unsigned bits) {
    unsigned per_byte = 8 / bits;
    return row[x / per_byte] >> (8 - bits - x % per_byte * bits) & ((1u << bits) - 1);
}

/* n samples in the high bits of a byte, the rest 0. */
ALWAYS_INLINE uint8_t left_aligned(unsigned samples, size_t n, unsigned bits) {
    return (uint8_t)(samples << (8 - n * bits));
}

void tt_packed_copy(const TtBlock *b) {
    size_t row_bits = b->width * b->bits, whole = row_bits / 8, rest = row_bits % 8;
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        memcpy(dst, src, whole);
        if (rest)
            dst[whole] = src[whole] & (uint8_t)(0xff00 >> rest);
    }
}

ALWAYS_INLINE void reverse_of(const TtBlock *b, unsigned bits) {
    size_t per_byte = 8 / bits;
    for (size_t y = 0; y < b->height; y++) {
        const uint8_t *src = b->src + (ptrdiff_t)y * b->src_pitch;
        uint8_t *dst = b->dst + (ptrdiff_t)y * b->dst_pitch;
        for (size_t x = 0; x < b->width; x += per_byte) {
            size_t n = smaller(per_byte, b->width - x);
            unsigned samples = 0;
            for (size_t i = x; i < x + n; i++)
                samples = samples << bits | sample_at(src, b->width - 1 - i, bits);
            *dst++ = left_aligned(samples, n, bits);
        }
    }
}

ALWAYS_INLINE void transpose_of(const TtBlock *b, unsigned bits) {
    size_t per_byte = 8 / bits;
    for (size_t x = 0; x < b->width; x += per_byte) {
        size_t n = smaller(per_byte, b->width - x);
        const uint8_t *src = b->src + (ptrdiff_t)x * b->src_pitch;
        uint8_t *dst = b->dst + x / per_byte;
        for (size_t y = 0; y < b->height; y++) {
            unsigned samples = 0;
            for (size_t i = 0; i < n; i++)
                samples = samples << bits | sample_at(src + (ptrdiff_t)i * b->src_pitch, y, bits);
            dst[(ptrdiff_t)y * b->dst_pitch] = left_aligned(samples, n, bits);
        }
    }
}

void tt_packed_reverse(const TtBlock *b) {
    b->bits == 1 ? reverse_of(b, 1) : b->bits == 2 ? reverse_of(b, 2) : reverse_of(b, 4);
}

void tt_packed_transpose(const TtBlock *b) {
    b->bits == 1 ? transpose_of(b, 1) : b->bits == 2 ? transpose_of(b, 2) : transpose_of(b, 4);
}
