/* SPDX-License-Identifier: MIT
 *
 * libtiletranspose: turn images, exactly.
 *
 * Every function here moves pixels; none computes one. The eight orientations are the symmetries of
 * the rectangle, so each of them is undone by another, and a pixel is only ever a run of bytes (or of
 * 1, 2 or 4 bits).
 *
 *     TtImage from = tt_image(pixels, width * 3, width, height, 3, 8);
 *     TtImage to = tt_image(turned, height * 3, height, width, 3, 8);
 *     if (tt_orient(&from, &to, TT_ROT90, NULL))
 *         fprintf(stderr, "%s\n", tt_last_error());
 *
 * Units        Sizes and coordinates are in pixels, pitches in bytes. x grows to the right, y downward.
 * Memory       The library never keeps, frees or resizes memory of the caller, and a call's images need
 *              to live only until it returns.
 * Errors       Functions that can fail return a TtStatus, TT_OK being 0. tt_last_error() then says in one
 *              line what was wrong. Arguments are checked before a pixel is written.
 * Threads      Every function may be called from any number of threads at once, on different
 *              destinations. The library starts threads inside a call and joins them before it
 *              returns; between calls it has none, so a process may fork.
 */
#ifndef TILETRANSPOSE_TT_H
#define TILETRANSPOSE_TT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined _WIN32 || !defined __GNUC__
#define TT_API
#else
#define TT_API __attribute__((visibility("default")))
#endif

#define TT_VERSION_MAJOR 0
#define TT_VERSION_MINOR 1
#define TT_VERSION_PATCH 0

/* The version of the library at run time, as "0.1.0". */
TT_API const char *tt_version(void);

/* ---- Errors ---------------------------------------------------------------------------------------- */

typedef enum {
    TT_OK = 0,
    TT_ERROR_ARGUMENT,  /* a size, pitch, pointer, name or option is not valid */
    TT_ERROR_OVERLAP,   /* source and destination share memory */
    TT_ERROR_MEMORY,    /* out of memory, or the memory limit is too small */
    TT_ERROR_IO,        /* a file of the library's own could not be written or read */
    TT_ERROR_NO_DEVICE, /* the backend or GPU asked for is not usable here */
    TT_ERROR_DEVICE,    /* the GPU reported a failure */
    TT_ERROR_NOT_READY, /* rows were read before every pixel of them had arrived */
    TT_ERROR_CANCELLED  /* the caller's cancel flag was seen; what was written is unspecified */
} TtStatus;             /* later versions only append */

/* A few static words for a status, for instance "out of memory". */
TT_API const char *tt_status_string(TtStatus status);

/* One line, without a newline, about the last call of this thread that failed. It stays valid until this
 * thread's next failing call. Empty if none failed yet; a call that succeeds leaves it alone. */
TT_API const char *tt_last_error(void);

/* ---- Orientations ---------------------------------------------------------------------------------- */

/* What to do to an image, numbered as EXIF numbers them: an orientation is the turn that makes an image
 * with that tag upright. Turns are clockwise (NumPy's and torch's rot90 turn the other way).
 *
 *           none  fliph  rot180  flipv  transpose  rot90  transverse  rot270
 *     A B   A B    B A    D C     C D      A C      C A      D B        B D
 *     C D   C D    D C    B A     A B      B D      D B      C A        A C
 */
typedef enum {
    TT_NONE = 1,
    TT_FLIPH,      /* mirrored left to right */
    TT_ROT180,     /* half a turn */
    TT_FLIPV,      /* mirrored top to bottom */
    TT_TRANSPOSE,  /* rows become columns: mirrored in the falling diagonal */
    TT_ROT90,      /* a quarter turn clockwise */
    TT_TRANSVERSE, /* mirrored in the rising diagonal */
    TT_ROT270      /* a quarter turn anticlockwise */
} TtOrientation;

/* 1 if o exchanges width and height (transpose, rot90, transverse, rot270), else 0. */
TT_API int tt_swaps_axes(TtOrientation o);

/* The one orientation that does what `first` and then `then` do. */
TT_API TtOrientation tt_compose(TtOrientation first, TtOrientation then);

/* The orientation that undoes o. Only rot90 and rot270 are not their own. */
TT_API TtOrientation tt_invert(TtOrientation o);

/* Names are those of the picture above: "none" ... "rot270". Parsing gives TT_ERROR_ARGUMENT, and leaves
 * *o alone, for any other string; the name of a value that is no orientation is NULL. The string is
 * static. */
TT_API TtStatus tt_orientation_parse(const char *name, TtOrientation *o);
TT_API const char *tt_orientation_name(TtOrientation o);

/* ---- Images ---------------------------------------------------------------------------------------- */

typedef enum {
    TT_INTERLEAVED, /* R G B R G B ...: the samples of a pixel lie together */
    TT_PLANAR       /* R R R ... G G G ... B B B ...: each channel is a plane of its own */
} TtLayout;

/* Pixels in memory. Fill it with tt_image(), or set struct_size yourself. */
typedef struct {
    size_t struct_size;    /* sizeof(TtImage), so that the struct can grow */
    void *data;            /* the first pixel of the first row */
    ptrdiff_t pitch;       /* bytes from one row to the next; negative if rows run upward in memory */
    size_t width, height;  /* pixels */
    uint32_t channels;     /* samples a pixel */
    uint32_t sample_bits;  /* bits a sample: 8, 16, 24 ... Or 1, 2, 4: one channel, packed from the most
                              significant bit of each byte, each row starting on a byte */
    TtLayout layout;       /* ignored when there is one channel */
    ptrdiff_t plane_pitch; /* planar: bytes from one channel's plane to the next, of either sign */
} TtImage;

/* A rectangle of pixels. */
typedef struct {
    size_t x, y, width, height;
} TtRect;

/* An interleaved image. */
static inline TtImage tt_image(void *data, ptrdiff_t pitch, size_t width, size_t height, uint32_t channels,
                               uint32_t sample_bits) {
    TtImage image = {sizeof(TtImage), data, pitch, width, height, channels, sample_bits, TT_INTERLEAVED, 0};
    return image;
}

/* Where the rectangle r of a width x height image, inside it, lands when the image is turned by o. */
TT_API TtRect tt_map_rect(TtOrientation o, size_t width, size_t height, TtRect r);

/* The part r of an image, as a view of the same memory. r must lie inside; otherwise, and when packed
 * samples do not start on a byte there, the view's data is NULL, which every other function refuses. */
TT_API TtImage tt_subimage(const TtImage *image, TtRect r);

/* ---- Backends -------------------------------------------------------------------------------------- */

/* The code that moves the pixels. Two names choose: "auto" (for pixels in host memory the same as
 * "cpu") and "cpu" (the fastest of this processor's). The others force one: "cuda" lets a GPU turn what lies
 * in pinned memory (cudaHostAlloc, cudaHostRegister). Pixels in other host memory and packed samples are
 * turned by the processor even then: to copy pixels into pinned memory takes it longer. "c" is plain C and
 * defines what is right; tt_backend_name() counts through them all, best first, NULL past the last. */
TT_API const char *tt_backend_name(size_t index);

/* TT_OK if the named backend can be used here, TT_ERROR_NO_DEVICE if this build knows it but this machine
 * cannot run it, TT_ERROR_ARGUMENT if there is none of that name. NULL asks what a call without a name would
 * use: the environment's TT_BACKEND, or "auto". */
TT_API TtStatus tt_backend_check(const char *name);

/* How to do a call. NULL, or zero in any field, leaves that choice to the library. */
typedef struct {
    size_t struct_size;  /* sizeof(TtOptions) */
    const char *backend; /* a name; NULL: the environment's TT_BACKEND, or "auto" where that is unset */
    unsigned threads;    /* at most so many at work; 0: as many as this process may use (affinity, cgroup
                            quota). A few more may wait, for a GPU or a frame's file */
    int device;          /* backend "cuda", pixels in host memory: the GPU, numbered from 0 */
} TtOptions;

/* ---- The turn -------------------------------------------------------------------------------------- */

/* Turns src by o into dst, both in host memory.
 *
 * dst has src's width and height, exchanged where tt_swaps_axes(o), and the same channels and
 * sample_bits. The layouts may differ: turning and (de)interleaving are one pass; with TT_NONE this call
 * only copies or converts. Pitches may be of either sign and need no alignment, nor does data.
 *
 * Only the pixels of dst are written, never the bytes between its rows. Packed samples: the unused low
 * bits of each row's last byte become 0.
 *
 * TT_ERROR_ARGUMENT: NULL or a zero size; a row longer than the pitch's distance to the next; planes that
 * run into each other; sizes whose bytes exceed half the address space; images that do not match; an
 * unknown backend. TT_ERROR_OVERLAP: a pixel of dst may lie on one of src. TT_ERROR_NO_DEVICE: the named
 * backend is not usable here. */
TT_API TtStatus tt_orient(const TtImage *src, const TtImage *dst, TtOrientation o, const TtOptions *options);

/* ---- Pixels on a GPU -------------------------------------------------------------------------------- */

/* These take images whose data is memory that an NVIDIA GPU can reach: of cudaMalloc, cuMemAlloc, a memory
 * pool, managed or pinned. All images of a call are on one GPU. Everything else is as in tt_orient(); samples
 * of 1, 2 and 4 bits are turned in host memory only.
 *
 * Order        A call checks its arguments, enqueues on the caller's stream and returns. It allocates nothing
 *              on the GPU, synchronises nothing, and can be captured in a CUDA graph. As with any work on a
 *              stream, the pixels are to stay untouched until the stream has got there; the structs are not
 *              needed after the call.
 * Context      The stream's, or for the default streams that of the source's memory. The context that is
 *              current in the thread is the same after the call as before.
 * First use    The first call in a context loads the kernels, which takes milliseconds to a second:
 *              tt_device_prepare() takes that time beforehand.
 * Errors       TT_ERROR_NO_DEVICE: no driver or one too old, no GPU, a GPU that this build has no kernels
 * for, a process forked from one that used CUDA. TT_ERROR_ARGUMENT: also memory that no GPU reaches, images
 * on different GPUs. TT_ERROR_DEVICE: a launch failed; failures while a kernel runs appear, as always with
 * CUDA, where the stream is next waited for.
 */

/* A CUstream or cudaStream_t. NULL is the legacy default stream; the handles of the default streams
 * (cudaStreamLegacy, cudaStreamPerThread) mean what they mean in CUDA. */
typedef void *TtStream;

/* Loads the kernels into the primary context of a GPU, numbered from 0, and keeps that context. */
TT_API TtStatus tt_device_prepare(int device);

/* Turns one image. */
TT_API TtStatus tt_orient_async(const TtImage *src, const TtImage *dst, TtOrientation o, TtStream stream,
                                const TtOptions *options);

/* Turns n images of one geometry in one launch. Image i is src with data moved on by i * src_stride bytes,
 * and lands in dst with data moved on by i * dst_stride; strides may be negative, and images on one side may
 * follow each other with gaps but not reach into each other. n may be 0. */
TT_API TtStatus tt_orient_strided_async(const TtImage *src, const TtImage *dst, size_t n,
                                        ptrdiff_t src_stride, ptrdiff_t dst_stride, TtOrientation o,
                                        TtStream stream, const TtOptions *options);

/* Turns n images of any sizes and formats, each by its own orientation, in few launches. No destination may
 * share memory with another image of the list; of that, only each image's own source is checked. */
TT_API TtStatus tt_orient_list_async(const TtImage *const *src, const TtImage *const *dst,
                                     const TtOrientation *o, size_t n, TtStream stream,
                                     const TtOptions *options);

/* One line about GPU `device` and what this build has for it, for people: its name, the driver, the compiled
 * architectures. TT_ERROR_NO_DEVICE past the last and where CUDA is not usable. The text is cut to `size`. */
TT_API TtStatus tt_device_describe(int device, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
