# SPDX-License-Identifier: MIT
"""Files that were made to do harm, byte by byte: sizes that overflow, streams that unpack to a thousand times as much,
floods and cycles of parts. Each is turned or refused with a clear line, in its time and its memory.

usage: test_bombs.py IMGTRANSPOSE
"""
import os
import struct
import sys
import unittest
import zlib

import seeds
from bounded import HostileTest, Run, bound
import pngs
import tiffs

HUGE = 0x7fffffff
LEFT_TO_RIGHT, TURN = ("--flip", "horizontal"), ("--rotate", "90")
MEASURED = (*TURN, "--max-pixels", "100M")


def zeros(size):
    """Deflated: a thousandth of it."""
    packer, part = zlib.compressobj(9), bytes(1 << 20)
    return b"".join([packer.compress(part[:min(1 << 20, size - at)]) for at in range(0, size, 1 << 20)] + [packer.flush()])


class Bombs(HostileTest):
    def bomb(self, name, data, *says, turns=(TURN, LEFT_TO_RIGHT, ("--auto-orient",)), fine=False):
        """Refused with those words, or turned if it is fine; either if it says None."""
        self.write(name, data)
        for turn in turns:
            run = Run(bound(*turn, "--overwrite", "-o", "out", name), self.folder, environment={"TMPDIR": self.folder})
            self.within_bounds(run, (name, turn))
            self.clear_lines(run, [name] if run.status else [], (name, turn))
            if says != (None,):
                self.assertEqual(run.status, 0 if fine else 1, (name, turn, run.text))
            for word in says:
                self.assertIn(word or "", run.text, (name, turn))
            self.assertEqual(os.path.exists(self.path("out")), run.status == 0)
            self.left_alone(name)
            if run.status == 0:
                os.remove(self.path("out"))
            if "TT_TELL" in os.environ:
                print(f"{name} {turn[-1]}: {run.status} in {run.seconds:.2f} s, {run.memory} MB: {run.text.strip()[:200]}", file=sys.stderr)
        os.remove(self.path(name))


class Png(Bombs):
    def file(self, header, stream=b"", before=b"", after=b""):
        return pngs.SIGNATURE + header + before + pngs.chunk(b"IDAT", stream) + after + pngs.chunk(b"IEND")

    def test_sizes(self):
        for width, height in ((HUGE, HUGE), (HUGE, 1), (1, HUGE), (787402, 787402), (46341, 46341), (65536, 65536), (0x80000000, 1), (0xffffffff, 0xffffffff), (0, 5)):
            for depth, colour, interlace in ((1, 0, 0), (8, 2, 0), (16, 6, 0), (16, 6, 1), (8, 3, 1)):
                palette = pngs.chunk(b"PLTE", bytes(768)) if colour == 3 else b""
                self.bomb("in.png", self.file(pngs.header(width, height, depth, colour, interlace), zlib.compress(b"x" * 20), palette), turns=(TURN, LEFT_TO_RIGHT)[:1 + (depth == 8)])

    def test_pixels_that_unpack_to_a_thousand_times_as_much(self):
        stream = zeros(60000 * (60000 // 8 + 1))
        self.bomb("in.png", self.file(pngs.header(60000, 60000, 1, 0), stream), None)
        self.bomb("in.png", self.file(pngs.header(6000, 6000, 8, 2), zeros(6000 * 18001)), turns=(LEFT_TO_RIGHT,), fine=True)
        self.bomb("in.png", self.file(pngs.header(24000, 24000, 8, 2), zeros(1 << 20)))

    def test_more_pixels_than_there_are(self):
        self.bomb("in.png", self.file(pngs.header(1, 1), zeros(1 << 30)), None)

    def test_text_that_unpacks_to_a_thousand_times_as_much(self):
        much = zeros(1 << 29)
        for before in (pngs.chunk(b"zTXt", b"Comment\0\0" + much), pngs.chunk(b"zTXt", b"Raw profile type exif\0\0" + much),
                       pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + much), pngs.chunk(b"iCCP", b"icc\0\0" + much)):
            self.bomb("in.png", pngs.png(5, 3, before=before), None)

    def test_floods(self):
        rows = zlib.compress(pngs.rows(50, 30))
        for many in (pngs.chunk(b"tEXt", b"Comment\0words") * 10000, pngs.chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"words")) * 10000,
                     pngs.chunk(b"iTXt", b"Comment\0\0\0\0\0words") * 10000, pngs.chunk(b"prVt") * 200000, pngs.chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(pngs.raw_profile(6))) * 3000):
            self.bomb("in.png", pngs.png(5, 3, before=many), fine=True)
            self.bomb("in.png", pngs.png(5, 3, after=many), fine=True)
        for many in (pngs.chunk(b"eXIf", pngs.exif(6)) * 5000, pngs.chunk(b"pHYs", bytes(9)) * 5000, pngs.chunk(b"iCCP", b"icc\0\0" + zlib.compress(b"x")) * 5000):
            self.bomb("in.png", pngs.png(5, 3, before=many), None)
        whole = pngs.SIGNATURE + pngs.header(50, 30)
        self.bomb("in.png", whole + b"".join(pngs.chunk(b"IDAT", rows[i:i + 1]) for i in range(len(rows))) + pngs.chunk(b"IEND"), fine=True)
        self.bomb("in.png", whole + pngs.chunk(b"IDAT") * 200000 + pngs.chunk(b"IDAT", rows) + pngs.chunk(b"IDAT") * 200000 + pngs.chunk(b"IEND"), fine=True)
        empty = b"\x78\x01" + b"\0\0\0\xff\xff" * 200000 + b"\1" + struct.pack("<HH", 16, 0xffef) + b"\0abcdefghijklmno" + struct.pack(">I", zlib.adler32(b"\0abcdefghijklmno"))
        self.bomb("in.png", self.file(pngs.header(5, 1), empty), fine=True)

    def test_lengths_of_chunks(self):
        whole = pngs.png(5, 3)
        for length in (HUGE, 0x80000000, 0xffffffff, 0xfffffff4, 100000000):
            for kind in (b"tEXt", b"IDAT", b"eXIf", b"prVt", b"PLTE", b"IEND"):
                self.bomb("in.png", whole[:33] + struct.pack(">I", length) + kind + whole[33:], turns=(TURN,))

    def test_exif(self):
        for block in exifs():
            self.bomb("in.png", pngs.png(5, 3, before=pngs.chunk(b"eXIf", block)), None, turns=(("--auto-orient",), TURN))
            self.bomb("in.png", pngs.png(5, 3, before=pngs.chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n%8d\n" % len(block) + block.hex().encode()))), None, turns=(TURN,))


def exifs():
    """Directories that lead to themselves, of more entries than there are bytes, and of values that end nowhere."""
    for order, mark in ((">", b"MM\0*"), ("<", b"II*\0")):
        entry = lambda *e: struct.pack(order + "HHII", *e)
        yield mark + struct.pack(order + "IH", 8, 1) + entry(0x8769, 4, 1, 8) + struct.pack(order + "I", 8)
        yield mark + struct.pack(order + "IH", 8, 3) + entry(0x112, 3, 1, 6 << 16) + entry(0x8769, 4, 1, 8) + entry(0xa005, 4, 1, 8) + struct.pack(order + "I", 8)
        yield mark + struct.pack(order + "IH", 8, 0xffff) + entry(0x112, 3, 1, 6 << 16)
        yield mark + struct.pack(order + "IH", 8, 0xffff) + entry(0x8769, 4, 1, 8) * 0xffff
        for count, at in ((0xffffffff, 8), (0x80000000, 0xffffffff), (1, 0xfffffff8), (0x20000001, 0xfffffffe)):
            for tag, kind in ((0x112, 3), (0x112, 12), (0x11a, 5), (0x927c, 7), (0x8769, 4), (0x201, 4), (0x9214, 3)):
                yield mark + struct.pack(order + "IH", 8, 1) + entry(tag, kind, count, at) + bytes(4)
        yield mark + struct.pack(order + "I", 0xffffffff)
        yield mark


def segment(marker, body):
    return bytes((0xff, marker)) + struct.pack(">H", len(body) + 2) + body


def jpeg(width, height, components=3, sampling=0x11, kind=0xc0, before=b"", scans=b""):
    """Tables that have one code, the frame, and whatever follows."""
    quantum = segment(0xdb, b"\0" + b"\1" * 64)
    codes = b"".join(segment(0xc4, bytes([which]) + b"\1" + bytes(15) + b"\0") for which in (0x00, 0x10))
    frame = segment(kind, struct.pack(">BHHB", 8, height, width, components) + b"".join(bytes((i + 1, sampling if i == 0 else 0x11, 0)) for i in range(components)))
    return b"\xff\xd8" + before + quantum + frame + codes + scans + b"\xff\xd9"


def scan(*components, spectrum=(0, 63, 0), data=b""):
    return segment(0xda, bytes([len(components)]) + b"".join(bytes((c, 0)) for c in components) + bytes(spectrum)) + data


class Jpeg(Bombs):
    def test_sizes(self):
        for kind in (0xc0, 0xc1, 0xc2, 0xc9, 0xca, 0xc3):
            for width, height in ((65535, 65535), (65472, 65472), (65472, 64), (64, 65472), (0, 8), (8, 0)):
                for sampling in (0x11, 0x42, 0x44, 0x00, 0xff):
                    spectrum = (0, 0, 0) if kind in (0xc2, 0xca) else (0, 63, 0)
                    self.bomb("in.jpg", jpeg(width, height, 3, sampling, kind, scans=scan(1, 2, 3, spectrum=spectrum, data=b"\0" * 40)), None, turns=(TURN,))
        for components in (0, 2, 5, 10, 255):
            self.bomb("in.jpg", jpeg(64, 64, components, scans=scan(1, data=b"\0" * 40)), None)

    def test_many_scans(self):
        """Each goes over all the blocks, be it of ten bytes."""
        self.needs("JPEG (libjpeg-turbo")
        for edge in (64, 1024, 2040):
            blocks, bits = (edge // 8) ** 2, ""
            for power in reversed(range(15)):  # runs of blocks without a coefficient
                while blocks >= 1 << power:
                    bits += format(power, "04b") + "0" * power
                    blocks -= 1 << power
            bits += "1" * (-len(bits) % 8)
            empty = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")
            first = scan(1, spectrum=(0, 0, 0), data=b"\0" * -(-(edge // 8) ** 2 // 8))
            runs = segment(0xc4, b"\x10" + bytes([0, 0, 0, 15]) + bytes(12) + bytes(power << 4 for power in range(15)))
            for count, fine in ((150, True), (20000, False)):
                self.bomb("in.jpg", jpeg(edge, edge, 1, kind=0xc2, scans=first + runs + scan(1, spectrum=(1, 63, 0), data=empty) * count), *[] if fine else ["more than 200 scans"], fine=fine,
                          turns=(TURN, ("--auto-orient",), ("--rotate", "90", "--jpeg", "reencode")))
            # Arithmetic codes have none at all.
            self.bomb("in.jpg", jpeg(edge, edge, 1, kind=0xca, scans=scan(1, spectrum=(0, 0, 0)) + scan(1, spectrum=(1, 63, 0)) * 20000), "more than 200 scans")

    def test_floods(self):
        good = seeds.seeds("JPEG")
        if not good:
            self.skipTest("no JPEG is made here")
        good = good[0][1]
        for many in (segment(0xfe, b"words") * 10000, segment(0xe1, b"Exif\0\0" + pngs.exif(6)) * 10000, segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0" + pngs.xmp(6, True)) * 10000,
                     segment(0xe2, b"ICC_PROFILE\0\1\1x") * 10000, segment(0xed, b"Photoshop 3.0\x008BIM\4\4\0\0\0\0\0\1x\0") * 10000, segment(0xfe, bytes(65533)) * 600,
                     b"\xff" * 1000000, segment(0xdd, b"\0\1") * 10000, segment(0xdb, b"\0" + b"\1" * 64) * 10000):
            self.bomb("in.jpg", good[:2] + many + good[2:], None)
        self.bomb("in.jpg", good + bytes(8 << 20), None)
        self.bomb("in.jpg", b"\xff\xd8" * 1000000, None)

    def test_exif_and_thumbnails(self):
        good = seeds.seeds("JPEG")
        if not good:
            self.skipTest("no JPEG is made here")
        good = good[0][1]
        for block in exifs():
            block = block[:65000]
            self.bomb("in.jpg", good[:2] + segment(0xe1, b"Exif\0\0" + block) + good[2:], None, turns=(("--auto-orient",), TURN))
        for small in (jpeg(65500, 65500, 3, scans=scan(1, 2, 3, data=b"\0" * 90)), jpeg(65500, 65500, 1, kind=0xc2, scans=scan(1, spectrum=(0, 0, 0), data=b"\0" * 9)),
                      jpeg(24000, 24000, 1, kind=0xc2, scans=scan(1, spectrum=(0, 0, 0), data=b"\0") * 3000), b"\xff\xd8" + b"\xff" * 30000):
            self.bomb("in.jpg", camera(good, small), None)
        for length, data in ((4, b""), (0xffffffff, b"\0"), (0x80000000, b"8BIM" * 9), (1, b"\0")):
            iptc = b"Photoshop 3.0\x008BIM\4\x0c\0\0" + struct.pack(">I", length) + data
            self.bomb("in.jpg", good[:2] + segment(0xed, iptc) + good[2:], None)


def camera(jpeg, thumbnail):
    exif = bytearray(pngs.exif(6))
    at = len(exif)
    exif[at - 4:at] = struct.pack(">I", at)
    entries = [(0x103, 3, 1, 6 << 16), (0x201, 4, 1, at + 42), (0x202, 4, 1, len(thumbnail))]
    exif += struct.pack(">H", 3) + b"".join(struct.pack(">HHII", *e) for e in entries) + bytes(4) + thumbnail
    return jpeg[:2] + segment(0xe1, b"Exif\0\0" + bytes(exif)[:65000]) + jpeg[2:]


class Tiff(Bombs):
    def setUp(self):
        super().setUp()
        self.needs("TIFF")

    def directory(self, entries, order="<", big=False, next_one=0):
        """The only one, at the file's start; an entry's value is a number, as large as it fits."""
        if big:
            head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HHHQ", 43, 8, 0, 16)
            body = b"".join(struct.pack(order + "HHQ", tag, kind, count) + self.value(order, kind, value, 8) for tag, kind, count, value in sorted(entries))
            return head + struct.pack(order + "Q", len(entries)) + body + struct.pack(order + "Q", next_one)
        head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8)
        body = b"".join(struct.pack(order + "HHI", tag, kind, count) + self.value(order, kind, value, 4) for tag, kind, count, value in sorted(entries))
        return head + struct.pack(order + "H", len(entries)) + body + struct.pack(order + "I", next_one)

    def value(self, order, kind, value, room):
        return struct.pack(order + {1: "B", 3: "H", 4: "I", 16: "Q"}.get(kind, "I"), value).ljust(room, b"\0")

    def page(self, width, height, *extra, bits=8, samples=1, compression=1, kind=4, at=8, size=100, rows=None):
        tags = {256: (kind, 1, width), 257: (kind, 1, height), 258: (3, 1, bits), 259: (3, 1, compression), 262: (3, 1, 1), 273: (kind, 1, at),
                277: (3, 1, samples), 278: (kind, 1, height if rows is None else rows), 279: (kind, 1, size)}
        tags.update({tag: rest for tag, *rest in extra})
        return [(tag, *rest) for tag, rest in tags.items() if rest]

    def test_sizes(self):
        for width, height in ((0xffffffff, 0xffffffff), (HUGE, HUGE), (0x80000000, 2), (65536, 65536), (46341, 46341), (0xffffffff, 1), (1, 0xffffffff), (0, 1)):
            for bits, samples in ((1, 1), (8, 1), (64, 65535), (32, 4), (0, 1), (65535, 1), (8, 0)):
                for compression in (1, 5, 8, 4, 7):
                    for big in (False, True):
                        self.bomb("in.tif", self.directory(self.page(width, height, bits=bits, samples=samples, compression=compression), big=big), None, turns=(TURN,))
        for width in (0xffffffffffffffff, 0x100000000, 0x7fffffffffffffff):
            self.bomb("in.tif", self.directory(self.page(width, width, kind=16), big=True))

    def test_tiles_and_strips(self):
        for edges in ((HUGE, HUGE), (0xfffffff0, 0xfffffff0), (0x80000000, 16), (16, 0xfffffff0), (0, 0), (1, 1), (65536, 65536)):
            for size in (16, 65536, HUGE):
                tiles = [(322, 4, 1, edges[0]), (323, 4, 1, edges[1]), (324, 4, 1, 8), (325, 4, 1, 100), (273,), (278,), (279,)]
                self.bomb("in.tif", self.directory(self.page(size, size, *tiles)), None, turns=(TURN,))
                self.bomb("in.tif", self.directory(self.page(size, size, *tiles, compression=8)), None, turns=(TURN,))
        for count in (0, 0xffffffff, 0x40000000, 1000000):
            for rows in (0, 1, 0xffffffff):
                self.bomb("in.tif", self.directory(self.page(1000, 1000000, (273, 4, count, 8), (279, 4, count, 8), rows=rows)), None, turns=(TURN,))
        for at, size in ((0xffffffff, 0xffffffff), (0xffffff00, 0x200), (8, 0xffffffff), (0, 0)):
            for compression in (1, 5, 8, 32773):
                self.bomb("in.tif", self.directory(self.page(100, 100, at=at, size=size, compression=compression)), turns=(TURN,),
                          fine=not size)  # a sparse file's only strip

    def test_counts(self):
        for big in (False, True):
            for count in (0xffffffff, 0x80000000, 0x1fffffff, 0xffffffffffffffff, 0x2000000000000001) if big else (0xffffffff, 0x80000000, 0x1fffffff):
                for tag, kind in ((258, 3), (273, 4), (279, 4), (282, 5), (270, 2), (330, 4), (330, 13), (34665, 4), (34675, 7), (700, 1), (320, 3), (347, 7), (274, 3), (65000, 7), (65000, 12)):
                    self.bomb("in.tif", self.directory(self.page(10, 10, (tag, kind, count, 8)), big=big), None, turns=(TURN,))

    def test_cycles(self):
        entries = self.page(4, 4, size=16)
        self.bomb("in.tif", self.directory(entries, next_one=8))
        self.bomb("in.tif", self.directory(entries, big=True, next_one=16))
        for tag in (330, 34665, 34853, 40965):
            for kind in (4, 13):
                self.bomb("in.tif", self.directory(self.page(4, 4, (tag, kind, 1, 8), size=16)), None)
        two = self.directory(entries, next_one=200).ljust(200, b"\0")
        self.bomb("in.tif", two + self.directory(entries, next_one=8)[8:])
        many = [(330, 4, 1000, 400)]  # a thousand times the directory itself
        self.bomb("in.tif", self.directory(self.page(4, 4, *many, size=16)).ljust(400, b"\0") + struct.pack("<I", 8) * 1000, None)

    def test_trees(self):
        """Ten directories, each of which names the next one ten times: 10^10 in all, of 2 kB."""
        data, at = bytearray(struct.pack("<2sHI", b"II", 42, 8)), 8
        for level in range(10):
            size = 2 + 12 * 10 + 4
            below = at + size + 40
            data += self.directory(self.page(4, 4, (330, 4, 10, at + size), size=16))[8:].ljust(size, b"\0") + struct.pack("<I", below if level < 9 else 8) * 10
            at = below
        self.bomb("in.tif", bytes(data), None)
        for depth in (100, 20000):  # each within the last
            data, at = bytearray(struct.pack("<2sHI", b"II", 42, 8)), 8
            for level in range(depth):
                one = self.directory(self.page(4, 4, (330, 4, 1, at + 126), size=16))[8:]
                self.assertEqual(len(one), 126)
                data += one
                at += 126
            data += self.directory(self.page(4, 4, size=16))[8:]
            self.bomb("in.tif", bytes(data), None)

    def test_floods(self):
        for count, big in ((20000, False), (66000, False), (20000, True)):  # of pages; libtiff counts to 65535
            data, at, step = bytearray(self.directory([], big=big)[:16 if big else 8]), 16 if big else 8, 8 + 9 * 20 + 8 if big else 2 + 9 * 12 + 4
            one = lambda i: self.directory(self.page(4, 4, size=16), big=big, next_one=at + step * (i + 1) if i + 1 < count else 0)[at:]
            data += b"".join(one(i) for i in range(count))
            self.bomb("in.tif", bytes(data), None)
        tags = self.page(4, 4, *[(52000 + i, 4, 1, 7) for i in range(13000)], size=16)
        self.bomb("in.tif", self.directory(tags), fine=True)
        self.bomb("in.tif", self.directory(self.page(4, 4, size=16) * 6000), None)  # each tag 6,000 times
        self.bomb("in.tif", self.directory(self.page(4, 4, size=16))[:8] + b"\xff\xff" + bytes(100), turns=(TURN,))
        self.bomb("in.tif", self.directory(self.page(4, 4, size=16), big=True)[:16] + b"\xff" * 8 + bytes(100), turns=(TURN,))
        strips = self.page(1, 300000, (273, 4, 300000, 200), (279, 4, 300000, 200 + 1200000), rows=1)
        self.bomb("in.tif", self.directory(strips).ljust(200, b"\0") + struct.pack("<I", 8) * 300000 + struct.pack("<I", 1) * 300000, fine=True)

    def test_pixels_that_unpack_to_a_thousand_times_as_much(self):
        for width, height in ((60000, 60000), (1000, 1), (16000, 16000)):
            packed = zeros(400 << 20)
            self.bomb("in.tif", self.directory(self.page(width, height, compression=8, at=200, size=len(packed))).ljust(200, b"\0") + packed, None)
        strip = zeros(2000 * 8)
        self.bomb("in.tif", self.directory(self.page(2000, 8 * 5000, (273, 4, 5000, 200), (279, 4, 5000, 20200), compression=8, rows=8)).ljust(200, b"\0")
                  + struct.pack("<I", 40200) * 5000 + struct.pack("<I", len(strip)) * 5000 + strip, None)


class Pnm(Bombs):
    def test_sizes(self):
        for numbers in ("4294967295 4294967295", "2147483647 2147483647", "65536 65536", "18446744073709551615 2", "18446744073709551616 1", "4294967296 1", "1 18446744073709551615",
                        "99999999999999999999999999999 1", "-1 5", "0 5", "5 0", "1e9 1", "9223372036854775807 2"):
            for head in ("P1 {}\n", "P2 {} 255\n", "P3 {} 65535\n", "P4 {}\n", "P5 {} 255\n", "P6 {} 65535\n", "PF {} -1\n", "Pf {} 1\n"):
                self.bomb("in.pnm", head.format(numbers).encode() + b"1 1 1 1", turns=(TURN, LEFT_TO_RIGHT))
            width, height = numbers.split()
            for depth in ("1", "4294967295", "18446744073709551615", "0", "65536"):
                self.bomb("in.pam", f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL 65535\nTUPLTYPE X\nENDHDR\n".encode() + b"abcd", turns=(TURN,))
        for numbers in ("5 3 0", "5 3 65536", "5 3 4294967297", "5 3 -1"):
            self.bomb("in.pgm", f"P5 {numbers}\n".encode() + bytes(60))

    def test_floods(self):
        for data in (b"P5\n" + b"# words\n" * 500000 + b"5 3 255\n" + bytes(15), b"P5\n" + b" " * 4000000 + b"5 3 255\n" + bytes(15),
                     b"P7\n" + b"# words\n" * 300000 + b"WIDTH 5\nHEIGHT 3\nDEPTH 1\nMAXVAL 255\nENDHDR\n" + bytes(15), b"P7\n" + b"WIDTH 5\n" * 300000,
                     b"P7\nTUPLTYPE " + b"x" * 4000000 + b"\nWIDTH 5\nHEIGHT 3\nDEPTH 1\nMAXVAL 255\nENDHDR\n" + bytes(15),
                     b"P2 5 3 255\n" + b" " * 4000000 + b"1 " * 15, b"P2 5 3 255\n" + b"1" * 4000000, b"P5 " + b"1" * 4000000, b"P5\n#" + b"x" * 4000000):
            self.bomb("in.pnm", data, None)


class OfLibvips(Bombs):
    def seeds(self, name):
        """The bytes of whole files, to be spoilt."""
        found = [data for _, data in seeds.seeds(name)]
        if not found:
            self.skipTest(f"the command vips does not write {name} here")
        return found

    def put(self, data, at, layout, *values):
        part = struct.pack(layout, *values)
        return data[:at] + part + data[at + len(part):]

    def gif(self, width, height, frame, count=1, palette=b"\0\0\0\xff\xff\xff"):
        return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + palette + frame * count + b";"

    def frame(self, left=0, top=0, width=1, height=1, delay=10, pieces=b"\2\2\x44\1\0"):
        return b"\x21\xf9\4\0" + struct.pack("<H", delay) + b"\0\0\x2c" + struct.pack("<HHHHB", left, top, width, height, 0) + pieces

    def test_gif(self):
        self.seeds("GIF")
        for width, height in ((65535, 65535), (65535, 1), (1, 65535), (16000, 16000), (0, 0)):
            self.bomb("in.gif", self.gif(width, height, self.frame()), None)
            self.bomb("in.gif", self.gif(width, height, self.frame(width=65535, height=65535)), None)
        for frame, count in ((self.frame(), 20000), (self.frame(left=65535, top=65535, width=65535, height=65535), 1000), (b"\x21\xfe\5words\0", 100000),
                             (b"\x21\xff\x0bNETSCAPE2.0\3\1\0\0\0", 50000), (b"\x21\xf9\4\0\0\0\0\0", 100000)):
            self.bomb("in.gif", self.gif(3, 2, frame, count), None)
        self.bomb("in.gif", self.gif(2000, 2000, self.frame(), 3000), "--max-pixels", turns=(MEASURED,))  # work that was asked for, or not
        self.bomb("in.gif", self.gif(60000, 60000, self.frame(), 5), None)
        self.bomb("in.gif", self.gif(9, 9, self.frame(width=9, height=9, pieces=b"\2" + b"\1\x24" * 3000000 + b"\0")), None)

    def webp(self, *chunks):
        body = b"WEBP" + b"".join(kind + struct.pack("<I", len(data)) + data + bytes(len(data) % 2) for kind, data in chunks)
        return b"RIFF" + struct.pack("<I", len(body) & 0xffffffff) + body

    def test_webp(self):
        still = self.seeds("WebP")[0]
        at = still.index(b"VP8L")
        picture = still[at + 8:at + 8 + struct.unpack("<I", still[at + 4:at + 8])[0]]
        size = lambda flags, width, height: bytes([flags]) + bytes(3) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
        film = lambda x, y: struct.pack("<I", x)[:3] + struct.pack("<I", y)[:3] + struct.pack("<I", seeds.WIDTH - 1)[:3] + struct.pack("<I", seeds.HEIGHT - 1)[:3] + b"\x64\0\0\2" + b"VP8L" + struct.pack("<I", len(picture)) + picture + bytes(len(picture) % 2)
        for width, height, count in ((64, 64, 2000), (16384, 16384, 2), (16384, 16384, 1000), (1 << 24, 1 << 24, 2)):
            self.bomb("in.webp", self.webp((b"VP8X", size(2, width, height)), (b"ANIM", bytes(6)), *[(b"ANMF", film(0, 0))] * count), None)
        self.bomb("in.webp", self.webp((b"VP8X", size(2, 2000, 2000)), (b"ANIM", bytes(6)), *[(b"ANMF", film(0, 0))] * 3000), "--max-pixels", turns=(MEASURED,))
        for flags, chunk in ((8, (b"EXIF", pngs.exif(6))), (4, (b"XMP ", pngs.xmp(6, True))), (0, (b"ABCD", b"words")), (32, (b"ICCP", b"x"))):
            self.bomb("in.webp", self.webp((b"VP8X", size(flags, seeds.WIDTH, seeds.HEIGHT)), (b"VP8L", picture), *[chunk] * 20000), None)
        for width in (0x3fff, 0x3ffe):
            self.bomb("in.webp", self.webp((b"VP8L", b"\x2f" + struct.pack("<I", width | width << 14) + bytes(40))), None)
        for block in exifs():
            self.bomb("in.webp", self.webp((b"VP8X", size(8, seeds.WIDTH, seeds.HEIGHT)), (b"VP8L", picture), (b"EXIF", block)), None, turns=(TURN,))

    def test_heif(self):
        for name, ending in (("AVIF", "avif"), ("HEIF", "heic")):
            files = [data for _, data in seeds.seeds(name)]
            for data in files:
                at = data.index(b"ispe") + 8
                for width, height in ((0xffffffff, 0xffffffff), (HUGE, HUGE), (65535, 65535), (16384, 16384), (0, 0), (1, 0xffffffff)):
                    self.bomb("in." + ending, self.put(data, at, ">II", width, height), None, turns=(TURN,))
                for box in (b"meta", b"iloc", b"iinf", b"iprp", b"ipco", b"ipma", b"iref", b"pitm", b"mdat", b"ispe", b"colr", b"pixi"):
                    if box in data:
                        for length in (0, 1, 7, 8, HUGE, 0xffffffff):
                            self.bomb("in." + ending, self.put(data, data.index(box) - 4, ">I", length), None, turns=(TURN,))
                for box, layout, value in ((b"iloc", ">H", 0xffff), (b"iinf", ">H", 0xffff), (b"ipma", ">I", 0xffffffff)):
                    at = data.index(box) + 8 + 2 * (box == b"iloc")
                    self.bomb("in." + ending, self.put(data, at, layout, value), None, turns=(TURN,))
                nested = b""
                for _ in range(20000):
                    nested = struct.pack(">I", len(nested) + 12) + b"meta" + bytes(4) + nested
                    if len(nested) > 200000:
                        break
                start = data.index(b"meta") - 4
                self.bomb("in." + ending, data[:start] + nested + data[start:], None, turns=(TURN,))
                self.bomb("in." + ending, data[:start] + (struct.pack(">I", 8) + b"free") * 200000 + data[start:], None, turns=(TURN,))

    def test_jxl(self):
        whole = self.seeds("JPEG XL")[0]
        for width, ratio in ((1 << 30, 1), (1 << 18, 1), (65536, 1), (20000, 1), (1 << 30, 7)):
            bits = "0" + "11" + format(width - 1, "030b")[::-1] + format(ratio, "03b")[::-1] + "1"  # the lowest first
            bits += "0" * (-len(bits) % 8)
            header = bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))
            self.bomb("in.jxl", b"\xff\x0a" + header + bytes(60), None)
        box = lambda kind, body: struct.pack(">I", len(body) + 8) + kind + body
        head = box(b"JXL ", b"\r\n\x87\n") + box(b"ftyp", b"jxl \0\0\0\0jxl ")
        for many in (box(b"Exif", bytes(4) + pngs.exif(6)) * 10000, box(b"xml ", pngs.xmp(6, True)) * 10000, box(b"free", b"") * 200000, box(b"jxlp", struct.pack(">I", 0)) * 100000,
                     struct.pack(">I", 1) + b"free" + b"\xff" * 8, struct.pack(">I", 1) + b"free" + struct.pack(">Q", 16) * 2, box(b"brob", b"Exif" + bytes(100)) * 1000):
            self.bomb("in.jxl", head + many + box(b"jxlc", whole), None)

    def test_jp2(self):
        for data in self.seeds("JPEG 2000"):
            at = data.index(b"\xff\x4f\xff\x51") + 8
            for sizes in ((0xffffffff, 0xffffffff, 0, 0, 0xffffffff, 0xffffffff), (HUGE, HUGE, 0, 0, 1, 1), (65535, 65535, 0, 0, 65535, 65535), (65535, 65535, 0, 0, 256, 256),
                          (30000, 30000, 0, 0, 30000, 30000), (29, 18, 0, 0, 1, 1), (29, 18, 28, 17, 29, 18), (29, 18, 29, 18, 29, 18), (29, 18, 0, 0, 0, 0)):
                for turn in (TURN, LEFT_TO_RIGHT):
                    self.bomb("in.jp2", self.put(data, at, ">IIIIII", *sizes), None, turns=(turn,))
            for components in (0, 1, 2, 16384, 65535):
                self.bomb("in.jp2", self.put(data, at + 32, ">H", components), None, turns=(TURN,))
            start = data.index(b"jp2c") - 4
            box = lambda kind, body: struct.pack(">I", len(body) + 8) + kind + body
            for many in (box(b"uuid", bytes(20)) * 10000, box(b"xml ", b"<a/>") * 10000, box(b"free", b"") * 200000, struct.pack(">I", 1) + b"free" + b"\xff" * 8):
                self.bomb("in.jp2", data[:start] + many + data[start:], None)

    def test_radiance(self):
        self.seeds("Radiance")
        for size in ("-Y 2147483647 +X 2147483647", "-Y 4294967297 +X 1", "-Y 65536 +X 65536", "-Y 1 +X 2147483647", "-Y 0 +X 0", "-Y -5 +X -5", "-Y 10000000 +X 10000000", "-Y 30000 +X 30000"):
            for pixels in (b"\2\2\x7f\xff" + bytes(60), b"\1\1\1\xff" * 40, bytes(60)):
                self.bomb("in.hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n" + size.encode() + b"\n" + pixels, None)
        self.bomb("in.hdr", b"#?RADIANCE\n" + b"VIEW=x\n" * 500000 + b"FORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n" + bytes(4), None)
        self.bomb("in.hdr", b"#?RADIANCE\n" + b"x" * 4000000, None)

    def test_bmp(self):
        data = self.seeds("BMP")[0]
        for width, height in ((HUGE, HUGE), (-HUGE, 1), (1, -0x80000000), (65536, 65536), (30000, 30000), (0, 0), (HUGE, 1), (1, HUGE)):
            for bits, packing in ((24, 0), (8, 1), (4, 2), (1, 0), (32, 3), (16, 0)):
                self.bomb("in.bmp", self.put(self.put(data, 18, "<ii", width, height), 28, "<HI", bits, packing), None, turns=(TURN,))
        for offset in (0, 0xffffffff, HUGE):
            self.bomb("in.bmp", self.put(data, 10, "<I", offset), None, turns=(TURN,))

    def test_vips(self):
        data = self.seeds("VIPS")[0]
        order = "<" if data[0] == 0x08 else ">"
        for width, height, bands in ((HUGE, HUGE, 3), (10000000, 10000000, 1), (65536, 65536, 4), (-1, -1, -1), (0, 0, 0), (10, 10, HUGE), (10, 10, 0x40000000), (1, 1, 65536), (29, -18, 3)):
            self.bomb("in.v", self.put(data, 4, order + "iii", width, height, bands), None)
        for code in range(20, 40, 4):
            for value in (-1, 99, HUGE):
                self.bomb("in.v", self.put(data, code, order + "i", value), None, turns=(TURN,))
        pixels = data[:64 + seeds.WIDTH * seeds.HEIGHT * 3]
        laughs = b"".join(b'<!ENTITY a%d "%s">' % (i + 1, b"&a%d;" % i * 10) for i in range(12))
        head = b'<?xml version="1.0"?>\n'
        root = b'<root xmlns="http://www.vips.ecs.soton.ac.uk//dzsave/2.0"><header></header><meta>%s</meta></root>'
        for xml in (head + b'<!DOCTYPE root [<!ENTITY a0 "laugh">' + laughs + b"]>" + root % b'<field type="VipsRefString" name="x">&a12;</field>',
                    head + b'<!DOCTYPE root [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + root % b'<field type="VipsRefString" name="x">&x;</field>',
                    head + root % b"".join(b'<field type="VipsRefString" name="x%d">words</field>' % i for i in range(10000)),
                    head + b"<a>" * 1000000, head + root % (b'<field type="VipsBlob" name="exif-data">' + b"QUFB" * 3000000 + b"</field>"), b"\0" * 4000000):
            self.bomb("in.v", pixels + xml, None)


class Heif(Bombs):
    """A picture, and what else its header says of it; no decoder would take it."""
    def box(self, kind, *parts):
        body = b"".join(parts)
        return struct.pack(">I", len(body) + 8) + kind + body

    def full(self, kind, version, *parts):
        return self.box(kind, bytes([version, 0, 0, 0]), *parts)

    def file(self, items, references=b"", properties=(), places=b"", behind=b""):
        """Item 1 is the picture; of all, the kinds from 1 on."""
        names = [self.full(b"infe", 2, struct.pack(">HH", i + 1, 0), kind, b"\0") for i, kind in enumerate(items)]
        pictures = [i + 1 for i, kind in enumerate(items) if kind == b"av01"]
        ispe = self.full(b"ispe", 0, struct.pack(">II", 8, 8))
        def head(at):
            return self.box(b"ftyp", b"avif\0\0\0\0avifmif1") + self.full(
                b"meta", 0, self.full(b"hdlr", 0, bytes(4), b"pict", bytes(13)), self.full(b"pitm", 0, b"\0\1"),
                self.full(b"iloc", 0, struct.pack(">HHHHHII", 0x4400, 1 + len(places) // 14, 1, 0, 1, at, 8), places),
                self.full(b"iinf", 0, struct.pack(">H", len(names)), *names), self.full(b"iref", 0, references),
                self.box(b"iprp", self.box(b"ipco", ispe, *properties), self.full(b"ipma", 0, struct.pack(">I", len(pictures)), *[struct.pack(">HBB", i, 1, 1) for i in pictures])))
        return head(len(head(0)) + 8) + self.box(b"mdat", b"pictures", behind)

    def test_floods(self):
        references = self.box(b"thmb", struct.pack(">HH", 60001, 65535), bytes(2 * 65535)) * 4
        self.bomb("in.avif", self.file([b"av01"] + [b"abcd"] * 60000, references), fine=True)
        self.bomb("in.avif", self.file([b"av01"] * 60000, properties=[self.box(b"free")] * 30000), fine=True)

    def test_metadata_that_is_one_place(self):
        places = b"".join(struct.pack(">HHHII", i + 2, 0, 1, 300000, 2000000) for i in range(3000))
        self.bomb("in.avif", self.file([b"av01"] + [b"Exif"] * 3000, places=places, behind=bytes(3000000)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
