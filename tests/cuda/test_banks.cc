/* SPDX-License-Identifier: MIT
 *
 * Bank conflicts, computed: every access of the tuned kernels to shared memory, as the kernels' own code
 * makes it on the CPU, put through the rules of the hardware. No conflict at all is asked of 1, 2 and 4-byte
 * pixels; for the others the degree is printed.
 *
 * The rules: 32 banks, word a in bank a mod 32. Lanes that want the same word share it. An access of a warp
 * takes as many passes as the fullest bank holds different words; one of 8 bytes a lane is served by
 * half-warps, one of 16 by quarters. The degree is the passes taken over the passes of an access without
 * conflicts.
 */
#include "shim/shim.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

extern "C" {
#include "../../kernels/cuda/plan.h"
#include "../../kernels/orient.h"
#include "../expect.h"
}
#include "../../kernels/cuda/tile_layout.h"
#include "shim/kernels.h"

/* Passes over the fewest possible. */
static double degree_of(const std::vector<uint32_t> &offsets, unsigned bytes) {
    size_t lanes_a_part = bytes == 16 ? 8 : bytes == 8 ? 16 : 32, passes = 0, parts = 0;
    for (size_t first = 0; first < offsets.size(); first += lanes_a_part, parts++) {
        std::set<uint32_t> words[32];
        size_t most = 0;
        for (size_t lane = first; lane < std::min(first + lanes_a_part, offsets.size()); lane++)
            for (uint32_t word = offsets[lane] / 4; word <= (offsets[lane] + bytes - 1) / 4; word++) {
                words[word % 32].insert(word);
                most = std::max(most, words[word % 32].size());
            }
        passes += most;
    }
    return (double)passes / (double)parts;
}

/* ---- The textbook ------------------------------------------------------------------------------------ */

/* A warp down a column of a tile of elements, rows `pitch` elements apart. */
static double column(unsigned bytes, unsigned pitch) {
    std::vector<uint32_t> offsets;
    for (unsigned lane = 0; lane < 32; lane++)
        offsets.push_back(lane * pitch * bytes);
    return degree_of(offsets, bytes);
}

static void expect_column(unsigned bytes, unsigned pitch, double want) {
    EXPECT(column(bytes, pitch) == want,
           "a column of %u-byte elements at a pitch of %u has degree %g, not %g", bytes, pitch,
           column(bytes, pitch), want);
}

static void test_textbook() {
    expect_column(4, 32, 32); /* float tile[32][32] */
    expect_column(4, 33, 1);  /* float tile[32][33] */
    expect_column(4, 34, 2);  /* padded by two: even pitches share a factor with 32 */
    expect_column(4, 36, 4);
    expect_column(8, 32, 16); /* double: 16 lanes at once, all in one pair of banks */
    expect_column(8, 33, 1);
    expect_column(16, 32, 8);
    expect_column(16, 33, 1);
    expect_column(2, 32, 16); /* short: 16 words from row to row, so only two banks */
    expect_column(2, 34, 1);
    expect_column(1, 32, 8);
    expect_column(1, 33, 1); /* every fourth row moves on by a word */
    expect_column(1, 36, 1); /* padded by a word */
    std::vector<uint32_t> same(32, 128), row;
    EXPECT(degree_of(same, 4) == 1, "a broadcast has degree %g", degree_of(same, 4));
    for (uint32_t lane = 0; lane < 32; lane++)
        row.push_back(16 * lane);
    EXPECT(degree_of(row, 16) == 1, "16 bytes a lane side by side have degree %g", degree_of(row, 16));
}

/* The pitch is what the comment in tile_layout.h says it is. */
static void test_padding() {
    for (unsigned access = 1; access <= 4; access *= 2)
        for (unsigned words = 1; words < 500; words++) {
            unsigned pitch = tt_padded_pitch(words, access);
            EXPECT(pitch >= words && pitch < words + 2 * access && pitch % access == 0 &&
                       pitch / access % 2 == 1,
                   "%u words in accesses of %u get a pitch of %u", words, access, pitch);
        }
}

/* ---- The kernels ------------------------------------------------------------------------------------- */

struct Seen {
    double worst = 0, sum = 0;
    size_t accesses = 0;
};
static std::map<std::string, Seen> seen; /* by what the access is for */

/* One warp: the n-th access of a kind that its lanes make is one instruction, if every lane that makes any
 * makes as many. Else the warp is at an edge, where some lanes have less to do. */
static void watch_warp(const ShimAccess *const *accesses, const size_t *counts) {
    std::map<std::string, std::vector<std::vector<ShimAccess>>> kinds;
    for (unsigned lane = 0; lane < 32; lane++) {
        std::map<std::string, std::vector<ShimAccess>> own;
        for (size_t i = 0; i < counts[lane]; i++)
            own[accesses[lane][i].what].push_back(accesses[lane][i]);
        for (const auto &kind : own)
            kinds[kind.first].push_back(kind.second);
    }
    for (const auto &kind : kinds) {
        const auto &lanes = kind.second;
        size_t n = lanes[0].size();
        if (lanes.size() < 8 ||
            std::any_of(lanes.begin(), lanes.end(), [=](const auto &l) { return l.size() != n; }))
            continue;
        Seen &s = seen[kind.first];
        for (size_t i = 0; i < n; i++) {
            std::vector<uint32_t> offsets;
            for (const auto &lane : lanes)
                offsets.push_back(lane[i].offset);
            double degree = degree_of(offsets, lanes[0][i].bytes);
            s.worst = std::max(s.worst, degree);
            s.sum += degree;
            s.accesses++;
        }
    }
}

static void watch(unsigned, unsigned threads, const ShimAccess *const *accesses, const size_t *counts) {
    for (unsigned first = 0; first < threads; first += 32)
        watch_warp(accesses + first, counts + first);
}

static std::string kernel_name;

static TtStatus run(void *, const TtCudaLaunch *launch) {
    const TtCudaKernel *kernel = &tt_cuda_kernels[launch->kernel];
    static TtTaskList list;
    list.count = 1;
    list.first[0] = 0;
    list.tasks[0] = launch->task;
    kernel_name = kernel->name;
    shim_launch(shim_kernel(kernel->name).run,
                kernel->list ? (const void *)&list : (const void *)&launch->task, launch->blocks,
                kernel->threads, launch->shared_bytes);
    return TT_OK;
}

/* Turns a picture of some tiles and says what it saw. */
static void test_pixel(uint32_t bytes, size_t width, size_t height, size_t gap, bool in_list,
                       double most = 1) {
    size_t pitch = width * bytes + gap, to_pitch = height * bytes + gap;
    uint8_t *from = (uint8_t *)aligned_alloc(64, (pitch * height + 127) / 64 * 64);
    uint8_t *to = (uint8_t *)aligned_alloc(64, (to_pitch * width + 127) / 64 * 64);
    memset(from, 1, pitch * height);
    TtImage src = tt_image(from, (ptrdiff_t)pitch, width, height, 1, 8 * bytes);
    TtImage dst = tt_image(to, (ptrdiff_t)to_pitch, height, width, 1, 8 * bytes);
    TtMove move = tt_move_of(&src, &dst, TT_TRANSPOSE);
    TtCudaBatch batch = {1, 0, 0};
    seen.clear();
    shim_watch = watch;
    EXPECT(!tt_cuda_plan(&move, batch, in_list, 227 * 1024, run, NULL), "%s", tt_last_error());
    shim_watch = NULL;
    bool free_of_conflicts = bytes == 1 || bytes == 2 || bytes == 4;
    EXPECT(seen.size() >= 2, "%s: only %zu kinds of access", kernel_name.c_str(), seen.size());
    for (const auto &s : seen) {
        printf("%-36s pitches %5zu %5zu  %-10s degree %.2f, at most %.2f\n", kernel_name.c_str(), pitch,
               to_pitch, s.first.c_str(), s.second.sum / (double)s.second.accesses, s.second.worst);
        EXPECT(s.second.accesses > 50, "%s %s: %zu accesses", kernel_name.c_str(), s.first.c_str(),
               s.second.accesses);
        if (free_of_conflicts)
            EXPECT(s.second.worst <= most, "%s: %s has conflicts of degree %g", kernel_name.c_str(),
                   s.first.c_str(), s.second.worst);
    }
    free(from);
    free(to);
}

int main() {
    test_textbook();
    test_padding();
    const uint32_t pixels[] = {1, 2, 4, 8, 16, 3, 6, 12};
    for (uint32_t bytes : pixels) {
        size_t side = bytes < 3 ? 1024 : bytes < 8 ? 512 : 256;
        test_pixel(bytes, side, side, 0, false);
        test_pixel(bytes, side, side, 0, true);
        for (size_t odd = 1; odd < 8; odd += 2) /* pitches of every remainder that odd sizes make */
            test_pixel(bytes, side + odd, side + 8 - odd, 0, false);
        test_pixel(bytes, side + 2, side + 1, 0, false);
        test_pixel(bytes, side + 1, side + 1, 1, true);
        /* Rows so short that they are written as one run: a warp's words are of two or three rows of the
         * tile, which may meet in a bank. Written by themselves, such rows meet in none, and take longer. */
        test_pixel(bytes, 4099, 65, 0, false, 3);
    }
    return expect_result();
}
