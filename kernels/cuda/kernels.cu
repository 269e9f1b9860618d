/* SPDX-License-Identifier: MIT
 *
 * The kernels by name: kernels.h made into code.
 */
#include "general.cuh"
#include "kernels.h"
#include "rows.cuh"
#include "turn.cuh"

#ifdef __CUDACC__
extern __shared__ __align__(16) unsigned char tt_shared[];
#define SHARED tt_shared
#else
#define SHARED shim_shared_memory()
#endif

/* kernels.h counts the blocks that fit a multiprocessor of 2048 threads. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ == 750
#define MOST_THREADS 1024
#elif defined __CUDA_ARCH__ &&                                                                               \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
#define MOST_THREADS 1536
#else
#define MOST_THREADS 2048
#endif
#define BLOCKS(blocks, threads) ((blocks) * (threads) <= MOST_THREADS ? (blocks) : MOST_THREADS / (threads))

/* The task of a list that this block works on, and which of the task's blocks it is. */
TT_DEVICE const TtTask &task_of(const TtTaskList &list, uint32_t *block) {
    uint32_t i = 0;
    while (i + 1 < list.count && list.first[i + 1] <= blockIdx.x)
        i++;
    *block = blockIdx.x - list.first[i];
    return list.tasks[i];
}

#define TURN(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)                       \
    extern "C" __global__ void __launch_bounds__(threads, BLOCKS(blocks, threads))                           \
        tt_turn_##bytes##_##src##_##dst##_##width##x##height(const __grid_constant__ TtTask task) {          \
        turn<TurnShape<bytes, src, dst, width, height, threads, batch, unroll, false, false>>(               \
            task, blockIdx.x, (Word *)SHARED);                                                               \
    }
TT_TURN_KERNELS(TURN)

#define TURN_LIST(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)                  \
    extern "C" __global__ void __launch_bounds__(threads, BLOCKS(blocks, threads))                           \
        tt_turn_list_##bytes##_##src##_##dst##_##width##x##height(const __grid_constant__ TtTaskList list) { \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        turn<TurnShape<bytes, src, dst, width, height, threads, batch, unroll, true, true>>(task, block,     \
                                                                                            (Word *)SHARED); \
    }
TT_TURN_LIST_KERNELS(TURN_LIST)

#define TURN_JOIN(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)                  \
    extern "C" __global__ void __launch_bounds__(threads, BLOCKS(blocks, threads))                           \
        tt_turn_join_##bytes##_##src##_##dst##_##width##x##height(const __grid_constant__ TtTask task) {     \
        turn<TurnShape<bytes, src, dst, width, height, threads, batch, unroll, true, false>>(                \
            task, blockIdx.x, (Word *)SHARED);                                                               \
    }
TT_TURN_JOIN_KERNELS(TURN_JOIN)

#define TURN_SPLIT(bytes, src, dst, width, height, threads, blocks, batch, unroll, carveout)                 \
    extern "C" __global__ void __launch_bounds__(threads, BLOCKS(blocks, threads))                           \
        tt_turn_split_##bytes##_##src##_##dst##_##width##x##height(const __grid_constant__ TtTask task) {    \
        turn<TurnShape<bytes, src, dst, width, height, threads, batch, unroll, false, true>>(                \
            task, blockIdx.x, (Word *)SHARED);                                                               \
    }
TT_TURN_SPLIT_KERNELS(TURN_SPLIT)

#define MOVE(bytes, channels, from_planes, to_planes, any, cells)                                            \
    extern "C" __global__ void __launch_bounds__(TT_ROWS_THREADS)                                            \
        tt_move_##bytes##_##channels##_##from_planes##_##to_planes##_##any(                                  \
            const __grid_constant__ TtTaskList list) {                                                       \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        move_rows<RowsShape<bytes, channels, from_planes, to_planes, any, cells>>(task, block,               \
                                                                                  (Word *)SHARED);           \
    }
TT_MOVE_KERNELS(MOVE)

#define COPY(bytes, reverse, alike)                                                                          \
    extern "C" __global__ void __launch_bounds__(TT_ROWS_THREADS)                                            \
        tt_copy_##bytes##_##reverse##_##alike(const __grid_constant__ TtTaskList list) {                     \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        copy_rows<bytes, reverse, alike>(task, block);                                                       \
    }
TT_COPY_KERNELS(COPY)

#define RUN(bytes)                                                                                           \
    extern "C" __global__ void __launch_bounds__(TT_ROWS_THREADS)                                            \
        tt_reverse_run_##bytes(const __grid_constant__ TtTaskList list) {                                    \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        reverse_run<bytes>(task, block, (Word *)SHARED);                                                     \
    }
TT_RUN_KERNELS(RUN)

#define UNIT(bytes)                                                                                          \
    extern "C" __global__ void __launch_bounds__(TT_ROWS_THREADS)                                            \
        tt_turn_units_##bytes(const __grid_constant__ TtTaskList list) {                                     \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        turn_units<bytes>(task, block, SHARED);                                                              \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(TT_ROWS_THREADS)                                            \
        tt_gather_units_##bytes(const __grid_constant__ TtTaskList list) {                                   \
        uint32_t block;                                                                                      \
        const TtTask &task = task_of(list, &block);                                                          \
        gather_units<bytes>(task, block);                                                                    \
    }
TT_UNIT_KERNELS(UNIT)
