#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operation from Python, against NumPy: in pipelines that are read in order, and from memory.

VIPSHOME must name a directory that has the module.
"""
import os
import sys
import tempfile

import python_with

python_with.need("numpy", "pyvips")
import numpy
import pyvips

from numpy_turn import TURNS



def pixels(image):
    array = numpy.ndarray(buffer=image.write_to_memory(), dtype=numpy.uint8,
                          shape=[image.height, image.width, image.bands])
    return array


def expect(image, array, what):
    if not numpy.array_equal(pixels(image), array):
        sys.exit(f"FAILED: {what}")


random = numpy.random.default_rng(1)
array = random.integers(0, 256, (607, 811, 3), dtype=numpy.uint8)
memory = pyvips.Image.new_from_memory(array.tobytes(), 811, 607, 3, "uchar")

if not hasattr(memory, "tt_transpose") and pyvips.type_find("VipsOperation", "tt_transpose") == 0:
    print("skipped: this pyvips has a libvips that loads no modules")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    files = {}
    for suffix in [".png", ".tif", ".tif[tile]", ".tif[compression=deflate]", ".ppm", ".v"]:
        name = os.path.join(folder, f"{len(files)}{suffix}")
        memory.write_to_file(name)
        files[suffix] = name.split("[")[0]
    for orientation, turn in TURNS.items():
        expect(memory.tt_transpose(orientation=orientation), turn(array), f"memory, {orientation}")
        for suffix, name in files.items():
            image = pyvips.Image.new_from_file(name, access="sequential")
            expect(image.tt_transpose(orientation=orientation), turn(array), f"{suffix}, {orientation}")
            # cut, turn, turn, cut
            image = pyvips.Image.new_from_file(name, access="sequential")
            image = image.crop(11, 13, 700, 500).tt_transpose(orientation=orientation)
            image = image.tt_transpose(orientation="rot90").crop(7, 5, 300, 400)
            expected = TURNS["rot90"](turn(array[13:513, 11:711]))[5:405, 7:307]
            expect(image, expected, f"{suffix}, pipeline, {orientation}")
            if not suffix.startswith((".png", ".tif")):
                continue
            with open(name, "rb") as file:  # a source that has no name
                image = pyvips.Image.new_from_buffer(file.read(), "", access="sequential")
            expect(image.tt_transpose(orientation=orientation), turn(array), f"{suffix} in memory, {orientation}")

expect(memory.tt_transpose(), TURNS["transpose"](array), "default")

tagged = memory.copy()
tagged.set_type(pyvips.GValue.gint_type, "orientation", 6)
upright = tagged.tt_transpose(orientation="auto")
expect(upright, TURNS["rot90"](array), "auto")
assert upright.get_typeof("orientation") == 0
assert tagged.get("orientation") == 6
expect(upright.tt_transpose(orientation="auto"), TURNS["rot90"](array), "auto again")

for options, words in [
    ({"orientation": "rot45"}, "rot45"),
    ({"backend": "abacus"}, "no backend is named 'abacus'"),
]:
    try:
        memory.tt_transpose(**options)
    except pyvips.Error as error:
        assert words in str(error), str(error)
    else:
        sys.exit(f"FAILED: {options} is taken")

expect(memory.tt_transpose(backend="c", device=0, memory_limit=1 << 40), TURNS["transpose"](array), "options")
