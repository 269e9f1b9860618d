# SPDX-License-Identifier: MIT
"""Netpbm's formats, made and judged by hand.

usage: test_pnm.py IMGTRANSPOSE
"""
import os
import random
import struct
import sys
import unittest

from command import ARGUMENTS, CommandTest, turn


def header(kind, width, height, most):
    if kind == 7:
        return f"P7\n# by hand\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL {most}\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
    return f"P{kind}\n# by hand\n{width} {height}\n" + (f"{most}\n" if kind not in (1, 4) else "")


def pixels(width, height, channels, most):
    numbers = random.Random(width * 1000 + height)
    return [[tuple(numbers.randrange(most + 1) for _ in range(channels)) for _ in range(width)] for _ in range(height)]


def packed(row):
    bits = "".join(str(pixel[0]) for pixel in row)
    return int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")


def binary(rows, kind, most):
    if kind == 4:
        return b"".join(packed(row) for row in rows)
    return b"".join(struct.pack(">H" if most > 255 else "B", sample) for row in rows for pixel in row for sample in pixel)


class Pnm(CommandTest):
    def test_binary(self):
        for kind, channels, most in ((4, 1, 1), (5, 1, 255), (5, 1, 9), (5, 1, 1000), (6, 3, 255), (6, 3, 65535), (7, 4, 255)):
            for width, height in ((1, 1), (7, 3), (3, 7), (9, 17), (40, 33)):
                rows = pixels(width, height, channels, most)
                self.write("in.pnm", header(kind, width, height, most).encode() + binary(rows, kind, most))
                for name, arguments in ARGUMENTS.items():
                    self.succeeds(*arguments, "--overwrite", "-o", "out.pnm", "in.pnm")
                    out = turn(rows, name)
                    self.assertEqual(self.read("out.pnm"), header(kind, len(out[0]), len(out), most).encode()
                                     + binary(out, kind, most), (kind, most, width, height, name))

    def test_text(self):
        for kind, channels, most in ((1, 1, 1), (2, 1, 255), (2, 1, 1000), (3, 3, 15)):
            for width, height in ((1, 1), (7, 3), (40, 33)):
                rows = pixels(width, height, channels, most)
                text = "# and here\n".join("\n" + " ".join(str(s) for pixel in row for s in pixel) + " " for row in rows)
                if kind == 1:
                    text = text.replace(" ", "").replace("#andhere", "")
                self.write("in.pnm", (header(kind, width, height, most) + text).encode())
                for name, arguments in ARGUMENTS.items():
                    if name == "none":
                        continue
                    self.succeeds(*arguments, "--overwrite", "-o", "out.pnm", "in.pnm")
                    out = turn(rows, name)
                    start = header(kind, len(out[0]), len(out), most)
                    result = self.read("out.pnm").decode()
                    self.assertTrue(result.startswith(start))
                    self.assertEqual([int(s) for s in result[len(start):].split()], [s for r in out for p in r for s in p])
                    self.assertLessEqual(max(map(len, result.split("\n"))), 70)

    def test_float_lies_bottom_up(self):
        for kind, channels in ((b"Pf", 1), (b"PF", 3)):
            rows = [[struct.pack(f"<{channels}f", *(x + 10 * y + c / 4 for c in range(channels))) for x in range(4)]
                    for y in range(3)]
            file = lambda r: kind + b"\n%d %d\n-1.0\n" % (len(r[0]), len(r)) + b"".join(b"".join(row) for row in r[::-1])
            for name, arguments in ARGUMENTS.items():
                self.write("in.pfm", file(rows))
                self.succeeds(*arguments, "--overwrite", "-o", "out.pfm", "in.pfm")
                self.assertEqual(self.read("out.pfm"), file(turn(rows, name)), name)
                self.succeeds(*arguments, "--in-place", "in.pfm")
                self.assertEqual(self.read("in.pfm"), self.read("out.pfm"))

    def test_a_comment_behind_the_last_number(self):
        """It ends with its line, and so does the header."""
        self.write("in.pgm", b"P5 2 2 255#odd\nABC\n")
        self.succeeds("--flip", "horizontal", "-o", "out.pgm", "in.pgm")
        self.assertEqual(self.read("out.pgm")[-4:], b"BA\nC")

    def test_bad_files(self):
        good = b"P5\n4 3\n255\n" + bytes(12)
        for data, says in ((good[:-1], "cut short"), (good + good, "split"), (b"P5\n4 3\n", "header"), (b"P5\n0 3\n255\n", "header"),
                           (b"P5\n4 -3\n255\n" + bytes(12), "header"), (b"P5\n4 3\n70000\n" + bytes(24), "header"),
                           (b"P6\n99999999999999999999 3\n255\n", "header"), (b"P2\n2 1\n9\n1 ", "cut short"),
                           (b"P6\n2000000000 2000000000\n65535\n123", "cut short"),
                           (b"P2\n2 1\n9\n1 10", "damaged"), (b"P2\n2 1\n9\n1 x", "damaged"), (b"P1\n2 1\n12", "damaged"),
                           (b"P2\n2 1\n9\n1 2 3", "split"), (b"P7\nWIDTH 2\nENDHDR\n..", "header")):
            self.write("in.pgm", data)
            self.fails(1, "--rotate", "90", "-o", "out.pgm", "in.pgm", says=("in.pgm: ", says))
            self.fails(1, "--rotate", "90", "--in-place", "in.pgm", says=("in.pgm: ", says))
            self.assertEqual(self.read("in.pgm"), data)
            self.assertEqual(self.files(), ["in.pgm"])
        self.write("in.pgm", good)
        self.fails(1, "-o", "out.png", "in.pgm", says=("PNM", "not converted"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
