/* SPDX-License-Identifier: MIT */
#ifndef TT_ORIENT_H
#define TT_ORIENT_H

#include "backend.h"

/* The backend and the number of threads that options (or NULL) ask for. */
TtStatus tt_options_read(const TtOptions *options, const TtBackend **backend, unsigned *threads);

#endif
