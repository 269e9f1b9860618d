/* SPDX-License-Identifier: MIT
 *
 * The one place that prints.
 */
#ifndef SAY_H
#define SAY_H

#include <glib.h>

#include "fault.h"

typedef enum { QUIET, NORMAL, VERBOSE } Loudness;
void say_set_loudness(Loudness loudness);

/* One line each on stderr, "imgtranspose: ...". Errors are always shown, warnings unless quiet, notes
 * when verbose. `file` may be NULL; control bytes and invalid UTF-8, of names above all, are shown escaped.
 */
void say_error(const char *file, const char *format, ...) G_GNUC_PRINTF(2, 3);
void say_warning(const char *file, const char *format, ...) G_GNUC_PRINTF(2, 3);
void say_note(const char *file, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The end of a run: shown as warnings are, without being called one. */
void say_result(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* A line that stays below all messages until it is replaced; NULL removes it. */
void say_status(const char *line);

/* Whether messages go to a terminal that can take lines back, and how wide it is now: as it says, or as
 * COLUMNS does. */
gboolean say_on_terminal(void);
int say_columns(void);

/* From now on only the messages from here reach stderr, since some libraries print there by themselves.
 * They still may when verbose. */
void say_alone(void);

/* From now on what ends the program by way of GLib's log, above all that it gets no memory, is a line from
 * here. Its own way of saying it may wait for ever, for a lock that it holds itself (GLib 2.84). */
void say_when_glib_gives_up(void);

/* A number of bytes as people read it, "1.2 GB". Free it with g_free(). */
char *shown_size(guint64 bytes);

/* A name or text as it can be shown on one line. Free it with g_free(). */
char *shown_name(const char *file);

#endif
