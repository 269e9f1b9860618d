/* SPDX-License-Identifier: MIT
 *
 * The type of the libvips operation tt_transpose, for the module that registers it.
 */
#ifndef TT_TRANSPOSE_H
#define TT_TRANSPOSE_H

#include <glib-object.h>

GType tt_transpose_get_type(void);

#endif
