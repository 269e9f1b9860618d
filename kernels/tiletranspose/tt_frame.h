/* SPDX-License-Identifier: MIT
 *
 * Pictures that do not arrive all at once.
 *
 * A source that can be read anywhere needs no frame: tt_plan() cuts the turn into pieces that fit a
 * memory limit, and each is one tt_orient(). A source that can only be read in order goes into a frame:
 * rectangles go in, turned rows come out, and exactly one copy of the picture exists: in memory, or if
 * that is short, in a temporary file.
 *
 *     TtFrame *frame;
 *     if (tt_frame_new(&shape, TT_ROT90, NULL, &frame))
 *         return complain(tt_last_error());
 *     for (size_t y = 0, end; y < shape.height; y = end) {
 *         end = tt_frame_cut(frame, y);
 *         TtImage band = decode_rows(y, end - y);
 *         tt_frame_put(frame, &band, 0, y);
 *     }
 *     // rot90: the result is as high as the source is wide
 *     for (size_t y = 0; y < shape.width; y += rows.height) {
 *         rows.height = min(64, shape.width - y);
 *         TtRect r = {0, y, shape.height, rows.height};
 *         if (tt_frame_read(frame, r, &rows))
 *             return complain(tt_last_error());
 *         encode_rows(&rows);
 *     }
 *     tt_frame_free(frame);
 *
 * Conventions are those of tt.h.
 */
#ifndef TILETRANSPOSE_TT_FRAME_H
#define TILETRANSPOSE_TT_FRAME_H

#include "tt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The frame ------------------------------------------------------------------------------------- */

typedef struct TtFrame TtFrame;

/* Where a frame keeps its picture.
 *
 * Memory   One block, as large as the picture. Each piece is turned on its way into it.
 * Spill    A temporary file, cut into tiles, and as many tiles in memory as the limit allows. The tiles are
 * shaped so that pieces that come in order, and rows that are read in order, move in runs of megabytes. The
 * file is in the folder that TMPDIR names, or in /var/tmp (or in /tmp, where there is no such; that is often
 * memory itself). It has no name, so that nothing is left of it however the process ends, and all its room is
 *          taken before the first pixel comes. Its pages in the system's cache belong to the system, which
 * gives them to whoever needs memory.
 *
 * Device   The memory of a GPU, for the backend "cuda" and samples of whole bytes. Pieces go up through a
 * ring of 32 MiB of pinned memory while others are being made, and are turned there; rows come down as they
 * are read. memory_limit does not count. TT_ERROR_MEMORY if the GPU has not so much.
 *
 * Auto takes the GPU where that is the backend. Else it takes the memory, or if the picture has more bytes
 * than may be held, the file. What may be held is each frame's memory_limit, where that is set. All frames of
 * the process whose limit is not set share one: the environment's TT_MEMORY_LIMIT (bytes, with K, M, G or T
 * after them), or half of what the machine (MemAvailable), the cgroups of this process and RLIMIT_AS allow.
 * It counts what other frames hold, and a frame that finds no room spills. */
typedef enum { TT_STORE_AUTO = 0, TT_STORE_MEMORY, TT_STORE_SPILL, TT_STORE_DEVICE } TtFrameStore;

/* NULL, or zero in any field, leaves that choice to the library. */
typedef struct {
    size_t struct_size;  /* sizeof(TtFrameOptions) */
    size_t memory_limit; /* bytes of pixels to hold in memory; 0: see above. A spilled picture takes at least
                            256 KiB, and is slow with much less than a hundredth of its bytes */
    const char *backend; /* as in TtOptions, for the turning of each piece */
    unsigned threads;    /* likewise */
    /* Where the memory for pixels comes from: both or neither. It is asked for once, and once more, for less,
     * if it cannot give what the whole picture takes. It needs no alignment, and is given back by
     * tt_frame_free(). NULL: anonymous pages, in huge pages where the system has them. */
    void *(*allocate)(size_t bytes, void *user);
    void (*release)(void *memory, size_t bytes, void *user);
    void *user;
    /* Looked at, atomically, by every put and read; once it is not 0 they answer TT_ERROR_CANCELLED. Another
     * thread or a signal handler sets it by __atomic_store_n(), or as the _Atomic int or std::atomic<int>
     * that this is cast from. */
    const volatile int *cancel;
    int device; /* as in TtOptions */
    TtFrameStore store;
} TtFrameOptions;

/* Makes a frame for a picture of the width, height, channels, sample format and layout of shape (its
 * data and pitches are not looked at) that is to be turned by o. Memory is not touched before pixels arrive.
 * TT_ERROR_MEMORY if the memory cannot be had, or may not and the store is TT_STORE_MEMORY. TT_ERROR_IO if
 * the picture needs a file that cannot be made: the message names the folder, the need and what is free
 * there. TT_ERROR_NO_DEVICE and TT_ERROR_DEVICE if the backend's GPU is missing or fails.
 * After a fork() only one of the two processes may go on with a frame; the other may free it. */
TT_API TtStatus tt_frame_new(const TtImage *shape, TtOrientation o, const TtFrameOptions *options,
                             TtFrame **frame);

/* The picture as it comes out: size, channels, format and layout, with data NULL. */
TT_API TtImage tt_frame_result(const TtFrame *frame);

/* Where the picture is kept; and where exactly, and why, in a few words: "7200.0 MB in a file in /var/tmp,
 * through 340.0 MB of memory: ...". They are valid until the frame is freed. */
TT_API TtFrameStore tt_frame_store(const TtFrame *frame);
TT_API const char *tt_frame_where(const TtFrame *frame);

/* Where a band of whole source rows that starts at row y had best end: the row after its last. Bands cut
 * so fill whole bytes and cache lines of the result and measure a few megabytes at most. Advice only. */
TT_API size_t tt_frame_cut(const TtFrame *frame, size_t y);

/* Puts in the pixels of piece, whose first lies at (x, y) of the source. Pieces come in any order and
 * from any threads at once; each pixel comes once. TT_ERROR_ARGUMENT if the piece reaches outside, has
 * another format, or brings pixels of a row that is already complete. TT_ERROR_IO if the store's file fails,
 * and then from every later put, and read, that comes to it: free the frame. TT_ERROR_DEVICE if the GPU
 * fails, and then from every later read. */
TT_API TtStatus tt_frame_put(TtFrame *frame, const TtImage *piece, size_t x, size_t y);

/* Copies the rectangle r of the result into an image of r's size. TT_ERROR_NOT_READY until each pixel of
 * those rows has been put (and, in a result of more than 131,072 rows, of the few beside them that are
 * counted together with them). Packed samples: r.x must fall on a whole byte. Any number of threads may read
 * the same rows, and again. */
TT_API TtStatus tt_frame_read(TtFrame *frame, TtRect r, const TtImage *into);

/* Frees the frame; NULL is allowed. No other call on it may be running. */
TT_API void tt_frame_free(TtFrame *frame);

/* ---- The plan -------------------------------------------------------------------------------------- */

typedef struct {
    size_t struct_size;             /* sizeof(TtPlanOptions) */
    size_t memory_limit;            /* bytes for a piece of source and its turned twin together; 0: 256 MiB */
    size_t tile_width, tile_height; /* pieces consist of whole tiles of the source where the limit allows;
                                       0: no tiles */
    int whole_rows; /* not 0: each piece is a band as wide as the result, for a writer in order. Packed
                       samples always are. */
} TtPlanOptions;

/* A grid of pieces over the source, each at most width x height pixels. */
typedef struct {
    size_t count; /* pieces */
    /* the rest is for tt_plan_piece() */
    TtOrientation orientation;
    size_t source_width, source_height, width, height, columns, rows;
} TtPlan;

/* Plans the turn of a source of shape's size and format that can be read anywhere. TT_ERROR_MEMORY, with
 * the bytes needed in the message, if not even the smallest piece fits the limit. */
TT_API TtStatus tt_plan(const TtImage *shape, TtOrientation o, const TtPlanOptions *options, TtPlan *plan);

/* Piece i below plan->count: the rectangle of the source and where it lands. Pieces run from left to
 * right and top to bottom of the result, cover it and do not overlap. */
TT_API void tt_plan_piece(const TtPlan *plan, size_t i, TtRect *source, TtRect *result);

#ifdef __cplusplus
}
#endif
#endif
