/* SPDX-License-Identifier: MIT
 *
 * Pixels in GPU memory: the library beside what a user would pick instead, against the speed of the card's
 * own copy.
 *
 *     bench [--check] [--quick] [--case WORD]
 *
 * One line of JSON a measurement. `of_copy` is the time that the better of cudaMemcpyAsync and a kernel that
 * copies 16 bytes a thread takes for as many bytes in the same run, divided by this time; `gb_per_s` counts
 * bytes read plus bytes written. Times are medians; what is compared runs in turns. --check also compares
 * every result, byte for byte on the GPU, with one pixel a thread moved by hand-written formulas, over a
 * poisoned destination.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <tiletranspose/tt.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check.h"

#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef WITH_NPP
#include <npp.h>
#endif

static uint8_t *src, *dst;
static size_t capacity = (size_t)5 << 29;
static cudaStream_t stream;
static bool checking, quick;
static const char *wanted;
static int failures;

/* ---- Time -------------------------------------------------------------------------------------------- */

typedef std::function<void()> Work;

/* Medians of several things, run in turns so that what disturbs one disturbs all. */
static std::vector<float> medians(const std::vector<Work> &works, int runs) {
    static cudaEvent_t from, to;
    if (!from) {
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
    }
    std::vector<std::vector<float>> times(works.size());
    for (int run = -2; run < runs; run++)
        for (size_t i = 0; i < works.size(); i++) {
            float ms;
            CHECK(cudaEventRecord(from, stream));
            works[i]();
            CHECK(cudaEventRecord(to, stream));
            CHECK(cudaEventSynchronize(to));
            CHECK(cudaEventElapsedTime(&ms, from, to));
            if (run >= 0)
                times[i].push_back(ms);
        }
    CHECK(cudaGetLastError());
    std::vector<float> result;
    for (auto &t : times) {
        std::sort(t.begin(), t.end());
        result.push_back(t[t.size() / 2]);
    }
    return result;
}

/* ---- The ceiling, the textbook, the truth -------------------------------------------------------------- */

__global__ void copy16(const uint4 *in, uint4 *out, size_t n) {
    size_t i = (size_t)blockIdx.x * 1024 + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (i + j * 256 < n)
            v[j] = __ldg(in + i + j * 256);
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (i + j * 256 < n)
            out[i + j * 256] = v[j];
}

static Work copy_kernel(size_t bytes) {
    return [=] {
        copy16<<<(unsigned)((bytes / 16 + 1023) / 1024), 256, 0, stream>>>((uint4 *)src, (uint4 *)dst,
                                                                           bytes / 16);
    };
}

static Work copy_engine(size_t bytes) {
    return [=] { CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream)); };
}

template <class T> __global__ void textbook(const T *in, T *out, int w, int h) {
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < w && y + j < h)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < h && y + j < w)
            out[(size_t)(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

struct Pixel3 {
    uint8_t c[3];
};
struct Pixel6 {
    uint16_t c[3];
};
struct Pixel12 {
    float c[3];
};

__global__ void fill_random(uint32_t *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)(i >> 32) * 40503u;
        x ^= x >> 15;
        x *= 2246822519u;
        x ^= x >> 13;
        p[i] = x;
    }
}

struct View {
    uint8_t *data;
    int64_t pitch, plane, step;
};

__global__ void compare(View from, View to, size_t w, size_t h, int channels, int bytes, int o,
                        unsigned long long *bad) {
    size_t n = w * h; /* of the source */
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        size_t x = i % w, y = i / w, X = x, Y = y;
        switch (o) {
        case 2:
            X = w - 1 - x;
            break;
        case 3:
            X = w - 1 - x, Y = h - 1 - y;
            break;
        case 4:
            Y = h - 1 - y;
            break;
        case 5:
            X = y, Y = x;
            break;
        case 6:
            X = h - 1 - y, Y = x;
            break;
        case 7:
            X = h - 1 - y, Y = w - 1 - x;
            break;
        case 8:
            X = y, Y = w - 1 - x;
            break;
        }
        for (int c = 0; c < channels; c++)
            for (int b = 0; b < bytes; b++)
                if (from.data[y * from.pitch + x * from.step + c * from.plane + b] !=
                    to.data[Y * to.pitch + X * to.step + c * to.plane + b])
                    atomicAdd(bad, 1ull);
    }
}

/* ---- Cases ------------------------------------------------------------------------------------------- */

static TtImage image_of(uint8_t *data, size_t w, size_t h, uint32_t channels, uint32_t bytes, bool planar) {
    TtImage image =
        tt_image(data, (ptrdiff_t)(w * bytes * (planar ? 1 : channels)), w, h, channels, 8 * bytes);
    if (planar) {
        image.layout = TT_PLANAR;
        image.plane_pitch = (ptrdiff_t)(w * h * bytes);
    }
    return image;
}

static View view_of(const TtImage &image) {
    int64_t sample = image.sample_bits / 8;
    bool planar = image.layout == TT_PLANAR;
    return View{(uint8_t *)image.data, image.pitch, planar ? image.plane_pitch : sample,
                planar ? sample : sample * image.channels};
}

static void report(const char *name, const char *what, size_t w, size_t h, int o, float ms, size_t bytes,
                   float copy_ms) {
    printf("{\"case\":\"%s\",\"what\":\"%s\",\"width\":%zu,\"height\":%zu,\"orientation\":\"%s\",\"ms\":%.5f,"
           "\"gb_per_s\":%.0f,\"of_copy\":%.4f}\n",
           name, what, w, h, tt_orientation_name((TtOrientation)o), ms, 2e-6 * (double)bytes / ms,
           copy_ms / ms);
    fflush(stdout);
}

static void turned(const TtImage &from, const TtImage &to, int o) {
    if (tt_orient_async(&from, &to, (TtOrientation)o, stream, NULL)) {
        fprintf(stderr, "%s\n", tt_last_error());
        exit(1);
    }
}

static void verify(const char *name, const TtImage &from, const TtImage &to, int o) {
    static unsigned long long *bad;
    unsigned long long n;
    if (!bad)
        CHECK(cudaMalloc(&bad, 8));
    CHECK(cudaMemsetAsync(bad, 0, 8, stream));
    CHECK(cudaMemsetAsync(dst, 0xa5, capacity, stream));
    turned(from, to, o);
    compare<<<2048, 256, 0, stream>>>(view_of(from), view_of(to), from.width, from.height, (int)from.channels,
                                      (int)from.sample_bits / 8, o, bad);
    CHECK(cudaMemcpyAsync(&n, bad, 8, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (n) {
        failures++;
        printf("{\"case\":\"%s\",\"width\":%zu,\"height\":%zu,\"orientation\":\"%s\",\"wrong_bytes\":%llu}\n",
               name, from.width, from.height, tt_orientation_name((TtOrientation)o), n);
    }
}

typedef std::pair<const char *, Work> Peer;

static void measure(const char *name, size_t w, size_t h, uint32_t channels, uint32_t bytes, bool from_planes,
                    bool to_planes, std::vector<int> orientations, std::vector<Peer> peers = {}) {
    if (wanted && !strstr(name, wanted))
        return;
    size_t size = w * h * channels * bytes;
    std::vector<Work> works = {copy_engine(size), copy_kernel(size)};
    TtImage from = image_of(src, w, h, channels, bytes, from_planes);
    std::vector<TtImage> to;
    for (int o : orientations) {
        bool swaps = tt_swaps_axes((TtOrientation)o);
        to.push_back(image_of(dst, swaps ? h : w, swaps ? w : h, channels, bytes, to_planes));
    }
    for (size_t i = 0; i < orientations.size(); i++) {
        if (checking)
            verify(name, from, to[i], orientations[i]);
        works.push_back([&, i] { turned(from, to[i], orientations[i]); });
    }
    for (auto &p : peers)
        works.push_back(p.second);
    std::vector<float> ms = medians(works, quick ? 5 : size > (64 << 20) ? 15 : 60);
    float copy = std::min(ms[0], ms[1]);
    report(name, "cudaMemcpyAsync", w, h, 1, ms[0], size, copy);
    report(name, "copy kernel", w, h, 1, ms[1], size, copy);
    for (size_t i = 0; i < orientations.size(); i++)
        report(name, "tiletranspose", w, h, orientations[i], ms[2 + i], size, copy);
    for (size_t i = 0; i < peers.size(); i++)
        report(name, peers[i].first, w, h, 5, ms[2 + orientations.size() + i], size, copy);
}

template <class T> static Peer textbook_peer(size_t w, size_t h) {
    return {"textbook tile", [=] {
                textbook<T>
                    <<<dim3((unsigned)((w + 31) / 32), (unsigned)((h + 31) / 32)), dim3(32, 8), 0, stream>>>(
                        (const T *)src, (T *)dst, (int)w, (int)h);
            }};
}

#ifdef WITH_CUBLAS
static cublasHandle_t blas;
static std::vector<Peer> geam_peer(size_t w, size_t h, int bytes) {
    static const float one = 1, zero = 0;
    static const double one_d = 1, zero_d = 0;
    static const cuDoubleComplex one_z = {1, 0}, zero_z = {0, 0};
    int m = (int)h, n = (int)w;
    if (bytes == 4)
        return {{"cuBLAS geam", [=] {
                     cublasSgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, (float *)src, n, &zero,
                                 (float *)dst, m, (float *)dst, m);
                 }}};
    if (bytes == 8)
        return {{"cuBLAS geam", [=] {
                     cublasDgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one_d, (double *)src, n, &zero_d,
                                 (double *)dst, m, (double *)dst, m);
                 }}};
    if (bytes == 16)
        return {{"cuBLAS geam", [=] {
                     cublasZgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one_z, (cuDoubleComplex *)src, n,
                                 &zero_z, (cuDoubleComplex *)dst, m, (cuDoubleComplex *)dst, m);
                 }}};
    return {};
}
#else
static std::vector<Peer> geam_peer(size_t, size_t, int) {
    return {};
}
#endif

#ifdef WITH_NPP
static NppStreamContext npp;
static void npp_open() {
    cudaDeviceProp p;
    CHECK(cudaGetDevice(&npp.nCudaDeviceId));
    CHECK(cudaGetDeviceProperties(&p, npp.nCudaDeviceId));
    npp.hStream = stream;
    npp.nMultiProcessorCount = p.multiProcessorCount;
    npp.nMaxThreadsPerMultiProcessor = p.maxThreadsPerMultiProcessor;
    npp.nMaxThreadsPerBlock = p.maxThreadsPerBlock;
    npp.nSharedMemPerBlock = p.sharedMemPerBlock;
    npp.nCudaDevAttrComputeCapabilityMajor = p.major;
    npp.nCudaDevAttrComputeCapabilityMinor = p.minor;
}
static std::vector<Peer> npp_peer(size_t w, size_t h, const char *name) {
    NppiSize roi = {(int)w, (int)h};
    int sw = (int)w, sh = (int)h;
#define NPP(word, type, suffix, bytes)                                                                       \
    if (!strcmp(name, word))                                                                                 \
        return {{"NPP", [=] {                                                                                \
                     nppiTranspose_##suffix##_Ctx((const type *)src, sw *bytes, (type *)dst, sh *bytes, roi, \
                                                  npp);                                                      \
                 }}};
    NPP("u8", Npp8u, 8u_C1R, 1)
    NPP("rgb8", Npp8u, 8u_C3R, 3)
    NPP("u16", Npp16u, 16u_C1R, 2)
    NPP("rgb16", Npp16u, 16u_C3R, 6)
    NPP("f32", Npp32f, 32f_C1R, 4)
    NPP("rgbf32", Npp32f, 32f_C3R, 12)
    NPP("rgbaf32", Npp32f, 32f_C4R, 16)
    return {};
}
#else
static std::vector<Peer> npp_peer(size_t, size_t, const char *) {
    return {};
}
#endif

struct Format {
    const char *name;
    uint32_t channels, bytes;
    size_t side; /* about 1.7 GB */
};
static const Format formats[] = {{"u8", 1, 1, 40960},     {"u16", 1, 2, 28672},    {"rgb8", 3, 1, 24576},
                                 {"f32", 1, 4, 20992},    {"rgb16", 3, 2, 16896},  {"f64", 1, 8, 14848},
                                 {"rgbf32", 3, 4, 12288}, {"rgbaf32", 4, 4, 10240}};

static std::vector<Peer> peers_of(const Format &f, size_t w, size_t h) {
    std::vector<Peer> peers;
    switch (f.channels * f.bytes) {
    case 1:
        peers.push_back(textbook_peer<uint8_t>(w, h));
        break;
    case 2:
        peers.push_back(textbook_peer<uint16_t>(w, h));
        break;
    case 3:
        peers.push_back(textbook_peer<Pixel3>(w, h));
        break;
    case 4:
        peers.push_back(textbook_peer<float>(w, h));
        break;
    case 6:
        peers.push_back(textbook_peer<Pixel6>(w, h));
        break;
    case 8:
        peers.push_back(textbook_peer<double>(w, h));
        break;
    case 12:
        peers.push_back(textbook_peer<Pixel12>(w, h));
        break;
    default:
        peers.push_back(textbook_peer<float4>(w, h));
    }
    for (auto &p : geam_peer(w, h, f.channels == 3 ? 0 : (int)(f.channels * f.bytes)))
        peers.push_back(p);
    for (auto &p : npp_peer(w, h, f.name))
        peers.push_back(p);
    return peers;
}

static void large() {
    for (const Format &f : formats)
        for (int odd = 0; odd < 2; odd++) {
            size_t w = f.side + odd, h = f.side + 3 * odd;
            std::string name = std::string(f.name) + (odd ? " odd" : " aligned");
            std::vector<int> all = {5, 6, 7, 8, 1, 2, 3, 4};
            measure(name.c_str(), w, h, f.channels, f.bytes, false, false, all, peers_of(f, w, h));
        }
    for (int odd = 0; odd < 2; odd++) {
        size_t w = 24576 + odd, h = 24576 + 3 * odd;
        measure(odd ? "rgb8 to planes odd" : "rgb8 to planes aligned", w, h, 3, 1, false, true, {1, 2, 5, 6});
        measure(odd ? "rgb8 from planes odd" : "rgb8 from planes aligned", w, h, 3, 1, true, false,
                {1, 2, 5, 6});
        w = 16896 + odd, h = 16896 + 3 * odd;
        measure(odd ? "rgb16 to planes odd" : "rgb16 to planes aligned", w, h, 3, 2, false, true, {1, 5});
        measure(odd ? "rgb16 from planes odd" : "rgb16 from planes aligned", w, h, 3, 2, true, false, {1, 5});
    }
}

/* The short side of 64, of 65 and of 200, either way; also an even pitch beside powers of two. */
static void shapes() {
    for (const Format &f : formats) {
        if (f.bytes == 2 || f.channels == 4)
            continue;
        size_t pixel = f.channels * f.bytes, pixels = ((size_t)512 << 20) / pixel;
        for (size_t side : {(size_t)64, (size_t)65, (size_t)200, (size_t)1000}) {
            std::string name = std::string(f.name) + " short side " + std::to_string(side);
            measure(name.c_str(), side, pixels / side, f.channels, f.bytes, false, false, {6, 1, 2, 3});
            measure(name.c_str(), pixels / side, side, f.channels, f.bytes, false, false, {6, 1, 2, 3});
        }
        size_t side = 1;
        while (4 * side * side <= pixels)
            side *= 2;
        std::string name = std::string(f.name) + " power of two";
        measure(name.c_str(), side, pixels / side, f.channels, f.bytes, false, false, {6, 2});
    }
}

/* ---- Small ------------------------------------------------------------------------------------------- */

/* Work captured 50 times in a graph, each on another part of a buffer beyond the L2 cache: GPU time of one.
 */
static float in_graph(const std::function<void(int)> &work) {
    const int n = 50;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < n; i++)
        work(i);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    float ms = medians({[&] { CHECK(cudaGraphLaunch(exec, stream)); }}, 21)[0] / n;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return ms;
}

static float in_stream(const std::function<void(int)> &work) {
    const int n = 50;
    return medians({[&] {
                       for (int i = 0; i < n; i++)
                           work(i);
                   }},
                   21)[0] /
           n;
}

static void small() {
    if (wanted && !strstr("small", wanted))
        return;
    size_t side = 1000, size = side * side * 4;
    auto turn = [&](int i) {
        turned(image_of(src + i * size, side, side, 4, 1, false),
               image_of(dst + i * size, side, side, 4, 1, false), 6);
    };
    auto copy = [&](int i) {
        copy16<<<(unsigned)((size / 16 + 1023) / 1024), 256, 0, stream>>>(
            (uint4 *)(src + i * size), (uint4 *)(dst + i * size), size / 16);
    };
    for (int graph = 0; graph < 2; graph++) {
        float c = graph ? in_graph(copy) : in_stream(copy), t = graph ? in_graph(turn) : in_stream(turn);
        report(graph ? "1 megapixel rgba8, graph" : "1 megapixel rgba8, stream", "copy kernel", side, side, 1,
               c, size, c);
        report(graph ? "1 megapixel rgba8, graph" : "1 megapixel rgba8, stream", "tiletranspose", side, side,
               6, t, size, c);
    }
    for (uint32_t pixel : {1u, 3u, 4u}) {
        size_t one = 256 * 256 * pixel, all = 1000 * one;
        TtImage from = image_of(src, 256, 256, 1, pixel, false),
                to = image_of(dst, 256, 256, 1, pixel, false);
        auto strided = [&] {
            if (tt_orient_strided_async(&from, &to, 1000, (ptrdiff_t)one, (ptrdiff_t)one, TT_ROT90, stream,
                                        NULL))
                exit(1);
        };
        std::vector<TtImage> images;
        std::vector<const TtImage *> froms, tos;
        std::vector<TtOrientation> os(1000, TT_ROT90);
        for (int i = 0; i < 1000; i++) {
            images.push_back(image_of(src + i * one, 256, 256, 1, pixel, false));
            images.push_back(image_of(dst + i * one, 256, 256, 1, pixel, false));
        }
        for (int i = 0; i < 1000; i++)
            froms.push_back(&images[2 * i]), tos.push_back(&images[2 * i + 1]);
        auto list = [&] {
            if (tt_orient_list_async(froms.data(), tos.data(), os.data(), 1000, stream, NULL))
                exit(1);
        };
        auto ms = medians({copy_engine(all), copy_kernel(all), strided, list}, 21);
        float c = std::min(ms[0], ms[1]);
        std::string name = "1000 of 256x256, " + std::to_string(pixel) + " bytes";
        report(name.c_str(), "copy", 256, 256, 1, c, all, c);
        report(name.c_str(), "tiletranspose strided", 256, 256, 6, ms[2], all, c);
        report(name.c_str(), "tiletranspose list", 256, 256, 6, ms[3], all, c);
    }
}

/* Past 2^31 and 2^32 bytes, and sides past every grid limit; checked, not timed. */
static void huge() {
    if (!checking || (wanted && !strstr("huge", wanted)))
        return;
    struct {
        size_t w, h, pixel;
    } sizes[] = {{65537, 65539, 1}, {46341, 46341, 1}, {26756, 26757, 3}, {16001, 9001, 16}, {8193, 5465, 48},
                 {4, 16776961, 1},  {16776961, 4, 1},  {4, 16776961, 3},  {16776961, 4, 16}, {3, 16776961, 4},
                 {1, 600000001, 1}, {600000001, 1, 2}, {1, 600000001, 1}};
    for (auto &s : sizes)
        for (int o = 1; o <= 8; o++) {
            bool swaps = tt_swaps_axes((TtOrientation)o);
            if (s.w * s.h * s.pixel > capacity)
                continue;
            verify("huge", image_of(src, s.w, s.h, 1, (uint32_t)s.pixel, false),
                   image_of(dst, swaps ? s.h : s.w, swaps ? s.w : s.h, 1, (uint32_t)s.pixel, false), o);
        }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--check"))
            checking = true;
        else if (!strcmp(argv[i], "--quick"))
            quick = true;
        else if (!strcmp(argv[i], "--case") && i + 1 < argc)
            wanted = argv[++i];
        else {
            fprintf(stderr, "usage: bench [--check] [--quick] [--case WORD]\n");
            return 2;
        }
    size_t available, total;
    CHECK(cudaMemGetInfo(&available, &total));
    if (checking && available > ((size_t)10 << 30))
        capacity = (size_t)9 << 29; /* past 2^32 */
    CHECK(cudaMalloc(&src, capacity));
    CHECK(cudaMalloc(&dst, capacity));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    fill_random<<<2048, 256, 0, stream>>>((uint32_t *)src, capacity / 4);
    CHECK(cudaStreamSynchronize(stream));
#ifdef WITH_CUBLAS
    cublasCreate(&blas);
    cublasSetStream(blas, stream);
#endif
#ifdef WITH_NPP
    npp_open();
#endif
    char about[256];
    if (tt_device_prepare(0) || tt_device_describe(0, about, sizeof(about))) {
        fprintf(stderr, "%s\n", tt_last_error());
        return 1;
    }
    printf("{\"about\":\"%s\",\"library\":\"%s\"}\n", about, tt_version());
    large();
    shapes();
    small();
    huge();
    if (failures)
        fprintf(stderr, "%d results were wrong\n", failures);
    return failures ? 1 : 0;
}
