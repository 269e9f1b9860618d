/* SPDX-License-Identifier: MIT
 *
 * Packing and unpacking, each way that this build has, judged by zlib; and the PNG streams made from them.
 */
#include <string.h>
#include <zlib.h>

#include "../../cli/formats/deflate.h"
#include "../../cli/formats/deflate_last_block.h"
#include "../../cli/formats/png_deflate.h"
#include "../../cli/formats/png_filter.h"
#include "../../cli/formats/png_inflate.h"
#include "../../cli/formats/png_unfilter.h"
#include "../expect.h"

/* ---- Data of several kinds -------------------------------------------------------------------------- */

static guint32 state = 1;
static guint8 noise(void) {
    state = state * 1664525 + 1013904223;
    return (guint8)(state >> 24);
}

typedef enum { ZEROS, NOISE, WAVES, TEXT, SKEWED, HALF, KINDS } Kind;

static guint8 *make(Kind kind, gsize size) {
    guint8 *data = g_malloc(size + 1);
    for (gsize i = 0; i < size; i++)
        switch (kind) {
        case ZEROS:
            data[i] = 0;
            break;
        case NOISE:
            data[i] = noise();
            break;
        case WAVES: /* small residues, as photographs leave them */
            data[i] = (guint8)((noise() & 7) + (noise() & 7) - 7);
            break;
        case TEXT:
            data[i] = (guint8) "a few words that come back, "[i * (1 + i / 999) % 28];
            break;
        case SKEWED: /* as often as Fibonacci's numbers say: the rarest deserve longer codes than there are */
            data[i] = 0;
            for (gsize at = i % 17710, n = 1, more = 1; at >= n; data[i]++) {
                at -= n;
                more += n;
                n = more - n;
            }
            break;
        default:
            data[i] = i < size / 2 ? noise() : (guint8)(i / 100);
        }
    return data;
}

/* ---- Blocks ----------------------------------------------------------------------------------------- */

static void check_raw(const guint8 *stream, gsize n, const guint8 *want, gsize size, const char *what) {
    guint8 *got = g_malloc(size + 1);
    z_stream z = {
        .next_in = (Bytef *)stream, .avail_in = (uInt)n, .next_out = got, .avail_out = (uInt)size + 1};
    inflateInit2(&z, -15);
    int status = inflate(&z, Z_FINISH);
    REQUIRE(status == Z_STREAM_END && !z.avail_in && z.total_out == size && !memcmp(got, want, size),
            "%s: status %d, %lu of %zu bytes", what, status, z.total_out, size);
    inflateEnd(&z);
    g_free(got);
}

static void check_way(DeflateWay way) {
    static const gsize sizes[] = {1, 2, 3, 100, 32767, 65536, 65537, 300000};
    Packer *packer = packer_new();
    char what[80];
    for (Kind kind = ZEROS; kind < KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
            gsize size = sizes[i], bound = packer_bound(size);
            guint8 *data = make(kind, size), *stream = g_malloc(3 * bound);
            g_snprintf(what, sizeof(what), "library %d level %d strategy %d kind %d size %zu", way.library,
                       way.level, way.strategy, kind, size);
            gsize n = packer_pack(packer, way, data, size, stream, TRUE);
            if (!n) { /* a way may refuse what is too small or too random, but never zlib */
                REQUIRE(way.library != DEFLATE_ZLIB, "%s", what);
                continue;
            }
            check_raw(stream, n, data, size, what);
            /* Three blocks, end to end. */
            guint8 *thrice = g_malloc(3 * size);
            for (gsize part = n = 0; part < 3; part++) {
                memcpy(thrice + part * size, data, size);
                gsize m = packer_pack(packer, way, data, size, stream + n, part == 2);
                REQUIRE(m && m <= bound, "%s", what);
                n += m;
            }
            check_raw(stream, n, thrice, 3 * size, what);
            g_free(thrice);
            g_free(stream);
            g_free(data);
        }
    packer_free(packer);
}

static void check_blocks(void) {
    for (gsize i = 0; i < deflate_n_ways; i++)
        check_way(deflate_ways[i]);
    for (int level = 0; level <= 9; level += 3)
        check_way((DeflateWay){DEFLATE_ZLIB, level, DEFLATE_FILTERED});
    check_way((DeflateWay){DEFLATE_ZLIB, 6, DEFLATE_DEFAULT});
}

/* Where zlib's inflate says that the last block begins and ends. */
static void find_last_by_zlib(guint8 *stream, gsize size, gsize *header, gsize *end) {
    z_stream z = {.next_in = stream, .avail_in = (uInt)size};
    guint8 unpacked[4096];
    inflateInit2(&z, -15);
    for (gboolean last = FALSE; !last; last = z.data_type & 64 && z.data_type & 128) {
        if (z.data_type & 128)
            *header = *end;
        z.next_out = unpacked;
        z.avail_out = sizeof(unpacked);
        if (!z.total_in)
            *header = 0;
        int status = inflate(&z, Z_BLOCK);
        REQUIRE(status == Z_OK, "status %d", status);
        *end = (gsize)(z.next_in - stream) * 8 - (gsize)(z.data_type & 7);
    }
    inflateEnd(&z);
}

static void check_last_block(const guint8 *data, gsize size, int level, int strategy) {
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
    gsize bound = packer_bound(size), header, end, want_header = 0, want_end = 0;
    guint8 *stream = g_malloc0(bound + DEFLATE_BEYOND);
    z.next_out = stream;
    z.avail_out = (uInt)bound;
    deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy);
    REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END, "level %d", level);
    deflateEnd(&z);
    find_last_by_zlib(stream, z.total_out, &want_header, &want_end);
    REQUIRE(deflate_last_block(stream, z.total_out, &header, &end) && header == want_header &&
                end == want_end,
            "level %d strategy %d size %zu: %zu to %zu, not %zu to %zu", level, strategy, size, header, end,
            want_header, want_end);
    for (gsize cut = 0; cut < z.total_out; cut += 1 + cut / 2)
        REQUIRE(!deflate_last_block(stream, cut, &header, &end) || (header < end && end <= cut * 8), "%zu",
                cut);
    for (gsize damage = 0; damage < 50; damage++) { /* any answer, but none from outside of the stream */
        stream[(noise() << 8 | noise()) % z.total_out] = noise();
        REQUIRE(!deflate_last_block(stream, z.total_out, &header, &end) ||
                    (header < end && end <= z.total_out * 8),
                "%zu", damage);
    }
    g_free(stream);
}

static void check_last_blocks(void) {
    static const gsize sizes[] = {1, 100, 65535, 65536, 300000};
    for (Kind kind = ZEROS; kind < KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
            guint8 *data = make(kind, sizes[i]);
            for (int level = 0; level <= 9; level += 3)
                check_last_block(data, sizes[i], level, Z_DEFAULT_STRATEGY);
            check_last_block(data, sizes[i], 6, Z_HUFFMAN_ONLY);
            check_last_block(data, sizes[i], 6, Z_FIXED);
            g_free(data);
        }
}

static void check_checksums(void) {
    guint8 *data = make(NOISE, 100000);
    for (gsize size = 0; size < 100000; size = size * 3 + 1)
        for (gsize cut = 0; cut <= size; cut += size / 3 + 1) {
            REQUIRE(deflate_crc32(deflate_crc32(0, data, cut), data + cut, size - cut) ==
                        crc32(0, data, (uInt)size),
                    "%zu", size);
            REQUIRE(deflate_adler32(deflate_adler32(1, data, cut), data + cut, size - cut) ==
                        adler32(1, data, (uInt)size),
                    "%zu", size);
        }
    g_free(data);
}

/* ---- Filters ---------------------------------------------------------------------------------------- */

/* The specification's formulas, byte by byte. */
static guint8 residue(int filter, guint8 x, guint8 a, guint8 b, guint8 c) {
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    int predicted[] = {0, a, b, (a + b) / 2, pa <= pb && pa <= pc ? a : pb <= pc ? b : c};
    return (guint8)(x - predicted[filter]);
}

/* Rows behind random filters' numbers, undone in pieces that end anywhere. */
static void check_unfilter(gsize row, guint pixel) {
    enum { ROWS = 12 };
    PngUnfilter *u = png_unfilter_new(row, pixel);
    if (!u) /* left to libpng */
        return;
    gsize size = ROWS * (row + 1);
    guint8 *want = g_malloc0(size), *got = g_malloc(size);
    for (gsize y = 0; y < ROWS; y++) {
        guint8 *x = want + y * (row + 1) + 1, *to = got + (x - want), *above = y ? x - (row + 1) : NULL;
        to[-1] = (guint8)(noise() % 5);
        for (gsize i = 0; i < row; i++) {
            guint8 up = above ? above[i] : 0, left = i >= pixel ? x[i - pixel] : 0;
            guint8 corner = above && i >= pixel ? above[i - pixel] : 0;
            x[i] = noise() & 1 ? noise() : up;
            to[i] = residue(to[-1], x[i], left, up, corner);
        }
    }
    gsize wrong = (ROWS - 1) * (row + 1); /* the last row's number: it stays as it is */
    want[wrong] = got[wrong] = 5;
    memcpy(want + wrong, got + wrong, row + 1);
    for (gsize at = 0, n; at < size; at += n) {
        n = MIN(size - at, (gsize)(1 + noise() % (noise() & 1 ? 3 : 200)));
        png_unfilter(u, got + at, n);
    }
    for (gsize i = 0; i < size; i++)
        REQUIRE(got[i] == want[i], "row of %zu, pixel of %u: byte %zu", row, pixel, i);
    png_unfilter_free(u);
    g_free(want);
    g_free(got);
}

static void check_unfilters(void) {
    static const guint pixels[] = {1, 2, 3, 4, 6, 8};
    for (gsize p = 0; p < G_N_ELEMENTS(pixels); p++)
        for (gsize columns = 1; columns < 400; columns += 1 + columns / 4)
            for (int again = 0; again < 20; again++)
                check_unfilter(columns * pixels[p], pixels[p]);
}

static void check_filters(void) {
    static guint8 above[FILTER_MARGIN + 5000], row[FILTER_MARGIN + 5000], got[5001];
    for (gsize i = FILTER_MARGIN; i < sizeof(row); i++) {
        above[i] = noise();
        row[i] = i % 7 ? noise() : above[i];
    }
    static const guint pixels[] = {1, 2, 3, 4, 6, 8};
    for (gsize k = 0; k < G_N_ELEMENTS(pixels); k++)
        for (gsize size = 1; size < 5000; size += 1 + size / 5) {
            guint pixel = pixels[k];
            guint64 least = G_MAXUINT64;
            int best = 0;
            for (int f = 0; f < 5; f++) {
                guint64 sum = 0;
                png_filter_row(got, row + FILTER_MARGIN, above + FILTER_MARGIN, size, pixel, 1U << f);
                REQUIRE(got[0] == f, "%d", f);
                for (gsize i = 0; i < size; i++) {
                    gsize at = FILTER_MARGIN + i;
                    guint8 left = i < pixel ? 0 : row[at - pixel], corner = i < pixel ? 0 : above[at - pixel];
                    guint8 want = residue(f, row[at], left, above[at], corner);
                    REQUIRE(got[1 + i] == want, "filter %d pixel %u size %zu at %zu", f, pixel, size, i);
                    sum += want < 128 ? want : 256U - want;
                }
                if (sum < least) {
                    least = sum;
                    best = f;
                }
            }
            png_filter_row(got, row + FILTER_MARGIN, above + FILTER_MARGIN, size, pixel, FILTERS_ALL);
            REQUIRE(got[0] == best, "pixel %u size %zu: %d, not %d", pixel, size, got[0], best);
        }
}

/* ---- Streams ---------------------------------------------------------------------------------------- */

static gboolean gather(gpointer user, const guint8 *data, gsize size, GError **error) {
    (void)error;
    g_byte_array_append(user, data, (guint)size);
    return TRUE;
}

static GByteArray *pack_rows(const guint8 *rows, gsize width, gsize height, guint cores, PngPacking packing) {
    Cores *c = cores ? cores_new(cores) : NULL;
    GByteArray *stream = g_byte_array_new();
    PngDeflate *d = png_deflate_new(&(PngDeflateOptions){.bits = 8,
                                                         .residues = TRUE,
                                                         .bytes = (width + 1) * height,
                                                         .packing = packing,
                                                         .cores = c,
                                                         .emit = gather,
                                                         .user = stream});
    if (c)
        cores_join(c);
    for (gsize y = 0; y < height; y++)
        REQUIRE(png_deflate_row(d, rows + y * width, width, y == 0, NULL), "row %zu", y);
    REQUIRE(png_deflate_end(d, NULL), "end");
    png_deflate_free(d);
    if (c)
        cores_free(c);
    return stream;
}

/* Undoes the filters, by the specification. */
static void unfilter(guint8 *filtered, gsize width, gsize height) {
    for (gsize y = 0; y < height; y++) {
        guint8 *x = filtered + y * (width + 1) + 1, *up = y ? x - width - 1 : NULL;
        for (gsize i = 0; i < width; i++) {
            guint8 a = i ? x[i - 1] : 0, b = up ? up[i] : 0, c = up && i ? up[i - 1] : 0;
            x[i] = (guint8)(x[i] - residue(x[-1], 0, a, b, c));
        }
    }
}

static void check_stream(const GByteArray *stream, const guint8 *rows, gsize width, gsize height) {
    uLongf size = (width + 1) * height + 1;
    guint8 *filtered = g_malloc(size);
    int status = uncompress(filtered, &size, stream->data, stream->len);
    REQUIRE(status == Z_OK && size == (width + 1) * height, "status %d, %lu bytes", status, size);
    unfilter(filtered, width, height);
    for (gsize y = 0; y < height; y++)
        REQUIRE(!memcmp(filtered + y * (width + 1) + 1, rows + y * width, width), "row %zu", y);
    g_free(filtered);
}

static void check_packing(void) {
    static const gsize widths[] = {1, 77, 4096, 1000003};
    for (Kind kind = ZEROS; kind < KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(widths); i++)
            for (int level = kind == HALF ? 0 : 6; level <= (kind == HALF ? 9 : 6); level += 3) {
                gsize width = widths[i], height = MIN(2000003 / width, 5000);
                guint8 *rows = make(kind, width * height);
                PngPacking packing = {level, level == 3 ? FILTER_UP : 0};
                GByteArray *alone = pack_rows(rows, width, height, 0, packing);
                check_stream(alone, rows, width, height);
                for (guint cores = 1; cores <= 7; cores += cores == 1 ? 1 : 5) {
                    GByteArray *crowd = pack_rows(rows, width, height, cores, packing);
                    REQUIRE(crowd->len == alone->len && !memcmp(crowd->data, alone->data, alone->len),
                            "kind %d width %zu level %d: other bytes by %u cores", kind, width, level, cores);
                    g_byte_array_unref(crowd);
                }
                g_byte_array_unref(alone);
                g_free(rows);
            }
}

/* ---- Unpacking -------------------------------------------------------------------------------------- */

static gboolean read_array(PngInput *input, guint8 *to, gsize n, goffset offset, gsize *got, GError **error) {
    const GByteArray *file = input->user;
    (void)error;
    *got = MIN(n, MIN(file->len - (gsize)offset, 1 + (gsize)offset % 4999)); /* less than is asked for */
    memcpy(to, file->data + offset, *got);
    return TRUE;
}

static void add_chunk(GByteArray *file, const guint8 *data, gsize size) {
    guint8 number[4];
    guint32 sum =
        (guint32)crc32(crc32(0, (const guint8 *)"IDAT", 4), size ? data : (const guint8 *)"", (uInt)size);
    for (int i = 0; i < 4; i++)
        number[i] = (guint8)(size >> (24 - 8 * i));
    g_byte_array_append(file, number, 4);
    g_byte_array_append(file, (const guint8 *)"IDAT", 4);
    g_byte_array_append(file, data, (guint)size);
    for (int i = 0; i < 4; i++)
        number[i] = (guint8)(sum >> (24 - 8 * i));
    g_byte_array_append(file, number, 4);
}

/* A stream in chunks of so many bytes, unpacked. NULL: it failed. */
static GByteArray *unpack(const guint8 *stream, gsize n, gsize chunk, gsize wanted, guint cores,
                          const Unpacker *unpacker, gboolean *more) {
    GByteArray *file = g_byte_array_new(), *got = g_byte_array_new();
    for (gsize at = 0; at < n || !file->len; at += chunk)
        add_chunk(file, stream + at, MIN(chunk, n - at));
    Cores *c = cores ? cores_new(cores) : NULL;
    PngInput input = {.path = "test", .size = file->len, .read = read_array, .user = file};
    PngInflate *d =
        png_inflate_new(&(PngInflateOptions){&input, {0, file->len, 0}, wanted, c, unpacker, FALSE});
    GError *error = NULL;
    const guint8 *piece;
    gsize size;
    while ((piece = png_inflate_next(d, &size, &error)))
        g_byte_array_append(got, piece, (guint)size);
    *more = !error && png_inflate_has_more(d);
    png_inflate_free(d);
    if (c)
        cores_free(c);
    g_byte_array_unref(file);
    if (error) {
        g_byte_array_unref(got);
        g_error_free(error);
        return NULL;
    }
    return got;
}

static void check_unpacking(const Unpacker *u) {
    static const gsize sizes[] = {
        1, 1000, PNG_INFLATE_PIECE - 1, PNG_INFLATE_PIECE, PNG_INFLATE_PIECE + 1, 3000000};
    static const gsize chunks[] = {1, 7, 8192, 1 << 30};
    gboolean more;
    for (Kind kind = ZEROS; kind < KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
            gsize size = sizes[i];
            guint8 *data = make(kind, size);
            uLongf n = compressBound(size);
            guint8 *stream = g_malloc(n + 3);
            compress(stream, &n, data, size);
            for (gsize k = size > 1000 && kind != ZEROS; k < G_N_ELEMENTS(chunks); k++)
                for (guint cores = 0; cores < 3; cores++) {
                    GByteArray *got = unpack(stream, n, chunks[k], size, cores, u, &more);
                    REQUIRE(got && got->len == size && !memcmp(got->data, data, size) && !more,
                            "%s kind %d size %zu chunks %zu", u->name, kind, size, chunks[k]);
                    g_byte_array_unref(got);
                }

            /* Less than the stream holds; bytes behind the stream. */
            GByteArray *got = unpack(stream, n, 8192, MAX(size / 2, 1), 2, u, &more);
            REQUIRE(got && got->len == MAX(size / 2, 1) && more == (size > 1), "%s size %zu", u->name, size);
            g_byte_array_unref(got);
            memcpy(stream + n, "abc", 3);
            got = unpack(stream, n + 3, 8192, size, 2, u, &more);
            REQUIRE(got && got->len == size && more, "%s size %zu", u->name, size);
            g_byte_array_unref(got);

            /* More than it holds; cut anywhere; a wrong checksum; a wrong header. */
            REQUIRE(!unpack(stream, n, 8192, size + 1, 2, u, &more), "%s kind %d size %zu", u->name, kind,
                    size);
            for (gsize cut = 0; cut < n; cut += 1 + cut * 2)
                REQUIRE(!unpack(stream, cut, 8192, size, 2, u, &more), "%s %zu of %lu", u->name, cut, n);
            for (gsize cut = 1; cut <= 4; cut++)
                REQUIRE(!unpack(stream, n - cut, 8192, size, 2, u, &more), "%s %zu from the end", u->name,
                        cut);
            for (gsize at = n - 4; at < n; at++) {
                stream[at] ^= 1;
                REQUIRE(!unpack(stream, n, 8192, size, 2, u, &more), "%s: a wrong checksum", u->name);
                stream[at] ^= 1;
            }
            for (gsize at = 0; at < 2; at++) {
                stream[at] ^= 0x21;
                REQUIRE(!unpack(stream, n, 8192, size, 2, u, &more), "%s: a wrong header", u->name);
                stream[at] ^= 0x21;
            }
            g_free(stream);
            g_free(data);
        }
}

static void check_unpacking_at_once(void) {
    static const gsize sizes[] = {1, 2, 1000, 300000};
    for (Kind kind = ZEROS; kind < KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
            gsize size = sizes[i], half = MAX(size / 2, 1);
            guint8 *data = make(kind, size), *got = g_malloc(size + 1);
            uLongf n = compressBound(size);
            guint8 *stream = g_malloc0(n + 3);
            compress(stream, &n, data, size);
            for (gsize beyond = 0; beyond <= 3; beyond++) {
                memset(got, 0xaa, size);
                REQUIRE(deflate_unpack(stream, n + beyond, got, size) && !memcmp(got, data, size),
                        "kind %d size %zu and %zu", kind, size, beyond);
            }
            memset(got, 0xaa, size + 1);
            REQUIRE(deflate_unpack(stream, n, got, half) && !memcmp(got, data, half) && got[half] == 0xaa,
                    "kind %d size %zu", kind, half);
            REQUIRE(!deflate_unpack(stream, n, got, size + 1), "kind %d size %zu", kind, size + 1);
            for (gsize cut = 0; cut + 6 < n; cut += 1 + cut * 2)
                REQUIRE(!deflate_unpack(stream, cut, got, size), "%zu of %lu", cut, n);
            stream[n - 1] ^= 1;
            REQUIRE(!deflate_unpack(stream, n, got, size), "kind %d size %zu: a wrong checksum", kind, size);
            stream[n - 1] ^= 1;
            stream[0] ^= 0x21;
            REQUIRE(!deflate_unpack(stream, n, got, size), "kind %d size %zu: a wrong header", kind, size);
            g_free(stream);
            g_free(got);
            g_free(data);
        }
}

int main(void) {
    check_checksums();
    check_filters();
    check_unfilters();
    check_last_blocks();
    check_blocks();
    check_packing();
    for (gsize i = 0; unpackers[i]; i++)
        check_unpacking(unpackers[i]);
    check_unpacking_at_once();
    return 0;
}
