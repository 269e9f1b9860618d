/* SPDX-License-Identifier: MIT
 *
 * Pixels of any size: runs of units of 1, 2, 4, 8 or 16 bytes, whichever all addresses are multiples of.
 */
#ifndef TT_GENERAL_CUH
#define TT_GENERAL_CUH

#include "device.cuh"
#include "kernels.h"

template <int UNIT> struct Unit;
template <> struct Unit<1> { typedef Byte Type; };
template <> struct Unit<2> { typedef unsigned short Type; };
template <> struct Unit<4> { typedef Word Type; };
template <> struct Unit<8> { typedef uint2 Type; };
template <> struct Unit<16> { typedef uint4 Type; };

/* Small pixels: a padded tile in the order of the source, both sides of memory walked along their rows. */
template <int UNIT> TT_DEVICE void turn_units(const TtTask &t, uint32_t block, void *shared) {
    typedef typename Unit<UNIT>::Type Type;
    Type *const tile = (Type *)shared;
    const Place place = place_of(t, block);
    const int units = (int)t.units.divisor, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const int x0 = place.tx * (int)t.tile.width, y0 = place.ty * (int)t.tile.height;
    const int width = smaller((int)t.tile.width, (int)t.width - x0);
    const int height = smaller((int)t.tile.height, (int)t.height - y0);

    for (int x = threadIdx.x / WARP; x < width; x += warps) {
        const uint64_t row = row_at(t.src, place.src, x0 + x) + (uint64_t)((int64_t)y0 * units * UNIT);
        for (int u = lane; u < height * units; u += WARP) {
            TT_SHARED_ACCESS(tile + x * (int)t.tile.pitch + u, UNIT, "write");
            tile[x * (int)t.tile.pitch + u] = __ldg((const Type *)(row + (uint64_t)(u * UNIT)));
        }
    }
    __syncthreads();
    for (int y = threadIdx.x / WARP; y < height; y += warps) {
        const uint64_t row = row_at(t.dst, place.dst, y0 + y) + (uint64_t)((int64_t)x0 * units * UNIT);
        for (int u = lane; u < width * units; u += WARP) {
            const int x = (int)divide((uint32_t)u, t.units),
                      at = x * (int)t.tile.pitch + y * units + u - x * units;
            TT_SHARED_ACCESS(tile + at, UNIT, "read");
            *(Type *)(row + (uint64_t)(u * UNIT)) = tile[at];
        }
    }
}

/* Large pixels, and any that are read backward: each is a run of its own, found for every unit of the
 * destination. */
template <int UNIT> TT_DEVICE void gather_units(const TtTask &t, uint32_t block) {
    typedef typename Unit<UNIT>::Type Type;
    constexpr int UNITS = TT_GATHER_UNITS;
    const Place place = place_of(t, block);
    const int units = (int)t.units.divisor, y = place.ty;
    const uint64_t row = row_at(t.dst, place.dst, y);
#pragma unroll 4
    for (int n = 0; n < UNITS; n++) {
        const int u = (place.tx * UNITS + n) * (int)blockDim.x + (int)threadIdx.x;
        if (u >= (int)t.width * units)
            return;
        const int x = (int)divide((uint32_t)u, t.units), i = u - x * units;
        const uint64_t from = t.reverse
                                  ? row_at(t.src, place.src, y) +
                                        (uint64_t)(((int64_t)((int)t.width - 1 - x) * units + i) * UNIT)
                                  : row_at(t.src, place.src, x) + (uint64_t)(((int64_t)y * units + i) * UNIT);
        *(Type *)(row + (uint64_t)((int64_t)u * UNIT)) = __ldg((const Type *)from);
    }
}

#endif
