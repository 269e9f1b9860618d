/* SPDX-License-Identifier: MIT
 *
 * One measured row, and the two ways it is told: a table for people, JSON lines for programs.
 */
#ifndef BENCHMARK_RESULT_H
#define BENCHMARK_RESULT_H

#include <stdio.h>

#include "machine.h"
#include "place.h"

typedef struct {
    const Turn *turn;
    double seconds;
    double gb_per_s; /* bytes read plus bytes written */
    double of_copy;  /* the time of the best copy of as many bytes over this time */
} Result;

/* ---- Table, on stdout. Progress, on stderr while that is a terminal --------------------------------- */

typedef struct {
    gboolean rows;     /* are shown */
    gboolean progress; /* is shown */
    guint bar;         /* columns of a bar; 0: none */
    gboolean utf8;
} Table;

void table_start(Table *table, gboolean rows, gboolean progress, const Machine *machine);
void table_section(const Table *table, const char *title);
void table_row(const Table *table, const Result *result);
void table_progress(const Table *table, guint percent, const char *name, gsize width, gsize height);
void table_clear_progress(const Table *table);

/* ---- Report ----------------------------------------------------------------------------------------- */

/* "-" is stdout. A file that exists is an error unless it may be overwritten. NULL and an error on failure.
 */
FILE *report_open(const char *path, gboolean overwrite, GError **error);
void report_machine(FILE *report, const Machine *machine);
void report_row(FILE *report, const Result *result);

/* FALSE if anything written did not arrive. */
gboolean report_close(FILE *report, const char *path, GError **error);

#endif
