/* SPDX-License-Identifier: MIT
 *
 * The algebra of the eight orientations, held against pictures written out by hand.
 */
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "tiletranspose/tt.h"

/* The picture of the header, and a card whose sides differ, after each orientation. EXIF's numbers. */
static const struct {
    int exif;
    TtOrientation orientation;
    const char *name, *square, *card;
    int swaps;
} eight[8] = {
    {1, TT_NONE, "none", "AB/CD", "ABC/DEF", 0},
    {2, TT_FLIPH, "fliph", "BA/DC", "CBA/FED", 0},
    {3, TT_ROT180, "rot180", "DC/BA", "FED/CBA", 0},
    {4, TT_FLIPV, "flipv", "CD/AB", "DEF/ABC", 0},
    {5, TT_TRANSPOSE, "transpose", "AC/BD", "AD/BE/CF", 1},
    {6, TT_ROT90, "rot90", "CA/DB", "DA/EB/FC", 1},
    {7, TT_TRANSVERSE, "transverse", "DB/CA", "FC/EB/DA", 1},
    {8, TT_ROT270, "rot270", "BD/AC", "CF/BE/AD", 1},
};

/* "AB/CD": rows of letters. */
typedef struct {
    char text[16];
} Card;

static size_t width_of(const char *card) {
    return strcspn(card, "/");
}

static size_t height_of(const char *card) {
    return (strlen(card) + 1) / (width_of(card) + 1);
}

static TtImage image_of(Card *card) {
    size_t width = width_of(card->text);
    return tt_image(card->text, (ptrdiff_t)width + 1, width, height_of(card->text), 1, 8);
}

static Card blank(size_t width, size_t height) {
    Card card = {"???????????????"};
    for (size_t y = 1; y < height; y++)
        card.text[y * (width + 1) - 1] = '/';
    card.text[height * (width + 1) - 1] = '\0';
    return card;
}

static Card turned(Card card, TtOrientation o) {
    TtImage from = image_of(&card);
    Card result = tt_swaps_axes(o) ? blank(from.height, from.width) : blank(from.width, from.height);
    TtImage to = image_of(&result);
    EXPECT(tt_orient(&from, &to, o, NULL) == TT_OK, "%s by %d: %s", card.text, (int)o, tt_last_error());
    return result;
}

static void test_pictures(void) {
    for (int i = 0; i < 8; i++) {
        Card square = turned((Card){"AB/CD"}, eight[i].orientation);
        Card card = turned((Card){"ABC/DEF"}, eight[i].orientation);
        EXPECT(!strcmp(square.text, eight[i].square), "%s gave %s", eight[i].name, square.text);
        EXPECT(!strcmp(card.text, eight[i].card), "%s gave %s", eight[i].name, card.text);
        EXPECT((int)eight[i].orientation == eight[i].exif, "%s", eight[i].name);
        EXPECT(tt_swaps_axes(eight[i].orientation) == eight[i].swaps, "%s", eight[i].name);
    }
}

/* The formulas that the other tests hold the library against are held against the pictures here. */
static void test_formulas(void) {
    for (int i = 0; i < 8; i++) {
        const char *want = eight[i].card;
        size_t width = width_of(want);
        for (size_t y = 0; y < height_of(want); y++)
            for (size_t x = 0; x < width; x++) {
                Point from = eight_source(eight[i].exif, 3, 2, x, y);
                EXPECT("ABC/DEF"[from.y * 4 + from.x] == want[y * (width + 1) + x], "%s at %zu, %zu",
                       eight[i].name, x, y);
            }
        EXPECT(!strcmp(eight_names[eight[i].exif], eight[i].name), "%s", eight[i].name);
    }
}

static void test_compositions(void) {
    for (int a = 1; a <= 8; a++)
        for (int b = 1; b <= 8; b++) {
            TtOrientation both = tt_compose((TtOrientation)a, (TtOrientation)b);
            Card one = turned((Card){"ABC/DEF"}, both);
            Card two = turned(turned((Card){"ABC/DEF"}, (TtOrientation)a), (TtOrientation)b);
            EXPECT(!strcmp(one.text, two.text), "%s then %s: %s, not %s", eight_names[a], eight_names[b],
                   one.text, two.text);
            for (int c = 1; c <= 8; c++)
                EXPECT(tt_compose(both, (TtOrientation)c) ==
                           tt_compose((TtOrientation)a, tt_compose((TtOrientation)b, (TtOrientation)c)),
                       "%s, %s, %s", eight_names[a], eight_names[b], eight_names[c]);
        }
    EXPECT(tt_compose(TT_FLIPH, TT_ROT90) == TT_TRANSVERSE, "fliph, then rot90");
    EXPECT(tt_compose(TT_ROT90, TT_FLIPH) == TT_TRANSPOSE, "rot90, then fliph");
}

static void test_inverses(void) {
    for (int i = 1; i <= 8; i++) {
        TtOrientation o = (TtOrientation)i, undo = tt_invert(o);
        EXPECT(!strcmp(turned(turned((Card){"ABC/DEF"}, o), undo).text, "ABC/DEF"), "%s", eight_names[i]);
        EXPECT(tt_compose(o, undo) == TT_NONE && tt_compose(undo, o) == TT_NONE, "%s", eight_names[i]);
        EXPECT((undo == o) == (o != TT_ROT90 && o != TT_ROT270), "%s", eight_names[i]);
    }
}

static void test_names(void) {
    static const char *const rejected[] = {"",
                                           "None",
                                           "ROT90",
                                           "rot90 ",
                                           " rot90",
                                           "rot",
                                           "rot9",
                                           "rot900",
                                           "rot-90",
                                           "90",
                                           "auto",
                                           "flip",
                                           "fliphv",
                                           "6",
                                           "d90",
                                           "rot\n90",
                                           "transposetranspose"};
    for (int i = 0; i < 8; i++) {
        TtOrientation o = (TtOrientation)0;
        EXPECT(!strcmp(tt_orientation_name(eight[i].orientation), eight[i].name), "%s", eight[i].name);
        EXPECT(tt_orientation_parse(eight[i].name, &o) == TT_OK && o == eight[i].orientation, "%s",
               eight[i].name);
    }
    for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
        TtOrientation o = TT_FLIPV;
        EXPECT(tt_orientation_parse(rejected[i], &o) == TT_ERROR_ARGUMENT, "'%s'", rejected[i]);
        EXPECT(o == TT_FLIPV, "'%s' changed the orientation", rejected[i]);
        EXPECT(!strchr(tt_last_error(), '\n') && strstr(tt_last_error(), "transverse"), "%s",
               tt_last_error());
    }
    TtOrientation o = TT_FLIPV;
    EXPECT(tt_orientation_parse(NULL, &o) == TT_ERROR_ARGUMENT && o == TT_FLIPV, "NULL");
    EXPECT(tt_orientation_parse("none", NULL) == TT_ERROR_ARGUMENT, "NULL");
    static const int invalid[] = {0, 9, -1, 77};
    for (int i = 0; i < 4; i++) {
        TtOrientation bad = (TtOrientation)invalid[i];
        EXPECT(!tt_orientation_name(bad), "%d", invalid[i]);
        EXPECT(!tt_swaps_axes(bad), "%d", invalid[i]);
    }
}

/* Where each pixel of the rectangle lands, by the formulas, against the rectangle the library says. */
static void check_rect(int o, size_t width, size_t height, TtRect r) {
    TtRect to = tt_map_rect((TtOrientation)o, width, height, r);
    size_t across = eight_swaps(o) ? height : width, down = eight_swaps(o) ? width : height, inside = 0;
    for (size_t y = 0; y < down; y++)
        for (size_t x = 0; x < across; x++) {
            Point p = eight_source(o, width, height, x, y);
            bool from_r = p.x >= r.x && p.x < r.x + r.width && p.y >= r.y && p.y < r.y + r.height;
            bool in_to = x >= to.x && x < to.x + to.width && y >= to.y && y < to.y + to.height;
            inside += in_to;
            EXPECT(from_r == in_to, "%s of %zux%zu: pixel %zu, %zu", eight_names[o], width, height, x, y);
        }
    EXPECT(inside == r.width * r.height, "%s of %zux%zu", eight_names[o], width, height);
}

static void test_rectangles(void) {
    for (int o = 1; o <= 8; o++)
        for (size_t x = 0; x < 5; x++)
            for (size_t y = 0; y < 3; y++)
                for (size_t w = 1; w <= 5 - x; w++)
                    for (size_t h = 1; h <= 3 - y; h++)
                        check_rect(o, 5, 3, (TtRect){x, y, w, h});
    /* No detour over smaller integers. */
    size_t far = (size_t)1 << 40;
    TtRect to = tt_map_rect(TT_ROT90, far, 2 * far, (TtRect){3, 5, 7, 11});
    EXPECT(to.x == 2 * far - 16 && to.y == 3 && to.width == 11 && to.height == 7, "%zu, %zu", to.x, to.y);
}

int main(void) {
    test_pictures();
    test_formulas();
    test_compositions();
    test_inverses();
    test_names();
    test_rectangles();
    return expect_result();
}
