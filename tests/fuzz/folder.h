/* SPDX-License-Identifier: MIT
 *
 * A folder of a target's own, in memory where the system has that, and what is in it.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <glib.h>
#include <glib/gstdio.h>

#include "fuzz.h"

static char *folder;

static inline void folder_remove(void) {
    char *command = g_strdup_printf("rm -rf '%s'", folder);
    if (system(command))
        perror(folder);
    g_free(command);
}

static inline char *folder_file(const char *name) {
    if (!folder) {
        const char *memory = "/dev/shm";
        folder = g_strdup_printf("%s/tt-fuzz-XXXXXX",
                                 g_file_test(memory, G_FILE_TEST_IS_DIR) ? memory : g_get_tmp_dir());
        REQUIRE(g_mkdtemp(folder), "no folder");
        atexit(folder_remove);
    }
    return g_build_filename(folder, name, NULL);
}

static inline void folder_write(const char *path, const uint8_t *data, size_t size) {
    REQUIRE(g_file_set_contents(path, size ? (const char *)data : "", (gssize)size, NULL), "%s not written",
            path);
}

/* The files in it, temporary ones too. */
static inline size_t folder_count(void) {
    GDir *dir = g_dir_open(folder, 0, NULL);
    size_t n = 0;
    while (g_dir_read_name(dir))
        n++;
    g_dir_close(dir);
    return n;
}

#endif
