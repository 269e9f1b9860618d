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

static _Thread_local gboolean metadata_lost;

/* libvips warns, by way of GLib, of many things that are no fault: tags it does not know, say.
 * Lower levels have higher numbers. */
static void on_log(const char *domain, GLogLevelFlags level, const char *message, gpointer data) {
    (void)data;
    if (strstr(message, "error reading vips image metadata"))
        metadata_lost = TRUE;
    if (level <= G_LOG_LEVEL_WARNING)
        say_note(NULL, "%s: %s", domain, message);
}

gboolean vips_library_lost_metadata(void) {
    gboolean lost = metadata_lost;
    metadata_lost = FALSE;
    return lost;
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
        fault(error, STATUS_FAILED, "cannot be read, since libvips does not start (%s): install it again",
              message);
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

/* A file that was opened by descriptor has a name that means nothing to the user. */
static char *without_descriptors(const char *message) {
    GRegex *name = g_regex_new("\"?/proc/self/fd/[0-9]+\"?", 0, 0, NULL);
    char *clear = g_regex_replace_literal(name, message, -1, 0, "the file", 0, NULL);
    g_regex_unref(name);
    return clear;
}

/* Further lines say what came of the first one, except for the system's reason. */
char *vips_library_message(void) {
    static const char reason[] = "\nunix error: ";
    char *message = vips.error_buffer_copy();
    vips.error_clear();
    g_strstrip(message);
    char *rest = strchr(message, '\n'), *system = NULL;
    if (rest && g_str_has_prefix(rest, reason)) {
        system = rest + sizeof(reason) - 1;
        system[strcspn(system, "\n")] = '\0';
    }
    if (rest)
        *rest = '\0';
    char *first = without_descriptors(message);
    char *line = system ? g_strdup_printf("%s: %s", first, system) : g_strdup(first);
    g_free(first);
    g_free(message);
    return line;
}

/* Nothing else ties the two images: they may be run by threads that know nothing of each other. */
void copy_metadata(VipsImage *from, VipsImage *to) {
    char **names = vips.image_get_fields(from);
    for (char **name = names; *name; name++) {
        GValue value = {0};
        if (!vips.image_get_typeof(to, *name) && !vips.image_get(from, *name, &value)) {
            vips.image_set(to, *name, &value);
            vips.value_unset(&value);
        }
    }
    g_strfreev(names);
}
