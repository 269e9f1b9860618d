/* SPDX-License-Identifier: MIT
 *
 * Places as texts: an existing folder's device and inode, and the path below it.
 */
#define _GNU_SOURCE
#include "places.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Folders {
    GHashTable *places; /* by the paths of folders */
    char *obstacle;
};

Folders *folders_new(void) {
    Folders *folders = g_new0(Folders, 1);
    folders->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return folders;
}

void folders_free(Folders *folders) {
    g_hash_table_unref(folders->places);
    g_free(folders->obstacle);
    g_free(folders);
}

const char *folders_obstacle(const Folders *folders) {
    return folders->obstacle;
}

char *place_of_file(const struct stat *info) {
    return g_strdup_printf("%" G_GINT64_MODIFIER "x:%" G_GINT64_MODIFIER "x", (guint64)info->st_dev,
                           (guint64)info->st_ino);
}

static const char *place_of_folder(Folders *folders, const char *path) {
    const char *known = g_hash_table_lookup(folders->places, path);
    if (known)
        return known;
    struct stat info;
    char *place, *above = g_path_get_dirname(path);
    if (!stat(path, &info)) {
        place = place_of_file(&info);
        if (!S_ISDIR(info.st_mode) && !folders->obstacle)
            folders->obstacle = g_strdup(path);
    } else if (!strcmp(above, path)) { /* "/", or "." of a folder that is gone */
        place = g_strdup(path);
    } else {
        char *name = g_path_get_basename(path);
        place = g_strdup_printf("%s/%s", place_of_folder(folders, above), name);
        g_free(name);
    }
    g_free(above);
    g_hash_table_insert(folders->places, g_strdup(path), place);
    return place;
}

char *place_of_name(Folders *folders, const char *path) {
    char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    char *place = g_strdup_printf("%s/%s", place_of_folder(folders, folder), name);
    g_free(folder);
    g_free(name);
    return place;
}

char *place_of_folded_name(Folders *folders, const char *path) {
    char *place = place_of_name(folders, path);
    char *folded = g_utf8_validate(place, -1, NULL) ? g_utf8_casefold(place, -1) : g_ascii_strdown(place, -1);
    g_free(place);
    return folded;
}

gboolean is_case_blind(const char *path) {
    char *folder = g_path_get_dirname(path);
    while (access(folder, F_OK) && strcmp(folder, ".") && strcmp(folder, "/")) {
        char *above = g_path_get_dirname(folder);
        g_free(folder);
        folder = above;
    }
    gboolean blind = FALSE;
    char *small = g_build_filename(folder, ".imgtranspose-case-XXXXXX", NULL);
    int fd = mkostemp(small, O_CLOEXEC);
    if (fd >= 0) {
        char *capital = g_build_filename(folder, ".IMGTRANSPOSE-CASE-", NULL);
        char *other = g_strconcat(capital, small + strlen(small) - 6, NULL);
        blind = !access(other, F_OK);
        unlink(small);
        close(fd);
        g_free(capital);
        g_free(other);
    }
    g_free(small);
    g_free(folder);
    return blind;
}
