# SPDX-License-Identifier: MIT
"""Pages and frames of the formats that the command has from libvips.

usage: test_vips_pages.py IMGTRANSPOSE
"""
import os
import struct

import pngs
from command import ARGUMENTS, turn
from vips_test import VipsTest, card, has, library, main, opaque, vips, vips_header


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
            library().save_pages(self.path("roll.png"), 32, self.path(file), compression=compression, Q=95)
            self.assertEqual(self.field(file, "n-pages"), "3")
            rows = self.decode(file, "[n=-1]")
            for options, most in ((["--strip"], 12), ([], 0)):  # by their pixels, and by the file's header
                self.succeeds("-q", "--rotate", "90", *options, "--overwrite", "-o", "out." + file, file)
                self.assertEqual(self.field("out." + file, "n-pages"), "3")
                self.assert_close(self.decode("out." + file, "[n=-1]"), [row for y in (0, 32, 64) for row in turn(rows[y:y + 32], "rot90")], most)

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

    def test_what_a_webp_holds_beside_its_frames(self):
        self.webp((0, 100), (1, 40))
        data = self.read("in.webp")
        chunk = lambda kind, body: kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
        frames = self.decode("in.webp", "[n=-1]")
        anim = data[data.index(b"ANIM"):][:14]
        kept = [(b"", b""), (chunk(b"XMP ", b"<x/> "), b""), (chunk(b"ABCD", b"xyz"), b""), (b"", b"more"), (chunk(b"EXIF", pngs.exif(1)) + chunk(b"odd ", b"1"), b"!")]
        for extra, behind in kept:
            flags = 4 * (b"XMP " in extra) | 8 * (b"EXIF" in extra)
            body = b"WEBP" + data[12:20] + bytes([data[20] | flags]) + data[21:] + extra
            self.write("in.webp", b"RIFF" + struct.pack("<I", len(body)) + body + behind)
            self.succeeds("--rotate", "90", "--in-place", "in.webp")
            turned = self.read("in.webp")
            self.assertEqual(turned[4:8], struct.pack("<I", len(turned) - len(behind) - 8))
            self.assertTrue(turned.endswith(extra + behind), extra)
            self.assertEqual((turned[20] & 12, anim in turned, turned.count(b"EXIF")), (flags, True, extra.count(b"EXIF")))
            self.assertEqual(opaque(self.decode("in.webp", "[n=-1]")), opaque([row for i in (0, 8) for row in turn(frames[i:i + 8], "rot90")]))
        self.succeeds("--rotate", "90", "--strip", "-o", "out.webp", "in.webp")
        self.assertNotIn(b"odd ", self.read("out.webp"))
        self.assertNotIn(b"EXIF", self.read("out.webp"))
        self.assertFalse(self.read("out.webp").endswith(b"!"))

    def test_what_libvips_does_not_read_of_a_webp(self):
        """Chunks that come twice, that are empty or that the head does not mention stay to the byte; ones within a frame have no place to stay in."""
        chunk = lambda kind, body: kind + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
        exif, xmp, profile = chunk(b"EXIF", pngs.exif(6)), chunk(b"XMP ", pngs.xmp(6, True)), chunk(b"ICCP", b"colour")
        upright = exif.replace(pngs.exif(6), pngs.exif(1))
        again = chunk(b"XMP ", b"<y/>") + chunk(b"EXIF", b"II*\0other")
        for film in (False, True):
            if film:
                self.webp((0, 100), (1, 40))
            else:
                self.picture("in.webp", "webpsave", "--lossless", "--strip", width=12, height=8)
            data = self.read("in.webp")
            if not film:
                pixels = data[data.index(b"VP8L"):]
                pixels = pixels[:8 + (struct.unpack("<I", pixels[4:8])[0] + 1) // 2 * 2]
                data = data[:12] + chunk(b"VP8X", bytes(4) + b"\x0b\0\0\7\0\0") + pixels
            frames = self.decode("in.webp", "[n=-1]")
            for flags, extra, kept, to in ((0, exif + xmp, exif + xmp, "none"), (0, profile + exif + exif, profile + exif + exif, "none"),
                                           (12, exif + xmp + again + exif, upright + xmp.replace(b'Orientation="6"', b'Orientation="1"') + again + exif, "rot90"),
                                           (12, again + xmp, chunk(b"EXIF", b"II*\0other") + chunk(b"XMP ", b"<y/>") + xmp, "none"),
                                           (8, xmp + exif + xmp, upright + xmp + xmp, "rot90"),
                                           (4, chunk(b"XMP ", b"") + exif + xmp, chunk(b"XMP ", b"") + exif + xmp, "none")):
                body = b"WEBP" + data[12:20] + bytes([data[20] | flags]) + data[21:] + extra
                self.write("in.webp", b"RIFF" + struct.pack("<I", len(body)) + body)
                self.succeeds("--auto-orient", "--in-place", "in.webp")
                if to == "none":  # it is upright, and left alone
                    self.assertTrue(self.read("in.webp").endswith(body))
                    self.succeeds("--rotate", "180", "--in-place", "in.webp")
                    to = "rot180"
                turned = self.read("in.webp")
                self.assertTrue(turned.endswith(kept), (film, flags, extra))
                self.assertEqual([turned.count(kind) for kind in (b"EXIF", b"XMP ", b"ICCP")], [extra.count(kind) for kind in (b"EXIF", b"XMP ", b"ICCP")])
                self.assertEqual(opaque(self.decode("in.webp", "[n=-1]")),
                                 opaque([row for i in range(0, len(frames), 8) for row in turn(frames[i:i + 8], to)]))
                self.succeeds("--rotate", "180", "--strip", "--overwrite", "-o", "out.webp", "in.webp")
                self.assertFalse([kind for kind in (b"EXIF", b"XMP ", b"ICCP") if kind in self.read("out.webp")])
        at = data.index(b"ANMF")
        size = struct.unpack("<I", data[at + 4:at + 8])[0]
        inside = chunk(b"INFR", b"inside!")
        body = data[8:at + 4] + struct.pack("<I", size + len(inside)) + data[at + 8:at + 8 + size] + inside + data[at + 8 + size:]
        self.write("in.webp", b"RIFF" + struct.pack("<I", len(body)) + body)
        self.assertEqual(opaque(self.decode("in.webp", "[n=-1]")), opaque(frames))
        self.loses(True, "in.webp", "unknown chunks within frames")
        self.succeeds("--rotate", "90", "--strip", "--in-place", "in.webp")
        self.assertNotIn(b"INFR", self.read("in.webp"))

    def test_a_webp_of_more_than_there_is_room_for(self):
        """It is whole, so no copy of it would help."""
        self.webp((0, 100), (1, 40))
        data = self.read("in.webp")
        most = 1 << 30
        for inside, behind in ((0, most + 2), (most + 2, 0), (64, most - 16)):
            length = len(data) + (8 + inside if inside else 0)
            self.write("in.webp", data[:4] + struct.pack("<I", length - 8) + data[8:] + (b"ABCD" + struct.pack("<I", inside) if inside else b""))
            os.truncate(self.path("in.webp"), length + behind)
            text = self.fails(1, "--rotate", "90", "-o", "out.webp", "in.webp", says=("in.webp: has more than 1 GB of data", "--strip"))
            self.assertNotIn("restore", str(text))
            self.succeeds("--rotate", "90", "--strip", "--overwrite", "-o", "strip.webp", "in.webp")
            self.assertLess(os.path.getsize(self.path("strip.webp")), 2 * len(data))
            os.remove(self.path("strip.webp"))
            os.truncate(self.path("in.webp"), length - 1)
            self.fails(1, "--rotate", "90", "--strip", "-o", "out.webp", "in.webp", says=("in.webp: ", "restore it"))

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
        vips("tiffsave", self.path("roll.v"), self.path("in.tif"), "--page-height", "1", "--compression", "deflate")
        self.assertEqual(self.field("in.tif", "n-pages"), "200")
        result = self.run_command("--rotate", "90", "-o", "out.tif", "in.tif")
        if result.returncode:  # later libvips count to 100,000,000
            self.assertIn(b"in.tif: would have 12000000 rows in its 200 pages", result.stderr)
            self.assertFalse(os.path.exists(self.path("out.tif")))

    def test_pages_of_different_sizes(self):
        self.picture("in.tif", "tiffsave", "--pyramid", "--tile", "--tile-width", "16", "--tile-height", "16", width=64, height=64)
        self.assertGreater(int(self.field("in.tif", "n-pages")), 1)
        text = self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("in.tif: has ", " pages", "not all of one size", "split it first"))
        self.assertNotIn("restore", text)  # for it is whole
        self.assertEqual(self.files(), ["in.tif"])


if __name__ == "__main__":
    main()
