/* SPDX-License-Identifier: MIT
 *
 * Names, locks and leftovers.
 */
#define _GNU_SOURCE
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

/* .imgtranspose-, eight digits for the machine, and six characters by which the files differ. */
static const char beginning[] = ".imgtranspose-";
enum { BEGINNING = sizeof(beginning) - 1, MACHINE = 8, LENGTH = BEGINNING + MACHINE + 1 + 6 };
enum { DAY = 24 * 60 * 60 };

static guint32 this_machine(void) {
    return g_str_hash(g_get_host_name());
}

gboolean temporary_is(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strlen(name) == LENGTH && !strncmp(name, beginning, BEGINNING) &&
           strspn(name + BEGINNING, "0123456789abcdef") == MACHINE && name[BEGINNING + MACHINE] == '-';
}

/* Between its creation and its lock, another run may have taken a file for a dead one's. */
static gboolean is_still_there(int fd) {
    struct stat info;
    return fstat(fd, &info) || info.st_nlink;
}

int temporary_create(const char *folder, char **path, int *lock, GError **error) {
    char *name = g_strdup_printf("%s%08x-XXXXXX", beginning, this_machine());
    char *pattern = g_build_filename(folder, name, NULL);
    int fd;
    do {
        g_free(*path);
        *path = g_strdup(pattern);
        fd = mkostemp(*path, O_CLOEXEC); /* mode 0600 */
        if (fd >= 0)
            flock(fd, LOCK_EX); /* where that is impossible, nobody can take it for dead either */
    } while (fd >= 0 && !is_still_there(fd) && !close(fd));
    if (fd < 0) {
        char *what = g_strdup_printf("write in the folder %s", folder);
        system_fault(error, what, errno);
        g_free(what);
        g_clear_pointer(path, g_free);
    } else {
        *lock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    g_free(pattern);
    g_free(name);
    return fd;
}

static gboolean is_abandoned(int fd, const char *name) {
    struct stat info;
    char machine[MACHINE + 1];
    if (fstat(fd, &info) || !S_ISREG(info.st_mode) || flock(fd, LOCK_EX | LOCK_NB))
        return FALSE;
    g_snprintf(machine, sizeof(machine), "%08x", this_machine());
    return !strncmp(name + BEGINNING, machine, MACHINE) || time(NULL) - info.st_mtime > DAY;
}

static void remove_if_abandoned(const char *folder, const char *name) {
    char *path = g_build_filename(folder, name, NULL);
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = open(path, O_RDWR | flags);
    if (fd < 0)
        fd = open(path, O_RDONLY | flags); /* of an original that may not be written */
    if (fd >= 0) {
        /* The lock is held until the name is gone: whoever creates a file looks afterwards. */
        if (is_abandoned(fd, name) && !unlink(path))
            say_note(path, "was left by a run that was killed, and is removed");
        close(fd);
    }
    g_free(path);
}

static void sweep(const char *folder) {
    GDir *names = g_dir_open(folder, 0, NULL);
    const char *name;
    while (names && (name = g_dir_read_name(names)))
        if (temporary_is(name))
            remove_if_abandoned(folder, name);
    if (names)
        g_dir_close(names);
}

void temporary_sweep(const char *path) {
    static GHashTable *swept;
    static GMutex lock;
    char *folder = g_path_get_dirname(path);
    g_mutex_lock(&lock);
    if (!swept)
        swept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean first = g_hash_table_add(swept, g_strdup(folder));
    g_mutex_unlock(&lock);
    if (first)
        sweep(folder);
    g_free(folder);
}
