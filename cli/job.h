/* SPDX-License-Identifier: MIT
 *
 * What is at hand while one file is turned.
 */
#ifndef JOB_H
#define JOB_H

#include <stdio.h>
#include <sys/stat.h>

#include "formats/format.h"
#include "options.h"
#include "outcome.h"
#include "output_file.h"
#include "plan.h"
#include "turned.h"

typedef struct {
    const Task *task;
    const Options *options;
    const atomic_int *cancel;
    Outcome *outcome;
    struct stat info; /* of the input */
    FILE *input;
    Reader *reader;
    TtOrientation turn; /* of the stored pixels */
    gboolean tag_used;  /* the turn includes the file's tag */
    gsize memory;       /* taken from the budget */
    Turned *turned;
    OutputFile output;
    char *world, *world_output; /* names of the world files of input and output; or NULL */
    char *world_text;           /* what the output's will say; NULL if there will be none */
    gboolean world_anew;        /* nothing has its name yet */
} Job;

#endif
