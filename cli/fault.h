/* SPDX-License-Identifier: MIT
 *
 * What an error is.
 */
#ifndef FAULT_H
#define FAULT_H

#include <glib.h>

/* The exit statuses of the command. A GError of this domain carries the one that it leads to. */
typedef enum {
    STATUS_DONE = 0,
    STATUS_FAILED = 1, /* some files failed, the rest are done */
    STATUS_USAGE = 2,
    STATUS_NO_INPUT = 3,
    STATUS_NO_DEVICE = 4,
    STATUS_SIGNAL = 128, /* plus the signal's number */
} Status;

#define COMMAND_ERROR (command_error_quark())
GQuark command_error_quark(void);

/* Sets a GError and returns FALSE, so that a check reads `return fault(error, ...)`. The text is one
 * sentence without a full stop that says what is wrong and what to do; who catches it puts the file's name
 * in front. */
gboolean fault(GError **error, Status status, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The same for memory that was refused. */
gboolean memory_fault(gsize bytes, GError **error);

/* The same for a copy that was read back and is not what was written. */
gboolean copy_fault(GError **error);

/* The same with the library's last message and the status that follows from it. */
gboolean library_fault(GError **error);

/* The same for a system call that failed: "cannot WHAT (strerror): remedy". */
gboolean system_fault(GError **error, const char *what, int number);

/* The same about another file than that whose name is put in front: "cannot WHAT NAME (strerror): remedy". */
gboolean named_fault(GError **error, Status status, const char *what, const char *name, int number);

#endif
