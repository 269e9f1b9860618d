/* SPDX-License-Identifier: MIT
 *
 *     libpng_size FILE...
 *
 * For each PNG three numbers: the bytes of its IDAT chunks, of those that libpng makes of the same picture by
 * its defaults, and of its rows without compression.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned char head[8];
    size_t have, skip, pixels; /* bytes of the head so far, of the chunk to come, of IDAT chunks */
} Count;

/* Looks at a PNG behind its signature, as it passes by. */
static void count(Count *c, const unsigned char *data, size_t size) {
    while (size) {
        size_t n = c->skip < size ? c->skip : size;
        data += n;
        size -= n;
        c->skip -= n;
        for (; size && !c->skip && c->have < 8; size--)
            c->head[c->have++] = *data++;
        if (c->have == 8 && !c->skip) {
            c->skip = ((size_t)c->head[0] << 24 | c->head[1] << 16 | c->head[2] << 8 | c->head[3]) + 4;
            if (!memcmp(c->head + 4, "IDAT", 4))
                c->pixels += c->skip + 8;
            c->have = 0;
        }
    }
}

static void on_write(png_structp png, png_bytep data, size_t size) {
    count(png_get_io_ptr(png), data, size);
}

static void on_flush(png_structp png) {
    (void)png;
}

static size_t stored(const char *path) {
    Count c = {.skip = 8};
    unsigned char buffer[65536];
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(buffer, 1, sizeof(buffer), file));)
        count(&c, buffer, n);
    if (file)
        fclose(file);
    return c.pixels;
}

static size_t by_libpng(const char *path, size_t *rows) {
    FILE *file = fopen(path, "rb");
    png_structp in = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_structp out = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(in);
    Count c = {.skip = 8};
    if (!file || setjmp(png_jmpbuf(in)) || setjmp(png_jmpbuf(out)))
        return 0;
    png_init_io(in, file);
    png_read_png(in, info, PNG_TRANSFORM_IDENTITY, NULL);
    *rows = (png_get_rowbytes(in, info) + 1) * png_get_image_height(in, info);
    png_set_write_fn(out, &c, on_write, on_flush);
    png_write_png(out, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_read_struct(&in, &info, NULL);
    png_destroy_write_struct(&out, NULL);
    fclose(file);
    return c.pixels;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t rows = 0, libpngs = by_libpng(argv[i], &rows);
        printf("%zu %zu %zu\n", stored(argv[i]), libpngs, rows);
    }
    return 0;
}
