/* SPDX-License-Identifier: MIT
 *
 * The table: a row a case, and on a terminal a bar that is full when a turn is as fast as a copy.
 */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "result.h"

/* Columns before the bar, and the bars that are worth showing. */
enum { COLUMNS = 64, SHORTEST = 8, LONGEST = 50 };

static guint bar_columns(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        return 0;
    guint columns = size.ws_col ? size.ws_col : 80;
    return columns < COLUMNS + SHORTEST ? 0 : MIN(columns - COLUMNS, LONGEST);
}

static void print_size(const char *name, gsize bytes) {
    if (bytes)
        printf(", %s %.4g %s", name, bytes >= 1 << 20 ? (double)bytes / (1 << 20) : (double)bytes / 1024,
               bytes >= 1 << 20 ? "MiB" : "KiB");
}

void table_start(Table *table, gboolean rows, gboolean progress, const Machine *machine) {
    table->rows = rows;
    table->progress = progress && isatty(STDERR_FILENO);
    table->bar = bar_columns();
    table->utf8 = g_get_charset(NULL);
    if (!rows)
        return;
    printf("imgtranspose %s, %s\n", tt_version(), machine->model);
    printf("%u processor%s", machine->processors, machine->processors == 1 ? "" : "s");
    print_size("level 2 cache", machine->second);
    print_size("last level", machine->last);
    printf("\n\n"
           "GB/s counts bytes read plus bytes written; \"of copy\" is the time of the best\n"
           "copy of as many bytes, by as many threads, over the time of the turn.\n");
}

void table_section(const Table *table, const char *title) {
    if (!table->rows)
        return;
    table_clear_progress(table);
    printf("\n%s\n\n", title);
    printf("%-7s %11s  %-10s %-7s %7s %6s %7s", "case", "size", "turn", "backend", "threads", "GB/s",
           "of copy");
    if (table->bar)
        printf("  0%*s", (int)table->bar - 1, "1");
    printf("\n");
}

/* A full column is a block, and the last may be some eighths of one. */
static void print_bar(const Table *table, double part) {
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    guint length = (guint)lround(CLAMP(part, 0, 1) * table->bar * 8);
    printf("  ");
    for (guint i = 0; i < length / 8; i++)
        fputs(table->utf8 ? "\u2588" : "#", stdout);
    if (table->utf8)
        fputs(eighths[length % 8], stdout);
}

void table_row(const Table *table, const Result *result) {
    const Turn *turn = result->turn;
    if (!table->rows)
        return;
    table_clear_progress(table);
    char *size = g_strdup_printf("%zux%zu", turn->width, turn->height);
    printf("%-7s %11s  %-10s %-7s %7u %6.1f %7.2f", turn->pixel->name, size,
           tt_orientation_name(turn->orientation), turn->backend, turn->threads, result->gb_per_s,
           result->of_copy);
    if (table->bar)
        print_bar(table, result->of_copy);
    printf("\n");
    fflush(stdout);
    g_free(size);
}

void table_progress(const Table *table, guint percent, const char *name, gsize width, gsize height) {
    if (table->progress)
        fprintf(stderr, "\r\033[K%3u %%  %s %zux%zu", percent, name, width, height);
}

void table_clear_progress(const Table *table) {
    if (table->progress)
        fprintf(stderr, "\r\033[K");
}
