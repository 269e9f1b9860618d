/* SPDX-License-Identifier: MIT
 *
 * Which pages of a mapped file are in memory, as the system says, once some of its columns were read.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../plugin/columns_ahead.h"

enum { ROWS = 200, GROUPS = 6, HEADER = 64, WAIT_MS = 20000, SKIP = 77 };

static gsize page, line, bytes;
static guint8 *mapping;
static gboolean backward;

/* How many rows have the byte of a group in memory that is read last. Groups begin and end within pages,
 * which they share with the groups beside them. */
static guint resident(gsize group) {
    guint n = 0;
    for (gsize y = 0; y < ROWS; y++) {
        gsize last = HEADER + y * line + group * page + (backward ? 0 : page - 1);
        unsigned char in_memory = 0;
        g_assert_cmpint(mincore(mapping + last / page * page, page, &in_memory), ==, 0);
        n += in_memory & 1;
    }
    return n;
}

static gboolean comes(gsize group) {
    for (int ms = 0; ms < WAIT_MS && resident(group) < ROWS; ms += 10)
        g_usleep(10000);
    return resident(group) == ROWS;
}

/* A file of pixels of which nothing is in memory; FALSE on a file system that keeps all there. */
static gboolean map_new_file(void) {
    char *name = NULL;
    int fd = g_file_open_tmp("columns-XXXXXX", &name, NULL);
    guint8 *pixels = g_malloc(bytes);
    memset(pixels, 1, bytes);
    g_assert_cmpint(write(fd, pixels, bytes), ==, (gssize)bytes);
    g_assert_cmpint(fsync(fd), ==, 0);
    g_assert_cmpint(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), ==, 0);
    mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    g_assert_true(mapping != MAP_FAILED);
    unlink(name);
    close(fd);
    g_free(pixels);
    g_free(name);
    gboolean out = TRUE;
    for (gsize i = 0; i < GROUPS; i++)
        out = out && !resident(i);
    return out;
}

/* A third of the memory is a group: a page of each row. */
static void try(void) {
    gsize first = backward ? GROUPS - 1 : 0, second = backward ? first - 1 : 1,
          third = backward ? second - 1 : 2;
    ColumnsAhead *ahead = columns_ahead_new(mapping + HEADER, line, ROWS, 3 * ROWS * page, backward);
    columns_ahead_of(ahead, first * page, first * page + 1, 1);
    g_assert_cmpuint(resident(first), <, ROWS); /* a detail */
    columns_ahead_of(ahead, first * page, first * page + page / 16, ROWS);
    g_assert_true(comes(first) && comes(second));
    g_assert_cmpuint(resident(third), <, ROWS);
    columns_ahead_of(ahead, second * page, second * page + page / 16, ROWS);
    g_assert_true(comes(third));
    columns_ahead_free(ahead);
    munmap(mapping, bytes);
}

int main(void) {
    page = (gsize)sysconf(_SC_PAGESIZE);
    line = GROUPS * page;
    bytes = HEADER + ROWS * line;
    for (backward = FALSE; backward <= TRUE; backward++) {
        if (!map_new_file()) {
            g_printerr("SKIPPED: files stay in memory in %s\n", g_get_tmp_dir());
            return SKIP;
        }
        try();
    }
    return 0;
}
