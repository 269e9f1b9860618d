/* SPDX-License-Identifier: MIT
 *
 * Backends of the CPU: they share one walk and differ in the kernels that move one block.
 */
#ifndef TT_CPU_H
#define TT_CPU_H

#include "../backend.h"

/* A piece of one channel, small enough for the cache. Element (x, y) of the destination is at
 * dst + y * dst_pitch + x * dst_step. */
typedef struct {
    const uint8_t *src;
    uint8_t *dst;
    ptrdiff_t src_pitch, dst_pitch;
    size_t src_step, dst_step;
    size_t width, height; /* of the destination, in elements */
    size_t bytes;         /* of an element */
    unsigned bits;        /* packed: of a sample, and the steps and bytes are 0 */
} TtBlock;

/* One kernel for each TtKernel. Packed samples have three of their own; a packed block starts on a byte
 * of both sides and the kernel clears the unused bits of the destination's last byte. */
typedef struct {
    void (*run[3])(const TtBlock *block);
    void (*run_packed[3])(const TtBlock *block);
} TtCpuKernels;

/* Does the move block by block, over several threads when it is worth them. */
void tt_cpu_walk(const TtCpuKernels *kernels, const TtMove *move, unsigned threads);

void tt_packed_copy(const TtBlock *block);
void tt_packed_reverse(const TtBlock *block);
void tt_packed_transpose(const TtBlock *block);

extern const TtBackend tt_backend_c;

#endif
