/* SPDX-License-Identifier: MIT */
#include "png_file.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_error(png_structp png, png_const_charp message) {
    PngFile *file = png_get_error_ptr(png);
    snprintf(file->error, sizeof(file->error), "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_ancillary(PngFile *file, png_structp png, png_infop info) {
    png_colorp palette;
    if (png_get_PLTE(png, info, &palette, &file->palette_entries))
        for (int i = 0; i < file->palette_entries; i++)
            memcpy(file->palette[i], (uint8_t[]){palette[i].red, palette[i].green, palette[i].blue}, 3);

    png_bytep alpha = NULL;
    png_color_16p colour = NULL;
    int entries = 0;
    if (png_get_tRNS(png, info, &alpha, &entries, &colour)) {
        if (file->colour_type == PNG_COLOR_TYPE_PALETTE) {
            file->alpha_entries = entries;
            memcpy(file->alpha, alpha, (size_t)entries);
        } else {
            bool grey = file->colour_type == PNG_COLOR_TYPE_GRAY;
            file->has_transparent = true;
            file->transparent[0] = grey ? colour->gray : colour->red;
            file->transparent[1] = grey ? 0 : colour->green;
            file->transparent[2] = grey ? 0 : colour->blue;
        }
    }
    file->has_phys = png_get_pHYs(png, info, &file->phys_x, &file->phys_y, &file->phys_unit) != 0;
}

static void read_header(PngFile *file, png_structp png, png_infop info) {
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png, info);
    png_get_IHDR(png, info, &file->width, &file->height, &file->depth, &file->colour_type, &file->interlace,
                 NULL, NULL);
    file->channels = png_get_channels(png, info);
    read_ancillary(file, png, info);
}

static void read_rows(PngFile *file, png_structp png, png_infop info) {
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    file->row_bytes = png_get_rowbytes(png, info);
    file->rows = calloc(file->height, file->row_bytes);
    if (!file->rows)
        png_error(png, "out of memory");
    while (passes--)
        for (size_t y = 0; y < file->height; y++)
            png_read_row(png, file->rows + y * file->row_bytes, NULL);
    png_read_end(png, NULL);
}

bool png_file_read(PngFile *file, const char *path) {
    memset(file, 0, sizeof(*file));
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        snprintf(file->error, sizeof(file->error), "%s", strerror(errno));
        return false;
    }
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, file, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        snprintf(file->error, sizeof(file->error), "out of memory");
    } else if (!setjmp(png_jmpbuf(png))) {
        png_init_io(png, stream);
        read_header(file, png, info);
        read_rows(file, png, info);
    }
    png_destroy_read_struct(&png, &info, NULL);
    fclose(stream);
    return !*file->error;
}

void png_file_free(PngFile *file) {
    free(file->rows);
    file->rows = NULL;
}

unsigned png_file_sample(const PngFile *file, size_t x, size_t y, int channel) {
    const uint8_t *row = file->rows + y * file->row_bytes;
    size_t i = x * (size_t)file->channels + (size_t)channel;
    if (file->depth == 16)
        return (unsigned)row[2 * i] << 8 | row[2 * i + 1];
    size_t bit = i * (size_t)file->depth;
    return (unsigned)row[bit / 8] >> (8 - file->depth - (int)(bit % 8)) & ((1u << file->depth) - 1);
}
