/* SPDX-License-Identifier: MIT
 *
 * The loop that the benchmark checks turns with: it accepts the eight turns written down by hand, and finds
 * any one byte that is wrong.
 */
#include "../../cli/benchmark/naive.h"

#include <string.h>

#include "../eight.h"
#include "../expect.h"

static const Pixel pixels[] = {
    {"u8", 1, 8},     {"u16", 1, 16}, {"rgb8", 3, 8},    {"rgba8", 4, 8},
    {"rgb16", 3, 16}, {"f64", 1, 64}, {"rgbf32", 3, 32}, {"rgbaf32", 4, 32},
};

/* ABC / DEF, turned. */
static const char *const by_hand[9] = {
    NULL, "ABCDEF", "CBAFED", "FEDCBA", "DEFABC", "ADBECF", "DAEBFC", "FCEBDA", "CFBEAD",
};

static void check_by_hand(const Pixel *pixel, int o) {
    gsize bytes = pixel_bytes(pixel), width = o >= 5 ? 2 : 3, height = o >= 5 ? 3 : 2, x, y;
    guint8 source[6 * 16], turned[6 * 16];
    Turn turn = {pixel, 3, 2, (TtOrientation)o, "c", 1};
    for (gsize i = 0; i < 6 * bytes; i++) {
        source[i] = (guint8)(by_hand[1][i / bytes] + i % bytes * 7);
        turned[i] = (guint8)(by_hand[o][i / bytes] + i % bytes * 7);
    }
    EXPECT(naive_agrees(&turn, source, turned, 0, height, &x, &y), "%s %s", pixel->name, eight_names[o]);
    for (gsize i = 0; i < 6 * bytes; i++) {
        turned[i] ^= 1;
        gboolean agrees = naive_agrees(&turn, source, turned, 0, height, &x, &y);
        EXPECT(!agrees && x == i / bytes % width && y == i / bytes / width, "%s %s, byte %zu", pixel->name,
               eight_names[o], i);
        turned[i] ^= 1;
    }
}

/* Larger than the squares that the loop goes in, and only some of the rows. */
static void check_larger(int o) {
    enum { WIDTH = 131, HEIGHT = 70 };
    static guint16 source[WIDTH * HEIGHT], turned[WIDTH * HEIGHT];
    gsize width = eight_swaps(o) ? HEIGHT : WIDTH, height = eight_swaps(o) ? WIDTH : HEIGHT, x, y;
    Turn turn = {&pixels[1], WIDTH, HEIGHT, (TtOrientation)o, "c", 1};
    for (gsize i = 0; i < WIDTH * HEIGHT; i++)
        source[i] = (guint16)(i * 7);
    for (gsize i = 0; i < WIDTH * HEIGHT; i++) {
        Point from = eight_source(o, WIDTH, HEIGHT, i % width, i / width);
        turned[i] = source[from.y * WIDTH + from.x];
    }
    EXPECT(naive_agrees(&turn, (guint8 *)source, (guint8 *)turned, 0, height, &x, &y), "%s", eight_names[o]);
    turned[67 * width + 65] ^= 0x100;
    EXPECT(naive_agrees(&turn, (guint8 *)source, (guint8 *)turned, 0, 67, &x, &y), "%s, above",
           eight_names[o]);
    EXPECT(naive_agrees(&turn, (guint8 *)source, (guint8 *)turned, 68, height, &x, &y), "%s, below",
           eight_names[o]);
    EXPECT(!naive_agrees(&turn, (guint8 *)source, (guint8 *)turned, 3, 68, &x, &y) && x == 65 && y == 67,
           "%s, found", eight_names[o]);
}

int main(void) {
    for (int o = 1; o <= 8; o++) {
        for (gsize i = 0; i < G_N_ELEMENTS(pixels); i++)
            check_by_hand(&pixels[i], o);
        check_larger(o);
    }
    return expect_result();
}
