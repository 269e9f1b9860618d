/* SPDX-License-Identifier: MIT
 *
 * NEON: what every arm64 has. Its hints for stores past the cache gain nothing there, but its cores notice
 * whole lines written in a row and do not read them first, so lines are written like everywhere else.
 */
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8x16_t Vec;

enum { LANES = 1 };

static inline Vec load_lanes(const uint8_t *p, ptrdiff_t apart) {
    (void)apart;
    return vld1q_u8(p);
}

static inline void store_lanes(uint8_t *p, ptrdiff_t apart, Vec v) {
    (void)apart;
    vst1q_u8(p, v);
}

#define ZIP(unit)                                                                                            \
    static inline Vec zip_lo_##unit(Vec a, Vec b) {                                                          \
        return vreinterpretq_u8_u##unit(                                                                     \
            vzip1q_u##unit(vreinterpretq_u##unit##_u8(a), vreinterpretq_u##unit##_u8(b)));                   \
    }                                                                                                        \
    static inline Vec zip_hi_##unit(Vec a, Vec b) {                                                          \
        return vreinterpretq_u8_u##unit(                                                                     \
            vzip2q_u##unit(vreinterpretq_u##unit##_u8(a), vreinterpretq_u##unit##_u8(b)));                   \
    }

static inline Vec zip_lo_8(Vec a, Vec b) {
    return vzip1q_u8(a, b);
}

static inline Vec zip_hi_8(Vec a, Vec b) {
    return vzip2q_u8(a, b);
}

ZIP(16)
ZIP(32)
ZIP(64)

#define HAVE_SHUFFLE

static inline Vec table(const uint8_t bytes[16]) {
    return vld1q_u8(bytes);
}

static inline Vec shuffle(Vec v, Vec table) {
    return vqtbl1q_u8(v, table);
}

static inline void stream_line(uint8_t *dst, const uint8_t *src) {
    for (int i = 0; i < 64; i += 16)
        vst1q_u8(dst + i, vld1q_u8(src + i));
}

static inline void stream_end(void) {}

#include "tile.h"

static bool usable(void) {
    return true;
}

DEFINE_BACKEND(neon)
