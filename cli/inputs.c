/* SPDX-License-Identifier: MIT
 *
 * Names, lists and walks.
 */
#define _GNU_SOURCE
#include "inputs.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "temporary.h"

typedef struct {
    const Options *options;
    void (*take)(const Input *input, gpointer data);
    gpointer data;
    gboolean has_out;
    struct stat out; /* the output folder, which no walk enters */
} Walk;

/* ---- Filters ------------------------------------------------------------------------------------------ */

/* A pattern with a slash is for the whole path, any other for the last part of it. */
static gboolean matches(char **patterns, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (; patterns && *patterns; patterns++)
        if (!fnmatch(*patterns, strchr(*patterns, '/') ? path : name, FNM_CASEFOLD))
            return TRUE;
    return FALSE;
}

static gboolean is_wanted(const Options *options, const char *path) {
    return (!options->includes || matches(options->includes, path)) && !matches(options->excludes, path);
}

/* ---- Folders ------------------------------------------------------------------------------------------ */

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static gboolean may_be_entered(const Walk *walk, const FTSENT *entry, const char *relative) {
    const struct stat *info = entry->fts_statp;
    if (entry->fts_level == FTS_ROOTLEVEL)
        return TRUE;
    if (walk->has_out && info->st_dev == walk->out.st_dev && info->st_ino == walk->out.st_ino)
        return FALSE;
    return !matches(walk->options->excludes, relative);
}

/* What runs left beside their files: temporary ones, and originals under their second names. */
static gboolean is_own(const Options *options, const char *path) {
    if (temporary_is(path))
        return TRUE;
    if (!options->backup || !g_str_has_suffix(path, options->backup))
        return FALSE;
    char *original = g_strndup(path, strlen(path) - strlen(options->backup));
    gboolean is_backup = g_file_test(original, G_FILE_TEST_IS_REGULAR);
    g_free(original);
    return is_backup;
}

static void take_found(const Walk *walk, const FTSENT *entry, const char *relative, const struct stat *info) {
    walk->take(&(Input){.path = entry->fts_path, .relative = relative, .walked = TRUE, .info = info},
               walk->data);
}

/* What lies in a folder. Symbolic links in it are left alone: they may lead anywhere, and in circles. */
static void visit(const Walk *walk, FTS *tree, FTSENT *entry, const char *relative) {
    switch (entry->fts_info) {
    case FTS_D:
        if (!may_be_entered(walk, entry, relative))
            fts_set(tree, entry, FTS_SKIP);
        break;
    case FTS_F:
        if (!is_own(walk->options, entry->fts_path) && is_wanted(walk->options, relative))
            take_found(walk, entry, relative, entry->fts_statp);
        break;
    case FTS_DNR: /* a folder that cannot be read, or what cannot be looked at: opening it will tell why */
    case FTS_ERR:
    case FTS_NS:
        take_found(walk, entry, relative, NULL);
        break;
    case FTS_SL:
    case FTS_SLNONE:
    case FTS_DEFAULT:
        say_note(entry->fts_path, "is no regular file, left alone");
        break;
    default: /* leaving a folder */
        break;
    }
}

static gboolean walk_folder(const Walk *walk, const char *root, const char *prefix, GError **error) {
    char *roots[] = {(char *)root, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    FTSENT *entry = NULL;
    while (tree && (errno = 0, entry = fts_read(tree))) {
        const char *below = entry->fts_path + MIN(strlen(root), entry->fts_pathlen);
        char *relative = g_build_filename(prefix, below + strspn(below, "/"), NULL);
        visit(walk, tree, entry, relative);
        g_free(relative);
    }
    int number = errno;
    if (tree)
        fts_close(tree);
    if (tree && !number)
        return TRUE;
    char *what = g_strdup_printf("read the folder %s", root);
    system_fault(error, what, number);
    g_free(what);
    return FALSE;
}

/* ---- Names -------------------------------------------------------------------------------------------- */

/* `relative`: the name's place below its root, as a folder the root of what is in it. */
static gboolean take_name(const Walk *walk, const char *path, const char *relative, const char *inside,
                          GError **error) {
    struct stat info, own;
    gboolean known = !stat(path, &info);
    if (known && S_ISDIR(info.st_mode) && walk->options->recursive)
        return walk_folder(walk, path, inside, error);
    if (!is_wanted(walk->options, relative))
        return TRUE;
    walk->take(&(Input){.path = path,
                        .relative = relative,
                        .info = known ? &info : NULL,
                        .link = !lstat(path, &own) && S_ISLNK(own.st_mode)},
               walk->data);
    return TRUE;
}

/* A name of the command line has its own last part, and a folder is the root of what it holds. */
static gboolean take_argument(const Walk *walk, const char *path, GError **error) {
    if (!strcmp(path, "-")) {
        walk->take(&(Input){.path = path, .relative = path}, walk->data);
        return TRUE;
    }
    char *name = g_path_get_basename(path);
    gboolean good = take_name(walk, path, name, "", error);
    g_free(name);
    return good;
}

/* ---- Lists -------------------------------------------------------------------------------------------- */

char *input_below(const char *path, const char *here) {
    char *whole = g_canonicalize_filename(path, here);
    gsize skip = g_str_has_prefix(whole, here) ? strlen(here) : 0;
    if (skip && here[skip - 1] != '/' && whole[skip] != '/') /* only the beginning of a name */
        skip = 0;
    char *below = g_strdup(whole + skip + strspn(whole + skip, "/"));
    g_free(whole);
    return below;
}

/* Names in a list are names: "-" is one, too. */
static gboolean take_listed(const Walk *walk, const char *path, const char *here, GError **error) {
    char *below = input_below(path, here);
    gboolean good = take_name(walk, strcmp(path, "-") ? path : "./-", below, below, error);
    g_free(below);
    return good;
}

/* Makes a name of a line. FALSE if there is none in it. */
static gboolean trim(const Options *options, char *line, gssize *length) {
    if (!options->null_separated) {
        if (*length && line[*length - 1] == '\n')
            line[--*length] = 0;
        if (*length && line[*length - 1] == '\r')
            line[--*length] = 0;
    } else if (*length && !line[*length - 1]) {
        --*length;
    }
    return *length > 0;
}

static gboolean read_list(const Walk *walk, FILE *list, const char *here, GError **error) {
    const Options *options = walk->options;
    char *line = NULL;
    size_t room = 0;
    gssize length;
    gboolean good = TRUE;
    while (good &&
           (errno = 0, length = getdelim(&line, &room, options->null_separated ? 0 : '\n', list)) >= 0) {
        if (!trim(options, line, &length))
            continue;
        good = strlen(line) == (gsize)length
                   ? take_listed(walk, line, here, error)
                   : fault(error, STATUS_USAGE, "the list %s has names that end in NUL bytes: give -0 too",
                           options->files_from);
    }
    int number = errno;
    free(line);
    if (good && ferror(list))
        good = named_fault(error, STATUS_USAGE, "read the list", options->files_from, number);
    return good;
}

static gboolean take_list(const Walk *walk, GError **error) {
    const char *name = walk->options->files_from;
    gboolean from_stdin = !strcmp(name, "-");
    FILE *list = from_stdin ? stdin : fopen(name, "re");
    if (!list)
        return named_fault(error, STATUS_USAGE, "read the list", name, errno);
    char *here = g_get_current_dir();
    gboolean good = read_list(walk, list, here, error);
    g_free(here);
    if (!from_stdin)
        fclose(list);
    return good;
}

gboolean inputs_each(const Options *options, void (*take)(const Input *input, gpointer data), gpointer data,
                     GError **error) {
    Walk walk = {.options = options, .take = take, .data = data};
    walk.has_out = options->directory && !stat(options->directory, &walk.out);
    for (char **input = options->inputs; input && *input; input++)
        if (!take_argument(&walk, *input, error))
            return FALSE;
    return !options->files_from || take_list(&walk, error);
}
