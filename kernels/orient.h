/* SPDX-License-Identifier: MIT */
#ifndef TT_ORIENT_H
#define TT_ORIENT_H

#include "backend.h"

/* Checks everything about a turn but where the pixels are. */
TtStatus tt_pair_check(const TtImage *src, const TtImage *dst, TtOrientation o);

/* A checked turn, boiled down. */
TtMove tt_move_of(const TtImage *src, const TtImage *dst, TtOrientation o);

/* The backend and the number of threads that options (or NULL) ask for, 0 where they leave it open. */
TtStatus tt_options_read(const TtOptions *options, const TtBackend **backend, unsigned *threads);

#endif
