/* SPDX-License-Identifier: MIT
 *
 * Where the last block of a stream begins, for whoever wants more to follow it.
 */
#ifndef DEFLATE_LAST_BLOCK_H
#define DEFLATE_LAST_BLOCK_H

#include <glib.h>

enum { DEFLATE_BEYOND = 16 }; /* bytes that are readable behind the stream, whatever they are */

/* The bit of a raw deflate stream where its last block's header begins, and the bit behind that block.
 * FALSE: this is no such stream. */
gboolean deflate_last_block(const guint8 *stream, gsize size, gsize *header, gsize *end);

#endif
