/* SPDX-License-Identifier: MIT
 *
 * Memory between two pages that cannot be touched: one byte too far, read or written, is a crash.
 */
#ifndef GUARDED_H
#define GUARDED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
    uint8_t *low, *end; /* both lie against a guard page; end - low is whole pages */
} Guarded;

static inline Guarded guarded_new(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    uint8_t *all = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, inside, PROT_READ | PROT_WRITE)) {
        perror("guarded memory");
        exit(EXIT_FAILURE);
    }
    return (Guarded){all + page, all + page + inside};
}

static inline void guarded_make_read_only(Guarded g) {
    if (mprotect(g.low, (size_t)(g.end - g.low), PROT_READ)) {
        perror("guarded memory");
        exit(EXIT_FAILURE);
    }
}

static inline void guarded_free(Guarded g) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(g.low - page, (size_t)(g.end - g.low) + 2 * page);
}

#endif
