/* SPDX-License-Identifier: MIT
 *
 * Temporary file, sync, rename.
 */
#define _GNU_SOURCE
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "say.h"
#include "stdout_file.h"

#define TEMPORARY ".imgtranspose-"

gboolean output_file_is_temporary(const char *name) {
    return g_str_has_prefix(name, TEMPORARY) && strlen(name) == strlen(TEMPORARY "XXXXXX");
}

static int create_beside(const char *path, char **temporary, GError **error) {
    char *folder = g_path_get_dirname(path);
    *temporary = g_build_filename(folder, TEMPORARY "XXXXXX", NULL);
    int fd = mkostemp(*temporary, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        char *what = g_strdup_printf("write in the folder %s", folder);
        system_fault(error, what, errno);
        g_free(what);
        g_clear_pointer(temporary, g_free);
    }
    g_free(folder);
    return fd;
}

gboolean output_file_open(OutputFile *output, const char *path, GError **error) {
    *output = (OutputFile){.path = g_strdup(path), .is_stdout = !strcmp(path, "-")};
    int fd = output->is_stdout ? stdout_file_open(&output->temporary, error)
                               : create_beside(path, &output->temporary, error);
    if (fd < 0)
        return FALSE;
    if (!(output->file = fdopen(fd, "w+"))) {
        close(fd);
        return system_fault(error, "write the output", errno);
    }
    setvbuf(output->file, NULL, _IOFBF, 1 << 18);
    return TRUE;
}

gboolean output_file_flush(OutputFile *output, gboolean sync, GError **error) {
    if (fflush(output->file) || (sync && fsync(fileno(output->file))))
        return system_fault(error, "write the output", errno);
    return TRUE;
}

/* The mode that a new file gets: all may read and write whom the umask does not stop. */
static mode_t default_mode(void) {
    static gsize mode; /* the mask can only be read by setting it, for all threads: so once */
    if (g_once_init_enter(&mode)) {
        mode_t mask = umask(0);
        umask(mask);
        g_once_init_leave(&mode, (0666 & ~mask) | S_IFREG); /* not 0 in any case */
    }
    return (mode_t)mode & 07777;
}

/* Extended attributes as the original's, access control lists among them, as far as the file system and the
 * user's rights allow. FALSE if there is an access control list that could not be kept. */
static gboolean copy_attributes(int fd, const char *original) {
    static const char acl[] = "system.posix_acl_access";
    char names[4096], value[65536];
    ssize_t size = listxattr(original, names, sizeof(names));
    gboolean kept = TRUE;
    for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        ssize_t length = getxattr(original, name, value, sizeof(value));
        if (length < 0 || fsetxattr(fd, name, value, (size_t)length, 0))
            kept = kept && strcmp(name, acl);
    }
    return kept;
}

/* Owner, group, mode and attributes as the original's, where that is allowed: root may give a file away,
 * others may give it to a group that they belong to. Where it is not, rights that were meant for that owner
 * or group are not given to another. */
static gboolean take_over(int fd, const char *path, const struct stat *original) {
    if (!original)
        return !fchmod(fd, default_mode());
    mode_t mode = original->st_mode & 07777, others = mode & 07;
    struct stat own;
    if (fstat(fd, &own))
        return FALSE;
    gboolean group = own.st_gid == original->st_gid || !fchown(fd, (uid_t)-1, original->st_gid);
    gboolean owner = own.st_uid == original->st_uid || !fchown(fd, original->st_uid, (gid_t)-1);
    if (!group)
        mode = (mode & ~(mode_t)02070) | others << 3;
    if (!owner)
        mode &= ~(mode_t)06000;
    if (fchmod(fd, mode)) /* after the owner, since a new one clears the set-id bits */
        return FALSE;
    if (!group || !owner || copy_attributes(fd, path))
        return TRUE;
    return !fchmod(fd, (mode & ~(mode_t)070) | others << 3); /* its group bits were those of the list */
}

static int move_into_place(const OutputFile *output, gboolean replace) {
    if (replace)
        return rename(output->temporary, output->path);
    int status = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE);
    if (!status || (errno != EINVAL && errno != ENOSYS))
        return status;
    /* A file system without that: a link does not replace either. */
    if (link(output->temporary, output->path))
        return -1;
    unlink(output->temporary);
    return 0;
}

/* The name itself must survive a power cut too. File systems that cannot sync a folder need not. */
static void sync_folder(const char *path) {
    char *folder = g_path_get_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    g_free(folder);
}

/* Whoever saved the original meanwhile must not lose that. */
static gboolean is_unchanged(const char *path, const struct stat *before) {
    struct stat now;
    return !stat(path, &now) && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
           now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

gboolean output_file_commit(OutputFile *output, const struct stat *original, gboolean replace,
                            GError **error) {
    if (output->is_stdout)
        return stdout_file_commit(fileno(output->file), error);
    if (!take_over(fileno(output->file), output->path, original))
        return system_fault(error, "set the output's permissions", errno);
    int failed = fclose(output->file);
    output->file = NULL;
    if (failed)
        return system_fault(error, "write the output", errno);
    if (original && !is_unchanged(output->path, original))
        return fault(error, STATUS_FAILED, "was changed while it was turned, and is left alone: try again");
    if (move_into_place(output, replace)) {
        char *what = g_strdup_printf("rename the output to %s", output->path);
        system_fault(error, what, errno);
        g_free(what);
        return FALSE;
    }
    g_clear_pointer(&output->temporary, g_free);
    if (original)
        sync_folder(output->path);
    return TRUE;
}

void output_file_close(OutputFile *output) {
    if (output->file)
        fclose(output->file);
    if (output->temporary && !output->is_stdout)
        unlink(output->temporary);
    g_free(output->temporary);
    g_free(output->path);
    *output = (OutputFile){0};
}
