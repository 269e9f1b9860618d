/* SPDX-License-Identifier: MIT
 *
 * Turns a picture in the middle of a libvips pipeline.
 *
 *     cc libvips_pipeline.c $(pkg-config --cflags --libs vips)
 *     ./a.out IN OUT [ORIENTATION]
 *
 * The picture is read from top to bottom, turned (upright by its tag, unless the third argument says how) and
 * made half as large. libvips must find the module: install it, or let VIPSHOME name a directory that has it.
 */
#include <vips/vips.h>

static int turn_and_halve(const char *in_name, const char *out_name, int orientation) {
    VipsImage *in, *turned = NULL, *half = NULL;
    int result = -1;

    if ((in = vips_image_new_from_file(in_name, "access", VIPS_ACCESS_SEQUENTIAL, NULL)) &&
        !vips_call("tt_transpose", in, &turned, "orientation", orientation, NULL) &&
        !vips_resize(turned, &half, 0.5, NULL))
        result = vips_image_write_to_file(half, out_name, NULL);

    g_clear_object(&half);
    g_clear_object(&turned);
    g_clear_object(&in);
    return result;
}

int main(int argc, char **argv) {
    if (VIPS_INIT(argv[0]))
        vips_error_exit("libvips does not start");
    if (argc != 3 && argc != 4)
        vips_error_exit("usage: %s IN OUT [ORIENTATION]", argv[0]);
    if (!vips_type_find("VipsOperation", "tt_transpose"))
        vips_error_exit("libvips does not find the module of tt_transpose");

    /* From C an orientation is a number, EXIF's, and 0 is auto. The operation's type knows their names. */
    int orientation = 0;
    if (argc == 4 &&
        (orientation = vips_enum_from_nick(argv[0], g_type_from_name("TtOrientation"), argv[3])) < 0)
        vips_error_exit(NULL);
    if (turn_and_halve(argv[1], argv[2], orientation))
        vips_error_exit(NULL);
    vips_shutdown();
    return 0;
}
