/* SPDX-License-Identifier: MIT
 *
 * A PNG as its samples are stored: libpng with no transformation at all.
 */
#ifndef PNG_FILE_H
#define PNG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t width, height;
    int depth, colour_type, interlace, channels;
    int palette_entries;
    uint8_t palette[256][3];
    int alpha_entries; /* tRNS of a palette */
    uint8_t alpha[256];
    bool has_transparent; /* tRNS of the others: one grey or colour */
    uint16_t transparent[3];
    bool has_phys;
    uint32_t phys_x, phys_y;
    int phys_unit;
    size_t row_bytes;
    uint8_t *rows; /* deinterlaced; 16-bit samples with the high byte first */
    char error[200];
} PngFile;

/* False, and a line in error, if it cannot be read to its end. Free it in either case. */
bool png_file_read(PngFile *png, const char *path);
void png_file_free(PngFile *png);

/* A sample, of any depth. */
unsigned png_file_sample(const PngFile *png, size_t x, size_t y, int channel);

#endif
