# SPDX-License-Identifier: MIT
"""GIFs, made and judged by a codec of this test's own.

usage: test_gif.py IMGTRANSPOSE MEDDLE_LIBRARY
"""
import os
import random
import struct
import sys
import unittest

import command
import pngs
from command import ARGUMENTS, CommandTest, turn

MEDDLE = os.path.abspath(sys.argv[2])
LOOP = b"\x21\xff\x0bNETSCAPE2.0\3\1\2\0\0"
PROFILE = b"\x21\xff\x0bICCRGBG1012\5abcde\0"
COMMENT = b"\x21\xfe\3abc\2de\0"
UNKNOWN = b"\x21\x42\1x\0"


def packed(pixels, bits, clears=True):
    """LZW; a full table is cleared, or else kept to the end."""
    clear, stream = 1 << bits, []
    table, string, width = {}, (), bits + 1
    stream.append((clear, width))
    number = lambda s: s[0] if len(s) == 1 else table[s]
    for pixel in pixels:
        if not string or string + (pixel,) in table:
            string += (pixel,)
            continue
        stream.append((number(string), width))
        width += clear + 2 + len(table) == 1 << width and width < 12
        if clear + 2 + len(table) < 4096:
            table[string + (pixel,)] = clear + 2 + len(table)
        elif clears:
            stream.append((clear, width))
            table, width = {}, bits + 1
        string = (pixel,)
    stream.append((number(string), width))
    width += clear + 2 + len(table) == 1 << width and width < 12
    stream.append((clear + 1, width))
    word = at = 0
    for code, width in stream:
        word, at = word | code << at, at + width
    data = word.to_bytes((at + 7) // 8, "little")
    return bytes([bits]) + b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


def unpacked(data, bits):
    """And the end of the codes must be stated."""
    clear, pixels, table, last, width, at = 1 << bits, [], {}, None, bits + 1, 0
    word = int.from_bytes(data, "little")
    while True:
        code = word >> at & (1 << width) - 1
        at += width
        if code == clear + 1:
            return pixels, (at + 7) // 8 == len(data)
        if code == clear:
            table, last, width = {}, None, bits + 1
            continue
        assert at <= 8 * len(data)
        known = (code,) if code < clear else table.get(code, last and last + last[:1])
        if last and clear + 2 + len(table) < 4096:
            table[clear + 2 + len(table)] = last + known[:1]
        last = known
        pixels.extend(known)
        width += clear + 2 + len(table) == 1 << width and width < 12


def interlaced(rows):
    return [row for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for row in rows[first::step]]


class Frame:
    def __init__(self, left, top, rows, bits, interlace=False, colours=b"", before=b"", clears=True):
        self.left, self.top, self.rows, self.bits, self.interlace, self.colours, self.before, self.clears = (
            left, top, rows, bits, interlace, colours, before, clears)

    def __bytes__(self):
        flags = (0x40 if self.interlace else 0) | (0x80 | len(self.colours).bit_length() - 3 if self.colours else 0)
        stored = interlaced(self.rows) if self.interlace else self.rows
        return (self.before + b"\x2c" + struct.pack("<4HB", self.left, self.top, len(self.rows[0]), len(self.rows), flags) + self.colours
                + packed([p for row in stored for p in row], self.bits, self.clears))


def colours(n, seed):
    return random.Random(seed).randbytes(3 * n)


def gif(width, height, frames, table=colours(4, 1), aspect=0, behind=b""):
    flags = 0x70 | (0x80 | len(table).bit_length() - 3 if table else 0)
    return b"GIF89a" + struct.pack("<2H3B", width, height, flags, 2, aspect) + table + b"".join(map(bytes, frames)) + b";" + behind


def parsed(data):
    """The screen; and blocks as they lie, but frames as (left, top, flags, colours, bits, rows)."""
    width, height, flags, _, _ = struct.unpack("<2H3B", data[6:13])
    at = 13 + (6 << (flags & 7) if flags & 0x80 else 0)
    screen, blocks = data[:at], []
    while data[at] != 0x3b:
        start = at
        if data[at] == 0x21:
            at += 2
        else:
            left, top, w, h, flags = struct.unpack("<4HB", data[at + 1:at + 10])
            table = data[at + 10:at + 10 + (6 << (flags & 7) if flags & 0x80 else 0)]
            at += 10 + len(table)
            bits, at = data[at], at + 1
        pieces = b""
        while data[at]:
            pieces += data[at + 1:at + 1 + data[at]]
            at += 1 + data[at]
        at += 1
        if data[start] == 0x21:
            blocks.append(data[start:at])
            continue
        pixels, whole = unpacked(pieces, bits)
        assert whole and len(pixels) == w * h
        stored = [pixels[y * w:y * w + w] for y in range(h)]
        order = interlaced(list(range(h))) if flags & 0x40 else range(h)
        blocks.append((left, top, flags, table, bits, [row for _, row in sorted(zip(order, stored))]))
    return screen, blocks, data[at + 1:]


def expected(data, orientation):
    """What a turn is to make of it: each frame is turned within the screen."""
    screen, blocks, behind = parsed(data)
    width, height = struct.unpack("<2H", screen[6:10])
    swap = orientation in ("transpose", "rot90", "transverse", "rot270")
    out = []
    for block in blocks:
        if isinstance(block, tuple):
            left, top, flags, table, bits, rows = block
            canvas = [[None] * width for _ in range(height)]
            for y, row in enumerate(rows):
                canvas[top + y][left:left + len(row)] = row
            canvas = turn(canvas, orientation)
            there = [(x, y) for y, row in enumerate(canvas) for x, p in enumerate(row) if p is not None]
            (left, top), (right, bottom) = there[0], there[-1]
            block = (left, top, flags, table, bits, [row[left:right + 1] for row in canvas[top:bottom + 1]])
        out.append(block)
    if swap:
        screen = screen[:6] + struct.pack("<2H", height, width) + screen[10:]
    return screen, out, behind


def noise(width, height, bits, seed=0):
    numbers = random.Random(f"{width} {height} {bits} {seed}")
    return [[numbers.randrange(1 << bits) for _ in range(width)] for _ in range(height)]


class Gif(CommandTest):
    def turns(self, data, *options, orientations=ARGUMENTS):
        self.write("in.gif", data)
        for orientation in orientations:
            if orientation == "none":
                continue
            self.succeeds(*ARGUMENTS[orientation], *options, "--overwrite", "-o", "out.gif", "in.gif")
            got, want = parsed(self.read("out.gif")), expected(data, orientation)
            self.assertEqual(got[0], want[0], orientation)
            self.assertEqual(got[1:], want[1:], orientation)

    def test_every_turn(self):
        for width, height in ((1, 1), (7, 3), (3, 17), (33, 40)):
            for bits in range(2, 9):
                self.turns(gif(width, height, [Frame(0, 0, noise(width, height, bits), bits, interlace=bits % 2 == 1)], colours(1 << bits, bits)))

    def test_full_tables(self):
        """Noise, whose strings are short, and a plain colour, whose are long; all 256 colours; tables that are cleared and that are not."""
        plain = [[5] * 401 for _ in range(300)]
        stripes = [[x // 3 % 7 for x in range(500)] for _ in range(203)]
        for rows in (noise(203, 101, 8), plain, stripes):
            for clears in (True, False):
                self.turns(gif(len(rows[0]), len(rows), [Frame(0, 0, rows, 8, clears=clears)], colours(256, 8)), orientations=("rot90", "flipv"))

    def test_places_and_all_else(self):
        """Frames in parts of the screen, with tables, delays and disposals of their own, among blocks of every kind."""
        control = lambda flags, delay, clear: b"\x21\xf9\x04" + struct.pack("<BHB", flags, delay, clear) + b"\0"
        frames = [Frame(0, 0, noise(30, 20, 2), 2, before=LOOP + PROFILE + COMMENT + control(4, 7, 0)),
                  Frame(3, 5, noise(10, 4, 3), 3, True, colours(8, 2), control(9, 300, 3)),
                  Frame(29, 19, [[1]], 2, before=UNKNOWN + control(13, 0, 1)),
                  Frame(0, 11, noise(1, 9, 8), 8, True, colours(256, 3), COMMENT)]
        self.turns(gif(30, 20, frames, behind=b"and more"))
        self.turns(gif(30, 20, frames[1:], table=b""))
        data = gif(30, 20, frames, behind=b"and more")
        self.write("in.gif", data)
        self.succeeds("--rotate", "90", "--strip", "-o", "strip.gif", "in.gif")
        screen, blocks, behind = parsed(self.read("strip.gif"))
        self.assertEqual((screen, behind), (expected(data, "rot90")[0], b""))
        self.assertEqual(blocks, [block for block in expected(data, "rot90")[1] if block not in (COMMENT, UNKNOWN)])
        for i in range(4):
            self.succeeds("--rotate", "90", "--in-place", "in.gif")
        self.assertEqual(parsed(self.read("in.gif")), parsed(data))
        self.succeeds("--auto-orient", "--in-place", "in.gif")

    def test_pixels_that_are_not_square(self):
        for aspect, turned in ((49, 49), (1, 241), (241, 1), (17, 113), (255, 1)):
            self.write("in.gif", gif(3, 2, [Frame(0, 0, noise(3, 2, 2), 2)], aspect=aspect))
            for arguments, want in ((["--rotate", "90"], turned), (["--rotate", "180"], aspect)):
                self.succeeds(*arguments, "--overwrite", "-o", "out.gif", "in.gif")
                self.assertEqual(self.read("out.gif")[12], want)

    def test_xmp(self):
        """Its letters are lengths of pieces, too, and behind it stands what leads from each to its end."""
        magic = b"\1" + bytes(range(255, -1, -1)) + b"\0"
        xmp = lambda tag, width, height: (b"\x21\xff\x0bXMP DataXMP" + pngs.xmp(tag, True).replace(
            b"tiff:Orientation", b'tiff:ImageWidth="%d" tiff:ImageLength="%d" tiff:Orientation' % (width, height), 1) + magic)
        self.assertIn(b'tiff:Orientation="6"', xmp(6, 3, 2))
        frame = Frame(0, 0, noise(3, 2, 2), 2)
        self.write("in.gif", gif(3, 2, [xmp(6, 3, 2), frame]))
        self.write("upright.gif", gif(3, 2, [xmp(1, 3, 2), frame]))
        self.succeeds("--auto-orient", "-o", "out.gif", "in.gif")
        screen, blocks, _ = parsed(self.read("out.gif"))
        self.assertEqual(blocks[0], xmp(1, 2, 3))
        self.assertEqual(blocks[1][5], turn(frame.rows, "rot90"))
        before = self.read("out.gif")
        self.succeeds("--auto-orient", "--in-place", "out.gif")
        self.assertEqual(self.read("out.gif"), before)
        self.succeeds("--auto-orient", "-o", "same.gif", "upright.gif")
        self.assertEqual(self.read("same.gif"), self.read("upright.gif"))
        self.succeeds("--stored", "--rotate", "90", "-o", "stored.gif", "in.gif")
        self.assertEqual(parsed(self.read("stored.gif"))[1][0], xmp(6, 2, 3))
        # Without what isn't needed to show it; a tag that is still to be followed is.
        for name, arguments, kept in (("in.gif", ["--stored", "--rotate", "90"], [xmp(6, 2, 3)]), ("in.gif", ["--auto-orient"], []),
                                      ("upright.gif", ["--stored", "--rotate", "90"], [])):
            self.succeeds(*arguments, "--strip", "--overwrite", "-o", "strip.gif", name)
            self.assertEqual(parsed(self.read("strip.gif"))[1][:-1], kept)

    def test_a_spoiled_copy_replaces_nothing(self):
        """Whichever byte changes when it is synced: what follows the picture moves the middle, which does, from block to block. (Behind a frame's last pixel,
        in the end of its codes, it may.)"""
        spoil = {**os.environ, "LD_PRELOAD": command.preloaded(MEDDLE), "MEDDLE_SPOIL": "1"}
        frame = Frame(0, 0, noise(3, 2, 2), 2, colours=colours(4, 3))
        others = [b"\x21\xfe\2zz\0", COMMENT, PROFILE, LOOP, UNKNOWN, b"\0", b"\x21\xf9\4\x09\7\0\3\0"]
        xmp = b"\x21\xff\x0bXMP DataXMP" + b"<x/>" + b"\1" + bytes(range(255, -1, -1)) + b"\0"
        ahead, behind = gif(3, 2, [frame, *others]), gif(3, 2, [*others, frame])
        codes = len(packed(sum(frame.rows, []), 2))
        spoiled = [ahead + bytes(2 * at - len(ahead)) for at in range((len(ahead) + 1) // 2, len(ahead) + 3)]
        self.assertLess(len(gif(3, 2, [frame])) + 1, (len(ahead) + 1) // 2)
        spoiled += [behind + bytes(2 * at - len(behind)) for at in range(len(behind) - codes - 23, len(behind) - codes)]
        for data in (*spoiled, gif(3, 2, [xmp, frame]), gif(3, 2, [frame, xmp])):
            self.write("in.gif", data)
            self.fails(1, "--rotate", "90", "--in-place", "in.gif", says=("in.gif: ", "turned copy reads back differently"), env=spoil)
            self.assertEqual((self.files(), self.read("in.gif")), (["in.gif"], data))
        self.write("in.gif", spoiled[3])
        for strip in ([], ["--strip"]):
            self.succeeds("--rotate", "90", *strip, "--in-place", "in.gif")

    def test_refusals(self):
        frame = Frame(0, 0, noise(30, 20, 4), 4)
        good = gif(30, 20, [frame])
        codes = good.index(b"\x2c" + bytes(4)) + 11
        text = b"\x21\x01\x0c" + bytes(12) + b"\2hi\0"
        for data, says in ((good[:codes] + bytes([good[codes]]) + b"\xff" * good[codes] + good[codes + 1 + good[codes]:], "damaged frame"),
                           (good[:codes - 1] + b"\x0c" + good[codes:], "damaged frame"),
                           (gif(30, 20, [Frame(0, 0, frame.rows, 4).__bytes__()[:11] + b"\1\x10\0"]), "damaged frame"),
                           (gif(65535, 65535, [b"\x2c" + struct.pack("<4HB", 0, 0, 65535, 65535, 0) + b"\2\2\x44\x0a\0"]), "damaged frame"),
                           (gif(29, 20, [frame]), "over the edge"), (gif(30, 19, [frame]), "over the edge"),
                           (gif(30, 20, [Frame(1, 0, frame.rows, 4)]), "over the edge"),
                           (gif(30, 20, [text, frame]), "plain text"), (gif(30, 20, []), "no frame"),
                           (gif(30, 20, [frame, b"\x77"]), "damaged between"),
                           (gif(30, 20, [b"\x2c" + struct.pack("<4HB", 0, 0, 0, 5, 0) + b"\2\1\x2c\0"]), "without pixels")):
            self.write("in.gif", data)
            self.fails(1, "--rotate", "90", "-o", "out.gif", "in.gif", says=("in.gif: ", says))
            self.assertEqual(self.files(), ["in.gif"])
        self.fails(1, "--auto-orient", "-o", "out.gif", self.write("in.gif", good[:codes + 5] + b"\xff" * 6 + good[codes + 11:]), says=("damaged frame",))
        for size in range(len(good)):
            self.write("in.gif", good[:size])
            if size > 5:
                self.fails(1, "--rotate", "90", "-o", "out.gif", "in.gif", says=("in.gif: is cut short: restore it",))
        self.write("in.gif", good)
        self.fails(1, "--rotate", "90", "--memory-limit", "2000", "-o", "out.gif", "in.gif", says=("in.gif: takes 0.0 MB", "raise --memory-limit"))
        self.fails(1, "--rotate", "90", "--max-pixels", "599", "-o", "out.gif", "in.gif", says=("in.gif: ",))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
