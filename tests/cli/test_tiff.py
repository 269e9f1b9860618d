# SPDX-License-Identifier: MIT
"""TIFFs with all their pages and tags, read by a reader of the specification and by libtiff's, exiftool and GDAL.

usage: test_tiff.py IMGTRANSPOSE
"""
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

import tiffs
from command import ARGUMENTS, VERSION, CommandTest, some, turn
from tiffs import IFD, LONG, RATIONAL, SHORT, Page, picture

SWAPS = ("transpose", "rot90", "transverse", "rot270")
ORIENTATIONS = list(ARGUMENTS)  # numbered from 1, as the tag does
TEXT, UNDEFINED, DOUBLE = 2, 7, 12


def samples(width, height, channels, bits, seed=1):
    noise = random.Random(seed)
    return [[tuple(noise.getrandbits(bits) for _ in range(channels)) for _ in range(width)] for _ in range(height)]


def smooth(width, height, channels, bits):
    return [[tuple((x * 3 + y * 5 + 11 * c) % (1 << bits) for c in range(channels)) for x in range(width)] for y in range(height)]


def needs(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"SKIPPED: no {', '.join(missing)}")


class TiffTest(CommandTest):
    def put(self, name, *pages, **how):
        return self.write(name, tiffs.write(list(pages), **how))

    def get(self, name):
        return tiffs.read(self.read(name))

    def turned(self, orientation, name="in.tif", *options):
        self.succeeds(*ARGUMENTS[orientation], *options, "--overwrite", "-o", "out.tif", name)
        return self.get("out.tif")

    def bare(self, name):
        """The pages as libtiff reads them."""
        result = self.run_command("-c", "none", name, "bare.tif", command="tiffcp")
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.get("bare.tif")


class Pixels(TiffTest):
    def test_every_kind_of_sample(self):
        shapes = (dict(), dict(strip=5), dict(strip=7, planar=True), dict(tile=(16, 32)), dict(tile=(16, 16), planar=True))
        kinds = [(1, 1), (2, 1), (4, 1), (8, 1), (8, 3), (16, 3), (32, 1), (64, 1), (10, 3), (12, 1), (14, 1), (1, 3), (4, 3), (8, 5), (2, 4)]
        for i, ((bits, channels), shape, deflate) in enumerate(itertools.product(kinds, shapes, (False, True))):
            order, big = "<>"[i % 2], i // 2 % 2 == 1
            rows = samples(43, 29, channels, bits, i)
            self.put("in.tif", picture(rows, bits, order, deflate=deflate, **shape), order=order, big=big)
            for orientation, limit in some(itertools.product(ARGUMENTS, ("1G", "20K"))):
                if (i + len(limit)) % 2 and orientation in ("none", "fliph", "transpose"):
                    continue
                page, = self.turned(orientation, "in.tif", "--memory-limit", limit)
                self.assertEqual(tiffs.pixels(page), turn(rows, orientation), (bits, channels, shape, deflate, order, big, orientation, limit))
            self.assertEqual(self.read("out.tif")[:4], self.read("in.tif")[:4])  # the order of bytes, and the kind of file

    def test_four_quarter_turns(self):
        rows = samples(301, 203, 3, 16)
        for shape in (dict(strip=8, deflate=True), dict(tile=(64, 32), deflate=True), dict(tile=(16, 16)), dict()):
            self.put("in.tif", picture(rows, 16, **shape))
            for _ in range(4):
                self.succeeds("--rotate", "90", "--in-place", "in.tif")
            page, = self.get("in.tif")
            self.assertEqual(tiffs.pixels(page), rows, shape)

    @needs("tiffcp")
    def test_compressions(self):
        """Each is written again as it was, and libtiff reads the same pixels."""
        grey, colour, one = smooth(75, 53, 1, 8), smooth(75, 53, 3, 16), samples(75, 53, 1, 1)
        cases = [(way, bits, rows) for way in ("lzw", "zip", "packbits") for bits, rows in ((8, grey), (16, colour), (1, one))]
        cases += [(way, bits, rows) for way in ("lzw:2", "zip:2") for bits, rows in ((8, grey), (16, colour), (32, smooth(41, 37, 3, 32)))]
        cases += [("zip:3", 32, [[(struct.unpack("I", struct.pack("f", x / (y + 1)))[0],) for x in range(39)] for y in range(23)])]
        cases += [(way, 1, one) for way in ("g3", "g3:2d", "g3:2d:fill", "g4", "lzw")]
        cases += [(way, 8, grey) for way in ("zstd", "lzma")]
        made = 0
        for (way, bits, rows), layout, order in itertools.product(cases, (["-s", "-r", "7"], ["-t", "-w", "32", "-l", "16"], ["-s", "-r", "100"]), "<>"):
            extra = {339: (SHORT, [3])} if way == "zip:3" else {}
            self.put("plain.tif", picture(rows, bits, order, extra=extra), order=order)
            if self.run_command("-c", way, *layout, "plain.tif", "in.tif", command="tiffcp").returncode:
                continue
            made += 1
            before, = self.get("in.tif")
            for orientation in some(ARGUMENTS):
                after, = self.turned(orientation)
                bare, = self.bare("out.tif")
                self.assertEqual(tiffs.pixels(bare), turn(rows, orientation), (way, bits, layout, order, orientation))
                for tag in (258, 259, 262, 266, 277, 284, 292, 293, 317, 339):
                    self.assertEqual(after.tags.get(tag), before.tags.get(tag), (way, tag))
        self.assertGreater(made, 80)

    @needs("tiffcp")
    def test_lengths_of_lzw(self):
        """Around those at which codes get wider and tables full, and with strings of any length; and the other order of bits."""
        pairs = [byte for a in range(256) for b in range(a, 256) for byte in ((a, b) if b > a else (a,))]  # none comes twice, so each byte is a code
        lengths = [1, 2, 3, *range(252, 260), *range(764, 772), *range(1788, 1796), *range(3830, 3842), *range(7668, 7680)]
        rows = [pairs[:n] for n in lengths]
        rows += [(pattern * 30000)[:n] for pattern in ([7], [1, 2], [1, 2, 3], list(range(9)), pairs[:3700]) for n in (9, 29999)]
        noise = random.Random(5)
        rows += [[noise.randrange(most) for _ in range(n)] for most in (2, 16, 64, 256) for n in (700, 5000, 99991)]  # buckets overflow
        rows += [(rows[-1][:9000] + rows[-7][:40000] + [0] * 9000) * 2]
        self.put("plain.tif", *(picture([[(byte,) for byte in row]], 8) for row in rows))
        for options in ([], ["-f", "lsb2msb"]):
            self.assertEqual(self.run_command("-c", "lzw", *options, "plain.tif", "in.tif", command="tiffcp").returncode, 0)
            self.turned("fliph")
            self.assertEqual(self.run_command("-f", "msb2lsb", "-c", "none", "out.tif", "bare.tif", command="tiffcp").returncode, 0)
            for row, page in zip(rows, self.get("bare.tif"), strict=True):
                self.assertEqual(tiffs.pixels(page), [[(byte,) for byte in reversed(row)]], len(row))

    @needs("tiffcp")
    def test_fill_order(self):
        one = samples(75, 53, 1, 1)
        self.put("plain.tif", picture(one, 1))
        for way in ("none", "g4", "lzw", "zip"):
            self.assertEqual(self.run_command("-f", "lsb2msb", "-c", way, "plain.tif", "in.tif", command="tiffcp").returncode, 0)
            for orientation in ARGUMENTS:
                after, = self.turned(orientation)
                self.assertEqual(after.value(266), 2)
                self.assertEqual(self.run_command("-f", "msb2lsb", "-c", "none", "out.tif", "bare.tif", command="tiffcp").returncode, 0)
                self.assertEqual(tiffs.pixels(self.get("bare.tif")[0]), turn(one, orientation), (way, orientation))

    def test_colour_at_a_lower_resolution(self):
        """A unit is its pixels' luma, row by row, and then its colour."""
        noise = random.Random(3)
        for across, down in ((2, 1), (2, 2), (1, 2), (4, 2)):
            wide, high = 6, 5
            luma = [[noise.randrange(256) for _ in range(wide * across)] for _ in range(high * down)]
            colour = [[(noise.randrange(256), noise.randrange(256)) for _ in range(wide)] for _ in range(high)]

            def data(luma, colour, across, down):
                return b"".join(bytes([luma[y * down + j][x * across + i] for j in range(down) for i in range(across)]) + bytes(colour[y][x])
                                for y in range(len(colour)) for x in range(len(colour[0])))

            tags = {256: (LONG, [wide * across]), 257: (LONG, [high * down]), 258: (SHORT, [8] * 3), 259: (SHORT, [1]), 262: (SHORT, [6]),
                    277: (SHORT, [3]), 530: (SHORT if down == 2 else LONG, [across, down])}
            self.put("in.tif", Page(tags, [data(luma, colour, across, down)]))
            for orientation in ARGUMENTS:
                page, = self.turned(orientation)
                sizes = (down, across) if orientation in SWAPS else (across, down)
                self.assertEqual(page.tags[530][1], list(sizes))
                self.assertEqual(b"".join(page.blocks), data(turn(luma, orientation), turn(colour, orientation), *sizes), (across, down, orientation))

    def test_blocks_that_are_left_out(self):
        """As GDAL has it (SPARSE_OK): they are of no data, and stay left out where a turned one would be of nothing else."""
        kinds = ((8, 1, b"7", 7), (16, 2, b"-9999", 0xd8f1), (32, 3, b"-1.5", 0xbfc00000), (16, 1, b"0", 0), (8, 1, None, 0))
        shapes = (dict(tile=(16, 32)), dict(strip=8), dict(tile=(16, 16), deflate=True), dict(strip=8, deflate=True))
        for i, ((bits, form, text, empty), shape, size) in enumerate(itertools.product(kinds, shapes, ((64, 64), (75, 53)))):
            order = "<>"[i // 2 % 2]
            rows = samples(*size, 1, bits)
            for y in range(32):
                for x in range(size[0] if "strip" in shape else 48):
                    rows[y][x] = (empty,)
            page = picture(rows, bits, order, extra={339: (SHORT, [form]), 42112: (TEXT, b"<GDALMetadata/>\0"),
                                                     **({42113: (TEXT, text + b"\0")} if text else {})}, **shape)
            alike = picture([[(empty,)] * size[0]] * size[1], bits, order, **shape)
            page.blocks = [None if block == other else block for block, other in zip(page.blocks, alike.blocks)]
            self.assertTrue(None in page.blocks)
            self.put("in.tif", page, order=order)
            for orientation in ORIENTATIONS[1:]:
                after, = self.turned(orientation)
                self.assertEqual(tiffs.pixels(after, empty), turn(rows, orientation), (bits, text, shape, order, size, orientation))
                if size == (64, 64) and "tile" in shape:
                    self.assertEqual(after.blocks.count(b""), page.blocks.count(None), (bits, shape, orientation))
            self.succeeds("--rotate", "90", "--in-place", "--strip", "in.tif")
            after, = self.get("in.tif")
            self.assertEqual(tiffs.pixels(after, empty), turn(rows, "rot90"))
            self.assertEqual((42112 in after.tags, 42113 in after.tags), (False, text is not None))

    def test_blocks_that_may_be_missing(self):
        page = picture(samples(64, 64, 1, 8), 8, tile=(16, 16))
        page.blocks[5] = None
        self.put("in.tif", page)
        self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("not there",))
        self.fails(0, "--rotate", "90", "-o", "out.tif", "in.tif", says=("warning: in.tif: ", "not there"))
        page.tags[42113] = (TEXT, b"-1\0")  # which a byte cannot be
        self.put("in.tif", page)
        self.fails(1, "--rotate", "90", "-o", "new.tif", "in.tif", says=("gdal_translate",))

    def large(self, width, height, rows, missing=()):
        """Deflated strips of more than 16 MB, whose pixels are returned too."""
        data = bytearray(bytes(i * i % 251 for i in range(9973)) * (width * height // 9973 + 1))[:width * height]
        blocks = []
        for i, at in enumerate(range(0, len(data), width * rows)):
            if i in missing:
                data[at:at + width * rows] = bytes(len(data[at:at + width * rows]))
            blocks.append(None if i in missing else zlib.compress(data[at:at + width * rows], 1))
        tags = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8]), 259: (SHORT, [8]), 262: (SHORT, [1]), 277: (SHORT, [1]), 278: (LONG, [rows]),
                42112: (TEXT, b"<GDALMetadata/>\0")}
        self.put("in.tif", Page(tags, blocks))
        return bytes(data)

    def test_large_strips_that_are_left_out(self):
        """Reading back finds them as they are."""
        data, width = self.large(4100, 12600, 4200, missing=(1,)), 4100
        self.succeeds("--flip", "vertical", "--in-place", "in.tif")
        page, = self.get("in.tif")
        self.assertEqual([bool(block) for block in page.blocks], [True, False, True])
        found = [zlib.decompress(block) if block else bytes(width * 4200) for block in page.blocks]
        self.assertTrue(b"".join(found) == b"".join(data[y * width:(y + 1) * width] for y in reversed(range(12600))))

    def test_a_strip_larger_than_the_memory(self):
        """Its rows wait in a file, and its copy is cut into strips that there is memory for."""
        width, height = 5000, 4000
        data = self.large(width, height, height)
        wanted = {"rot90": b"".join(data[x::width][::-1] for x in range(width)), "flipv": b"".join(data[y * width:(y + 1) * width] for y in reversed(range(height)))}
        for orientation, pixels in wanted.items():
            page, = self.turned(orientation, "in.tif", "--memory-limit", "8M")
            strips = [zlib.decompress(block) for block in page.blocks]
            self.assertTrue(b"".join(strips) == pixels, orientation)
            self.assertLessEqual(max(map(len, strips)), 8 << 20)
            self.assertEqual(len(strips[0]), page.value(278) * page.value(256))
            page, = self.turned(orientation)
            self.assertEqual(len(page.blocks), 1)

    def test_tiles_across_a_unit_of_colour(self):
        tags = {256: (LONG, [120]), 257: (LONG, [16]), 258: (SHORT, [8] * 3), 259: (SHORT, [1]), 262: (SHORT, [6]), 277: (SHORT, [3]), 284: (SHORT, [1]), 530: (SHORT, [4, 1])}
        for wide, good in ((10, False), (8, True)):
            blocks = [bytes([i]) * (-(-wide // 4) * 6 * 16) for i in range(120 // wide)]
            self.put("in.tif", Page({**tags, 322: (SHORT, [wide]), 323: (SHORT, [16])}, blocks))
            if good:
                self.succeeds("--rotate", "90", "-o", "out.tif", "in.tif")
            else:
                self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("multiple", "convert it first"))

    def test_bytes_between_planes(self):
        """Small pages are turned beside each other, into memory; nothing of it gets into the file."""
        page = picture(samples(5, 3, 3, 8), 8, planar=True)
        self.put("in.tif", page, page)
        copies = []
        for perturb in ("77", "99"):
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.tif", "in.tif", env={**os.environ, "MALLOC_PERTURB_": perturb})
            copies.append(self.read("out.tif"))
        self.assertEqual(*copies)

    def test_strips_stay_about_as_large(self):
        self.put("in.tif", picture(samples(400, 100, 1, 8), 8, strip=4))
        page, = self.turned("rot90")
        self.assertEqual(page.value(278), 16)
        self.put("in.tif", picture(samples(400, 100, 1, 8), 8, tile=(64, 16)))
        page, = self.turned("rot90")
        self.assertEqual((page.value(322), page.value(323)), (16, 64))


class Tags(TiffTest):
    TAGS = {270: (TEXT, b"a picture\0"), 271: (TEXT, b"me\0"), 282: (RATIONAL, [204, 1]), 283: (RATIONAL, [98, 1]), 296: (SHORT, [2]),
            297: (SHORT, [3, 9]), 305: (TEXT, b"by hand\0"), 315: (TEXT, b"someone\0"), 320: (SHORT, [(i * 257) % 65536 for i in range(768)]),
            700: (1, b"<x tiff:ImageWidth='43' tiff:ImageLength='29'/>"), 33432: (TEXT, b"no one\0"), 33723: (UNDEFINED, bytes(range(99))),
            34675: (UNDEFINED, bytes(range(200)) * 3), 65000: (12, [1.5, -2.5]), 65001: (9, [-7]), 65002: (10, [-1, 3]), 65003: (UNDEFINED, b"\1\2\3")}

    def test_all_are_copied(self):
        for order, big in itertools.product("<>", (False, True)):
            extra = dict(self.TAGS)
            extra[262] = (SHORT, [3])
            self.put("in.tif", picture(samples(43, 29, 1, 8), 8, order, extra=extra), order=order, big=big)
            before, = self.get("in.tif")
            for orientation in some(ARGUMENTS):
                after, = self.turned(orientation)
                expected = before.beside()
                if orientation in SWAPS:
                    expected[256], expected[257] = expected[257], expected[256]
                    expected[282], expected[283] = expected[283], expected[282]
                    expected[700] = (1, list(b"<x tiff:ImageWidth='29' tiff:ImageLength='43'/>"))
                self.assertEqual(after.beside(), expected, orientation)
            self.succeeds("--rotate", "90", "--in-place", "in.tif")

    def test_strip(self):
        extra = dict(self.TAGS)
        self.put("in.tif", picture(samples(43, 29, 1, 8), 8, extra=extra))
        page, = self.turned("rot90", "in.tif", "--strip")
        self.assertIn(34675, page.tags)
        for tag in (270, 305, 700, 33432, 33723, 65000):
            self.assertNotIn(tag, page.tags)

    def test_exif_and_gps(self):
        exif = Page({0x829a: (RATIONAL, [1, 60]), 0x927c: (UNDEFINED, b"its own"), 0xa002: (LONG, [43]), 0xa003: (SHORT, [29]),
                     0x9214: (SHORT, [5, 7, 4, 2])}, nested={40965: [Page({1: (TEXT, b"R98\0")})]})
        gps = Page({0: (1, [2, 2, 0, 0]), 2: (RATIONAL, [50, 1, 4, 1, 0, 1])})
        for order, big in itertools.product("<>", (False, True)):
            self.put("in.tif", picture(samples(43, 29, 1, 8), 8, order, nested={34665: [exif], 34853: [gps]}), order=order, big=big)
            page, = self.turned("rot90")
            inner, = page.nested[34665]
            self.assertEqual(inner.beside(), {0x829a: (RATIONAL, [1, 60]), 0x927c: (UNDEFINED, list(b"its own")), 0xa002: (SHORT, [29]),
                                              0xa003: (LONG, [43]), 0x9214: (SHORT, [21, 5, 2, 4])})
            self.assertEqual(inner.nested[40965][0].tags[1], (TEXT, list(b"R98\0")))
            self.assertEqual(page.nested[34853][0].tags, {0: (1, [2, 2, 0, 0]), 2: (RATIONAL, [50, 1, 4, 1, 0, 1])})

    def test_a_makers_note_moves(self):
        """It may count places from the file's start."""
        exif = Page({0x927c: (UNDEFINED, b"longer than an entry holds")})
        self.put("in.tif", picture(samples(4, 3, 1, 8), 8, nested={34665: [exif]}))
        self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("in.tif: ", "maker note"))
        self.fails(0, "--rotate", "90", "-o", "out.tif", "in.tif", says=("warning: in.tif: ", "maker note"))

    def test_photoshop(self):
        """Its resolutions turn, and its thumbnail, which would not, is left out."""
        resource = lambda number, body: b"8BIM" + struct.pack(">HHI", number, 0, len(body)) + body + bytes(len(body) % 2)
        across, down = struct.pack(">IHH", 300 << 16, 1, 1), struct.pack(">IHH", 72 << 16, 2, 2)
        rest = resource(0x404, b"\x1c\2\5\0\3abc")
        for kind in (UNDEFINED, 1):
            whole = resource(0x3ed, across + down) + resource(0x40c, b"old picture") + rest
            self.put("in.tif", picture(samples(4, 3, 1, 8), 8, extra={34377: (kind, whole)}))
            for orientation, expected in (("rot90", down + across), ("flipv", across + down)):
                page, = self.turned(orientation)
                self.assertEqual((page.tags[34377][0], bytes(page.tags[34377][1])), (kind, resource(0x3ed, expected) + rest))
        self.put("in.tif", picture(samples(4, 3, 1, 8), 8, extra={34377: (3, [1, 2, 3])}))  # no bytes: nobody knows of what
        page, = self.turned("rot90")
        self.assertEqual(page.tags[34377], (3, [1, 2, 3]))

    def test_place_on_the_page(self):
        extra = {286: (RATIONAL, [1, 2]), 287: (RATIONAL, [3, 4])}
        self.put("in.tif", picture(samples(4, 3, 1, 8), 8, extra=extra))
        page, = self.turned("transpose")
        self.assertEqual((page.tags[286], page.tags[287]), (extra[287], extra[286]))
        for orientation in ("fliph", "rot90", "rot180"):
            page, = self.turned(orientation)
            self.assertTrue(286 not in page.tags and 287 not in page.tags)

    @needs("exiftool", "tiffinfo")
    def test_programs_see_no_other_difference(self):
        extra = dict(self.TAGS)
        del extra[320]
        self.put("in.tif", picture(samples(43, 29, 3, 16), 16, strip=4, deflate=True, extra=extra),
                 picture(samples(21, 33, 1, 8), 8, extra={305: (TEXT, b"other\0")}))
        self.turned("rot90")
        for command, changes in ((["exiftool", "-a", "-G1", "-s", "-u"], ("System", "ImageWidth", "ImageHeight", "ImageSize", "XResolution", "YResolution",
                                                                          "ExifTool", "StripOffsets", "StripByteCounts", "RowsPerStrip", "ImageLength", "Application_XMP")),
                                 (["tiffinfo"], ("TIFF Directory at", "Image Width", "Resolution:", "Rows/Strip", "XMLPacket", "<x tiff"))):
            lines = [[line for line in self.run_command(*command[1:], name, command=command[0]).stdout.decode("utf-8", "replace").splitlines()
                      if not any(change in line for change in changes)] for name in ("in.tif", "out.tif")]
            self.assertEqual(*[[line.replace("in.tif", "").replace("out.tif", "") for line in some] for some in lines])


class Orientation(TiffTest):
    def test_all_tags(self):
        for number, order in itertools.product(range(1, 9), "<>"):
            rows = samples(23, 17, 3, 8)
            self.put("in.tif", picture(rows, 8, order, extra={274: (SHORT, [number])}), order=order)
            page, = self.turned("none")
            upright = turn(rows, ORIENTATIONS[number - 1])
            self.assertEqual((page.value(274), tiffs.pixels(page)), (1, upright))
            os.rename(self.path("out.tif"), self.path("again.tif"))
            self.succeeds("--auto-orient", "--overwrite", "-o", "out.tif", "again.tif")
            self.assertEqual(self.read("out.tif"), self.read("again.tif"))
            page, = self.turned("rot90")
            self.assertEqual((page.value(274), tiffs.pixels(page)), (1, turn(upright, "rot90")))
            page, = self.turned("rot90", "in.tif", "--stored")
            self.assertEqual((page.value(274), tiffs.pixels(page)), (number, turn(rows, "rot90")))

    def test_xmp_follows(self):
        packet = b'<x tiff:Orientation="6"/>'
        self.put("in.tif", picture(samples(5, 3, 1, 8), 8, extra={274: (SHORT, [6]), 700: (1, packet)}))
        page, = self.turned("none")
        self.assertEqual(bytes(page.tags[700][1]), packet.replace(b"6", b"1"))

    def test_each_page_by_its_own(self):
        rows = samples(23, 17, 1, 8)
        self.put("in.tif", picture(rows, 8), *(picture(rows, 8, deflate=True, extra={274: (SHORT, [n])}) for n in (6, 1, 3)))
        pages = self.turned("none")
        self.assertEqual([tiffs.pixels(page) for page in pages], [rows, turn(rows, "rot90"), rows, turn(rows, "rot180")])
        self.assertEqual([page.value(274) for page in pages], [None, 1, 1, 1])


class Pages(TiffTest):
    def test_each_has_its_own_size(self):
        kinds = [(7, 5, 1, 8), (43, 29, 3, 16), (9, 64, 1, 1), (31, 3, 4, 8), (64, 48, 1, 4)]
        pictures = [samples(*kind, i) for i, kind in enumerate(kinds)] * 15
        pages = [picture(rows, kinds[i % 5][3], deflate=i % 2 == 1, extra={297: (SHORT, [i, 75])}) for i, rows in enumerate(pictures)]
        self.put("in.tif", *pages)
        for orientation in ("rot90", "flipv", "transverse"):
            found = self.turned(orientation)
            self.assertEqual([tiffs.pixels(page) for page in found], [turn(rows, orientation) for rows in pictures])
            self.assertEqual([page.value(297) for page in found], list(range(75)))
        one = self.read("out.tif")
        self.turned("transverse", "in.tif", "--threads", "1", "-j", "1")
        self.assertEqual(self.read("out.tif"), one)

    def test_nested_ones(self):
        rows, half, quarter = samples(64, 48, 3, 8, 1), samples(32, 24, 3, 8, 2), samples(16, 12, 3, 8, 3)
        for order, big in itertools.product("<>", (False, True)):
            levels = [picture(part, 8, order, tile=(16, 32), extra={254: (LONG, [1])}) for part in (half, quarter)]
            top = picture(rows, 8, order, tile=(16, 32), extra={274: (SHORT, [6])}, nested={330: levels})
            self.put("in.tif", top, picture(half, 8, order, deflate=True, extra={254: (LONG, [1])}), order=order, big=big)
            for orientation in ("none", "rot90", "fliph"):
                first, second = self.turned(orientation)
                upright = [turn(turn(part, "rot90"), orientation) for part in (rows, half, quarter)]
                self.assertEqual([tiffs.pixels(page) for page in (first, *first.nested[330], second)], [*upright, upright[1]])
                self.assertEqual(first.nested[330][0].value(254), 1)

    def test_ome(self):
        text = (b'<?xml version="1.0"?><OME><Image><Pixels SizeC="1" SizeX="43" SizeY="29" SizeZ="1" PhysicalSizeX="0.5" PhysicalSizeXUnit="nm" '
                b'PhysicalSizeY="2"/></Image></OME>\0')
        turned = (b'<?xml version="1.0"?><OME><Image><Pixels SizeC="1" SizeY="43" SizeX="29" SizeZ="1" PhysicalSizeY="0.5" PhysicalSizeYUnit="nm" '
                  b'PhysicalSizeX="2"/></Image></OME>\0')
        page = lambda words: picture(samples(43, 29, 1, 8), 8, extra={270: (TEXT, words)})
        self.put("in.tif", page(text))
        for orientation in ARGUMENTS:
            self.assertEqual(bytes(self.turned(orientation)[0].tags[270][1]), turned if orientation in SWAPS else text)
        for words, says in ((text.replace(b'"43"', b'"44"'), "OME-XML"), (text.replace(b"</Image>", b"<ROI/></Image>"), "ROI"),
                            (text.replace(b"</Image>", b'<UUID FileName="b.tif"/></Image>'), "several"), (b"ImageJ=1.5\nimages=40\n\0", "ImageJ")):
            self.put("in.tif", page(words))
            os.path.exists(self.path("out.tif")) and os.remove(self.path("out.tif"))
            self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=(says,))
            self.assertEqual(self.files(), ["in.tif"])


class Geo(TiffTest):
    KEYS = {34735: (SHORT, [1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1])}

    def corners(self, page):
        """The places of the picture's corners, by the file's matrix."""
        m = page.tags[34264][1]
        width, height = page.value(256), page.value(257)
        return [[(m[0] * x + m[1] * y + m[3], m[4] * x + m[5] * y + m[7]) for x in (0, width)] for y in (0, height)]

    def test_refused_or_rewritten(self):
        scale = {33550: (DOUBLE, [10, 20, 0]), 33922: (DOUBLE, [0, 0, 0, 1000, 2000, 0]), **self.KEYS}
        matrix = {34264: (DOUBLE, [3, 1, 0, 100, 2, -5, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1]), **self.KEYS}
        for extra, corners in ((scale, [[(1000, 2000), (1070, 2000)], [(1000, 1900), (1070, 1900)]]),
                               (matrix, [[(100, 200), (121, 214)], [(105, 175), (126, 189)]])):
            self.put("in.tif", picture(samples(7, 5, 1, 8), 8, extra={**extra, 42113: (TEXT, b"-9\0")}))
            self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("--geo rewrite",))
            for orientation in ORIENTATIONS[1:]:
                page, = self.turned(orientation, "in.tif", "--geo", "rewrite")
                self.assertEqual(self.corners(page), turn(corners, orientation), orientation)
                self.assertEqual(page.tags[34735], self.KEYS[34735])
                self.assertEqual(bytes(page.tags[42113][1]), b"-9\0")
                self.assertNotIn(33922, page.tags)
            page, = self.turned("rot90", "in.tif", "--strip")
            self.assertFalse({33550, 33922, 34264, 34735} & set(page.tags))
            os.remove(self.path("out.tif"))

    def test_points_count_from_the_middle(self):
        self.put("in.tif", picture(samples(7, 5, 1, 8), 8, extra={33550: (DOUBLE, [10, 10, 0]), 33922: (DOUBLE, [0, 0, 0, 0, 0, 0]),
                                                                  34735: (SHORT, [1, 1, 0, 1, 1025, 0, 1, 2])}))
        page, = self.turned("fliph", "in.tif", "--geo", "rewrite")
        self.assertEqual(page.tags[34264][1][:4], [-10, 0, 0, 60])

    def test_points_that_are_tied_each(self):
        ties = [0, 0, 0, 1, 2, 0, 7, 0, 0, 3, 4, 0, 7, 5, 0, 5, 6, 0, 2, 5, 0, 7, 8, 0]
        self.put("in.tif", picture(samples(7, 5, 1, 8), 8, extra={33922: (DOUBLE, ties), **self.KEYS}))
        page, = self.turned("rot90", "in.tif", "--geo", "rewrite")
        self.assertEqual(page.tags[33922][1], [5, 0, 0, 1, 2, 0, 5, 7, 0, 3, 4, 0, 0, 7, 0, 5, 6, 0, 0, 2, 0, 7, 8, 0])

    def places(self, numbers, width, height):
        a, d, b, e, c, f = numbers
        return [[(a * x + b * y + c, d * x + e * y + f) for x in range(width)] for y in range(height)]

    def test_world_files(self):
        """Of any format: a file of six numbers beside the picture, for the middles of its pixels."""
        numbers = [2, 1, 0.5, -3, 100.25, 0.125]
        self.put("in.tif", picture(samples(7, 5, 1, 8), 8))
        self.write("in.ppm", b"P5 7 5 255\n" + bytes(35))
        for name, world, output, beside in (("in.tif", "in.tfw", "out.tif", "out.tfw"), ("in.tif", "in.TFW", "a.b.tiff", "a.b.TFW"),
                                            ("in.tif", "in.tifw", "out.tiff", "out.tiffw"), ("in.tif", "in.wld", "out", "out.wld"),
                                            ("in.ppm", "in.pmw", "out.pgm", "out.pmw")):
            self.write(world, "".join(f"{number}\r\n" for number in numbers).encode())
            for orientation in ORIENTATIONS[1:]:
                self.fails(1, *ARGUMENTS[orientation], "-o", output, name, says=(name + ": ", world, "--geo rewrite"))
                self.fails(1, *ARGUMENTS[orientation], "--in-place", "--geo", "rewrite", name, says=(name + ": ", world))
                self.succeeds(*ARGUMENTS[orientation], "--strip", "-o", output, name)
                self.assertFalse(os.path.exists(self.path(beside)))
                os.remove(self.path(output))
                self.succeeds(*ARGUMENTS[orientation], "--geo", "rewrite", "-o", output, name)
                after = [float(line) for line in self.read(beside).split()]
                size = (5, 7) if orientation in SWAPS else (7, 5)
                self.assertEqual(self.places(after, *size), turn(self.places(numbers, 7, 5), orientation), orientation)
                os.remove(self.path(output))
                self.fails(1, *ARGUMENTS[orientation], "--geo", "rewrite", "-o", output, name, says=(beside, "exists", "--overwrite"))
                self.assertFalse(os.path.exists(self.path(output)))
                self.succeeds(*ARGUMENTS[orientation], "--geo", "rewrite", "--overwrite", "-o", output, name)
                self.assertEqual([float(line) for line in self.read(beside).split()], after)
                os.remove(self.path(output))
                os.remove(self.path(beside))
            for bad in (b"", b"1 2 3 4 5", b"1 2 3 4 5 6 7", b"1 2 3 4 5 x"):
                self.write(world, bad)
                self.fails(1, "--rotate", "90", "--geo", "rewrite", "-o", output, name, says=(world, "six numbers"))
            os.remove(self.path(world))
            self.assertEqual(self.files(), ["in.ppm", "in.tif"])

    WORLD = b"2\n0\n0\n-3\n100\n0.5\n"

    def test_world_files_of_what_stays_where_it_is(self):
        """A copy's comes along if that is asked for, and is never left without a word."""
        self.put("in.tif", picture(samples(7, 5, 1, 8), 8))
        self.write("in.tfw", self.WORLD)
        self.fails(0, "--auto-orient", "-o", "out.tif", "in.tif", says=("warning", "in.tif: ", "in.tfw", "--geo rewrite"))
        self.fails(0, "--auto-orient", "--geo", "rewrite", "-o", "-", "in.tif", says=("warning", "in.tif: ", "in.tfw", "-o FILE"))
        self.fails(0, "--rotate", "90", "-o", "-", "in.tif", says=("warning", "in.tif: ", "in.tfw", "-o FILE"))
        self.assertEqual(self.files(), ["in.tfw", "in.tif", "out.tif"])
        self.succeeds("--auto-orient", "--in-place", "in.tif")
        self.succeeds("--auto-orient", "--strip", "--overwrite", "-o", "out.tif", "in.tif")
        self.succeeds("--auto-orient", "--geo", "rewrite", "-d", "new", "in.tif")
        self.assertEqual((self.read("new/in.tfw"), self.read("new/in.tif")), (self.WORLD, self.read("in.tif")))

    def test_no_zero_of_a_world_file_has_a_sign(self):
        self.put("in.tif", picture(samples(7, 5, 1, 8), 8))
        self.write("in.tfw", self.WORLD)
        self.succeeds("--rotate", "180", "--geo", "rewrite", "-o", "out.tif", "in.tif")
        self.assertEqual(self.read("out.tfw"), b"-2\n0\n0\n3\n112\n-11.5\n")

    def test_world_files_that_would_be_lost(self):
        """The source's own is never replaced, nor is any before the turn has said so, and none is left without its picture."""
        pixels = picture(samples(7, 5, 1, 8), 8)
        self.put("scan.tif", pixels)
        self.put("other.tif", pixels)
        self.write("scan.tfw", self.WORLD)
        turned = ("--rotate", "90", "--geo", "rewrite")
        for output in ("scan.tiff", "../" + os.path.basename(self.folder) + "/scan.tiff", "scan.tfw", "scan"):
            for more in ((), ("--overwrite",)):
                self.fails(1, *turned, *more, "-o", output, "scan.tif", says=("scan.tif: ", "scan.tfw", "exists" if output == "scan.tfw" and not more
                                                                              else "another name or folder"))
        os.symlink("scan.tfw", self.path("other.tfw"))
        for more in ((), ("--overwrite",)):
            self.fails(1, *turned, *more, "-o", "scan.tiff", "other.tif", says=("other.tif: ", "scan.tfw", "another name or folder"))
            self.fails(1, *turned, *more, "-o", "other.tiff", "other.tif", says=("other.tif: ", "other.tfw", "another name or folder"))
        os.mkdir(self.path("out.tfw"))
        self.fails(1, *turned, "--overwrite", "-o", "out.tif", "scan.tif", says=("scan.tif: ", "out.tfw is not a regular file"))
        os.rmdir(self.path("out.tfw"))
        self.assertEqual(self.read("scan.tfw"), self.WORLD)
        self.assertEqual(self.files(), ["other.tfw", "other.tif", "scan.tfw", "scan.tif"])

        os.rename(self.path("scan.tfw"), self.path("scan.wld"))
        longest = os.pathconf(self.folder, "PC_NAME_MAX")
        self.fails(1, *turned, "-o", "o" * (longest - 4) + ".tiff", "scan.tif", says=("scan.tif: cannot rename",))
        self.assertEqual(self.files(), ["other.tfw", "other.tif", "scan.tif", "scan.wld"])

    def test_two_pictures_of_one_world_file(self):
        for name in ("in.tif", "in.tiff"):
            self.put(name, picture(samples(7, 5, 1, 8), 8))
        self.write("in.tfw", self.WORLD)
        self.fails(1, "--rotate", "90", "--geo", "rewrite", "-j", "1", "-d", "new", "in.tif", "in.tiff", lines=2,
                   says=("in.tiff: ", "new/in.tfw exists", "1 turned, 1 failed"))

    def test_world_files_of_pages_that_turn_otherwise(self):
        """What is in the first page decides, and no tag of another."""
        first, second = samples(7, 5, 1, 8), samples(7, 5, 1, 8, 2)
        self.write("in.tfw", self.WORLD)
        rewrite = ("--geo", "rewrite", "--overwrite", "-o", "out.tif", "in.tif")
        self.put("in.tif", picture(first, 8), picture(second, 8, extra={274: (SHORT, [6])}))
        for how in (["--auto-orient"], ["--rotate", "90"], ["--rotate", "270"]):  # the last turns the first page alone
            self.fails(1, *how, *rewrite, says=("in.tif: ", "in.tfw", "cannot follow", "--stored"))
            self.fails(1, *how, "--in-place", "in.tif", says=("in.tif: ", "in.tfw", "use -o or -d"))
        self.assertEqual(self.files(), ["in.tfw", "in.tif"])
        rotated = "".join(f"{number}\n" for number in (0, 3, 2, 0, 100, -11.5)).encode()
        self.succeeds("--rotate", "90", "--stored", *rewrite)
        self.assertEqual(self.read("out.tfw"), rotated)
        for pages in ((picture(first, 8, extra={274: (SHORT, [6])}), picture(second, 8)), (picture(first, 8, extra={274: (SHORT, [6])}),)):
            self.put("in.tif", *pages)
            self.succeeds("--auto-orient", *rewrite)
            self.assertEqual(self.read("out.tfw"), rotated)
            self.succeeds("--rotate", "270", *rewrite)  # the pixels stay, the tag goes
            self.assertEqual(self.read("out.tfw"), self.WORLD)
        self.put("in.tif", picture(first, 8), picture(second, 8))
        self.succeeds("--rotate", "90", *rewrite)
        self.assertEqual(self.read("out.tfw"), rotated)

    @needs("gdalinfo", "gdal_translate")
    def test_gdal_sees_the_same_corners(self):
        self.put("plain.tif", picture(samples(70, 50, 1, 8), 8))
        made = self.run_command("-q", "-a_srs", "EPSG:32633", "-a_ullr", "500000", "5400000", "500700", "5399500", "plain.tif", "in.tif",
                                command="gdal_translate")
        self.assertEqual(made.returncode, 0, made.stderr)

        def corners(name):
            text = self.run_command(name, command="gdalinfo").stdout.decode()
            places = dict(re.findall(r"(Upper Left|Lower Left|Upper Right|Lower Right)\s+\(\s*([-0-9.]+,\s*[-0-9.]+)\)", text))
            names = [["Upper Left", "Upper Right"], ["Lower Left", "Lower Right"]]
            return [[tuple(map(float, places[name].split(","))) for name in row] for row in names]

        before = corners("in.tif")
        for orientation in ORIENTATIONS[1:]:
            self.turned(orientation, "in.tif", "--geo", "rewrite")
            self.assertEqual(corners("out.tif"), turn(before, orientation), orientation)


class Jpeg(TiffTest):
    """Beside jpegtran, which turns the JPEG that is a page's only strip."""
    TURNS = {"fliph": ["-flip", "horizontal"], "rot180": ["-rotate", "180"], "flipv": ["-flip", "vertical"], "transpose": ["-transpose"],
             "rot90": ["-rotate", "90"], "transverse": ["-transverse"], "rot270": ["-rotate", "270"]}

    def jpeg(self, width, height, *options):
        ppm = b"P6 %d %d 255\n" % (width, height) + bytes(sample for row in smooth(width, height, 3, 8) for pixel in row for sample in pixel)
        return subprocess.run(["cjpeg", "-quality", "85", *options], input=ppm, capture_output=True, check=True).stdout

    def page(self, width, height, jpeg, samples=3, photometric=6, **extra):
        return Page({256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8] * samples), 259: (SHORT, [7]), 262: (SHORT, [photometric]),
                     277: (SHORT, [samples]), **({530: (SHORT, [2, 2])} if samples == 3 else {})}, [jpeg])

    def decoded(self, jpeg):
        return subprocess.run(["djpeg", "-nosmooth"], input=jpeg, capture_output=True, check=True).stdout

    @needs("cjpeg", "djpeg", "jpegtran")
    def test_as_jpegtran_has_it(self):
        for options, size in itertools.product((["-sample", "1x1"], ["-sample", "2x2"], ["-sample", "2x1"], ["-grayscale"], ["-optimize"], ["-arithmetic"]),
                                               ((64, 48), (70, 48), (64, 53))):
            jpeg = self.jpeg(*size, *options)
            grey = options == ["-grayscale"]
            self.put("in.tif", self.page(*size, jpeg, *((1, 1) if grey else ())))
            for orientation, how in self.TURNS.items():
                peer = subprocess.run(["jpegtran", "-perfect", *how], input=jpeg, capture_output=True)
                if peer.returncode:
                    if os.path.exists(self.path("out.tif")):
                        os.remove(self.path("out.tif"))
                    self.fails(1, *ARGUMENTS[orientation], "-o", "out.tif", "in.tif", says=("--jpeg tag",))
                    continue
                page, = self.turned(orientation)
                self.assertEqual(self.decoded(page.blocks[0]), self.decoded(peer.stdout), (options, size, orientation))
                self.assertLess(len(self.read("out.tif")), len(self.read("in.tif")) * 1.02)

    @needs("cjpeg")
    def test_tables_that_are_not_there(self):
        """A component that names a table of quantisation which no JPEG can have, in the first strip or another."""
        jpeg = self.jpeg(64, 48)
        for number, bad in itertools.product((3, 4, 134, 255), (0, 1)):
            strips = [bytearray(jpeg), bytearray(jpeg)]
            strips[bad][jpeg.index(b"\xff\xc0") + 2 + 8 + 2] = number
            page = self.page(64, 96, b"")
            page.tags[278], page.blocks = (SHORT, [48]), [bytes(strip) for strip in strips]
            self.put("in.tif", page)
            before = self.read("in.tif")
            self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("in.tif: ",))
            self.assertEqual((self.files(), self.read("in.tif")), (["in.tif"], before))

    @needs("cjpeg", "djpeg")
    def test_by_the_tag(self):
        jpeg = self.jpeg(70, 53)
        for number in range(1, 9):
            before = self.page(70, 53, jpeg)
            if number > 1:
                before.tags[274] = (SHORT, [number])
            self.put("in.tif", before)
            page, = self.turned("rot90", "in.tif", "--jpeg", "tag")
            self.assertEqual(page.blocks, [jpeg])
            self.assertEqual(page.value(274), [6, 7, 8, 5, 2, 3, 4, 1][number - 1])  # exiftool's and Exif's own table of turns
            self.assertEqual((page.value(256), page.value(257)), (70, 53))
        self.put("in.tif", self.page(70, 53, jpeg))
        self.write("in.tfw", b"2\n0\n0\n-3\n100\n0.5\n")  # the pixels stay where they are
        self.fails(1, "--jpeg", "tag", "--rotate", "90", "--geo", "rewrite", "--overwrite", "-o", "out.tif", "in.tif", says=("in.tfw", "cannot follow", "another --jpeg"))

    @needs("vips", "tiffcp")
    def test_tiles_come_back(self):
        ppm = b"P6 256 128 255\n" + bytes(sample for row in smooth(256, 128, 3, 8) for pixel in row for sample in pixel)
        self.write("in.ppm", ppm)
        for options in (["--Q", "95"], ["--Q", "80", "--tile", "--tile-width", "64", "--tile-height", "128"]):
            made = self.run_command("tiffsave", "in.ppm", "in.tif", "--compression", "jpeg", *options, command="vips")
            self.assertEqual(made.returncode, 0, made.stderr)
            before = self.bare("in.tif")
            for _ in range(4):
                self.succeeds("--rotate", "90", "--in-place", "in.tif")
            after = self.bare("in.tif")
            self.assertEqual(tiffs.pixels(after[0]), tiffs.pixels(before[0]), options)

    @needs("cjpeg")
    def test_damage(self):
        jpeg = self.jpeg(64, 48)
        for bad in (jpeg[:len(jpeg) // 2], jpeg[:30], b"", b"not a JPEG at all"):
            self.put("in.tif", self.page(64, 48, bad))
            self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("in.tif: ",))
        self.put("in.tif", self.page(128, 48, jpeg))
        self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("size",))


class Damage(TiffTest):
    def refused(self, data, *says, arguments=("--rotate", "90")):
        self.write("in.tif", data)
        text = self.fails(1, *arguments, "-o", "out.tif", "in.tif", says=("in.tif: ", *says))
        self.fails(1, *arguments, "--in-place", "in.tif", says=says)
        self.assertEqual((self.files(), self.read("in.tif")), (["in.tif"], data))
        return text

    def test_circles(self):
        data = bytearray(tiffs.write([picture(samples(5, 3, 1, 8), 8)] * 3))
        first = struct.unpack("<I", data[4:8])[0]
        data[-4:] = struct.pack("<I", first)
        self.refused(bytes(data), "circle")
        data = bytearray(tiffs.write([picture(samples(5, 3, 1, 8), 8, extra={330: (LONG, [1])})]))
        at = bytes(data).index(struct.pack("<HHI", 330, LONG, 1))
        data[at + 8:at + 12] = data[4:8]
        self.refused(bytes(data), "circle")
        exif = bytearray(tiffs.write([picture(samples(5, 3, 1, 8), 8, nested={34665: [Page({40965: (LONG, [1])})]})]))
        at = bytes(exif).index(struct.pack("<HHI", 40965, LONG, 1))
        exif[at + 8:at + 12] = struct.pack("<I", at - 2)
        self.refused(bytes(exif), "each other")

    def test_cut_anywhere(self):
        for shape in (dict(strip=4), dict(strip=4, deflate=True), dict(tile=(16, 16), deflate=True)):
            data = tiffs.write([picture(samples(43, 29, 3, 8), 8, **shape)])
            for end in (4, 8, 9, 100, len(data) // 2, len(data) - 5):
                self.refused(data[:end])

    def test_counts_and_sizes_that_lie(self):
        good = tiffs.write([picture(samples(43, 29, 1, 8), 8, strip=4)])
        at = struct.unpack("<I", good[4:8])[0]
        for i in range(struct.unpack("<H", good[at:at + 2])[0]):
            for where, value in ((4, 0xffffffff), (8, 0xfffffff0)):
                data = bytearray(good)
                place = at + 2 + 12 * i + where
                data[place:place + 4] = struct.pack("<I", value)
                self.write("in.tif", bytes(data))
                result = self.run_command("--rotate", "90", "--overwrite", "-o", "out.tif", "in.tif")
                self.assertIn(result.returncode, (0, 1))
                self.assertLessEqual(result.stderr.count(b"\n"), 1, result.stderr)

    def test_damaged_pixels(self):
        for deflate in (True, False):
            page = picture(smooth(43, 29, 1, 8), 8, strip=8, deflate=True)
            page.blocks[1] = page.blocks[1][:8] + b"\xff" * (len(page.blocks[1]) - 8)
            data = tiffs.write([page])
            self.refused(data, "damaged")
            self.write("in.tif", data)  # not even if there is nothing to turn
            self.fails(1, "--auto-orient", "-o", "out.tif", "in.tif", says=("damaged",))

    def test_what_cannot_be_turned(self):
        rows = samples(16, 16, 3, 8)
        for extra, says in (({259: (SHORT, [6])}, "old way"), ({259: (SHORT, [34712])}, "without loss"), ({259: (SHORT, [32809])}, "without loss"),
                            ({258: (SHORT, [8, 8, 7])}, "different sizes"), ({50706: (1, [1, 4, 0, 0])}, "raw"), ({262: (SHORT, [32803])}, "raw"),
                            ({32997: (LONG, [4])}, "volume"), ({33629: (LONG, [4])}, "MetaMorph"), ({34412: (1, bytes(9))}, "LSM")):
            self.refused(tiffs.write([picture(rows, 8, extra=extra)]), says)

    def test_pages_that_stay_beside_others_that_turn(self):
        """What says where their pixels and their tables are must not be lost, nor point to nothing."""
        rows = samples(16, 16, 3, 8)
        nowhere = picture(rows, 8)
        del nowhere.tags[256]
        for page, says in ((picture(rows, 8, extra={259: (SHORT, [6]), 262: (SHORT, [6]), 519: (LONG, [8, 80, 160])}), "old way"), (nowhere, "not stated")):
            for pages in ([picture(rows, 8, extra={274: (SHORT, [6])}), page], [picture(rows, 8, extra={274: (SHORT, [6])}, nested={330: [page]})]):
                self.refused(tiffs.write(pages), says, arguments=("--auto-orient",))

    def test_tiles_whose_turned_rows_would_end_within_a_byte(self):
        for bits, tile in ((1, (16, 12)), (1, (12, 16)), (2, (16, 10))):
            for deflate in (False, True):
                self.refused(tiffs.write([picture(samples(40, 30, 1, bits), bits, tile=tile, deflate=deflate)]), "end on a byte")

    def test_a_predictor_of_colour_at_a_lower_resolution(self):
        """libtiff takes differences along its own rows of units, which are no rows of ours."""
        tags = {256: (LONG, [32]), 257: (LONG, [32]), 258: (SHORT, [8] * 3), 262: (SHORT, [6]), 277: (SHORT, [3]), 317: (SHORT, [2]), 530: (SHORT, [2, 2])}
        self.refused(tiffs.write([Page({**tags, 259: (SHORT, [8])}, [zlib.compress(random.Random(1).randbytes(1536))])]), "predictor")

    def test_damaged_tags_are_told_and_never_lost_in_place(self):
        """Of the page, of its EXIF and what is in that, and the one that says where SubIFDs are."""
        rows = samples(16, 16, 3, 8)
        inner = Page({33434: (RATIONAL, [1, 100]), 37500: (UNDEFINED, bytes(range(100)))})
        deeper = Page({33434: (RATIONAL, [1, 100])}, nested={40965: [Page({1: (2, b"R98\0"), 37500: (UNDEFINED, bytes(100))})]})
        for page, tag, kind, count in ((picture(rows, 8, extra={37500: (UNDEFINED, bytes(100))}), 37500, UNDEFINED, 100),
                                       (picture(rows, 8, nested={34665: [inner]}), 37500, UNDEFINED, 100),
                                       (picture(rows, 8, nested={34665: [deeper]}), 37500, UNDEFINED, 100),
                                       (picture(rows, 8, nested={330: [picture(rows, 8), picture(rows, 8)]}), 330, LONG, 2)):
            for kinds, counts in ((kind, 1 << 20), (99, count)):  # it reaches past the end; it is of no known type
                data = bytearray(tiffs.write([page]))
                at = bytes(data).index(struct.pack("<HHI", tag, kind, count))
                data[at:at + 8] = struct.pack("<HHI", tag, kinds, counts)
                self.write("in.tif", bytes(data))
                self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=(f"damaged tag {tag}",))
                self.assertEqual(self.read("in.tif"), bytes(data))
                result = self.run_command("--rotate", "90", "--overwrite", "-o", "out.tif", "in.tif")
                self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1))
                self.assertIn(f"damaged tag {tag}".encode(), result.stderr)

    def test_pages_that_share_one_table(self):
        """A table of strips takes twice its size in memory, for each page that names it."""
        rows, pages = 2000, 40
        data = bytearray(b"II*\0" + bytes(4)) + struct.pack("<2000I", *[8] * rows)
        link = 4
        for _ in range(pages):
            data[link:link + 4] = struct.pack("<I", len(data))
            entries = ((256, LONG, 1, 1), (257, LONG, 1, rows), (258, SHORT, 1, 8), (259, SHORT, 1, 1), (262, SHORT, 1, 1), (273, LONG, rows, 8),
                       (277, SHORT, 1, 1), (278, LONG, 1, 1), (279, LONG, rows, 8))
            data += struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
            link = len(data)
            data += bytes(4)
        self.refused(bytes(data), "claim more")

    def test_a_page_behind_a_nested_one(self):
        """Few readers look for it there. If the page's own list has it as well, nothing is lost."""
        rows = samples(16, 16, 3, 8)
        for listed in (False, True):
            nested = [picture(samples(8, 8, 3, 8), 8), picture(samples(8, 8, 3, 8, 2), 8)]
            data = bytearray(tiffs.write([picture(rows, 8, nested={330: nested})]))
            entry, at = bytes(data).index(struct.pack("<HHI", 330, LONG, 2)), tiffs.read(bytes(data))[0].tags[330][1]
            link = at[0] + 2 + 12 * struct.unpack_from("<H", data, at[0])[0]
            struct.pack_into("<I", data, link, at[1])
            if not listed:
                struct.pack_into("<II", data, entry + 4, 1, at[0])
            self.write("in.tif", bytes(data))
            if listed:
                self.succeeds("--rotate", "90", "--in-place", "in.tif")
                self.assertEqual(len(self.get("in.tif")[0].nested[330]), 2)
            else:
                self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("behind a nested one",))
                self.assertEqual(self.read("in.tif"), bytes(data))

    def test_directories_that_hold_more_and_more(self):
        """Each of three levels names the next one so often that copying all would never end."""
        data = bytearray(tiffs.write([picture(samples(16, 16, 1, 8), 8, extra={34665: (LONG, [1])})]))
        below = len(data)
        data += struct.pack("<HHHIII", 1, 40000, SHORT, 1, 7, 0)
        for _ in range(3):
            level = len(data)
            data += struct.pack("<H", 300) + b"".join(struct.pack("<HHII", 30000 + i, IFD, 1, below) for i in range(300)) + bytes(4)
            below = level
        at = bytes(data).index(struct.pack("<HHI", 34665, LONG, 1))
        data[at + 8:at + 12] = struct.pack("<I", below)
        self.refused(bytes(data), "directories of tags")

    def test_losses_are_told_and_never_in_place(self):
        self.put("in.tif", picture(samples(16, 16, 3, 8), 8, extra={37724: (UNDEFINED, b"Adobe Photoshop Document Data Block\0" + bytes(20))}))
        self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("layers",))
        result = self.run_command("--rotate", "90", "-o", "out.tif", "in.tif")
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1))
        self.assertNotIn(37724, self.get("out.tif")[0].tags)

    def test_upright_files_stay(self):
        self.put("in.tif", picture(samples(16, 16, 3, 8), 8, deflate=True, extra={274: (SHORT, [1])}))
        before = os.stat(self.path("in.tif")).st_mtime_ns, self.read("in.tif")
        self.succeeds("--auto-orient", "--in-place", "in.tif")
        self.succeeds("--auto-orient", "-o", "out.tif", "in.tif")
        self.assertEqual((os.stat(self.path("in.tif")).st_mtime_ns, self.read("in.tif")), before)
        self.assertEqual(self.read("out.tif"), before[1])


if __name__ == "__main__":
    if "libtiff" not in VERSION:
        print("SKIPPED: this build has no libtiff")
        sys.exit(77)
    for program in ("tiffcp", "tiffinfo", "exiftool", "gdalinfo"):
        if not shutil.which(program):
            print(f"SKIPPED in part: no {program}")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
