/* SPDX-License-Identifier: MIT
 *
 * Opening an input: which files are taken, and which format reads them.
 */
#ifndef INPUT_FILE_H
#define INPUT_FILE_H

#include <stdio.h>
#include <sys/stat.h>

#include "formats/format.h"

/* Opens a regular file or a pipe: a folder is a mistake, a device has no end. A pipe is waited for until
 * *stop is set, and read until *cancel is. link: the name may be a symbolic link's. */
FILE *input_file_open(const char *path, gboolean link, const atomic_int *stop, const atomic_int *cancel,
                      struct stat *info, GError **error);

/* The reader of the format that the file is in, by its content, or of raw pixels if the options say so. What
 * comes from a pipe goes through a temporary file, which takes the place of *file, unless its format can be
 * turned as it comes. */
Reader *input_file_reader(FILE **file, const char *path, const Options *options, GError **error);

/* The same file once more, for another reader when the first one's has ended. */
FILE *input_file_again(FILE *file, GError **error);

/* Whether a file that nobody named, but that lies in a folder, is to be opened: it has the name of a picture
 * or begins like one, or that cannot be found out. */
gboolean input_file_may_be_picture(const char *path);

#endif
