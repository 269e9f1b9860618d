/* SPDX-License-Identifier: MIT
 *
 * Where a tile's bytes lie in shared memory: padding as a function of the pixel's size and the tile's shape.
 * Pure functions, in C for the host and its tests and constexpr for the kernels.
 *
 * Cells. A cell is the smallest square of pixels whose rows are whole words of 4 bytes: 4x4 pixels of an
 * odd size, 2x2 of an even one, 1x1 of a multiple of 4. So a row of a cell is
 *
 *     bytes of a pixel   1   2   3   4   6   8  12  16
 *     pixels a side      4   2   4   1   2   1   1   1
 *     words a row        1   1   3   1   3   2   3   4
 *
 * A thread turns a cell in its registers, so that shared memory moves whole words and never single bytes.
 *
 * Banks. Shared memory has 32 banks of one word; word a lies in bank a mod 32, and a warp's access costs as
 * many passes as the fullest bank holds different words. The tile lies in the order of the destination: word
 * w of row y is at y * pitch + w. It is written a column of cells at a time, k being the cell's place along
 * the source's row (so its pixels become rows B * k + i of the tile) and g its group of source rows:
 *
 *     bank = (B * k + i) * pitch + W * g + w     (mod 32)
 *
 * Without padding the pitch is a multiple of 32 and all k share one bank: 32 passes for float, the textbook's
 * case. With an odd pitch, B * k * pitch runs through all multiples of B as k counts to 32 / B, and W * g
 * through all remainders modulo B as g counts to B (W is odd when B > 1). So a warp that writes 32 / B cells
 * along k times B along g meets every bank once. An even pitch shares a factor 2 with 32 and costs 2 passes:
 * this is why padding by two is not as good as by one.
 *
 * Accesses of 8 and 16 bytes are served in 2 and 4 parts of a warp, and the argument holds within a part for
 * pairs and quads of words in place of words: the pitch is an odd number of pairs or quads. Padding is the
 * smallest that makes it so. The tile is read along its rows, next word by next lane, which is free of
 * conflicts at any pitch.
 */
#ifndef TT_TILE_LAYOUT_H
#define TT_TILE_LAYOUT_H

#if defined __CUDACC__
#define TT_PURE static constexpr __host__ __device__
#elif defined __cplusplus
#define TT_PURE static constexpr
#else
#define TT_PURE static inline
#endif

/* Pixels along the side of a cell. */
TT_PURE unsigned tt_cell_pixels(unsigned bytes) {
    return bytes % 4 == 0 ? 1 : bytes % 2 == 0 ? 2 : 4;
}

/* Words in a row of a cell. */
TT_PURE unsigned tt_cell_words(unsigned bytes) {
    return tt_cell_pixels(bytes) * bytes / 4;
}

/* Words that one shared-memory access of a cell moves: 1, 2 or 4. */
TT_PURE unsigned tt_cell_access(unsigned bytes) {
    return tt_cell_words(bytes) % 4 == 0 ? 4 : tt_cell_words(bytes) % 2 == 0 ? 2 : 1;
}

/* The pitch in words of tile rows that hold `words` words: the next odd multiple of the access. */
TT_PURE unsigned tt_padded_pitch(unsigned words, unsigned access) {
    return ((words + access - 1) / access | 1) * access;
}

#endif
