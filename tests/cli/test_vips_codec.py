# SPDX-License-Identifier: MIT
"""The formats that the command has from libvips, read back with the command `vips`.

usage: test_vips_codec.py IMGTRANSPOSE
"""
import base64
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
from command import ARGUMENTS, COMMAND, CommandTest, turn
from libvips import Library

# The libraries that libvips opens leak, and the search for leaks is lost among its threads.
os.environ["ASAN_OPTIONS"] += ":detect_leaks=0"
ORIENTATIONS = list(ARGUMENTS)  # numbered from 1 as EXIF does
VERSION = subprocess.run([COMMAND, "-v", "--version"], capture_output=True, text=True).stdout
FORMATS = re.search(r"libvips [0-9.]+ \((.*)\)", VERSION)


# Made by avifenc of 32 x 16 pixels (7x, 15y, 120): 10 bits a sample, an irot of 90 degrees against the clock, and EXIF that
# says 6.
AVIF = base64.b64decode("""
AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAAE9bWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYAAAAADnBpdG0AAAAAAAEAAAAsaWxv
YwAAAABEAAACAAEAAAABAAABwwAAAEcAAgAAAAEAAAFlAAAAXgAAAEFpaW5mAAAAAAACAAAAGmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAAAZaW5mZQIAAAAAAgAARXhpZkV4aWYAAAAA
GmlyZWYAAAAAAAAADmNkc2MAAgABAAEAAAB0aXBycAAAAFRpcGNvAAAAFGlzcGUAAAAAAAAAIAAAABAAAAAQcGl4aQAAAAADCgoKAAAADGF2MUOBAEwAAAAAE2NvbHJuY2x4AAEADQAG
gAAAAAlpcm90AQAAABhpcG1hAAAAAAAAAAEAAQUBAoMEhQAAAK1tZGF0AAAAAE1NACoAAAAIAAUBEgADAAAAAQAGAAABGgAFAAAAAQAAAEoBGwAFAAAAAQAAAFIBKAADAAAAAQACAAAC
EwADAAAAAQABAAAAAAAAAAAASAAAAAEAAABIAAAAARIACgkYEP/80BDQaEAyOBFAAABAAEoSm5U71gYjAWRsWeqe+ZLFTEjAzP3Jco5kQPeRYfYrNl2bbUBZ7INYPyznuzdeUHV6""")


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
        return LIBRARY.rows(self.path(name) + options)

    def field(self, name, field):
        return LIBRARY.field(self.path(name), field)

    def loses(self, lost, name, says):
        """Turned in place, or else refused there and warned of with -o."""
        data = self.read(name)
        if not lost:
            self.succeeds("--rotate", "90", "--in-place", name)
            self.assertNotEqual(self.read(name), data)
            return
        self.fails(1, "--rotate", "90", "--in-place", name, says=(name + ": ", says, "in place"))
        self.assertEqual(self.read(name), data)
        result = self.run_command("--rotate", "90", "--overwrite", "-o", "out", name)
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


class Turns(VipsTest):
    def test_every_format_and_orientation(self):
        exact = {"lzw.tif": ["tiffsave", "--compression", "lzw", "--predictor", "horizontal"],
                 "tiled.tif": ["tiffsave", "--tile", "--tile-width", "16", "--tile-height", "16"],
                 "a.webp": ["webpsave", "--lossless"], "lossy.webp": ["webpsave", "--Q", "50"], "a.gif": ["gifsave"],
                 "a.v": ["copy"], "a.hdr": ["radsave"]}
        lossy = {"a.jpg": ["jpegsave", "--Q", "95"]}
        for name, file, save, among in (("JPEG XL", "a.jxl", ["jxlsave", "--lossless"], exact), ("JPEG 2000", "a.jp2", ["jp2ksave", "--lossless"], exact),
                                        ("BMP", "a.bmp", ["magicksave", "--format", "bmp"], exact),
                                        ("AVIF", "a.avif", ["heifsave", "--compression", "av1"], lossy), ("HEIF", "a.heic", ["heifsave"], lossy)):
            if has(name):
                among[file] = save
            else:
                print(f"SKIPPED: this libvips has no {name}")
        for file, save in exact.items():
            self.picture(file, *save, width=37, height=21)
        self.picture("deep.tif", "tiffsave", "--compression", "deflate", depth=16, colour=6)
        self.picture("deep.v", "copy", depth=16)
        exact.update({"deep.tif": None, "deep.v": None})
        for file, save in lossy.items():
            self.picture(file, *save, width=67, height=41, smooth=True)
        before = {file: self.decode(file) for file in (*exact, *lossy)}
        os.mkdir(self.path("out"))
        for orientation, arguments in ARGUMENTS.items():
            self.succeeds("-q", *arguments, "--overwrite", "-d", "out", *before)
            for file, rows in before.items():
                want, got = turn(rows, orientation), self.decode("out/" + file)
                if file in lossy:
                    self.assert_close(got, want, 12)
                elif file == "a.gif":
                    self.assertEqual(opaque(got), opaque(want), orientation)
                else:
                    self.assertEqual(got, want, (file, orientation))
        self.succeeds("--rotate", "90", "--in-place", *exact)  # verified, and without a warning
        for file in exact:
            self.assertEqual(opaque(self.decode(file)), opaque(turn(before[file], "rot90")), file)
        for file in lossy:
            data = self.read(file)
            self.fails(1, "--rotate", "90", "--in-place", file, says=(file, "loss", "in place"))
            self.succeeds("--auto-orient", "--in-place", file)  # there is nothing to turn
            self.assertEqual(self.read(file), data)
            result = self.run_command("--rotate", "90", "-o", "x" + file, file)
            self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1))
            self.assertIn(b"loss", result.stderr)

    def test_against_vips_itself(self):
        self.picture("in.tif", "tiffsave", width=301, height=203)
        for orientation, calls in {"rot90": [("rot", "d90")], "rot180": [("rot", "d180")], "rot270": [("rot", "d270")],
                                   "fliph": [("flip", "horizontal")], "flipv": [("flip", "vertical")],
                                   "transpose": [("rot", "d90"), ("flip", "horizontal")],
                                   "transverse": [("rot", "d270"), ("flip", "horizontal")]}.items():
            source = self.path("in.tif")
            for i, (operation, how) in enumerate(calls):
                vips(operation, source, self.path(f"step{i}.v"), how)
                source = self.path(f"step{i}.v")
            self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "out.tif", "in.tif")
            self.assertEqual(self.decode("out.tif"), LIBRARY.rows(source), orientation)

    def test_tiff_of_few_bits(self):
        for bits in (1, 2, 4):
            for width in (13, 14):
                self.picture("in.tif", "tiffsave", "--bitdepth", str(bits), width=width, height=width, colour=0)
                rows = self.decode("in.tif")
                self.succeeds("--rotate", "90", "--overwrite", "-o", "out.tif", "in.tif")
                self.assertEqual(self.decode("out.tif"), turn(rows, "rot90"))
                if bits < 4 or width % 2 == 0:
                    self.assertEqual(self.tiff("out.tif")[258], bits)

    def test_tiff_keeps_its_structure(self):
        for options, tags in ((["--compression", "lzw", "--predictor", "horizontal"], {259: 5, 317: 2}),
                              (["--compression", "deflate", "--tile", "--tile-width", "32", "--tile-height", "16"], {259: 8, 322: 32, 323: 16}),
                              (["--compression", "packbits"], {259: 32773}), (["--compression", "none"], {259: 1})):
            self.picture("in.tif", "tiffsave", *options, "--xres", "10", "--yres", "20", "--resunit", "inch", width=70, height=50)
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.tif", "in.tif")
            out = self.tiff("out.tif")
            self.assertEqual({tag: out[tag] for tag in tags}, tags)
            self.assertEqual(out[296], 2)
            self.assertEqual((self.field("out.tif", "xres"), self.field("out.tif", "yres")), ("20", "10"))


class Pages(VipsTest):
    def test_pages_are_turned_by_themselves(self):
        heights = {}
        for file, height, *save in (("a.tif", 3, "tiffsave"), ("a.gif", 3, "gifsave"), ("a.webp", 3, "webpsave", "--lossless"),
                                    ("tiled.tif", 23, "tiffsave", "--tile", "--tile-width", "16", "--tile-height", "16")):
            self.write("roll.png", pngs.png(4 if height == 3 else 40, height * 3))
            vips(save[0], self.path("roll.png"), self.path(file), "--page-height", str(height), *save[1:])
            self.assertEqual(self.field(file, "n-pages"), "3")
            heights[file] = height
        before = {file: opaque(self.decode(file, "[n=-1]")) for file in heights}
        os.mkdir(self.path("out"))
        for orientation, arguments in ARGUMENTS.items():
            self.succeeds(*arguments, "--overwrite", "-d", "out", *heights)
            for file, height in heights.items():
                rows = before[file]
                want = [row for i in range(0, len(rows), height) for row in turn(rows[i:i + height], orientation)]
                self.assertEqual(opaque(self.decode("out/" + file, "[n=-1]")), want, (file, orientation))
                for field in ("n-pages", "delay", "loop"):
                    self.assertEqual(self.field("out/" + file, field), self.field(file, field), field)
        self.succeeds("--rotate", "90", "--in-place", *heights)
        for file, height in heights.items():
            self.assertEqual(self.field(file, "n-pages"), "3")
            self.assertEqual(self.field(file, "width"), str(height))

    def test_pages_of_heif(self):
        HEVC, AV1 = 1, 4
        self.write("roll.png", card(48, 96, True))
        for name, file, compression in (("HEIF", "a.heic", HEVC), ("AVIF", "a.avif", AV1)):
            if not has(name):
                continue
            LIBRARY.save_pages(self.path("roll.png"), 32, self.path(file), compression=compression, Q=95)
            self.assertEqual(self.field(file, "n-pages"), "3")
            rows = self.decode(file, "[n=-1]")
            self.succeeds("-q", "--rotate", "90", "-o", "out." + file, file)
            self.assertEqual(self.field("out." + file, "n-pages"), "3")
            self.assert_close(self.decode("out." + file, "[n=-1]"), [row for y in (0, 32, 64) for row in turn(rows[y:y + 32], "rot90")], 12)

    def gif(self, *frames):
        """Frames of 2 x 1 in red and blue: (colour indices as LZW, milliseconds), shown three times."""
        frame = lambda pixels, delay: (b"\x21\xf9\x04\0" + struct.pack("<H", delay // 10) + b"\0\0"
                                       + b"\x2c\0\0\0\0\2\0\1\0\0" + b"\2\2" + pixels + b"\0")
        self.write("in.gif", b"GIF89a\2\0\1\0\x80\0\0" + b"\xff\0\0\0\0\xff" + b"\x21\xff\x0bNETSCAPE2.0\3\1\2\0\0"
                   + b"".join(frame(*f) for f in frames) + b";")

    def test_delays_and_loop_stay(self):
        red_blue, blue_red = b"\x44\x0a", b"\x0c\x0a"
        self.gif((red_blue, 100), (blue_red, 200), (red_blue, 300))
        self.assertEqual(opaque(self.decode("in.gif", "[n=-1]")), [[(255, 0, 0), (0, 0, 255)], [(0, 0, 255), (255, 0, 0)],
                                                                   [(255, 0, 0), (0, 0, 255)]])
        self.succeeds("--rotate", "90", "-o", "out.gif", "in.gif")
        self.assertEqual(opaque(self.decode("out.gif", "[n=-1]")), [[(255, 0, 0)], [(0, 0, 255)], [(0, 0, 255)], [(255, 0, 0)],
                                                                    [(255, 0, 0)], [(0, 0, 255)]])
        self.assertEqual(self.field("out.gif", "delay").split(), ["100", "200", "300"])
        self.assertEqual(self.field("out.gif", "loop"), self.field("in.gif", "loop"))

    def webp(self, *frames):
        """A film of three different frames: (which, milliseconds), shown three times."""
        self.write("roll.png", pngs.png(12, 24))
        vips("webpsave", self.path("roll.png"), self.path("in.webp"), "--page-height", "8", "--lossless", "--strip")
        os.remove(self.path("roll.png"))
        data, at, chunks = self.read("in.webp"), 12, []
        while at < len(data):
            size = struct.unpack("<I", data[at + 4:at + 8])[0]
            chunks.append((data[at:at + 4], data[at + 8:at + 8 + size]))
            at += 8 + (size + 1) // 2 * 2
        films = [body for kind, body in chunks if kind == b"ANMF"]
        self.assertEqual(len(films), 3)
        kept = [(b"VP8X", bytes([2 | dict(chunks)[b"VP8X"][0] & 0x10]) + dict(chunks)[b"VP8X"][1:]), (b"ANIM", bytes(4) + b"\3\0")]
        kept += [(b"ANMF", films[which][:12] + struct.pack("<I", delay)[:3] + films[which][15:]) for which, delay in frames]
        body = b"WEBP" + b"".join(kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2) for kind, body in kept)
        self.write("in.webp", b"RIFF" + struct.pack("<I", len(body)) + body)

    def test_delays_and_loop_of_a_webp_stay(self):
        self.webp((0, 100), (1, 40), (2, 3000))
        self.assertEqual((self.field("in.webp", "delay").split(), self.field("in.webp", "loop")), (["100", "40", "3000"], "3"))
        rows = self.decode("in.webp", "[n=-1]")
        for where in (["-o", "out.webp"], ["--in-place"]):
            self.succeeds("--rotate", "90", *where, "in.webp")
            name = "in.webp" if where == ["--in-place"] else "out.webp"
            self.assertEqual((self.field(name, "delay").split(), self.field(name, "loop")), (["100", "40", "3000"], "3"))
            self.assertEqual(opaque(self.decode(name, "[n=-1]")), opaque([row for i in (0, 8, 16) for row in turn(rows[i:i + 8], "rot90")]))

    def test_no_frame_is_merged_in_silence(self):
        """Some versions of libvips make one frame of equal ones, and so does libwebp."""
        self.gif((b"\x44\x0a", 100), (b"\x44\x0a", 200))
        self.webp((0, 100), (0, 200), (1, 300))
        for extension, pages in (("gif", "2"), ("webp", "3")):
            name, out = "in." + extension, "out." + extension
            self.assertEqual(self.field(name, "n-pages"), pages)
            result = self.run_command("--rotate", "90", "-o", out, name)
            if result.returncode == 0:
                self.assertEqual(self.field(out, "n-pages"), pages)
            else:
                self.assertIn(b"pages", result.stderr)
                self.assertFalse(os.path.exists(self.path(out)))

    def test_cut_anywhere(self):
        """Decoders show the pages that are there as if they were all."""
        self.write("roll.png", pngs.png(40, 120))
        for file, *save in (("a.tif", "tiffsave"), ("a.gif", "gifsave"), ("a.webp", "webpsave", "--lossless"),
                            ("tiled.tif", "tiffsave", "--tile", "--tile-width", "16", "--tile-height", "16")):
            vips(save[0], self.path("roll.png"), self.path(file), "--page-height", "20", *save[1:])
            data = self.read(file)
            for percent in (30, 45, 60, 90, 97, 99):
                self.write(file, data[:len(data) * percent // 100])
                self.fails(1, "-q", "--rotate", "90", "-o", "out", file, says=(file + ": ", "restore it"))
            before = self.read(file)
            self.fails(1, "-q", "--rotate", "90", "--in-place", file, says=(file + ": ", "restore it"))
            self.assertEqual(self.read(file), before)
            os.remove(self.path(file))
        self.assertEqual(self.files(), ["roll.png"])

    def test_what_a_gif_holds_beside_its_frames(self):
        for extra, lost in ((b"", False), (b"\x21\xfe\3abc\0", True), (b"\x21\xff\x0bXMP DataXMP\1x\0", True)):
            self.gif((b"\x44\x0a", 100), (b"\x0c\x0a", 200))
            data = self.read("in.gif")
            self.write("in.gif", data[:-1] + extra + data[-1:])
            self.loses(lost, "in.gif", "beside its frames")
        self.gif((b"\x44\x0a", 100), (b"\x0c\x0a", 200))
        self.write("in.gif", self.read("in.gif") + b"more")
        self.loses(True, "in.gif", "beside its frames")

    def test_what_a_webp_holds_beside_its_frames(self):
        self.webp((0, 100), (1, 40))
        data = self.read("in.webp")
        for extra, behind, lost in ((b"", b"", False), (b"XMP \5\0\0\0<x/> \0", b"", False), (b"ABCD\3\0\0\0xyz\0", b"", True), (b"", b"more", True)):
            self.write("in.webp", b"RIFF" + struct.pack("<I", len(data) + len(extra) - 8) + data[8:20] + bytes([data[20] | 4 * (extra[:1] == b"X")])
                       + data[21:] + extra + behind)
            self.loses(lost, "in.webp", "unknown kinds")

    def test_four_quarter_turns(self):
        """Pixels, pages and all that libvips says of a picture are as before."""
        self.write("card.png", pngs.png(37, 21, before=pngs.chunk(b"eXIf", pngs.exif(1)) + pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + pngs.xmp(1, True))))
        self.write("roll.png", pngs.png(16, 27))
        files = {"a.tif": ["tiffsave", "--compression", "lzw"], "a.webp": ["webpsave", "--lossless"], "a.gif": ["gifsave"], "a.v": ["copy"], "a.hdr": ["radsave"],
                 "pages.tif": ["tiffsave", "--page-height", "9"], "pages.gif": ["gifsave", "--page-height", "9"],
                 "pages.webp": ["webpsave", "--page-height", "9", "--lossless"]}
        for name, file, save in (("JPEG XL", "a.jxl", ["jxlsave", "--lossless"]), ("JPEG 2000", "a.jp2", ["jp2ksave", "--lossless", "--tile-width", "20", "--tile-height", "10"]),
                                 ("BMP", "a.bmp", ["magicksave", "--format", "bmp"])):
            if has(name):
                files[file] = save
        for file, (save, *options) in files.items():
            vips(save, self.path("roll.png" if "pages" in file else "card.png"), self.path(file), *options)
        roll = {file: "[n=-1]" for file in files if "pages" in file}
        other = ("filename:", "vips-sequential:", "magick-date:", "gif-palette:", "background:", "palette-bit-depth:")  # a GIF's colours get an order of their own
        describe = lambda file: sorted(line for line in vips_header(self.path(file) + roll.get(file, "")).split("\n")[1:] if not line.startswith(other))
        before = {file: (opaque(self.decode(file, roll.get(file, ""))), describe(file)) for file in files}
        for _ in range(4):
            self.succeeds("--rotate", "90", "--in-place", *[file for file in files if not file.endswith("jxl")])
            if "a.jxl" in files:  # before 8.15 libvips does not read its EXIF
                self.assertEqual(self.run_command("-q", "--rotate", "90", "--overwrite", "-o", "next.jxl", "a.jxl").returncode, 0)
                os.replace(self.path("next.jxl"), self.path("a.jxl"))
        for file in files:
            rows, said = opaque(self.decode(file, roll.get(file, ""))), describe(file)
            self.assertEqual(rows, before[file][0], file)
            self.assertEqual(said, before[file][1], file)

    def test_more_rows_than_libvips_counts(self):
        """They would be cut off."""
        vips("black", self.path("roll.v"), "60000", "200")
        vips("gifsave", self.path("roll.v"), self.path("in.gif"), "--page-height", "1")
        if int(self.field("in.gif", "n-pages")) < 200:
            self.skipTest("this libvips merges equal frames")
        result = self.run_command("--rotate", "90", "-o", "out.gif", "in.gif")
        if result.returncode:  # later libvips count to 100,000,000
            self.assertIn(b"in.gif: would have 12000000 rows in its 200 pages", result.stderr)
            self.assertFalse(os.path.exists(self.path("out.gif")))

    def test_pages_of_different_sizes(self):
        self.picture("in.tif", "tiffsave", "--pyramid", "--tile", "--tile-width", "16", "--tile-height", "16", width=64, height=64)
        self.assertGreater(int(self.field("in.tif", "n-pages")), 1)
        text = self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("in.tif: has ", " pages", "not all of one size", "split it first"))
        self.assertNotIn("restore", text)  # for it is whole
        self.assertEqual(self.files(), ["in.tif"])


class Tags(VipsTest):
    def jpeg(self, orientation):
        """A JPEG with a tag in EXIF and XMP."""
        self.picture("plain.jpg", "jpegsave", "--Q", "95", "--subsample-mode", "off", "--strip", width=67, height=41, smooth=True)
        data = self.read("plain.jpg")
        segments = b""
        for body in (b"Exif\0\0" + pngs.exif(orientation), b"http://ns.adobe.com/xap/1.0/\0" + pngs.xmp(orientation, True)):
            segments += b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body
        return self.write(f"{orientation}.jpg", data[:2] + segments + data[2:])

    def test_exif_orientations_become_upright(self):
        for orientation in range(1, 9):
            name = f"{orientation}.jpg"
            self.jpeg(orientation)
            rows = self.decode(name)
            self.succeeds("-q", "--auto-orient", "--overwrite", "-o", "out.jpg", name)
            self.assert_close(self.decode("out.jpg"), turn(rows, ORIENTATIONS[orientation - 1]), 6)
            self.assertEqual(self.field("out.jpg", "orientation"), "1")
            self.assertIn(b'tiff:Orientation="1"', self.read("out.jpg"))
            self.succeeds("--auto-orient", "--overwrite", "-o", "again.jpg", "out.jpg")  # and no warning
            self.assertEqual(self.read("again.jpg"), self.read("out.jpg"))

    def test_stored_leaves_the_tag(self):
        self.jpeg(6)
        rows = self.decode("6.jpg")
        self.succeeds("-q", "--rotate", "90", "--stored", "-o", "out.jpg", "6.jpg")
        self.assert_close(self.decode("out.jpg"), turn(rows, "rot90"), 6)
        self.assertEqual(self.field("out.jpg", "orientation"), "6")
        self.assertIn(b'tiff:Orientation="6"', self.read("out.jpg"))

    def test_tags_of_other_formats(self):
        self.jpeg(6)
        for file, *save in (("in.tif", "tiffsave"), ("in.webp", "webpsave", "--lossless")):
            vips(save[0], self.path("6.jpg"), self.path(file), *save[1:])
            self.assertEqual(self.field(file, "orientation"), "6")
            rows = self.decode(file)
            self.succeeds("--rotate", "90", "--in-place", file)
            self.assertEqual(self.decode(file), turn(rows, "rot180"))
            self.assertEqual(self.field(file, "orientation"), "1")

    def test_what_the_decoder_has_turned_is_not_turned_again(self):
        """HEIF and JPEG XL: a tag in EXIF means nothing."""
        self.jpeg(6)
        for name, file, *save in (("HEIF", "in.heic", "heifsave"), ("JPEG XL", "in.jxl", "jxlsave", "--lossless")):
            if not has(name):
                continue
            vips(save[0], self.path("6.jpg"), self.path(file), *save[1:])
            data, rows = self.read(file), self.decode(file)
            self.succeeds("--auto-orient", "--in-place", file)
            self.assertEqual(self.read(file), data)
            self.succeeds("-q", "--rotate", "90", "-o", "out." + file, file)
            self.assert_close(self.decode("out." + file), turn(rows, "rot90"), 12)
            self.assertIn(self.field("out." + file, "orientation"), (None, "1"))

    def test_avif_of_ten_bits_that_says_how_it_lies(self):
        """The decoder has turned it; and no encoder ends the process."""
        if not has("AVIF"):
            self.skipTest("this libvips has no AVIF")
        card = [[(x * 7, y * 15, 120) for x in range(32)] for y in range(16)]
        eights = lambda name: [[tuple(sample / 257 for sample in pixel) for pixel in row] for row in self.decode(name)]
        self.write("in.avif", AVIF)
        self.assert_close(eights("in.avif"), turn(card, "rot270"), 10)
        self.succeeds("--auto-orient", "--in-place", "in.avif")
        self.assertEqual(self.read("in.avif"), AVIF)
        self.fails(1, "--rotate", "90", "--in-place", "in.avif", says=("in.avif: ", "loss", "in place"))
        result = self.run_command("--rotate", "90", "-o", "out.avif", "in.avif")
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
        self.assert_close(eights("out.avif"), card, 14)
        bits = self.field("out.avif", "bits-per-sample")
        self.assertEqual((bits or self.field("out.avif", "heif-bitdepth"), b"10 bits" in result.stderr), ("10", False) if bits else ("12", True))

    def test_colours_that_are_not_srgb(self):
        """Codes of what they mean, which libvips passes over; and images beside the picture."""
        if not has("AVIF"):
            self.skipTest("this libvips has no AVIF")
        at = AVIF.index(b"colrnclx") + 8
        for space, curve, refused in ((9, 16, True), (12, 13, True), (1, 18, True), (1, 13, False), (2, 2, False), (1, 1, False)):
            self.write("in.avif", AVIF[:at] + struct.pack(">HH", space, curve) + AVIF[at + 4:])
            if refused:
                for where in (["-o", "none.avif"], ["--in-place"]):
                    self.fails(1, "--rotate", "90", *where, "in.avif", says=(f"in.avif: says by codes what its colours mean (CICP {space}/{curve})",))
            else:
                self.assertEqual(self.run_command("-q", "--rotate", "90", "--overwrite", "-o", "out.avif", "in.avif").returncode, 0)

    def with_sizes(self, name):
        """A file of 26 x 14 with EXIF and XMP that say so, and a resolution of 300 x 72."""
        entry = lambda tag, kind, value: struct.pack(">HHI", tag, kind, 1) + (struct.pack(">HH", value, 0) if kind == 3 else struct.pack(">I", value))
        first, nested = 8 + 2 + 12 * 5 + 4, 8 + 2 + 12 * 5 + 4 + 2 + 12 * 2 + 4
        exif = (b"MM\0*" + struct.pack(">IH", 8, 5) + entry(0x112, 3, 1) + entry(0x11a, 5, nested) + entry(0x11b, 5, nested + 8) + entry(0x128, 3, 2)
                + entry(0x8769, 4, first) + bytes(4) + struct.pack(">H", 2) + entry(0xa002, 3, 26) + entry(0xa003, 3, 14) + bytes(4)
                + struct.pack(">IIII", 300, 1, 72, 1))
        xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><d tiff:ImageWidth="26" tiff:ImageLength="14"/></x:xmpmeta>'
        self.write("card.png", pngs.png(26, 14, before=pngs.chunk(b"eXIf", exif) + pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp)))
        vips(*{"v": ["copy"], "webp": ["webpsave", "--lossless"], "avif": ["heifsave", "--compression", "av1"]}.get(name.split(".")[1], ["copy"])[:1],
             self.path("card.png"), self.path(name), *{"webp": ["--lossless"], "avif": ["--compression", "av1"]}.get(name.split(".")[1], []))

    def test_sizes_and_resolutions_in_exif_and_xmp(self):
        stated = ("exif-ifd0-XResolution", "exif-ifd0-YResolution", "exif-ifd2-PixelXDimension", "exif-ifd2-PixelYDimension")
        for name in ["in.v", "in.webp", *["in.avif"] * has("AVIF")]:
            self.with_sizes(name)
            before = [self.field(name, field).split(" ")[0] for field in stated]
            self.assertEqual(before, ["300/1", "72/1", "26", "14"], name)
            self.succeeds("-q", "--rotate", "90", "-o", "out." + name, name)
            after = [float(eval(self.field("out." + name, field).split(" ")[0])) for field in stated]
            self.assertEqual([round(a, 2) for a in after], [72, 300, 14, 26], name)
            if not name.endswith("avif"):
                self.assertIn(b'tiff:ImageWidth="14" tiff:ImageLength="26"', base64.b64decode(self.field("out." + name, "xmp-data")))

    def test_jpeg_xl_that_says_how_it_lies(self):
        """cjxl makes the codestream's own field of a JPEG's tag."""
        if not has("JPEG XL") or not shutil.which("cjxl"):
            print("SKIPPED: JPEG XL with an orientation, since there is no", "cjxl" if has("JPEG XL") else "JPEG XL")
            return
        self.jpeg(6)
        subprocess.run(["cjxl", self.path("6.jpg"), self.path("in.jxl")], capture_output=True, check=True)
        data, rows = self.read("in.jxl"), self.decode("in.jxl")
        self.assert_close(rows, turn(self.decode("6.jpg"), "rot90"), 3)
        self.succeeds("--auto-orient", "--in-place", "in.jxl")
        self.assertEqual(self.read("in.jxl"), data)
        self.succeeds("-q", "--rotate", "90", "-o", "out.jxl", "in.jxl")
        self.assertEqual(self.decode("out.jxl"), turn(rows, "rot90"))

    def camera(self, orientation, order="<"):
        """EXIF as a camera writes it: with a note of its maker's own and a tag that nobody knows."""
        note = bytes(range(7, 60))
        entry = lambda tag, kind, count, value: struct.pack(order + "HHI", tag, kind, count) + value
        nested = 8 + 2 + 12 * 3 + 4
        ifd0 = [entry(0x112, 3, 1, struct.pack(order + "HH", orientation, 0)), entry(0x8769, 4, 1, struct.pack(order + "I", nested)),
                entry(0xeeee, 4, 1, b"abcd")]
        exif = [entry(0x927c, 7, len(note), struct.pack(order + "I", nested + 2 + 12 + 4))]
        return ((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(ifd0)) + b"".join(ifd0) + bytes(4)
                + struct.pack(order + "H", len(exif)) + b"".join(exif) + bytes(4) + note)

    def with_exif(self, extension, block):
        """in.webp, .jxl or .jpg with that EXIF, put there by hand; None if there is no such format."""
        name = "in." + extension
        if extension == "webp":
            self.picture(name, "webpsave", "--lossless", "--strip", width=13, height=7)
            data = self.read(name)
            at = data.index(b"VP8L")
            pixels = data[at:at + 8 + (struct.unpack("<I", data[at + 4:at + 8])[0] + 1) // 2 * 2]
            chunk = lambda kind, body: kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
            body = b"WEBP" + chunk(b"VP8X", struct.pack("<II", 8, 12)[:7] + struct.pack("<I", 6)[:3]) + pixels + chunk(b"EXIF", block)
            self.write(name, b"RIFF" + struct.pack("<I", len(body)) + body)
        elif extension == "jpg":
            self.picture(name, "jpegsave", "--Q", "95", "--strip", width=13, height=7)
            data, body = self.read(name), b"Exif\0\0" + block
            self.write(name, data[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + data[2:])
        elif has("JPEG XL"):
            self.picture(name, "jxlsave", "--lossless", "--strip", width=13, height=7)
            data = self.read(name)
            box = lambda kind, body: struct.pack(">I", len(body) + 8) + kind + body
            if data[:2] == b"\xff\x0a":
                data = box(b"JXL ", b"\r\n\x87\n") + box(b"ftyp", b"jxl \0\0\0\0jxl ") + box(b"jxlc", data)
            self.write(name, data[:32] + box(b"Exif", bytes(4) + block) + data[32:])
        return name

    def test_exif_that_is_written_anew(self):
        for extension in ("webp", "jpg"):
            for order in "<>":
                name = self.with_exif(extension, self.camera(6, order))
                self.assertEqual(self.field(name, "orientation"), "6")
                data = self.read(name)
                self.fails(1, "--auto-orient", "--in-place", name, says=(name + ": ", "EXIF", "makers' notes", "in place", "use -o or -d"))
                self.assertEqual(self.read(name), data)
                result = self.run_command("--auto-orient", "--overwrite", "-o", "out." + extension, name)
                self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
                self.assertIn(b"makers' notes", result.stderr)
                self.assertEqual(self.field("out." + extension, "orientation"), "1")
                # What comes from libvips comes back to the byte, but for the tag and the sizes.
                again = self.run_command("--rotate", "90", "--overwrite", "-o", "again." + extension, "out." + extension)
                self.assertEqual((again.returncode, again.stderr.count(b"\n")), (0, extension == "jpg"), again.stderr)
                self.assertNotIn(b"EXIF", again.stderr)
                if extension == "webp":
                    self.succeeds("--rotate", "180", "--overwrite", "-o", "again.webp", "out.webp")
                    self.assertEqual(*(data[data.index(b"EXIF"):] for data in map(self.read, ("out.webp", "again.webp"))))
                # With --strip it goes, as was asked for.
                stripped = self.run_command("--auto-orient", "--strip", "--overwrite", "-o", "out." + extension, name)
                self.assertNotIn(b"EXIF", stripped.stderr)
                self.assertNotIn(bytes(range(7, 60)), self.read("out." + extension))
        self.with_exif("webp", self.camera(6))
        self.succeeds("--auto-orient", "--strip", "--in-place", "in.webp")
        if has("JPEG XL"):
            self.with_exif("jxl", self.camera(1))
            kept = self.field("in.jxl", "exif-data")  # from 8.15 on
            self.loses(True, "in.jxl", "makers' notes" if kept else "beside the picture")

    def test_a_profile_stays(self):
        for extension, save in (("tif", "tiffsave"), ("jpg", "jpegsave"), ("webp", "webpsave")):
            self.picture("in." + extension, save, "--profile", "srgb")
            profile = self.field("in." + extension, "icc-profile-data")
            self.assertTrue(profile)
            self.succeeds("-q", "--rotate", "90", "-o", "out." + extension, "in." + extension)
            self.assertEqual(self.field("out." + extension, "icc-profile-data"), profile)

    def test_strip(self):
        """Nothing that describes the picture is left but, with --stored, the tag."""
        self.jpeg(6)
        for arguments, tag in ((("--auto-orient",), "1"), (("--rotate", "90", "--stored"), "6")):
            self.succeeds("-q", *arguments, "--strip", "--overwrite", "-o", "out.jpg", "6.jpg")
            self.assertNotIn(b"xap", self.read("out.jpg"))
            self.assertNotIn(b"me\0", self.read("out.jpg"))  # a neighbour of the tag
            self.assertEqual(self.field("out.jpg", "orientation") or "1", tag)
        for word in (b"xap", b"me\0"):
            self.assertIn(word, self.read("6.jpg"))

    def test_no_exif_is_invented(self):
        if b"--keep" not in subprocess.run(["vips", "jpegsave", "--help"], capture_output=True).stdout and "keep" not in vips("jpegsave"):
            self.skipTest("this libvips cannot be told")
        for file, *save in (("in.jpg", "jpegsave", "--keep", "none"), ("in.webp", "webpsave", "--lossless", "--keep", "none")):
            self.picture(file, *save)
            self.succeeds("-q", "--rotate", "90", "-o", "out." + file, file)
            self.assertIsNone(self.field("out." + file, "exif-data"))


class Jpeg(VipsTest):
    def shape(self, name):
        """(steps of all tables, sampling factors, progressive) of a JPEG."""
        data, at, steps, sampling, progressive = self.read(name), 2, [], None, None
        while data[at + 1] != 0xda:
            marker, size = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
            body = data[at + 4:at + 2 + size]
            if marker == 0xdb:
                while body:
                    steps.append(list(body[1:65]))
                    body = body[65:]
            if marker in (0xc0, 0xc1, 0xc2):
                sampling, progressive = [body[7 + 3 * i] for i in range(body[5])], marker == 0xc2
            at += 2 + size
        return steps, sampling, progressive

    def test_quality_and_sampling_are_no_less(self):
        for quality in (1, 10, 49, 50, 75, 76, 89, 90, 95, 100):
            for options in (["--subsample-mode", "on"], ["--subsample-mode", "off", "--interlace"]):
                self.picture("in.jpg", "jpegsave", "--Q", str(quality), *options, width=32, height=24)
                self.succeeds("-q", "--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
                self.assertEqual(self.shape("out.jpg"), self.shape("in.jpg"), quality)

    def test_tables_of_ones_own(self):
        self.picture("in.jpg", "jpegsave", "--Q", "60", width=32, height=24)
        data = bytearray(self.read("in.jpg"))
        at = data.index(b"\xff\xdb\0\x43\0") + 5
        data[at:at + 64] = bytes(random.Random(1).randrange(8, 60) for _ in range(64))
        self.write("in.jpg", bytes(data))
        self.succeeds("-q", "--rotate", "90", "-o", "out.jpg", "in.jpg")
        before, after = self.shape("in.jpg")[0], self.shape("out.jpg")[0]
        for old, new in zip(before, after):
            self.assertTrue(all(n <= o for n, o in zip(new, old)))

    def test_what_only_draws_a_warning_works(self):
        self.picture("good.jpg", "jpegsave", width=67, height=41, smooth=True)
        data = self.read("good.jpg")
        end = data.rindex(b"\xff\xd9")
        self.write("in.jpg", data[:end] + b"\0\0\x13" + data[end:])
        self.succeeds("-q", "--rotate", "90", "-o", "out.jpg", "in.jpg")
        rows = self.decode("good.jpg")
        self.assert_close(self.decode("out.jpg"), turn(rows, "rot90"), 12)


    def test_data_beside_the_picture(self):
        self.picture("good.jpg", "jpegsave", "--Q", "95", "--profile", "srgb")
        data = self.read("good.jpg")
        segment = lambda marker, body: bytes((0xff, marker)) + struct.pack(">H", len(body) + 2) + body
        xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x/>")
        for extra, behind, lost in ((b"", b"", False), (xmp, b"", False), (xmp + xmp, b"", True), (segment(0xfe, b"words"), b"", True),
                                    (segment(0xe2, b"MPF\0II*\0"), b"", True), (segment(0xe7, b"x"), b"", True), (b"", b"film", True),
                                    (segment(0xe1, b"http://ns.adobe.com/xmp/extension/\0x"), b"", True)):
            at = data.index(b"\xff\xdb")
            self.write("in.jpg", data[:at] + extra + data[at:] + behind)
            result = self.run_command("--rotate", "90", "--overwrite", "-o", "out.jpg", "in.jpg")
            self.assertEqual((result.returncode, result.stderr.count(b"\n"), b"other data" in result.stderr), (0, 1, lost), (extra, result.stderr))

    def test_damage_that_is_only_warned_of(self):
        for options in ([], ["--interlace"]):
            self.picture("in.jpg", "jpegsave", *options, width=200, height=160)
            data = self.read("in.jpg")
            half = (data.rindex(b"\xff\xda") + data.rindex(b"\xff\xd9")) // 2
            self.write("in.jpg", data[:half] + data[half + (len(data) - half) // 4:])
            for arguments in (["--rotate", "90"], ["--flip", "horizontal"], ["--auto-orient"]):
                self.fails(1, "-q", *arguments, "-o", "out.jpg", "in.jpg", says=("in.jpg: cannot be read", "restore it"))
        self.assertEqual(self.files(), ["in.jpg"])

    def test_bytes_between_segments(self):
        self.picture("good.jpg", "jpegsave", width=67, height=41, smooth=True)
        data = self.read("good.jpg")
        at = data.index(b"\xff\xdb")
        self.write("in.jpg", data[:at] + b"\0\0\x13" + data[at:])
        result = self.run_command("--rotate", "90", "-o", "out.jpg", "in.jpg")
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 2), result.stderr)
        self.assertIn(b"no part of its picture", result.stderr)
        self.assert_close(self.decode("out.jpg"), turn(self.decode("good.jpg"), "rot90"), 12)


class Refusals(VipsTest):
    def test_truncated(self):
        for extension, save in every_format().items():
            whole = self.picture("whole." + extension, *save, width=80, height=60)
            with open(whole, "rb") as file:
                data = file.read()
            os.remove(whole)
            for size in (len(data) // 10, len(data) * 6 // 10, len(data) - 2):
                self.write("in." + extension, data[:size])
                for arguments in (["--rotate", "90"], ["--flip", "horizontal"], ["--auto-orient"]):
                    self.fails(1, "-q", *arguments, "-o", "out." + extension, "in." + extension, says=(f"in.{extension}: ", "restore it"))
            self.fails(1, "-q", "--rotate", "90", "--in-place", "in." + extension)
            self.assertEqual(self.files(), ["in." + extension])
            os.remove(self.path("in." + extension))

    def test_damaged(self):
        """Not all codings can tell; none hangs, says more than a line, or leaves what is not whole."""
        told = set()
        for extension, save in every_format().items():
            with open(self.picture("in." + extension, *save, width=80, height=60), "rb") as file:
                data = bytearray(file.read())
            os.remove(self.path("in." + extension))
            half = len(data) // 2
            for at, size in ((half, 200), (half, 1), (len(data) // 5, 30), (40, 8)):
                spoilt = data[:at] + random.Random(at).randbytes(size) + data[at + size:]
                self.write("in." + extension, spoilt)
                result = self.run_command("-q", "--rotate", "90", "-o", "out." + extension, "in." + extension)
                if result.returncode:
                    self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1), result.stderr)
                    self.assertIn(b": in." + extension.encode() + b": ", result.stderr)
                    self.assertEqual(self.files(), ["in." + extension])
                    told.add(extension)
                else:
                    self.assertEqual(result.stderr, b"")
                    os.remove(self.path("out." + extension))
            os.remove(self.path("in." + extension))
        self.assertLessEqual({"gif", "hdr"}, told)

    def test_a_tiff_that_ends_in_its_pixels(self):
        """The directory comes first, so that only decoding tells."""
        width, height = 64, 64
        entries = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 122),
                   (277, 3, 1, 1), (278, 3, 1, height), (279, 4, 1, width * height)]
        head = b"II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(struct.pack("<HHII", *e) for e in entries) + bytes(4)
        data = head + random.Random(3).randbytes(width * height)
        self.assertEqual(len(head), 122)
        self.write("in.tif", data)
        self.succeeds("--rotate", "90", "-o", "out.tif", "in.tif")
        os.remove(self.path("out.tif"))
        self.write("in.tif", data[:len(data) * 6 // 10])
        self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("in.tif: ",))
        self.assertEqual(self.files(), ["in.tif"])

    def tiff(self, *extra, name="in.tif"):
        entries = sorted([(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
                          (277, 3, 1, 1), (278, 3, 1, 2), (279, 4, 1, 4), *extra])
        self.write(name, b"II*\0" + struct.pack("<I", 12) + bytes(4) + struct.pack("<H", len(entries))
                   + b"".join(struct.pack("<HHII", *e) for e in entries) + bytes(4))

    def test_tiffs_that_would_lose(self):
        for tag, says in ((33550, "map"), (33922, "map"), (34264, "map"), (34735, "map"), (330, "images within"), (50706, "raw")):
            self.tiff((tag, 4, 1, 8))
            for where in (["-o", "out.tif"], ["--in-place"]):
                self.fails(1, "--rotate", "90", *where, "in.tif", says=("in.tif: ", says))
        self.tiff((305, 2, 4, 0x65656565), (65000, 4, 1, 7))
        self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("Software, 65000", "in place"))
        result = self.run_command("--rotate", "90", "-o", "out.tif", "in.tif")
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1))
        self.assertIn(b"warning: in.tif: ", result.stderr)

    def tiff_pages(self, *pages, samples=1, photometric=1):
        """Pages of 2 x 2 with tags of their own."""
        data = b"II*\0\x08\0\0\0"
        for i, extra in enumerate(pages):
            at = len(data)
            entries = sorted([(256, 3, 1, 2), (257, 3, 1, 2), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, photometric), (273, 4, 1, 0),
                              (277, 3, 1, samples), (278, 3, 1, 2), (279, 4, 1, 4 * samples), *extra])
            end = at + 2 + 12 * len(entries) + 4
            tail = b"".join(struct.pack("<" + "H" * samples, *[8] * samples) if tag == 258 else value
                            for tag, *_, value in entries if isinstance(value, bytes) or tag == 258 and samples > 2)
            pixels, packed = end + len(tail), []
            for tag, kind, count, value in entries:
                if tag == 258 and samples > 1:
                    count, value = samples, b"\x08\0" * samples if samples > 2 else 0x80008
                if tag == 273:
                    value = pixels
                if isinstance(value, bytes):
                    value, end = end, end + len(value)
                packed.append(struct.pack("<HHII", tag, kind, count, value))
            after = pixels + 4 * samples
            data += (struct.pack("<H", len(entries)) + b"".join(packed) + struct.pack("<I", after if i + 1 < len(pages) else 0)
                     + tail + bytes(range(7, 7 + 4 * samples)))
        self.write("in.tif", data)

    def test_what_a_tiff_says_of_pages_and_channels(self):
        text = lambda words: (270, 2, len(words), words)
        res = lambda x, y, unit: [(282, 5, 1, struct.pack("<II", x, 1)), (283, 5, 1, struct.pack("<II", y, 1)), (296, 3, 1, unit)]
        for pages, says in (([[text(b"one page\0")], [text(b"one page\0")]], None), ([[text(b"one page\0")], [text(b"another.\0")]], "pages"),
                            ([[text(b"one page\0")], []], "pages"), ([[], [text(b"one page\0")]], "pages"),
                            ([res(30, 30, 3), res(30, 30, 3)], None), ([res(30, 30, 3), res(30, 40, 3)], "pages"),
                            ([res(30, 30, 3), res(30, 30, 2)], "pages"), ([res(30, 40, 3)], None), ([res(30, 40, 1)], "no unit")):
            self.tiff_pages(*pages)
            self.loses(says is not None, "in.tif", says or "")
        for value, says in ((2, None), (0, "become alpha")):
            self.tiff_pages([(338, 3, 1, value)], samples=2)
            self.loses(says is not None, "in.tif", says or "")
        self.tiff_pages([(530, 3, 2, 0x10001)], samples=3, photometric=6)
        self.loses(True, "in.tif", "RGB")

    def test_the_origin_of_a_v_file_and_the_shape_of_pixels(self):
        self.picture("in.v", "copy", "--xoffset", "3", "--yoffset", "1")
        for orientation, at in (("rot90", (7 - 1, 3)), ("fliph", (13 - 3, 1)), ("flipv", (3, 7 - 1)), ("transpose", (1, 3))):
            self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "out.v", "in.v")
            self.assertEqual((self.field("out.v", "xoffset"), self.field("out.v", "yoffset")), tuple(map(str, at)), orientation)
        self.radiance(b"-Y 2 +X 3", b"PIXASPECT=2")
        self.succeeds("--rotate", "90", "--in-place", "in.hdr")
        self.assertEqual(float(self.field("in.hdr", "rad-aspect")), 0.5)

    def test_boxes_of_a_jp2(self):
        if not has("JPEG 2000"):
            self.skipTest("this libvips has no JPEG 2000")
        self.picture("whole.jp2", "jp2ksave", "--lossless", width=37, height=21)
        data = self.read("whole.jp2")
        os.remove(self.path("whole.jp2"))
        box = lambda kind, body: struct.pack(">I", len(body) + 8) + kind + body
        at = data.index(b"jp2c") - 4
        geo = bytes.fromhex("b14bf8bd083d4b43a5ae8cd7d5a6ce03") + b"II*\0"
        for extra in (b"", box(b"xml ", b"<a/>"), box(b"uuid", bytes(16) + b"x")):
            self.write("in.jp2", data[:at] + extra + data[at:])
            self.loses(bool(extra), "in.jp2", "boxes")
        for extra in (box(b"uuid", geo), box(b"asoc", box(b"lbl ", b"gml.data") + box(b"xml ", b"<a/>"))):
            self.write("in.jp2", data[:at] + extra + data[at:])
            for where in (["-o", "out.jp2"], ["--in-place"]):
                self.fails(1, "--rotate", "90", *where, "in.jp2", says=("in.jp2: ", "map"))
        start = data.index(b"jp2h") - 4
        header = data[start + 8:at] + box(b"res ", box(b"resc", struct.pack(">HHHHbb", 1, 1, 1, 1, 2, 2)))
        self.write("in.jp2", data[:start] + box(b"jp2h", header) + data[at:])
        self.loses(True, "in.jp2", "boxes")

    def test_tiles_and_bits_of_a_jp2(self):
        """The codestream keeps its tiles; one that is a single tile stays one."""
        if not has("JPEG 2000"):
            self.skipTest("this libvips has no JPEG 2000")
        sizes = lambda name: struct.unpack(">IIIIIIII", (data := self.read(name))[(at := data.index(b"\xff\x4f\xff\x51") + 8):at + 32])
        for tile, want in (((20, 10), (21, 37, 20, 10)), ((600, 600), (21, 37, 21, 37))):
            self.picture("in.jp2", "jp2ksave", "--lossless", "--tile-width", str(tile[0]), "--tile-height", str(tile[1]), width=37, height=21)
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.jp2", "in.jp2")
            width, height, _, _, tile_width, tile_height, _, _ = sizes("out.jp2")
            self.assertEqual((width, height, min(tile_width, 600 if tile[0] == 20 else 21), min(tile_height, 600 if tile[0] == 20 else 37)), want)
        data = self.read("in.jp2")
        at = data.index(b"\xff\x4f\xff\x51") + 42
        self.write("in.jp2", data[:at] + b"\x05\1\1" * 3 + data[at + 9:])  # 6 bits
        text = self.run_command("--rotate", "90", "--in-place", "in.jp2").stderr
        self.assertIn(b"samples of 6 bits become ones of 8", text)

    def test_header_of_a_bmp(self):
        if not has("BMP"):
            self.skipTest("this libvips has no BMP")
        def bmp(bits, resolution, palette, row):
            offset = 54 + len(palette)
            return (b"BM" + struct.pack("<IHHI", offset + 8, 0, 0, offset) + struct.pack("<IiiHHIIiiII", 40, 2, 1, 1, bits, 0, 8, resolution,
                    resolution, len(palette) // 4, 0) + palette + row.ljust(8, b"\0"))
        for bits, resolution, palette, row, says in ((24, 0, b"", b"abcdef", None), (24, 2835, b"", b"abcdef", "resolution"),
                                                     (8, 0, b"\0\0\0\0\xff\xff\xff\0", b"\0\1", "few bits"), (1, 0, b"\0\0\0\0\xff\xff\xff\0", b"\x40", "few bits")):
            self.write("in.bmp", bmp(bits, resolution, palette, row))
            self.loses(says is not None, "in.bmp", says or "")

    def radiance(self, size, *lines):
        self.write("in.hdr", b"#?RADIANCE\n" + b"".join(line + b"\n" for line in lines) + b"FORMAT=32-bit_rle_rgbe\n\n"
                   + size + b"\n" + bytes(range(128, 152)))

    def test_radiance_in_another_order(self):
        for size in (b"+Y 2 +X 3", b"-Y 2 -X 3", b"+Y 2 -X 3", b"+X 3 -Y 2", b"-X 3 +Y 2"):
            self.radiance(size)
            for where in (["-o", "out.hdr"], ["--in-place"]):
                self.fails(1, "--rotate", "90", *where, "in.hdr", says=("in.hdr: ", "-Y and +X"))
        self.assertEqual(self.files(), ["in.hdr"])

    def test_lines_of_a_radiance_header(self):
        for line, lost in ((b"EXPOSURE=2", False), (b"SOFTWARE=this", False), (b"VIEW= -vtv -vh 45", True), (b"# seen", True), (b"pfilt -1", True)):
            self.radiance(b"-Y 2 +X 3", line)
            self.loses(lost, "in.hdr", "header")

    def test_formats_that_are_not_turned(self):
        ftyp = lambda *brands: struct.pack(">I", 8 + 4 * (len(brands) + 1)) + b"ftyp" + brands[0] + bytes(4) + b"".join(brands[1:])
        for data, says in ((b'<?xml version="1.0"?><svg width="5" height="5"/>', "SVG"), (b"%PDF-1.4\n", "PDF"), (b"\x76\x2f\x31\x01" + bytes(80), "OpenEXR"),
                           (b"SIMPLE  =                    T", "FITS"), (struct.pack("<i", 348) + bytes(344), "Analyze"),
                           (struct.pack("<i", 348) + bytes(340) + b"n+1\0", "NIfTI"), (ftyp(b"avis", b"avif") + bytes(50), "sequence"),
                           (b"words", "no image")):
            self.write("in", data)
            for where in (["-o", "out"], ["--in-place"]):
                self.fails(1, "--rotate", "90", *where, "in", says=("in: ", says))
        self.assertEqual(self.files(), ["in"])

    def test_formats_are_not_converted(self):
        self.picture("in.jpg", "jpegsave")
        for out in ("out.png", "out.tif", "out.webp", "out.pdf", "out.ppm"):
            self.fails(1, "-o", out, "in.jpg", says=("in.jpg: is JPEG", out))
        self.assertEqual(self.files(), ["in.jpg"])

    def test_limit_of_file_sizes(self):
        """Some encoders would try for ever."""
        import resource
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        for extension, save in every_format().items():
            name, has_encoder = "in." + extension, extension not in ("v", "tif")
            self.noise(name, *save, edge=97 if has_encoder else 700)  # written in many parts
            before = self.read(name)
            for where in (["-o", "out." + extension], ["--in-place"]):
                loses = where == ["--in-place"] and extension in ("jpg", "heic", "avif")
                self.fails(1, "-q", "--rotate", "90", *where, name, preexec_fn=limit,
                           says=(name + ": ", "in place" if loses else "cannot write the output (File too large): raise the limit"))
                self.assertEqual(self.files(), [name])
                self.assertEqual(self.read(name), before)
            os.remove(self.path(name))

    def test_full_disk(self):
        """A small one of memory, where a user may mount such."""
        alone = ["unshare", "--user", "--map-root-user", "--mount"] if os.getuid() else ["unshare", "--mount"]
        mount = lambda: f"mount -t tmpfs -o size=4k none {self.path('disk')} 2>/dev/null || exit 77;"
        os.mkdir(self.path("disk"))
        if not shutil.which("unshare") or subprocess.run([*alone, "sh", "-c", mount()], capture_output=True).returncode:
            print("SKIPPED: no full disk, since a file system cannot be mounted here")
            return
        for extension, save in every_format().items():
            name = "in." + extension
            self.noise(name, *save)
            turn_it = f'"$@"; status=$?; [ -z "$(ls -A disk)" ] || echo left; exit $status'
            result = subprocess.run([*alone, "sh", "-c", mount() + turn_it, "sh", COMMAND, "-q", "--rotate", "90", "-o", "disk/out." + extension, name],
                                    capture_output=True, cwd=self.folder, timeout=120)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count(b"\n")), (1, b"", 1), result.stderr)
            self.assertIn(name.encode() + b": cannot write the output (No space left on device): free some space", result.stderr)

    def test_a_v_file_without_a_folder_for_temporary_files(self):
        self.picture("in.v", "copy")
        self.fails(1, "--rotate", "90", "-o", "out.v", "in.v", says=("in.v: ", "TMPDIR"), env={**os.environ, "TMPDIR": self.path("nowhere")})
        self.assertEqual(self.files(), ["in.v"])


class Names(VipsTest):
    def test_a_name_sets_no_option(self):
        self.picture("plain.tif", "tiffsave")
        self.picture("plain.jpg", "jpegsave", "--Q", "95", width=67, height=41, smooth=True)
        for name, plain in (("a[page=1].tif", "plain.tif"), ("a.tif[page=1]", "plain.tif"), ("a.jpg[Q=1]", "plain.jpg"), ("[shrink=2].jpg", "plain.jpg")):
            os.rename(shutil.copy(self.path(plain), self.path("copy")), self.path(name))
            self.succeeds("-q", "--rotate", "90", "-o", "out[strip].x[Q=1]", "--overwrite", name)
            shutil.copy(self.path("out[strip].x[Q=1]"), self.path("seen"))
            self.assert_close(self.decode("seen"), turn(self.decode(plain), "rot90"), 0 if "tif" in name else 6)

    def test_extensions_in_any_case(self):
        os.mkdir(self.path("out"))
        names = ["A.JPG", "b.jpeg", "c.Jpg", "none"]
        for name in names:
            os.rename(self.picture("in.jpg", "jpegsave"), self.path(name))
        os.rename(self.picture("in.tif", "tiffsave"), self.path("D.TIF"))
        self.succeeds("-q", "--rotate", "90", "-d", "out", *names, "D.TIF")
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted([*names, "D.TIF"]))


class Opening(VipsTest):
    def test_it_is_not_opened_for_pngs(self):
        strace = shutil.which("strace")
        if not strace or subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True).returncode:
            self.skipTest("strace is absent or may not trace")
        self.write("in.png", pngs.png(5, 3))
        self.picture("in.tif", "tiffsave")
        for name, opened in (("in.png", False), ("in.tif", True)):
            subprocess.run([strace, "-f", "-e", "trace=openat", "-o", self.path("trace"), COMMAND, "-o", self.path("out" + name), self.path(name)], check=True)
            self.assertEqual(b"libvips" in self.read("trace"), opened, name)

    def test_warnings_are_shown_with_v_only(self):
        self.picture("good.jpg", "jpegsave")
        data = self.read("good.jpg")
        end = data.rindex(b"\xff\xd9")
        self.write("in.jpg", data[:end] + b"\0\0\x13" + data[end:])
        self.assertEqual(self.run_command("-o", "out.jpg", "in.jpg").stderr.count(b"\n"), 1)  # of the loss

    def test_version(self):
        self.assertIn("JPEG, TIFF, WebP", VERSION)


if __name__ == "__main__":
    if not FORMATS or not shutil.which("vips"):
        print("SKIPPED: the formats of libvips are not tested:",
              "there is no command vips" if FORMATS else "the command has none of them on this machine")
        sys.exit(77)
    LIBRARY = Library()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
