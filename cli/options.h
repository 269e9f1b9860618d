/* SPDX-License-Identifier: MIT
 *
 * The command line as a plain struct.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdatomic.h>

#include <glib.h>
#include <tiletranspose/tt.h>

#include "budget.h"
#include "cores.h"
#include "shard.h"

/* A raw buffer's geometry: rows of width pixels of so many bytes, without gaps. */
typedef struct {
    gboolean given;
    gsize width, height, bytes;
} RawGeometry;

/* What becomes of a JPEG whose blocks do not allow a perfect turn. By the tag: of any JPEG. */
typedef enum { JPEG_LOSSLESS, JPEG_TRIM, JPEG_REENCODE, JPEG_TAG } JpegWay;

/* When how far the run is gets shown: on a terminal, whatever the stream, or not. */
typedef enum { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } ProgressWhen;

typedef struct {
    TtOrientation operation; /* all operations, composed from left to right */
    gboolean operation_named;
    gboolean stored; /* turn the stored pixels and leave the orientation tag */

    char **inputs;               /* or NULL */
    gboolean recursive;          /* folders among them stand for what is in them */
    char **includes, **excludes; /* patterns, or NULL */
    char *files_from;            /* a list of inputs, or NULL; "-" is stdin */
    char *tasks;                 /* a list of inputs with what becomes of them, or NULL; "-" is stdin */
    gboolean null_separated;     /* its names end in NUL bytes */
    Shard shard;                 /* of the inputs */

    char *output;    /* -o, or NULL; "-" is stdout */
    char *format;    /* that stdout is to be in, or NULL */
    char *directory; /* -d, or NULL */
    gboolean in_place;
    gboolean overwrite, skip_existing;
    gboolean dry_run;    /* only say what would be done */
    gboolean preserve;   /* times, and what else a file has beside its bytes */
    gboolean sync;       /* outputs reach the disk; in place they do in any case */
    gboolean no_verify;  /* in place, do not decode and compare */
    gboolean part_links; /* in place, replace one of several names */
    char *backup;        /* in place, the suffix of the original's second name, or NULL */

    RawGeometry raw;
    int png_level;     /* 0 to 9 */
    guint png_filters; /* a set of formats/png_filter.h; 0: what suits the pixels */
    JpegWay jpeg;
    gboolean geo_rewrite; /* turn what ties pixels to the map, too, instead of refusing it */
    gboolean strip;       /* drop what is not needed to show the picture */
    char **backends;      /* as often as --backend was given, or NULL */
    char *backend;        /* the last of them, or NULL */
    int threads, device;
    gboolean device_named;
    int jobs; /* files at once; 0: as many as cores */
    gsize memory_limit;
    guint64 max_pixels; /* of an input; 0: any number */
    gboolean fail_fast; /* begin no other file once one failed */

    gboolean benchmark, benchmark_full;
    char *report; /* of the files, or of the benchmark; "-" is stdout, or NULL */
    gboolean checksum;
    char *resume; /* the report of earlier runs, or NULL */

    ProgressWhen progress;
    gboolean quiet, verbose, help, help_all, version;

    /* What the files of a run share; not from the command line. */
    Cores *cores;
    Budget *budget;
    gboolean plainly;          /* read with nothing but the plain libraries: to verify what was written */
    struct Report *reporting;  /* or NULL */
    struct Journal *journal;   /* or NULL */
    struct Progress *watching; /* or NULL */
    const atomic_int *stop;    /* a signal's number: begin no other file */
} Options;

/* Fills options from the arguments, or says in error what is wrong with them. */
gboolean options_parse(Options *options, int argc, char **argv, GError **error);
void options_clear(Options *options);

/* The most bytes of memory for a picture: --memory-limit, or what the machine and the cgroup allow. */
gsize options_memory(const Options *options);

#endif
