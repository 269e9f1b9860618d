/* SPDX-License-Identifier: MIT
 *
 * Random numbers that are the same in every run, so that a failure can be had again.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64: any state will do, also 0. */
static inline uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline size_t random_below(uint64_t *state, size_t n) {
    return (size_t)(random_bits(state) % n);
}

static inline void random_fill(uint64_t *state, void *memory, size_t bytes) {
    uint8_t *p = memory;
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)(random_bits(state) >> 56);
}

#endif
