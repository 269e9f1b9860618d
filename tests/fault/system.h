/* SPDX-License-Identifier: MIT
 *
 * The system between a test and the library: the calls that the linker leads here (meson.build has the list)
 * fail when they are told to, do half, and are counted.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    MEMORY, /* malloc, calloc, strdup, asprintf, mmap */
    WRITE,
    READ,
    ALLOCATE,
    TRUNCATE,
    OPEN,
    STREAM, /* fopen, getline */
    UNLINK,
    SET_FLAGS,
    SYNC,
    ROOM,
    THREAD,
    CALLS
} Call;

enum { SHORT = -1, OWN = -2 }; /* in place of an errno: do half; what is usual for the kind */

void system_heal(void);

/* Call number `first` of its kind and all after it, up to `last`, fail with this errno. */
void system_fault(Call call, int error, size_t first, size_t last);

/* The same for the calls of all kinds, counted together. Kinds that know no such error do not fail. */
void system_fault_any(int error, size_t first, size_t last);

size_t system_calls(Call call);
size_t system_calls_any(void);

/* What was taken and not given back since the start: blocks of memory, mappings, files, threads. */
long system_left(void);

/* Blocks of a file system's that are said to be free; 0: as it says. */
void system_set_free_blocks(unsigned long long blocks);

#endif
