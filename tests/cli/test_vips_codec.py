# SPDX-License-Identifier: MIT
"""The formats that the command has from libvips, read back with the command `vips`: pixels, JPEGs, names, and when it is opened.

usage: test_vips_codec.py IMGTRANSPOSE
"""
import os
import random
import shutil
import struct
import subprocess

import pngs
from command import ARGUMENTS, COMMAND, turn
from vips_test import VERSION, VipsTest, has, library, main, opaque, vips


class Turns(VipsTest):
    def test_every_format_and_orientation(self):
        exact = {"lzw.tif": ["tiffsave", "--compression", "lzw", "--predictor", "horizontal"],
                 "tiled.tif": ["tiffsave", "--tile", "--tile-width", "16", "--tile-height", "16"],
                 "a.webp": ["webpsave", "--lossless"], "lossy.webp": ["webpsave", "--Q", "50"], "a.gif": ["gifsave"],
                 "a.v": ["copy"], "a.hdr": ["radsave"]}
        lossy = {"a.jpg": ["jpegsave", "--Q", "95"]}
        for name, file, save, among in (("JPEG XL", "a.jxl", ["jxlsave", "--lossless"], exact), ("JPEG 2000", "a.jp2", ["jp2ksave", "--lossless"], exact),
                                        ("BMP", "a.bmp", ["magicksave", "--format", "bmp"], exact),
                                        ("AVIF", "a.avif", ["heifsave", "--compression", "av1"], exact), ("HEIF", "a.heic", ["heifsave"], exact)):
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
            self.assertEqual(self.decode("out.tif"), library().rows(source), orientation)

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
    main()
