/* SPDX-License-Identifier: MIT
 *
 * Opening an input.
 */
#include "input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "input_pipe.h"
#include "say.h"

static gboolean empty(GError **error) {
    return fault(error, STATUS_FAILED, "is empty: restore it from a copy");
}

static FILE *buffered(FILE *file, GError **error) {
    if (file)
        setvbuf(file, NULL, _IOFBF, 1 << 18);
    else if (!*error)
        system_fault(error, "open it", errno);
    return file;
}

FILE *input_file_open(const char *path, gboolean link, const atomic_int *stop, const atomic_int *cancel,
                      struct stat *info, GError **error) {
    int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (link ? 0 : O_NOFOLLOW))
                               : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 && errno == ELOOP && !link)
        fault(error, STATUS_FAILED, "has become a symbolic link, which is not followed there: name the file");
    else if (fd < 0 && errno == ENOENT)
        fault(error, STATUS_FAILED, "does not exist: check its name");
    else if (fd < 0 && errno == EACCES)
        fault(error, STATUS_FAILED, "may not be read: check its permissions");
    else if (fd < 0 || fstat(fd, info))
        system_fault(error, "open it", errno);
    else if (S_ISDIR(info->st_mode))
        fault(error, STATUS_FAILED, "is a folder: name the files in it");
    else if (S_ISFIFO(info->st_mode) || S_ISSOCK(info->st_mode))
        return buffered(input_pipe_open(fd, stop, cancel, error), error);
    else if (!S_ISREG(info->st_mode))
        fault(error, STATUS_FAILED, "is neither a file nor a pipe: copy it to a file first");
    else if (info->st_size == 0)
        empty(error);
    else
        return buffered(fdopen(fd, "r"), error);
    if (fd >= 0)
        close(fd);
    return NULL;
}

FILE *input_file_again(FILE *file, GError **error) {
    char name[64];
    g_snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(file));
    return buffered(fopen(name, "re"), error);
}

static const Format *format_of(FILE *file, const Options *options, gboolean *streams, GError **error) {
    guint8 head[FORMAT_HEAD];
    gsize size = fread(head, 1, sizeof(head), file);
    if (ferror(file)) {
        system_fault(error, "read it", errno);
    } else if (!size) {
        empty(error);
    } else {
        const Format *format = options->raw.given ? &raw_format : format_probe(head, size);
        rewind(file);
        *streams = format && format->streams && format->streams(head, size);
        if (format)
            return format;
        fault(error, STATUS_FAILED, "is no image that this build reads (see -v --version): convert it first");
    }
    return NULL;
}

static gboolean is_pipe(FILE *file) {
    return fileno(file) < 0;
}

static gboolean spool(FILE **file, GError **error) {
    FILE *whole = input_pipe_spool(*file, error);
    if (!whole)
        return FALSE;
    fclose(*file);
    *file = buffered(whole, error);
    return TRUE;
}

Reader *input_file_reader(FILE **file, const char *path, const Options *options, GError **error) {
    gboolean streams;
    const Format *format = format_of(*file, options, &streams, error);
    if (!format)
        return NULL;
    streams =
        streams && options->operation != TT_NONE; /* else it is copied to the byte, after a look at it */
    if (is_pipe(*file) && !streams && !spool(file, error))
        return NULL;
    return format->open(format, *file, path, options, error);
}

gboolean input_file_may_be_picture(const char *path) {
    if (format_is_in_name(path))
        return TRUE;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    guint8 head[FORMAT_HEAD];
    ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof(head));
    if (fd >= 0)
        close(fd);
    return size < 0 || format_probe(head, (gsize)size);
}
