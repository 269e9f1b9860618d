/* SPDX-License-Identifier: MIT
 *
 * What the tests of the operation share.
 */
#ifndef TURNS_H
#define TURNS_H

#include <vips/vips.h>

/* Loads the module that is the program's argument; and runs the tests that were added since. */
void start(int *argc, char ***argv);
int finish(void);

/* Orientations by number, as EXIF numbers them, and the number of a name as the operation knows it. */
extern const char *const names[];
int by_name(const char *orientation);
gboolean swaps(int o);

void expect_ok(int result);
void expect_same_pixels(VipsImage *a, VipsImage *b, const char *what);

/* For what libvips warns of, and tests do on purpose. */
guint ignore_warnings(void);
void heed_warnings(guint handler);

VipsImage *turn(VipsImage *in, const char *orientation);

/* What libvips makes of it, in its own steps. */
VipsImage *turn_by_libvips(VipsImage *in, int o);

/* Random bytes of any format; compared as bytes, so no value is out of place. */
VipsImage *noise(int width, int height, int bands, VipsBandFormat format);

/* As libvips' own loaders are when opened for sequential access: each row once, from top to bottom. The
 * image's data "reader" is a Reader. */
typedef struct {
    int next; /* the only row that may be asked for */
} Reader;
VipsImage *in_order(VipsImage *in);

/* A name for a file of the test's own. */
char *temporary(const char *suffix);

#endif
