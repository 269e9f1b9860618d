/* SPDX-License-Identifier: MIT
 *
 * What a backend is, and the table of them.
 */
#ifndef TT_BACKEND_H
#define TT_BACKEND_H

#include <stdbool.h>

#include "tiletranspose/tt.h"

/* The three kernels. Vertical flips are negative pitches, so no more are needed. */
typedef enum { TT_COPY_ROWS, TT_REVERSE_ROWS, TT_TRANSPOSE_ROWS } TtKernel;

/* One side of a move: where element (x, y) of channel c is, at data + y * pitch + x * step + c * plane. */
typedef struct {
    uint8_t *data;
    ptrdiff_t pitch;
    ptrdiff_t plane;
    size_t step;
} TtSide;

/* A turn, checked and boiled down to one of the three kernels.
 *
 * An element is what moves as one run of bytes: the whole pixel when both sides are interleaved, else one
 * sample. `channels` elements make a pixel, so it is 1 when whole pixels move. */
typedef struct {
    TtKernel kernel;
    TtSide src, dst;
    size_t width, height; /* of the destination */
    size_t bytes;         /* of an element; 0 if samples are packed */
    unsigned bits;        /* 1, 2 or 4 if samples are packed, else 0 */
    size_t channels;
    int device; /* cuda: the GPU for pixels in host memory */
} TtMove;

typedef struct {
    const char *name;
    bool host; /* moves pixels in host memory with this processor */
    bool (*usable)(void);
    TtStatus (*move)(const TtMove *move, unsigned threads); /* 0: as many as it may use */
    bool explains; /* usable() says in tt_last_error() why it is not */
} TtBackend;

/* NULL and tt_last_error() if there is none of that name or this machine cannot run it; then *status says
 * which. A NULL name asks TT_BACKEND, then "auto". */
const TtBackend *tt_backend_find(const char *name, TtStatus *status);

#endif
