/* SPDX-License-Identifier: MIT
 *
 * A picture turned in place, as the command does it, with all its checks: the file that is there afterwards
 * is the turned one, which reads back as it should, or the original to the byte; and it is alone.
 *
 * PNGs are also changed inside their chunks, whose checksums stay right.
 */
#include <string.h>

#include <zlib.h>

#include "../../cli/formats/format.h"
#include "../../cli/formats/vips_formats.h"
#include "../../cli/say.h"
#include "../../cli/turn.h"
#include "folder.h"
#include "take.h"

/* Not one of libvips', whose faults are found elsewhere. */
static gboolean is_own(const uint8_t *data, size_t size) {
    const Format *format = format_probe(data, MIN(size, FORMAT_HEAD)), *foreign;
    for (gsize i = 0; (foreign = foreign_format_at(i)); i++)
        if (format == foreign)
            return FALSE;
    return format != NULL;
}

static const atomic_int never;

static void options_of(Input *input, Options *options) {
    const char *operations[] = {"--rotate=90",     "--rotate=180", "--rotate=270", "--flip=horizontal",
                                "--flip=vertical", "--transpose",  "--transverse", "--auto-orient"};
    const char *ways[] = {"--jpeg=lossless", "--jpeg=trim", "--jpeg=reencode", "--jpeg=tag"};
    const char *operation = operations[take(input, 0, 7)], *way = ways[take(input, 0, 3)];
    const char *argv[] = {"imgtranspose",
                          operation,
                          way,
                          "--in-place",
                          "--quiet",
                          "--memory-limit=64M",
                          "--max-pixels=4000000",
                          "--threads=2",
                          "x",
                          take(input, 0, 1) && strcmp(way, "--jpeg=tag") ? "--stored" : "--png-level=1",
                          take(input, 0, 3) ? NULL : "--strip"};
    int argc = argv[G_N_ELEMENTS(argv) - 1] ? G_N_ELEMENTS(argv) : G_N_ELEMENTS(argv) - 1;
    GError *error = NULL;
    REQUIRE(options_parse(options, argc, (char **)argv, &error), "%s", error->message);
    say_set_loudness(QUIET);

    static Cores *cores;
    static Budget *budget;
    if (!cores) {
        cores = cores_new(2);
        budget = budget_new((gsize)64 << 20);
        cores_join(cores);
    }
    options->cores = cores;
    options->budget = budget;
    options->stop = &never;
}

static void require_intact(const char *path, const uint8_t *data, size_t size, const char *message) {
    char *now = NULL;
    gsize bytes = 0;
    REQUIRE(g_file_get_contents(path, &now, &bytes, NULL) && bytes == size && !memcmp(now, data, size),
            "failed (%s), and the original is not as it was", message);
    g_free(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input = {data, size};
    Options options;
    options_of(&input, &options);
    if (!is_own(input.data, input.size)) {
        options_clear(&options);
        return 0;
    }
    char *path = folder_file("picture");
    folder_write(path, input.data, input.size);
    Task task = {.input = path, .output = path, .operation = options.operation};
    Outcome outcome = {0};
    GError *error = NULL;
    gboolean done = turn_file(&task, &options, &never, &outcome, &error);
    REQUIRE(!done == !!error, "done %d, and %s", done, error ? error->message : "no error");
    if (error) {
        REQUIRE(!strchr(error->message, '\n'), "a message of several lines: %s", error->message);
        REQUIRE(!strstr(error->message, "turned copy"), "%s", error->message);
        require_intact(path, input.data, input.size, error->message);
        g_error_free(error);
    }
    REQUIRE(folder_count() == 1, "%zu files", folder_count());
    outcome_clear(&outcome);
    options_clear(&options);
    g_free(path);
    return 0;
}

/* ---- Changes inside a PNG ---------------------------------------------------------------------------- */

enum {
    SIGNATURE = 8,
    AROUND = 12 /* bytes of a chunk beside its data */,
    HEAD = 4 /* decisions before it */
};

static guint32 number_at(const uint8_t *p) {
    return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

static void put_number(uint8_t *p, guint32 value) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* The chunk with number `which`, counted around; NULL if there is none that is whole. */
static uint8_t *chunk_at(uint8_t *png, size_t size, unsigned which) {
    for (int round = 0; round < 2; round++) {
        size_t n = 0;
        for (size_t at = SIGNATURE; size - at >= AROUND && number_at(png + at) <= size - at - AROUND;
             at += AROUND + number_at(png + at), n++)
            if (round && !which--)
                return png + at;
        if (!n)
            return NULL;
        which %= (unsigned)n;
    }
    return NULL;
}

/* The data of one chunk, changed: the pixels of IDAT before they are packed. */
static size_t change_data(const uint8_t *type, uint8_t *data, size_t size, size_t most) {
    uLongf unpacked = 1 << 16, packed = (uLongf)most;
    if (memcmp(type, "IDAT", 4) || !most)
        return LLVMFuzzerMutate(data, size, most);
    uint8_t *pixels = g_malloc(unpacked), *result = g_malloc(most);
    if (!uncompress(pixels, &unpacked, data, (uLong)size)) {
        unpacked = (uLongf)LLVMFuzzerMutate(pixels, unpacked, 1 << 16);
        if (!compress(result, &packed, pixels, unpacked)) {
            memcpy(data, result, packed);
            size = packed;
        }
    } else {
        size = LLVMFuzzerMutate(data, size, most);
    }
    g_free(pixels), g_free(result);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    uint8_t *chunk = NULL;
    if (size > HEAD + SIGNATURE && seed % 4 && png_format.probe(data + HEAD, size - HEAD))
        chunk = chunk_at(data + HEAD, size - HEAD, seed / 4);
    if (!chunk)
        return LLVMFuzzerMutate(data, size, most);
    size_t old = number_at(chunk), behind = size - (size_t)(chunk + AROUND + old - data), room = most - size;
    uint8_t *content = g_malloc(old + room + 1);
    memcpy(content, chunk + 8, old);
    size_t fresh = change_data(chunk + 4, content, old, old + room);
    memmove(chunk + AROUND + fresh, chunk + AROUND + old, behind);
    memcpy(chunk + 8, content, fresh);
    put_number(chunk, (guint32)fresh);
    put_number(chunk + 8 + fresh, (guint32)crc32(0, chunk + 4, (uInt)(4 + fresh)));
    g_free(content);
    return size - old + fresh;
}
