/* SPDX-License-Identifier: MIT
 *
 * Pixels of a TIFF that are not compressed.
 */
#ifndef TIFF_BARE_H
#define TIFF_BARE_H

#include "tiff_turn.h"

/* Whether they can be read from where they lie. */
gboolean tiff_is_bare(const TiffPicture *picture);

/* The bytes that their turn will hold. */
gsize tiff_bare_memory(const TiffPicture *from, TtOrientation turn, const Options *options);

/* As tiff_turn_pixels(), of blocks that all are where they are said to be. */
gboolean tiff_bare_turn(const TiffTurner *turner, const TiffPicture *from, TiffPicture *to,
                        TtOrientation turn, TiffSink *sink, char **way, GError **error);

#endif
