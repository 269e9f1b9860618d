/* SPDX-License-Identifier: MIT
 *
 * A temporary file without a name.
 *
 * Its bytes go past the system's cache: they would be copied, would drive out what others need, and count
 * against a cgroup's memory. A file system that cannot do without has written runs sent to the disk at once,
 * not when memory is short and everybody waits.
 */
#define _GNU_SOURCE
#include "spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../error.h"

static const char remedy[] = "set TMPDIR to a folder with more room, or allow more memory";

/* ---- Opening --------------------------------------------------------------------------------------- */

/* /tmp is in memory on many systems, which is what is to be spared. */
const char *tt_spill_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

/* Not all file systems know files that never have a name. */
int tt_spill_open_nameless(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char *name;
    if (asprintf(&name, "%s/tiletranspose-XXXXXX", folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0 && unlink(name)) {
        close(fd);
        fd = -1;
    }
    free(name);
    return fd;
}

static TtStatus no_room(const TtSpillFile *file, size_t bytes, unsigned long long available) {
    return tt_fail(TT_ERROR_IO,
                   "the picture takes a temporary file of %.1f MB in %s, where %.1f MB are free: %s",
                   (double)bytes / 1e6, file->folder, (double)available / 1e6, remedy);
}

static unsigned long long room_in(int fd) {
    struct statvfs system;
    return fstatvfs(fd, &system) ? UINT64_MAX : (unsigned long long)system.f_bavail * system.f_frsize;
}

/* A process that writes past its limit of file sizes is killed, unless it ignores the signal. */
static TtStatus check_size_limit(const TtSpillFile *file, size_t bytes) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY || bytes <= most.rlim_cur)
        return TT_OK;
    return tt_fail(
        TT_ERROR_IO,
        "the picture takes a temporary file of %.1f MB in %s, and files may have %.1f MB (ulimit -f): "
        "raise that, or allow more memory",
        (double)bytes / 1e6, file->folder, (double)most.rlim_cur / 1e6);
}

/* Takes the room now, so that no other program can take it first; a file system that cannot promise it has at
 * least been asked how much it has. */
static TtStatus reserve(const TtSpillFile *file, size_t bytes) {
    TtStatus status = check_size_limit(file, bytes);
    if (status)
        return status;
    unsigned long long available = room_in(file->fd);
    if (bytes > available)
        return no_room(file, bytes, available);
    int result;
    do
        result = fallocate(file->fd, 0, 0, (off_t)bytes);
    while (result && errno == EINTR);
    if (result && errno == ENOSPC)
        return no_room(file, bytes, room_in(file->fd));
    if (result && (errno == EOPNOTSUPP || errno == ENOSYS))
        result = ftruncate(file->fd, (off_t)bytes);
    return result ? tt_fail(TT_ERROR_IO, "no temporary file of %.1f MB can be made in %s (%m): %s",
                            (double)bytes / 1e6, file->folder, remedy)
                  : TT_OK;
}

/* Not all file systems can; and some say so only later. */
static void bypass_cache(TtSpillFile *file, bool bypass) {
    int flags = fcntl(file->fd, F_GETFL);
    file->direct = !fcntl(file->fd, F_SETFL, bypass ? flags | O_DIRECT : flags & ~O_DIRECT) && bypass;
}

TtStatus tt_spill_file_open(TtSpillFile *file, size_t bytes) {
    *file = (TtSpillFile){.fd = -1, .folder = strdup(tt_spill_folder())};
    if (!file->folder)
        return tt_fail(TT_ERROR_MEMORY, "out of memory for a frame");
    file->fd = tt_spill_open_nameless(file->folder);
    TtStatus status = file->fd < 0
                          ? tt_fail(TT_ERROR_IO,
                                    "no temporary file can be made in %s (%m): set TMPDIR to a folder that "
                                    "can be written to, or allow more memory",
                                    file->folder)
                          : reserve(file, bytes);
    if (status)
        tt_spill_file_close(file);
    else
        bypass_cache(file, true);
    return status;
}

void tt_spill_file_close(TtSpillFile *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->folder);
    *file = (TtSpillFile){.fd = -1};
}

/* ---- Writing and reading --------------------------------------------------------------------------- */

static TtStatus cannot(const char *verb, TtSpillFile *file, int error) {
    int first = 0;
    errno = atomic_compare_exchange_strong(&file->error, &first, error) ? error : first;
    return tt_fail(TT_ERROR_IO,
                   "the picture's temporary file in %s cannot be %s (%m): set TMPDIR to another "
                   "folder, or allow more memory",
                   file->folder, verb);
}

/* The error of a call that moved n bytes where more were wanted; 0 if it is to go on. `direct` is how the
 * file was before it: another thread may have changed that since. */
static int error_of(TtSpillFile *file, ssize_t n, bool direct) {
    if (n > 0 || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 && errno == EINVAL && direct) {
        bypass_cache(file, false);
        return 0;
    }
    return n < 0 ? errno : EIO;
}

TtStatus tt_spill_file_write(TtSpillFile *file, const void *memory, size_t bytes, size_t offset) {
    int error = file->error;
    for (size_t done = 0; !error && done < bytes;) {
        bool direct = file->direct;
        ssize_t n = pwrite(file->fd, (const char *)memory + done, bytes - done, (off_t)(offset + done));
        error = error_of(file, n, direct);
        done += n > 0 ? (size_t)n : 0;
    }
    if (error)
        return cannot("written", file, error);
    if (!file->direct)
        sync_file_range(file->fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
    return TT_OK;
}

/* A write that failed on its way from the cache to the disk is told of here, once, or nowhere. */
static int error_of_cache(TtSpillFile *file, size_t bytes, size_t offset) {
    const unsigned until_written =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    int result = sync_file_range(file->fd, (off_t)offset, (off_t)bytes, until_written);
    return result && (errno == EIO || errno == ENOSPC) ? errno : 0;
}

TtStatus tt_spill_file_read(TtSpillFile *file, void *memory, size_t bytes, size_t offset) {
    int error = file->error;
    if (!error && !file->direct && (error = error_of_cache(file, bytes, offset)))
        return cannot("written", file, error);
    for (size_t done = 0; !error && done < bytes;) {
        bool direct = file->direct;
        ssize_t n = pread(file->fd, (char *)memory + done, bytes - done, (off_t)(offset + done));
        error = error_of(file, n, direct);
        done += n > 0 ? (size_t)n : 0;
    }
    if (error)
        return cannot("read", file, error);
    if (!file->direct)
        posix_fadvise(file->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
    return TT_OK;
}
