/* SPDX-License-Identifier: MIT
 *
 *     check_png IN.png OUT.png ORIENTATION
 *
 * Whether OUT is IN turned, exactly: every sample (a palette's indices), size, colour type, depth,
 * interlacing, palette and its order, transparency, and pixel density, exchanged where the axes are. Knows
 * nothing of the library. Exit status 0 if so, 1 with one line that says the first difference, 2 on wrong
 * usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eight.h"
#include "png_file.h"

/* ORIENTATION's number, 0 if there is none of that name. */
static int orientation_of(const char *name) {
    for (int o = 1; o <= 8; o++)
        if (!strcmp(name, eight_names[o]))
            return o;
    return 0;
}

#define DIFFERS(...) (printf(__VA_ARGS__), putchar('\n'), false)

static bool same_header(const PngFile *in, const PngFile *out, int o) {
    uint32_t width = eight_swaps(o) ? in->height : in->width,
             height = eight_swaps(o) ? in->width : in->height;
    if (out->width != width || out->height != height)
        return DIFFERS("it is %u x %u pixels, not %u x %u", out->width, out->height, width, height);
    if (out->colour_type != in->colour_type)
        return DIFFERS("its colour type is %d, not %d", out->colour_type, in->colour_type);
    if (out->depth != in->depth)
        return DIFFERS("its depth is %d bits, not %d", out->depth, in->depth);
    if (out->interlace != in->interlace)
        return DIFFERS("it is %sinterlaced", out->interlace ? "" : "not ");
    return true;
}

static bool same_palette(const PngFile *in, const PngFile *out) {
    if (out->palette_entries != in->palette_entries)
        return DIFFERS("its palette has %d entries, not %d", out->palette_entries, in->palette_entries);
    for (int i = 0; i < in->palette_entries; i++)
        if (memcmp(out->palette[i], in->palette[i], 3))
            return DIFFERS("entry %d of its palette differs", i);
    return true;
}

static bool same_transparency(const PngFile *in, const PngFile *out) {
    if (out->alpha_entries != in->alpha_entries)
        return DIFFERS("its tRNS has %d entries, not %d", out->alpha_entries, in->alpha_entries);
    for (int i = 0; i < in->alpha_entries; i++)
        if (out->alpha[i] != in->alpha[i])
            return DIFFERS("entry %d of its tRNS is %u, not %u", i, out->alpha[i], in->alpha[i]);
    if (out->has_transparent != in->has_transparent)
        return DIFFERS("it has %s tRNS", out->has_transparent ? "a" : "no");
    if (memcmp(out->transparent, in->transparent, sizeof(in->transparent)))
        return DIFFERS("the colour of its tRNS differs");
    return true;
}

static bool same_density(const PngFile *in, const PngFile *out, int o) {
    uint32_t x = eight_swaps(o) ? in->phys_y : in->phys_x, y = eight_swaps(o) ? in->phys_x : in->phys_y;
    if (out->has_phys != in->has_phys)
        return DIFFERS("it has %s pHYs", out->has_phys ? "a" : "no");
    if (out->phys_x != x || out->phys_y != y || out->phys_unit != in->phys_unit)
        return DIFFERS("its pHYs is %u x %u, not %u x %u", out->phys_x, out->phys_y, x, y);
    return true;
}

static bool same_samples(const PngFile *in, const PngFile *out, int o) {
    for (size_t y = 0; y < out->height; y++)
        for (size_t x = 0; x < out->width; x++) {
            Point from = eight_source(o, in->width, in->height, x, y);
            for (int c = 0; c < in->channels; c++) {
                unsigned want = png_file_sample(in, from.x, from.y, c), got = png_file_sample(out, x, y, c);
                if (got != want)
                    return DIFFERS("sample %d of pixel %zu, %zu is %u, not %u", c, x, y, got, want);
            }
        }
    return true;
}

int main(int argc, char **argv) {
    int o = argc == 4 ? orientation_of(argv[3]) : 0;
    if (!o) {
        fprintf(stderr, "usage: check_png IN.png OUT.png ORIENTATION\n");
        return 2;
    }
    PngFile files[2] = {{0}};
    bool same = true;
    for (int i = 0; i < 2 && same; i++)
        if (!png_file_read(&files[i], argv[1 + i]))
            same = DIFFERS("%s cannot be read: %s", argv[1 + i], files[i].error);
    if (same) {
        const PngFile *in = &files[0], *out = &files[1];
        if (!same_header(in, out, o) || !same_palette(in, out) || !same_transparency(in, out) ||
            !same_density(in, out, o) || !same_samples(in, out, o)) {
            same = false;
        }
    }
    png_file_free(&files[0]);
    png_file_free(&files[1]);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
