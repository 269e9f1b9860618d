/* SPDX-License-Identifier: MIT
 *
 * The readers of orientations, in EXIF and XMP, and what turns these blocks: whatever the bytes, an
 * orientation that is read is one of eight, and reset it is 1.
 */
#include <string.h>

#include "../../cli/formats/exif_turn.h"
#include "../../cli/formats/orientation_tag.h"
#include "../../cli/formats/xmp_sizes.h"
#include "folder.h"
#include "take.h"

static void read_and_reset(uint8_t *block, size_t size, int (*orientation)(guint8 *, gsize, gboolean)) {
    int before = orientation(block, size, FALSE);
    REQUIRE(before >= 0 && before <= 8, "orientation %d", before);
    REQUIRE(orientation(block, size, TRUE) == before, "another one when it is reset");
    REQUIRE(orientation(block, size, FALSE) == (before ? 1 : 0), "not 1 afterwards");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input = {data, size};
    TtOrientation turn = (TtOrientation)take(&input, 1, 8);
    guint width = (guint)take(&input, 1, 70000), height = (guint)take(&input, 1, 70000),
          set = (guint)take(&input, 1, 8);
    uint8_t *block = g_memdup2(input.data, input.size);
    if (!input.size)
        return 0;
    read_and_reset(block, input.size, exif_orientation);
    if (exif_set_orientation(block, input.size, (int)set))
        REQUIRE(exif_orientation(block, input.size, FALSE) == (int)set, "%u was set", set);
    exif_turn(block, input.size, turn, width, height, width - width / 3, height, TRUE);
    guint8 *thumbnail = NULL;
    gsize bytes = 0;
    if (exif_thumbnail(block, input.size, &thumbnail, &bytes)) {
        REQUIRE(!thumbnail || (thumbnail >= block && bytes <= (gsize)(block + input.size - thumbnail)),
                "a thumbnail outside");
        if (thumbnail) {
            char *copy = g_memdup2(thumbnail, bytes);
            exif_set_thumbnail(block, input.size, (guint8 *)copy, bytes / 2);
            g_free(copy);
        }
        exif_drop_thumbnail(block, input.size);
    }
    GByteArray *other = exif_with_orientation(block, input.size, (TtOrientation)set);
    if (other) {
        REQUIRE(exif_orientation(other->data, other->len, FALSE) == (int)set, "%u was added", set);
        g_byte_array_unref(other);
    }
    memcpy(block, input.data, input.size);
    read_and_reset(block, input.size, xmp_orientation);
    xmp_set_orientation(block, input.size, (int)set);
    xmp_turn_sizes(block, input.size, turn, width, height, width - width / 3, height);
    g_free(block);
    return 0;
}
