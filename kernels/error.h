/* SPDX-License-Identifier: MIT */
#ifndef TT_ERROR_H
#define TT_ERROR_H

#include "tiletranspose/tt.h"

/* Sets this thread's message and returns status, so that a check reads `return tt_fail(...)`. */
TtStatus tt_fail(TtStatus status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
