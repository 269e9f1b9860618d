/* SPDX-License-Identifier: MIT
 *
 * The memory for all frames of the process: how much there may be, and a count of what is held.
 *
 * What is allowed is what could be had now, plus what frames have filled already, so that it stays the same
 * while they fill. What they hold and have not filled is still among what can be had.
 */
#include "budget.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../cgroup.h"
#include "../error.h"

static atomic_size_t held, filled;

bool tt_memory_take(size_t bytes, size_t limit) {
    size_t before = atomic_load(&held);
    do
        if (before > limit || bytes > limit - before)
            return false;
    while (!atomic_compare_exchange_weak(&held, &before, before + bytes));
    return true;
}

void tt_memory_fill(size_t bytes) {
    atomic_fetch_add(&filled, bytes);
}

void tt_memory_give(size_t bytes, size_t of_them_filled) {
    atomic_fetch_sub(&filled, of_them_filled);
    atomic_fetch_sub(&held, bytes);
}

size_t tt_memory_held(void) {
    return atomic_load(&held);
}

/* ---- What is allowed ------------------------------------------------------------------------------- */

typedef unsigned long long Bytes;

static void lower_to(size_t *allowed, Bytes limit) {
    if (limit < *allowed)
        *allowed = (size_t)limit;
}

static Bytes left_of(Bytes limit, Bytes used) {
    return used < limit ? limit - used : 0;
}

/* The number after a word at the start of a line; 0 if there is none. */
static Bytes number_after(FILE *file, const char *word) {
    char line[256];
    size_t length = strlen(word);
    rewind(file);
    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, word, length) && (line[length] == ' ' || line[length] == ':'))
            return strtoull(line + length + 1, NULL, 10);
    return 0;
}

/* What the machine can give without swapping, and never more than it has. */
static void lower_to_machine(size_t *allowed) {
    FILE *file = fopen(TT_SYSTEM_ROOT "/proc/meminfo", "re");
    Bytes total = 0, available = 0;
    if (file) {
        total = 1024 * number_after(file, "MemTotal");
        available = 1024 * number_after(file, "MemAvailable");
        fclose(file);
    }
    if (!total) {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        total = pages > 0 && page > 0 ? (Bytes)pages * (Bytes)page : SIZE_MAX;
    }
    lower_to(allowed, total);
    if (available)
        lower_to(allowed, available + atomic_load(&filled));
}

/* A group's files hold one number, or "max". */
static bool read_number(const char *folder, const char *name, Bytes *number) {
    FILE *file = tt_cgroup_open(folder, name);
    bool read = file && fscanf(file, "%llu", number) == 1;
    if (file)
        fclose(file);
    return read;
}

/* A group also counts the files that it has read and written, which give way to whatever needs memory. */
static Bytes cached_files(const char *folder, int version) {
    FILE *file = tt_cgroup_open(folder, "memory.stat");
    Bytes cached = 0;
    if (file) {
        cached = number_after(file, version == 2 ? "inactive_file" : "total_inactive_file") +
                 number_after(file, version == 2 ? "active_file" : "total_active_file");
        fclose(file);
    }
    return cached;
}

static void lower_to_group(const char *folder, int version, void *allowed) {
    Bytes limit, used = 0;
    if (!read_number(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", &limit))
        return;
    read_number(folder, version == 2 ? "memory.current" : "memory.usage_in_bytes", &used);
    used = left_of(used, cached_files(folder, version));
    lower_to(allowed, left_of(limit, left_of(used, atomic_load(&filled))));
}

static void lower_to_address_space(size_t *allowed) {
    struct rlimit most;
    Bytes pages = 0;
    if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur == RLIM_INFINITY)
        return;
    FILE *file = fopen(TT_SYSTEM_ROOT "/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%llu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    lower_to(allowed,
             left_of(most.rlim_cur, left_of(pages * (Bytes)sysconf(_SC_PAGESIZE), tt_memory_held())));
}

size_t tt_memory_allowed(void) {
    size_t allowed = SIZE_MAX;
    lower_to_machine(&allowed);
    tt_cgroup_each("memory", lower_to_group, &allowed);
    lower_to_address_space(&allowed);
    return allowed;
}

/* Bytes, with K, M, G or T after them. */
static bool parse_size(const char *text, size_t *bytes) {
    static const char units[] = "KMGTkmgt";
    char *end;
    errno = 0;
    Bytes number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * ((unsigned)(unit - units) % 4 + 1) : 0;
    if (*text < '0' || *text > '9' || errno || !number || number > SIZE_MAX >> shift || end[unit ? 1 : 0])
        return false;
    *bytes = (size_t)number << shift;
    return true;
}

TtStatus tt_memory_limit(size_t *limit) {
    const char *text = getenv("TT_MEMORY_LIMIT");
    if (!text || !*text) {
        *limit = tt_memory_allowed() / 2;
        return TT_OK;
    }
    return parse_size(text, limit)
               ? TT_OK
               : tt_fail(TT_ERROR_ARGUMENT,
                         "TT_MEMORY_LIMIT is '%s': it takes bytes, with K, M, G or T after them, as 2G",
                         text);
}
