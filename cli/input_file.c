/* SPDX-License-Identifier: MIT
 *
 * Opening an input.
 */
#include "input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

FILE *input_file_open(const char *path, struct stat *info, GError **error) {
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                               : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 && errno == ENOENT) {
        fault(error, STATUS_FAILED, "does not exist: check its name");
    } else if (fd < 0 && errno == EACCES) {
        fault(error, STATUS_FAILED, "may not be read: check its permissions");
    } else if (fd < 0 || fstat(fd, info)) {
        system_fault(error, "open it", errno);
    } else if (S_ISDIR(info->st_mode)) {
        fault(error, STATUS_FAILED, "is a folder: name the files in it");
    } else if (!S_ISREG(info->st_mode)) {
        fault(error, STATUS_FAILED, "is not a regular file: copy it to one first");
    } else if (info->st_size == 0) {
        fault(error, STATUS_FAILED, "is empty: restore it from a copy");
    } else {
        FILE *file = fdopen(fd, "r");
        if (file) {
            setvbuf(file, NULL, _IOFBF, 1 << 18);
            return file;
        }
        system_fault(error, "open it", errno);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

Reader *input_file_reader(FILE *file, const char *path, const Options *options, GError **error) {
    const Format *format = &raw_format;
    if (!options->raw.given) {
        guint8 head[FORMAT_HEAD];
        gsize size = fread(head, 1, sizeof(head), file);
        rewind(file);
        if (!(format = format_probe(head, size))) {
            fault(error, STATUS_FAILED,
                  "is no image that this build reads (see -v --version): convert it first");
            return NULL;
        }
    }
    return format->open(format, file, path, options, error);
}

gboolean input_file_may_be_picture(const char *path) {
    if (format_is_in_name(path))
        return TRUE;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    guint8 head[FORMAT_HEAD];
    ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return size < 0 || format_probe(head, (gsize)size);
}
