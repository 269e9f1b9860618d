# SPDX-License-Identifier: MIT
"""libvips as another reader of the command's files."""
import ctypes
import os
import struct

SAMPLES = {0: "B", 2: "H", 6: "f"}  # of its band formats


class Library:
    """libvips in this process: a process for each look would take a minute."""

    def __init__(self):
        self.library = ctypes.CDLL("libvips.so.42")
        for name in ("vips_image_new_from_file", "vips_image_write_to_memory", "vips_image_copy_memory"):
            getattr(self.library, name).restype = ctypes.c_void_p
        os.environ["VIPS_WARNING"] = "0"  # its warnings are no findings here
        assert self.library.vips_init(b"test") == 0
        del os.environ["VIPS_WARNING"]
        self.library.vips_cache_set_max(0)

    def open(self, path):
        image = self.library.vips_image_new_from_file(os.fsencode(path), None)
        assert image, path
        return ctypes.c_void_p(image)

    def save_pages(self, path, page_height, to, **options):
        """A copy of several pages, in a format whose saver is told so by the image alone."""
        lib, image = self.library, self.open(path)
        copy = ctypes.c_void_p(lib.vips_image_copy_memory(image))
        lib.vips_image_set_int(copy, b"page-height", page_height)
        flat = [part for name, value in options.items() for part in (name.encode(), value)]
        assert lib.vips_image_write_to_file(copy, os.fsencode(to), *flat, None) == 0, to
        lib.g_object_unref(copy)
        lib.g_object_unref(image)

    def rows(self, path):
        """The pixels, page under page, as rows of tuples of samples."""
        lib, image, size = self.library, self.open(path), ctypes.c_size_t()
        memory = lib.vips_image_write_to_memory(image, ctypes.byref(size))
        assert memory, path
        data = ctypes.string_at(memory, size.value)
        width, height, bands = lib.vips_image_get_width(image), lib.vips_image_get_height(image), lib.vips_image_get_bands(image)
        samples = struct.unpack(f"{width * height * bands}" + SAMPLES[lib.vips_image_get_format(image)], data)
        lib.g_free(ctypes.c_void_p(memory))
        lib.g_object_unref(image)
        pels = list(zip(*[iter(samples)] * bands))
        return [pels[y * width:(y + 1) * width] for y in range(height)]

    def field(self, path, field):
        """As text; None if there is no such field."""
        lib, image, text = self.library, self.open(path), ctypes.c_char_p()
        found = lib.vips_image_get_typeof(image, field.encode()) and not lib.vips_image_get_as_string(
            image, field.encode(), ctypes.byref(text))
        lib.g_object_unref(image)
        return text.value.decode() if found else None
