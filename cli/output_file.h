/* SPDX-License-Identifier: MIT
 *
 * An output appears under its name only when it is complete: it is written to a temporary file in the
 * same folder, which is then renamed.
 */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <stdio.h>
#include <sys/stat.h>

#include <glib.h>

typedef struct {
    FILE *file; /* open for writing and reading back; at first only the user may read it */
    char *path; /* the final name, or "-" for stdout */
    gboolean is_stdout;
    char *temporary; /* NULL once there is nothing to remove */
} OutputFile;

/* Whether a file of this name, without folders, is such a temporary one, of this run or of any other. */
gboolean output_file_is_temporary(const char *name);

/* Creates the temporary file beside path. */
gboolean output_file_open(OutputFile *output, const char *path, GError **error);

/* Everything written reaches the file, and with sync the disk. */
gboolean output_file_flush(OutputFile *output, gboolean sync, GError **error);

/* Gives the file its permissions and its name. `original`, which may be NULL, is the file that it replaces:
 * mode and owner are taken from it, and if it is not as it was then it stays and this fails. Without replace,
 * a file that has appeared under the name meanwhile is left alone and this fails. */
gboolean output_file_commit(OutputFile *output, const struct stat *original, gboolean replace,
                            GError **error);

/* Closes the file, removes the temporary one if it was not committed, frees the names. */
void output_file_close(OutputFile *output);

#endif
