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
#include "temporary.h"

/* The mode that a new file gets: all may read and write whom the umask does not stop. */
static mode_t default_mode = 0600;

void output_files_begin(void) {
    mode_t mask = umask(0);
    umask(mask);
    default_mode = 0666 & ~mask;
}

gboolean output_file_open(OutputFile *output, const char *path, GError **error) {
    char *folder = g_path_get_dirname(path);
    *output = (OutputFile){.path = g_strdup(path), .lock = -1, .is_stdout = !strcmp(path, "-")};
    int fd = output->is_stdout ? stdout_file_open(&output->temporary, error)
                               : temporary_create(folder, &output->temporary, &output->lock, error);
    g_free(folder);
    if (fd < 0)
        return FALSE;
    if (!(output->file = fdopen(fd, "w+"))) {
        close(fd);
        return system_fault(error, "write the output", errno);
    }
    setvbuf(output->file, NULL, _IOFBF, 1 << 18);
    return TRUE;
}

gboolean output_file_flush(OutputFile *output, GError **error) {
    return (!ferror(output->file) && !fflush(output->file)) || system_fault(error, "write the output", errno);
}

gboolean output_file_sync(OutputFile *output, GError **error) {
    return !fsync(fileno(output->file)) || system_fault(error, "write the output to the disk", errno);
}

static gboolean copy_attribute(int fd, const char *original, const char *name) {
    ssize_t size = getxattr(original, name, NULL, 0);
    char *value = size < 0 ? NULL : g_malloc((gsize)size + 1);
    gboolean kept = value && (size = getxattr(original, name, value, (size_t)size)) >= 0 &&
                    !fsetxattr(fd, name, value, (size_t)size, 0);
    g_free(value);
    return kept;
}

/* Extended attributes as the original's, access control lists among them, as far as the file system and the
 * user's rights allow. FALSE if there is an access control list that could not be kept. */
static gboolean copy_attributes(int fd, const char *original) {
    static const char acl[] = "system.posix_acl_access";
    ssize_t size = listxattr(original, NULL, 0);
    if (size <= 0)
        return TRUE;
    char *names = g_malloc((gsize)size);
    gboolean kept = TRUE;
    size = listxattr(original, names, (size_t)size);
    if (size < 0) /* they changed this moment */
        kept = getxattr(original, acl, NULL, 0) < 0 || copy_attribute(fd, original, acl);
    for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1)
        kept = (copy_attribute(fd, original, name) || strcmp(name, acl)) && kept;
    g_free(names);
    return kept;
}

/* Owner, group, mode and attributes as the original's, where that is allowed: root may give a file away,
 * others may give it to a group that they belong to. Where it is not, rights that were meant for that owner
 * or group are not given to another. */
static gboolean take_over(int fd, const char *path, const struct stat *original) {
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

static gboolean set_times(OutputFile *output, const struct stat *info, GError **error) {
    const struct timespec both[] = {info->st_atim, info->st_mtim};
    return !futimens(fileno(output->file), both) || system_fault(error, "set the output's times", errno);
}

gboolean output_file_dress(OutputFile *output, const char *like, const struct stat *info, gboolean times,
                           GError **error) {
    int fd = fileno(output->file);
    if (like ? !take_over(fd, like, info) : fchmod(fd, default_mode) != 0)
        return system_fault(error, "set the output's permissions", errno);
    return !times || set_times(output, info, error);
}

/* ---- The name ----------------------------------------------------------------------------------------- */

static gboolean lacks_links(int number) {
    return number == EPERM || number == EOPNOTSUPP || number == ENOSYS || number == EMLINK;
}

/* Replaces an empty file that takes the name first, if it is free. */
static int move_onto_placeholder(const OutputFile *output) {
    int fd = open(output->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    close(fd);
    int status = rename(output->temporary, output->path), number = errno;
    if (status)
        unlink(output->path);
    errno = number;
    return status;
}

static int move_into_place(const OutputFile *output, gboolean replace) {
    if (replace)
        return rename(output->temporary, output->path);
    int status = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE);
    if (!status || (errno != EINVAL && errno != ENOSYS))
        return status;
    /* A file system without that: a link does not replace either. */
    if (!link(output->temporary, output->path)) {
        unlink(output->temporary);
        return 0;
    }
    return lacks_links(errno) ? move_onto_placeholder(output) : -1;
}

/* The name itself must survive a power cut too. File systems that cannot sync a folder say EINVAL, and a
 * folder that may be written but not read cannot be opened. */
gboolean output_file_sync_name(const char *path, GError **error) {
    char *folder = g_path_get_dirname(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gboolean synced = fd < 0 ? errno == EACCES : !fsync(fd) || errno == EINVAL;
    if (!synced)
        system_fault(error, "write its name to the disk", errno);
    if (fd >= 0)
        close(fd);
    g_free(folder);
    return synced;
}

/* Whoever saved the original meanwhile must not lose that. */
static gboolean is_unchanged(const char *path, const struct stat *before) {
    struct stat now;
    return !stat(path, &now) && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
           now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

static gboolean copy_bytes(const char *path, FILE *to, GError **error) {
    guint8 buffer[65536];
    size_t n;
    FILE *from = fopen(path, "re");
    if (!from)
        return system_fault(error, "read it for its backup", errno);
    gboolean good = TRUE;
    while (good && (n = fread(buffer, 1, sizeof(buffer), from)))
        good = fwrite(buffer, 1, n, to) == n || system_fault(error, "write its backup", errno);
    good = good && (!ferror(from) || system_fault(error, "read it for its backup", errno));
    fclose(from);
    return good;
}

/* Where a file cannot have two names. */
static gboolean back_up_by_copy(const char *path, const Commit *commit, GError **error) {
    OutputFile copy;
    const Commit plain = {.times = commit->original, .sync = TRUE};
    gboolean made = output_file_open(&copy, commit->backup, error) && copy_bytes(path, copy.file, error) &&
                    output_file_flush(&copy, error) &&
                    output_file_dress(&copy, path, commit->original, TRUE, error) &&
                    output_file_sync(&copy, error) && output_file_commit(&copy, &plain, error);
    output_file_close(&copy);
    return made;
}

gboolean output_file_is_backup(const char *backup, const struct stat *original) {
    struct stat there;
    return !lstat(backup, &there) && there.st_dev == original->st_dev && there.st_ino == original->st_ino;
}

/* The original gets its second name before the output takes the first one. */
static gboolean back_up(const char *path, const Commit *commit, GError **error) {
    if (!link(path, commit->backup) ||
        (errno == EEXIST && output_file_is_backup(commit->backup, commit->original)))
        return TRUE;
    if (errno == EEXIST)
        return fault(error, STATUS_FAILED, "%s exists: name another suffix, or move it away", commit->backup);
    if (lacks_links(errno))
        return back_up_by_copy(path, commit, error);
    return system_fault(error, "keep the original under its backup's name", errno);
}

gboolean output_file_commit(OutputFile *output, const Commit *commit, GError **error) {
    if (output->is_stdout)
        return stdout_file_commit(fileno(output->file), error);
    if (commit->times && !set_times(output, commit->times, error))
        return FALSE;
    int failed = fclose(output->file);
    output->file = NULL;
    if (failed)
        return system_fault(error, "write the output", errno);
    if (commit->original && !is_unchanged(output->path, commit->original))
        return fault(error, STATUS_FAILED, "was changed while it was turned, and is left alone: try again");
    if (commit->backup && !back_up(output->path, commit, error))
        return FALSE;
    if (move_into_place(output, commit->replace)) {
        char *what = g_strdup_printf("rename the output to %s", output->path);
        system_fault(error, what, errno);
        g_free(what);
        if (commit->backup)
            unlink(commit->backup);
        return FALSE;
    }
    g_clear_pointer(&output->temporary, g_free);
    return !commit->sync || output_file_sync_name(output->path, error);
}

void output_file_close(OutputFile *output) {
    if (output->file)
        fclose(output->file);
    if (output->temporary && !output->is_stdout)
        unlink(output->temporary);
    if (output->path && output->lock >= 0)
        close(output->lock);
    g_free(output->temporary);
    g_free(output->path);
    *output = (OutputFile){.lock = -1};
}
