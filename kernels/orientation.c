/* SPDX-License-Identifier: MIT
 *
 * The algebra of the eight orientations.
 *
 * Each is "flip left-right?, flip top-bottom?, then exchange the axes?": three bits that say everything.
 * Pixel (x, y) of a w x h image first becomes (fx ? w-1-x : x, fy ? h-1-y : y) and then, if the axes are
 * exchanged, its two coordinates change places.
 */
#include "orientation.h"

#include <string.h>

#include "error.h"

static const struct {
    const char *name;
    unsigned char flip_x, flip_y, swap;
} orientations[9] = {
    [TT_NONE] = {"none", 0, 0, 0},
    [TT_FLIPH] = {"fliph", 1, 0, 0},
    [TT_ROT180] = {"rot180", 1, 1, 0},
    [TT_FLIPV] = {"flipv", 0, 1, 0},
    [TT_TRANSPOSE] = {"transpose", 0, 0, 1},
    [TT_ROT90] = {"rot90", 0, 1, 1},
    [TT_TRANSVERSE] = {"transverse", 1, 1, 1},
    [TT_ROT270] = {"rot270", 1, 0, 1},
};

int tt_orientation_valid(TtOrientation o) {
    return o >= TT_NONE && o <= TT_ROT270;
}

int tt_flips_x(TtOrientation o) {
    return orientations[o].flip_x;
}

int tt_flips_y(TtOrientation o) {
    return orientations[o].flip_y;
}

int tt_swaps_axes(TtOrientation o) {
    return tt_orientation_valid(o) && orientations[o].swap;
}

static TtOrientation from_bits(int flip_x, int flip_y, int swap) {
    for (int o = TT_NONE; o <= TT_ROT270; o++)
        if (orientations[o].flip_x == flip_x && orientations[o].flip_y == flip_y &&
            orientations[o].swap == swap)
            return (TtOrientation)o;
    return TT_NONE;
}

TtOrientation tt_compose(TtOrientation first, TtOrientation then) {
    if (!tt_orientation_valid(first) || !tt_orientation_valid(then))
        return TT_NONE;
    /* Moving `then`'s flips in front of `first`'s exchange of axes exchanges them too. */
    int then_x = tt_swaps_axes(first) ? tt_flips_y(then) : tt_flips_x(then);
    int then_y = tt_swaps_axes(first) ? tt_flips_x(then) : tt_flips_y(then);
    return from_bits(tt_flips_x(first) ^ then_x, tt_flips_y(first) ^ then_y,
                     tt_swaps_axes(first) ^ tt_swaps_axes(then));
}

TtOrientation tt_invert(TtOrientation o) {
    return o == TT_ROT90 ? TT_ROT270 : o == TT_ROT270 ? TT_ROT90 : o;
}

TtStatus tt_orientation_parse(const char *name, TtOrientation *o) {
    if (!name || !o)
        return tt_fail(TT_ERROR_ARGUMENT, "no orientation given");
    for (int i = TT_NONE; i <= TT_ROT270; i++)
        if (!strcmp(name, orientations[i].name)) {
            *o = (TtOrientation)i;
            return TT_OK;
        }
    return tt_fail(
        TT_ERROR_ARGUMENT,
        "no orientation is named '%s': use none, fliph, rot180, flipv, transpose, rot90, transverse "
        "or rot270",
        name);
}

const char *tt_orientation_name(TtOrientation o) {
    return tt_orientation_valid(o) ? orientations[o].name : NULL;
}

TtRect tt_map_rect(TtOrientation o, size_t width, size_t height, TtRect r) {
    if (!tt_orientation_valid(o))
        return r;
    if (tt_flips_x(o))
        r.x = width - r.width - r.x;
    if (tt_flips_y(o))
        r.y = height - r.height - r.y;
    return tt_swaps_axes(o) ? (TtRect){r.y, r.x, r.height, r.width} : r;
}
