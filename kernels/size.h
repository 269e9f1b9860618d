/* SPDX-License-Identifier: MIT
 *
 * Sizes, two at a time.
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

static inline size_t parts_of(size_t n, size_t part) {
    return n / part + (n % part != 0);
}

static inline size_t rounded_up(size_t n, size_t unit) {
    return parts_of(n, unit) * unit;
}

/* Parts of n that are as large as possible up to `most`, of whole units, and about equal. */
static inline size_t even_part(size_t n, size_t most, size_t unit) {
    return smaller(most, rounded_up(parts_of(n, parts_of(n, most)), unit));
}

#endif
