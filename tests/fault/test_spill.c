/* SPDX-License-Identifier: MIT
 *
 * The file of a frame that is larger than its memory: when it is used, what it takes, and what becomes of a
 * disk that is full or fails.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../eight.h"
#include "../expect.h"
#include "../pictures.h"
#include "../random.h"
#include "system.h"
#include "tiletranspose/tt_frame.h"

static uint64_t random_state = 11;
static char folder[] = "spill-XXXXXX"; /* TMPDIR of most tests */

/* ---- Frames ------------------------------------------------------------------------------------------ */

static size_t entries_in(const char *path) {
    size_t n = 0;
    DIR *directory = opendir(path);
    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n;
}

static TtImage new_picture(size_t width, size_t height, uint32_t channels, uint32_t bits) {
    size_t pitch = (width * channels * bits + 7) / 8;
    uint8_t *memory = malloc(pitch * height);
    if (!memory)
        exit(EXIT_FAILURE);
    random_fill(&random_state, memory, pitch * height);
    return tt_image(memory, (ptrdiff_t)pitch, width, height, channels, bits);
}

static bool same_rows(const TtImage *rows, const TtImage *truth, size_t y) {
    TtImage part = tt_subimage(truth, (TtRect){0, y, rows->width, rows->height});
    size_t x, at;
    return !picture_differs(rows, &part, &x, &at);
}

/* Bands in, rows out. The first status that is not TT_OK; what is read without one is right. */
static TtStatus through(const TtImage *picture, const TtImage *truth, int o, const TtFrameOptions *options) {
    TtFrame *frame = NULL;
    TtStatus status = tt_frame_new(picture, (TtOrientation)o, options, &frame);
    EXPECT(!status == !!frame, "a frame and a fault");
    for (size_t y = 0, rows = 41; !status && y < picture->height; y += rows) {
        if (rows > picture->height - y)
            rows = picture->height - y;
        TtImage band = tt_subimage(picture, (TtRect){0, y, picture->width, rows});
        status = tt_frame_put(frame, &band, 0, y);
    }
    TtImage out = new_picture(truth->width, 33, truth->channels, truth->sample_bits);
    for (size_t y = 0; !status && y < truth->height; y += out.height) {
        if (out.height > truth->height - y)
            out.height = truth->height - y;
        if (!(status = tt_frame_read(frame, (TtRect){0, y, out.width, out.height}, &out)))
            EXPECT(same_rows(&out, truth, y), "rows from %zu on by %s", y, eight_names[o]);
    }
    free(out.data);
    tt_frame_free(frame);
    return status;
}

static TtFrameOptions spilled(size_t limit) {
    return (TtFrameOptions){
        .struct_size = sizeof(TtFrameOptions), .memory_limit = limit, .store = TT_STORE_SPILL};
}

/* ---- Which store ------------------------------------------------------------------------------------- */

static TtFrame *new_frame(size_t width, size_t height, const TtFrameOptions *options, const char *where) {
    TtImage shape = tt_image(NULL, 0, width, height, 1, 8);
    TtFrame *frame = NULL;
    if (EXPECT(!tt_frame_new(&shape, TT_ROT90, options, &frame), "%s", tt_last_error()))
        EXPECT(strstr(tt_frame_where(frame), where), "'%s' is not in '%s'", where, tt_frame_where(frame));
    return frame;
}

static void test_choice(void) {
    TtFrameOptions options = {.struct_size = sizeof(options), .memory_limit = 1000 * 700};
    EXPECT(tt_frame_put(NULL, NULL, 0, 0) == TT_ERROR_ARGUMENT, "a message");
    TtFrame *frame = new_frame(1000, 700, &options, "0.7 MB in memory");
    EXPECT(tt_frame_store(frame) == TT_STORE_MEMORY, "which store");
    tt_frame_free(frame);
    options.memory_limit--;
    frame = new_frame(1000, 700, &options, folder);
    EXPECT(strstr(tt_frame_where(frame), "700000 bytes of memory, and 699999 are allowed"), "%s",
           tt_frame_where(frame));
    EXPECT(!strcmp(tt_last_error(), "the frame is NULL"), "a call that succeeds changed the message: %s",
           tt_last_error());
    EXPECT(entries_in(folder) == 2, "the file has a name");
    EXPECT(tt_frame_store(frame) == TT_STORE_SPILL && !tt_frame_where(NULL) && !tt_frame_store(NULL),
           "which store");
    tt_frame_free(frame);

    options.memory_limit = SIZE_MAX;
    options.store = TT_STORE_SPILL;
    tt_frame_free(new_frame(1000, 700, &options, "as was asked for"));

    TtImage shape = tt_image(NULL, 0, 1000, 700, 1, 8);
    options.memory_limit = 1000;
    options.store = TT_STORE_MEMORY;
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_MEMORY, "%s", tt_last_error());
}

/* Frames without a limit of their own share the environment's; the others count, but do not ask it. */
static void test_shared_limit(void) {
    TtFrameOptions own = {.struct_size = sizeof(own), .memory_limit = 1 << 20};
    setenv("TT_MEMORY_LIMIT", "2M", 1);
    TtFrame *first = new_frame(1024, 1024, NULL, "in memory"),
            *second = new_frame(1000, 900, NULL, "in memory");
    TtFrame *third = new_frame(1000, 300, NULL, "in a file"),
            *fourth = new_frame(1000, 900, &own, "in memory");
    tt_frame_free(second);
    TtFrame *fifth = new_frame(1000, 300, NULL, "in a file"); /* the fourth took the second's room */
    tt_frame_free(fourth);
    tt_frame_free(fifth);
    TtFrame *sixth = new_frame(1000, 300, NULL, "in memory");
    tt_frame_free(first);
    tt_frame_free(third);
    tt_frame_free(sixth);
    tt_frame_free(new_frame(2048, 1024, NULL, "in memory"));
    tt_frame_free(new_frame(2048, 1025, NULL, "in a file"));

    static const struct {
        const char *text;
        bool good, fits; /* 3000 bytes */
    } limits[] = {
        {"2999", true, false},       {"3000", true, true},
        {"2K", true, false},         {"3k", true, true},
        {"1m", true, true},          {"1G", true, true},
        {"1T", true, true},          {"", true, true},
        {"0", false, false},         {"-1", false, false},
        {"K", false, false},         {"3 K", false, false},
        {"3KB", false, false},       {"3.5M", false, false},
        {"0x9", false, false},       {" 3K", false, false},
        {"99999999T", false, false}, {"99999999999999999999", false, false},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        TtImage shape = tt_image(NULL, 0, 100, 30, 1, 8);
        TtFrame *frame = NULL;
        setenv("TT_MEMORY_LIMIT", limits[i].text, 1);
        TtStatus status = tt_frame_new(&shape, TT_ROT90, NULL, &frame);
        EXPECT(status == (limits[i].good ? TT_OK : TT_ERROR_ARGUMENT), "'%s': %s", limits[i].text,
               tt_last_error());
        if (frame)
            EXPECT(!strstr(tt_frame_where(frame), "in a file") == limits[i].fits, "'%s': %s", limits[i].text,
                   tt_frame_where(frame));
        else
            EXPECT(strstr(tt_last_error(), limits[i].text) && strstr(tt_last_error(), "TT_MEMORY_LIMIT"),
                   "%s", tt_last_error());
        tt_frame_free(frame);
    }
    unsetenv("TT_MEMORY_LIMIT");
}

/* ---- What it takes ----------------------------------------------------------------------------------- */

static size_t asked_for;

static void *allocate(size_t bytes, void *user) {
    (void)user;
    asked_for = bytes;
    return malloc(bytes);
}

static void release(void *memory, size_t bytes, void *user) {
    (void)user;
    EXPECT(bytes == asked_for, "what is released");
    free(memory);
}

/* Not more than the limit, or what is promised for a smaller one; and enough that no tile is written twice.
 */
static void test_memory(void) {
    static const size_t limits[] = {1, 256 << 10, 700 << 10, 2 << 20, 5 << 20};
    for (int i = 0; i < 60 / SLOWER; i++) {
        size_t limit = limits[i % 5], width = 1 + random_below(&random_state, 2000);
        size_t height = 1 + random_below(&random_state, 3000000 / width);
        int o = 1 + i % 8;
        TtImage picture = new_picture(width, height, i % 3 ? 3 : 1, i % 3 ? 8 : 1);
        TtImage truth = new_picture(eight_swaps(o) ? height : width, eight_swaps(o) ? width : height,
                                    picture.channels, picture.sample_bits);
        picture_turn(&picture, &truth, o);
        TtFrameOptions options = spilled(limit);
        options.allocate = allocate;
        options.release = release;
        system_heal();
        EXPECT(!through(&picture, &truth, o, &options), "%s", tt_last_error());
        size_t allowed = limit > 256 << 10 ? limit : 256 << 10;
        EXPECT(asked_for <= allowed + 2 * 4096, "%zu bytes, limit %zu, %zu x %zu", asked_for, limit, width,
               height);
        free(truth.data);
        free(picture.data);
    }
}

/* Each tile is written once and read once, in runs that a disk likes, whichever way the picture is turned. */
static void test_runs(void) {
    for (int o = 1; o <= 8; o++) {
        TtImage picture = new_picture(4000, 3000, 3, 8),
                truth = new_picture(eight_swaps(o) ? 3000 : 4000, eight_swaps(o) ? 4000 : 3000, 3, 8);
        picture_turn(&picture, &truth, o);
        TtFrameOptions options = spilled(10 << 20); /* of 36 MB */
        system_heal();
        EXPECT(!through(&picture, &truth, o, &options), "%s", tt_last_error());
        /* two strips of 5 MB: tiles of 25/36 MB */
        EXPECT(system_calls(WRITE) <= 72 && system_calls(READ) <= 72 && system_calls(READ) > 10,
               "%s: %zu writes, %zu reads", eight_names[o], system_calls(WRITE), system_calls(READ));
        free(truth.data);
        free(picture.data);
    }
}

/* ---- Folders ----------------------------------------------------------------------------------------- */

static void refused(TtImage shape, const char *words) {
    TtFrameOptions options = spilled(1 << 20);
    TtFrame *frame = NULL;
    size_t files = entries_in("/proc/self/fd");
    TtStatus status = tt_frame_new(&shape, TT_ROT90, &options, &frame);
    EXPECT(status == TT_ERROR_IO && !frame && strstr(tt_last_error(), words) &&
               !strchr(tt_last_error(), '\n'),
           "status %d, '%s', not '%s'", (int)status, tt_last_error(), words);
    EXPECT(entries_in("/proc/self/fd") == files, "a file is still open: %s", words);
    EXPECT(entries_in(folder) == 2, "a file is left: %s", words);
}

static void test_folders(void) {
    TtImage shape = tt_image(NULL, 0, 1000, 700, 1, 8);
    system_heal();
    setenv("TMPDIR", "no/such", 1);
    refused(shape, "no/such (No such file or directory): set TMPDIR");
    setenv("TMPDIR", "/proc/self/status", 1);
    refused(shape, "/proc/self/status (Not a directory)");
    setenv("TMPDIR", "", 1); /* as if unset */
    tt_frame_free(new_frame(1000, 700,
                            &(TtFrameOptions){.struct_size = sizeof(TtFrameOptions), .memory_limit = 1},
                            "/tmp, through"));
    setenv("TMPDIR", folder, 1);

    refused(tt_image(NULL, 0, (size_t)1 << 30, (size_t)1 << 30, 1, 8),
            "MB are free: set TMPDIR to a folder with more room");
    EXPECT(strstr(tt_last_error(), folder), "%s", tt_last_error());
    system_set_free_blocks(100);
    refused(shape, folder);
    EXPECT(strstr(tt_last_error(), " 0.4 MB are free"), "%s", tt_last_error());

    struct rlimit before, most;
    getrlimit(RLIMIT_FSIZE, &before);
    most = before;
    most.rlim_cur = 600000;
    system_heal();
    if (EXPECT(!setrlimit(RLIMIT_FSIZE, &most), "limit of files"))
        refused(shape, "files may have 0.6 MB (ulimit -f)");
    setrlimit(RLIMIT_FSIZE, &before);
}

/* ---- A disk that fails ------------------------------------------------------------------------------- */

typedef struct {
    TtImage picture, truth;
    int orientation;
    TtFrameOptions options;
} Try;

static Try new_try(size_t width, size_t height, int o) {
    Try t = {new_picture(width, height, 3, 8), {0}, o, spilled(256 << 10)};
    t.truth = eight_swaps(o) ? new_picture(height, width, 3, 8) : new_picture(width, height, 3, 8);
    t.options.threads = 3;
    picture_turn(&t.picture, &t.truth, o);
    return t;
}

static void end_try(Try *t) {
    free(t->picture.data);
    free(t->truth.data);
}

static TtStatus attempt(const Try *t) {
    size_t files = entries_in("/proc/self/fd");
    TtStatus status = through(&t->picture, &t->truth, t->orientation, &t->options);
    EXPECT(entries_in("/proc/self/fd") == files, "a file is still open");
    EXPECT(entries_in(folder) == 2, "a file is left");
    return status;
}

/* The fault at one call of the kind after another (of many, at each third, or fewer with a sanitizer), until
 * one comes too late. bypass: whether the system's cache is. */
static void each(const Try *t, Call call, int error, bool forever, bool bypass, TtStatus want) {
    size_t n = 0;
    for (;;) {
        system_heal();
        if (!bypass)
            system_fault(SET_FLAGS, EINVAL, 1, SIZE_MAX);
        n += n < 6 ? 1 : 3 * SLOWER;
        system_fault(call, error, n, forever ? SIZE_MAX : n);
        TtStatus status = attempt(t);
        if (system_calls(call) < n)
            break;
        EXPECT(status == want, "call %d, number %zu, error %d: status %d, %s", (int)call, n, error,
               (int)status, tt_last_error());
        if (want == TT_ERROR_IO && status == want)
            EXPECT(strstr(tt_last_error(), folder) && strstr(tt_last_error(), strerror(error)), "%s",
                   tt_last_error());
    }
    EXPECT(n > 1, "call %d was never made", (int)call);
}

static void test_faults(void) {
    for (int o = TT_ROT180; o <= TT_ROT90; o += 3)
        for (int bypass = 0; bypass <= 1; bypass++) {
            Try t = new_try(400, 500, o);
            each(&t, WRITE, ENOSPC, false, bypass, TT_ERROR_IO);
            each(&t, WRITE, EIO, true, bypass, TT_ERROR_IO);
            each(&t, WRITE, EINTR, false, bypass, TT_OK);
            each(&t, WRITE, SHORT, false, bypass, TT_OK);
            each(&t, READ, EIO, false, bypass, TT_ERROR_IO);
            each(&t, READ, EINTR, false, bypass, TT_OK);
            each(&t, READ, SHORT, false, bypass, TT_OK);
            if (bypass) { /* a file system that finds out late */
                each(&t, WRITE, EINVAL, false, true, TT_OK);
                each(&t, READ, EINVAL, false, true, TT_OK);
            } else {
                each(&t, READ, EINVAL, false, false, TT_ERROR_IO);
                each(&t, SYNC, EIO, false, false, TT_ERROR_IO);
                each(&t, SYNC, ENOSPC, false, false, TT_ERROR_IO);
                each(&t, SYNC, ENOSYS, true, false, TT_OK);
            }
            each(&t, ALLOCATE, EINTR, false, bypass, TT_OK);
            each(&t, ALLOCATE, EOPNOTSUPP, false, bypass, TT_OK);
            each(&t, ALLOCATE, EIO, false, bypass, TT_ERROR_IO);
            each(&t, OPEN, EACCES, false, bypass, TT_ERROR_IO);
            each(&t, OPEN, EOPNOTSUPP, false, bypass, TT_OK);

            system_heal();
            system_fault(ALLOCATE, ENOSPC, 1, 1);
            EXPECT(attempt(&t) == TT_ERROR_IO && strstr(tt_last_error(), "are free"), "%s", tt_last_error());
            system_heal();
            system_fault(ALLOCATE, EOPNOTSUPP, 1, 1);
            system_fault(TRUNCATE, EFBIG, 1, 1);
            EXPECT(attempt(&t) == TT_ERROR_IO && strstr(tt_last_error(), "File too large"), "%s",
                   tt_last_error());
            end_try(&t);
        }
}

/* Bands of a megabyte are turned by several threads, if there are any to be had. */
static void test_no_threads(void) {
    for (int o = TT_ROT180; o <= TT_ROT90; o += 3) {
        Try t = new_try(9000, 200, o);
        each(&t, THREAD, EAGAIN, true, true, TT_OK);
        each(&t, THREAD, EAGAIN, false, true, TT_OK);
        end_try(&t);
    }
}

/* Without O_TMPFILE the file has a name for a moment; if that cannot be taken away there is none. */
static void test_name_that_stays(void) {
    TtImage shape = tt_image(NULL, 0, 1000, 700, 1, 8);
    TtFrameOptions options = spilled(1 << 20);
    TtFrame *frame = NULL;
    size_t files = entries_in("/proc/self/fd");
    system_heal();
    system_fault(OPEN, EISDIR, 1, 1);
    EXPECT(!tt_frame_new(&shape, TT_ROT90, &options, &frame) && entries_in(folder) == 2, "%s",
           tt_last_error());
    tt_frame_free(frame);
    EXPECT(system_calls(UNLINK) == 1, "no name was taken away");
    system_heal();
    system_fault(OPEN, EISDIR, 1, 1);
    system_fault(UNLINK, EPERM, 1, 1);
    EXPECT(tt_frame_new(&shape, TT_ROT90, &options, &frame) == TT_ERROR_IO, "%s", tt_last_error());
    EXPECT(entries_in("/proc/self/fd") == files, "a file is still open");
    system_heal();
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[600];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(directory);
}

/* What failed once is not asked again: a disk that lost pixels could answer with others. */
static void test_failed_for_good(void) {
    TtImage picture = new_picture(900, 900, 3, 8), rows = new_picture(900, 900, 3, 8);
    TtFrameOptions options = spilled(1 << 20);
    TtFrame *frame;
    system_heal();
    if (!EXPECT(!tt_frame_new(&picture, TT_ROT90, &options, &frame), "%s", tt_last_error()))
        return;
    EXPECT(!tt_frame_put(frame, &picture, 0, 0), "%s", tt_last_error());
    system_fault(READ, EIO, system_calls(READ) + 1, system_calls(READ) + 1);
    for (int i = 0; i < 3; i++)
        EXPECT(tt_frame_read(frame, (TtRect){0, 0, 900, 900}, &rows) == TT_ERROR_IO &&
                   strstr(tt_last_error(), strerror(EIO)),
               "read %d: %s", i, tt_last_error());
    tt_frame_free(frame);
    free(picture.data);
    free(rows.data);
}

int main(void) {
    unsetenv("TT_BACKEND");
    unsetenv("TT_MEMORY_LIMIT");
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    setenv("TMPDIR", folder, 1);
    test_choice();
    test_shared_limit();
    test_memory();
    test_runs();
    test_folders();
    test_faults();
    test_no_threads();
    test_name_that_stays();
    test_failed_for_good();
    EXPECT(!rmdir(folder), "%s: %s", folder, strerror(errno));
    return expect_result();
}
