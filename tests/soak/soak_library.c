/* SPDX-License-Identifier: MIT
 *
 * A process that lives long: turns and frames by the thousand, of which some are refused, fail or are
 * cancelled. Its memory, files and mappings stay what they were, and its children can do the same.
 *
 *     soak_library [OPERATIONS]       2,000 unless said otherwise
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../eight.h"
#include "../expect.h"
#include "../pictures.h"
#include "../random.h"
#include "tiletranspose/tt_frame.h"

enum { MOST = 160 }; /* rows and columns */

static uint64_t random_state = 1;
static uint8_t memory[3][MOST * MOST * 4];

static void turn_naively(const TtImage *picture, TtImage *truth, TtImage *got, int o) {
    size_t w = picture->width, h = picture->height, bytes = picture->channels;
    size_t to = eight_swaps(o) ? h : w;
    *truth = tt_image(memory[1], (ptrdiff_t)(to * bytes), to, eight_swaps(o) ? w : h, picture->channels, 8);
    *got = *truth;
    got->data = memory[2];
    memset(memory[2], 0x5a, sizeof(memory[2]));
    picture_turn(picture, truth, o);
}

static bool same(const TtImage *a, const TtImage *b) {
    size_t x, y;
    return !picture_differs(a, b, &x, &y);
}

/* What is wrong with it, if it is not 0. */
typedef enum { NOTHING, TOO_SMALL, NO_ORIENTATION, NO_FOLDER, CANCELLED, LEFT_UNFINISHED, WAYS } Wrong;

static TtStatus orient(const TtImage *picture, TtImage *got, int o, Wrong wrong) {
    TtOptions options = {sizeof(options), NULL, 1 + (unsigned)random_below(&random_state, 3), 0};
    if (wrong == TOO_SMALL)
        got->width++;
    TtStatus status = tt_orient(picture, got, wrong == NO_ORIENTATION ? 9 : (TtOrientation)o, &options);
    EXPECT(status == (wrong == TOO_SMALL || wrong == NO_ORIENTATION ? TT_ERROR_ARGUMENT : TT_OK), "%d: %s",
           wrong, tt_last_error());
    return status;
}

static TtStatus through_frame(const TtImage *picture, const TtImage *got, int o, TtFrameStore store,
                              Wrong wrong) {
    volatile int cancel = 0;
    TtFrame *frame = NULL;
    TtFrameOptions options = {.struct_size = sizeof(options), .store = store, .cancel = &cancel};
    size_t cut = wrong == LEFT_UNFINISHED && picture->height > 1 ? picture->height / 2 : picture->height;
    TtImage piece = tt_subimage(picture, (TtRect){0, 0, picture->width, cut});
    if (wrong == NO_FOLDER)
        setenv("TMPDIR", "/nowhere/at/all", 1);
    TtStatus status = tt_frame_new(picture, wrong == NO_ORIENTATION ? 9 : (TtOrientation)o, &options, &frame);
    unsetenv("TMPDIR");
    cancel = wrong == CANCELLED;
    if (!status && !(status = tt_frame_put(frame, &piece, 0, 0)))
        status = tt_frame_read(frame, (TtRect){0, 0, got->width, got->height}, got);
    tt_frame_free(frame);
    TtStatus want = wrong == NO_ORIENTATION                             ? TT_ERROR_ARGUMENT
                    : wrong == NO_FOLDER && store == TT_STORE_SPILL     ? TT_ERROR_IO
                    : wrong == CANCELLED                                ? TT_ERROR_CANCELLED
                    : wrong == LEFT_UNFINISHED && cut < picture->height ? TT_ERROR_NOT_READY
                                                                        : TT_OK;
    EXPECT(status == want, "store %d, wrong %d: status %d, %s", (int)store, (int)wrong, (int)status,
           tt_last_error());
    return status;
}

static void operate(size_t n) {
    int o = 1 + (int)random_below(&random_state, 8);
    size_t w = 1 + random_below(&random_state, MOST), h = 1 + random_below(&random_state, MOST);
    uint32_t channels = 1 + (uint32_t)random_below(&random_state, 4);
    TtImage picture = tt_image(memory[0], (ptrdiff_t)(w * channels), w, h, channels, 8), truth, got;
    random_fill(&random_state, memory[0], 64);
    turn_naively(&picture, &truth, &got, o);
    Wrong wrong = random_below(&random_state, 3) ? NOTHING : (Wrong)random_below(&random_state, WAYS);
    TtFrameStore stores[] = {TT_STORE_AUTO, TT_STORE_MEMORY, TT_STORE_SPILL};
    TtStatus status =
        n % 4 ? through_frame(&picture, &got, o, stores[n % 4 - 1], wrong) : orient(&picture, &got, o, wrong);
    EXPECT(status || same(&truth, &got), "operation %zu: other pixels", n);
}

/* ---- What the process holds ---------------------------------------------------------------------------- */

typedef struct {
    long pages, files, mappings;
} Held;

static long lines_in(const char *path) {
    FILE *file = fopen(path, "r");
    long lines = 0;
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static Held held(void) {
    Held now = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &now.pages) != 1)
        exit(EXIT_SKIP);
    fclose(file);
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        now.files++;
    closedir(folder);
    now.mappings = lines_in("/proc/self/maps");
    return now;
}

/* Threads and the allocator's arenas settle in the first tenth. */
static void soak(size_t operations) {
    Held before = {0}, after;
    for (size_t n = 0; n < operations; n++) {
        if (n == operations / 10)
            before = held();
        operate(n);
    }
    after = held();
    printf(
        "%zu operations: %ld kB, %ld files and %ld mappings after a tenth; %ld kB, %ld and %ld at the end\n",
        operations, before.pages * (sysconf(_SC_PAGESIZE) / 1024), before.files, before.mappings,
        after.pages * (sysconf(_SC_PAGESIZE) / 1024), after.files, after.mappings);
    EXPECT(after.files == before.files, "%ld files were open and %ld are", before.files, after.files);
    if (getenv("TT_SANITIZER"))
        return; /* it keeps what is freed, to see it used */
    EXPECT(after.pages - before.pages < 256, "%ld pages were held and %ld are", before.pages, after.pages);
    EXPECT(after.mappings - before.mappings < 8, "%ld mappings were there and %ld are", before.mappings,
           after.mappings);
}

/* Workers, forked from a process that has used the library. */
static void test_workers(size_t operations) {
    pid_t workers[4];
    fflush(stdout);
    for (int i = 0; i < 4; i++)
        if (!(workers[i] = fork())) {
            random_state = (uint64_t)i + 10;
            soak(operations);
            fflush(stdout);
            _exit(expect_result());
        }
    for (int i = 0; i < 4; i++) {
        int status = -1;
        waitpid(workers[i], &status, 0);
        EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "worker %d: status %x", i, (unsigned)status);
    }
}

int main(int argc, char **argv) {
    size_t operations = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    unsetenv("TT_BACKEND");
    unsetenv("TT_MEMORY_LIMIT");
    random_fill(&random_state, memory[0], sizeof(memory[0]));
    soak(operations);
    test_workers(operations / 10);
    return expect_result();
}
