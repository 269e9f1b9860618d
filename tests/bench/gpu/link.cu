/* SPDX-License-Identifier: MIT
 *
 * Pixels in host memory through the GPU, against the link: what goes up and comes down, each by itself and
 * both at once, in the same run. GB/s of one direction; `of_link` is the share of what copies reach.
 */
#include <cuda_runtime.h>
#include <tiletranspose/tt_frame.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "check.h"

static const size_t side = 16384, pixel = 4, bytes = side * side * pixel;

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double median(const std::function<void()> &work, int runs = 7) {
    std::vector<double> times;
    for (int i = -1; i < runs; i++) {
        double from = now();
        work();
        if (i >= 0)
            times.push_back(now() - from);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static double report(const char *what, double seconds, double link, size_t moved = bytes) {
    double rate = 1e-9 * (double)moved / seconds;
    printf("{\"what\":\"%s\",\"gb_per_s\":%.1f,\"of_link\":%.3f}\n", what, rate,
           link > 0 ? rate / link : 1.0);
    fflush(stdout);
    return rate;
}

static void check(TtStatus status) {
    if (status) {
        fprintf(stderr, "%s\n", tt_last_error());
        exit(1);
    }
}

/* Whether b is a turned by 90 degrees. */
static void verify(const uint8_t *a, const uint8_t *b, size_t width, size_t height, size_t size,
                   const char *what) {
    for (size_t i = 0; i < width * height; i += 4099) {
        size_t x = i % width, y = i / width;
        if (memcmp(a + i * size, b + (x * height + height - 1 - y) * size, size)) {
            fprintf(stderr, "%s: wrong at %zu, %zu\n", what, x, y);
            exit(1);
        }
    }
}

/* Pixels of so many bytes; `odd` rows start anywhere. */
static void turn(const char *what, uint8_t *from, uint8_t *to, const char *backend, double link,
                 size_t size = pixel, bool odd = false) {
    size_t width = 1;
    while (width * width * size < bytes / 2)
        width *= 2;
    size_t height = bytes / (width * size) / 128 * 128;
    width -= odd, height -= odd;
    bool words = size % 4 == 0;
    uint32_t samples = words ? (uint32_t)size / 4 : (uint32_t)size, bits = words ? 32 : 8;
    TtImage src = tt_image(from, (ptrdiff_t)(width * size), width, height, samples, bits);
    TtImage dst = tt_image(to, (ptrdiff_t)(height * size), height, width, samples, bits);
    TtOptions options = {sizeof(options), backend, 0, 0};
    char name[100];
    snprintf(name, sizeof(name), "%s, %zu bytes a pixel, %zu x %zu", what, size, width, height);
    memset(to, 0xa5, bytes);
    report(name, median([&] { check(tt_orient(&src, &dst, TT_ROT90, &options)); }), link,
           width * height * size);
    verify(from, to, width, height, size, name);
}

/* Bands of 256 rows in order, then rows in order: each phase by itself. */
static void frame(const char *up, const char *down, uint8_t *from, uint8_t *to, double up_link,
                  double down_link) {
    const size_t band = 256;
    TtImage shape = tt_image(NULL, 0, side, side, 1, 8 * pixel);
    TtFrameOptions options = {};
    options.struct_size = sizeof(options);
    options.backend = "cuda";
    std::vector<double> ups, downs;
    memset(to, 0xa5, bytes);
    for (int run = -1; run < 5; run++) {
        TtFrame *f;
        check(tt_frame_new(&shape, TT_ROT90, &options, &f));
        double start = now();
        for (size_t y = 0; y < side; y += band) {
            TtImage rows =
                tt_image(from + y * side * pixel, (ptrdiff_t)(side * pixel), side, band, 1, 8 * pixel);
            check(tt_frame_put(f, &rows, 0, y));
        }
        double middle = now();
        for (size_t y = 0; y < side; y += band) {
            TtImage rows =
                tt_image(to + y * side * pixel, (ptrdiff_t)(side * pixel), side, band, 1, 8 * pixel);
            check(tt_frame_read(f, TtRect{0, y, side, band}, &rows));
        }
        if (run >= 0) {
            ups.push_back(middle - start);
            downs.push_back(now() - middle);
        }
        tt_frame_free(f);
    }
    verify(from, to, side, side, pixel, up);
    std::sort(ups.begin(), ups.end());
    std::sort(downs.begin(), downs.end());
    report(up, ups[ups.size() / 2], up_link);
    report(down, downs[downs.size() / 2], down_link);
}

int main() {
    uint8_t *pinned[2], *plain[2], *gpu[2];
    cudaStream_t streams[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaHostAlloc(&pinned[i], bytes, 0));
        CHECK(cudaMalloc(&gpu[i], bytes));
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        plain[i] = (uint8_t *)malloc(bytes);
    }
    for (size_t i = 0; i < side * side; i++)
        ((uint32_t *)pinned[0])[i] = ((uint32_t *)plain[0])[i] = (uint32_t)i * 2654435761u;
    auto up = [&] { CHECK(cudaMemcpyAsync(gpu[0], pinned[0], bytes, cudaMemcpyHostToDevice, streams[0])); };
    auto down = [&] { CHECK(cudaMemcpyAsync(pinned[1], gpu[1], bytes, cudaMemcpyDeviceToHost, streams[1])); };
    auto wait = [&] { CHECK(cudaDeviceSynchronize()); };
    check(tt_device_prepare(0));

    double one_up = report("copy up", median([&] { up(), wait(); }), 0);
    double one_down = report("copy down", median([&] { down(), wait(); }), 0);
    double both = report("copies both ways", median([&] { up(), down(), wait(); }), 0);
    for (size_t size : {1, 2, 3, 4, 6, 8, 12, 16})
        for (bool odd : {false, true})
            turn("turn, pinned to pinned", pinned[0], pinned[1], "cuda", both, size, odd);
    turn("turn, plain to plain", plain[0], plain[1], "cuda", both);
    turn("turn, plain to plain, by the processor", plain[0], plain[1], "cpu", both);
    frame("frame, pinned bands up", "frame, rows down to pinned", pinned[0], pinned[1], one_up, one_down);
    frame("frame, plain bands up", "frame, rows down to plain", plain[0], plain[1], one_up, one_down);

    /* Many pictures leave the card as it was. */
    size_t before, after, total;
    CHECK(cudaMemGetInfo(&before, &total));
    for (int i = 0; i < 50; i++) {
        TtImage src = tt_image(plain[0], 4000, 1000, 1000, 1, 32),
                dst = tt_image(plain[1], 4000, 1000, 1000, 1, 32);
        TtOptions options = {sizeof(options), "cuda", 0, 0};
        check(tt_orient(&src, &dst, TT_ROT90, &options));
        TtFrame *f;
        TtFrameOptions fo = {};
        fo.struct_size = sizeof(fo);
        fo.backend = "cuda";
        check(tt_frame_new(&src, TT_ROT90, &fo, &f));
        check(tt_frame_put(f, &src, 0, 0));
        check(tt_frame_read(f, TtRect{0, 0, 1000, 1000}, &dst));
        tt_frame_free(f);
    }
    CHECK(cudaMemGetInfo(&after, &total));
    printf("{\"what\":\"device memory after 50 pictures\",\"bytes_more\":%lld}\n",
           (long long)before - (long long)after);
    return 0;
}
