/* SPDX-License-Identifier: MIT
 *
 * An output appears under its name only when it is complete: it is written to a temporary file in the
 * same folder, which is then renamed.
 *
 *     open, write to file, flush, dress, sync      the file is finished
 *     (look at it, tell of it)
 *     commit                                       the file has its name
 *     close
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
    int lock;        /* see temporary.h */
} OutputFile;

/* Notes the umask. It can only be read by setting it, for all threads: so this comes before there are any. */
void output_files_begin(void);

/* Creates the temporary file beside path. */
gboolean output_file_open(OutputFile *output, const char *path, GError **error);

/* Everything written reaches the file. */
gboolean output_file_flush(OutputFile *output, GError **error);

/* Mode, owner, attributes and access control lists as those of `like`, where that is allowed, and with
 * `times` also the times, to the nanosecond; NULL: those of any new file. */
gboolean output_file_dress(OutputFile *output, const char *like, const struct stat *info, gboolean times,
                           GError **error);

/* The file reaches the disk. */
gboolean output_file_sync(OutputFile *output, GError **error);

typedef struct {
    const struct stat *times;    /* to set once more, since reading changed one of them; or NULL */
    gboolean replace;            /* else a file that has appeared under the name meanwhile stays: a failure */
    gboolean sync;               /* the name reaches the disk, too */
    const struct stat *original; /* what is replaced; if it is not as it was, it stays: a failure. Or NULL */
    const char *backup;          /* a name that the original gets, while it has its own; or NULL */
} Commit;

/* Gives the file its name. */
gboolean output_file_commit(OutputFile *output, const Commit *commit, GError **error);

/* The name of a file reaches the disk. */
gboolean output_file_sync_name(const char *path, GError **error);

/* Whether this name is the original's own second one, which a run that died may have left. */
gboolean output_file_is_backup(const char *backup, const struct stat *original);

/* Closes the file, removes the temporary one if it was not committed, frees the names. */
void output_file_close(OutputFile *output);

#endif
