/* SPDX-License-Identifier: MIT
 *
 * The reader of the orientation tag, on blocks written by hand.
 */
#include <string.h>

#include "../../cli/formats/orientation_tag.h"
#include "../../cli/formats/text_blocks.h"
#include "../expect.h"

/* Memory of just that size, so that a sanitizer sees a byte too far. */
static guint8 *exactly(const void *data, gsize size) {
    guint8 *copy = malloc(size ? size : 1);
    REQUIRE(copy, "no memory");
    memcpy(copy, data, size);
    return copy;
}

/* ---- EXIF -----------------------------------------------------------------------------------------------
 */

#define LITTLE "II*\0\x08\0\0\0"
#define BIG    "MM\0*\0\0\0\x08"

typedef struct {
    const char *what;
    int tag;  /* it states */
    gsize at; /* of the byte that becomes 1; 0 if none does */
    gsize size;
    const char *block;
} Exif;

#define EXIF(what, tag, at, block)                                                                           \
    { what, tag, at, sizeof(block) - 1, block }

static const Exif blocks[] = {
    EXIF("little-endian", 6, 18,
         LITTLE "\1\0"
                "\x12\1\3\0\1\0\0\0\6\0\0\0"
                "\0\0\0\0"),
    EXIF("big-endian", 6, 19,
         BIG "\0\1"
             "\1\x12\0\3\0\0\0\1\0\6\0\0"
             "\0\0\0\0"),
    EXIF("with a JPEG's name", 8, 24,
         "Exif\0\0" LITTLE "\1\0"
         "\x12\1\3\0\1\0\0\0\x08\0\0\0"
         "\0\0\0\0"),
    EXIF("of 32 bits", 5, 21,
         BIG "\0\1"
             "\1\x12\0\4\0\0\0\1\0\0\0\5"
             "\0\0\0\0"),
    EXIF("without the offset of the next directory", 3, 18,
         LITTLE "\1\0"
                "\x12\1\3\0\1\0\0\0\3\0\0\0"),
    EXIF("directory elsewhere", 7, 22,
         "II*\0\x0c\0\0\0....\1\0"
         "\x12\1\3\0\1\0\0\0\7\0\0\0"),
    EXIF("neighbours of no type that point nowhere", 2, 43,
         BIG "\0\4"
             "\1\0\0\x63\xff\xff\xff\xff\xff\xff\xff\xff"
             "\1\x0f\0\2\x7f\xff\xff\xff\xff\xff\xff\xf0"
             "\1\x12\0\3\0\0\0\1\0\2\0\0"
             "\x87\x69\0\4\0\0\0\1\xff\xff\xff\xfe"
             "\0\0\0\0"),
    EXIF("a nested directory that is itself: a cycle", 4, 19,
         BIG "\0\2"
             "\1\x12\0\3\0\0\0\1\0\4\0\0"
             "\x87\x69\0\4\0\0\0\1\0\0\0\x08"
             "\0\0\0\x08"),
    EXIF("entries out of order", 6, 31,
         BIG "\0\2"
             "\1\x1a\0\5\0\0\0\1\0\0\0\0"
             "\1\x12\0\3\0\0\0\1\0\6\0\0"),
    EXIF("more entries announced than there are", 6, 18,
         LITTLE "\xff\xff"
                "\x12\1\3\0\1\0\0\0\6\0\0\0"),
    EXIF("only the nested directory has it", 0, 0,
         BIG "\0\1"
             "\x87\x69\0\4\0\0\0\1\0\0\0\x1a"
             "\0\0\0\0"
             "\0\1"
             "\1\x12\0\3\0\0\0\1\0\6\0\0"
             "\0\0\0\0"),
    EXIF("only the thumbnail has it", 0, 0,
         BIG "\0\1"
             "\1\0\0\3\0\0\0\1\0\6\0\0"
             "\0\0\0\x1a"
             "\0\1"
             "\1\x12\0\3\0\0\0\1\0\6\0\0"
             "\0\0\0\0"),
    EXIF("0", 0, 0,
         BIG "\0\1"
             "\1\x12\0\3\0\0\0\1\0\0\0\0"),
    EXIF("9", 0, 0,
         BIG "\0\1"
             "\1\x12\0\3\0\0\0\1\0\x09\0\0"),
    EXIF("as text", 0, 0,
         BIG "\0\1"
             "\1\x12\0\2\0\0\0\2"
             "6\0\0\0"),
    EXIF("no entries", 0, 0,
         BIG "\0\0"
             "\0\0\0\0"),
    EXIF("no directory", 0, 0, "MM\0*\0\0\0\0"),
    EXIF("directory behind the end", 0, 0,
         "MM\0*\xff\xff\xff\xff"
         "\0\1"),
    EXIF("another magic number", 0, 0,
         "MM\0+\0\0\0\x08"
         "\0\1"
         "\1\x12\0\3\0\0\0\1\0\6\0\0"),
    EXIF("nothing", 0, 0, ""),
    EXIF("a name alone", 0, 0, "Exif\0\0"),
};

static void test_exif(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++) {
        const Exif *e = &blocks[i];
        guint8 *block = exactly(e->block, e->size);
        REQUIRE(exif_orientation(block, e->size, FALSE) == e->tag, "%s", e->what);
        REQUIRE(!memcmp(block, e->block, e->size), "%s: changed by a look", e->what);
        REQUIRE(exif_orientation(block, e->size, TRUE) == e->tag, "%s", e->what);
        for (gsize k = 0; k < e->size; k++)
            REQUIRE(block[k] == (k == e->at && e->tag ? 1 : (guint8)e->block[k]), "%s: byte %zu", e->what, k);
        REQUIRE(exif_orientation(block, e->size, FALSE) == (e->tag ? 1 : 0), "%s: once more", e->what);
        free(block);
    }
}

/* Cut anywhere it is read no further, and states the tag only where the whole entry is left. */
static void test_truncated(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        for (gsize size = 0; size < blocks[i].size; size++) {
            guint8 *block = exactly(blocks[i].block, size);
            int tag = exif_orientation(block, size, TRUE);
            REQUIRE(tag == 0 || (tag == blocks[i].tag && size > blocks[i].at), "%s: %zu bytes",
                    blocks[i].what, size);
            free(block);
        }
}

/* ---- XMP ------------------------------------------------------------------------------------------------
 */

static const struct {
    int tag;
    const char *packet, *upright;
} packets[] = {
    {6, "<x tiff:Orientation=\"6\" a=\"6\"/>", "<x tiff:Orientation=\"1\" a=\"6\"/>"},
    {8, "<x a='8' tiff:Orientation = '8'/>", "<x a='8' tiff:Orientation = '1'/>"},
    {3, "<tiff:Orientation>3</tiff:Orientation>3", "<tiff:Orientation>1</tiff:Orientation>3"},
    {5, "<x\n\ttiff:Orientation\n=\n\"5\"/>", "<x\n\ttiff:Orientation\n=\n\"1\"/>"},
    {7, "<tiff:Orientation > 7 </tiff:Orientation>", "<tiff:Orientation > 1 </tiff:Orientation>"},
    {6, "<x tiff:Orientation='6'/><tiff:Orientation>8</tiff:Orientation>",
     "<x tiff:Orientation='1'/><tiff:Orientation>1</tiff:Orientation>"},
    {0, "<x tiff:Orientation='9'/>", NULL},
    {0, "<x tiff:Orientation='0'/>", NULL},
    {0, "<x tiff:Orientation='16'/>", NULL},
    {0, "<x tiff:Orientations='6'/>", NULL},
    {0, "<x mytiff:Orientation='6'/>", NULL},
    {0, "</tiff:Orientation>6", NULL},
    {0, "<x tiff:Orientation=6/>", NULL},
    {0, "<x tiff:Orientation='", NULL},
    {0, "<x tiff:Orientation", NULL},
    {0, "tiff:Orientation", NULL},
    {0, "", NULL},
};

static void test_xmp(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(packets); i++) {
        const char *packet = packets[i].packet, *upright = packets[i].upright ? packets[i].upright : packet;
        gsize size = strlen(packet);
        guint8 *copy = exactly(packet, size);
        REQUIRE(xmp_orientation(copy, size, FALSE) == packets[i].tag, "%s", packet);
        REQUIRE(!memcmp(copy, packet, size), "%s: changed by a look", packet);
        xmp_orientation(copy, size, TRUE);
        REQUIRE(!memcmp(copy, upright, size), "%s: became %.*s", packet, (int)size, copy);
        free(copy);
    }
}

/* ---- Texts ----------------------------------------------------------------------------------------------
 */

static void reset(const Block *block, gpointer tag) {
    int found = block->xmp ? xmp_orientation(block->data, block->size, TRUE)
                           : exif_orientation(block->data, block->size, TRUE);
    if (found)
        *(int *)tag = 10 * block->rank + found;
}

static const struct {
    const char *keyword;
    int found; /* ten times the rank, and the tag */
    const char *text, *upright;
} texts[] = {
    {"Raw profile type exif", 26,
     "\nexif\n      26\n4d4d002a00000008000101120003\n000000010006000000000000\n",
     "\nexif\n      26\n4d4d002a00000008000101120003\n000000010001000000000000\n"},
    {"Raw profile type APP1", 26,
     "\ngeneric profile\n 32\n4578696600004D4D002A00000008 000101120003000000010006000000000000",
     "\ngeneric profile\n 32\n4578696600004D4D002A00000008 000101120003000000010001000000000000"},
    {"Raw profile type APP1", 13, "\nAPP1\n24\n3c7820746966663a4f7269656e746174696f6e3d2733272f3e",
     "\nAPP1\n24\n3c7820746966663a4f7269656e746174696f6e3d2731272f3e"},
    {"Raw profile type xmp", 13, "\nxmp\n24\n3c7820746966663a4f7269656e746174696f6e3d2733272f3e",
     "\nxmp\n24\n3c7820746966663a4f7269656e746174696f6e3d2731272f3e"},
    {"XML:com.adobe.xmp", 15, "<x tiff:Orientation='5'/>", "<x tiff:Orientation='1'/>"},
    {"Raw profile type exif", 0, "\nexif\n      26\n4d4d002a0000000800010112000", NULL}, /* cut */
    {"Raw profile type exif", 0, "\nexif", NULL},
    {"Raw profile type exif", 0, "", NULL},
    {"Raw profile type icc", 0, "\nicc\n26\n4d4d002a00000008000101120003000000010006000000000000", NULL},
    {"Comment", 0, "<x tiff:Orientation='5'/>", NULL},
};

static void test_texts(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        const char *text = texts[i].text, *upright = texts[i].upright ? texts[i].upright : text;
        gsize size = strlen(text);
        guint8 *copy = exactly(text, size);
        int found = 0;
        text_blocks_visit(texts[i].keyword, copy, size, reset, &found);
        REQUIRE(found == texts[i].found, "%s: %s: %d", texts[i].keyword, text, found);
        REQUIRE(!memcmp(copy, upright, size), "%s: became %.*s", text, (int)size, copy);
        free(copy);
    }
}

int main(void) {
    test_exif();
    test_truncated();
    test_xmp();
    test_texts();
    return 0;
}
