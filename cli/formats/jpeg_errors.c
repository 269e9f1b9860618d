/* SPDX-License-Identifier: MIT
 *
 * libjpeg's error manager: nothing is printed, and damage is no matter for a warning.
 */
#include "jpeg_errors.h"

#include <errno.h>

#include "../say.h"

static void jump(j_common_ptr library) {
    JpegErrors *errors = (JpegErrors *)library->err;
    errors->system_error = errno;
    longjmp(errors->jump, 1);
}

/* Scans of a picture: twice as many as cjpeg can be told to write. Each goes over all blocks, however few
 * bytes it has. */
enum { MOST_SCANS = 200 };

/* Warnings have a level below 0. Two are of oddities that do no harm. */
static void take_message(j_common_ptr library, int level) {
    JpegErrors *errors = (JpegErrors *)library->err;
    int code = errors->manager.msg_code;
    if (code == JTRC_SOS && library->is_decompressor && ++errors->scans > MOST_SCANS)
        jump(library);
    if (level >= 0 || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM)
        return;
    if (code == JWRN_EXTRANEOUS_DATA)
        errors->passed_over = TRUE;
    else
        jump(library);
}

static void print_nothing(j_common_ptr library) {
    (void)library;
}

struct jpeg_error_mgr *jpeg_errors_init(JpegErrors *errors) {
    jpeg_std_error(&errors->manager);
    errors->manager.error_exit = jump;
    errors->manager.emit_message = take_message;
    errors->manager.output_message = print_nothing;
    errors->passed_over = FALSE;
    errors->scans = 0;
    return &errors->manager;
}

gboolean jpeg_errors_fault(JpegErrors *errors, GError **error) {
    char text[JMSG_LENGTH_MAX];
    struct jpeg_common_struct library = {.err = &errors->manager};
    switch (errors->manager.msg_code) {
    case JTRC_SOS:
        return fault(
            error, STATUS_FAILED,
            "has more than %d scans, as no encoder writes, so it is damaged or made to exhaust time: "
            "restore it from a copy",
            MOST_SCANS);
    case JERR_FILE_WRITE:
        return system_fault(error, "write the output", errors->system_error);
    case JERR_OUT_OF_MEMORY:
        return fault(error, STATUS_FAILED, "needs more memory than the system has: free some");
    case JERR_BAD_PRECISION:
        return fault(error, STATUS_FAILED, "has %d bits a sample, and 8 are read: convert it first",
                     errors->manager.msg_parm.i[0]);
    case JERR_SOF_UNSUPPORTED:
    case JERR_NOTIMPL:
        return fault(
            error, STATUS_FAILED,
            "is coded as lossless or hierarchical JPEG, which libjpeg-turbo does not turn: convert it first");
    default:
        errors->manager.format_message(&library, text);
        return fault(error, STATUS_FAILED, "cannot be read (%s): restore it from a copy", text);
    }
}
