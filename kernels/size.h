/* SPDX-License-Identifier: MIT
 *
 * Of two sizes.
 */
#ifndef TT_SIZE_H
#define TT_SIZE_H

#include <stddef.h>

static inline size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

#endif
