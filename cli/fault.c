/* SPDX-License-Identifier: MIT
 *
 * Errors as one sentence, with a remedy.
 */
#include "fault.h"

#include <errno.h>

#include <tiletranspose/tt.h>

/* G_DEFINE_QUARK would keep the number in a variable that threads share without a lock. */
GQuark command_error_quark(void) {
    return g_quark_from_static_string("imgtranspose-error");
}

gboolean fault(GError **error, Status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(COMMAND_ERROR, status, format, args));
    va_end(args);
    return FALSE;
}

gboolean memory_fault(gsize bytes, GError **error) {
    return fault(error, STATUS_FAILED, "needs %.1f MB of memory, which the system has not: free some",
                 (double)bytes / 1e6);
}

gboolean copy_fault(GError **error) {
    return fault(error, STATUS_FAILED,
                 "its turned copy reads back differently, so it was not kept: check disk and memory");
}

gboolean library_fault(GError **error) {
    return fault(error, STATUS_FAILED, "%s", tt_last_error());
}

/* What the user can do about it. */
static const char *remedy(int number) {
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return "free some space";
    case EFBIG:
        return "raise the limit of file sizes (ulimit -f)";
    case EACCES:
    case EPERM:
        return "see to the permissions, or name another folder";
    case EROFS:
        return "name another folder";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files (ulimit -n)";
    case ENAMETOOLONG:
        return "use a shorter name";
    case EPIPE:
        return "its reader ended too early";
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        return "check its name";
    case EISDIR:
        return "name a file";
    case ENOMEM:
        return "free some memory";
    case EEXIST:
        return "it appeared meanwhile; use --overwrite to replace it";
    default:
        return "see to the disk and try again";
    }
}

gboolean system_fault(GError **error, const char *what, int number) {
    return fault(error, STATUS_FAILED, "cannot %s (%s): %s", what, g_strerror(number), remedy(number));
}

gboolean named_fault(GError **error, Status status, const char *what, const char *name, int number) {
    return fault(error, status, "cannot %s %s (%s): %s", what, name, g_strerror(number), remedy(number));
}
