/* SPDX-License-Identifier: MIT */
#ifndef TT_ORIENTATION_H
#define TT_ORIENTATION_H

#include "tiletranspose/tt.h"

int tt_orientation_valid(TtOrientation o);

/* Of a valid orientation: whether columns, and whether rows, are read backward before axes are exchanged. */
int tt_flips_x(TtOrientation o);
int tt_flips_y(TtOrientation o);

#endif
