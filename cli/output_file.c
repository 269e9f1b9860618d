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
#include <unistd.h>

#include "say.h"

gboolean output_file_open(OutputFile *output, const char *path, GError **error) {
    char *folder = g_path_get_dirname(path);
    *output = (OutputFile){.path = g_strdup(path)};
    output->temporary = g_build_filename(folder, ".imgtranspose-XXXXXX", NULL);
    int fd = mkostemp(output->temporary, O_CLOEXEC); /* mode 0600 */
    if (fd < 0) {
        char *what = g_strdup_printf("write in the folder %s", folder);
        system_fault(error, what, errno);
        g_free(what);
        g_clear_pointer(&output->temporary, g_free);
    }
    g_free(folder);
    if (fd < 0)
        return FALSE;
    output->file = fdopen(fd, "w+");
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
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static gboolean take_over(int fd, const struct stat *original) {
    struct stat own;
    if (!original)
        return !fchmod(fd, default_mode());
    /* Only root can give a file away; others keep their own, as a copy of the file would be theirs. The
     * mode comes second, since a new owner clears its set-id bits. */
    if (!fstat(fd, &own) && (own.st_uid != original->st_uid || own.st_gid != original->st_gid) &&
        fchown(fd, original->st_uid, original->st_gid) && errno != EPERM)
        return FALSE;
    return !fchmod(fd, original->st_mode & 07777);
}

static int move_into_place(const OutputFile *output, gboolean replace) {
    if (replace)
        return rename(output->temporary, output->path);
    int status = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE);
    if (!status || (errno != EINVAL && errno != ENOSYS))
        return status;
    /* A file system without that: a link does not replace either. */
    return link(output->temporary, output->path) || unlink(output->temporary);
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

gboolean output_file_commit(OutputFile *output, const struct stat *original, gboolean replace,
                            GError **error) {
    if (!take_over(fileno(output->file), original))
        return system_fault(error, "set the output's permissions", errno);
    int failed = fclose(output->file);
    output->file = NULL;
    if (failed)
        return system_fault(error, "write the output", errno);
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
    if (output->temporary)
        unlink(output->temporary);
    g_free(output->temporary);
    g_free(output->path);
    *output = (OutputFile){0};
}
