/* SPDX-License-Identifier: MIT
 *
 * Preloaded into the command to disturb one call of a kind: each in turn, by runs that count. Those to the
 * system are caught by a filter (seccomp), wherever they come from: from the C library's own streams, too.
 *
 *     DISTURB_CALL    the kind: a name of the table below, "thread", or "memory" in a build of its own
 *     DISTURB_AT      the number of the call from 1; 0 disturbs none
 *     DISTURB_HOW     kill (before the call), short (half as many bytes), or the number of an error
 *     DISTURB_ON      set: later calls too
 *     DISTURB_COUNT   a file that gets the number of calls
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARGUMENT(c, i) ((c)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8}[i]])
#define RESULT(c)      ((c)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define ARGUMENT(c, i) ((c)->uc_mcontext.regs[i])
#define RESULT(c)      ((c)->uc_mcontext.regs[0])
#endif

#ifndef SYS_newfstatat /* where the kernel has fstatat64, or statx alone */
#define SYS_newfstatat -1
#endif
#ifndef SYS_fstat
#define SYS_fstat -1
#endif

static const struct {
    const char *name;
    int numbers[3]; /* of the system calls; -1: none */
} kinds[] = {
#ifdef SYS_rename
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2}},
    {"link", {SYS_link, SYS_linkat, -1}},
    {"unlink", {SYS_unlink, SYS_unlinkat, -1}},
    {"open", {SYS_open, SYS_openat, -1}},
    {"chown", {SYS_fchown, SYS_chown, -1}},
    {"mkdir", {SYS_mkdir, SYS_mkdirat, -1}},
    {"stat", {SYS_newfstatat, SYS_statx, SYS_fstat}},
#else
    {"rename", {SYS_renameat2, -1, -1}},
    {"link", {SYS_linkat, -1, -1}},
    {"unlink", {SYS_unlinkat, -1, -1}},
    {"open", {SYS_openat, -1, -1}},
    {"chown", {SYS_fchown, -1, -1}},
    {"mkdir", {SYS_mkdirat, -1, -1}},
    {"stat", {SYS_newfstatat, SYS_statx, SYS_fstat}},
#endif
    {"read", {SYS_read, SYS_pread64, -1}},
    {"write", {SYS_write, SYS_pwrite64, -1}},
    {"fsync", {SYS_fsync, SYS_fdatasync, -1}},
    {"room", {SYS_fallocate, SYS_ftruncate, -1}},
    {"close", {SYS_close, -1, -1}},
    {"lseek", {SYS_lseek, -1, -1}},
    {"fchmod", {SYS_fchmod, -1, -1}},
    {"flock", {SYS_flock, -1, -1}},
    {"utimensat", {SYS_utimensat, -1, -1}},
};

/* In a sixth argument, which none of these calls has: it comes from here. */
#define OURS 0x7474u

static long at, calls;
static int how;
static int on, is_short, is_kill;
static bool threads, memory; /* the kind */
static bool is_over;

/* Counts a call of the kind. */
static bool is_hit(void) {
    if (is_over)
        return false;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return at && (number == at || (on && number > at));
}

#ifdef RESULT
static void on_call(int signal_number, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    int hit = is_hit(), before = errno;
    (void)signal_number;
    if (hit && is_kill)
        kill(getpid(), SIGKILL);
    if (hit && !is_short) {
        RESULT(c) = -how;
        return;
    }
    long bytes = (long)ARGUMENT(c, 2);
    if (hit && bytes > 1)
        bytes /= 2;
    long result = syscall(info->si_syscall, ARGUMENT(c, 0), ARGUMENT(c, 1), bytes, ARGUMENT(c, 3),
                          ARGUMENT(c, 4), OURS);
    RESULT(c) = result < 0 ? -errno : result;
    errno = before;
}

static void catch (const int numbers[3]) {
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, 4, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[0], 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[1], 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[2], 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77);
}
#else
static void catch (const int numbers[3]) {
    (void)numbers;
    _exit(77);
}
#endif

#define EXPORT __attribute__((visibility("default")))

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *data) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return threads && is_hit() ? how : real(thread, attributes, run, data);
}

/* Apart, since a sanitizer's own allocator cannot stand behind this one. The C library has its functions by
 * other names for such as these. */
#ifdef WITH_MEMORY
#define REFUSE                                                                                               \
    if (memory && is_hit())                                                                                  \
    return errno = ENOMEM, NULL

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes);

EXPORT void *malloc(size_t bytes) {
    REFUSE;
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes) {
    REFUSE;
    return __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *block, size_t bytes) {
    REFUSE;
    return __libc_realloc(block, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes) {
    REFUSE;
    return __libc_memalign(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes) {
    void *taken = memalign(alignment, bytes);
    if (taken)
        *block = taken;
    return taken ? 0 : ENOMEM;
}

EXPORT void *mmap(void *start, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (memory && is_hit())
        return errno = ENOMEM, MAP_FAILED;
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, fd, offset);
}
#endif

/* Of what main() did. What tools for tests do later, as one that counts the lines that ran, is nobody's
 * fault. */
static void end(void) {
    is_over = true;
    const char *path = getenv("DISTURB_COUNT");
    char text[32];
    if (!path)
        return;
    int length = snprintf(text, sizeof(text), "%ld\n", calls);
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, 0, OURS);
    if (fd < 0 || syscall(SYS_write, fd, text, (long)length, 0, 0, OURS) != length)
        abort();
}

__attribute__((constructor)) static void start(void) {
    const char *kind = getenv("DISTURB_CALL"), *way = getenv("DISTURB_HOW"), *number = getenv("DISTURB_AT");
    if (!kind)
        return;
    at = number ? atol(number) : 0;
    how = way ? atoi(way) : 0;
    is_short = way && !strcmp(way, "short");
    is_kill = way && !strcmp(way, "kill");
    on = getenv("DISTURB_ON") != NULL;
    threads = !strcmp(kind, "thread");
    memory = !strcmp(kind, "memory");
    if (atexit(end))
        abort();
    if (threads || memory)
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(kind, kinds[i].name)) {
            catch (kinds[i].numbers);
            return;
        }
    abort();
}
