/* SPDX-License-Identifier: MIT
 *
 * Enough of CUDA C++ for a compiler of the CPU to take the kernels' sources: the words of the language, the
 * intrinsics they use, and a block whose threads are coroutines that change places at a barrier.
 */
#ifndef TT_SHIM_H
#define TT_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

struct ShimIndex {
    unsigned x, y, z;
};
extern thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;

/* Waits until every thread of the block that has not returned is here. */
void __syncthreads();

/* The same for a warp. */
void __syncwarp();

/* The word of the lane `down` further on, or its own past the warp's end. */
unsigned __shfl_sync(unsigned mask, unsigned v, unsigned lane);
unsigned __shfl_down_sync(unsigned mask, unsigned v, unsigned down);

/* The block's dynamic shared memory, exactly as large as the launch asked for. */
unsigned char *shim_shared_memory();

/* Told of every access of a kernel to its tile; checks that it lies inside, aligned. */
void shim_shared_access(const void *at, unsigned bytes, const char *what);
#define TT_SHARED_ACCESS(at, bytes, what) shim_shared_access(at, bytes, what)

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};

/* Reads of global memory must be aligned on the GPU: so they must be here. */
void shim_check_aligned(const void *at, unsigned bytes);

template <class T> static inline T __ldg(const T *at) {
    T v;
    shim_check_aligned(at, sizeof(T));
    memcpy(&v, at, sizeof(T));
    return v;
}

static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned select) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v |= (unsigned)(bytes >> (8 * (select >> (4 * i) & 7)) & 0xff) << (8 * i);
    return v;
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

/* Runs a kernel: blocks one after another. `run` calls the kernel with its parameters. */
void shim_launch(void (*run)(const void *params), const void *params, unsigned grid, unsigned block,
                 unsigned shared_bytes);

/* The accesses of each warp that the block's threads made to shared memory, if asked for. */
struct ShimAccess {
    uint32_t offset; /* from the start of shared memory */
    uint16_t bytes;
    const char *what;
};
/* Called after each block with every thread's accesses in order, if set. */
extern void (*shim_watch)(unsigned block, unsigned threads, const ShimAccess *const *accesses,
                          const size_t *counts);

#endif
