/* SPDX-License-Identifier: MIT
 *
 * What Linux says about its processor and memory.
 */
#include "machine.h"

#include <string.h>
#include <sys/utsname.h>

#include "../../kernels/threads.h"

/* The rest of the line that begins with key, without the colon and blanks before it, or NULL. */
static char *value_in(const char *path, const char *key) {
    char *text = NULL, *value = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    char **lines = g_strsplit(text, "\n", 0);
    for (char **line = lines; *line && !value; line++)
        if (g_str_has_prefix(*line, key))
            value = g_strdup(*line + strlen(key) + strspn(*line + strlen(key), " \t:"));
    g_strfreev(lines);
    g_free(text);
    return value;
}

static char *model_name(void) {
    char *name = value_in("/proc/cpuinfo", "model name");
    struct utsname system;
    if (!name && !uname(&system))
        name = g_strdup(system.machine); /* arm64 does not name its models */
    return name ? name : g_strdup("unknown");
}

/* A number with K, M or G after it, as sysfs writes sizes; 0 for anything else, as "max". */
static gsize size_in(const char *path) {
    char *text = value_in(path, ""), *unit = NULL;
    guint64 size = text ? g_ascii_strtoull(text, &unit, 10) : 0;
    if (size && *unit)
        size <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    g_free(text);
    return size;
}

/* Level 0 is the last: indices rise with the levels. */
static gsize cache_size(gsize wanted) {
    gsize size = 0;
    for (guint i = 0; i < 8; i++) {
        char *folder = g_strdup_printf("/sys/devices/system/cpu/cpu0/cache/index%u", i);
        char *level = g_build_filename(folder, "level", NULL), *file = g_build_filename(folder, "size", NULL);
        gsize this = size_in(level);
        if (this > 1 && (!wanted || this == wanted))
            size = size_in(file);
        g_free(folder);
        g_free(level);
        g_free(file);
    }
    return size;
}

static gsize memory_available(void) {
    char *free_now = value_in("/proc/meminfo", "MemAvailable");
    gsize memory = free_now ? g_ascii_strtoull(free_now, NULL, 10) * 1024 : G_MAXSIZE;
    g_free(free_now);
    const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        gsize limit = size_in(limits[i]);
        if (limit)
            memory = MIN(memory, limit);
    }
    return memory;
}

void machine_read(Machine *machine) {
    machine->model = model_name();
    machine->processors = tt_threads_allowed();
    machine->second = cache_size(2);
    machine->last = cache_size(0);
    machine->memory = memory_available();
}

void machine_clear(Machine *machine) {
    g_free(machine->model);
}
