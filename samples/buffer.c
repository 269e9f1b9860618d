/* SPDX-License-Identifier: MIT
 *
 * Turns a picture that is in memory, and shows how the library is called.
 *
 *     cc buffer.c $(pkg-config --cflags --libs tiletranspose)
 */
#include <stdio.h>

#include <tiletranspose/tt.h>

int main(void) {
    /* Three rows of four pixels; a pixel is a letter, so that the result can be read. */
    char picture[3][4] = {{'a', 'b', 'c', 'd'}, {'e', 'f', 'g', 'h'}, {'i', 'j', 'k', 'l'}};
    char turned[4][3];

    /* Where the pixels are: pointer, bytes from row to row, width, height, channels, bits a sample. */
    TtImage from = tt_image(picture, sizeof(picture[0]), 4, 3, 1, 8);
    TtImage to = tt_image(turned, sizeof(turned[0]), 3, 4, 1, 8);

    if (tt_orient(&from, &to, TT_ROT90, NULL)) {
        fprintf(stderr, "buffer: %s\n", tt_last_error());
        return 1;
    }
    for (int y = 0; y < 4; y++)
        printf("%.3s\n", turned[y]);

    /* A pitch may be negative: the same picture read from its last row upward. */
    TtImage upward = tt_image(picture[2], -(ptrdiff_t)sizeof(picture[0]), 4, 3, 1, 8);
    if (tt_orient(&upward, &to, TT_TRANSPOSE, NULL)) {
        fprintf(stderr, "buffer: %s\n", tt_last_error());
        return 1;
    }
    printf("and once more, as a transpose of the rows from below:\n");
    for (int y = 0; y < 4; y++)
        printf("%.3s\n", turned[y]);
    return 0;
}
