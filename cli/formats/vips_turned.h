/* SPDX-License-Identifier: MIT
 *
 * The header of a picture that libvips is to save turned: sizes, and all metadata as the turn leaves it.
 */
#ifndef VIPS_TURNED_H
#define VIPS_TURNED_H

#include <tiletranspose/tt.h>

#include "vips_library.h"

typedef struct {
    TtOrientation turn;
    gsize width, height, pages; /* of a page before the turn, and how many there are */
    gboolean upright;           /* the tag becomes 1 wherever it stands */
    gboolean strip;             /* only what shows the picture stays, */
    TtOrientation tag;          /* and this tag */
} HeaderTurn;

/* A new image without pixels. */
VipsImage *vips_turned(VipsImage *from, const HeaderTurn *how);

#endif
