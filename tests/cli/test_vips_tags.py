# SPDX-License-Identifier: MIT
"""Tags and metadata in the formats that the command has from libvips.

usage: test_vips_tags.py IMGTRANSPOSE
"""
import base64
import os
import shutil
import struct
import subprocess

import pngs
from command import turn
from vips_test import ORIENTATIONS, VipsTest, has, main, opaque, vips


# Made by avifenc of 32 x 16 pixels (7x, 15y, 120): 10 bits a sample, an irot of 90 degrees against the clock, and EXIF that
# says 6.
AVIF = base64.b64decode("""
AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAAE9bWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYAAAAADnBpdG0AAAAAAAEAAAAsaWxv
YwAAAABEAAACAAEAAAABAAABwwAAAEcAAgAAAAEAAAFlAAAAXgAAAEFpaW5mAAAAAAACAAAAGmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAAAZaW5mZQIAAAAAAgAARXhpZkV4aWYAAAAA
GmlyZWYAAAAAAAAADmNkc2MAAgABAAEAAAB0aXBycAAAAFRpcGNvAAAAFGlzcGUAAAAAAAAAIAAAABAAAAAQcGl4aQAAAAADCgoKAAAADGF2MUOBAEwAAAAAE2NvbHJuY2x4AAEADQAG
gAAAAAlpcm90AQAAABhpcG1hAAAAAAAAAAEAAQUBAoMEhQAAAK1tZGF0AAAAAE1NACoAAAAIAAUBEgADAAAAAQAGAAABGgAFAAAAAQAAAEoBGwAFAAAAAQAAAFIBKAADAAAAAQACAAAC
EwADAAAAAQABAAAAAAAAAAAASAAAAAEAAABIAAAAARIACgkYEP/80BDQaEAyOBFAAABAAEoSm5U71gYjAWRsWeqe+ZLFTEjAzP3Jco5kQPeRYfYrNl2bbUBZ7INYPyznuzdeUHV6""")

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
        rows = self.decode("in.avif")
        self.succeeds("--rotate", "90", "-o", "turned.avif", "in.avif")
        self.assertEqual(self.decode("turned.avif"), turn(rows, "rot90"))
        self.fails(1, "--rotate", "90", "--strip", "--in-place", "in.avif", says=("in.avif: ", "loss", "in place"))
        result = self.run_command("--rotate", "90", "--strip", "-o", "out.avif", "in.avif")
        self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
        self.assert_close(eights("out.avif"), card, 14)
        bits = self.field("out.avif", "bits-per-sample")
        self.assertEqual((bits or self.field("out.avif", "heif-bitdepth"), b"10 bits" in result.stderr), ("10", False) if bits else ("12", True))

    def test_levels_of_light(self):
        if not has("AVIF"):
            self.skipTest("this libvips has no AVIF")
        at = AVIF.index(b"pixi") - 4  # 16 bytes, of which a decoder has no need
        self.write("in.avif", AVIF[:at] + struct.pack(">I4sHHI", 16, b"clli", 1000, 400, 0) + AVIF[at + 16:])
        self.loses(True, "in.avif", "levels", "--strip")
        self.loses(False, "in.avif", "levels")

    def test_colours_that_are_not_srgb(self):
        """Codes of what they mean, which libvips passes over; and images beside the picture."""
        if not has("AVIF"):
            self.skipTest("this libvips has no AVIF")
        at = AVIF.index(b"colrnclx") + 8
        for space, curve, refused in ((9, 16, True), (12, 13, True), (1, 18, True), (1, 13, False), (2, 2, False), (1, 1, False)):
            self.write("in.avif", AVIF[:at] + struct.pack(">HH", space, curve) + AVIF[at + 4:])
            if refused:
                for where in (["-o", "none.avif"], ["--in-place"]):
                    self.fails(1, "--rotate", "90", "--strip", *where, "in.avif", says=(f"in.avif: says by codes what its colours mean (CICP {space}/{curve})",))
            else:
                self.assertEqual(self.run_command("-q", "--rotate", "90", "--strip", "--overwrite", "-o", "out.avif", "in.avif").returncode, 0)
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.avif", "in.avif")
            self.assertIn(struct.pack(">4s4sHH", b"colr", b"nclx", space, curve), self.read("out.avif"))

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
            by_header = name.endswith("avif")  # which says how the pixels lie that the numbers are about
            self.assertEqual([round(a, 2) for a in after], [300, 72, 26, 14] if by_header else [72, 300, 14, 26], name)
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
        for order in "<>":
            name = self.with_exif("jpg", self.camera(6, order))
            self.assertEqual(self.field(name, "orientation"), "6")
            data = self.read(name)
            self.fails(1, "--auto-orient", "--in-place", name, says=(name + ": ", "EXIF", "makers' notes", "in place", "use -o or -d"))
            self.assertEqual(self.read(name), data)
            result = self.run_command("--auto-orient", "--overwrite", "-o", "out.jpg", name)
            self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
            self.assertIn(b"makers' notes", result.stderr)
            self.assertEqual(self.field("out.jpg", "orientation"), "1")
            # What comes from libvips comes back to the byte, but for the tag and the sizes.
            again = self.run_command("--rotate", "90", "--overwrite", "-o", "again.jpg", "out.jpg")
            self.assertEqual((again.returncode, again.stderr.count(b"\n")), (0, 1), again.stderr)
            self.assertNotIn(b"EXIF", again.stderr)
            # With --strip it goes, as was asked for.
            stripped = self.run_command("--auto-orient", "--strip", "--overwrite", "-o", "out.jpg", name)
            self.assertNotIn(b"EXIF", stripped.stderr)
            self.assertNotIn(bytes(range(7, 60)), self.read("out.jpg"))
        if has("JPEG XL"):
            self.with_exif("jxl", self.camera(1))
            kept = self.field("in.jxl", "exif-data")  # from 8.15 on
            self.loses(True, "in.jxl", "makers' notes" if kept else "beside the picture")

    def test_exif_of_a_webp_is_kept(self):
        """To the byte, but for the tag; and none is there that was not."""
        for order in "<>":
            self.with_exif("webp", self.camera(6, order))
            self.assertEqual(self.field("in.webp", "orientation"), "6")
            data, rows = self.read("in.webp"), self.decode("in.webp")
            self.succeeds("--auto-orient", "--strip", "-o", "strip.webp", "in.webp")
            self.succeeds("--stored", "--rotate", "90", "--strip", "-o", "stored.webp", "in.webp")
            self.assertEqual((self.field("strip.webp", "exif-data"), self.field("stored.webp", "orientation")), (None, "6"))
            self.succeeds("--auto-orient", "--in-place", "in.webp")
            after = self.read("in.webp")
            self.assertEqual(opaque(self.decode("in.webp")), opaque(turn(rows, "rot90")))
            self.assertEqual(after[after.index(b"EXIF"):], data[data.index(b"EXIF"):].replace(self.camera(6, order), self.camera(1, order)))
            for name in ("strip.webp", "stored.webp"):
                os.remove(self.path(name))

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
        bare = ["--keep", "none"] if "keep" in vips("jpegsave") else ["--strip"]
        self.write("roll.png", pngs.png(12, 24))
        for file, *save in (*[("in.jpg", "jpegsave")] * (bare[0] == "--keep"), ("in.webp", "webpsave", "--lossless"), ("film.webp", "webpsave", "--lossless", "--page-height", "8"),
                            *[("in.jxl", "jxlsave", "--lossless")] * has("JPEG XL")):
            vips(save[0], self.path("roll.png"), self.path(file), *save[1:], *bare)
            data = self.read(file)
            if b"EXIF" in data:  # which versions before 8.15 write all the same, at the end
                body = data[8:20] + bytes([data[20] & ~8]) + data[21:data.index(b"EXIF")]
                self.write(file, b"RIFF" + struct.pack("<I", len(body)) + body)
            self.succeeds("-q", "--rotate", "90", "-o", "out." + file, file)
            for field in ("n-pages", "delay", "loop"):
                self.assertEqual(self.field("out." + file, field), self.field(file, field))
            self.assertIsNone(self.field("out." + file, "exif-data"))


if __name__ == "__main__":
    main()
