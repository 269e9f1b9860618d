/* SPDX-License-Identifier: MIT
 *
 * tt_pngload and tt_pngsave: the command's PNG codec as libvips operations.
 */
#ifndef TT_PNG_H
#define TT_PNG_H

#include <vips/vips.h>

#include "../cli/cores.h"

/* Registers the operations. libvips takes them for files that it knows as PNGs only where the environment has
 * TT_PNG=1, and otherwise never but by their names. */
void tt_png_register(void);

/* ---- What they share -------------------------------------------------------------------------------- */

GType tt_pngload_get_type(void);
GType tt_pngload_file_get_type(void);
GType tt_pngload_buffer_get_type(void);
GType tt_pngload_source_get_type(void);
GType tt_pngsave_get_type(void);
GType tt_pngsave_file_get_type(void);
GType tt_pngsave_buffer_get_type(void);
GType tt_pngsave_target_get_type(void);

gboolean tt_png_is_chosen(void);
extern const char *tt_png_suffixes[]; /* of files that they are chosen for */

/* The cores that all pictures of this process share, as many as libvips is to use. */
Cores *tt_png_cores(void);

/* Tells libvips of an error that is `subject`'s, if any, and frees it. Returns -1. */
int tt_png_fail(const char *operation, VipsConnection *subject, GError *error);

/* A GError for what libvips has been told already. Returns FALSE. */
gboolean tt_png_told(GError **error);

#endif
