/* SPDX-License-Identifier: MIT
 *
 * Memory that is given back and asked for again.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>

/* Has the process keep some of what it frees. Call it before memory for pixels is asked for, as often as you
 * like. */
void heap_keep(void);

/* The memory of a frame, as TtFrameOptions has it: each thread keeps what its last one gave back for the
 * next, unless that is much. */
void *heap_frame(size_t bytes, void *user);
void heap_frame_back(void *memory, size_t bytes, void *user);

#endif
