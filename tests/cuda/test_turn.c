/* SPDX-License-Identifier: MIT
 *
 * Pixels turned by the kernels, byte for byte against a naive loop.
 *
 *     test_turn [CASES [LARGEST]]
 *
 * Runs on a GPU, and with the shim's libcuda.so.1 without one. Every case draws from a fixed seed: pixels and
 * how they are cut into channels, sizes from 1 x 1 to some tiles with ragged edges, layouts, pitches, the
 * offset from an aligned address on each side, the orientation, the stream, and which call does it. The
 * destination is poisoned, and what lies between and around its rows has to stay as it was.
 */
#include <string.h>

#include "../eight.h"
#include "../pictures.h"
#include "../random.h"
#include "gpu.h"

enum { ROOM = 256, IMAGES = 5 };

typedef struct {
    TtImage src, dst; /* on the GPU */
    TtImage from, to; /* the same in host memory; `to` is what has to come out */
    uint64_t src_memory, dst_memory;
    uint8_t *src_bytes, *dst_bytes;
    size_t src_size, dst_size;
    int orientation;
} Picture;

static uint64_t random_state = 4;
static size_t largest = 160 * 1024;

static size_t below(size_t n) {
    return random_below(&random_state, n);
}

static const char *describe(const Picture *p) {
    static char text[400];
    snprintf(text, sizeof(text),
             "%s of %zux%zu, %u channels of %u bits, %s to %s, pitches %td %td, planes %td %td, at +%zu +%zu",
             eight_names[p->orientation], p->src.width, p->src.height, p->src.channels, p->src.sample_bits,
             p->src.layout == TT_PLANAR ? "planar" : "interleaved",
             p->dst.layout == TT_PLANAR ? "planar" : "interleaved", p->src.pitch, p->dst.pitch,
             p->src.plane_pitch, p->dst.plane_pitch, (size_t)((uintptr_t)p->src.data % 32),
             (size_t)((uintptr_t)p->dst.data % 32));
    return text;
}

/* Rows without gaps, or with gaps that keep them aligned: what most pictures have. picture_lay_out() has
 * drawn odd ones. */
static void lay_out_evenly(TtImage *p) {
    size_t row = picture_row_bytes(p), align = below(2) ? 1 : 32;
    ptrdiff_t pitch = (ptrdiff_t)((row + align - 1) / align * align);
    p->plane_pitch = pitch * (ptrdiff_t)p->height;
    p->pitch = pitch;
}

/* Host and GPU memory for a picture, which starts some bytes into it. */
static void place(TtImage *host, TtImage *device, uint8_t **bytes, size_t *size, uint64_t *memory) {
    static const size_t offsets[] = {0, 0, 0, 16, 4, 8, 2, 1};
    size_t ahead = below(2) ? offsets[below(8)] : below(32), held = picture_bytes(host);
    *size = ahead + held + (below(2) ? 0 : below(ROOM));
    *bytes = malloc(*size);
    GPU(cuMemAlloc(memory, *size));
    *device = *host;
    picture_place(host, *bytes + ahead);
    picture_place(device, (void *)(uintptr_t)(*memory + ahead));
}

static void draw_format(TtImage *p) {
    static const size_t pixels[] = {1, 1, 2, 2,  3,  3,  3,  4,  4,  6,  6,   8,   12,  16,
                                    5, 7, 9, 10, 18, 24, 32, 48, 64, 96, 128, 255, 1024};
    size_t bytes = pixels[below(sizeof(pixels) / sizeof(pixels[0]))];
    do
        p->channels = 1 + (uint32_t)below(bytes < 12 ? bytes : 12);
    while (bytes % p->channels);
    p->sample_bits = (uint32_t)(8 * bytes / p->channels);
}

static void draw_size(TtImage *p) {
    size_t pixel = (size_t)p->channels * p->sample_bits / 8, most = largest / pixel, kind = below(8);
    if (!most)
        most = 1;
    p->width = 1 + below(kind < 3 ? 40 : 700);
    p->height = 1 + below(kind < 3 ? 40 : 700);
    if (kind >= 6) { /* long and thin: a tile has whole rows, or whole columns */
        p->width = 1 + below(kind == 7 ? 4 : 400);
        p->height = 1 + below(most / p->width + 1);
    }
    if (p->width * p->height > most)
        p->height = most / p->width ? most / p->width : 1;
    if (p->width > most)
        p->width = most;
    if (below(2)) {
        size_t w = p->width;
        p->width = p->height;
        p->height = w;
    }
    if (!below(4)) /* sizes that make rows aligned */
        p->width = (p->width + 31) / 32 * 32, p->height = (p->height + 31) / 32 * 32;
}

static Picture make(const TtImage *shape, int o) {
    Picture p = {.from = *shape, .to = *shape, .orientation = o};
    if (eight_swaps(o)) {
        p.to.width = shape->height;
        p.to.height = shape->width;
    }
    p.from.layout = below(4) ? TT_INTERLEAVED : TT_PLANAR;
    p.to.layout = below(4) ? TT_INTERLEAVED : TT_PLANAR;
    picture_lay_out(&p.from, &random_state);
    picture_lay_out(&p.to, &random_state);
    if (below(2))
        lay_out_evenly(&p.from);
    if (below(2))
        lay_out_evenly(&p.to);
    place(&p.from, &p.src, &p.src_bytes, &p.src_size, &p.src_memory);
    place(&p.to, &p.dst, &p.dst_bytes, &p.dst_size, &p.dst_memory);
    random_fill(&random_state, p.src_bytes, p.src_size);
    memset(p.dst_bytes, (int)below(256), p.dst_size);
    GPU(cuMemcpyHtoD(p.src_memory, p.src_bytes, p.src_size));
    GPU(cuMemcpyHtoD(p.dst_memory, p.dst_bytes, p.dst_size));
    picture_turn(&p.from, &p.to, o);
    return p;
}

static Picture draw(void) {
    TtImage shape = tt_image(NULL, 0, 1, 1, 1, 8);
    draw_format(&shape);
    draw_size(&shape);
    return make(&shape, 1 + (int)below(8));
}

static void compare(Picture *p, const char *call) {
    uint8_t *got = malloc(p->dst_size);
    GPU(cuMemcpyDtoH(got, p->dst_memory, p->dst_size));
    size_t i = 0;
    while (i < p->dst_size && got[i] == p->dst_bytes[i])
        i++;
    EXPECT(i == p->dst_size, "%s: byte %td after the first pixel is %02x, not %02x: %s", call,
           p->dst_bytes + i - (uint8_t *)p->to.data, (unsigned)got[i % p->dst_size],
           (unsigned)p->dst_bytes[i % p->dst_size], describe(p));
    free(got);
}

static void drop(Picture *p) {
    GPU(cuMemFree(p->src_memory));
    GPU(cuMemFree(p->dst_memory));
    free(p->src_bytes);
    free(p->dst_bytes);
}

/* NULL, the default streams by handle, or one of its own. */
static void *draw_stream(void) {
    void *stream = NULL;
    size_t kind = below(4);
    if (kind == 3)
        GPU(cuStreamCreate(&stream, 1));
    else
        stream = (void *)(uintptr_t)kind;
    return stream;
}

static void finish(void *stream) {
    void *current = NULL;
    GPU(cuStreamSynchronize(stream));
    GPU(cuCtxGetCurrent(&current));
    EXPECT(current == gpu.context, "the current context has changed");
    if ((uintptr_t)stream > 2)
        GPU(cuStreamDestroy(stream));
}

/* ---- The calls --------------------------------------------------------------------------------------- */

static void test_single(void) {
    Picture p = draw();
    void *stream = draw_stream();
    TtStatus status = tt_orient_async(&p.src, &p.dst, (TtOrientation)p.orientation, stream, NULL);
    EXPECT(!status, "%s: %s", tt_last_error(), describe(&p));
    finish(stream);
    compare(&p, "tt_orient_async");
    drop(&p);
}

static void test_list(void) {
    Picture p[IMAGES];
    const TtImage *src[IMAGES], *dst[IMAGES];
    TtOrientation o[IMAGES];
    size_t n = 1 + below(IMAGES);
    for (size_t i = 0; i < n; i++) {
        p[i] = draw();
        src[i] = &p[i].src;
        dst[i] = &p[i].dst;
        o[i] = (TtOrientation)p[i].orientation;
    }
    void *stream = draw_stream();
    TtStatus status = tt_orient_list_async(src, dst, o, n, stream, NULL);
    EXPECT(!status, "%s", tt_last_error());
    finish(stream);
    for (size_t i = 0; i < n; i++) {
        compare(&p[i], "tt_orient_list_async");
        drop(&p[i]);
    }
}

/* n pictures in one buffer, made of the first by moving it on. */
static void test_strided(void) {
    Picture p = draw();
    size_t n = 1 + below(IMAGES);
    ptrdiff_t src_stride = (ptrdiff_t)(picture_bytes(&p.from) + below(40));
    ptrdiff_t dst_stride = (ptrdiff_t)(picture_bytes(&p.to) + below(40));
    if (below(2)) {
        src_stride = (src_stride + 31) / 32 * 32;
        dst_stride = (dst_stride + 31) / 32 * 32;
    }
    TtImage from = p.from, to = p.to;
    size_t src_size = (size_t)src_stride * n, dst_size = (size_t)dst_stride * n;
    uint8_t *src = malloc(src_size), *dst = malloc(dst_size), *got = malloc(dst_size);
    uint64_t src_memory, dst_memory;
    random_fill(&random_state, src, src_size);
    memset(dst, 0x5a, dst_size);
    GPU(cuMemAlloc(&src_memory, src_size));
    GPU(cuMemAlloc(&dst_memory, dst_size));
    GPU(cuMemcpyHtoD(src_memory, src, src_size));
    GPU(cuMemcpyHtoD(dst_memory, dst, dst_size));
    picture_place(&from, (void *)(uintptr_t)src_memory);
    picture_place(&to, (void *)(uintptr_t)dst_memory);
    void *stream = draw_stream();
    bool backward = below(2); /* the strides then go from the last to the first */
    TtImage a = from, b = to;
    if (backward) {
        a.data = (uint8_t *)a.data + src_stride * (ptrdiff_t)(n - 1);
        b.data = (uint8_t *)b.data + dst_stride * (ptrdiff_t)(n - 1);
    }
    TtStatus status = tt_orient_strided_async(&a, &b, n, backward ? -src_stride : src_stride,
                                              backward ? -dst_stride : dst_stride,
                                              (TtOrientation)p.orientation, stream, NULL);
    EXPECT(!status, "%s: %zu times %s", tt_last_error(), n, describe(&p));
    finish(stream);
    for (size_t i = 0; i < n; i++) {
        picture_place(&from, src + src_stride * (ptrdiff_t)i);
        picture_place(&to, dst + dst_stride * (ptrdiff_t)i);
        picture_turn(&from, &to, p.orientation);
    }
    GPU(cuMemcpyDtoH(got, dst_memory, dst_size));
    EXPECT(!memcmp(got, dst, dst_size), "tt_orient_strided_async: %zu times %s, strides %td %td", n,
           describe(&p), src_stride, dst_stride);
    GPU(cuMemFree(src_memory));
    GPU(cuMemFree(dst_memory));
    free(src);
    free(dst);
    free(got);
    drop(&p);
}

/* Pixels in host memory, by name. */
static void test_host(void) {
    Picture p = draw();
    bool pinned = below(2);
    uint8_t *got = gpu_host_memory(p.dst_size, pinned), *given = gpu_host_memory(p.src_size, pinned);
    memset(got, 0x77, p.dst_size);
    memcpy(given, p.src_bytes, p.src_size);
    TtImage from = p.from, to = p.to;
    from.data = given + ((uint8_t *)p.from.data - p.src_bytes);
    to.data = got + ((uint8_t *)p.to.data - p.dst_bytes);
    memset(p.dst_bytes, 0x77, p.dst_size);
    picture_turn(&p.from, &p.to, p.orientation);
    TtOptions options = {sizeof(options), "cuda", 0, 0};
    TtStatus status = tt_orient(&from, &to, (TtOrientation)p.orientation, &options);
    EXPECT(!status && !memcmp(got, p.dst_bytes, p.dst_size), "tt_orient: %s: %s", tt_last_error(),
           describe(&p));
    gpu_host_free(got, pinned);
    gpu_host_free(given, pinned);
    drop(&p);
}

/* An image whose rows start on lines of memory, in pinned memory. */
static TtImage on_lines(size_t width, size_t height, uint32_t channels, uint32_t bits, uint8_t **memory,
                        size_t *bytes) {
    size_t line = 128, pitch = (width * channels * bits / 8 + line - 1) / line * line + below(2) * line;
    *bytes = pitch * height + line;
    *memory = gpu_host_memory(*bytes, true);
    memset(*memory, 0x77, *bytes);
    uint8_t *first = *memory + (line - (uintptr_t)*memory % line) % line;
    return below(2)
               ? tt_image(first, (ptrdiff_t)pitch, width, height, channels, bits)
               : tt_image(first + pitch * (height - 1), -(ptrdiff_t)pitch, width, height, channels, bits);
}

/* Pixels in host memory that the GPU reads and writes itself. */
static void test_host_lines(uint32_t channels, uint32_t bits, int orientation, size_t width, size_t height) {
    size_t src_bytes, dst_bytes;
    uint8_t *src, *dst;
    TtImage from = on_lines(width, height, channels, bits, &src, &src_bytes),
            to = on_lines(height, width, channels, bits, &dst, &dst_bytes);
    random_fill(&random_state, src, src_bytes);
    TtImage truth = to;
    uint8_t *expected = malloc(dst_bytes);
    memcpy(expected, dst, dst_bytes);
    truth.data = expected + ((uint8_t *)to.data - dst);
    picture_turn(&from, &truth, orientation);
    TtOptions options = {sizeof(options), "cuda", 0, 0};
    TtStatus status = tt_orient(&from, &to, (TtOrientation)orientation, &options);
    EXPECT(!status && !memcmp(dst, expected, dst_bytes), "%zux%zu of %u times %u bits, orientation %d: %s",
           width, height, channels, bits, orientation, tt_last_error());
    free(expected);
    gpu_host_free(src, true);
    gpu_host_free(dst, true);
}

int main(int argc, char **argv) {
    size_t cases = argc > 1 ? strtoul(argv[1], NULL, 10) : 1500 / SLOWER;
    if (argc > 2)
        largest = strtoul(argv[2], NULL, 10);
    gpu_open();
    if (tt_backend_check("cuda")) {
        fprintf(stderr, "skipped: %s\n", tt_last_error());
        return EXIT_SKIP;
    }
    for (size_t i = 0; i < cases; i++) {
        size_t kind = below(8);
        kind < 5 ? test_single() : kind == 5 ? test_list() : kind == 6 ? test_strided() : test_host();
    }
    static const uint32_t formats[][2] = {{1, 8}, {1, 16}, {1, 32}, {3, 16}, {1, 64}, {3, 32}, {4, 32}};
    for (size_t i = 0; i < 7; i++)
        for (int o = TT_TRANSPOSE; o <= TT_ROT270; o++)
            for (int lone = 0; lone < 4; lone++) /* row, column, both */
                test_host_lines(formats[i][0], formats[i][1], o, lone & 1 ? 1 : 1 + below(300),
                                lone & 2 ? 1 : 1 + below(300));
    return expect_result();
}
