/* SPDX-License-Identifier: MIT
 *
 * Files larger than memory, sent to the disk while they are written.
 */
#ifndef WRITE_BEHIND_H
#define WRITE_BEHIND_H

#include "options.h"

typedef struct {
    int fd; /* -1: the file is left to the system */
    guint64 begun, done;
} WriteBehind;

/* For a file that will have about so many bytes. */
WriteBehind write_behind_for(int fd, guint64 bytes, const Options *options);

/* All before `end` is written, or nearly. */
void write_behind(WriteBehind *behind, guint64 end);

#endif
