/* SPDX-License-Identifier: MIT
 *
 * How much memory and how many processors a machine and its control groups leave: made-up machines, each a
 * folder of the files that the system has under / .
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../kernels/frame/budget.h"
#include "../kernels/threads.h"
#include "expect.h"
#include "tiletranspose/tt_frame.h"

static const char root[] = TT_SYSTEM_ROOT;
static const size_t MB = 1 << 20;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static void no_machine(void) {
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file under the root, and the folders that it is in. */
static void put(const char *path, const char *text) {
    char whole[300];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) {
        perror(whole);
        exit(EXIT_FAILURE);
    }
}

/* 8000 MB, of which 6000 are available. */
static void new_machine(const char *groups) {
    no_machine();
    put("/proc/meminfo",
        "MemTotal:        8192000 kB\nMemFree:          100000 kB\nMemAvailable:    6144000 kB\n");
    put("/proc/self/cgroup", groups);
}

static void allows(size_t megabytes, const char *what) {
    EXPECT(tt_memory_allowed() == megabytes * MB, "%s: %.3f MB are allowed", what,
           (double)tt_memory_allowed() / (double)MB);
}

static void test_machine(void) {
    new_machine("");
    allows(6000, "what is available");
    EXPECT(tt_memory_take(1000 * MB, SIZE_MAX), "nothing was held");
    allows(6000, "what is held can still be had");
    tt_memory_fill(1000 * MB);
    allows(7000, "what is filled counts as allowed");
    EXPECT(tt_memory_take(1500 * MB, SIZE_MAX), "1000 MB were held");
    tt_memory_fill(1500 * MB);
    allows(8000, "but never more than there is");
    EXPECT(!tt_memory_take(1, 2500 * MB) && !tt_memory_take(SIZE_MAX, SIZE_MAX), "a limit of all");
    EXPECT(tt_memory_take(MB, 2501 * MB) && tt_memory_held() == 2501 * MB, "up to the limit");
    tt_memory_give(2501 * MB, 2500 * MB);
    size_t limit;
    EXPECT(!tt_memory_limit(&limit) && limit == 3000 * MB, "half");
    put("/proc/meminfo", "MemTotal: 8192000 kB\n"); /* old systems */
    allows(8000, "all");
}

static void *own_memory(size_t bytes, void *user) {
    return *(void **)user = calloc(1, bytes);
}

static void free_own_memory(void *memory, size_t bytes, void *user) {
    (void)bytes, (void)user;
    free(memory);
}

/* Memory counts as filled when pixels have been written to it, and not before. */
static void test_frames(void) {
    enum { WIDTH = 65536, HEIGHT = 512, ALL = WIDTH * HEIGHT };
    uint8_t *pixels = calloc(1, ALL);
    void *memory = NULL;
    TtFrame *frame;
    TtFrameOptions options = {.struct_size = sizeof(options),
                              .store = TT_STORE_MEMORY,
                              .allocate = own_memory,
                              .release = free_own_memory,
                              .user = &memory};
    TtImage shape = tt_image(pixels, WIDTH, WIDTH, HEIGHT, 1, 8), half = shape;
    new_machine("");
    EXPECT(!tt_frame_new(&shape, TT_TRANSPOSE, &options, &frame), "%s", tt_last_error());
    allows(6000, "nothing was put");
    half.data = memory;
    EXPECT(tt_frame_put(frame, &half, 0, 0) == TT_ERROR_OVERLAP, "a piece of the frame's own memory");
    allows(6000, "what was refused");
    half.data = pixels;
    half.width = WIDTH / 2;
    EXPECT(!tt_frame_put(frame, &half, 0, 0), "%s", tt_last_error());
    allows(6000 + ALL / 2 / MB, "half of the rows");
    EXPECT(!tt_frame_put(frame, &half, WIDTH / 2, 0), "%s", tt_last_error());
    allows(6000 + ALL / MB, "all of them");
    tt_frame_free(frame);
    allows(6000, "the frame is gone");

    options =
        (TtFrameOptions){.struct_size = sizeof(options), .store = TT_STORE_SPILL, .memory_limit = 8 * MB};
    EXPECT(!tt_frame_new(&shape, TT_TRANSPOSE, &options, &frame), "%s", tt_last_error());
    allows(6000, "nothing was put into a file");
    EXPECT(!tt_frame_put(frame, &shape, 0, 0), "%s", tt_last_error());
    size_t allowed = tt_memory_allowed();
    EXPECT(allowed > 6000 * MB && allowed <= 6008 * MB, "%zu are allowed", allowed);
    tt_frame_free(frame);
    allows(6000, "the frame in a file is gone");
    free(pixels);
}

/* A group may be full though its limit is above what the machine has left. */
static void test_full_group(void) {
    new_machine("0::/job\n");
    put("/sys/fs/cgroup/job/memory.max", "7340032000\n");
    put("/sys/fs/cgroup/job/memory.current", "6815744000\n");
    put("/sys/fs/cgroup/job/memory.stat", "anon 6815744000\n");
    allows(500, "a group with 500 of 7000 MB left");
}

static void test_second_version(void) {
    new_machine("0::/user/job\n");
    put("/sys/fs/cgroup/memory.stat", "anon 1\n");
    put("/sys/fs/cgroup/user/memory.max", "max\n");
    put("/sys/fs/cgroup/user/job/memory.max", "1048576000\n");
    allows(1000, "the group's own limit");
    put("/sys/fs/cgroup/user/memory.max", "524288000\n");
    allows(500, "the limit of the group above");
    put("/sys/fs/cgroup/user/memory.current", "314572800\n");
    allows(200, "less what is used");
    put("/sys/fs/cgroup/user/memory.stat", "anon 999\nfile 1048576000\nworkingset_refault_file "
                                           "1\ninactive_file 104857600\nactive_file 52428800\n");
    allows(350, "but not what is files'");
    EXPECT(tt_memory_take(50 * MB, SIZE_MAX), "50 MB");
    allows(350, "which are not used yet");
    tt_memory_fill(50 * MB);
    allows(400, "nor what frames have filled");
    tt_memory_give(50 * MB, 50 * MB);
    put("/sys/fs/cgroup/user/memory.current", "734003200\n");
    allows(0, "nothing is left");

    new_machine("0::/\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    allows(100, "a container's root");
    new_machine("0::/not/mounted/here\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    allows(100, "a group that only the host sees");
}

static void test_first_version(void) {
    new_machine("12:devices:/\n4:memory:/system/job\n0::/other\n");
    put("/sys/fs/cgroup/memory/system/job/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    allows(6000, "no limit");
    put("/sys/fs/cgroup/memory/system/memory.limit_in_bytes", "524288000\n");
    put("/sys/fs/cgroup/memory/system/memory.usage_in_bytes", "419430400\n");
    put("/sys/fs/cgroup/memory/system/memory.stat",
        "cache 9\ninactive_file 1\nactive_file 1\ntotal_inactive_file 209715200\ntotal_active_file "
        "104857600\n");
    allows(400, "the limit of the group above");
    put("/sys/fs/cgroup/unified/other/memory.max", "104857600\n");
    allows(100, "both versions at once");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "52428800\n");
    allows(50, "the root's");
    new_machine("4:hugetlb,memory2:/a\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n");
    allows(6000, "another controller");
}

static void test_address_space(void) {
    struct rlimit before, most;
    new_machine("");
    put("/proc/self/statm", "1000 1 1 1 1 1 1\n");
    getrlimit(RLIMIT_AS, &before);
    most = before;
    most.rlim_cur = 4000 * MB;
    if (before.rlim_cur < most.rlim_cur || setrlimit(RLIMIT_AS, &most))
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), allowed = tt_memory_allowed();
    EXPECT(allowed == 4000 * MB - 1000 * page, "%zu bytes", allowed);
    setrlimit(RLIMIT_AS, &before);
}

static void test_processors(void) {
    new_machine("");
    unsigned all = tt_threads_allowed();
    EXPECT(all >= 1, "%u processors", all);
    new_machine("0::/user/job\n");
    put("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
    EXPECT(tt_threads_allowed() == all, "no quota");
    put("/sys/fs/cgroup/user/cpu.max", "90000 100000\n");
    EXPECT(tt_threads_allowed() == 1, "nine tenths of one");
    new_machine("3:cpuset:/\n2:cpu,cpuacct:/a/b\n");
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
    EXPECT(tt_threads_allowed() == all, "no quota");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    EXPECT(tt_threads_allowed() == 1, "half of one");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000000000\n");
    EXPECT(tt_threads_allowed() == all, "a million");
}

int main(void) {
    unsetenv("TT_MEMORY_LIMIT");
    test_machine();
    test_frames();
    test_full_group();
    test_second_version();
    test_first_version();
    test_address_space();
    test_processors();
    no_machine();
    return expect_result();
}
