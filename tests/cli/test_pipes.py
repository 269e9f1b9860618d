# SPDX-License-Identifier: MIT
"""Inputs that cannot seek: what comes from a pipe is turned as from a file.

usage: test_pipes.py IMGTRANSPOSE
"""
import fcntl
import os
import random
import signal
import struct
import sys
import termios
import threading
import time
import unittest

import pngs
from command import ARGUMENTS, CommandTest, turn

WIDTH, HEIGHT = 301, 203


def rows(seed=1):
    numbers = random.Random(seed)
    return [[numbers.randbytes(3) for _ in range(WIDTH)] for _ in range(HEIGHT)]


def raw(pixels):
    return b"".join(b"".join(row) for row in pixels)


def ppm(pixels):
    return b"P6\n%d %d\n255\n" % (len(pixels[0]), len(pixels)) + raw(pixels)


def unread(pipe):
    """Bytes that lie in it."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


class Pipes(CommandTest):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("temporary"))
        os.environ["TMPDIR"] = self.path("temporary")

    def feed(self, data, parts=1, pause=0.0):
        """Writes it into the pipe, in so many parts."""
        def write():
            try:
                with open(self.path("pipe"), "wb", buffering=0) as pipe:
                    size = len(data) // parts + 1
                    for i in range(parts):
                        part = data[i * size:(i + 1) * size]
                        while part:
                            part = part[pipe.write(part):]
                        time.sleep(pause)
            except BrokenPipeError:
                pass  # the reader had enough
        self.writer = threading.Thread(target=write)
        self.writer.start()
        self.addCleanup(self.end_feed)

    def end_feed(self):
        """Nobody reads any more: a writer that still waits for a reader gets one, which is gone at once."""
        while self.writer.is_alive():
            os.close(os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK))
            self.writer.join(0.01)

    def turned(self, data, *arguments, **how):
        self.feed(data, **how)
        self.succeeds("--overwrite", "-o", "out", *arguments, "pipe")
        self.end_feed()
        self.assertEqual(os.listdir(self.path("temporary")), [])
        return self.read("out")

    def refused(self, data, *arguments, says):
        self.feed(data)
        self.fails(1, "-o", "bad", *arguments, "pipe", says=("pipe: ",) + says)
        self.end_feed()
        self.assertEqual(os.listdir(self.path("temporary")), [])
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_netpbm_in_order(self):
        os.environ["TMPDIR"] = self.path("missing")  # is not asked for
        picture = rows()
        for name, arguments in ARGUMENTS.items():
            if name != "none":
                self.feed(ppm(picture))
                self.succeeds("--overwrite", "-o", "out", *arguments, "pipe")
                self.end_feed()
                self.assertEqual(self.read("out"), ppm(turn(picture, name)), name)

    def test_slowly_and_through_little_memory(self):
        picture = rows(2)
        for limit in ("20K", "1G"):
            out = self.turned(ppm(picture), "--rotate", "90", "--memory-limit", limit, parts=40, pause=0.005)
            self.assertEqual(out, ppm(turn(picture, "rot90")))

    def test_raw(self):
        picture = rows(3)
        size = f"{WIDTH}x{HEIGHT}x3"
        self.assertEqual(self.turned(raw(picture), "--raw", size, "--rotate", "270"), raw(turn(picture, "rot270")))
        self.refused(raw(picture)[:-1], "--raw", size, "--rotate", "270", says=("cut short",))
        self.refused(raw(picture) + b"1", "--raw", size, "--rotate", "270", says=("holds more",))

    def test_floats_which_lie_bottom_up(self):
        file = lambda numbers: b"Pf\n%d %d\n-1\n" % (len(numbers[0]), len(numbers)) + raw(numbers[::-1])
        numbers = [[bytes([x, y, 0, 64]) for x in range(5)] for y in range(3)]
        for name, arguments in ARGUMENTS.items():
            self.assertEqual(self.turned(file(numbers), *arguments), file(turn(numbers, name)), name)

    def test_text(self):
        self.assertEqual(self.turned(b"P2\n3 2\n9\n1 2 3\n4 5 6\n", "--transpose"), b"P2\n2 3\n9\n1 4\n2 5\n3 6\n")

    def test_other_formats(self):
        """As the same bytes in a file."""
        self.write("in.png", pngs.png(WIDTH, HEIGHT, 8, 2))
        self.succeeds("--rotate", "90", "-o", "want.png", "in.png")
        self.assertEqual(self.turned(self.read("in.png"), "--rotate", "90", parts=3, pause=0.05), self.read("want.png"))

    def test_what_needs_no_turn_is_copied(self):
        for data in (pngs.png(5, 3), ppm(rows())):
            self.assertEqual(self.turned(data, "--auto-orient"), data)

    def test_bad_ones(self):
        good = ppm(rows())
        self.refused(good[:-1], "--rotate", "90", says=("cut short",))
        self.refused(good + good, "--rotate", "90", says=("split",))
        self.refused(b"", "--rotate", "90", says=("is empty",))
        self.refused(b"no picture", "--rotate", "90", says=("no image",))
        self.refused(pngs.png(50, 30)[:-20], "--rotate", "90", says=("restore it",))

    def test_no_folder_for_temporary_files(self):
        os.environ["TMPDIR"] = self.path("missing")
        self.feed(pngs.png(5, 3))
        self.fails(1, "--rotate", "90", "-o", "out", "pipe", says=("pipe: ", self.path("missing"), "TMPDIR"))

    def test_not_in_place(self):
        self.fails(1, "--rotate", "90", "--in-place", "pipe", says=("pipe: ", "is a pipe"))

    def test_interrupted_while_nobody_writes(self):
        for limit in ("20K", "1G"):
            for begun in (b"", ppm(rows())[:99999]):
                run = self.launch("--memory-limit", limit, "--rotate", "90", "-o", "out", "pipe")
                with open(self.writing_end(run, "pipe"), "wb", buffering=0) as pipe:
                    pipe.write(begun)
                    self.until(run, lambda: not unread(pipe))
                    run.send_signal(signal.SIGINT)
                    message = run.communicate(timeout=120)[1]
                self.assertEqual((run.returncode, message.count(b"\n")), (130, 1), message)
                self.assertEqual(self.files(), ["pipe", "temporary"])
                self.assertEqual(os.listdir(self.path("temporary")), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
