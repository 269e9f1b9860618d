/* SPDX-License-Identifier: MIT
 *
 * How much memory this process may use.
 */
#include "budget.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static void lower_to(size_t *allowed, unsigned long long limit) {
    if (limit && limit < *allowed)
        *allowed = (size_t)limit;
}

/* A cgroup's file holds one number, or "max". */
static void lower_to_file(size_t *allowed, const char *path) {
    unsigned long long limit = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%llu", &limit) == 1)
        lower_to(allowed, limit);
    fclose(file);
}

size_t tt_memory_allowed(void) {
    size_t allowed = SIZE_MAX;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        lower_to(&allowed, (unsigned long long)pages * (unsigned long long)page);
    lower_to_file(&allowed, "/sys/fs/cgroup/memory.max");
    lower_to_file(&allowed, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    struct rlimit address_space;
    if (!getrlimit(RLIMIT_AS, &address_space) && address_space.rlim_cur != RLIM_INFINITY)
        lower_to(&allowed, address_space.rlim_cur);
    return allowed;
}
