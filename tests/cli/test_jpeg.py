# SPDX-License-Identifier: MIT
"""JPEGs turned without loss, beside jpegtran, and read by djpeg.

usage: test_jpeg.py IMGTRANSPOSE
"""
import os
import random
import shutil
import struct
import subprocess
import sys
import unittest

import pngs
from command import ARGUMENTS, VERSION, CommandTest, turn

JPEGTRAN = {"fliph": ["-flip", "horizontal"], "rot180": ["-rotate", "180"], "flipv": ["-flip", "vertical"], "transpose": ["-transpose"],
            "rot90": ["-rotate", "90"], "transverse": ["-transverse"], "rot270": ["-rotate", "270"]}
ORIENTATIONS = list(ARGUMENTS)  # numbered from 1 as EXIF does
INVERSE = {"rot90": "rot270", "rot270": "rot90"}
VARIANTS = {"444": ["-sample", "1x1"], "422": ["-sample", "2x1"], "420": ["-sample", "2x2"], "440": ["-sample", "1x2"], "411": ["-sample", "4x1"],
            "odd": ["-sample", "2x2,1x2,2x1"], "rgb": ["-rgb"], "grey": ["-grayscale"], "grey2": ["-grayscale", "-sample", "2x2"],
            "optimised": ["-optimize"], "progressive": ["-progressive"],
            "arithmetic": ["-arithmetic"], "both": ["-arithmetic", "-progressive"], "restarts": ["-restart", "1"], "restarts_blocks": ["-restart", "3B"]}
XMP = b"http://ns.adobe.com/xap/1.0/\0"


def run(*arguments, data=None):
    result = subprocess.run(arguments, input=data, capture_output=True)
    assert result.returncode == 0, (arguments, result.stderr)
    return result.stdout


def ppm(width, height, seed=1):
    """A smooth picture with some noise, in which no two corners are alike."""
    noise = random.Random(seed)
    pixels = bytes(min(255, (x * 2 + 40 * c + y * (c + 1) + noise.randrange(12)) % 256) for y in range(height) for x in range(width) for c in range(3))
    return b"P6 %d %d 255\n" % (width, height) + pixels


def segment(marker, body):
    return bytes((0xff, marker)) + struct.pack(">H", len(body) + 2) + body


def segments(data):
    """(marker, body) up to the first scan."""
    at, found = 2, []
    while data[at + 1] != 0xda:
        size = struct.unpack(">H", data[at + 2:at + 4])[0]
        found.append((data[at + 1], data[at + 4:at + 2 + size]))
        at += 2 + size
    return found


def beside(data):
    """What describes the picture."""
    return [(marker, body) for marker, body in segments(data) if 0xe0 <= marker <= 0xef or marker == 0xfe]


def frame(data):
    """(marker, [(sampling, quantisation)]) of the frame."""
    tables = {}
    for marker, body in segments(data):
        while marker == 0xdb and body:
            tables[body[0] & 15] = body[1:65]
            body = body[65:]
    for marker, body in segments(data):
        if marker in (0xc0, 0xc1, 0xc2, 0xc9, 0xca):
            return marker, [(body[7 + 3 * i], tables[body[8 + 3 * i]]) for i in range(body[5])]
    raise AssertionError("no frame")


def tiff(order, first, exif=(), second=None, thumbnail=b""):
    """An EXIF block of directories of (tag, kind, values); kind 5 takes pairs."""
    data = bytearray(b"MM\0*" if order == ">" else b"II*\0") + bytes(4)

    def put(entries, following=0):
        body, count = b"", len(entries)
        for tag, kind, values in entries:
            code = {2: "s", 3: "H", 4: "I", 5: "I"}[kind]
            n = len(values)
            packed = values if kind == 2 else b"".join(struct.pack(order + code * (len(v) if kind == 5 else 1), *(v if kind == 5 else (v,))) for v in values)
            if len(packed) > 4:
                offset = len(data)
                data.extend(packed + bytes(len(packed) % 2))
                packed = struct.pack(order + "I", offset)
            body += struct.pack(order + "HHI", tag, kind, n) + packed.ljust(4, b"\0")
        at = len(data)
        data.extend(struct.pack(order + "H", count) + body + struct.pack(order + "I", following))
        return at

    following = 0
    if second is not None:
        at = len(data)
        data.extend(thumbnail + bytes(len(thumbnail) % 2))
        if thumbnail:
            second = [*second, (0x201, 4, [at]), (0x202, 4, [len(thumbnail)])]
        following = put(second)
    if exif:
        first = [*first, (0x8769, 4, [put(exif)])]
    data[4:8] = struct.pack(order + "I", put(first, following))
    return b"Exif\0\0" + bytes(data)


def values(block, directory=None):
    """{tag: (kind, the bytes of the value)} of a directory, IFD0 without one, and the offset of the next."""
    data, order = block[6:], ">" if block[6:7] == b"M" else "<"
    at = directory or struct.unpack(order + "I", data[4:8])[0]
    found, count = {}, struct.unpack(order + "H", data[at:at + 2])[0]
    for i in range(count):
        tag, kind, n = struct.unpack(order + "HHI", data[at + 2 + 12 * i:at + 10 + 12 * i])
        size, raw = n * {2: 1, 3: 2, 4: 4, 5: 8}[kind], data[at + 10 + 12 * i:at + 14 + 12 * i]
        if size > 4:
            offset = struct.unpack(order + "I", raw)[0]
            raw = data[offset:offset + size]
        code = {2: "s", 3: "H", 4: "I", 5: "I"}[kind]
        found[tag] = raw[:size] if kind == 2 else list(struct.unpack(order + code * (size // struct.calcsize(code)), raw[:size]))
    return found, struct.unpack(order + "I", data[at + 2 + 12 * count:at + 6 + 12 * count])[0]


class JpegTest(CommandTest):
    def make(self, name, *options, width=48, height=32, seed=1):
        return self.write(name, run("cjpeg", "-quality", "85", *options, data=ppm(width, height, seed)))

    def add(self, name, *extra, behind=b""):
        """Puts segments behind the first, JFIF's."""
        data = self.read(name)
        at = 4 + struct.unpack(">H", data[4:6])[0] if data[3] == 0xe0 else 2
        at = at if data[3] != 0xe0 else 2 + 2 + struct.unpack(">H", data[4:6])[0]
        return self.write(name, data[:at] + b"".join(extra) + data[at:] + behind)

    def decode(self, name):
        return run("djpeg", "-dct", "int", self.path(name))

    def rows(self, name):
        header, data = b"", self.decode(name)
        for _ in range(3):
            line, data = data.split(b"\n", 1)
            header += line + b" "
        kind, width, height = header.split()[0], int(header.split()[1]), int(header.split()[2])
        bands = 3 if kind == b"P6" else 1
        pixels = [tuple(data[i:i + bands]) for i in range(0, len(data), bands)]
        return [pixels[y * width:(y + 1) * width] for y in range(height)]

    def assert_close(self, got, want, mean):
        self.assertEqual((len(got), len(got[0])), (len(want), len(want[0])))
        off = [abs(a - b) for x, y in zip(got, want) for p, q in zip(x, y) for a, b in zip(p, q)]
        self.assertLess(sum(off) / len(off), mean)

    def jpegtran(self, name, out, *options):
        """Whether it could."""
        return subprocess.run(["jpegtran", "-copy", "all", *options, "-outfile", self.path(out), self.path(name)], capture_output=True).returncode == 0


class Pixels(JpegTest):
    def test_as_jpegtran(self):
        """Every variant, turn and kind of size: the same pixels, or refused by both."""
        os.mkdir(self.path("out"))
        done = refused = 0
        for variant, options in VARIANTS.items():
            for width, height in ((64, 32), (64, 37), (51, 32), (51, 37), (8, 8), (1, 1)):
                self.make("in.jpg", *options, width=width, height=height)
                for orientation, how in JPEGTRAN.items():
                    if self.jpegtran("in.jpg", "want.jpg", "-perfect", *how):
                        self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-d", "out", "in.jpg")
                        self.assertEqual(self.decode("out/in.jpg"), self.decode("want.jpg"), (variant, width, height, orientation))
                        done += 1
                    else:
                        self.fails(1, *ARGUMENTS[orientation], "--overwrite", "-d", "out", "in.jpg",
                                   says=("in.jpg: cannot be turned so without loss", "--jpeg trim", "--jpeg reencode", "--jpeg tag"))
                        refused += 1
        self.assertGreater(min(done, refused), 100)

    def test_four_colours(self):
        """CMYK, and YCCK as Adobe has it."""
        if not shutil.which("convert"):
            print("SKIPPED: CMYK, since there is no convert to make one")
            return
        self.write("in.ppm", ppm(48, 32))
        run("convert", self.path("in.ppm"), "-colorspace", "CMYK", "-sampling-factor", "1x1", self.path("in.jpg"))
        self.assertEqual(len(frame(self.read("in.jpg"))[1]), 4)
        for orientation, how in JPEGTRAN.items():
            self.assertTrue(self.jpegtran("in.jpg", "want.jpg", "-perfect", *how))
            self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "out.jpg", "in.jpg")
            self.assertEqual(self.decode("out.jpg"), self.decode("want.jpg"), orientation)
            self.assertEqual([s for s in beside(self.read("out.jpg")) if s[0] == 0xee], [s for s in beside(self.read("in.jpg")) if s[0] == 0xee])

    def test_four_quarter_turns(self):
        for variant, options in VARIANTS.items():
            self.make("in.jpg", *options, width=64, height=96)
            before, size = self.decode("in.jpg"), os.path.getsize(self.path("in.jpg"))
            for way in ("90", "270"):
                for _ in range(4):
                    self.succeeds("--rotate", way, "--in-place", "in.jpg")
                self.assertEqual(self.decode("in.jpg"), before, variant)
                self.assertLess(os.path.getsize(self.path("in.jpg")), size * 1.05, variant)

    def test_coding_is_kept(self):
        transposed = lambda table: bytes(natural(table)[u * 8 + v] for v in range(8) for u in range(8))
        for variant, options in VARIANTS.items():
            self.make("in.jpg", *options, width=64, height=64)
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
            (before, old), (after, new) = frame(self.read("in.jpg")), frame(self.read("out.jpg"))
            self.assertEqual(after, before, variant)
            for (sampling, table), (turned_sampling, turned_table) in zip(old, new):
                if len(old) > 1:
                    self.assertEqual(turned_sampling, sampling >> 4 | (sampling & 15) << 4, variant)
                self.assertEqual(natural(turned_table), transposed(table), variant)
            self.assertEqual(b"\xff\xdd" in self.read("out.jpg"), variant.startswith("restarts"), variant)

    def test_trim(self):
        for variant in ("444", "420", "422", "grey", "progressive"):
            self.make("in.jpg", *VARIANTS[variant], width=53, height=45)
            data = self.read("in.jpg")
            for orientation, how in JPEGTRAN.items():
                self.assertTrue(self.jpegtran("in.jpg", "want.jpg", "-trim", *how))
                result = self.run_command("--jpeg", "trim", *ARGUMENTS[orientation], "--overwrite", "-o", "out.jpg", "in.jpg")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.decode("out.jpg"), self.decode("want.jpg"), (variant, orientation))
                loses = orientation != "transpose"
                self.assertEqual(result.stderr.count(b"\n"), loses, result.stderr)
                if loses:
                    self.assertIn(b"cut off", result.stderr)
                    self.fails(1, "--jpeg", "trim", *ARGUMENTS[orientation], "--in-place", "in.jpg", says=("cut off", "in place", "use -o"))
            self.assertEqual(self.read("in.jpg"), data)
        self.make("in.jpg", width=7, height=3)
        self.fails(1, "--jpeg", "trim", "--rotate", "90", "-o", "new.jpg", "in.jpg", says=("too small",))

    def test_world_files(self):
        """A trimmed picture's would be wrong, and one that is turned by its tag keeps what it says."""
        world = b"2\n0\n0\n-3\n100\n0.5\n"
        self.write("in.jgw", world)
        self.make("in.jpg", "-sample", "2x2", width=53, height=45)
        trim, rewrite = ("--jpeg", "trim", "--rotate", "180"), ("--geo", "rewrite", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.fails(1, *trim, *rewrite, says=("in.jpg: ", "in.jgw", "cannot follow", "another --jpeg"))
        self.fails(1, *trim, "-o", "out.jpg", "in.jpg", says=("in.jpg: ", "in.jgw", "cannot follow", "another --jpeg"))
        self.assertEqual(self.files(), ["in.jgw", "in.jpg"])
        self.succeeds("--jpeg", "trim", "--transpose", *rewrite)  # cuts nothing off
        self.assertEqual(self.read("out.jgw"), b"0\n-3\n2\n0\n100\n0.5\n")
        self.fails(0, "--jpeg", "reencode", "--rotate", "180", *rewrite, says=("compressed again",))
        self.assertEqual(self.read("out.jgw"), b"-2\n0\n0\n3\n204\n-131.5\n")
        os.remove(self.path("out.jgw"))
        self.fails(0, "--jpeg", "tag", "--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg", says=("warning", "in.jgw", "--geo rewrite"))
        self.assertEqual(self.files(), ["in.jgw", "in.jpg", "out.jpg"])
        self.succeeds("--jpeg", "tag", "--rotate", "90", *rewrite)
        self.assertEqual(self.read("out.jgw"), world)
        self.succeeds("--jpeg", "tag", "--rotate", "90", "--in-place", "in.jpg")
        self.assertEqual(self.read("in.jgw"), world)

    def test_how_much_a_trim_costs(self):
        self.make("in.jpg", "-sample", "2x2", width=53, height=45)
        for arguments, cost in ((["--flip", "horizontal"], "5 columns do"), (["--flip", "vertical"], "13 rows do"), (["--rotate", "180"], "5 columns and 13 rows do"),
                                (["--rotate", "90"], "13 rows do"), (["--rotate", "270"], "5 columns do")):
            self.fails(1, *arguments, "-o", "out.jpg", "in.jpg", says=(cost,))
        self.assertEqual(self.files(), ["in.jpg"])

    def test_reencode(self):
        for variant in ("444", "420", "422", "440", "grey", "progressive", "arithmetic"):
            self.make("in.jpg", *VARIANTS[variant], width=53, height=45)
            for orientation in JPEGTRAN:
                if orientation == "transpose":
                    continue
                result = self.run_command("--jpeg", "reencode", *ARGUMENTS[orientation], "--overwrite", "-o", "out.jpg", "in.jpg")
                self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
                self.assertIn(b"compressed again", result.stderr)
                self.assert_close(self.rows("out.jpg"), turn(self.rows("in.jpg"), orientation), 3)
                marker, components = frame(self.read("out.jpg"))
                self.assertEqual((marker, sorted(natural(t)[:1] for _, t in components)), (frame(self.read("in.jpg"))[0], sorted(natural(t)[:1] for _, t in frame(self.read("in.jpg"))[1])))
            self.fails(1, "--jpeg", "reencode", "--rotate", "180", "--in-place", "in.jpg", says=("compressed again", "in place"))
        self.make("in.jpg")  # what can be turned without loss is
        self.succeeds("--jpeg", "reencode", "--rotate", "90", "--in-place", "in.jpg")

    def test_nothing_to_turn(self):
        self.make("in.jpg", width=51, height=37)
        data, date = self.read("in.jpg"), os.stat(self.path("in.jpg")).st_mtime_ns
        self.succeeds("--auto-orient", "--in-place", "in.jpg")
        self.succeeds("--rotate", "90", "--rotate", "270", "--in-place", "in.jpg")
        self.assertEqual((self.read("in.jpg"), os.stat(self.path("in.jpg")).st_mtime_ns), (data, date))
        self.succeeds("--auto-orient", "-o", "out.jpg", "in.jpg")
        self.assertEqual(self.read("out.jpg"), data)


ZIGZAG = [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22,
          15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63]


def natural(table):
    """A table of zigzag order by rows."""
    rows = bytearray(64)
    for i, at in enumerate(ZIGZAG):
        rows[at] = table[i]
    return bytes(rows)


class Orientation(JpegTest):
    def example(self, tag, landscape, order=">"):
        """A picture that is upright by this tag, and how it then looks."""
        width, height = (64, 48) if landscape else (48, 64)
        orientation = ORIENTATIONS[tag - 1]
        self.make("upright.jpg", "-sample", "2x2", width=width, height=height)
        back = INVERSE.get(orientation, orientation)
        if back == "none":
            shutil.copy(self.path("upright.jpg"), self.path("in.jpg"))
        else:
            self.assertTrue(self.jpegtran("upright.jpg", "in.jpg", "-perfect", *JPEGTRAN[back]))
        self.add("in.jpg", segment(0xe1, b"Exif\0\0" + pngs.exif(tag, order)), segment(0xe1, XMP + b'<x tiff:Orientation="%d"/>' % tag),
                 segment(0xe1, XMP + b"<tiff:Orientation>%d</tiff:Orientation>" % tag))

    def test_sixteen_examples(self):
        for landscape in (True, False):
            for tag in range(1, 9):
                for order in "<>":
                    self.example(tag, landscape, order)
                    before = self.read("in.jpg")
                    self.succeeds("--auto-orient", "--in-place", "in.jpg")
                    if tag == 1:
                        self.assertEqual(self.read("in.jpg"), before)
                    self.assertEqual(self.decode("in.jpg"), self.decode("upright.jpg"), tag)
                    bodies = [body for marker, body in beside(self.read("in.jpg")) if marker == 0xe1]
                    self.assertEqual(bodies, [b"Exif\0\0" + pngs.exif(1, order), XMP + b'<x tiff:Orientation="1"/>', XMP + b"<tiff:Orientation>1</tiff:Orientation>"])
                    data, date = self.read("in.jpg"), os.stat(self.path("in.jpg")).st_mtime_ns
                    self.succeeds("--auto-orient", "--in-place", "in.jpg")
                    self.assertEqual((self.read("in.jpg"), os.stat(self.path("in.jpg")).st_mtime_ns), (data, date))

    def test_turned_as_seen_or_as_stored(self):
        for tag in range(1, 9):
            for orientation in JPEGTRAN:
                self.example(tag, True)
                self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "seen.jpg", "in.jpg")
                self.jpegtran("upright.jpg", "want.jpg", "-perfect", *JPEGTRAN[orientation])
                self.assertEqual(self.decode("seen.jpg"), self.decode("want.jpg"), (tag, orientation))
                self.succeeds("--stored", *ARGUMENTS[orientation], "--overwrite", "-o", "stored.jpg", "in.jpg")
                self.jpegtran("in.jpg", "want.jpg", "-perfect", *JPEGTRAN[orientation])
                self.assertEqual(self.decode("stored.jpg"), self.decode("want.jpg"), (tag, orientation))
                self.assertEqual(beside(self.read("stored.jpg")), beside(self.read("in.jpg")))

    def test_by_the_tag_alone(self):
        """Two bytes change, and what is seen is what a turn of the pixels gives."""
        for tag in range(1, 9):
            for orientation in JPEGTRAN:
                self.example(tag, True, "<>"[tag % 2])
                before = self.read("in.jpg")
                self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "want.jpg", "in.jpg")
                self.succeeds("--jpeg", "tag", *ARGUMENTS[orientation], "--in-place", "in.jpg")
                after = self.read("in.jpg")
                self.assertEqual(len(after), len(before))
                self.assertEqual(sum(a != b for a, b in zip(before, after)), 3)  # EXIF, and XMP twice
                self.succeeds("--auto-orient", "--overwrite", "-o", "seen.jpg", "in.jpg")
                self.assertEqual(self.decode("seen.jpg"), self.decode("want.jpg"), (tag, orientation))
        self.succeeds("--jpeg", "tag", "--auto-orient", "--in-place", "in.jpg")
        self.assertEqual(self.read("in.jpg"), after)
        self.fails(2, "--jpeg", "tag", "--stored", "--rotate", "90", "-o", "x.jpg", "in.jpg", says=("--stored",))

    def test_a_tag_where_there_was_none(self):
        self.make("plain.jpg", "-sample", "2x2", width=53, height=45)
        plain = self.read("plain.jpg")
        for block in (None, tiff("<", [(0x10f, 2, b"me\0"), (0x132, 2, b"2026:11:30 00:00:00\0")]), tiff(">", [(0x10f, 2, b"maker and more\0")], [(0xa002, 4, [53])]),
                      tiff(">", [(0x112, 2, b"x\0")]), b"Exif\0\0" + bytes(20), b"Exif\0\0II*\0\xff\xff\xff\0"):
            self.write("in.jpg", plain)
            if block:
                self.add("in.jpg", segment(0xe1, block), segment(0xfe, b"words"))
            self.succeeds("--jpeg", "tag", "--rotate", "90", "--in-place", "in.jpg")
            data = self.read("in.jpg")
            self.assertEqual(data[data.index(b"\xff\xda"):], plain[plain.index(b"\xff\xda"):])
            exif = [body for marker, body in beside(data) if marker == 0xe1]
            self.assertEqual(len(exif), 1)
            found, _ = values(exif[0])
            self.assertEqual(found[0x112], [6])
            self.assertEqual(list(found), sorted(found))
            if block and len(block) > 40 and block[8:10] != b"\0\0":
                old, _ = values(block)
                self.assertEqual({k: v for k, v in found.items() if k != 0x112}, {k: v for k, v in old.items() if k != 0x112})
            if shutil.which("exiftool"):
                self.assertEqual(run("exiftool", "-s3", "-n", "-Orientation", self.path("in.jpg")).strip(), b"6")

    def test_damaged_neighbours(self):
        """Entries beside the tag point nowhere, or are of no kind."""
        bad = [(0x10e, 99, 0xffffffff, 0xffffffff), (0x10f, 2, 0x7fffffff, 0xfffffff0), (0x112, 3, 1, None), (0x11a, 5, 1, 0xfffffff0), (0x8769, 4, 1, 0xfffffffe)]
        block = b"Exif\0\0MM\0*" + struct.pack(">IH", 8, len(bad) + 40)
        for tag, kind, n, value in bad:
            block += struct.pack(">HHI", tag, kind, n) + (struct.pack(">HH", 8, 0) if value is None else struct.pack(">I", value))
        self.make("in.jpg")
        self.add("in.jpg", segment(0xe1, block))
        self.jpegtran("in.jpg", "want.jpg", "-rotate", "270")
        self.succeeds("--auto-orient", "--in-place", "in.jpg")
        self.assertEqual(self.decode("in.jpg"), self.decode("want.jpg"))
        self.assertIn(block.replace(struct.pack(">HHIHH", 0x112, 3, 1, 8, 0), struct.pack(">HHIHH", 0x112, 3, 1, 1, 0)), self.read("in.jpg"))


class Beside(JpegTest):
    def test_what_says_nothing_of_places_is_kept(self):
        """To the byte and in order, and what follows the picture too."""
        self.make("in.jpg")
        resource = lambda number, body: b"8BIM" + struct.pack(">HHI", number, 0, len(body)) + body + bytes(len(body) % 2)
        kept = [segment(0xfe, b"words"), segment(0xe2, b"ICC_PROFILE\0\1\2" + bytes(range(256)) * 200), segment(0xe2, b"ICC_PROFILE\0\2\2rest"),
                segment(0xed, b"Photoshop 3.0\0" + resource(0x404, b"\x1c\2\5\0\4name")), segment(0xe7, b"x"), segment(0xe1, b"http://ns.adobe.com/xmp/extension/\0x"),
                segment(0xe1, b"anything"), segment(0xef, bytes(65533)), segment(0xfe, b""), segment(0xe3, b"JPS")]
        self.add("in.jpg", *kept, behind=b"film" * 9999)
        for arguments in (["--rotate", "90"], ["--flip", "vertical"], ["--jpeg", "tag", "--transpose"]):
            self.succeeds(*arguments, "--overwrite", "-o", "out.jpg", "in.jpg")
            after = beside(self.read("out.jpg"))
            if "tag" in arguments:
                del after[1]
            self.assertEqual(after, beside(self.read("in.jpg")))
            self.assertTrue(self.read("out.jpg").endswith(b"\xff\xd9" + b"film" * 9999))
        self.succeeds("--rotate", "90", "--in-place", "in.jpg")
        self.succeeds("--strip", "--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.assertEqual([body[:5] for _, body in beside(self.read("out.jpg"))], [b"JFIF\0", b"ICC_P", b"ICC_P"])
        self.assertTrue(self.read("out.jpg").endswith(b"\xff\xd9"))

    def test_strip_keeps_a_tag_that_is_to_be_followed(self):
        self.make("plain.jpg")
        for arguments, tag in ((["--auto-orient"], None), (["--rotate", "90", "--stored"], 6), (["--jpeg", "tag", "--rotate", "90"], 3)):
            shutil.copy(self.path("plain.jpg"), self.path("in.jpg"))
            self.add("in.jpg", segment(0xe1, b"Exif\0\0" + pngs.exif(6)), segment(0xfe, b"words"), behind=b"film")
            self.succeeds("--strip", *arguments, "--overwrite", "-o", "out.jpg", "in.jpg")
            found = [values(body)[0] for marker, body in beside(self.read("out.jpg")) if marker == 0xe1]
            self.assertEqual(found, [{0x112: [tag]}] if tag else [])
            self.assertNotIn(b"words", self.read("out.jpg"))
            self.assertNotIn(b"film", self.read("out.jpg"))
            self.decode("out.jpg")

    def test_density(self):
        self.make("in.jpg")
        data = bytearray(self.read("in.jpg"))
        data[13:18] = struct.pack(">BHH", 1, 300, 72)
        picture = bytes(range(18))  # 3 x 2 pixels
        data[4:6] = struct.pack(">H", 16 + 18)
        data[18:20] = b"\3\2" + picture
        self.write("in.jpg", bytes(data))
        pixels = [[picture[9 * y + 3 * x:9 * y + 3 * x + 3] for x in range(3)] for y in range(2)]
        for orientation, arguments in ARGUMENTS.items():
            if orientation == "none":
                continue
            self.succeeds(*arguments, "--overwrite", "-o", "out.jpg", "in.jpg")
            body, swap = beside(self.read("out.jpg"))[0][1], ORIENTATIONS.index(orientation) > 3
            self.assertEqual(struct.unpack(">BHHBB", body[7:14]), (1, 72, 300, 2, 3) if swap else (1, 300, 72, 3, 2), orientation)
            self.assertEqual(body[14:], b"".join(b"".join(row) for row in turn(pixels, orientation)))

    def test_sizes_resolutions_and_subject(self):
        for order in "<>":
            self.make("in.jpg", "-grayscale", width=48, height=37)
            self.add("in.jpg", segment(0xe1, tiff(order, [(0x100, 3, [48]), (0x101, 4, [37]), (0x10f, 2, b"me and you\0"), (0x112, 3, [6]), (0x11a, 5, [(300, 1)]), (0x11b, 5, [(720, 10)])],
                                                  [(0x9214, 3, [10, 20, 6, 4]), (0xa002, 4, [48]), (0xa003, 3, [37]), (0xa20e, 5, [(1, 2)]), (0xa20f, 5, [(3, 4)]), (0xa214, 3, [47, 0])])))
            self.succeeds("--auto-orient", "--jpeg", "trim", "-q", "--overwrite", "-o", "out.jpg", "in.jpg")  # keeps 32 of the rows
            block = beside(self.read("out.jpg"))[1][1]
            first, _ = values(block)
            exif, _ = values(block, first[0x8769][0])
            self.assertEqual([first[t] for t in (0x100, 0x101, 0x10f, 0x112, 0x11a, 0x11b)], [[32], [48], b"me and you\0", [1], [720, 10], [300, 1]])
            self.assertEqual([exif[t] for t in (0xa002, 0xa003, 0xa20e, 0xa20f)], [[32], [48], [3, 4], [1, 2]])
            self.assertEqual((exif[0x9214], exif[0xa214]), ([11, 10, 4, 6], [31, 47]))
            if shutil.which("exiftool"):
                self.assertEqual(run("exiftool", "-s3", "-n", "-validate", self.path("out.jpg")).split()[:1], run("exiftool", "-s3", "-n", "-validate", self.path("in.jpg")).split()[:1])

    def test_sizes_in_xmp(self):
        self.make("in.jpg", width=1024, height=96)
        self.add("in.jpg", segment(0xe1, XMP + b'<x exif:PixelXDimension="1024" tiff:ImageWidth="1024" exif:PixelYDimension="96"/><tiff:ImageLength>96</tiff:ImageLength>'))
        self.succeeds("--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.assertEqual(beside(self.read("out.jpg"))[1][1], XMP + b'<x exif:PixelXDimension="96" tiff:ImageWidth="96" exif:PixelYDimension="1024"/><tiff:ImageLength>1024</tiff:ImageLength>')
        self.succeeds("--flip", "vertical", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.assertEqual(beside(self.read("out.jpg")), beside(self.read("in.jpg")))

    def test_sizes_in_xmp_of_a_trimmed_picture(self):
        """They follow; the packet keeps its length, and other numbers are none of theirs."""
        size = '<x exif:PixelXDimension="%s" a="1003" exif:PixelYDimension="%s"/><tiff:ImageWidth>%s</tiff:ImageWidth>'
        self.make("in.jpg", "-grayscale", width=1003, height=101)
        for end in (b"", b" \n<?xpacket end='w'?>"):
            self.make("in.jpg", "-grayscale", width=1003, height=101)
            packet = (size % (1003, 101, 1003)).encode() + end
            self.add("in.jpg", segment(0xe1, XMP + packet))
            for orientation, sizes in (("rot180", (1000, 96, 1000)), ("rot90", (96, 1003, 1003)), ("flipv", (1003, 96, 1003))):
                self.succeeds("-q", "--jpeg", "trim", *ARGUMENTS[orientation], "--overwrite", "-o", "out.jpg", "in.jpg")
                got = beside(self.read("out.jpg"))[1][1][len(XMP):]
                self.assertEqual(len(got), len(packet))
                self.assertEqual(got.replace(b" ", b""), ((size % sizes).encode() + end).replace(b" ", b""), orientation)
                self.assertTrue(got.endswith(end.strip()) if end else got.startswith(b"<x"))

    def thumbnail(self, block):
        """The thumbnail of an EXIF block; None if it has none."""
        _, at = values(block)
        if not at:
            return None
        second, _ = values(block, at)
        return block[6 + second[0x201][0]:6 + second[0x201][0] + second[0x202][0]]

    def test_thumbnail(self):
        small = self.read(os.path.basename(self.make("small.jpg", "-sample", "1x1", width=32, height=24, seed=3)))
        odd = self.read(os.path.basename(self.make("odd.jpg", "-sample", "2x2", width=30, height=25)))
        for order in "<>":
            for orientation, how in JPEGTRAN.items():
                for picture, kept in ((small, True), (odd, orientation == "transpose"), (b"no JPEG", False)):
                    self.make("in.jpg")
                    block = tiff(order, [(0x112, 3, [1]), (0x132, 2, b"2026:11:30 00:00:00\0")], [(0xa002, 3, [48])], [(0x103, 3, [6]), (0x112, 3, [6])], picture)
                    self.add("in.jpg", segment(0xe1, block))
                    result = self.run_command("-v", *ARGUMENTS[orientation], "--in-place", "in.jpg")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    after = beside(self.read("in.jpg"))[1][1]
                    self.assertEqual(len(after), len(block))
                    got = self.thumbnail(after)
                    self.assertEqual((got is not None, b"thumbnail" in result.stderr), (kept, not kept), (orientation, result.stderr))
                    if kept:
                        self.write("got.jpg", got)
                        self.write("was.jpg", picture)
                        self.assertTrue(self.jpegtran("was.jpg", "want.jpg", "-perfect", *how))
                        self.assertEqual(self.decode("got.jpg"), self.decode("want.jpg"))
                        self.assertEqual(values(after, values(after)[1])[0][0x112], [1])
                    elif picture.startswith(b"\xff\xd8"):  # what is none may be anything, and stays
                        self.assertNotIn(picture[:40], after)

    def test_a_thumbnail_that_is_not_where_it_says(self):
        """Whatever place and length of it are claimed, other values stay."""
        small = self.read(os.path.basename(self.make("small.jpg", "-sample", "1x1", width=32, height=24, seed=3)))
        note = b"a maker's own note, which is nobody else's to touch, at any length\0"
        for at, length in ((8, 200), (None, len(small) + 60)):
            self.make("in.jpg")
            block = bytearray(tiff("<", [(0x112, 3, [1]), (0x10e, 2, note)], [(0x927c, 2, note)], [(0x103, 3, [6])], small))
            _, directory = values(bytes(block))
            entries = struct.unpack("<H", block[6 + directory:8 + directory])[0]
            for i in range(entries):
                place = 6 + directory + 2 + 12 * i
                tag = struct.unpack("<H", block[place:place + 2])[0]
                if tag == 0x201 and at:
                    block[place + 8:place + 12] = struct.pack("<I", at)
                if tag == 0x202:
                    block[place + 8:place + 12] = struct.pack("<I", length)
            self.add("in.jpg", segment(0xe1, bytes(block)))
            self.run_command("--rotate", "180", "--in-place", "in.jpg")
            after = next(body for marker, body in beside(self.read("in.jpg")) if marker == 0xe1)
            self.assertEqual(after.count(note), 2, (at, length))

    def test_photoshop(self):
        resource = lambda number, body: b"8BIM" + struct.pack(">HHI", number, 0, len(body)) + body + bytes(len(body) % 2)
        start = b"Photoshop 3.0\0"
        across, down = struct.pack(">IHH", 300 << 16, 1, 1), struct.pack(">IHH", 72 << 16, 2, 2)
        rest = resource(0x404, b"\x1c\2\5\0\3abc")
        self.make("in.jpg")
        self.add("in.jpg", segment(0xed, start + resource(0x3ed, across + down) + resource(0x40c, b"old picture") + rest))
        self.succeeds("--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.assertEqual(beside(self.read("out.jpg"))[1][1], start + resource(0x3ed, down + across) + rest)
        self.succeeds("--flip", "vertical", "--overwrite", "-o", "out.jpg", "in.jpg")
        self.assertEqual(beside(self.read("out.jpg"))[1][1], start + resource(0x3ed, across + down) + rest)

    def test_codes_made_for_another_picture(self):
        """Of a large file they are taken over, with codes for the symbols that only its turn needs."""
        for options in (["-optimize"], ["-optimize", "-grayscale"], ["-optimize", "-quality", "100"], ["-optimize", "-quality", "5"]):
            self.make("in.jpg", *options, width=1024, height=768)
            for orientation, how in JPEGTRAN.items():
                self.assertTrue(self.jpegtran("in.jpg", "want.jpg", "-perfect", "-optimize", *how))
                self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "out.jpg", "in.jpg")
                self.assertEqual(self.decode("out.jpg"), self.decode("want.jpg"), orientation)
                self.assertLess(os.path.getsize(self.path("out.jpg")), 1.04 * os.path.getsize(self.path("want.jpg")) + 300, options)

    def test_further_pictures(self):
        """Their index counts bytes, so a turn leaves them out, and never in place."""
        self.make("in.jpg")
        second = self.read("in.jpg")
        self.add("in.jpg", segment(0xe1, b"Exif\0\0" + pngs.exif(6)), segment(0xe2, b"MPF\0II*\0\x08\0\0\0"), segment(0xfe, b"words"), behind=second)
        data = self.read("in.jpg")
        self.fails(1, "--rotate", "90", "--in-place", "in.jpg", says=("in.jpg: ", "MPF", "in place", "use -o"))
        self.assertEqual(self.read("in.jpg"), data)
        result = self.run_command("--rotate", "90", "-o", "out.jpg", "in.jpg")
        self.assertEqual((result.returncode, result.stderr.count(b"\n"), b"MPF" in result.stderr), (0, 1, True))
        self.assertNotIn(b"MPF", self.read("out.jpg"))
        self.assertEqual(self.read("out.jpg").count(b"\xff\xd8\xff"), 1)
        self.succeeds("--jpeg", "tag", "--rotate", "90", "--in-place", "in.jpg")
        self.assertEqual([i for i, (a, b) in enumerate(zip(self.read("in.jpg"), data)) if a != b], [data.index(struct.pack(">HHIH", 0x112, 3, 1, 6)) + 9])
        self.assertEqual(len(self.read("in.jpg")), len(data))
        self.make("in.jpg")
        self.add("in.jpg", segment(0xe2, b"MPF\0II*\0\x08\0\0\0"), behind=second)
        self.fails(1, "--jpeg", "tag", "--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg", says=("MPF", "no orientation tag"))


class Damage(JpegTest):
    ways = (["--rotate", "90"], ["--flip", "horizontal"], ["--auto-orient"], ["--jpeg", "tag", "--rotate", "90"], ["--jpeg", "reencode", "--rotate", "180"])

    def test_truncated_or_corrupt(self):
        for variant in ("420", "progressive", "arithmetic", "restarts", "grey"):
            self.make("whole.jpg", *VARIANTS[variant], width=150, height=141)
            data = self.read("whole.jpg")
            os.remove(self.path("whole.jpg"))
            scan = (data.rindex(b"\xff\xda") + len(data)) // 2
            cut = [data[:size] for size in (len(data) // 10, len(data) * 6 // 10, len(data) - 2)]
            for broken in (*cut, data[:scan] + data[scan + (len(data) - scan) // 4:]) if variant != "arithmetic" else cut:
                self.write("in.jpg", broken)
                for arguments in self.ways:
                    if "--jpeg" not in arguments:
                        arguments = ["--jpeg", "trim", *arguments]
                    text = self.fails(1, "-q", *arguments, "-o", "out.jpg", "in.jpg")
                    self.assertIn("in.jpg: cannot be read", text)
                    if "--auto-orient" not in arguments:
                        self.fails(1, "-q", *arguments, "--in-place", "in.jpg")
                self.assertEqual((self.files(), self.read("in.jpg")), (["in.jpg"], broken))

    def test_bytes_that_belong_to_nothing(self):
        self.make("good.jpg")
        data = self.read("good.jpg")
        at = data.index(b"\xff\xdb")
        self.write("in.jpg", data[:at] + b"\0\0\x13" + data[at:])
        self.fails(1, "--rotate", "90", "--in-place", "in.jpg", says=("no part of its picture", "use -o"))
        result = self.run_command("--rotate", "90", "-o", "out.jpg", "in.jpg")
        self.assertEqual((result.returncode, result.stderr.count(b"\n"), b"no part of its picture" in result.stderr), (0, 1, True), result.stderr)
        self.succeeds("--rotate", "90", "-o", "want.jpg", "good.jpg")
        self.assertEqual(self.read("out.jpg"), self.read("want.jpg"))

    def test_markers_without_a_length(self):
        """Between segments they say nothing, and by the tag alone the file stays one that is read."""
        self.make("good.jpg")
        data = self.read("good.jpg")
        at = data.index(b"\xff\xdb")
        for marker in (b"\xff\x01", b"\xff\xd3"):
            self.write("in.jpg", data[:at] + marker + data[at:])
            result = self.run_command("--jpeg", "tag", "--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
            if result.returncode == 0:
                self.assertEqual(self.decode("out.jpg"), self.decode("in.jpg"))

    def test_scans_of_one_colour_each(self):
        """Their tables' numbers are known only when each begins; and one that is missing is damage."""
        self.make("in.jpg", "-optimize", width=640, height=480)
        self.write("scans", b"0;\n1;\n2;\n")
        self.assertTrue(self.jpegtran("in.jpg", "apart.jpg", "-optimize", "-scans", self.path("scans")))
        for arguments in self.ways:
            result = self.run_command("-q", *arguments, "--overwrite", "-o", "out.jpg", "apart.jpg")
            self.assertEqual(result.returncode, 0, (arguments, result.stderr))
            self.decode("out.jpg")
        data = self.read("apart.jpg")
        second = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
        tables = data.rfind(b"\xff\xc4", 0, second)
        self.write("one.jpg", data[:tables if tables > 0 and tables > data.index(b"\xff\xda") else second] + b"\xff\xd9")
        self.fails(1, "--rotate", "90", "-o", "none.jpg", "one.jpg", says=("one.jpg: ",))
        self.assertNotIn("none.jpg", self.files())

    def test_a_claim_beyond_the_limit(self):
        """A few bytes that claim the largest of pictures."""
        self.make("in.jpg", "-arithmetic")
        data = bytearray(self.read("in.jpg"))
        at = next(i for i in range(len(data)) if data[i] == 0xff and data[i + 1] in (0xc9, 0xca))
        data[at + 5:at + 9] = struct.pack(">HH", 16384, 16384)
        self.write("in.jpg", bytes(data))
        self.fails(1, "--memory-limit", "50M", "--rotate", "90", "-o", "out.jpg", "in.jpg", says=("--memory-limit",))

    def test_any_damage_is_told_or_does_none(self):
        """Bytes of the header at random: no crash, and nothing is left behind."""
        self.make("good.jpg")
        self.add("good.jpg", segment(0xe1, tiff(">", [(0x112, 3, [6]), (0x11a, 5, [(1, 2)]), (0x11b, 5, [(3, 4)])], [(0xa002, 3, [48]), (0xa003, 3, [32])], [(0x103, 3, [6])], self.read("good.jpg"))),
                 segment(0xed, b"Photoshop 3.0\0" + b"8BIM" + struct.pack(">HHI", 0x3ed, 0, 16) + bytes(16)))
        good, chance = self.read("good.jpg"), random.Random(5)
        for _ in range(300):
            broken = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                broken[chance.randrange(2, len(good) if chance.random() < .2 else 300)] = chance.choice((0, 1, 255, 127, chance.randrange(256)))
            self.write("in.jpg", bytes(broken))
            result = self.run_command("-q", *chance.choice(self.ways), "--overwrite", "-o", "out.jpg", "in.jpg")
            self.assertIn(result.returncode, (0, 1), result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), result.returncode, result.stderr)
            self.assertLessEqual(set(self.files()), {"good.jpg", "in.jpg", "out.jpg"})

    def test_limit_of_file_sizes(self):
        import resource
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        self.make("in.jpg", width=160, height=160)
        before = self.read("in.jpg")
        for way in ([], ["--jpeg", "tag"]):
            for where in (["-o", "out.jpg"], ["--in-place"]):
                self.fails(1, *way, "--rotate", "90", *where, "in.jpg", preexec_fn=limit, says=("in.jpg: cannot write the output (File too large): raise the limit",))
                self.assertEqual((self.files(), self.read("in.jpg")), (["in.jpg"], before))

    def test_kinds_that_are_not_read(self):
        self.make("in.jpg")
        data = self.read("in.jpg")
        for at, value, says in ((data.index(b"\xff\xc0") + 4, 12, "12 bits a sample"), (data.index(b"\xff\xc0") + 1, 0xc3, "lossless or hierarchical"),
                                (data.index(b"\xff\xc0") + 1, 0xc5, "lossless or hierarchical")):
            self.write("in.jpg", data[:at] + bytes((value,)) + data[at + 1:])
            for where in (["-o", "out.jpg"], ["--in-place"]):
                self.fails(1, "--rotate", "90", *where, "in.jpg", says=("in.jpg: ", says, "convert it first"))

    def test_usage(self):
        self.make("in.jpg")
        self.fails(2, "--jpeg", "lossy", "--rotate", "90", "-o", "out.jpg", "in.jpg", says=("lossless, trim, reencode or tag", "lossy"))


if __name__ == "__main__":
    missing = [name for name in ("cjpeg", "djpeg", "jpegtran") if not shutil.which(name)]
    if "JPEG (libjpeg-turbo" not in VERSION or missing:
        print("SKIPPED: JPEG without loss is not tested:", f"there is no {' '.join(missing)}" if missing else "the command was built without libjpeg-turbo")
        sys.exit(77)
    if not shutil.which("exiftool"):
        print("SKIPPED: exiftool's opinion, since there is none")
    unittest.main(argv=sys.argv[:1])
