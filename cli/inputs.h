/* SPDX-License-Identifier: MIT
 *
 * Which files a run is about: those that are named, those in lists, and those in folders.
 */
#ifndef INPUTS_H
#define INPUTS_H

#include <sys/stat.h>

#include <glib.h>

#include "options.h"

typedef struct {
    const char *path;        /* as it is named, or as a walk found it; "-" is stdin */
    const char *relative;    /* its path below its root: how output folders and shards know it */
    gboolean walked;         /* found in a folder, not named */
    const struct stat *info; /* what it is, behind any link; NULL if that cannot be found out */
    gboolean link;           /* a symbolic link leads to it */
} Input;

/* Hands over all inputs of the run, in the order of the command line and the list, a folder's sorted by the
 * bytes of their names. What Input points to is the callback's until it returns. No file is opened but the
 * list. What cannot be read or is no file is handed over all the same, so that it fails by itself. */
gboolean inputs_each(const Options *options, void (*take)(const Input *input, gpointer data), gpointer data,
                     GError **error);

/* What a name in a list is below its root, which is the working folder `here` if it lies in there, else "/".
 * Free it with g_free(). */
char *input_below(const char *path, const char *here);

#endif
