# SPDX-License-Identifier: MIT
"""What the tests of libvips' formats share: pictures made by the command `vips`, and read back by libvips."""
import functools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import pngs
from command import ARGUMENTS, VERSION, CommandTest
from libvips import Library

# The libraries that libvips opens leak, and the search for leaks is lost among its threads.
os.environ["ASAN_OPTIONS"] += ":detect_leaks=0"
ORIENTATIONS = list(ARGUMENTS)  # numbered from 1 as EXIF does
FORMATS = re.search(r"libvips [0-9.]+ \((.*)\)", VERSION)


def vips(*arguments):
    result = subprocess.run(["vips", *arguments], capture_output=True, text=True)
    assert result.returncode == 0, (arguments, result.stderr)
    return result.stdout


def vips_header(path):
    result = subprocess.run(["vipsheader", "-a", path], capture_output=True, text=True)
    assert result.returncode == 0, (path, result.stderr)
    return result.stdout


def has(name):
    """Whether this libvips writes a format; AVIF and HEIF need an encoder too, which may be absent."""
    if name not in FORMATS.group(1).split(", "):
        return False
    if name not in ("AVIF", "HEIF"):
        return True
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/a.png", "wb") as file:
            file.write(pngs.png(8, 8))
        return subprocess.run(["vips", "heifsave", folder + "/a.png", folder + "/a.heic", "--compression",
                               "av1" if name == "AVIF" else "hevc"], capture_output=True).returncode == 0


def every_format():
    """{extension: how vips saves it} of all formats that this libvips writes."""
    saves = {"jpg": ["jpegsave"], "tif": ["tiffsave"], "webp": ["webpsave", "--lossless"], "gif": ["gifsave"], "v": ["copy"],
             "hdr": ["radsave"]}
    for name, extension, save in (("AVIF", "avif", ["heifsave", "--compression", "av1"]), ("HEIF", "heic", ["heifsave"]),
                                  ("JPEG XL", "jxl", ["jxlsave", "--lossless"]), ("JPEG 2000", "jp2", ["jp2ksave", "--lossless"]),
                                  ("BMP", "bmp", ["magicksave", "--format", "bmp"])):
        if has(name):
            saves[extension] = save
    return saves


def opaque(rows):
    """Without alpha, which libvips gives to most GIFs."""
    return [[p[:3] for p in row] for row in rows]


def card(width, height, smooth, depth=8, colour=2):
    """A PNG; with `smooth` one that loses little when it is compressed."""
    if not smooth:
        return pngs.png(width, height, depth, colour)
    rows = b"".join(b"\0" + b"".join(bytes((x * 3 % 256, y * 5 % 256, 99)) for x in range(width)) for y in range(height))
    return pngs.png(width, height, stream=zlib.compress(rows))


class VipsTest(CommandTest):
    def picture(self, name, *save, width=13, height=7, smooth=False, depth=8, colour=2):
        """A file of a format, made by vips."""
        self.write("card.png", card(width, height, smooth, depth, colour))
        vips(save[0], self.path("card.png"), self.path(name), *save[1:])
        os.remove(self.path("card.png"))
        return self.path(name)

    def noise(self, name, *save, edge=97):
        """One that no coding makes small."""
        self.write("card.png", pngs.png(edge, edge, stream=zlib.compress(b"".join(b"\0" + random.randbytes(3 * edge) for _ in range(edge)))))
        vips(save[0], self.path("card.png"), self.path(name), *save[1:])
        os.remove(self.path("card.png"))

    def decode(self, name, options=""):
        return library().rows(self.path(name) + options)

    def field(self, name, field):
        return library().field(self.path(name), field)

    def loses(self, lost, name, says, *options):
        """Turned in place, or else refused there and warned of with -o."""
        data = self.read(name)
        if not lost:
            self.succeeds("--rotate", "90", *options, "--in-place", name)
            self.assertNotEqual(self.read(name), data)
            return
        self.fails(1, "--rotate", "90", *options, "--in-place", name, says=(name + ": ", says, "in place"))
        self.assertEqual(self.read(name), data)
        result = self.run_command("--rotate", "90", *options, "--overwrite", "-o", "out", name)
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
        self.assertIn(b"warning: " + name.encode() + b": ", result.stderr)
        self.assertIn(says.encode(), result.stderr)
        os.remove(self.path("out"))

    def assert_close(self, rows, others, most):
        self.assertEqual((len(rows), len(rows[0])), (len(others), len(others[0])))
        self.assertLessEqual(max(abs(a - b) for r, o in zip(rows, others) for p, q in zip(r, o) for a, b in zip(p, q)), most)

    def tiff(self, name):
        """{tag: value} of the first directory of a little-endian TIFF."""
        data = self.read(name)
        at = struct.unpack("<I", data[4:8])[0]
        return {tag: value & 0xffff if kind == 3 else value for tag, kind, _, value in
                (struct.unpack("<HHII", data[at + 2 + 12 * i:at + 14 + 12 * i])
                 for i in range(struct.unpack("<H", data[at:at + 2])[0]))}


@functools.cache
def library():
    return Library()


def main():
    if not FORMATS or not shutil.which("vips"):
        print("SKIPPED: the formats of libvips are not tested:",
              "there is no command vips" if FORMATS else "the command has none of them on this machine")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
