/* SPDX-License-Identifier: MIT
 *
 * The standard output as an output: it, too, gets a picture only when that is complete.
 */
#ifndef STDOUT_FILE_H
#define STDOUT_FILE_H

#include <glib.h>

/* Opens a temporary file without a name, in TMPDIR or /var/tmp, and gives a name by which this process can
 * open it once more. -1 on failure. */
int stdout_file_open(char **name, GError **error);

/* Copies what was written to the standard output. */
gboolean stdout_file_commit(int fd, GError **error);

#endif
