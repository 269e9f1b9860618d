/* SPDX-License-Identifier: MIT
 *
 * Opening libvips.
 */
#include "vips_library.h"

#include <dlfcn.h>
#include <string.h>

#include "../say.h"

VipsLibrary vips;

/* The name that has stood for the interface since libvips 8.0. */
static const char library[] = "libvips.so.42";

static gboolean find_functions(void *handle) {
#define FIND(prefix, name)                                                                                   \
    if (!(vips.name = (__typeof__(vips.name))dlsym(handle, #prefix "_" #name)))                              \
        return FALSE;
    VIPS_FUNCTIONS(FIND)
#undef FIND
    return TRUE;
}

/* libvips warns, by way of GLib, of many things that are no fault: tags it does not know, say.
 * Lower levels have higher numbers. */
static void on_log(const char *domain, GLogLevelFlags level, const char *message, gpointer data) {
    (void)data;
    if (level <= G_LOG_LEVEL_WARNING)
        say_note(NULL, "%s: %s", domain, message);
}

static gboolean start(int threads, GError **error) {
    say_alone();
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fault(error, STATUS_FAILED,
                     "cannot be read without libvips, which does not start (%s): install it", dlerror());
    if (!find_functions(handle) || vips.version(0) != 8 || vips.version(1) < 14)
        return fault(error, STATUS_FAILED, "cannot be read with this libvips: install version 8.14 or later");
    g_log_set_handler("VIPS", G_LOG_LEVEL_MASK | G_LOG_FLAG_RECURSION, on_log, NULL);
    if (vips.init("imgtranspose")) {
        char *message = vips_library_message();
        fault(error, STATUS_FAILED, "cannot be read, since libvips does not start: %s", message);
        g_free(message);
        return FALSE;
    }
    vips.cache_set_max(0); /* each file is read once */
    if (threads)
        vips.concurrency_set(threads);
    return TRUE;
}

gboolean vips_library_open(int threads, GError **error) {
    static GMutex lock;
    static gboolean opened;
    g_mutex_lock(&lock);
    opened = opened || start(threads, error);
    gboolean good = opened;
    g_mutex_unlock(&lock);
    return good;
}

char *vips_library_message(void) {
    char *message = vips.error_buffer_copy();
    vips.error_clear();
    g_strstrip(message);
    char **lines = g_strsplit(message, "\n", 0);
    g_free(message);
    message = g_strjoinv("; ", lines);
    g_strfreev(lines);
    return message;
}
