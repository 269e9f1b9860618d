/* SPDX-License-Identifier: MIT
 *
 *     test_golden FOLDER
 *
 * Each card of the folder, decoded by libpng and turned by tt_orient, against the eight turns that another
 * program made of it (golden/make.sh).
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "png_file.h"
#include "tiletranspose/tt.h"

enum { CARDS = 54 };

/* A picture of a PAM file: samples of one byte, or of two with the high byte first. */
typedef struct {
    size_t width, height, depth;
    unsigned maxval;
    uint8_t *samples;
} Pam;

static bool read_pam(FILE *file, Pam *pam) {
    char line[80];
    memset(pam, 0, sizeof(*pam));
    if (!fgets(line, sizeof(line), file) || strcmp(line, "P7\n"))
        return false;
    while (fgets(line, sizeof(line), file) && strcmp(line, "ENDHDR\n")) {
        sscanf(line, "WIDTH %zu", &pam->width);
        sscanf(line, "HEIGHT %zu", &pam->height);
        sscanf(line, "DEPTH %zu", &pam->depth);
        sscanf(line, "MAXVAL %u", &pam->maxval);
    }
    size_t bytes = pam->width * pam->height * pam->depth * (pam->maxval > 255 ? 2 : 1);
    pam->samples = calloc(1, bytes ? bytes : 1);
    return bytes && pam->samples && fread(pam->samples, 1, bytes, file) == bytes;
}

static unsigned pam_sample(const Pam *pam, size_t x, size_t y, size_t channel) {
    size_t i = (y * pam->width + x) * pam->depth + channel;
    return pam->maxval > 255 ? (unsigned)pam->samples[2 * i] << 8 | pam->samples[2 * i + 1] : pam->samples[i];
}

/* A turned PNG: the header of the card and rows of the library's. */
static PngFile turn(const PngFile *card, int o, const char *backend) {
    PngFile turned = *card;
    turned.width = eight_swaps(o) ? card->height : card->width;
    turned.height = eight_swaps(o) ? card->width : card->height;
    turned.row_bytes = (turned.width * (size_t)card->channels * (size_t)card->depth + 7) / 8;
    turned.rows = malloc(turned.row_bytes * turned.height);
    if (!turned.rows)
        exit(EXIT_FAILURE);
    memset(turned.rows, 0x5a, turned.row_bytes * turned.height);
    TtImage from = tt_image(card->rows, (ptrdiff_t)card->row_bytes, card->width, card->height,
                            (uint32_t)card->channels, (uint32_t)card->depth);
    TtImage to = tt_image(turned.rows, (ptrdiff_t)turned.row_bytes, turned.width, turned.height,
                          (uint32_t)card->channels, (uint32_t)card->depth);
    TtOptions options = {sizeof(options), backend, 0};
    EXPECT(tt_orient(&from, &to, (TtOrientation)o, &options) == TT_OK, "%s: %s", backend, tt_last_error());
    return turned;
}

static void compare(const PngFile *turned, const Pam *pam, const char *path, int o, const char *backend) {
    for (size_t y = 0; y < pam->height; y++)
        for (size_t x = 0; x < pam->width; x++)
            for (size_t c = 0; c < pam->depth; c++)
                EXPECT(png_file_sample(turned, x, y, (int)c) == pam_sample(pam, x, y, c),
                       "%s by %s, backend %s: sample %zu of pixel %zu, %zu is %u, not %u", path,
                       eight_names[o], backend, c, x, y, png_file_sample(turned, x, y, (int)c),
                       pam_sample(pam, x, y, c));
}

static void test_turn(const PngFile *card, const Pam *pam, const char *path, int o) {
    bool palette = card->palette_entries > 0;
    if (!EXPECT(pam->width == (eight_swaps(o) ? card->height : card->width) &&
                    pam->height == (eight_swaps(o) ? card->width : card->height) &&
                    pam->depth == (size_t)card->channels &&
                    pam->maxval == (palette ? 255 : (1u << card->depth) - 1),
                "%s: golden picture %d is of another size or format", path, o))
        return;
    const char *backend;
    for (size_t i = 0; (backend = tt_backend_name(i)); i++) {
        if (!strcmp(backend, "cuda") || tt_backend_check(backend)) /* the GPU's have tests of their own */
            continue;
        PngFile turned = turn(card, o, backend);
        compare(&turned, pam, path, o, backend);
        png_file_free(&turned);
    }
}

static void test_card(const char *path) {
    char pam_path[4096];
    snprintf(pam_path, sizeof(pam_path), "%.*s.pam", (int)(strlen(path) - 4), path);
    FILE *file = fopen(pam_path, "rb");
    PngFile card;
    if (EXPECT(png_file_read(&card, path), "%s: %s", path, card.error) && EXPECT(file, "%s", pam_path)) {
        for (int o = 1; o <= 8; o++) {
            Pam pam;
            if (EXPECT(read_pam(file, &pam), "%s: picture %d cannot be read", pam_path, o))
                test_turn(&card, &pam, path, o);
            free(pam.samples);
        }
        EXPECT(fgetc(file) == EOF, "%s has more than eight pictures", pam_path);
    }
    png_file_free(&card);
    if (file)
        fclose(file);
}

int main(int argc, char **argv) {
    glob_t cards;
    char pattern[4096];
    snprintf(pattern, sizeof(pattern), "%s/*.png", argc > 1 ? argv[1] : "golden");
    if (!EXPECT(!glob(pattern, 0, NULL, &cards), "no card matches %s", pattern))
        return expect_result();
    EXPECT(cards.gl_pathc == CARDS, "%zu cards, not %d", cards.gl_pathc, CARDS);
    for (size_t i = 0; i < cards.gl_pathc; i++)
        test_card(cards.gl_pathv[i]);
    globfree(&cards);
    return expect_result();
}
