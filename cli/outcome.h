/* SPDX-License-Identifier: MIT
 *
 * What became of one file, as the report, the summary and the messages tell it.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <glib.h>
#include <tiletranspose/tt.h>

typedef enum {
    OUTCOME_FAILED,    /* nothing was changed; message says why */
    OUTCOME_TURNED,    /* a new file has the output's name */
    OUTCOME_COPIED,    /* likewise, but there was nothing to turn: it is the input to the byte */
    OUTCOME_UNCHANGED, /* in place, with nothing to turn: the file was not touched */
    OUTCOME_SKIPPED,   /* it was done before; message says by what that is known */
    OUTCOME_IGNORED,   /* found in a folder, and no picture */
    OUTCOME_KINDS,
} OutcomeKind;

/* What is not known is 0 or NULL. */
typedef struct {
    OutcomeKind kind;
    TtOrientation operation, turn;         /* as asked for, and that of the stored pixels */
    gsize width, height;                   /* of a page, before */
    gsize turned_width, turned_height;     /* and after */
    guint64 bytes_in, bytes_out;           /* of the files */
    double decode, pixels, encode, verify; /* seconds a stage; those that overlap add up to more than all */
    double seconds;                        /* from the input's opening to the output's name */
    const char *backend;                   /* that moved the pixels; static */
    int device;                            /* of the backend cuda, from 0 */
    char *input_sha256, *output_sha256;    /* of the files, in hexadecimal digits */
    char *message;
} Outcome;

void outcome_clear(Outcome *outcome);

/* "turned", "copied" and so on, for reports and summaries. */
const char *outcome_word(OutcomeKind kind);

/* How many files came to what. */
typedef struct {
    guint files[OUTCOME_KINDS];
    guint64 bytes_in, bytes_out;
} Tally;

void tally_add(Tally *tally, const Outcome *outcome);

#endif
