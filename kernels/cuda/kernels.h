/* SPDX-License-Identifier: MIT
 *
 * The list of kernels, which device code and host share, with the tiles' shapes. Shapes are choices, measured
 * on an H200; any that pass the kernels' assertions are right.
 */
#ifndef TT_CUDA_KERNELS_H
#define TT_CUDA_KERNELS_H

#include "tile_layout.h"

/* How the rows of a side are aligned. ALIGNED: in the source to 16 bytes, in the destination to 32, a sector
 * of memory. NATURAL: to what one access moves; only for pixels of whole words. ANY: not at all. */
#define TT_ALIGNED 0
#define TT_NATURAL 1
#define TT_ANY     2

/* TURN(bytes, source, destination, width, height, threads, blocks, batch, unroll, carveout): one task. The
 * tile is width x height pixels of the destination. So many blocks are to fit a multiprocessor, which says
 * how many registers the compiler may spend on loads under way. A thread has `batch` cells or chunks of the
 * source under way at once; the loop over them is unrolled `unroll` times, which for some sizes is better
 * than small code and for others worse. Carveout is the percentage of a multiprocessor's memory that is
 * preferred for tiles, -1 for the driver's choice: data on its way lies in the cache, which has what tiles
 * leave. Of the shapes that suit a turn, and whose tile the GPU has memory for (48 KiB always), the first is
 * taken, or one whose tiles leave less of themselves unused (plan.c).
 */
#define TT_TURN_KERNELS(TURN)                                                                                \
    TURN(1, TT_NATURAL, TT_ALIGNED, 128, 256, 256, 4, 2, 1, 60)                                              \
    TURN(1, TT_NATURAL, TT_ALIGNED, 128, 128, 256, 6, 2, 1, 44)                                              \
    TURN(1, TT_NATURAL, TT_ANY, 256, 128, 256, 4, 2, 64, -1)                                                 \
    TURN(1, TT_ANY, TT_ALIGNED, 256, 124, 256, 4, 2, 64, -1)                                                 \
    TURN(1, TT_ANY, TT_ANY, 256, 248, 512, 2, 2, 64, -1)                                                     \
    TURN(1, TT_ANY, TT_ANY, 256, 124, 256, 4, 4, 1, -1)                                                      \
    TURN(1, TT_ANY, TT_ANY, 352, 124, 256, 4, 2, 1, -1)                                                      \
    TURN(1, TT_ANY, TT_ANY, 224, 124, 256, 4, 4, 1, -1)                                                      \
    TURN(1, TT_ANY, TT_ANY, 96, 124, 128, 8, 4, 1, -1)                                                       \
    TURN(2, TT_NATURAL, TT_ALIGNED, 64, 128, 256, 6, 4, 1, 44)                                               \
    TURN(2, TT_NATURAL, TT_ANY, 128, 128, 256, 4, 4, 64, -1)                                                 \
    TURN(2, TT_ANY, TT_ALIGNED, 128, 124, 256, 3, 4, 64, -1)                                                 \
    TURN(2, TT_ANY, TT_ANY, 128, 124, 256, 3, 4, 64, -1)                                                     \
    TURN(3, TT_NATURAL, TT_ALIGNED, 96, 128, 384, 3, 1, 1, 44)                                               \
    TURN(3, TT_NATURAL, TT_ANY, 128, 64, 256, 5, 1, 64, -1)                                                  \
    TURN(3, TT_ANY, TT_ALIGNED, 128, 64, 256, 5, 1, 64, -1)                                                  \
    TURN(3, TT_ANY, TT_ANY, 128, 64, 256, 5, 1, 64, -1)                                                      \
    TURN(3, TT_ANY, TT_ANY, 128, 96, 384, 3, 1, 1, -1)                                                       \
    TURN(3, TT_ANY, TT_ANY, 96, 64, 256, 6, 1, 1, -1)                                                        \
    TURN(4, TT_ALIGNED, TT_ALIGNED, 64, 64, 256, 8, 4, 64, 28)                                               \
    TURN(4, TT_NATURAL, TT_NATURAL, 64, 64, 512, 4, 8, 64, -1)                                               \
    TURN(4, TT_NATURAL, TT_NATURAL, 64, 96, 384, 4, 8, 1, -1)                                                \
    TURN(4, TT_NATURAL, TT_NATURAL, 80, 64, 256, 5, 8, 1, -1)                                                \
    TURN(4, TT_ANY, TT_ANY, 64, 64, 256, 4, 4, 1, -1)                                                        \
    TURN(6, TT_NATURAL, TT_ALIGNED, 64, 64, 256, 5, 2, 1, 60)                                                \
    TURN(6, TT_NATURAL, TT_ANY, 64, 64, 256, 5, 2, 64, -1)                                                   \
    TURN(6, TT_ANY, TT_ALIGNED, 64, 64, 256, 5, 2, 64, -1)                                                   \
    TURN(6, TT_ANY, TT_ANY, 64, 64, 256, 5, 2, 64, -1)                                                       \
    TURN(8, TT_ALIGNED, TT_ALIGNED, 32, 32, 256, 8, 2, 1, -1)                                                \
    TURN(8, TT_NATURAL, TT_NATURAL, 32, 64, 256, 4, 4, 64, -1)                                               \
    TURN(8, TT_NATURAL, TT_NATURAL, 32, 96, 384, 4, 4, 1, -1)                                                \
    TURN(8, TT_NATURAL, TT_NATURAL, 72, 32, 256, 5, 4, 1, -1)                                                \
    TURN(8, TT_ANY, TT_ANY, 32, 64, 256, 4, 4, 1, -1)                                                        \
    TURN(12, TT_NATURAL, TT_ALIGNED, 64, 32, 256, 6, 4, 1, 44)                                               \
    TURN(12, TT_NATURAL, TT_NATURAL, 32, 32, 256, 5, 2, 64, -1)                                              \
    TURN(12, TT_ANY, TT_ANY, 32, 32, 256, 5, 2, 1, -1)                                                       \
    TURN(16, TT_NATURAL, TT_ALIGNED, 32, 32, 256, 4, 4, 64, -1)                                              \
    TURN(16, TT_NATURAL, TT_NATURAL, 32, 32, 256, 5, 4, 1, -1)                                               \
    TURN(16, TT_ANY, TT_ANY, 32, 32, 256, 4, 2, 1, -1)

/* The same for a list of tasks, of which any may have rows of planes (task.h). */
#define TT_TURN_LIST_KERNELS(TURN)                                                                           \
    TURN(1, TT_NATURAL, TT_ALIGNED, 128, 128, 256, 6, 2, 1, 44)                                              \
    TURN(1, TT_ANY, TT_ANY, 256, 124, 256, 4, 2, 64, -1)                                                     \
    TURN(2, TT_NATURAL, TT_ALIGNED, 64, 128, 256, 5, 2, 1, 44)                                               \
    TURN(2, TT_ANY, TT_ANY, 128, 124, 256, 3, 4, 64, -1)                                                     \
    TURN(3, TT_ANY, TT_ANY, 128, 64, 256, 5, 1, 1, -1)                                                       \
    TURN(4, TT_ALIGNED, TT_ALIGNED, 64, 64, 256, 8, 4, 64, 28)                                               \
    TURN(4, TT_ANY, TT_ANY, 64, 64, 256, 4, 4, 1, -1)                                                        \
    TURN(6, TT_ANY, TT_ANY, 64, 64, 256, 5, 2, 1, -1)                                                        \
    TURN(8, TT_ANY, TT_ANY, 32, 64, 256, 4, 4, 1, -1)                                                        \
    TURN(12, TT_ANY, TT_ANY, 32, 32, 256, 5, 2, 1, -1)                                                       \
    TURN(16, TT_ANY, TT_ANY, 32, 32, 256, 4, 2, 1, -1)

/* The same for a source of planes, and for a destination of planes. */
#define TT_TURN_JOIN_KERNELS(TURN)                                                                           \
    TURN(1, TT_NATURAL, TT_ALIGNED, 128, 128, 256, 6, 2, 1, 44)                                              \
    TURN(1, TT_ANY, TT_ANY, 256, 124, 256, 4, 4, 1, -1)                                                      \
    TURN(2, TT_NATURAL, TT_ALIGNED, 64, 128, 256, 6, 4, 1, 44)                                               \
    TURN(2, TT_ANY, TT_ANY, 128, 124, 256, 4, 4, 1, -1)                                                      \
    TURN(4, TT_ALIGNED, TT_ALIGNED, 64, 64, 256, 8, 4, 64, 28)                                               \
    TURN(4, TT_ANY, TT_ANY, 64, 64, 256, 4, 4, 1, -1)
#define TT_TURN_SPLIT_KERNELS(TURN)                                                                          \
    TURN(1, TT_NATURAL, TT_ALIGNED, 128, 128, 256, 6, 2, 1, 44)                                              \
    TURN(1, TT_ANY, TT_ANY, 256, 124, 256, 3, 2, 64, -1)                                                     \
    TURN(2, TT_NATURAL, TT_ALIGNED, 64, 128, 256, 6, 4, 1, 44)                                               \
    TURN(2, TT_ANY, TT_ANY, 128, 124, 256, 3, 4, 64, -1)                                                     \
    TURN(4, TT_ALIGNED, TT_ALIGNED, 64, 64, 256, 8, 4, 64, 28)                                               \
    TURN(4, TT_ANY, TT_ANY, 64, 64, 256, 4, 4, 1, -1)

#define TT_SECTOR 32 /* bytes of memory that are fetched and written together */

/* Pixels that a tile holds in front of its own: as many as a sector may reach back, in whole cells. */
#define TT_TURN_LEAD(bytes, dst)                                                                             \
    ((dst) == TT_ALIGNED                                                                                     \
         ? 0u                                                                                                \
         : (31u / (bytes) + tt_cell_pixels(bytes)) / tt_cell_pixels(bytes) * tt_cell_pixels(bytes))

/* Words from one of the tile's rows to the next. Rows that are shifted by bytes are read a word past their
 * end. */
#define TT_TURN_PITCH(bytes, dst, width)                                                                     \
    tt_padded_pitch(((width) + TT_TURN_LEAD(bytes, dst)) * (bytes) / 4 + ((dst) == TT_ANY),                  \
                    tt_cell_access(bytes))

/* All others take lists and have blocks of this many threads. */
#define TT_ROWS_THREADS 256

/* MOVE(bytes, channels, from planes, to planes, any, cells of a lane): along rows, also backward. Any: rows
 * may start on any byte; else on words, and where they are read backward end on words too. */
#define TT_MOVE_KERNELS(MOVE)                                                                                \
    MOVE(3, 1, 0, 0, 0, 4)                                                                                   \
    MOVE(6, 1, 0, 0, 0, 4)                                                                                   \
    MOVE(12, 1, 0, 0, 0, 4)                                                                                  \
    MOVE(1, 3, 0, 1, 0, 4)                                                                                   \
    MOVE(1, 4, 0, 1, 0, 4)                                                                                   \
    MOVE(2, 3, 0, 1, 0, 4)                                                                                   \
    MOVE(2, 4, 0, 1, 0, 4)                                                                                   \
    MOVE(4, 3, 0, 1, 0, 4)                                                                                   \
    MOVE(4, 4, 0, 1, 0, 4)                                                                                   \
    MOVE(1, 3, 1, 0, 0, 4)                                                                                   \
    MOVE(1, 4, 1, 0, 0, 4)                                                                                   \
    MOVE(2, 3, 1, 0, 0, 4)                                                                                   \
    MOVE(2, 4, 1, 0, 0, 4)                                                                                   \
    MOVE(4, 3, 1, 0, 0, 4)                                                                                   \
    MOVE(4, 4, 1, 0, 0, 4)                                                                                   \
    MOVE(3, 1, 0, 0, 1, 4)                                                                                   \
    MOVE(6, 1, 0, 0, 1, 4)                                                                                   \
    MOVE(12, 1, 0, 0, 1, 4)                                                                                  \
    MOVE(1, 1, 0, 0, 1, 8)                                                                                   \
    MOVE(2, 1, 0, 0, 1, 8)                                                                                   \
    MOVE(4, 1, 0, 0, 1, 8)                                                                                   \
    MOVE(8, 1, 0, 0, 1, 4)                                                                                   \
    MOVE(16, 1, 0, 0, 1, 2)                                                                                  \
    MOVE(1, 2, 0, 1, 1, 4)                                                                                   \
    MOVE(1, 3, 0, 1, 1, 4)                                                                                   \
    MOVE(1, 4, 0, 1, 1, 4)                                                                                   \
    MOVE(2, 2, 0, 1, 1, 4)                                                                                   \
    MOVE(2, 3, 0, 1, 1, 4)                                                                                   \
    MOVE(2, 4, 0, 1, 1, 4)                                                                                   \
    MOVE(4, 2, 0, 1, 1, 4)                                                                                   \
    MOVE(4, 3, 0, 1, 1, 4)                                                                                   \
    MOVE(4, 4, 0, 1, 1, 4)                                                                                   \
    MOVE(1, 2, 1, 0, 1, 4)                                                                                   \
    MOVE(1, 3, 1, 0, 1, 4)                                                                                   \
    MOVE(1, 4, 1, 0, 1, 4)                                                                                   \
    MOVE(2, 2, 1, 0, 1, 4)                                                                                   \
    MOVE(2, 3, 1, 0, 1, 4)                                                                                   \
    MOVE(2, 4, 1, 0, 1, 4)                                                                                   \
    MOVE(4, 2, 1, 0, 1, 4)                                                                                   \
    MOVE(4, 3, 1, 0, 1, 4)                                                                                   \
    MOVE(4, 4, 1, 0, 1, 4)

/* COPY(bytes, reverse, alike): rows in chunks of 16 bytes. The first is for rows that are only copied. */
#define TT_COPY_KERNELS(COPY)                                                                                \
    COPY(16, 0, 0)                                                                                           \
    COPY(16, 0, 1)                                                                                           \
    COPY(1, 1, 0)                                                                                            \
    COPY(1, 1, 1)                                                                                            \
    COPY(2, 1, 0)                                                                                            \
    COPY(2, 1, 1)                                                                                            \
    COPY(4, 1, 0)                                                                                            \
    COPY(4, 1, 1)                                                                                            \
    COPY(8, 1, 0)                                                                                            \
    COPY(8, 1, 1)                                                                                            \
    COPY(16, 1, 0)                                                                                           \
    COPY(16, 1, 1)
#define TT_COPY_CHUNKS 4 /* of 16 bytes, a lane */

/* RUN(bytes): short rows that are read backward. A unit is what such a pixel is taken apart into. */
#define TT_RUN_KERNELS(RUN) RUN(1) RUN(2) RUN(3) RUN(4) RUN(6) RUN(8) RUN(12) RUN(16)
#define TT_RUN_UNIT(bytes)  ((bytes) % 4 == 0 ? 4 : (bytes) % 2 == 0 ? 2 : 1)
#define TT_RUN_TILE         (16 * 1024) /* bytes of the source, from a multiple of 16 on */
#define TT_RUN_MARGIN       16          /* bytes in front of and behind a tile that are read, to no effect */

/* UNIT(bytes): pixels of any size, in units. */
#define TT_UNIT_KERNELS(UNIT)                                                                                \
    UNIT(1)                                                                                                  \
    UNIT(2)                                                                                                  \
    UNIT(4)                                                                                                  \
    UNIT(8)                                                                                                  \
    UNIT(16)
#define TT_GATHER_UNITS 8 /* a thread */

#endif
