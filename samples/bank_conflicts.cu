/* SPDX-License-Identifier: MIT
 *
 * The shared-memory transpose, made honest: what does padding a tile buy, for which pixels, and how would
 * one know?
 *
 *     nvcc -O3 bank_conflicts.cu -o bank_conflicts         any card from Turing on (-arch=native if you like)
 *     ./bank_conflicts [width height repeat]               default 4096 4096 10
 *
 * Transposing makes either the reads or the writes of global memory jump by a whole row. So everyone lets a
 * block of threads carry a 32x32 tile through shared memory, where jumping costs nothing... unless all the
 * words that a warp asks for lie in one bank. Then they are handed out one after another. The well-known
 * cure is a column that nobody uses, tile[32][33], and its effect is shown in three steps:
 *
 *   1. The two kernels everyone knows, 32x32 and 32x33 floats: time, bandwidth, PASS or FAIL.
 *   2. The ladder, for 1-, 2-, 3-, 4- and 8-byte pixels: naive both ways, no padding, padded by one pixel, by
 *      two, by what the banks ask for, in dynamic shared memory with a tile size chosen at run time, and the
 *      ceiling, which is the card's own copy.
 *   3. Shared memory alone. A transpose that waits for global memory hides its conflicts, which is how
 *      "padding by two is as good as by one" gets into print. With nothing else to wait for, the degree of a
 *      conflict is simply the time.
 *
 * Beside each measurement stands the degree predicted for it: the accesses of the very same tile, played
 * through the rules of the hardware on the CPU. Without a GPU the predictions alone are printed.
 *
 * How it is measured: random bits; destinations filled beforehand with a byte that the data does not contain;
 * every byte of every result compared with the CPU's; as many images in turn as it takes to leave the L2
 * cache; a launch on each of them to warm up; then `repeat` samples between events, each of enough launches
 * to last a millisecond (at most 100), and their median. GB/s count bytes read plus bytes written, 1 GB = 1e9
 * bytes.
 *
 * Exit status: 0 all PASS (or no GPU, and nothing was run), 1 a FAIL or an error of CUDA, 2 bad arguments.
 */
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) check_cuda((call), __FILE__, __LINE__)

static void check_cuda(cudaError_t error, const char *file, int line) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bank_conflicts: %s (%s:%d)\n", cudaGetErrorString(error), file, line);
    exit(1);
}

/* ---- The pixels ------------------------------------------------------------------------------------ */

typedef unsigned char uchar;
typedef unsigned short ushort;
struct rgb {
    uchar c[3];
};

/* What one shared-memory instruction moves of a pixel. A 3-byte pixel cannot be moved at once: it is three
 * bytes, each with an instruction of its own. */
template <class T> struct Pixel {
    typedef T Part;
    static const int parts = 1;
};
template <> struct Pixel<rgb> {
    typedef uchar Part;
    static const int parts = 3;
};

/* ---- The banks, on the CPU ------------------------------------------------------------------------- */

const int WARP = 32;
const int BANKS = 32;
const int WORD = 4;                 /* bytes: word w lies in bank w mod 32 */
const int TILE = 32;                /* edge of a static tile, in pixels */
const int ROWS = 8;                 /* a block has 32 x 8 threads, here as everywhere, so that each ... */
const int PER_THREAD = TILE / ROWS; /* ... moves four pixels */
const int MAX_EDGE = 128;           /* of a dynamic tile, whose block has 32 x edge / 4 threads */
const int MAX_THREADS = WARP * MAX_EDGE / PER_THREAD;

/* A request is served in phases: a whole warp together up to 4 bytes a lane, half warps for 8 bytes, quarters
 * for 16, so that a phase asks for 128 bytes at most. */
static int phase_lanes(int bytes) {
    return bytes <= WORD ? WARP : WARP * WORD / bytes;
}

static int phases(int bytes) {
    return WARP / phase_lanes(bytes);
}

/* The conflict degree of one request: the most *different* words that a phase wants from one bank. Lanes that
 * want the same word share it (broadcast). 1 is the best there is. */
static int conflict_degree(const int address[WARP], int bytes) {
    int worst = 0;
    for (int first = 0; first < WARP; first += phase_lanes(bytes)) {
        int wanted[BANKS][WARP], count[BANKS] = {0};
        for (int lane = first; lane < first + phase_lanes(bytes); lane++)
            for (int byte = 0; byte < bytes; byte += WORD) {
                int word = (address[lane] + byte) / WORD, bank = word % BANKS;
                int *end = wanted[bank] + count[bank];
                if (std::find(wanted[bank], end, word) == end)
                    wanted[bank][count[bank]++] = word;
                worst = std::max(worst, count[bank]);
            }
    }
    return worst;
}

/* Where a pixel lies in a tile. The kernels and the prediction share this line. */
__host__ __device__ constexpr int tile_offset(int row, int column, int pitch, int pixel) {
    return row * pitch + column * pixel;
}

/* The bytes from one row of a tile to the next, such that reading down a column meets no bank twice.
 *
 * Let the pitch be P words. Lane i reads from bank i*P mod 32. These are 32 / gcd(P, 32) different banks, so
 * the degree is gcd(P, 32): 32 for the 32 words of an unpadded float tile, 2 for 34, and 1 for every odd P.
 * Pixels smaller than a word follow the same rule, once P is a whole number: 32 bytes are 8 words (8-way), 33
 * bytes still put two lanes into one bank in most columns, 36 bytes are 9 words and right.
 * An 8-byte access is served by half warps and takes a pair of neighbouring banks: lane i of 16 has pair
 * i*P/2 mod 16, so now the pitch in units of 8 bytes must be odd. 16-byte ones: quarters, units of 16 bytes.
 * Hence: count in units of one access, at least a word, and take the first odd number that holds the row. */
__host__ __device__ constexpr int padded_pitch(int access, int row_bytes) {
    int unit = access > WORD ? access : WORD;
    return ((row_bytes + unit - 1) / unit | 1) * unit;
}

struct Degrees {
    int store, load; /* rows into the tile, columns out of it; 0: no shared memory */
};

/* The worst degree over all the requests with which a block fills a tile by rows and empties it by columns.
 */
static Degrees predict_tile(int access, int parts, int edge, int pitch) {
    Degrees worst = {0, 0};
    for (int line = 0; line < edge; line++)
        for (int first = 0; first < edge; first += WARP)
            for (int part = 0; part < parts; part++) {
                int row[WARP], column[WARP];
                for (int lane = 0; lane < WARP; lane++) {
                    row[lane] = tile_offset(line, first + lane, pitch, access * parts) + part * access;
                    column[lane] = tile_offset(first + lane, line, pitch, access * parts) + part * access;
                }
                worst.store = std::max(worst.store, conflict_degree(row, access));
                worst.load = std::max(worst.load, conflict_degree(column, access));
            }
    return worst;
}

static int predict_stride(int bytes, int stride) {
    int address[WARP];
    for (int lane = 0; lane < WARP; lane++)
        address[lane] = lane * stride * bytes;
    return conflict_degree(address, bytes);
}

/* ---- The transpose, on the CPU --------------------------------------------------------------------- */

template <class T> static void transpose_cpu(const T *in, T *out, size_t width, size_t height) {
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            out[x * height + y] = in[y * width + x];
}

/* ---- Kernels --------------------------------------------------------------------------------------- */

/* The source corner of this block's tile. The grid is one-dimensional, since the other two dimensions end at
 * 65,535 blocks, and walks along the source rows as a two-dimensional one would. */
__device__ int2 tile_corner(int width, int edge) {
    int tiles_across = (width + edge - 1) / edge;
    return make_int2(blockIdx.x % tiles_across * edge, blockIdx.x / tiles_across * edge);
}

/* The two kernels everyone knows. Without padding, 32 lanes read one column of 32-word rows, all of it in a
 * single bank. One more column moves each row on by a bank. Nothing else is different. */
template <int PADDING> __global__ void transpose_classic(const float *in, float *out, int width, int height) {
    __shared__ float tile[32][32 + PADDING];
    int2 corner = tile_corner(width, 32);

    int x = corner.x + threadIdx.x, y = corner.y + threadIdx.y;
    for (int j = 0; j < 32; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * width + x];
    __syncthreads();

    x = corner.y + threadIdx.x, y = corner.x + threadIdx.y;
    for (int j = 0; j < 32; j += ROWS)
        if (x < height && y + j < width)
            out[(size_t)(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

/* No tile. Lanes lie along a source row, and each writes into a row of its own. */
template <class T>
__global__ void transpose_naive_reads(const T *__restrict__ in, T *__restrict__ out, int width, int height) {
    int2 corner = tile_corner(width, TILE);
    int x = corner.x + threadIdx.x, y = corner.y + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            out[(size_t)x * height + y + j] = in[(size_t)(y + j) * width + x];
}

/* No tile. Lanes lie along a destination row, and each reads from a row of its own. */
template <class T>
__global__ void transpose_naive_writes(const T *__restrict__ in, T *__restrict__ out, int width, int height) {
    int2 corner = tile_corner(width, TILE);
    int x = corner.x + threadIdx.y, y = corner.y + threadIdx.x;
    for (int j = 0; j < TILE; j += ROWS)
        if (x + j < width && y < height)
            out[(size_t)(x + j) * height + y] = in[(size_t)y * width + x + j];
}

/* The tile once more, for any pixel and any pitch. */
template <class T, int PITCH>
__global__ void transpose_tile(const T *__restrict__ in, T *__restrict__ out, int width, int height) {
    __shared__ __align__(16) uchar tile[TILE * PITCH];
    int2 corner = tile_corner(width, TILE);

    int x = corner.x + threadIdx.x, y = corner.y + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            *(T *)(tile + tile_offset(threadIdx.y + j, threadIdx.x, PITCH, sizeof(T))) =
                in[(size_t)(y + j) * width + x];
    __syncthreads();

    x = corner.y + threadIdx.x, y = corner.x + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(size_t)(y + j) * height + x] =
                *(const T *)(tile + tile_offset(threadIdx.x, threadIdx.y + j, PITCH, sizeof(T)));
}

/* Takes `bytes` from the front of a run of bytes that starts at a multiple of 16. Returns their offset. The
 * host calls this to learn how much there is to carve, the kernel to carve it. */
__host__ __device__ inline int carve(int *used, int bytes, int alignment) {
    int offset = (*used + alignment - 1) / alignment * alignment;
    *used = offset + bytes;
    return offset;
}

/* A tile in dynamic shared memory, of an edge (a multiple of 32) that is known at run time only. There is one
 * such array in a program, whatever the type that a kernel keeps in it: so it is bytes, and is carved up with
 * the alignment said out loud. Each part of a pixel gets a tile of its own, padded for that part. The block
 * has edge / 4 warps, so that each thread still has four pixels of a column on their way at once. Tiles can
 * also be walked along the destination rows, where neighbours complete each other's half-written sectors. */
template <class Part, int PARTS>
__global__ void __launch_bounds__(MAX_THREADS)
    transpose_dynamic(const Part *__restrict__ in, Part *__restrict__ out, int width, int height, int edge,
                      int pitch, bool along_destination) {
    extern __shared__ __align__(16) uchar shared_bytes[];
    uchar *tile[PARTS];
    int used = 0;
    for (int p = 0; p < PARTS; p++)
        tile[p] = shared_bytes + carve(&used, edge * pitch, alignof(Part));

    int2 corner;
    if (along_destination) {
        int2 turned = tile_corner(height, edge);
        corner = make_int2(turned.y, turned.x);
    } else {
        corner = tile_corner(width, edge);
    }

    Part held[PER_THREAD][PARTS];
#pragma unroll 1
    for (int column = threadIdx.x; column < edge; column += WARP) {
        int x = corner.x + column;
        for (int k = 0; k < PER_THREAD; k++) {
            int y = corner.y + threadIdx.y + k * blockDim.y;
            if (x < width && y < height)
                for (int p = 0; p < PARTS; p++)
                    held[k][p] = in[((size_t)y * width + x) * PARTS + p];
        }
        for (int k = 0; k < PER_THREAD; k++)
            for (int p = 0; p < PARTS; p++) {
                int row = threadIdx.y + k * blockDim.y;
                *(Part *)(tile[p] + tile_offset(row, column, pitch, sizeof(Part))) = held[k][p];
            }
    }
    __syncthreads();

#pragma unroll 1
    for (int row = threadIdx.x; row < edge; row += WARP) {
        int y = corner.y + row;
        for (int k = 0; k < PER_THREAD; k++)
            for (int p = 0; p < PARTS; p++) {
                int column = threadIdx.y + k * blockDim.y;
                held[k][p] = *(const Part *)(tile[p] + tile_offset(row, column, pitch, sizeof(Part)));
            }
        for (int k = 0; k < PER_THREAD; k++) {
            int x = corner.x + threadIdx.y + k * blockDim.y;
            if (x < width && y < height)
                for (int p = 0; p < PARTS; p++)
                    out[((size_t)x * height + y) * PARTS + p] = held[k][p];
        }
    }
}

/* The ceiling: 16 bytes at a time, four in flight per thread, and the last few bytes one by one. */
const int COPY_THREADS = 256, COPY_VECTORS = 4;

__global__ void copy_16(const uchar *__restrict__ in, uchar *__restrict__ out, size_t bytes) {
    size_t first = (size_t)blockIdx.x * COPY_THREADS * COPY_VECTORS + threadIdx.x, vectors = bytes / 16;
    uint4 held[COPY_VECTORS];
    for (int k = 0; k < COPY_VECTORS; k++)
        if (first + k * COPY_THREADS < vectors)
            held[k] = ((const uint4 *)in)[first + k * COPY_THREADS];
    for (int k = 0; k < COPY_VECTORS; k++)
        if (first + k * COPY_THREADS < vectors)
            ((uint4 *)out)[first + k * COPY_THREADS] = held[k];
    size_t rest = vectors * 16 + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < bytes)
        out[rest] = in[rest];
}

/* One request to shared memory, that neither compiler may merge with its neighbours or leave out. The words
 * are added up so that the result can be checked. */
template <int BYTES> __device__ unsigned read_shared(unsigned address);
template <> __device__ unsigned read_shared<4>(unsigned address) {
    unsigned a;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(address));
    return a;
}
template <> __device__ unsigned read_shared<8>(unsigned address) {
    unsigned a, b;
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(address));
    return a + b;
}
template <> __device__ unsigned read_shared<16>(unsigned address) {
    unsigned a, b, c, d;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(address));
    return a + b + c + d;
}

/* Shared memory alone: 32 warps a block, one block a multiprocessor, and nothing but requests in which lane i
 * reads element i * stride + j. None waits for another, so what is measured is how fast they are served. */
const int SHARED_THREADS = 1024, SHARED_READS = 16, SHARED_ROUNDS = 256, MAX_STRIDE = 34;
const int SHARED_WORDS = ((WARP - 1) * MAX_STRIDE + SHARED_READS) * 16 / WORD;

template <int BYTES>
__global__ void read_strided(const unsigned *data, int stride, unsigned *sums, long long *cycles) {
    __shared__ __align__(16) unsigned words[SHARED_WORDS];
    for (int i = threadIdx.x; i < SHARED_WORDS; i += SHARED_THREADS)
        words[i] = data[i];
    __syncthreads();

    unsigned address = (unsigned)__cvta_generic_to_shared(words) + threadIdx.x % WARP * stride * BYTES;
    unsigned sum = 0;
    long long start = clock64();
    for (int round = 0; round < SHARED_ROUNDS; round++)
#pragma unroll
        for (int j = 0; j < SHARED_READS; j++)
            sum += read_shared<BYTES>(address + j * BYTES);
    __syncthreads();
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = clock64() - start;
    sums[blockIdx.x * SHARED_THREADS + threadIdx.x] = sum;
}

/* ---- Launchers ------------------------------------------------------------------------------------- */

struct Image {
    const void *in;
    void *out;
    int width, height; /* of the source */
    size_t bytes;
};

struct Rung {
    const char *name;
    void (*launch)(const Image &image, const Rung &rung);
    Degrees predicted;
    int edge, pitch, shared_bytes; /* of the tile; shared_bytes: dynamic ones */
    bool along_destination;
    bool transposes; /* else it copies */
};

const dim3 BLOCK(WARP, ROWS);

static unsigned tile_count(const Image &image, int edge) {
    return (unsigned)((image.width + edge - 1) / edge) * (unsigned)((image.height + edge - 1) / edge);
}

template <int PADDING> static void launch_classic(const Image &i, const Rung &) {
    transpose_classic<PADDING>
        <<<tile_count(i, 32), BLOCK>>>((const float *)i.in, (float *)i.out, i.width, i.height);
    CHECK(cudaGetLastError());
}

template <class T> static void launch_naive_reads(const Image &i, const Rung &) {
    transpose_naive_reads<T><<<tile_count(i, TILE), BLOCK>>>((const T *)i.in, (T *)i.out, i.width, i.height);
    CHECK(cudaGetLastError());
}

template <class T> static void launch_naive_writes(const Image &i, const Rung &) {
    transpose_naive_writes<T><<<tile_count(i, TILE), BLOCK>>>((const T *)i.in, (T *)i.out, i.width, i.height);
    CHECK(cudaGetLastError());
}

template <class T, int PITCH> static void launch_tile(const Image &i, const Rung &) {
    transpose_tile<T, PITCH><<<tile_count(i, TILE), BLOCK>>>((const T *)i.in, (T *)i.out, i.width, i.height);
    CHECK(cudaGetLastError());
}

template <class T> static void launch_dynamic(const Image &i, const Rung &r) {
    typedef typename Pixel<T>::Part Part;
    auto kernel = transpose_dynamic<Part, Pixel<T>::parts>;
    /* More than 48 KiB must be asked for. */
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, r.shared_bytes));
    dim3 block(WARP, r.edge / PER_THREAD);
    kernel<<<tile_count(i, r.edge), block, r.shared_bytes>>>((const Part *)i.in, (Part *)i.out, i.width,
                                                             i.height, r.edge, r.pitch, r.along_destination);
    CHECK(cudaGetLastError());
}

static void launch_copy_16(const Image &i, const Rung &) {
    size_t block_bytes = (size_t)COPY_THREADS * COPY_VECTORS * 16;
    unsigned blocks = (unsigned)((i.bytes + block_bytes - 1) / block_bytes);
    copy_16<<<blocks, COPY_THREADS>>>((const uchar *)i.in, (uchar *)i.out, i.bytes);
    CHECK(cudaGetLastError());
}

static void launch_memcpy(const Image &i, const Rung &) {
    CHECK(cudaMemcpyAsync(i.out, i.in, i.bytes, cudaMemcpyDeviceToDevice));
}

/* ---- The rungs ------------------------------------------------------------------------------------- */

static std::vector<Rung> classic_rungs() {
    return {{"32x32 tile", launch_classic<0>, predict_tile(4, 1, 32, 32 * 4), 32, 32 * 4, 0, false, true},
            {"32x33 tile", launch_classic<1>, predict_tile(4, 1, 32, 33 * 4), 32, 33 * 4, 0, false, true}};
}

template <class T, int PITCH> static Rung tile_rung(const char *name) {
    Degrees predicted = predict_tile(sizeof(typename Pixel<T>::Part), Pixel<T>::parts, TILE, PITCH);
    return {name, launch_tile<T, PITCH>, predicted, TILE, PITCH, 0, false, true};
}

template <class T> static Rung dynamic_rung(const char *name, int edge, bool along_destination) {
    typedef typename Pixel<T>::Part Part;
    int pitch = padded_pitch(sizeof(Part), edge * sizeof(Part)), used = 0;
    for (int p = 0; p < Pixel<T>::parts; p++)
        carve(&used, edge * pitch, alignof(Part));
    Degrees predicted = predict_tile(sizeof(Part), 1, edge, pitch);
    return {name, launch_dynamic<T>, predicted, edge, pitch, used, along_destination, true};
}

template <class T> static std::vector<Rung> ladder_rungs() {
    const int size = sizeof(T), access = sizeof(typename Pixel<T>::Part);
    return {{"naive, coalesced reads", launch_naive_reads<T>, {0, 0}, 0, 0, 0, false, true},
            {"naive, coalesced writes", launch_naive_writes<T>, {0, 0}, 0, 0, 0, false, true},
            tile_rung<T, TILE * size>("tile 32, no padding"),
            tile_rung<T, (TILE + 1) * size>("tile 32, padded by one pixel"),
            tile_rung<T, (TILE + 2) * size>("tile 32, padded by two pixels"),
            tile_rung<T, padded_pitch(access, TILE * size)>("tile 32, padded for the banks"),
            dynamic_rung<T>("dynamic, tile 32", 32, false),
            dynamic_rung<T>("dynamic, tile 64", 64, false),
            dynamic_rung<T>("dynamic, tile 128", 128, false),
            dynamic_rung<T>("dynamic, tile 64, along out rows", 64, true),
            {"copy, 16 bytes a thread", launch_copy_16, {0, 0}, 0, 0, 0, false, false},
            {"copy, cudaMemcpyAsync", launch_memcpy, {0, 0}, 0, 0, 0, false, false}};
}

/* ---- The bench ------------------------------------------------------------------------------------- */

enum Verdict { NOT_RUN, TOO_LARGE, PASS, FAIL };
static const char *const VERDICTS[] = {"not run", "too large", "PASS", "FAIL"};

struct Result {
    Verdict verdict;
    double ms, gb_per_s;
};

/* A set of images that are used in turn. Between them lie bytes that nobody may touch. */
struct Rotation {
    size_t bytes, spacing, count;
};

const int POISON = 0xA5; /* never in the data */
const size_t GUARD = 256, MAX_IMAGES = 1024, STAGING = 32 << 20;

struct Bench {
    int width, height, repeat;
    bool gpu; /* the rest is empty without */
    int multiprocessors, shared_limit;
    size_t l2;
    uchar *source, *expected, *staging; /* host */
    uchar *in, *out;                    /* device */
    cudaEvent_t start, stop;
    int failures;
};

static void *need_host(void *memory, size_t bytes) {
    if (memory)
        return memory;
    fprintf(stderr, "bank_conflicts: no %.1f GB of host memory for the reference; take a smaller image\n",
            bytes / 1e9);
    exit(2);
}

/* Images in turn until reads and writes together are four times the L2 cache. */
static Rotation rotation(const Bench &b, size_t pixel) {
    Rotation r;
    r.bytes = (size_t)b.width * b.height * pixel;
    r.spacing = (r.bytes + GUARD - 1) / GUARD * GUARD + GUARD;
    r.count = std::min((4 * b.l2 + 2 * r.bytes - 1) / (2 * r.bytes), MAX_IMAGES);
    r.count = std::max(r.count, (size_t)1);
    return r;
}

static Image image(const Bench &b, const Rotation &r, size_t k) {
    size_t offset = k % r.count * r.spacing;
    return {b.in + offset, b.out + offset, b.width, b.height, r.bytes};
}

static void fill_random(uchar *data, size_t bytes) {
    uint64_t state = 0x9E3779B97F4A7C15;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 4 == 0) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        data[i] = (uchar)(state >> (16 + i % 4 * 8));
        if (data[i] == POISON)
            data[i] = (uchar)~POISON;
    }
}

/* What the destinations must hold afterwards, guards included. */
template <class T> static void expect(Bench *b, const Rotation &r, bool transposed) {
    memset(b->expected, POISON, r.count * r.spacing);
    for (size_t k = 0; k < r.count; k++)
        if (transposed)
            transpose_cpu((const T *)(b->source + k * r.spacing), (T *)(b->expected + k * r.spacing),
                          (size_t)b->width, (size_t)b->height);
        else
            memcpy(b->expected + k * r.spacing, b->source + k * r.spacing, r.bytes);
}

static Verdict compare(const Bench &b, const Rotation &r) {
    for (size_t done = 0, part; done < r.count * r.spacing; done += part) {
        part = std::min(STAGING, r.count * r.spacing - done);
        CHECK(cudaMemcpy(b.staging, b.out + done, part, cudaMemcpyDeviceToHost));
        if (memcmp(b.staging, b.expected + done, part)) {
            size_t at =
                std::mismatch(b.staging, b.staging + part, b.expected + done).first - b.staging + done;
            fprintf(stderr, "bank_conflicts: wrong from byte %zu of image %zu on\n", at % r.spacing,
                    at / r.spacing);
            return FAIL;
        }
    }
    return PASS;
}

template <class Work> static double time_ms(const Bench &b, int launches, Work work) {
    float ms;
    CHECK(cudaEventRecord(b.start));
    for (int k = 0; k < launches; k++)
        work();
    CHECK(cudaEventRecord(b.stop));
    CHECK(cudaEventSynchronize(b.stop));
    CHECK(cudaEventElapsedTime(&ms, b.start, b.stop));
    return ms / launches;
}

/* The median of `repeat` samples, each of as many launches as fill a millisecond. */
template <class Work> static double median_ms(const Bench &b, Work work) {
    int launches = (int)std::min(1 + 1 / std::max(time_ms(b, 1, work), 1e-3), 100.0);
    std::vector<double> samples;
    for (int k = 0; k < b.repeat; k++)
        samples.push_back(time_ms(b, launches, work));
    std::sort(samples.begin(), samples.end());
    return (samples[(b.repeat - 1) / 2] + samples[b.repeat / 2]) / 2;
}

static Result run(Bench *b, const Rotation &r, const Rung &rung) {
    if (!b->gpu)
        return {NOT_RUN, 0, 0};
    if (rung.shared_bytes > b->shared_limit)
        return {TOO_LARGE, 0, 0};
    CHECK(cudaMemset(b->out, POISON, r.count * r.spacing));
    for (size_t k = 0; k < r.count; k++)
        rung.launch(image(*b, r, k), rung);

    size_t turn = 0;
    Result result;
    result.ms = median_ms(*b, [&] { rung.launch(image(*b, r, turn++), rung); });
    result.gb_per_s = 2.0 * r.bytes / result.ms / 1e6;
    result.verdict = compare(*b, r);
    b->failures += result.verdict == FAIL;
    return result;
}

/* ---- 1. The two kernels everyone knows ------------------------------------------------------------- */

static void print_number(const char *format, Verdict v, double number) {
    char text[32] = "-";
    if (v == PASS || v == FAIL)
        snprintf(text, sizeof text, format, number);
    printf(" %9s", text);
}

static void print_degree(int degree) {
    char text[16] = "-";
    if (degree)
        snprintf(text, sizeof text, "%d-way", degree);
    printf(" %7s", text);
}

static void classic(Bench *b) {
    Rotation r = rotation(*b, sizeof(float));
    std::vector<Rung> rungs = classic_rungs();
    std::vector<Result> results;
    if (b->gpu)
        expect<float>(b, r, true);
    for (const Rung &rung : rungs)
        results.push_back(run(b, r, rung));

    printf("\n1. The two kernels everyone knows: transpose %d x %d floats\n", b->width, b->height);
    printf("\n  Time                           ms  speed-up   store    load (predicted conflicts)\n");
    for (size_t k = 0; k < rungs.size(); k++) {
        printf("    %-18s", rungs[k].name);
        print_number("%.4f", results[k].verdict, results[k].ms);
        print_number("%.2fx", results[k].verdict, results[0].ms / results[k].ms);
        print_degree(rungs[k].predicted.store);
        print_degree(rungs[k].predicted.load);
        printf("\n");
    }
    printf("\n  Effective bandwidth          GB/s\n");
    for (size_t k = 0; k < rungs.size(); k++) {
        printf("    %-18s", rungs[k].name);
        print_number("%.1f", results[k].verdict, results[k].gb_per_s);
        printf("\n");
    }
    printf("\n  Compared with the CPU\n");
    for (size_t k = 0; k < rungs.size(); k++)
        printf("    %-18s %9s\n", rungs[k].name, VERDICTS[results[k].verdict]);
}

/* ---- 2. The ladder --------------------------------------------------------------------------------- */

template <class T> static void ladder(Bench *b, const char *type) {
    Rotation r = rotation(*b, sizeof(T));
    std::vector<Rung> rungs = ladder_rungs<T>();
    std::vector<Result> results(rungs.size());
    double ceiling = 0;
    for (int transposes = 0; transposes <= 1; transposes++) {
        if (b->gpu)
            expect<T>(b, r, transposes);
        for (size_t k = 0; k < rungs.size(); k++)
            if (rungs[k].transposes == transposes) {
                results[k] = run(b, r, rungs[k]);
                if (!transposes)
                    ceiling = std::max(ceiling, results[k].gb_per_s);
            }
    }

    printf("\n  %s, %d byte%s a pixel", type, (int)sizeof(T), sizeof(T) > 1 ? "s" : "");
    if (b->gpu)
        printf("; %zu image%s in turn, %.0f MiB read and written%s", r.count, r.count > 1 ? "s" : "",
               2.0 * r.count * r.bytes / (1 << 20),
               2 * r.count * r.bytes < 4 * b->l2 ? " (in the L2 cache)" : "");
    printf("\n    %-33s %5s %7s %7s %9s %9s %9s  %s\n", "", "pitch", "store", "load", "ms", "GB/s", "of copy",
           "result");
    for (size_t k = 0; k < rungs.size(); k++) {
        printf("    %-33s", rungs[k].name);
        if (rungs[k].pitch)
            printf(" %5d", rungs[k].pitch);
        else
            printf(" %5s", "-");
        print_degree(rungs[k].predicted.store);
        print_degree(rungs[k].predicted.load);
        print_number("%.4f", results[k].verdict, results[k].ms);
        print_number("%.1f", results[k].verdict, results[k].gb_per_s);
        print_number("%.3f", results[k].verdict, results[k].gb_per_s / ceiling);
        printf("  %s\n", VERDICTS[results[k].verdict]);
    }
}

static void ladders(Bench *b) {
    printf("\n2. The ladder: transpose %d x %d pixels\n", b->width, b->height);
    printf("   pitch: bytes from one row of the tile to the next; store, load: predicted conflicts\n");
    ladder<uchar>(b, "uchar");
    ladder<ushort>(b, "ushort");
    ladder<rgb>(b, "rgb");
    ladder<float>(b, "float");
    ladder<double>(b, "double");
}

/* ---- 3. Shared memory alone ------------------------------------------------------------------------ */

struct SharedResult {
    Verdict verdict;
    double ms, cycles; /* cycles: for one request, when a multiprocessor is asked by 32 warps at once */
};

template <int BYTES> static SharedResult run_shared(Bench *b, int stride) {
    if (!b->gpu)
        return {NOT_RUN, 0, 0};
    int threads = b->multiprocessors * SHARED_THREADS;
    std::vector<unsigned> sums(threads);
    std::vector<long long> cycles(b->multiprocessors);
    unsigned *device_sums;
    long long *device_cycles;
    CHECK(cudaMalloc(&device_sums, threads * sizeof(unsigned)));
    CHECK(cudaMalloc(&device_cycles, cycles.size() * sizeof(long long)));
    CHECK(cudaMemset(device_sums, POISON, threads * sizeof(unsigned)));

    SharedResult result = {PASS, 0, 0};
    result.ms = median_ms(*b, [&] {
        read_strided<BYTES><<<b->multiprocessors, SHARED_THREADS>>>((const unsigned *)b->in, stride,
                                                                    device_sums, device_cycles);
        CHECK(cudaGetLastError());
    });
    CHECK(cudaMemcpy(sums.data(), device_sums, threads * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(
        cudaMemcpy(cycles.data(), device_cycles, cycles.size() * sizeof(long long), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_sums));
    CHECK(cudaFree(device_cycles));

    std::nth_element(cycles.begin(), cycles.begin() + cycles.size() / 2, cycles.end());
    result.cycles =
        (double)cycles[cycles.size() / 2] / (SHARED_THREADS / WARP * SHARED_READS * SHARED_ROUNDS);
    for (int t = 0; t < threads; t++) {
        unsigned sum = 0, *words = (unsigned *)(b->source + t % WARP * stride * BYTES);
        for (int w = 0; w < SHARED_READS * BYTES / WORD; w++)
            sum += words[w];
        if (sums[t] != sum * SHARED_ROUNDS)
            result.verdict = FAIL;
    }
    b->failures += result.verdict == FAIL;
    return result;
}

template <int BYTES> static void shared_strides(Bench *b) {
    const int strides[] = {1, 2, 32, 33, 34, 0};
    double first_ms = 0;
    printf("\n  %d bytes a lane, served in %d phase%s\n", BYTES, phases(BYTES), phases(BYTES) > 1 ? "s" : "");
    printf("    %12s %9s %19s %9s %19s\n", "", "", "cycles a request", "", "times stride 1");
    printf("    %12s %9s %9s %9s %9s %9s %9s  result\n", "", "conflict", "predicted", "measured", "ms",
           "predicted", "measured");
    for (int stride : strides) {
        int degree = predict_stride(BYTES, stride);
        SharedResult result = run_shared<BYTES>(b, stride);
        if (stride == 1)
            first_ms = result.ms;
        if (stride)
            printf("    stride %-5d", stride);
        else
            printf("    broadcast   ");
        /* One element for all takes half the phases: measured on an H200 first, then predicted. */
        int cycles = stride ? degree * phases(BYTES) : std::max(phases(BYTES) / 2, 1);
        printf(" %5d-way %9d", degree, cycles);
        print_number("%.2f", result.verdict, result.cycles);
        print_number("%.4f", result.verdict, result.ms);
        printf(" %8.2gx", (double)cycles / phases(BYTES));
        print_number("%.2fx", result.verdict, result.ms / first_ms);
        printf("  %s\n", VERDICTS[result.verdict]);
    }
}

static void shared_alone(Bench *b) {
    printf("\n3. Shared memory alone: lane i of each warp reads element i * stride\n");
    shared_strides<4>(b);
    shared_strides<8>(b);
    shared_strides<16>(b);
}

/* ---- Main ------------------------------------------------------------------------------------------ */

static void usage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bank_conflicts: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; usage: bank_conflicts [width height [repeat]]\n");
    va_end(arguments);
    exit(2);
}

static int whole_number(const char *name, const char *text, long limit) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end || errno || number < 1 || number > limit)
        usage("%s must be a whole number from 1 to %ld, not '%s'", name, limit, text);
    return (int)number;
}

/* The only arguments there are; they are checked on a machine without a GPU too. */
static void parse(Bench *b, int argc, char **argv) {
    if (argc == 2 || argc > 4)
        usage("expected no arguments, or two or three");
    b->width = argc > 2 ? whole_number("width", argv[1], 1 << 30) : 4096;
    b->height = argc > 2 ? whole_number("height", argv[2], 1 << 30) : 4096;
    b->repeat = argc > 3 ? whole_number("repeat", argv[3], 1000000) : 10;
    if ((size_t)b->width * b->height > SIZE_MAX / 64) /* so that no size below overflows */
        usage("an image of %d x %d pixels does not fit into any memory", b->width, b->height);
}

/* Asks for the GPU. Without one, says so where it cannot be overlooked. */
static void open_gpu(Bench *b) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    b->gpu = error == cudaSuccess && count > 0;
    if (!b->gpu) {
        printf("NO USABLE GPU: NOTHING IS RUN, these are the predictions alone.\n(%s)\n",
               error ? cudaGetErrorString(error) : "none found");
        return;
    }
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    b->multiprocessors = card.multiProcessorCount;
    b->shared_limit = (int)card.sharedMemPerBlockOptin;
    b->l2 = (size_t)card.l2CacheSize;
    CHECK(cudaEventCreate(&b->start));
    CHECK(cudaEventCreate(&b->stop));
    printf("%s, compute capability %d.%d, %d multiprocessors, L2 cache %.0f MiB, median of %d\n", card.name,
           card.major, card.minor, b->multiprocessors, (double)b->l2 / (1 << 20), b->repeat);
}

static void allocate(Bench *b) {
    size_t bytes = SHARED_WORDS * sizeof(unsigned), free_bytes, total_bytes;
    for (size_t pixel : {sizeof(uchar), sizeof(ushort), sizeof(rgb), sizeof(float), sizeof(double)}) {
        Rotation r = rotation(*b, pixel);
        bytes = std::max(bytes, r.count * r.spacing);
    }
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (bytes > free_bytes / 2 || cudaMalloc(&b->in, bytes) || cudaMalloc(&b->out, bytes))
        usage("%d x %d pixels take %.1f GB of GPU memory, of which %.1f are free: take a smaller image",
              b->width, b->height, 2 * bytes / 1e9, free_bytes / 1e9);
    b->source = (uchar *)need_host(malloc(bytes), 2 * bytes);
    b->expected = (uchar *)need_host(malloc(bytes), 2 * bytes);
    CHECK(cudaMallocHost(&b->staging, STAGING));
    fill_random(b->source, bytes);
    CHECK(cudaMemcpy(b->in, b->source, bytes, cudaMemcpyHostToDevice));
}

static void release(Bench *b) {
    CHECK(cudaFree(b->in));
    CHECK(cudaFree(b->out));
    CHECK(cudaFreeHost(b->staging));
    CHECK(cudaEventDestroy(b->start));
    CHECK(cudaEventDestroy(b->stop));
    free(b->source);
    free(b->expected);
}

int main(int argc, char **argv) {
    Bench bench = {};
    setvbuf(stdout, NULL, _IOLBF, 0); /* each table as it is ready, into a file too */
    parse(&bench, argc, argv);
    open_gpu(&bench);
    if (bench.gpu)
        allocate(&bench);

    classic(&bench);
    ladders(&bench);
    shared_alone(&bench);

    if (!bench.gpu) {
        printf("\nNO USABLE GPU: NOTHING WAS RUN.\n");
        return 0;
    }
    release(&bench);
    if (bench.failures)
        printf("\n%d FAILED\n", bench.failures);
    else
        printf("\nall PASS\n");
    return bench.failures ? 1 : 0;
}
