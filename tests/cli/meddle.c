/* SPDX-License-Identifier: MIT
 *
 * Preloaded into the command to do to its files what a failing disk or another program would.
 *
 *     MEDDLE_SPOIL    change one byte in the middle of each file that is synced, once it is
 *     MEDDLE_APPEAR   create the file of this name just before an output gets its permissions
 *     MEDDLE_BLIND    files are there (for access alone) by names with other capitals, too
 *     MEDDLE_TOUCH    append a byte to the file of this name at the same moment
 *     MEDDLE_SIMPLE   the file system has neither links nor a renaming that replaces nothing
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int fsync(int fd);
EXPORT int fchmod(int fd, mode_t mode);
EXPORT int access(const char *path, int mode);
EXPORT int link(const char *from, const char *to);
EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);

EXPORT int fsync(int fd) {
    struct stat info;
    char byte;
    if (getenv("MEDDLE_SPOIL") && !fstat(fd, &info) && S_ISREG(info.st_mode) &&
        pread(fd, &byte, 1, info.st_size / 2) == 1) {
        byte ^= 0x10;
        if (pwrite(fd, &byte, 1, info.st_size / 2) != 1)
            abort();
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

static void write_to(const char *path, int flags) {
    int fd = open(path, O_WRONLY | flags, 0644);
    if (fd < 0 || write(fd, "!", 1) != 1 || close(fd))
        abort();
}

EXPORT int fchmod(int fd, mode_t mode) {
    const char *appear = getenv("MEDDLE_APPEAR"), *touch = getenv("MEDDLE_TOUCH");
    if (appear)
        write_to(appear, O_CREAT | O_EXCL);
    if (touch)
        write_to(touch, O_APPEND);
    return ((int (*)(int, mode_t))dlsym(RTLD_NEXT, "fchmod"))(fd, mode);
}

/* In the folder of path, with whatever capitals. */
static int is_there(const char *path) {
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    if (slash)
        snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
    DIR *names = opendir(folder);
    const struct dirent *name = NULL;
    while (names && (name = readdir(names)) && strcasecmp(name->d_name, slash ? slash + 1 : path))
        ;
    if (names)
        closedir(names);
    return name != NULL;
}

EXPORT int access(const char *path, int mode) {
    int status = ((int (*)(const char *, int))dlsym(RTLD_NEXT, "access"))(path, mode);
    return status && getenv("MEDDLE_BLIND") && is_there(path) ? 0 : status;
}

EXPORT int link(const char *from, const char *to) {
    if (!getenv("MEDDLE_SIMPLE"))
        return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link"))(from, to);
    errno = EPERM;
    return -1;
}

EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    if (!getenv("MEDDLE_SIMPLE"))
        return ((int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2"))(
            from_folder, from, to_folder, to, flags);
    errno = EINVAL;
    return -1;
}
