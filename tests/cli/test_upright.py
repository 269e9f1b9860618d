# SPDX-License-Identifier: MIT
"""The sixteen examples of orientation, in every format and carrier of the tag that there is.

usage: test_upright.py IMGTRANSPOSE
"""
import os
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

import pngs
from command import ARGUMENTS, VERSION, CommandTest, turn
from libvips import Library

ORIENTATIONS = list(ARGUMENTS)  # numbered from 1 as EXIF does
INVERSE = {"rot90": "rot270", "rot270": "rot90"}
XMP_KEY, XMP_NAME = b"XML:com.adobe.xmp\0\0\0\0\0", b"http://ns.adobe.com/xap/1.0/\0"


def stored(rows, tag):
    """What is in a file that looks like `rows` when its tag is followed."""
    orientation = ORIENTATIONS[tag - 1]
    return turn(rows, INVERSE.get(orientation, orientation))


def portrait_or_landscape(landscape):
    """A picture of which no two pixels are alike."""
    width, height = (24, 16) if landscape else (16, 24)
    return [[(x * 9, y * 9, (x * 31 + y * 7) % 256) for x in range(width)] for y in range(height)]


def packed(rows):
    return b"".join(bytes(sample for pixel in row for sample in pixel) for row in rows)


def png(rows, *beside):
    stream = zlib.compress(b"".join(b"\0" + packed([row]) for row in rows))
    return pngs.png(len(rows[0]), len(rows), before=b"".join(pngs.chunk(kind, body) for kind, body in beside), stream=stream)


PNG = {"exif-big": lambda tag: (b"eXIf", pngs.exif(tag, ">")), "exif-little": lambda tag: (b"eXIf", pngs.exif(tag, "<")),
       "profile": lambda tag: (b"tEXt", b"Raw profile type exif\0" + pngs.raw_profile(tag)),
       "packed-profile": lambda tag: (b"zTXt", b"Raw profile type APP1\0\0" + zlib.compress(pngs.raw_profile(tag))),
       "xmp-attribute": lambda tag: (b"iTXt", XMP_KEY + pngs.xmp(tag, True)), "xmp-element": lambda tag: (b"iTXt", XMP_KEY + pngs.xmp(tag, False))}


def tiff(rows, tag, order):
    """Of one strip."""
    width, height = len(rows[0]), len(rows)
    entries = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 3, None), (259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, None), (274, 3, 1, tag),
               (277, 3, 1, 3), (278, 3, 1, height), (279, 4, 1, 3 * width * height)]
    bits = 8 + 2 + 12 * len(entries) + 4
    body = b""
    for kind, code, n, value in entries:
        value = {258: bits, 273: bits + 6}.get(kind, value)
        body += struct.pack(order + "HHI", kind, code, n) + (struct.pack(order + "HH", value, 0) if code == 3 and n == 1 else struct.pack(order + "I", value))
    return ((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries)) + body + bytes(4)
            + struct.pack(order + "HHH", 8, 8, 8) + packed(rows))


def webp(plain, width, height, kind, body):
    """A lossless WebP with a chunk beside its picture."""
    at = plain.index(b"VP8L")
    picture = plain[at:at + 8 + (struct.unpack("<I", plain[at + 4:at + 8])[0] + 1) // 2 * 2]
    chunk = lambda kind, body: kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
    flags = 8 if kind == b"EXIF" else 4
    whole = (b"WEBP" + chunk(b"VP8X", struct.pack("<I", flags) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]) + picture
             + chunk(kind, body))
    return b"RIFF" + struct.pack("<I", len(whole)) + whole


class Upright(CommandTest):
    def seen(self, name):
        """The pixels as they are stored, by another program."""
        if name.endswith(".jpg"):
            return subprocess.run(["djpeg", "-dct", "int", self.path(name)], capture_output=True, check=True).stdout
        return LIBRARY.rows(self.path(name))

    def follow(self, examples):
        """{file: how it looks}: turned into a folder, all are so; a second run changes no byte and no date."""
        os.mkdir(self.path("out"))
        self.assertEqual({tag for tag, _ in (name.split("-", 1) for name in examples)}, {str(tag) for tag in range(1, 9)})
        result = self.run_command("-q", "--auto-orient", "-d", "out", *examples)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        for name, want in examples.items():
            self.assertEqual(self.seen("out/" + name), want, name)
        outputs = ["out/" + name for name in examples]
        before = [(self.read(name), os.stat(self.path(name)).st_mtime_ns) for name in outputs]
        self.succeeds("--auto-orient", "--in-place", *outputs)
        self.assertEqual([(self.read(name), os.stat(self.path(name)).st_mtime_ns) for name in outputs], before)
        known = [self.path(name) for name in outputs if not name.endswith(".v")]
        if shutil.which("exiftool") and known:
            said = subprocess.run(["exiftool", "-a", "-n", "-s3", "-Orientation", *known], capture_output=True, text=True).stdout
            self.assertEqual({line for line in said.split("\n") if line.isdigit()}, {"1"}, said)

    def examples(self):
        """(how it looks, the tag, the pixels as they are stored, what its name begins with)."""
        for landscape in (True, False):
            upright = portrait_or_landscape(landscape)
            for tag in range(1, 9):
                yield upright, tag, stored(upright, tag), f"{tag}-{'landscape' if landscape else 'portrait'}-"

    def test_png(self):
        examples = {}
        for upright, tag, rows, start in self.examples():
            other = tag % 8 + 1 if tag > 1 else 1  # with nothing to turn a file stays as it is
            several = [carrier(tag if "exif" in name else other) for name, carrier in PNG.items() if name != "exif-little"]
            for name, carriers in [*((name, [carrier(tag)]) for name, carrier in PNG.items()), ("several", several)]:  # EXIF speaks first
                self.write(start + name + ".png", png(rows, *carriers))
                examples[start + name + ".png"] = upright
        self.follow(examples)

    def test_tiff(self):
        if "TIFF" not in VERSION:
            self.skipTest("the command has no TIFF")
        examples = {}
        for upright, tag, rows, start in self.examples():
            for name, order in (("little", "<"), ("big", ">")):
                self.write(start + name + ".tif", tiff(rows, tag, order))
                examples[start + name + ".tif"] = upright
        self.follow(examples)

    def test_webp(self):
        if "WebP" not in VERSION:
            self.skipTest("the command has no WebP")
        examples = {}
        for upright, tag, rows, start in self.examples():
            self.write("plain.png", png(rows))
            subprocess.run(["vips", "webpsave", self.path("plain.png"), self.path("plain.webp"), "--lossless", "--strip"], check=True)
            for name, kind, body in (("big", b"EXIF", pngs.exif(tag, ">")), ("little", b"EXIF", b"Exif\0\0" + pngs.exif(tag, "<")),
                                     ("attribute", b"XMP ", pngs.xmp(tag, True)), ("element", b"XMP ", pngs.xmp(tag, False))):
                self.write(start + name + ".webp", webp(self.read("plain.webp"), len(rows[0]), len(rows), kind, body))
                examples[start + name + ".webp"] = upright
        self.follow(examples)

    def test_v(self):
        """libvips' own, which keeps a PNG's EXIF as a block and as fields."""
        if "VIPS" not in VERSION:
            self.skipTest("the command has no .v")
        examples = {}
        for upright, tag, rows, start in self.examples():
            self.write("tagged.png", png(rows, PNG["exif-big"](tag), PNG["xmp-element"](tag)))
            subprocess.run(["vips", "copy", self.path("tagged.png"), self.path(start + "in.v")], check=True)
            examples[start + "in.v"] = upright
        self.follow(examples)

    def test_jpeg(self):
        """Whole blocks, which jpegtran moves and whose pixels therefore stay the same."""
        if "libjpeg-turbo" not in VERSION or not all(map(shutil.which, ("cjpeg", "djpeg", "jpegtran"))):
            self.skipTest("the command has no JPEG of its own, or there is no cjpeg, djpeg and jpegtran")
        how = {"fliph": ["-flip", "horizontal"], "rot180": ["-rotate", "180"], "flipv": ["-flip", "vertical"], "transpose": ["-transpose"],
               "rot90": ["-rotate", "90"], "transverse": ["-transverse"], "rot270": ["-rotate", "270"]}
        segment = lambda body: b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body
        examples = {}
        for upright, tag, _, start in self.examples():
            ppm = b"P6 %d %d 255\n" % (len(upright[0]), len(upright)) + packed(upright)
            data = subprocess.run(["cjpeg", "-quality", "90", "-sample", "1x1"], input=ppm, capture_output=True, check=True).stdout
            self.write("upright.jpg", data)
            want, orientation = self.seen("upright.jpg"), ORIENTATIONS[tag - 1]
            if tag > 1:
                turn_back = how[INVERSE.get(orientation, orientation)]
                data = subprocess.run(["jpegtran", "-perfect", *turn_back], input=data, capture_output=True, check=True).stdout
            for name, body in (("big", b"Exif\0\0" + pngs.exif(tag, ">")), ("little", b"Exif\0\0" + pngs.exif(tag, "<")),
                               ("attribute", XMP_NAME + pngs.xmp(tag, True)), ("element", XMP_NAME + pngs.xmp(tag, False))):
                self.write(start + name + ".jpg", data[:2] + segment(body) + data[2:])
                examples[start + name + ".jpg"] = want
        self.follow(examples)


if __name__ == "__main__":
    if not shutil.which("vips"):
        print("SKIPPED: there is no vips to look with")
        sys.exit(77)
    if not shutil.which("exiftool"):
        print("SKIPPED: exiftool's opinion, since there is none")
    LIBRARY = Library()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
