# SPDX-License-Identifier: MIT
"""PNGs by the real command: nothing lost, damage of every kind, the same bytes by any number of threads, no file larger
than libpng makes it, and no more memory than for one copy of the picture.

usage: test_png.py IMGTRANSPOSE CHECK_PNG GOLDEN_DIR LIBPNG_SIZE      TT_PNGSUITE may name a folder with PngSuite.
"""
import glob
import os
import random
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

import pngs
from command import ARGUMENTS, COMMAND, CommandTest, address_space, runs_in

CHECK, GOLDEN, LIBPNG_SIZE = map(os.path.abspath, sys.argv[2:5])
PNGCHECK = shutil.which("pngcheck")
SUITE = os.environ.get("TT_PNGSUITE")
CARDS = sorted(glob.glob(os.path.join(GOLDEN, "*.png")))
if SUITE:
    CARDS += sorted(glob.glob(os.path.join(SUITE, "[!x]*.png")))


# Of an interlaced picture: the first pixel, and the steps to the next, across and down.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def beside_pixels(data):
    return [c for c in pngs.chunks(data) if c[0] != b"IDAT"]


def seven_passes(width, height, row_of):
    """The filtered stream of an interlaced picture, where row_of(xs, y) packs the pixels xs of row y."""
    out = b""
    for x0, y0, dx, dy in PASSES:
        xs = range(x0, width, dx)
        if xs:
            out += b"".join(b"\0" + row_of(xs, y) for y in range(y0, height, dy))
    return out


def interlaced(width, height, depth, colour):
    def row_of(xs, y):
        bits = "".join(format((x * 37 + y * 101 + c * 59 + 1) * 257 % (1 << depth), f"0{depth}b")
                       for x in xs for c in range(pngs.CHANNELS[colour]))
        bits += "0" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big")
    palette = pngs.chunk(b"PLTE", bytes(range(3 << depth))) if colour == 3 else b""
    return (pngs.SIGNATURE + pngs.header(width, height, depth, colour, 1) + palette
            + pngs.chunk(b"IDAT", zlib.compress(seven_passes(width, height, row_of))) + pngs.chunk(b"IEND"))


def picture(width, height, depth, colour, kind, seed=1):
    """A PNG whose content is a photograph's, a drawing's, or half this, half that."""
    rng = random.Random(seed)
    residues = bytes((n % 16 - n // 16) // 4 % 256 for n in range(256))  # mostly small ones
    bytes_a_row = (width * pngs.CHANNELS[colour] * depth + 7) // 8
    rows = bytearray()
    for y in range(height):
        if kind == "drawing" or (kind == "both" and y < height // 2):
            rows += b"\0" + bytes((i // 24 * 7 + y // 16 * 31) % 256 for i in range(min(bytes_a_row, 3072)))
            rows += rows[-3072:][:max(bytes_a_row - 3072, 0)] + bytes(max(bytes_a_row - 6144, 0))
        else:
            rows += b"\4" + rng.randbytes(bytes_a_row).translate(residues)
    return pngs.png(width, height, depth, colour, stream=zlib.compress(bytes(rows), 1))


class PngTest(CommandTest):
    def turned(self, before, after, orientation):
        check = subprocess.run([CHECK, before, after, orientation], capture_output=True)
        self.assertEqual(check.returncode, 0, (before, orientation, check.stdout, check.stderr))

    def turn(self, data, *arguments):
        self.write("in.png", data)
        self.succeeds(*arguments, "--overwrite", "-o", "out.png", "in.png")
        return self.read("out.png")

    def warns(self, data, *words, arguments=("--rotate", "90")):
        """It is turned, and one line says what was wrong. In place it is refused."""
        self.write("in.png", data)
        result = self.run_command(*arguments, "--overwrite", "-o", "out.png", "in.png")
        text = result.stderr.decode()
        self.assertEqual((result.returncode, text.count("\n")), (0, 1), text)
        for word in ("warning: in.png: ", *words):
            self.assertIn(word, text)
        self.fails(1, *arguments, "--in-place", "in.png", says=("in.png: ", "not turned in place: use -o or -d", *words))
        self.assertEqual(self.read("in.png"), data)
        return self.read("out.png")

    def refused(self, data, *words):
        self.write("in.png", data)
        self.fails(1, "--rotate", "90", "-o", "none.png", "in.png", says=("in.png: ", *words))
        self.assertFalse(os.path.exists(self.path("none.png")))

    def clean(self, *paths):
        if PNGCHECK:
            check = subprocess.run([PNGCHECK, "-q", *paths], capture_output=True)
            self.assertEqual((check.returncode, check.stdout), (0, b""), paths)


class RoundTrips(PngTest):
    def again_and_again(self, sources, times, *arguments):
        folders = [os.path.dirname(sources[0])] + [self.path(arguments[-1] + str(i)) for i in range(times)]
        names = [os.path.basename(s) for s in sources]
        for before, after in zip(folders, folders[1:]):
            os.mkdir(after)
            self.succeeds(*arguments, "--stored", "-d", after, *(os.path.join(before, n) for n in names))
            self.clean(*(os.path.join(after, n) for n in names))
        for source, name in zip(sources, names):
            self.turned(source, os.path.join(folders[-1], name), "none")
            with open(source, "rb") as original, open(os.path.join(folders[-1], name), "rb") as copy:
                self.assertEqual(beside_pixels(copy.read()), beside_pixels(original.read()), source)

    def test_all_cards(self):
        self.assertGreater(len(CARDS), 10)
        for folder in {os.path.dirname(card) for card in CARDS}:
            cards = [card for card in CARDS if os.path.dirname(card) == folder]
            self.again_and_again(cards, 4, "--rotate", "90")
            for name in ("fliph", "rot180", "flipv", "transpose", "transverse"):
                self.again_and_again(cards, 2, *ARGUMENTS[name])
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)

    def test_all_cards_in_place(self):
        """Which are read back and compared: also rows that end inside a byte."""
        for card in CARDS:
            for name in ("rot90", "rot180", "fliph"):
                shutil.copy(card, self.path("in.png"))
                self.succeeds(*ARGUMENTS[name], "--stored", "--in-place", "in.png")
                self.turned(card, self.path("in.png"), name)

    def test_interlaced_of_all_types_and_sizes(self):
        for depth, colour in ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 4),
                              (16, 4), (8, 6), (16, 6)):
            for width, height in ((1, 1), (2, 5), (5, 2), (3, 9), (8, 8), (17, 13)):
                source = self.write("source.png", interlaced(width, height, depth, colour))
                self.succeeds("--rotate", "90", "--overwrite", "-o", "out.png", source)
                self.turned(source, self.path("out.png"), "rot90")
                self.clean(self.path("out.png"))


class SameBytes(PngTest):
    def test_any_number_of_threads(self):
        sources = CARDS[:5] + [self.write("photo.png", picture(1100, 900, 8, 2, "photograph")),
                               self.write("drawing.png", picture(1500, 1100, 8, 6, "drawing")),
                               self.write("both.png", picture(1500, 1100, 8, 2, "both")),
                               self.write("interlaced.png", interlaced(300, 200, 8, 2))]
        for source in sources:
            for arguments in (("--rotate", "90"), ("--flip", "horizontal")):
                outputs = set()
                for threads in ("1", "2", "7"):
                    self.succeeds(*arguments, "--threads", threads, "--overwrite", "-o", "out.png", source)
                    outputs.add(self.read("out.png"))
                self.assertEqual(len(outputs), 1, source)
                self.turned(source, self.path("out.png"), "rot90" if "90" in arguments else "fliph")
                self.clean(self.path("out.png"))

    def test_any_number_of_files_at_once(self):
        sources = [self.write(f"{i}.png", picture(200 + i, 150, 8, 2, kind, i))
                   for i, kind in enumerate(["photograph", "drawing", "both"] * 5)]
        for jobs in ("1", "3", "16"):
            os.mkdir(self.path(jobs))
            self.succeeds("--rotate", "270", "-j", jobs, "-d", jobs, *sources)
        for source in sources:
            name = os.path.basename(source)
            self.turned(source, self.path(f"1/{name}"), "rot270")
            for jobs in ("3", "16"):
                self.assertEqual(self.read(f"{jobs}/{name}"), self.read(f"1/{name}"))

    def test_files_wait_for_memory(self):
        """Pictures that fit the limit one by one only."""
        sources = [self.write(f"{i}.png", picture(400, 300, 8, 2, "drawing", i)) for i in range(6)]
        os.mkdir(self.path("out"))
        self.succeeds("--rotate", "90", "-j", "6", "--memory-limit", "400K", "-d", "out", *sources)
        for source in sources:
            self.turned(source, os.path.join(self.folder, "out", os.path.basename(source)), "rot90")

    def test_every_failure_is_counted(self):
        sources = [self.write(f"{i}.png", b"junk" if i % 3 == 0 else pngs.png(i + 1, 3)) for i in range(30)]
        os.mkdir(self.path("out"))
        text = self.fails(1, "--rotate", "90", "-j", "8", "-d", "out", *sources, lines=11, says=("30 files", "20 turned, 10 failed"))
        for line in text.splitlines():
            self.assertRegex(line, "^imgtranspose: (30 files, |.*[0-9]+.png: is no image)")
        self.assertEqual(len(os.listdir(self.path("out"))), 20)


class Sizes(PngTest):
    def no_larger(self, paths):
        """Than libpng's + 2 %. Blocks of 768 KiB cost some bytes each, which count where nothing else does."""
        numbers = subprocess.run([LIBPNG_SIZE, *paths], capture_output=True, check=True).stdout.split()
        self.assertEqual(len(numbers), 3 * len(paths))
        for path, ours, libpngs, rows in zip(paths, *(map(int, numbers[i::3]) for i in range(3))):
            self.assertGreater(libpngs, 0, path)
            self.assertLessEqual(ours, libpngs * 1.02 + 32 * (rows // (768 << 10)), path)

    def test_at_the_default(self):
        sources = list(CARDS)
        for i, (depth, colour) in enumerate(((8, 0), (8, 2), (8, 3), (8, 4), (8, 6), (16, 0), (16, 2), (16, 6), (1, 0),
                                             (4, 0), (2, 3))):
            for kind in ("photograph", "drawing", "both"):
                for size in ((40, 30), (150, 100), (700, 400)):
                    sources.append(self.write(f"{i}-{kind}-{size[0]}.png", picture(*size, depth, colour, kind)))
        os.mkdir(self.path("out"))
        self.succeeds("--rotate", "90", "--stored", "-d", "out", *sources)
        self.no_larger([os.path.join(self.folder, "out", os.path.basename(s)) for s in sources])

    def test_levels(self):
        source = self.write("in.png", picture(900, 700, 8, 2, "both"))
        sizes = []
        for level in range(10):
            self.succeeds("--rotate", "90", "--png-level", str(level), "--overwrite", "-o", "out.png", source)
            self.turned(source, self.path("out.png"), "rot90")
            self.clean(self.path("out.png"))
            sizes.append(os.path.getsize(self.path("out.png")))
        self.assertGreater(sizes[0], 900 * 700 * 3)
        self.assertLess(sizes[1], sizes[0] * 0.8)
        self.assertLessEqual(sizes[9], sizes[1])

    def test_filters(self):
        for depth, colour in ((8, 2), (1, 0), (16, 6), (8, 3)):
            source = self.write("in.png", picture(300, 200, depth, colour, "both"))
            for number, name in enumerate(("none", "sub", "up", "average", "paeth", "adaptive")):
                self.succeeds("--rotate", "90", "--png-filter", name, "--overwrite", "-o", "out.png", source)
                self.turned(source, self.path("out.png"), "rot90")
                stream = zlib.decompress(dict(pngs.chunks(self.read("out.png")))[b"IDAT"])
                row = 1 + (200 * pngs.CHANNELS[colour] * depth + 7) // 8
                if name != "adaptive":
                    self.assertEqual(set(stream[::row]), {number})


class Order(PngTest):
    def test_surplus_chunks(self):
        exif = pngs.chunk(b"eXIf", pngs.exif(6))
        data = pngs.png(5, 3, before=exif + pngs.chunk(b"gAMA", struct.pack(">I", 45455)) * 2, after=exif)
        kinds = beside_pixels(self.turn(data, "--rotate", "90"))
        self.assertEqual([k for k, _ in kinds], [b"IHDR", b"eXIf", b"gAMA", b"IEND"])
        self.clean(self.path("out.png"))
        out = self.warns(pngs.png(5, 3, before=exif, after=pngs.chunk(b"eXIf", pngs.exif(8))), "second", "eXIf")
        self.assertEqual([d for k, d in pngs.chunks(out) if k == b"eXIf"], [pngs.exif(1)])
        texts = pngs.chunk(b"tEXt", b"A\0b") * 2
        self.assertEqual([k for k, _ in beside_pixels(self.turn(pngs.png(5, 3, before=texts), "--rotate", "90"))],
                         [b"IHDR", b"tEXt", b"tEXt", b"IEND"])

    def test_chunks_in_wrong_places(self):
        gamma, clear = pngs.chunk(b"gAMA", struct.pack(">I", 45455)), pngs.chunk(b"tRNS", b"\0\x80")
        palette = pngs.chunk(b"PLTE", bytes(range(48)))
        pixels = pngs.chunk(b"IDAT", zlib.compress(pngs.rows(5, 3, 4, 3)))
        start = pngs.SIGNATURE + pngs.header(5, 3, 4, 3)
        wanted = [b"IHDR", b"gAMA", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
        for data in (clear + palette + gamma + pixels, palette + pixels + clear + gamma, gamma + palette + clear + pixels):
            out = self.turn(start + data + pngs.chunk(b"IEND"), "--rotate", "90")
            self.assertEqual([k for k, _ in pngs.chunks(out)], wanted)
            self.clean(self.path("out.png"))

    def test_chunks_of_any_length(self):
        text = b"Comment\0" + b"x" * 9_000_000
        out = self.turn(pngs.png(5, 3, before=pngs.chunk(b"tEXt", text)), "--rotate", "90")
        self.assertEqual(dict(pngs.chunks(out))[b"tEXt"], text)

    def test_strip(self):
        shown = [(b"cHRM", bytes(32)), (b"gAMA", struct.pack(">I", 45455)), (b"cICP", b"\x09\x10\0\1"),
                 (b"mDCV", bytes(24)), (b"cLLI", bytes(8)), (b"tRNS", bytes(6)), (b"bKGD", bytes(6)),
                 (b"pHYs", struct.pack(">IIB", 2, 1, 0))]
        dropped = [(b"sBIT", b"\5\6\5"), (b"tEXt", b"A\0b"), (b"tIME", bytes([7, 228, 2, 28, 1, 2, 3])),
                   (b"prVt", b"private"), (b"eXIf", pngs.exif(6)), (b"sPLT", b"name\0\x08")]
        data = pngs.png(5, 3, before=b"".join(pngs.chunk(*c) for c in shown + dropped),
                        after=pngs.chunk(b"zTXt", b"C\0\0" + zlib.compress(b"x")))
        kinds = [k for k, _ in pngs.chunks(self.turn(data, "--auto-orient", "--strip"))]
        self.assertEqual(kinds, [b"IHDR", *(k for k, _ in shown), b"IDAT", b"IEND"])
        kinds = [k for k, _ in pngs.chunks(self.turn(data, "--rotate", "90", "--stored", "--strip"))]
        self.assertEqual(kinds, [b"IHDR", *(k for k, _ in shown), b"eXIf", b"IDAT", b"IEND"])


class Damage(PngTest):
    def test_ends(self):
        data = pngs.png(64, 64, after=pngs.chunk(b"tEXt", b"A\0b"))
        whole = self.turn(data, "--rotate", "90")
        for lost in range(1, 13):
            self.assertEqual(self.warns(data[:-lost], "last chunk"), whole)
        self.refused(data[:-13], "cut short")
        self.refused(pngs.SIGNATURE + pngs.header(5, 3) + pngs.chunk(b"IEND"), "it has no pixel data; restore it from a copy")
        self.assertEqual(self.warns(data + b"junk", "whose 4 bytes behind its end"), whole)
        self.assertEqual(self.warns(data + pngs.chunk(b"tEXt", b"A\0b"), "behind its end"), whole)

    def test_a_copy_tells(self):
        """Nothing to turn: copied to the byte, with a warning of what is damaged beside the pixels."""
        good = pngs.png(64, 64, before=pngs.chunk(b"gAMA", struct.pack(">I", 45455)))
        bad = pngs.png(64, 64, before=pngs.chunk(b"gAMA", struct.pack(">I", 45455), crc=1))
        for data, words in ((bad, "chunk gAMA has a bad checksum"), (good + b"junk", "4 bytes behind its end"),
                            (good[:-12], "last chunk is missing")):
            self.write("in.png", data)
            result = self.run_command("--auto-orient", "--overwrite", "-o", "out.png", "in.png")
            self.assertEqual((result.returncode, result.stderr.count(b"\n")), (0, 1), result.stderr)
            self.assertIn(words, result.stderr.decode())
            self.assertIn(b"copied as it is", result.stderr)
            self.assertEqual(self.read("out.png"), data)
        self.write("in.png", good)
        self.succeeds("--auto-orient", "--overwrite", "-o", "out.png", "in.png")

    def test_streams_of_odd_length(self):
        rows = pngs.rows(64, 64)
        self.warns(pngs.png(64, 64, stream=zlib.compress(rows + b"more")), "more pixel data")
        self.warns(pngs.png(64, 64, stream=zlib.compress(rows + bytes(200000))), "more pixel data")
        self.warns(pngs.png(64, 64, stream=zlib.compress(rows) + b"behind"), "more pixel data")
        self.warns(pngs.png(64, 64, after=pngs.chunk(b"tEXt", b"A\0b") + pngs.chunk(b"IDAT", b"x")), "pixel data")
        for lost in (1, 64, len(rows) // 2):
            self.refused(pngs.png(64, 64, stream=zlib.compress(rows[:-lost])), "ends too early")
        stream = zlib.compress(rows)
        for lost in (1, 3, 4, 5, 100):
            self.refused(pngs.png(64, 64, stream=stream[:-lost]), "ends too early")

    def test_every_byte_of_the_stream(self):
        """Its chunk's checksum fits the damage, so that only the stream's own can tell."""
        rows = pngs.rows(40, 9)
        stream = zlib.compress(rows)
        names = []
        for at in range(len(stream)):
            broken = bytearray(stream)
            broken[at] ^= 0x10
            try:
                harmless = zlib.decompress(bytes(broken)) == rows  # as a bit that pads the last byte is
            except zlib.error:
                harmless = at == 0  # a smaller window than is used; some libraries let it pass
            if not harmless:
                names.append(f"{at}.png")
                self.write(names[-1], pngs.png(40, 9, stream=bytes(broken)))
        self.assertGreater(len(names), 200)
        os.mkdir(self.path("out"))
        text = self.fails(1, "--rotate", "90", "-d", "out", *names, lines=len(names) + 1)
        for line in text.splitlines()[:-1]:
            self.assertRegex(line, r"^imgtranspose: \d+\.png: is damaged \(.*\): restore it from a copy$")
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_checksum_of_a_pixel_chunk(self):
        stream = zlib.compress(pngs.rows(300, 300), 0)
        parts = [stream[i:i + 1000] for i in range(0, len(stream), 1000)]
        for wrong in (0, 5, len(parts) - 1):
            data = pngs.SIGNATURE + pngs.header(300, 300)
            for i, part in enumerate(parts):
                data += pngs.chunk(b"IDAT", part, crc=1 if i == wrong else None)
            self.refused(data + pngs.chunk(b"IEND"), "checksum")

    def test_damage_among_chunks_alike(self):
        """Many equal chunks of pixels are not looked at one by one before they are read: whatever stands among them
        in place of one is found then."""
        stream = zlib.compress(pngs.rows(500, 300), 0)
        parts = [pngs.chunk(b"IDAT", stream[i:i + 4096]) for i in range(0, len(stream), 4096)]
        start, end = pngs.SIGNATURE + pngs.header(500, 300), pngs.chunk(b"IEND")
        source = self.write("in.png", start + b"".join(parts) + end)
        self.succeeds("--rotate", "90", "-o", "out.png", source)
        self.turned(source, self.path("out.png"), "rot90")
        number = len(parts[0]).to_bytes(4, "big")

        def refused(parts):
            self.write("in.png", start + b"".join(parts) + end)
            result = self.run_command("--rotate", "90", "-o", "none.png", "in.png")
            self.assertEqual((result.returncode, b"restore it from a copy" in result.stderr), (1, True), result.stderr)
            self.assertFalse(os.path.exists(self.path("none.png")))

        for i in (9, 20, 47, 48, len(parts) - 2):
            for other in (pngs.chunk(b"tEXt", parts[i][8:-4]), pngs.chunk(b"IEND", parts[i][8:-4]),
                          number + parts[i][4:], bytes(len(parts[i])), parts[i][:-1] + bytes([parts[i][-1] ^ 1]),
                          parts[i][:500] + bytes([parts[i][500] ^ 1]) + parts[i][501:]):
                refused([*parts[:i], other, *parts[i + 1:]])
            # One too few, one twice, and one that is shorter: what follows stands elsewhere.
            for some in ([], [parts[i], parts[i]], [pngs.chunk(b"IDAT", parts[i][8:-10])]):
                refused([*parts[:i], *some, *parts[i + 1:]])
            # Text among the pixels parts them: what comes behind it is left out, and so missing.
            refused([*parts[:i], pngs.chunk(b"tEXt", b"A\0b"), *parts[i:]])

    def test_filters_that_do_not_exist(self):
        rows = bytearray(pngs.rows(64, 64))
        rows[193 * 5] = 9
        self.refused(pngs.png(64, 64, stream=zlib.compress(bytes(rows))), "damaged")

    def test_unknown_critical_chunks(self):
        self.refused(pngs.png(5, 3, before=pngs.chunk(b"CrIT", b"x")), "CrIT")
        self.refused(pngs.png(5, 3, after=pngs.chunk(b"CrIT", b"x")), "CrIT")
        self.refused(pngs.png(5, 3, after=pngs.chunk(b"PLTE", bytes(6))), "PLTE")

    def test_chunks_of_pixels_in_any_number(self):
        stream = zlib.compress(pngs.rows(200, 100))
        for size in (1, 2, 7, 8192):
            chunks = b"".join(pngs.chunk(b"IDAT", stream[i:i + size]) + pngs.chunk(b"IDAT")
                              for i in range(0, len(stream), size))
            data = pngs.SIGNATURE + pngs.header(200, 100) + chunks + pngs.chunk(b"IEND")
            source = self.write("in.png", data)
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.png", source)
            self.turned(source, self.path("out.png"), "rot90")

    def test_the_suites_bad_files(self):
        if not SUITE:
            self.skipTest("TT_PNGSUITE names no folder")
        for bad in sorted(glob.glob(os.path.join(SUITE, "x*.png"))):
            result = self.run_command("--rotate", "90", "-o", "none.png", bad)
            self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1), bad)
            self.assertFalse(os.path.exists(self.path("none.png")), bad)

    def test_checksums_of_side_chunks(self):
        """What only describes is left out; what would be seen fails."""
        good = pngs.chunk(b"tEXt", b"C\0d")
        out = self.warns(pngs.png(5, 3, before=pngs.chunk(b"tEXt", b"A\0b", crc=1) + good), "whose chunk tEXt")
        self.assertEqual([d for k, d in pngs.chunks(out) if k == b"tEXt"], [b"C\0d"])
        self.refused(pngs.png(5, 3, before=pngs.chunk(b"tRNS", bytes(6), crc=1)), "damaged", "tRNS")
        self.refused(pngs.png(5, 3, before=pngs.chunk(b"eXIf", pngs.exif(6), crc=1)), "damaged", "eXIf")

    def test_chunks_beyond_the_formats_limit(self):
        for size in (1 << 31, (1 << 32) - 1):
            data = pngs.SIGNATURE + pngs.header(5, 3) + struct.pack(">I", size) + b"tEXt"
            self.refused(data + bytes(100), "damaged")

    def test_empty_texts(self):
        texts = [(kind, data) for kind in (b"tEXt", b"zTXt", b"iTXt")
                 for data in (b"", b"\0", b"A", b"XML:com.adobe.xmp", b"XML:com.adobe.xmp\0", b"XML:com.adobe.xmp\0\1",
                              b"XML:com.adobe.xmp\0\1\0", b"XML:com.adobe.xmp\0\1\0\0\0", b"Raw profile type exif\0\0")]
        out = self.turn(pngs.png(5, 3, before=b"".join(pngs.chunk(*t) for t in texts)), "--rotate", "90")
        self.assertEqual([c for c in pngs.chunks(out) if c[0][1:] in (b"EXt", b"TXt")], texts)


class Carriers(PngTest):
    """Places that state an orientation, several of them in one file."""
    XMP = b"XML:com.adobe.xmp\0\0\0\0\0"

    def upright(self, data, name):
        out = self.turn(data, "--auto-orient")
        self.turned(self.path("in.png"), self.path("out.png"), name)
        return dict(pngs.chunks(out))

    def profile(self, kind, body):
        return f"Raw profile type {kind}\0\n{kind}\n{len(body):8d}\n{body.hex()}\n".encode()

    def test_who_speaks_first(self):
        exif = pngs.chunk(b"eXIf", pngs.exif(3))
        profile = pngs.chunk(b"tEXt", self.profile("exif", b"Exif\0\0" + pngs.exif(6)))
        app1 = pngs.chunk(b"tEXt", self.profile("APP1", b"Exif\0\0" + pngs.exif(6)))
        others = [pngs.chunk(b"iTXt", self.XMP + pngs.xmp(8, True)),
                  pngs.chunk(b"tEXt", self.profile("xmp", pngs.xmp(8, False))),
                  pngs.chunk(b"tEXt", b"XML:com.adobe.xmp\0" + pngs.xmp(8, False)),
                  pngs.chunk(b"zTXt", b"XML:com.adobe.xmp\0\0" + zlib.compress(pngs.xmp(8, False))),
                  pngs.chunk(b"tEXt", self.profile("APP1", b"http://ns.adobe.com/xap/1.0/\0" + pngs.xmp(8, True)))]
        for other in others:
            self.upright(pngs.png(5, 3, before=other), "rot270")
            for second in (profile, app1):
                for both in (other + second, second + other):
                    self.upright(pngs.png(5, 3, before=both), "rot90")
                    self.upright(pngs.png(5, 3, before=both, after=exif), "rot180")

    def test_a_carrier_that_was_overruled_becomes_1(self):
        data = pngs.png(5, 3, before=pngs.chunk(b"eXIf", pngs.exif(1)) + pngs.chunk(b"iTXt", self.XMP + pngs.xmp(6, True)))
        kinds = dict(pngs.chunks(self.turn(data, "--rotate", "90")))
        self.turned(self.path("in.png"), self.path("out.png"), "rot90")
        self.assertEqual(kinds[b"iTXt"], self.XMP + pngs.xmp(1, True))
        self.assertEqual(dict(pngs.chunks(self.turn(data, "--rotate", "90", "--stored")))[b"iTXt"],
                         self.XMP + pngs.xmp(6, True))

    def test_sizes_and_resolutions_in_exif_and_xmp(self):
        """They turn with the picture, wherever such a block stands; the thumbnail goes."""
        entry = lambda tag, kind, value: struct.pack(">HHI", tag, kind, 1) + (struct.pack(">HH", value, 0) if kind == 3 else struct.pack(">I", value))
        nested = 8 + 2 + 12 * 4 + 4
        def block(tag, first, second, width, height, following, thumbnail):
            exif = nested + 2 + 12 * 2 + 4
            return (b"MM\0*" + struct.pack(">IH", 8, 4) + entry(0x112, 3, tag) + entry(0x11a, 5, exif + 8 * first) + entry(0x11b, 5, exif + 8 * second)
                    + entry(0x8769, 4, nested) + struct.pack(">I", following and exif + 16) + struct.pack(">H", 2) + entry(0xa002, 3, width)
                    + entry(0xa003, 4, height) + bytes(4) + struct.pack(">IIII", 300, 1, 72, 1)
                    + struct.pack(">H", 2) + entry(0x201, 4, exif + 16 + 2 + 24 + 4) + entry(0x202, 4, 6) + bytes(4) + thumbnail)
        before, seen = block(6, 0, 1, 5, 3, True, b"\xff\xd8..\xff\xd9"), block(1, 1, 0, 3, 5, False, bytes(6))
        seen = seen.replace(entry(0xa002, 3, 3) + entry(0xa003, 4, 5), struct.pack(">HHII", 0xa002, 4, 1, 3) + struct.pack(">HHIHH", 0xa003, 3, 1, 5, 0))
        xmp, turned = b'<x tiff:ImageWidth="5" tiff:ImageLength="3" tiff:Orientation="6"/>', b'<x tiff:ImageWidth="3" tiff:ImageLength="5" tiff:Orientation="1"/>'
        data = pngs.png(5, 3, before=pngs.chunk(b"eXIf", before) + pngs.chunk(b"iTXt", self.XMP + xmp)
                        + pngs.chunk(b"tEXt", self.profile("exif", b"Exif\0\0" + before)))
        self.write("in.png", data)
        result = self.run_command("-v", "--auto-orient", "-o", "out.png", "in.png")
        self.assertEqual((result.returncode, result.stderr.count(b"EXIF thumbnail")), (0, 2), result.stderr)
        kinds = dict(pngs.chunks(self.read("out.png")))
        self.assertEqual(kinds[b"eXIf"], seen)
        self.assertEqual(kinds[b"iTXt"], self.XMP + turned)
        self.assertEqual(kinds[b"tEXt"], self.profile("exif", b"Exif\0\0" + seen))

    def test_packed_texts_stay_unless_they_change(self):
        for level in (0, 1, 9):
            profile = b"Raw profile type exif\0\0" + zlib.compress(pngs.raw_profile(1), level)
            comment = b"Comment\0\0" + zlib.compress(b"tiff:Orientation=\"6\"" * 50, level)
            data = pngs.png(5, 3, before=pngs.chunk(b"zTXt", profile) + pngs.chunk(b"zTXt", comment))
            out = self.turn(data, "--rotate", "90")
            self.assertEqual([d for k, d in pngs.chunks(out) if k == b"zTXt"], [profile, comment])

    def test_only_the_tag_changes_in_digits(self):
        """Letters in either case and odd white space stay."""
        body = (b"Exif\0\0" + pngs.exif(6)).hex()
        digits = "".join(c.upper() if i % 3 else c for i, c in enumerate(body))
        text = "Raw profile type exif\0\nexif\n  99\n" + " ".join(digits[i:i + 7] for i in range(0, len(digits), 7))
        value = pngs.exif(6).index(b"\1\x12\0\3\0\0\0\1\0\6") + 9 + 6
        changed = digits[:2 * value + 1] + "1" + digits[2 * value + 2:]
        wanted = "Raw profile type exif\0\nexif\n  99\n" + " ".join(changed[i:i + 7] for i in range(0, len(digits), 7))
        kinds = self.upright(pngs.png(5, 3, before=pngs.chunk(b"tEXt", text.encode())), "rot90")
        self.assertEqual(kinds[b"tEXt"].decode(), wanted)


class Untrue(PngTest):
    def test_virtual_canvases_are_dropped(self):
        data = pngs.png(5, 3, before=pngs.chunk(b"caNv", bytes(16)) + pngs.chunk(b"vpAg", bytes(9))
                        + pngs.chunk(b"sTER", b"\0") + pngs.chunk(b"oFFs", bytes(9)))
        self.assertEqual([k for k, _ in pngs.chunks(self.turn(data, "--rotate", "90"))], [b"IHDR", b"IDAT", b"IEND"])
        result = self.run_command("-v", "--rotate", "90", "--in-place", "in.png")
        self.assertEqual(result.returncode, 0)
        for kind in (b"caNv", b"vpAg", b"sTER", b"oFFs"):
            self.assertIn(kind, result.stderr)

    def test_a_programs_own_data_is_not_lost_in_place(self):
        data = pngs.png(5, 3, before=pngs.chunk(b"prVW", b"layers"))
        self.assertEqual([k for k, _ in pngs.chunks(self.turn(data, "--rotate", "90"))], [b"IHDR", b"IDAT", b"IEND"])
        self.fails(1, "--rotate", "90", "--in-place", "in.png", says=("prVW", "use -o or -d"))
        self.assertEqual(self.read("in.png"), data)


@unittest.skipUnless(runs_in(400 << 20), "built with a sanitizer")
class Memory(PngTest):
    def peak(self, *arguments):
        """The bytes that the command took at most. Not with MALLOC_PERTURB_, which touches what is never used."""
        quiet = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
        process = subprocess.Popen([COMMAND, *arguments], cwd=self.folder, env=quiet)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, arguments)
        return usage.ru_maxrss << 10

    def flat(self, width, height, interlace):
        rows = 0
        for x0, y0, dx, dy in PASSES if interlace else ((0, 0, 1, 1),):
            rows += (1 + 3 * len(range(x0, width, dx))) * len(range(y0, height, dy))
        return self.write("flat.png", pngs.SIGNATURE + pngs.header(width, height, 8, 2, int(interlace))
                          + pngs.chunk(b"IDAT", zlib.compress(bytes(rows), 1)) + pngs.chunk(b"IEND"))

    def test_one_copy(self):
        for interlace in (False, True):
            source = self.flat(4000, 3000, interlace)
            for name in ("fliph", "rot180", "rot90"):
                taken = self.peak(*ARGUMENTS[name], "--overwrite", "-o", "out.png", source)
                self.assertLess(taken, 4000 * 3000 * 3 + (32 << 20), (interlace, name))

    def test_the_limit_counts_an_interlaced_picture(self):
        source = self.flat(2000, 2000, True)
        self.fails(1, "--rotate", "90", "--memory-limit", "11M", "-o", "out.png", source, says=("--memory-limit",))
        self.succeeds("--rotate", "90", "--memory-limit", "14M", "-o", "out.png", source)
        self.fails(1, "--rotate", "90", "--memory-limit", "14M", "--in-place", source, says=("--memory-limit",))
        self.succeeds("--rotate", "90", "--memory-limit", "28M", "--in-place", source)

    def refused_in(self, limit, *words):
        self.fails(1, "--rotate", "90", "-o", "none.png", "in.png", says=("in.png: ", *words), preexec_fn=address_space(limit))
        self.assertEqual(self.files(), ["in.png"])

    def test_claims(self):
        """Refused before any row has memory."""
        for width, height, interlace in ((200_000_000, 1, 0), (1, 200_000_000, 0), (0x7fffffff, 0x7fffffff, 0),
                                         (0x7fffffff, 0x7fffffff, 1), (200_000_000, 1, 1)):
            self.write("in.png", pngs.SIGNATURE + pngs.header(width, height, 16, 6, interlace)
                       + pngs.chunk(b"IDAT", zlib.compress(bytes(9))) + pngs.chunk(b"IEND"))
            self.refused_in(400 << 20, "claims")

    def test_rows_that_find_no_room(self):
        width = 250_000_000
        self.write("in.png", pngs.png(width, 1, 8, 0, stream=zlib.compress(bytes(width + 1), 1)))
        self.refused_in(400 << 20, "memory")

    def test_a_huge_text(self):
        with open(self.path("in.png"), "wb") as file:
            file.write(pngs.SIGNATURE + pngs.header(5, 3) + struct.pack(">I", 1 << 30) + b"tEXt")
            file.truncate((1 << 30) + 1000)
        self.refused_in(400 << 20, "memory", "tEXt")
        self.fails(1, "--rotate", "90", "--memory-limit", "100M", "-o", "none.png", "in.png", says=("tEXt", "--memory-limit"))

    def test_texts_that_burst(self):
        burst = zlib.compress(bytes(1 << 29), 9)
        for keyword in (b"Comment", b"XML:com.adobe.xmp", b"Raw profile type exif"):
            text = keyword + b"\0\0" + burst
            self.write("in.png", pngs.png(5, 3, before=pngs.chunk(b"zTXt", text)))
            result = self.run_command("--rotate", "90", "--overwrite", "-o", "out.png", "in.png",
                                      preexec_fn=address_space(400 << 20))
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(dict(pngs.chunks(self.read("out.png")))[b"zTXt"], text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
