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
    goffset size;
    /* Fills all n bytes or says why it cannot. Called from several threads, one at a time. */
    gboolean (*read)(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error);
    gpointer user;
    int fd; /* of a file */
};

/* A file, which stays the caller's. */
gboolean png_input_of_file(PngInput *input, int fd, const char *path, GError **error);

static inline gboolean png_input_read(PngInput *input, guint8 *to, gsize n, goffset offset, GError **error) {
    return input->read(input, to, n, offset, error);
}

static inline guint32 png_big_endian(const guint8 *p) {
    return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

#endif
