# SPDX-License-Identifier: MIT
"""What the command refuses of the formats that it has from libvips: damage, and what would be lost.

usage: test_vips_refusals.py IMGTRANSPOSE
"""
import os
import random
import shutil
import struct
import subprocess

from command import ARGUMENTS, COMMAND
from vips_test import VipsTest, every_format, has, main


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
                loses = where == ["--in-place"] and extension == "jpg"
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


if __name__ == "__main__":
    main()
