/* SPDX-License-Identifier: MIT
 *
 * Statuses and the message of the thread.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[512];

TtStatus tt_fail(TtStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    /* A name of the caller's may hold anything, and the message is one line. */
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return status;
}

const char *tt_last_error(void) {
    return message;
}

const char *tt_status_string(TtStatus status) {
    static const char *const words[] = {
        [TT_OK] = "no error",
        [TT_ERROR_ARGUMENT] = "invalid argument",
        [TT_ERROR_OVERLAP] = "source and destination overlap",
        [TT_ERROR_MEMORY] = "out of memory",
        [TT_ERROR_IO] = "input or output failed",
        [TT_ERROR_NO_DEVICE] = "backend or device not usable",
        [TT_ERROR_DEVICE] = "device failed",
        [TT_ERROR_NOT_READY] = "rows not complete yet",
        [TT_ERROR_CANCELLED] = "cancelled",
    };
    return (size_t)status < sizeof(words) / sizeof(words[0]) ? words[status] : "unknown status";
}

#define TEXT(x)       #x
#define DOTS(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *tt_version(void) {
    return DOTS(TT_VERSION_MAJOR, TT_VERSION_MINOR, TT_VERSION_PATCH);
}
