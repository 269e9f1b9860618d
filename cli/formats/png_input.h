/* SPDX-License-Identifier: MIT
 *
 * Where a PNG is read from: bytes that can be read anywhere.
 */
#ifndef PNG_INPUT_H
#define PNG_INPUT_H

#include <glib.h>

typedef struct PngInput PngInput;
struct PngInput {
    const char *path; /* for messages */
    goffset size;     /* G_MAXINT64 if nobody knows */
    /* Reads up to n bytes, none only at the end. *got is how many. Called from several threads, one at a
     * time. */
    gboolean (*read)(PngInput *input, guint8 *to, gsize n, goffset offset, gsize *got, GError **error);
    gpointer user;
    int fd; /* of a file */
};

/* Where the chunks with the pixels are, which follow each other. */
typedef struct {
    goffset begin, end; /* end: G_MAXINT64 for the first chunk that is of another kind */
    guint64 bytes;      /* compressed, in them, at most; 0 if nobody knows */
} PngPixels;

/* A file, which stays the caller's. */
gboolean png_input_of_file(PngInput *input, int fd, const char *path, GError **error);

/* Reads all n bytes. */
gboolean png_input_read(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error);

/* Finds where the pixels begin, and nothing else of `pixels`. */
gboolean png_input_find_pixels(PngInput *input, PngPixels *pixels, GError **error);

static inline guint32 png_big_endian(const guint8 *p) {
    return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

#endif
