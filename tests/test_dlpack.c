/* SPDX-License-Identifier: MIT
 *
 * Tensors by DLPack: views of every kind, turned and compared with a loop over strides; and what is refused.
 */
#include <stdbool.h>
#include <string.h>

#include "eight.h"
#include "expect.h"
#include "random.h"
#include "tiletranspose/tt_dlpack.h"

enum { AXES = 4, MOST = 1 << 16 };

/* A tensor, and the memory that its numbers are for. */
typedef struct {
    uint8_t memory[MOST];
    char layout[AXES + 1];
    int64_t shape[AXES], strides[AXES];
    DLManagedTensorVersioned managed;
} Tensor;

static Tensor from, to, expected;
static uint64_t state = 11;

static int64_t length_of(const Tensor *t, char axis) {
    const char *at = strchr(t->layout, axis);
    return at ? t->shape[at - t->layout] : 1;
}

/* Where an element is. */
static uint8_t *element(Tensor *t, int64_t n, int64_t y, int64_t x, int64_t c) {
    const char letters[] = "NHWC";
    const int64_t index[AXES] = {n, y, x, c};
    DLTensor *d = &t->managed.dl_tensor;
    int64_t offset = 0;
    for (int i = 0; i < d->ndim; i++)
        offset += index[strchr(letters, t->layout[i]) - letters] * t->strides[i];
    return (uint8_t *)d->data + d->byte_offset + offset * (d->dtype.bits / 8 * d->dtype.lanes);
}

/* Lays a tensor of these axes out in memory whose order is `order`, with gaps after rows and what is outside
 * them, and turns some axes round. */
static void lay_out(Tensor *t, const char *layout, const char *order, const int64_t lengths[AXES],
                    DLDataType type) {
    const char letters[] = "NHWC";
    int bytes = type.bits / 8 * type.lanes;
    bool in_row = true;
    int64_t distance = 1, first = 0;
    DLTensor *d = &t->managed.dl_tensor;
    strcpy(t->layout, layout);
    d->ndim = (int32_t)strlen(layout);
    for (int k = d->ndim; k-- > 0;) {
        long i = strchr(layout, order[k]) - layout;
        int64_t length = lengths[strchr(letters, order[k]) - letters];
        bool turned = order[k] != 'C' && random_below(&state, 2);
        t->shape[i] = length;
        t->strides[i] = turned ? -distance : distance;
        if (length == 1 && random_below(&state, 2)) /* means nothing, and producers leave anything there */
            t->strides[i] = random_below(&state, 2) ? INT64_MIN : INT64_MAX;
        first += turned ? distance * (length - 1) : 0;
        distance *= length;
        if (order[k] == 'H' || order[k] == 'W' || !in_row) {
            in_row = false;
            distance += (int64_t)random_below(&state, 3) * (int64_t)random_below(&state, 5);
        }
    }
    d->data = t->memory + random_below(&state, 16);
    d->byte_offset = (uint64_t)(first * bytes) + random_below(&state, 16);
    d->device = (DLDevice){kDLCPU, 0};
    d->dtype = type;
    d->shape = t->shape;
    d->strides = t->strides;
    t->managed.version = (DLPackVersion){1, 1};
    if (distance * bytes > MOST - 64)
        abort();
}

static void naive(Tensor *result, TtOrientation o) {
    DLDataType type = from.managed.dl_tensor.dtype;
    int64_t width = length_of(&from, 'W'), height = length_of(&from, 'H');
    for (int64_t n = 0; n < length_of(&from, 'N'); n++)
        for (int64_t y = 0; y < length_of(result, 'H'); y++)
            for (int64_t x = 0; x < length_of(result, 'W'); x++)
                for (int64_t c = 0; c < length_of(&from, 'C'); c++) {
                    Point p = eight_source((int)o, (size_t)width, (size_t)height, (size_t)x, (size_t)y);
                    memcpy(element(result, n, y, x, c), element(&from, n, (int64_t)p.y, (int64_t)p.x, c),
                           type.bits / 8u * type.lanes);
                }
}

static void turn(TtOrientation o) {
    TtTensor src, dst;
    const char *why = "";
    if (!EXPECT(!tt_tensor_open(&from.managed, from.layout, 0, &src, &why), "%s: %s", from.layout, why) ||
        !EXPECT(!tt_tensor_open(&to.managed, to.layout, 1, &dst, &why), "%s: %s", to.layout, why))
        return;
    EXPECT(src.count == (size_t)length_of(&from, 'N') && !src.on_gpu, "%zu images", src.count);
    random_fill(&state, from.memory, MOST);
    random_fill(&state, to.memory, MOST);
    expected = to;
    expected.managed.dl_tensor.data = expected.memory + ((uint8_t *)to.managed.dl_tensor.data - to.memory);
    naive(&expected, o);
    for (size_t i = 0; i < src.count; i++) {
        EXPECT(!tt_orient(&src.image, &dst.image, tt_tensor_turn(&src, o, &dst), NULL), "%s",
               tt_last_error());
        src.image.data = (char *)src.image.data + src.stride;
        dst.image.data = (char *)dst.image.data + dst.stride;
    }
    EXPECT(!memcmp(to.memory, expected.memory, MOST), "%s to %s by %s", from.layout, to.layout,
           tt_orientation_name(o));
}

static void test_turns(void) {
    /* The axes, and the order that they have in memory. */
    static const char *const forms[][2] = {
        {"HW", "HW"},     {"HW", "WH"},     {"HWC", "HWC"},   {"CHW", "CHW"},
        {"HWC", "CHW"},   {"CHW", "HWC"},   {"HWC", "WHC"},   {"CHW", "CWH"},
        {"NHW", "NHW"},   {"NHWC", "NHWC"}, {"NCHW", "NCHW"}, {"NCHW", "NHWC"},
        {"NHWC", "NCHW"}, {"WHN", "NHW"},   {"HWNC", "NHWC"}, {"CWHN", "NCHW"},
    };
    static const DLDataType types[] = {{1, 8, 1}, {1, 16, 1}, {2, 32, 1}, {5, 128, 1}, {1, 8, 3}, {6, 8, 1}};
    enum { FORMS = sizeof(forms) / sizeof(forms[0]), TYPES = sizeof(types) / sizeof(types[0]) };
    for (int trial = 0; trial < 6000; trial++) {
        const char *const *a = forms[trial % FORMS], *const * b;
        do
            b = forms[random_below(&state, FORMS)];
        while (!strchr(a[0], 'N') != !strchr(b[0], 'N') || !strchr(a[0], 'C') != !strchr(b[0], 'C'));
        TtOrientation o = (TtOrientation)(TT_NONE + random_below(&state, 8));
        DLDataType type = types[random_below(&state, TYPES)];
        int64_t lengths[AXES];
        for (int i = 0; i < AXES; i++)
            lengths[i] = 1 + (int64_t)random_below(&state, i == 1 || i == 2 ? 9 : 4);
        lay_out(&from, a[0], a[1], lengths, type);
        if (eight_swaps((int)o)) {
            int64_t height = lengths[1];
            lengths[1] = lengths[2];
            lengths[2] = height;
        }
        lay_out(&to, b[0], b[1], lengths, type);
        turn(o);
    }
}

static void test_without_strides(void) {
    DLTensor *d = &from.managed.dl_tensor;
    TtTensor view;
    lay_out(&from, "NHWC", "NHWC", (int64_t[]){3, 5, 7, 4}, (DLDataType){1, 16, 1});
    d->strides = NULL;
    d->byte_offset = 6;
    EXPECT(!tt_tensor_view(d, "NHWC", &view, NULL), "packed");
    EXPECT(view.image.data == (char *)d->data + 6 && view.image.pitch == 56 && view.stride == 280 &&
               view.image.layout == TT_INTERLEAVED && view.image.sample_bits == 16 && view.seen == TT_NONE,
           "pitch %td, stride %td", view.image.pitch, view.stride);
}

static void test_devices(void) {
    static const struct {
        int type, usable, on_gpu;
    } devices[] = {{1, 1, 0}, {2, 1, 1}, {3, 1, 0}, {13, 1, 1}, {4, 0, 0}, {10, 0, 0}, {14, 0, 0}};
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        TtTensor view;
        lay_out(&from, "HW", "HW", (int64_t[]){1, 5, 7, 1}, (DLDataType){1, 8, 1});
        from.managed.dl_tensor.device = (DLDevice){(DLDeviceType)devices[i].type, 3};
        TtStatus status = tt_tensor_open(&from.managed, "HW", 0, &view, NULL);
        EXPECT((status == TT_OK) == devices[i].usable, "device %d", devices[i].type);
        EXPECT(status || (view.on_gpu == devices[i].on_gpu && view.device == 3 * view.on_gpu), "device %d",
               devices[i].type);
    }
}

static void refused(const char *layout, const char *words) {
    TtTensor view;
    const char *why = "";
    TtStatus status = tt_tensor_open(&from.managed, layout, 1, &view, &why);
    EXPECT(status == TT_ERROR_ARGUMENT && strstr(why, words), "status %d, '%s', not '%s'", (int)status, why,
           words);
    EXPECT(tt_tensor_open(&from.managed, layout, 1, &view, NULL) == status, "without words");
}

/* A good tensor of height 5, width 7 and 4 channels, to be spoilt. */
static DLTensor *good(void) {
    DLTensor *d = &from.managed.dl_tensor;
    lay_out(&from, "HWC", "HWC", (int64_t[]){1, 5, 7, 4}, (DLDataType){1, 8, 1});
    from.managed.flags = 0;
    d->strides[0] = 40, d->strides[1] = 4, d->strides[2] = 1;
    return d;
}

static void test_refusals(void) {
    static const char *const layouts[] = {"HWX", "HHW", "NCW", "HCC", "hwc"};
    TtTensor view;
    good();
    EXPECT(!tt_tensor_open(&from.managed, "HWC", 1, &view, NULL), "the good one is refused");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        refused(layouts[i], "the layout needs H and W");
    refused("HW", "not as many axes");
    refused("NHWC", "not as many axes");
    refused(NULL, "not as many axes");
    refused("", "not as many axes");
    from.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    refused("HWC", "read-only");
    EXPECT(!tt_tensor_open(&from.managed, "HWC", 0, &view, NULL), "a read-only tensor can be read");
    good();
    from.managed.version.major = 2;
    refused("HWC", "version");
    good()->shape[2] = 0;
    refused("HWC", "no pixels");
    good()->shape[0] = -1;
    refused("HWC", "no pixels");
    good()->dtype.bits = 4;
    refused("HWC", "whole bytes");
    good()->dtype = (DLDataType){1, 1, 12};
    refused("HWC", "whole bytes");
    good()->strides[1] = 8;
    refused("HWC", "gaps");
    good()->shape[2] = 3;
    refused("HWC", "gaps");
    good()->strides[2] = -1;
    refused("HWC", "gaps");
    good()->dtype.bits = 16;
    from.strides[0] = INT64_MAX / 2 + 1;
    refused("HWC", "too large");
    good()->strides[0] = INT64_MIN;
    refused("HWC", "too large");
    good()->dtype.bits = 64;
    from.shape[0] = INT64_MAX / 4;
    refused("HWC", "too large");
    good()->shape[2] = INT64_C(1) << 32;
    refused("HWC", "too many channels");
    const char *why = "";
    EXPECT(tt_tensor_open(NULL, "HW", 0, &view, &why) && strstr(why, "NULL"), "'%s'", why);
    EXPECT(tt_tensor_view(NULL, "HW", &view, &why) && strstr(why, "NULL"), "'%s'", why);
}

int main(void) {
    test_turns();
    test_without_strides();
    test_devices();
    test_refusals();
    return expect_result();
}
