/* SPDX-License-Identifier: MIT
 *
 * Memory that is given back and asked for again.
 */
#ifndef HEAP_H
#define HEAP_H

/* Has the process keep some of what it frees. Call it before memory for pixels is asked for, as often as you
 * like. */
void heap_keep(void);

#endif
