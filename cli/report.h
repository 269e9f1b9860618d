/* SPDX-License-Identifier: MIT
 *
 * The report: JSON, one object a line, appended as soon as it is known. A line is written by one call, so
 * that several runs on one machine may share a file, and reports may be joined one behind the other.
 *
 * Each object says by "event" what it is:
 *
 *   file      what became of a file
 *   intent    in place, before the file is replaced: what is about to get its name, and what had it
 *   summary   the end of a run
 *
 * A name that is not UTF-8 is shown with replacement characters, and the bytes themselves follow as base64
 * under the same key with "_bytes" behind it.
 */
#ifndef REPORT_H
#define REPORT_H

#include <sys/stat.h>

#include <glib.h>
#include <json-glib/json-glib.h>

#include "outcome.h"
#include "plan.h"

typedef struct Report Report;

/* Opens the file for appending, or creates it; "-" is stdout. */
Report *report_begin(const char *path, GError **error);
/* FALSE, with error set, if a line could not be written since it began. NULL is allowed. */
gboolean report_end(Report *report, GError **error);

/* Whether it can be read again. NULL is none. */
gboolean report_is_journal(const Report *report);

/* From any thread. On failure the line may be missing, and the next one is whole all the same. */
gboolean report_file(Report *report, const Task *task, const Outcome *outcome, GError **error);
gboolean report_summary(Report *report, const Tally *tally, double seconds, int status, GError **error);

/* In place: the finished file `file`, of this checksum, is about to replace `original` under the task's
 * output. On return the disk has the line. Only of a report that is a journal. */
gboolean report_intent(Report *report, const Task *task, TtOrientation operation, const struct stat *file,
                       const char *sha256, const struct stat *original, GError **error);

/* A file's time as intents have it. */
gint64 report_time(const struct timespec *time);

/* Reading a name back: the bytes, or NULL if the member is missing. Free it with g_free(). */
char *report_name(JsonObject *object, const char *member);

#endif
