/* SPDX-License-Identifier: MIT
 *
 * Decisions from a fuzzer's bytes: 0 once they have run out, so that each input decides everything.
 */
#ifndef TAKE_H
#define TAKE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *data;
    size_t size;
} Input;

static inline uint64_t take_bytes(Input *input, int n) {
    uint64_t value = 0;
    for (int i = 0; i < n && input->size; i++, input->size--)
        value = value << 8 | *input->data++;
    return value;
}

/* From least to most, from as many bytes as it takes. */
static inline size_t take(Input *input, size_t least, size_t most) {
    size_t range = most - least;
    int bytes = range < 0x100 ? 1 : range < 0x10000 ? 2 : 8;
    uint64_t value = take_bytes(input, bytes);
    return least + (range == SIZE_MAX ? value : value % (range + 1));
}

#endif
