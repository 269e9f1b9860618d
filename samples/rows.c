/* SPDX-License-Identifier: MIT
 *
 * Turns a picture between a decoder that gives rows and an encoder that takes rows: libpng in, a frame,
 * libpng out.
 *
 *     cc rows.c $(pkg-config --cflags --libs tiletranspose libpng)
 *     ./a.out IN.png OUT.png [ORIENTATION]
 *
 * The frame holds the picture once, already turned, or keeps it in a file where memory is short; beside it
 * there is one band. Of a PNG's other chunks only palette, transparency and resolution are kept here:
 * imgtranspose keeps all.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

#include <tiletranspose/tt_frame.h>

enum { ROWS_OUT = 64 };

static void fail(const char *name, const char *why) {
    fprintf(stderr, "rows: %s: %s\n", name, why);
    exit(1);
}

static void png_failed(png_structp png, png_const_charp why) {
    fail(png_get_error_ptr(png), why);
}

static FILE *open_file(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (!file)
        fail(name, "cannot be opened");
    return file;
}

/* A band of packed rows, of a picture like `shape`, in new memory. */
static TtImage new_band(const TtImage *shape, size_t rows) {
    size_t row_bytes = (shape->width * shape->channels * shape->sample_bits + 7) / 8;
    TtImage band = *shape;
    band.pitch = (ptrdiff_t)row_bytes;
    band.height = rows;
    if (!(band.data = malloc(rows * row_bytes)))
        fail("memory", "there is none for a band");
    return band;
}

static void copy_band(png_structp png, const TtImage *band, void (*row)(png_structp png, png_bytep pixels)) {
    for (size_t y = 0; y < band->height; y++)
        row(png, (png_bytep)band->data + (ptrdiff_t)y * band->pitch);
}

static void read_row(png_structp png, png_bytep pixels) {
    png_read_row(png, pixels, NULL);
}

static void write_row(png_structp png, png_bytep pixels) {
    png_write_row(png, pixels);
}

/* Bands end where the frame likes them to. */
static void decode(png_structp png, TtImage shape, TtFrame *frame) {
    for (size_t y = 0, end; y < shape.height; y = end) {
        end = tt_frame_cut(frame, y);
        TtImage band = new_band(&shape, end - y);
        copy_band(png, &band, read_row);
        if (tt_frame_put(frame, &band, 0, y))
            fail("frame", tt_last_error());
        free(band.data);
    }
}

static void encode(png_structp png, TtImage shape, TtFrame *frame) {
    TtImage band = new_band(&shape, ROWS_OUT);
    for (size_t y = 0; y < shape.height; y += ROWS_OUT) {
        band.height = shape.height - y < ROWS_OUT ? shape.height - y : ROWS_OUT;
        if (tt_frame_read(frame, (TtRect){0, y, shape.width, band.height}, &band))
            fail("frame", tt_last_error());
        copy_band(png, &band, write_row);
    }
    free(band.data);
}

/* The result's header: the source's, with the resolution turned. */
static void describe(png_structp in, png_infop from, png_structp out, png_infop to, TtOrientation o) {
    int swaps = tt_swaps_axes(o), count, unit;
    png_uint_32 width = png_get_image_width(in, from), height = png_get_image_height(in, from), across, down;
    png_colorp palette;
    png_bytep alpha;
    png_color_16p colour;

    png_set_IHDR(out, to, swaps ? height : width, swaps ? width : height, png_get_bit_depth(in, from),
                 png_get_color_type(in, from), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (png_get_PLTE(in, from, &palette, &count))
        png_set_PLTE(out, to, palette, count);
    if (png_get_tRNS(in, from, &alpha, &count, &colour))
        png_set_tRNS(out, to, alpha, count, colour);
    if (png_get_pHYs(in, from, &across, &down, &unit))
        png_set_pHYs(out, to, swaps ? down : across, swaps ? across : down, unit);
}

int main(int argc, char **argv) {
    TtOrientation o = TT_ROT90;
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s IN.png OUT.png [ORIENTATION]\n", argv[0]);
        return 2;
    }
    if (argc == 4 && tt_orientation_parse(argv[3], &o))
        fail(argv[3], tt_last_error());

    FILE *source = open_file(argv[1], "rb");
    png_structp in = png_create_read_struct(PNG_LIBPNG_VER_STRING, argv[1], png_failed, NULL);
    png_infop from = png_create_info_struct(in);
    png_init_io(in, source);
    png_read_info(in, from);
    if (png_get_interlace_type(in, from) != PNG_INTERLACE_NONE)
        fail(argv[1], "is interlaced: its rows do not come one after the other");

    /* Samples of any depth are only moved, those of 16 bits in the file's own byte order. */
    TtImage shape = tt_image(NULL, 0, png_get_image_width(in, from), png_get_image_height(in, from),
                             png_get_channels(in, from), png_get_bit_depth(in, from));
    TtFrame *frame;
    if (tt_frame_new(&shape, o, NULL, &frame))
        fail("frame", tt_last_error());
    decode(in, shape, frame);
    png_read_end(in, NULL);

    FILE *target = open_file(argv[2], "wb");
    png_structp out = png_create_write_struct(PNG_LIBPNG_VER_STRING, argv[2], png_failed, NULL);
    png_infop to = png_create_info_struct(out);
    png_init_io(out, target);
    describe(in, from, out, to, o);
    png_write_info(out, to);
    encode(out, tt_frame_result(frame), frame);
    png_write_end(out, NULL);

    tt_frame_free(frame);
    png_destroy_write_struct(&out, &to);
    png_destroy_read_struct(&in, &from, NULL);
    fclose(source);
    if (fclose(target))
        fail(argv[2], "cannot be written");
    return 0;
}
