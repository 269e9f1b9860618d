#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tt_pngload and tt_pngsave from Python: from and to memory, sources and targets, in many threads at once.

VIPSHOME must name a directory that has the module.
"""
import io
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import python_with

os.environ["TT_PNG"] = "1"
python_with.need("pyvips")
import pyvips

if pyvips.type_find("VipsOperation", "tt_pngload") == 0:
    print("skipped: this pyvips has a libvips that loads no modules")
    sys.exit(77)

# Colours that differ from pixel to pixel, and noise.
x = pyvips.Image.xyz(900, 2000)
noise = pyvips.Image.gaussnoise(900, 2000, mean=20, sigma=8, seed=1)
truth = (x[0] % 251).bandjoin([x[1] % 241, x[0] * x[1] / 977 % 100 + noise]).cast("uchar").copy(interpretation="srgb").copy_memory()
pixels = truth.write_to_memory()


def own(data, **options):
    return pyvips.Operation.call("pngload_buffer", data, **options)


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


# ---- memory, sources, targets ------------------------------------------------------------------------

data = truth.write_to_buffer(".png")
expect(data == truth.tt_pngsave_buffer(), "a suffix chooses tt_pngsave_buffer")
expect(own(data).write_to_memory() == pixels, "what is written is what libvips reads")
for options in ({}, {"access": "sequential"}, {"memory": True}, {"unlimited": True}, {"fail_on": "warning"}):
    image = pyvips.Image.new_from_buffer(data, "", **options)
    expect(image.get("vips-loader") == "tt_pngload_buffer", "the first bytes choose tt_pngload_buffer")
    expect(image.write_to_memory() == pixels, f"memory, {options}")

for seeks in (False, True):
    stream = io.BytesIO(data)
    source = pyvips.SourceCustom()
    source.on_read(lambda size: stream.read(min(size, 1000)))
    if seeks:
        source.on_seek(lambda offset, whence: stream.seek(offset, whence))
    image = pyvips.Image.new_from_source(source, "", access="sequential")
    expect(image.get("vips-loader") == "tt_pngload_source", "the first bytes choose tt_pngload_source")
    expect(image.write_to_memory() == pixels, f"a source of the program's, seekable: {seeks}")

written = io.BytesIO()
target = pyvips.TargetCustom()
target.on_write(written.write)
truth.write_to_target(target, ".png")
expect(written.getvalue() == data, "a target of the program's")

broken = pyvips.TargetCustom()
broken.on_write(lambda chunk: -1)
try:
    truth.write_to_target(broken, ".png")
except pyvips.Error:
    pass
else:
    sys.exit("FAILED: a target that takes nothing")

# ---- many at once --------------------------------------------------------------------------------------


def work(number):
    for turn in range(4):
        image = pyvips.Image.new_from_buffer(data, "", access="sequential" if (number + turn) % 2 else "random")
        if turn == 3:
            part = image.crop(3, 0, 100, 50 + 100 * number).write_to_memory()
            expect(part == truth.crop(3, 0, 100, 50 + 100 * number).write_to_memory(), "eight threads: a part")
        elif turn == 2:
            expect(image.write_to_buffer(".png") == data, "eight threads: other bytes")
        else:
            expect(image.write_to_memory() == pixels, "eight threads: other pixels")


with ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(8)))

# ---- files ---------------------------------------------------------------------------------------------

with tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "picture.png")
    with open(name, "wb") as file:
        file.write(data)
    before = open_files()
    headers = [pyvips.Image.new_from_file(name, access="sequential") for _ in range(20)]
    expect(open_files() == before, "a file is open though only its header was read")
    for image in headers[:5]:
        image.crop(0, 0, 10, 10).write_to_memory()
        expect(open_files() == before, "a file is open though no more of it will be read")
    del headers, image

    # Progress is told, and a picture can be given up on the way.
    seen = []

    def stop(image, progress):
        seen.append(progress.percent)
        if progress.percent > 10:
            image.set_kill(True)

    image = pyvips.Image.new_from_file(name, access="sequential")
    image.set_progress(True)
    image.signal_connect("eval", stop)
    try:
        image.write_to_file(os.path.join(folder, "stopped.png"))
    except pyvips.Error:
        expect(seen and max(seen) < 90, "a kill comes too late")
    else:
        sys.exit("FAILED: a kill is not seen")

    # A file that could not be read is read again when it is whole.
    with open(name, "wb") as file:
        file.write(data[:len(data) // 2])
    try:
        pyvips.Image.new_from_file(name, fail_on="truncated").avg()
    except pyvips.Error as error:
        expect("picture.png is damaged" in str(error), str(error))
    else:
        sys.exit("FAILED: half a file is whole")
    half = pyvips.Image.new_from_file(name).write_to_memory()
    rows = 900 * 3
    good = next(y for y in range(2000) if half[y * rows:(y + 1) * rows] != pixels[y * rows:(y + 1) * rows])
    expect(500 < good < 1500 and not any(half[good * rows:]), "half a file gives half a picture, then zeros")
    with open(name, "wb") as file:
        file.write(data)
    expect(pyvips.Image.new_from_file(name).write_to_memory() == pixels, "libvips kept half a picture")

# ---- savers' options that the command line cannot give ----------------------------------------------------

indexed = truth.tt_pngsave_buffer(palette=True, bitdepth=4, dither=0)
expect(indexed == pyvips.Operation.call("pngsave_buffer", truth, palette=True, bitdepth=4, dither=0), "a palette")
expect(own(truth.tt_pngsave_buffer(filter="sub", interlace=True)).write_to_memory() == pixels, "options")
bare = truth.copy()
bare.set_type(pyvips.GValue.gstr_type, "png-comment-3-Title", "a title")
expect(own(bare.tt_pngsave_buffer()).get("png-comment-0-Title") == "a title", "a text")
print("PNG from Python: all as it should be")
