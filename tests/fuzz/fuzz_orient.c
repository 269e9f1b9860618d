/* SPDX-License-Identifier: MIT
 *
 * tt_orient() with any geometry, on each backend, against the naive loop; not a byte outside the picture.
 */
#include <stdbool.h>
#include <string.h>

#include "../pictures.h"
#include "../random.h"
#include "fuzz.h"
#include "take.h"

enum { MARGIN = 64, POISON = 0xa5 };

typedef struct {
    TtImage image;
    uint8_t *memory;
    size_t bytes; /* of memory */
} Picture;

static Picture picture_new(TtImage shape, uint64_t *random) {
    Picture p = {.image = shape};
    picture_lay_out(&p.image, random);
    p.bytes = picture_bytes(&p.image) + 2 * MARGIN;
    p.memory = malloc(p.bytes);
    memset(p.memory, POISON, p.bytes);
    picture_place(&p.image, p.memory + MARGIN);
    return p;
}

static TtImage take_shape(Input *input) {
    static const uint32_t bits[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};
    uint32_t sample = bits[take(input, 0, sizeof(bits) / sizeof(bits[0]) - 1)];
    uint32_t channels = sample < 8 ? 1 : (uint32_t)take(input, 1, 9);
    TtImage shape = tt_image(NULL, 0, take(input, 1, 300), take(input, 1, 300), channels, sample);
    shape.layout = sample >= 8 && take(input, 0, 1) ? TT_PLANAR : TT_INTERLEAVED;
    while (shape.width * shape.height * channels * sample > 8 << 20) /* many small ones find more */
        shape.height = (shape.height + 1) / 2;
    return shape;
}

/* What lies between the rows of a picture, and around it, is not its own. */
static void require_outside(const Picture *turned, const Picture *expected) {
    REQUIRE(!memcmp(turned->memory, expected->memory, turned->bytes), "wrong, or a byte outside is touched");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input = {data, size};
    uint64_t random = take_bytes(&input, 4);
    TtOrientation o = (TtOrientation)take(&input, 1, 8);
    size_t backend = take(&input, 0, 7);
    TtImage from = take_shape(&input), to = from;
    if (tt_swaps_axes(o))
        to.width = from.height, to.height = from.width;
    to.layout = from.sample_bits >= 8 && take(&input, 0, 1) ? TT_PLANAR : TT_INTERLEAVED;
    /* A GPU's only by TT_BACKEND=cuda, which is then that of every input. */
    const char *name = getenv("TT_BACKEND") ? NULL : tt_backend_name(backend);
    bool here = name && strcmp(name, "cuda") && !tt_backend_check(name);
    TtOptions options = {.struct_size = sizeof(options),
                         .backend = here ? name : NULL,
                         .threads = (unsigned)take(&input, 0, 3)};

    Picture src = picture_new(from, &random), dst = picture_new(to, &random);
    random_fill(&random, src.memory, src.bytes);
    Picture expected = dst;
    expected.memory = malloc(dst.bytes);
    memset(expected.memory, POISON, dst.bytes);
    picture_place(&expected.image, expected.memory + MARGIN);
    picture_turn(&src.image, &expected.image, (int)o);

    REQUIRE(!tt_orient(&src.image, &dst.image, o, &options), "refused: %s", tt_last_error());
    require_outside(&dst, &expected);
    free(src.memory), free(dst.memory), free(expected.memory);
    return 0;
}
