/* SPDX-License-Identifier: MIT
 *
 * Blocks one after another; a block's threads are coroutines on stacks of their own, each run up to its next
 * barrier. What a GPU would fault on (misaligned access, shared memory past its end, a barrier that some
 * threads never reach) aborts with a line that says so.
 */
#include "shim.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

enum { STACK = 64 * 1024, MAX_THREADS = 1024 };

thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;
void (*shim_watch)(unsigned, unsigned, const ShimAccess *const *, const size_t *);

/* Of the address sanitizer, where the program is built with it: it is told of each change of stacks. */
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **, const void *, size_t);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
}

namespace {
struct Thread {
    jmp_buf here;
    void *frames; /* the sanitizer's */
    bool started, done, at_barrier;
    unsigned shuffles, shown[2]; /* words for other lanes, in turns */
};
struct Machine {
    jmp_buf scheduler;
    void *frames;
    const void *stack; /* the scheduler's */
    size_t stack_bytes;
    Thread threads[MAX_THREADS];
    unsigned char *stacks, *shared;
    unsigned shared_bytes;
    void (*run)(const void *);
    const void *params;
    std::vector<ShimAccess> accesses[MAX_THREADS];
};
thread_local Machine *machine;

void fail(const char *what) {
    fprintf(stderr, "shim: block %u thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    abort();
}

void leaves_stack(void **frames, const void *to, size_t bytes) {
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(frames, to, bytes);
}

void is_on_stack(void *frames, const void **from, size_t *bytes) {
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(frames, from, bytes);
}

/* Back to the scheduler; returns when this thread's turn comes again. */
void leave() {
    Thread &t = machine->threads[threadIdx.x];
    leaves_stack(&t.frames, machine->stack, machine->stack_bytes);
    if (!_setjmp(t.here))
        _longjmp(machine->scheduler, 1);
    is_on_stack(t.frames, &machine->stack, &machine->stack_bytes);
}

/* A coroutine lives on, to run the same thread of the next block. */
void live() {
    is_on_stack(nullptr, &machine->stack, &machine->stack_bytes);
    for (;;) {
        machine->run(machine->params);
        machine->threads[threadIdx.x].done = true;
        leave();
    }
}

/* Runs a thread up to its next barrier or its end. */
void resume(unsigned i) {
    Thread &t = machine->threads[i];
    unsigned char *stack = machine->stacks + (size_t)i * STACK;
    threadIdx.x = i;
    leaves_stack(&machine->frames, stack, STACK);
    if (_setjmp(machine->scheduler)) {
        is_on_stack(machine->frames, nullptr, nullptr);
        return;
    }
    if (t.started)
        _longjmp(t.here, 1);
    t.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, live, 0);
    setcontext(&context);
}

/* One block: every thread in turn up to its next barrier, until all have returned. Warps come to the block's
 * barrier after different numbers of their own. */
void run_block(unsigned threads) {
    for (unsigned i = 0; i < threads; i++) {
        machine->threads[i].done = machine->threads[i].at_barrier = false;
        machine->threads[i].shuffles = 0;
        machine->accesses[i].clear();
    }
    for (unsigned left = threads, waiting = 0; left;) {
        for (unsigned i = 0; i < threads; i++) {
            Thread &t = machine->threads[i];
            if (t.done || t.at_barrier)
                continue;
            resume(i);
            left -= t.done;
            waiting += !t.done && t.at_barrier;
        }
        if (!waiting || waiting < left)
            continue;
        if (left != threads)
            fail("a barrier that some threads do not reach");
        for (unsigned i = 0; i < threads; i++)
            machine->threads[i].at_barrier = false;
        waiting = 0;
    }
}
} // namespace

void __syncthreads() {
    machine->threads[threadIdx.x].at_barrier = true;
    leave();
}

void __syncwarp() {
    leave();
}

unsigned __shfl_sync(unsigned, unsigned v, unsigned lane) {
    unsigned self = threadIdx.x, turn = machine->threads[self].shuffles++ % 2;
    machine->threads[self].shown[turn] = v;
    __syncwarp();
    return machine->threads[self / 32 * 32 + lane % 32].shown[turn];
}

unsigned __shfl_down_sync(unsigned mask, unsigned v, unsigned down) {
    unsigned lane = threadIdx.x % 32;
    return __shfl_sync(mask, v, lane + down < 32 ? lane + down : lane);
}

unsigned char *shim_shared_memory() {
    return machine->shared;
}

void shim_check_aligned(const void *at, unsigned bytes) {
    if ((uintptr_t)at % bytes)
        fail("misaligned read of global memory");
}

void shim_shared_access(const void *at, unsigned bytes, const char *what) {
    size_t offset = (size_t)((const unsigned char *)at - machine->shared);
    if (offset + bytes > machine->shared_bytes)
        fail("access past the end of shared memory");
    if (offset % bytes)
        fail("misaligned access to shared memory");
    if (shim_watch)
        machine->accesses[threadIdx.x].push_back(ShimAccess{(uint32_t)offset, (uint16_t)bytes, what});
}

void shim_launch(void (*run)(const void *), const void *params, unsigned grid, unsigned block,
                 unsigned shared_bytes) {
    static thread_local Machine own;
    machine = &own;
    if (!own.stacks) {
        void *p = mmap(nullptr, (size_t)MAX_THREADS * STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            abort();
        own.stacks = (unsigned char *)p;
    }
    own.shared = (unsigned char *)aligned_alloc(16, (shared_bytes + 31) / 16 * 16);
    own.shared_bytes = shared_bytes;
    own.run = run;
    own.params = params;
    gridDim.x = grid;
    blockDim.x = block;
    for (unsigned i = 0; i < grid; i++) {
        blockIdx.x = i;
        memset(own.shared, 0xb7, shared_bytes);
        run_block(block);
        if (shim_watch) {
            const ShimAccess *lists[MAX_THREADS];
            size_t counts[MAX_THREADS];
            for (unsigned t = 0; t < block; t++)
                lists[t] = own.accesses[t].data(), counts[t] = own.accesses[t].size();
            shim_watch(i, block, lists, counts);
        }
    }
    free(own.shared);
}
