/* SPDX-License-Identifier: MIT
 *
 * A temporary file without a name.
 */
#ifndef TT_SPILL_FILE_H
#define TT_SPILL_FILE_H

#include <stdatomic.h>
#include <stddef.h>

#include "tiletranspose/tt.h"

typedef struct {
    int fd; /* -1: none */
    char *folder;
    atomic_bool direct; /* past the system's cache */
    atomic_int error;   /* errno of the first failure, after which nothing in it is trusted */
} TtSpillFile;

/* Where temporary files go: TMPDIR, or else /var/tmp. */
const char *tt_spill_folder(void);
/* A file in this folder that loses its name at once, if it ever had one: a descriptor, or -1 with errno. */
int tt_spill_open_nameless(const char *folder);

/* Creates the file in TMPDIR, or else in /var/tmp, with so many bytes on the disk. Nothing is left of it when
 * the process ends, however it does. TT_ERROR_IO, with the folder, what is free there and a remedy in the
 * message. */
TtStatus tt_spill_file_open(TtSpillFile *file, size_t bytes);
void tt_spill_file_close(TtSpillFile *file);

/* Writes, or reads, so many bytes at an offset, from any thread. What is written begins its way to the disk
 * at once. After a failure every other call fails, too. */
TtStatus tt_spill_file_write(TtSpillFile *file, const void *memory, size_t bytes, size_t offset);
TtStatus tt_spill_file_read(TtSpillFile *file, void *memory, size_t bytes, size_t offset);

#endif
