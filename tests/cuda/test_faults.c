/* SPDX-License-Identifier: MIT
 *
 * What goes wrong with a GPU is said and leaves nothing behind: each call to the driver, and to the system,
 * fails in turn, and every argument that cannot be is refused before anything is enqueued. Needs the shim's
 * libcuda.so.1.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fault/system.h"
#include "../random.h"
#include "fake.h"
#include "tiletranspose/tt.h"

static void open_fake(void) {
    gpu_open();
    if (!fake_open()) {
        fprintf(stderr, "skipped: this libcuda.so.1 is a real one\n");
        exit(EXIT_SKIP);
    }
}

/* ---- Every call fails once --------------------------------------------------------------------------- */

enum { WIDTH = 50, HEIGHT = 30, BYTES = WIDTH * HEIGHT, LINE = 128 };

static uint8_t *host[2]; /* pinned */
static uint8_t *lines[2];
static uint64_t memory[2];

static TtStatus turn_on_device(void) {
    TtImage src = tt_image((void *)(uintptr_t)memory[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image((void *)(uintptr_t)memory[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
    return tt_orient_async(&src, &dst, TT_ROT90, NULL, NULL);
}

static TtStatus turn_list_on_device(void) {
    TtImage src = tt_image((void *)(uintptr_t)memory[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image((void *)(uintptr_t)memory[1], WIDTH, WIDTH, HEIGHT, 1, 8);
    const TtImage *from[] = {&src, &src}, *to[] = {&dst, &dst};
    TtOrientation o[] = {TT_FLIPH, TT_FLIPV};
    return tt_orient_list_async(from, to, o, 2, NULL, NULL);
}

static TtStatus turn_in_host_memory(void) {
    TtImage src = tt_image(host[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image(host[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
    TtOptions options = {sizeof(options), "cuda", 0, 0};
    return tt_orient(&src, &dst, TT_ROT270, &options);
}

/* Rows that start on lines of memory, which the GPU reads and writes itself. */
static TtStatus turn_lines_in_host_memory(void) {
    TtImage src = tt_image(lines[0], LINE, LINE, LINE, 1, 8),
            dst = tt_image(lines[1], LINE, LINE, LINE, 1, 8);
    TtOptions options = {sizeof(options), "cuda", 0, 0};
    return tt_orient(&src, &dst, TT_ROT270, &options);
}

static TtStatus turn_strided_on_device(void) {
    TtImage src = tt_image((void *)(uintptr_t)memory[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image((void *)(uintptr_t)memory[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
    return tt_orient_strided_async(&src, &dst, 4, BYTES, BYTES, TT_ROT90, NULL, NULL);
}

static TtStatus prepare(void) {
    return tt_device_prepare(1);
}

static bool of_system; /* what fails */

static void fail_at(long n) {
    system_heal();
    if (of_system)
        system_fault_any(OWN, (size_t)n, (size_t)n);
    else
        fake.fail_at(n);
}

static long calls_made(void) {
    return of_system ? (long)system_calls_any() : fake.calls();
}

/* Blocks of the process's own are for good once the driver is used. */
static long left_now(bool first_use) {
    return fake.left() + (first_use ? 0 : system_left());
}

/* The first use of the driver is in a process of its own each time. */
static void test_each_call(const char *name, TtStatus (*turn)(void), bool first_use) {
    long calls = 0;
    bool done = false;
    for (long n = 1; !done && n < 1000; n++) {
        pid_t child = first_use ? fork() : 0;
        if (child) {
            int status;
            waitpid(child, &status, 0);
            EXPECT(WIFEXITED(status) && WEXITSTATUS(status) < 2, "%s: call %ld failing: child status %x",
                   name, n, (unsigned)status);
            done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            calls = n;
            continue;
        }
        long left = left_now(first_use);
        fail_at(n);
        TtStatus status = turn();
        bool reached = calls_made() >= n;
        fake.fail_at(0);
        system_heal();
        if (reached && status)
            EXPECT(status >= TT_ERROR_MEMORY && *tt_last_error() && !strchr(tt_last_error(), '\n'),
                   "%s: call %ld: status %d: '%s'", name, n, (int)status, tt_last_error());
        if (!reached)
            EXPECT(!status, "%s without a failure: %s", name, tt_last_error());
        EXPECT(left_now(first_use) == left, "%s: after call %ld failed %ld things are left", name, n,
               left_now(first_use) - left);
        EXPECT(!turn(), "%s: after call %ld failed once: %s", name, n, tt_last_error());
        EXPECT(left_now(first_use) == left, "%s: a later turn leaves %ld things", name,
               left_now(first_use) - left);
        if (first_use)
            _exit(expect_failures ? 2 : reached ? 1 : 0);
        done = !reached;
        calls = n;
    }
    EXPECT(done && (of_system || calls > 3), "%s makes %ld calls", name, calls);
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static void refused(TtStatus status, TtStatus want, const char *word, const char *what) {
    EXPECT(status == want && strstr(tt_last_error(), word), "%s: status %d, '%s'", what, (int)status,
           tt_last_error());
}

static void test_arguments(void) {
    TtImage src = tt_image((void *)(uintptr_t)memory[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image((void *)(uintptr_t)memory[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
    TtImage in_host = tt_image(host[0], WIDTH, WIDTH, HEIGHT, 1, 8), small = dst, bits = src, bits_to = dst;
    refused(tt_orient_async(&in_host, &dst, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "source",
            "a source in host memory");
    TtImage to_host = tt_image(host[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
    refused(tt_orient_async(&src, &to_host, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "destination",
            "a destination in host memory");
    small.height--;
    refused(tt_orient_async(&src, &small, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "need a destination",
            "a wrong size");
    refused(tt_orient_async(&src, &dst, (TtOrientation)9, NULL, NULL), TT_ERROR_ARGUMENT, "orientation",
            "no orientation");
    refused(tt_orient_async(NULL, &dst, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "NULL", "no source");
    dst.data = src.data;
    refused(tt_orient_async(&src, &dst, TT_ROT90, NULL, NULL), TT_ERROR_OVERLAP, "share memory", "in place");
    dst.data = (void *)(uintptr_t)memory[1];
    bits.sample_bits = bits_to.sample_bits = 1;
    refused(tt_orient_async(&bits, &bits_to, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "host memory only",
            "packed samples");
    TtOptions options = {sizeof(options), "c", 0, 0};
    refused(tt_orient_async(&src, &dst, TT_ROT90, NULL, &options), TT_ERROR_ARGUMENT, "'c'",
            "a processor's backend");
    refused(tt_orient_strided_async(&src, &dst, 2, BYTES, BYTES - 1, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT,
            "stride", "destinations that overlap");
    refused(tt_orient_strided_async(&src, &dst, 3, BYTES, PTRDIFF_MAX, TT_ROT90, NULL, NULL),
            TT_ERROR_ARGUMENT, "address space", "a stride too far");
    TtImage beside = dst;
    beside.data = (uint8_t *)src.data + BYTES;
    refused(tt_orient_strided_async(&src, &beside, 2, BYTES, BYTES, TT_ROT90, NULL, NULL), TT_ERROR_OVERLAP,
            "share memory", "a source that is another's destination");
    EXPECT(!tt_orient_strided_async(&src, &dst, 0, 0, 0, TT_ROT90, NULL, NULL), "no images: %s",
           tt_last_error());
    EXPECT(!tt_orient_list_async(NULL, NULL, NULL, 0, NULL, NULL), "an empty list: %s", tt_last_error());
    refused(tt_device_prepare(7), TT_ERROR_NO_DEVICE, "no GPU 7", "a GPU that is not there");
    refused(tt_device_prepare(-1), TT_ERROR_NO_DEVICE, "no GPU -1", "a negative GPU");
    options = (TtOptions){sizeof(options), "cuda", 0, 5};
    refused(tt_orient(&in_host, &to_host, TT_ROT90, &options), TT_ERROR_NO_DEVICE, "no GPU 5",
            "host pixels for a GPU that is not there");
}

static void test_two_devices(void) {
    void *other, *popped, *current;
    uint64_t there;
    GPU(cuDevicePrimaryCtxRetain(&other, 1));
    GPU(cuCtxPushCurrent(other));
    GPU(cuMemAlloc(&there, BYTES));
    GPU(cuCtxPopCurrent(&popped));
    TtImage src = tt_image((void *)(uintptr_t)memory[0], WIDTH, WIDTH, HEIGHT, 1, 8);
    TtImage dst = tt_image((void *)(uintptr_t)there, HEIGHT, HEIGHT, WIDTH, 1, 8);
    refused(tt_orient_async(&src, &dst, TT_ROT90, NULL, NULL), TT_ERROR_ARGUMENT, "different", "two GPUs");
    TtImage back = tt_image((void *)(uintptr_t)(there), WIDTH, WIDTH, HEIGHT, 1, 8);
    void *stream;
    GPU(cuStreamCreate(&stream, 1));
    TtImage both = dst;
    both.data = (void *)(uintptr_t)memory[1];
    refused(tt_orient_async(&back, &both, TT_ROT90, stream, NULL), TT_ERROR_ARGUMENT, "different",
            "a stream of another GPU");
    GPU(cuStreamDestroy(stream));
    GPU(cuCtxGetCurrent(&current));
    EXPECT(current == gpu.context, "the current context has changed");
    GPU(cuMemFree(there));
}

/* Less GPU memory than the two sides need: pieces, and at last an error. */
static void test_little_memory(void) {
    uint8_t truth[BYTES];
    EXPECT(!turn_in_host_memory(), "%s", tt_last_error());
    memcpy(truth, host[1], BYTES);
    for (size_t limit = 100000; limit > 600; limit = limit * 3 / 4) {
        memset(host[1], 0, BYTES);
        fake.memory_limit(limit);
        TtStatus status = turn_in_host_memory();
        EXPECT(!status && !memcmp(truth, host[1], BYTES), "with %zu bytes: %s", limit, tt_last_error());
    }
    fake.memory_limit(100);
    refused(turn_in_host_memory(), TT_ERROR_MEMORY, "no memory left", "100 bytes");
    fake.memory_limit((size_t)1 << 40);
}

/* In a child of a process that used CUDA, `cuda` is an error and the rest works. */
static void test_fork(void) {
    pid_t child = fork();
    if (!child) {
        refused(turn_on_device(), TT_ERROR_NO_DEVICE, "forked", "in a child");
        refused(turn_in_host_memory(), TT_ERROR_NO_DEVICE, "forked", "in a child, host memory");
        TtImage src = tt_image(host[0], WIDTH, WIDTH, HEIGHT, 1, 8),
                dst = tt_image(host[1], HEIGHT, HEIGHT, WIDTH, 1, 8);
        EXPECT(!tt_orient(&src, &dst, TT_ROT90, NULL), "in a child, on the processor: %s", tt_last_error());
        _exit(expect_result());
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "the child's status is %x", (unsigned)status);
}

/* What the environment's fake driver lacks, in a process that has not used it. */
static void test_no_driver(const char *setting, const char *word) {
    pid_t child = fork();
    if (!child) {
        setenv("TT_FAKE_CUDA", setting, 1);
        refused(tt_backend_check("cuda"), TT_ERROR_NO_DEVICE, word, setting);
        refused(turn_in_host_memory(), TT_ERROR_NO_DEVICE, word, setting);
        _exit(expect_result());
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "%s: the child's status is %x", setting,
           (unsigned)status);
}

int main(void) {
    uint64_t random_state = 5;
    open_fake();
    for (int i = 0; i < 2; i++) {
        uint8_t *whole = gpu_host_memory(LINE * (LINE + 1), true);
        lines[i] = whole + (LINE - (uintptr_t)whole % LINE) % LINE;
        host[i] = gpu_host_memory(BYTES, true);
    }
    random_fill(&random_state, host[0], BYTES);
    GPU(cuMemAlloc(&memory[0], 4 * BYTES));
    GPU(cuMemAlloc(&memory[1], 4 * BYTES));
    test_no_driver("none", "no GPU");
    test_no_driver("old", "too old");
    for (int i = 0; i < 2; i++) {
        of_system = i;
        test_each_call("first use", turn_on_device, true);
        test_each_call("first preparation", prepare, true);
        test_each_call("first turn in host memory", turn_in_host_memory, true);
    }
    EXPECT(!turn_on_device(), "%s", tt_last_error()); /* from here on the driver is used */
    for (int i = 0; i < 2; i++) {
        of_system = i;
        test_each_call("tt_orient_async", turn_on_device, false);
        test_each_call("tt_orient_strided_async", turn_strided_on_device, false);
        test_each_call("tt_orient_list_async", turn_list_on_device, false);
        test_each_call("tt_orient", turn_in_host_memory, false);
        test_each_call("tt_orient of whole lines", turn_lines_in_host_memory, false);
    }
    test_arguments();
    test_two_devices();
    test_little_memory();
    test_fork();
    return expect_result();
}
