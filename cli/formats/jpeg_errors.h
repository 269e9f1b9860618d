/* SPDX-License-Identifier: MIT
 *
 * libjpeg's errors, and its warnings of damage, as GErrors.
 *
 *     if (setjmp(errors->jump))
 *         return jpeg_errors_fault(errors, error);
 *     ... calls of libjpeg ...
 */
#ifndef JPEG_ERRORS_H
#define JPEG_ERRORS_H

#include <setjmp.h>
#include <stdio.h>

#include <glib.h>
#include <jerror.h>
#include <jpeglib.h>

typedef struct {
    struct jpeg_error_mgr manager; /* first, as libjpeg hands it back */
    jmp_buf jump;                  /* set before each run of calls */
    int system_error;              /* errno at the time */
    gboolean passed_over;          /* there were bytes between segments that belong to nothing */
    int scans;                     /* that were begun */
} JpegErrors;

/* What a decompressor's or compressor's err is set to. */
struct jpeg_error_mgr *jpeg_errors_init(JpegErrors *errors);

/* Sets error to what made libjpeg jump; FALSE. */
gboolean jpeg_errors_fault(JpegErrors *errors, GError **error);

#endif
