/* SPDX-License-Identifier: MIT
 *
 * Each wrapper is what calls of its name in the library and in the test come to; the real one has __real_
 * before its name.
 */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct {
    int error;
    size_t first, last;
} Fault;

static Fault faults[CALLS], fault_any;
static atomic_size_t calls[CALLS], calls_any;
static unsigned long long free_blocks;
static atomic_long left;

static const int own[CALLS] = {
    [MEMORY] = ENOMEM,  [WRITE] = ENOSPC,     [READ] = EIO,      [ALLOCATE] = ENOSPC,
    [TRUNCATE] = EFBIG, [OPEN] = EMFILE,      [STREAM] = ENOMEM, [UNLINK] = EPERM,
    [SYNC] = EIO,       [SET_FLAGS] = EINVAL, [ROOM] = EIO,      [THREAD] = EAGAIN,
};

void system_heal(void) {
    memset(faults, 0, sizeof(faults));
    memset(&fault_any, 0, sizeof(fault_any));
    for (int i = 0; i < CALLS; i++)
        calls[i] = 0;
    calls_any = 0;
    free_blocks = 0;
}

void system_fault(Call call, int error, size_t first, size_t last) {
    faults[call] = (Fault){error, first, last};
}

void system_fault_any(int error, size_t first, size_t last) {
    fault_any = (Fault){error, first, last};
}

size_t system_calls(Call call) {
    return calls[call];
}

size_t system_calls_any(void) {
    return calls_any;
}

long system_left(void) {
    return left;
}

void system_set_free_blocks(unsigned long long blocks) {
    free_blocks = blocks;
}

static int error_at(const Fault *fault, size_t n) {
    return n >= fault->first && n <= fault->last ? fault->error : 0;
}

static bool can_fail_so(Call call, int error) {
    bool moves = call == WRITE || call == READ;
    return error == OWN || moves || (error == EINTR && call == ALLOCATE);
}

/* 0, an errno or SHORT. */
static int fault_of(Call call) {
    int error = error_at(&faults[call], ++calls[call]), any = error_at(&fault_any, ++calls_any);
    if (!error && any && can_fail_so(call, any))
        error = any;
    return error == OWN ? own[call] : error;
}

static int failed(int error) {
    errno = error;
    return -1;
}

static void *counted(void *taken) {
    left += taken != NULL;
    return taken;
}

static int counted_file(int fd) {
    left += fd >= 0;
    return fd;
}

/* The functions for large files, which the headers lead to, have other names in glibc. */
#ifdef __GLIBC__
#define LARGE(name) name##64
#else
#define LARGE(name) name
#endif

#define WRAP(result, name, ...) WRAP_NAME(result, name, __VA_ARGS__)
#define WRAP_NAME(result, name, ...)                                                                         \
    result __real_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__);                                                                       \
    result __wrap_##name(__VA_ARGS__)
#define REAL(name)      REAL_NAME(name)
#define REAL_NAME(name) __real_##name

/* ---- Memory ------------------------------------------------------------------------------------------ */

WRAP(void *, malloc, size_t bytes) {
    int error = fault_of(MEMORY);
    return error ? failed(error), NULL : counted(__real_malloc(bytes));
}

WRAP(void *, calloc, size_t n, size_t bytes) {
    int error = fault_of(MEMORY);
    return error ? failed(error), NULL : counted(__real_calloc(n, bytes));
}

WRAP(char *, strdup, const char *text) {
    int error = fault_of(MEMORY);
    return error ? failed(error), NULL : counted(__real_strdup(text));
}

static int print(char **text, const char *format, va_list args) {
    int error = fault_of(MEMORY), length = error ? failed(error) : vasprintf(text, format, args);
    left += length >= 0;
    return length;
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = print(text, format, args);
    va_end(args);
    return length;
}

/* asprintf() as the headers have it where sources are fortified. */
#ifdef __GLIBC__
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int __wrap___asprintf_chk(char **text, int flag, const char *format, ...) {
    va_list args;
    (void)flag;
    va_start(args, format);
    int length = print(text, format, args);
    va_end(args);
    return length;
}
#endif

WRAP(void, free, void *memory) {
    left -= memory != NULL;
    __real_free(memory);
}

WRAP(void *, LARGE(mmap), void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    int error = fault_of(MEMORY);
    if (error)
        return failed(error), MAP_FAILED;
    void *memory = REAL(LARGE(mmap))(at, bytes, protection, flags, fd, offset);
    left += memory != MAP_FAILED;
    return memory;
}

WRAP(int, munmap, void *memory, size_t bytes) {
    left--;
    return __real_munmap(memory, bytes);
}

/* ---- Files ------------------------------------------------------------------------------------------- */

static size_t bytes_of(size_t bytes, int error) {
    return error == SHORT && bytes > 1 ? bytes / 2 : bytes;
}

WRAP(ssize_t, LARGE(pwrite), int fd, const void *memory, size_t bytes, off_t offset) {
    int error = fault_of(WRITE);
    return error > 0 ? failed(error) : REAL(LARGE(pwrite))(fd, memory, bytes_of(bytes, error), offset);
}

WRAP(ssize_t, LARGE(pread), int fd, void *memory, size_t bytes, off_t offset) {
    int error = fault_of(READ);
    return error > 0 ? failed(error) : REAL(LARGE(pread))(fd, memory, bytes_of(bytes, error), offset);
}

WRAP(int, LARGE(fallocate), int fd, int mode, off_t offset, off_t bytes) {
    int error = fault_of(ALLOCATE);
    return error ? failed(error) : REAL(LARGE(fallocate))(fd, mode, offset, bytes);
}

WRAP(int, LARGE(ftruncate), int fd, off_t bytes) {
    int error = fault_of(TRUNCATE);
    return error ? failed(error) : REAL(LARGE(ftruncate))(fd, bytes);
}

WRAP(int, LARGE(open), const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0, error = fault_of(OPEN);
    va_end(args);
    return error ? failed(error) : counted_file(REAL(LARGE(open))(path, flags, mode));
}

WRAP(int, LARGE(mkostemp), char *name, int flags) {
    int error = fault_of(OPEN);
    return error ? failed(error) : counted_file(REAL(LARGE(mkostemp))(name, flags));
}

WRAP(int, close, int fd) {
    left--;
    return __real_close(fd);
}

WRAP(int, unlink, const char *path) {
    int error = fault_of(UNLINK);
    return error ? failed(error) : __real_unlink(path);
}

WRAP(int, LARGE(fcntl), int fd, int command, ...) {
    va_list args;
    va_start(args, command);
    long argument = va_arg(args, long);
    va_end(args);
    int error = command == F_SETFL ? fault_of(SET_FLAGS) : 0;
    return error ? failed(error) : REAL(LARGE(fcntl))(fd, command, argument);
}

WRAP(int, sync_file_range, int fd, off_t offset, off_t bytes, unsigned flags) {
    int error = flags & SYNC_FILE_RANGE_WAIT_AFTER ? fault_of(SYNC) : 0;
    return error ? failed(error) : __real_sync_file_range(fd, offset, bytes, flags);
}

WRAP(int, LARGE(fstatvfs), int fd, struct statvfs *system) {
    int error = fault_of(ROOM), result = error ? failed(error) : REAL(LARGE(fstatvfs))(fd, system);
    if (free_blocks)
        system->f_bavail = free_blocks;
    return result;
}

WRAP(FILE *, LARGE(fopen), const char *path, const char *mode) {
    int error = fault_of(STREAM);
    return error ? failed(error), NULL : counted(REAL(LARGE(fopen))(path, mode));
}

WRAP(int, fclose, FILE *file) {
    left--;
    return __real_fclose(file);
}

/* getline() as it is, and as the headers have it where they optimise. */
#ifdef __GLIBC__
WRAP(ssize_t, __getdelim, char **line, size_t *size, int end, FILE *file) {
    bool had = *line;
    int error = fault_of(STREAM);
    ssize_t length = error ? failed(error) : __real___getdelim(line, size, end, file);
    left += *line && !had;
    return length;
}
#endif

WRAP(ssize_t, getline, char **line, size_t *size, FILE *file) {
    bool had = *line;
    int error = fault_of(STREAM);
    ssize_t length = error ? failed(error) : __real_getline(line, size, file);
    left += *line && !had;
    return length;
}

/* ---- Threads ----------------------------------------------------------------------------------------- */

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
     void *data) {
    int error = fault_of(THREAD);
    if (!error && !(error = __real_pthread_create(thread, attributes, run, data)))
        left++;
    return error;
}

WRAP(int, pthread_join, pthread_t thread, void **result) {
    left--;
    return __real_pthread_join(thread, result);
}
