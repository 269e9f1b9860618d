/* SPDX-License-Identifier: MIT
 *
 * The system keeps what is written until memory is short, and then everybody waits for the disk: for the file
 * and for memory alike. So each part is sent on its way at once, and forgotten when it is there.
 */
#define _GNU_SOURCE
#include "write_behind.h"

#include <fcntl.h>

enum { PART = 8 << 20 };

WriteBehind write_behind_for(int fd, guint64 bytes, const Options *options) {
    return (WriteBehind){.fd = bytes > options_memory(options) ? fd : -1};
}

/* Errors come again when the file is synced, or closed. */
void write_behind(WriteBehind *behind, guint64 end) {
    const unsigned until_written =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (behind->fd < 0 || end < behind->begun + PART)
        return;
    sync_file_range(behind->fd, (off_t)behind->begun, (off_t)(end - behind->begun), SYNC_FILE_RANGE_WRITE);
    /* What was begun the last time has had its time. */
    off_t at = (off_t)behind->done, size = (off_t)(behind->begun - behind->done);
    if (size) {
        sync_file_range(behind->fd, at, size, until_written);
        posix_fadvise(behind->fd, at, size, POSIX_FADV_DONTNEED);
    }
    behind->done = behind->begun;
    behind->begun = end;
}
