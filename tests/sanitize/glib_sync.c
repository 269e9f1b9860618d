/* SPDX-License-Identifier: MIT
 *
 * Preloaded into programs that ThreadSanitizer watches: it does not see GLib's locks, which are made of
 * atomic operations in code that it has not compiled. Each lock here says what it orders.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* In programs without the sanitizer they are NULL. */
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

static void acquire(void *address) {
    if (__tsan_acquire)
        __tsan_acquire(address);
}

static void release(void *address) {
    if (__tsan_release)
        __tsan_release(address);
}

#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (!real)                                                                                               \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

#define LOCK(name, Type)                                                                                     \
    EXPORT void name(Type *lock) {                                                                           \
        REAL(name);                                                                                          \
        real(lock);                                                                                          \
        acquire(lock);                                                                                       \
    }

#define TRY_LOCK(name, Type)                                                                                 \
    EXPORT gboolean name(Type *lock) {                                                                       \
        REAL(name);                                                                                          \
        gboolean got = real(lock);                                                                           \
        if (got)                                                                                             \
            acquire(lock);                                                                                   \
        return got;                                                                                          \
    }

#define UNLOCK(name, Type)                                                                                   \
    EXPORT void name(Type *lock) {                                                                           \
        REAL(name);                                                                                          \
        release(lock);                                                                                       \
        real(lock);                                                                                          \
    }

TRY_LOCK(g_mutex_trylock, GMutex)
UNLOCK(g_mutex_unlock, GMutex)
LOCK(g_rec_mutex_lock, GRecMutex)
TRY_LOCK(g_rec_mutex_trylock, GRecMutex)
UNLOCK(g_rec_mutex_unlock, GRecMutex)

/* A signal that comes to a thread is kept until that thread calls a function which the sanitizer knows, as
 * usleep(), and none of GLib's waits is. */
EXPORT void g_mutex_lock(GMutex *lock) {
    while (!g_mutex_trylock(lock))
        usleep(200);
}

EXPORT void g_cond_wait(GCond *cond, GMutex *lock) {
    g_cond_wait_until(cond, lock, g_get_monotonic_time() + G_TIME_SPAN_SECOND / 10); /* it may return early */
}

EXPORT gboolean g_cond_wait_until(GCond *cond, GMutex *lock, gint64 end) {
    REAL(g_cond_wait_until);
    release(lock);
    gboolean woken = real(cond, lock, end);
    acquire(lock);
    usleep(0);
    return woken;
}

/* GOnce and g_once_init_enter(), whose fast ways are atomic operations in their headers. */
EXPORT gboolean(g_once_init_enter)(volatile void *location) {
    static gboolean (*real)(volatile void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "g_once_init_enter");
    gboolean first = real(location);
    acquire((void *)location);
    return first;
}

EXPORT void(g_once_init_leave)(volatile void *location, gsize result) {
    static void (*real)(volatile void *, gsize);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "g_once_init_leave");
    release((void *)location);
    real(location, result);
}

EXPORT gpointer g_once_impl(GOnce *once, GThreadFunc function, gpointer data) {
    REAL(g_once_impl);
    gpointer result = real(once, function, data);
    acquire(once);
    return result;
}
