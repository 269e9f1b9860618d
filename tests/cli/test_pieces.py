# SPDX-License-Identifier: MIT
"""Pictures that are turned in pieces: made by hand, turned within little memory, and read back with libvips.

usage: test_pieces.py IMGTRANSPOSE
"""
import itertools
import os
import random
import signal
import struct
import subprocess
import sys
import time
import unittest
import zlib

from command import ARGUMENTS, COMMAND, CommandTest, runs_in, some, turn

FORMATS = {8: "B", 16: "H", 32: "f"}
LIMITS = ("3K", "20K", "1G")


def pixels(width, height, channels, bits):
    numbers = random.Random(width * 1000 + height + bits)
    sample = (lambda: float(numbers.randrange(1 << 20)) / 8) if bits == 32 else (lambda: numbers.randrange(1 << bits))
    return [[tuple(sample() for _ in range(channels)) for _ in range(width)] for _ in range(height)]


def samples(rows):
    return [sample for row in rows for pixel in row for sample in pixel]


def tiff(rows, bits, order="<", big=False, strip=None, tile=None, planar=False, deflate=False, scattered=False, photometric=None):
    """A TIFF as its specification has it. strip: rows of one; tile: (width, height)."""
    width, height, channels = len(rows[0]), len(rows), len(rows[0][0])
    across, down = tile or (width, strip or height)
    blocks = []
    for plane in [[c] for c in range(channels)] if planar else [list(range(channels))]:
        for y in range(0, height, down):
            for x in range(0, width, across):
                part = []
                for row in rows[y:y + down]:
                    line = [tuple(pixel[c] for c in plane) for pixel in row[x:x + across]]
                    part.append(line + [line[0]] * (across - len(line)))  # filled up with what must not show
                if tile:
                    part += [part[0]] * (down - len(part))
                flat = samples(part)
                data = struct.pack(f"{order}{len(flat)}{FORMATS[bits]}", *flat)
                blocks.append(zlib.compress(data) if deflate else data)
    word, number = (8, "Q") if big else (4, "I")
    tags = {256: ("I", [width]), 257: ("I", [height]), 258: ("H", [bits] * channels), 259: ("H", [8 if deflate else 1]),
            262: ("H", [photometric if photometric is not None else 2 if channels >= 3 else 1]), 277: ("H", [channels]),
            284: ("H", [2 if planar else 1]), 339: ("H", [3 if bits == 32 else 1] * channels)}
    extra = channels - (3 if channels >= 3 else 1)
    if extra:
        tags[338] = ("H", [2] * extra)
    if tile:
        tags.update({322: ("I", [across]), 323: ("I", [down])})
    else:
        tags[278] = ("I", [down])
    places = list(range(len(blocks)))
    if scattered:
        random.Random(1).shuffle(places)
    body, starts = b"", [0] * len(blocks)
    for i in places:
        starts[i] = (16 if big else 8) + len(body)
        body += blocks[i] + (b"gap" if scattered else b"")
    body += b"\0" * (len(body) % 2)
    tags[324 if tile else 273] = (number, starts)
    tags[325 if tile else 279] = (number, [len(block) for block in blocks])
    at = (16 if big else 8) + len(body)
    after = at + (8 if big else 2) + len(tags) * (4 + 2 * word) + word
    directory, values = struct.pack(order + ("Q" if big else "H"), len(tags)), b""
    for tag, (kind, numbers) in sorted(tags.items()):
        data = struct.pack(f"{order}{len(numbers)}{kind}", *numbers)
        directory += struct.pack(order + "HH" + number, tag, {"H": 3, "I": 4, "Q": 16}[kind], len(numbers))
        if len(data) > word:
            directory += struct.pack(order + number, after + len(values))
            values += data + b"\0" * (len(data) % 2)
        else:
            directory += data.ljust(word, b"\0")
    directory += struct.pack(order + number, 0)
    mark = (b"II" if order == "<" else b"MM") + (struct.pack(order + "HHHQ", 43, 8, 0, at) if big else struct.pack(order + "HI", 42, at))
    return mark + body + directory + values


def packed(row):
    bits = "".join(str(pixel[0]) for pixel in row)
    return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")


def pnm(rows, kind, bits):
    size = b"%d %d\n" % (len(rows[0]), len(rows))
    if kind == 4:
        return b"P4\n" + size + b"".join(map(packed, rows))
    if kind == "F":
        flat = samples(rows[::-1])
        return b"PF\n" + size + b"-1\n" + struct.pack(f"<{len(flat)}f", *flat)
    flat = samples(rows)
    return b"P%d\n" % kind + size + b"%d\n" % ((1 << bits) - 1) + struct.pack(f">{len(flat)}{FORMATS[bits]}", *flat)


class Pieces(CommandTest):
    def turn_all(self, name, orientation, *arguments):
        self.succeeds(*ARGUMENTS[orientation], *arguments, "--overwrite", "-o", "out", name)

    def test_pnm(self):
        for (kind, channels, bits), (width, height) in itertools.product(
                ((4, 1, 1), (5, 1, 8), (5, 1, 16), (6, 3, 8), (6, 3, 16), ("F", 3, 32)), ((203, 157), (1, 300), (300, 1), (64, 64))):
            rows = pixels(width, height, channels, bits)
            self.write("in.pnm", pnm(rows, kind, bits))
            for (orientation, _), limit in zip(ARGUMENTS.items(), itertools.cycle(("12K", "50K", "1G"))):
                for threads in "1", "2":
                    self.turn_all("in.pnm", orientation, "--threads", threads, "--memory-limit", limit)
                    self.assertEqual(self.read("out"), pnm(turn(rows, orientation), kind, bits),
                                     (kind, width, height, orientation, limit, threads))

    def test_bits_in_many_pieces(self):
        """Pieces, blocks and slabs of packed samples must all fall on whole bytes, however ragged the sides are."""
        for width, height in ((1003, 70), (70, 1003), (509, 517), (8, 1000), (1, 1)):
            rows = pixels(width, height, 1, 1)
            self.write("in.pbm", pnm(rows, 4, 1))
            for orientation, limit in some(itertools.product(ARGUMENTS, ("7K", "30K", "200K"))):
                self.turn_all("in.pbm", orientation, "--memory-limit", limit)
                self.assertEqual(self.read("out"), pnm(turn(rows, orientation), 4, 1), (width, height, orientation, limit))

    def test_raw(self):
        for size, (width, height) in itertools.product((1, 2, 3, 4, 7, 16), ((517, 263), (31, 4001), (4001, 31))):
            numbers = random.Random(size)
            rows = [[numbers.randbytes(size) for _ in range(width)] for _ in range(height)]
            self.write("in.raw", b"".join(b"".join(row) for row in rows))
            for (orientation, _), limit in some(zip(ARGUMENTS.items(), itertools.cycle(("200K", "1M", "1G")))):
                self.turn_all("in.raw", orientation, "--raw", f"{width}x{height}x{size}", "--memory-limit", limit)
                self.assertEqual(self.read("out"), b"".join(b"".join(row) for row in turn(rows, orientation)),
                                 (size, width, height, orientation, limit))

    def test_from_a_disk(self):
        """Of what is not in the system's memory many rows are read at once, in units that begin before them and end
        behind."""
        def forget():
            with open(self.path("in"), "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for size, width, height, kind in ((1, 12001, 41, "raw"), (3, 1517, 263, "ppm"), (16, 512, 300, "raw")):
            numbers = random.Random(size)
            rows = [[numbers.randbytes(size) for _ in range(width)] for _ in range(height)]
            how = ("--raw", f"{width}x{height}x{size}") if kind == "raw" else ()
            start = lambda rows: b"P6\n%d %d\n255\n" % (len(rows[0]), len(rows)) if kind == "ppm" else b""
            data = lambda rows: start(rows) + b"".join(b"".join(row) for row in rows)
            self.write("in", data(rows))
            for orientation, limit in zip(("transpose", "rot90", "transverse", "rot270"), ("64K", "300K", "100K", "200K")):
                forget()
                self.turn_all("in", orientation, *how, "--memory-limit", limit)
                self.assertEqual(self.read("out"), data(turn(rows, orientation)), (size, width, height, orientation, limit))

    def test_cut_short(self):
        """Whether before or while it is read."""
        rows = pixels(37, 29, 3, 8)
        files = {"in.ppm": pnm(rows, 6, 8), "in.pfm": pnm(pixels(37, 29, 3, 32), "F", 32), "in.pbm": pnm(pixels(37, 29, 1, 1), 4, 1)}
        for name, data in files.items():
            for cut in (1, len(data) // 2):
                self.write(name, data[:-cut])
                for orientation in ("--transpose", "--flip=vertical", "--flip=horizontal"):
                    self.fails(1, orientation, "-o", "out", name, says=(name + ": ", "cut short"))
                    self.assertEqual(self.files(), [name])
            os.remove(self.path(name))

    def peak(self, *arguments):
        """Resident memory at most, in MB. Started by a small process, since it begins with its parent's."""
        start = """import os, sys
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)"""
        run = subprocess.run([sys.executable, "-S", "-c", start, COMMAND, *arguments], cwd=self.folder, capture_output=True)
        status, peak = map(int, run.stdout.split())
        self.assertEqual(status, 0, run.stderr)
        return peak / 1024

    @unittest.skipUnless(runs_in(400 << 20), "built with a sanitizer")
    def test_memory(self):
        """90 MB, of which only pieces are held."""
        with open(self.path("in.raw"), "wb") as file:
            file.truncate(90 << 20)
        raw = ["--raw", f"9216x{10 << 10}x1", "--overwrite", "-o", "out.raw", "in.raw"]
        for arguments in ARGUMENTS.values():
            self.assertLess(self.peak(*arguments, "--memory-limit", "16M", *raw), 45)

    def test_a_signal_leaves_nothing(self):
        with open(self.path("in.raw"), "wb") as file:
            file.truncate(4 << 30)
        for arguments, number in ((["--rotate", "90"], signal.SIGTERM), (["--flip", "vertical"], signal.SIGINT)):
            run = self.launch(*arguments, "--raw", "65536x65536x1", "-o", "out.raw", "in.raw")
            written = os.path.getsize(self.stopped_once(run, self.temporaries)[0])
            run.send_signal(number)
            if number == signal.SIGINT:  # the first one lets what was begun come to its end
                self.stopped_once(run, lambda: os.path.getsize(self.temporaries()[0]) > written)
                run.send_signal(number)
            run.send_signal(signal.SIGCONT)
            message = run.communicate()[1]
            self.assertEqual((run.returncode, message.count(b"\n")), (128 + number, 1), message)
            self.assertEqual(self.files(), ["in.raw"])

    def test_a_file_that_shrinks_meanwhile(self):
        with open(self.path("in.raw"), "wb") as file:
            file.truncate(4 << 30)
        run = self.launch("--rotate", "90", "--raw", "65536x65536x1", "-o", "out.raw", "in.raw")
        self.stopped_once(run, self.temporaries)
        os.truncate(self.path("in.raw"), 1 << 20)
        run.send_signal(signal.SIGCONT)
        message = run.communicate()[1]
        self.assertEqual((run.returncode, message.count(b"\n")), (1, 1), message)
        self.assertIn(b"became shorter", message)
        self.assertEqual(self.files(), ["in.raw"])

    def test_verbose_says_how(self):
        self.write("in.raw", bytes(1000 * 700))
        for turned, says in (("--transpose", "pieces"), ("--flip=horizontal", "pieces")):
            result = self.run_command("-v", turned, "--raw", "1000x700x1", "--overwrite", "-o", "out", "in.raw", "--memory-limit", "100K")
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr.decode(), r"in\.raw: turned in \d+ pieces of [0-9.]+ MB, since it can be read anywhere\n")


@unittest.skipUnless("TIFF" in subprocess.run([COMMAND, "-v", "--version"], capture_output=True, text=True).stdout,
                     "SKIPPED: no libvips")
class ThroughVips(CommandTest):
    @classmethod
    def setUpClass(cls):
        from libvips import Library
        cls.library = Library()

    def decode(self, name):
        return self.library.rows(self.path(name))

    def every_turn(self, files, known=None):
        """files: {name: bytes}; known: {name: its pixels}, or else libvips reads them."""
        for name, data in files.items():
            self.write(name, data)
        os.mkdir(self.path("out"))
        before = {name: self.decode(name) for name in files}
        for name, rows in (known or {}).items():
            self.assertEqual(before[name], rows, name)
        for (orientation, arguments), limit in itertools.product(ARGUMENTS.items(), LIMITS[1:]):
            self.succeeds("-q", *arguments, "--memory-limit", limit, "--overwrite", "-d", "out", *files)
            for name, rows in before.items():
                self.assertEqual(self.decode("out/" + name), turn(rows, orientation), (name, orientation, limit))
        self.succeeds("--rotate", "90", "--in-place", *files)  # verified
        for name, rows in before.items():
            self.assertEqual(self.decode(name), turn(rows, "rot90"), name)

    def test_bare_tiff(self):
        files, known = {}, {}
        shapes = (dict(strip=1), dict(strip=7), dict(), dict(tile=(16, 16)), dict(tile=(32, 16)), dict(strip=4, scattered=True),
                  dict(tile=(16, 32), scattered=True), dict(strip=4, big=True), dict(tile=(16, 16), big=True))
        for i, (shape, order, (bits, channels)) in enumerate(itertools.product(shapes, "<>", ((8, 1), (8, 3), (16, 3), (32, 1)))):
            rows = pixels(43, 29, channels, bits)
            name = f"{i}.tif"
            files[name] = tiff(rows, bits, order, **shape)
            known[name] = rows
        self.every_turn(files, known)

    def test_tiff_that_libvips_decodes(self):
        files, known = {}, {}
        for i, (shape, order, (bits, channels)) in enumerate(itertools.product(
                (dict(strip=5, planar=True), dict(tile=(16, 16), deflate=True), dict(tile=(32, 16), deflate=True),
                 dict(tile=(16, 48), deflate=True, scattered=True)), "<>", ((8, 3), (16, 3), (32, 3)))):
            rows = pixels(43, 29, channels, bits)
            name = f"{i}.tif"
            files[name] = tiff(rows, bits, order, **shape)
            known[name] = rows
        self.every_turn(files, known)

    def test_many_channels(self):
        files = {f"{i}.tif": tiff(pixels(23, 17, 7, bits), bits, order, **shape) for i, (bits, order, shape) in enumerate(
            itertools.product((8, 16), "<>", (dict(strip=3), dict(tile=(16, 16)), dict(strip=3, planar=True))))}
        for name, data in files.items():
            self.write(name, data)
        for name, (orientation, arguments) in itertools.product(files, ARGUMENTS.items()):
            # libvips does not name channels beyond alpha, which is a loss, so it warns
            result = self.run_command(*arguments, "--memory-limit", "20K", "--overwrite", "-o", "out.tif", name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.decode("out.tif"), turn(self.decode(name), orientation), (name, orientation))

    def test_white_is_zero(self):
        """libvips inverts it, so its pixels do not lie in the file as they are."""
        rows = pixels(43, 29, 1, 8)
        self.every_turn({"a.tif": tiff(rows, 8, photometric=0), "b.tif": tiff(rows, 8, photometric=0, tile=(16, 16))})

    def test_v_in_both_orders_of_bytes(self):
        for order, magic in (("<", b"\xb6\xa6\xf2\x08"), (">", b"\x08\xf2\xa6\xb6")):
            for bits, band_format, channels in ((8, 0, 3), (16, 2, 3), (32, 6, 1)):
                rows = pixels(43, 29, channels, bits)
                flat = samples(rows)
                head = magic + struct.pack(order + "7i", 43, 29, channels, bits, band_format, 0, 22 if channels == 3 else 1)
                head += struct.pack(order + "2f", 10, 20)
                self.write("in.v", head.ljust(64, b"\0") + struct.pack(f"{order}{len(flat)}{FORMATS[bits]}", *flat))
                self.assertEqual(self.decode("in.v"), rows, order)
                for orientation, limit in some(itertools.product(ARGUMENTS, LIMITS)):
                    self.succeeds(*ARGUMENTS[orientation], "--memory-limit", limit, "--overwrite", "-o", "out.v", "in.v")
                    self.assertEqual(self.decode("out.v"), turn(rows, orientation), (order, bits, orientation, limit))
                    swapped = orientation in ("transpose", "rot90", "transverse", "rot270")
                    if orientation != "none":
                        self.assertEqual(struct.unpack("<2f", self.read("out.v")[32:40]), (20, 10) if swapped else (10, 20))

    def test_against_pillow(self):
        """Another reader yet, of strips, which the command writes by itself."""
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("SKIPPED: no Pillow")
        ways = {"fliph": Image.FLIP_LEFT_RIGHT, "rot180": Image.ROTATE_180, "flipv": Image.FLIP_TOP_BOTTOM, "transpose": Image.TRANSPOSE,
                "rot90": Image.ROTATE_270, "transverse": Image.TRANSVERSE, "rot270": Image.ROTATE_90}
        for big in (False, True):
            self.write("in.tif", tiff(pixels(601, 1003, 3, 8), 8, strip=64, big=big))
            with Image.open(self.path("in.tif")) as before:
                for orientation, way in ways.items():
                    self.succeeds(*ARGUMENTS[orientation], "--overwrite", "-o", "out.tif", "in.tif")
                    with Image.open(self.path("out.tif")) as after:
                        self.assertEqual(after.tobytes(), before.transpose(way).tobytes(), orientation)

    def test_cut_short(self):
        rows = pixels(43, 29, 3, 8)
        v = b"\xb6\xa6\xf2\x08" + struct.pack("<7i2f", 43, 29, 3, 8, 0, 0, 22, 1, 1)
        whole = {"in.v": v.ljust(64, b"\0") + bytes(samples(rows))}
        for name, shape in {"strips.tif": dict(strip=4), "tiles.tif": dict(tile=(16, 16)), "deflated.tif": dict(tile=(16, 16), deflate=True),
                            "planes.tif": dict(strip=4, planar=True)}.items():
            whole[name] = tiff(rows, 8, **shape)
        for name, data in whole.items():
            cuts = [data[:-1], data[:len(data) // 2]] if name == "in.v" else [data[:len(data) // 2], self.late_block(data)]
            for cut, arguments in itertools.product(cuts, (["--transpose"], ["--flip", "vertical"], ["--flip", "horizontal"])):
                self.write(name, cut)
                self.fails(1, *arguments, "-o", "out", name, says=(name + ": ",))
                self.assertEqual(self.files(), [name])
            os.remove(self.path(name))

    def test_strips_that_are_too_short(self):
        """Pixels are not what happens to follow them."""
        data = tiff(pixels(43, 29, 3, 8), 8, strip=4)
        at = struct.unpack("<I", data[4:8])[0]
        for i in range(struct.unpack("<H", data[at:at + 2])[0]):
            entry = at + 2 + 12 * i
            tag, kind, n, where = struct.unpack("<HHII", data[entry:entry + 12])
            if tag == 279:
                self.write("in.tif", data[:where] + struct.pack("<I" if kind == 4 else "<H", 7) + data[where + (4 if kind == 4 else 2):])
        self.fails(1, "--rotate", "90", "-o", "out.tif", "in.tif", says=("in.tif: ",))
        self.fails(1, "--rotate", "90", "--in-place", "in.tif", says=("in.tif: ",))
        self.assertEqual(self.files(), ["in.tif"])

    def late_block(self, data):
        """The same TIFF, the last of whose blocks starts just before the end of the file."""
        at = struct.unpack("<I", data[4:8])[0]
        for i in range(struct.unpack("<H", data[at:at + 2])[0]):
            tag, _, count, value = struct.unpack("<HHII", data[at + 2 + 12 * i:at + 14 + 12 * i])
            if tag in (273, 324):
                where = value + 4 * (count - 1)
                return data[:where] + struct.pack("<I", len(data) - 5) + data[where + 4:]
        raise AssertionError

    def test_tiles_within_little_memory(self):
        rows = pixels(600, 400, 3, 8)
        for name, tile in (("a.tif", (64, 64)), ("b.tif", (128, 32)), ("c.tif", (256, 256))):
            self.write(name, tiff(rows, 8, tile=tile, deflate=True))
            for orientation in ARGUMENTS:
                result = self.run_command("-v", *ARGUMENTS[orientation], "--memory-limit", "500K", "--overwrite", "-o", "out.tif", name)
                if name == "c.tif" and orientation in ("transpose", "rot90", "transverse", "rot270"):
                    continue  # a column of tiles is more than that
                self.assertEqual(result.returncode, 0, (name, orientation, result.stderr))
                self.assertEqual(self.decode("out.tif"), turn(rows, orientation), (name, orientation))

    def test_verbose_says_how(self):
        rows = pixels(60, 40, 3, 8)
        self.write("tiles.tif", tiff(rows, 8, tile=(16, 16), deflate=True))
        self.write("strips.tif", tiff(rows, 8, strip=8, deflate=True))
        for name, turned, says in (("tiles.tif", "--transpose", "pieces"), ("strips.tif", "--transpose", "held"),
                                   ("strips.tif", "--flip=horizontal", "order of its rows")):
            result = self.run_command("-v", turned, "--overwrite", "-o", "out.tif", name)
            self.assertEqual(result.returncode, 0)
            self.assertIn(says, result.stderr.decode())


if __name__ == "__main__":
    if ThroughVips.__dict__.get("__unittest_skip__"):
        print("SKIPPED: .v and TIFF in pieces: the command has no libvips on this machine")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
