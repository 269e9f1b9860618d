/* SPDX-License-Identifier: MIT
 *
 * From the IDAT chunks of a file to the filtered rows in them: read, checked and unpacked ahead of whoever
 * needs them, on an idle core if there is one.
 */
#ifndef PNG_INFLATE_H
#define PNG_INFLATE_H

#include <glib.h>

#include "../cores.h"
#include "deflate.h"
#include "png_input.h"

typedef struct {
    PngInput *input;
    PngPixels pixels;         /* the chunks in it */
    guint64 bytes;            /* that the picture needs; more is left */
    Cores *cores;             /* may be NULL */
    const Unpacker *unpacker; /* NULL: the fastest */
    gboolean trusting;        /* no checksums are looked at, nor what the picture does not need */
} PngInflateOptions;

typedef struct PngInflate PngInflate;
PngInflate *png_inflate_new(const PngInflateOptions *options);

/* The next piece, at most PNG_INFLATE_PIECE bytes, the caller's until the next call. Before an error come all
 * bytes that could be unpacked. NULL with *size 0 and no error: there were all bytes that the picture needs,
 * and the stream's checksum is right. */
enum { PNG_INFLATE_PIECE = 4 * 65535 };
guint8 *png_inflate_next(PngInflate *d, gsize *size, GError **error);

/* After the last piece: whether the chunks hold more than the picture needs. */
gboolean png_inflate_has_more(const PngInflate *d);

/* Waits until no helper reads from the input; the next call may call one again. */
void png_inflate_rest(PngInflate *d);

void png_inflate_free(PngInflate *d);

#endif
