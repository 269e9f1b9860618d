# SPDX-License-Identifier: MIT
"""The line that shows how far a run is: where it appears, that it fits, and what is left of it.

usage: test_progress.py IMGTRANSPOSE
"""
import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import unicodedata
import unittest

import command
from command import COMMAND

CLEAR = "\r\x1b[K"


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Progress(command.CommandTest):
    names = ["漢字" * 30 + ".pgm", "e\u0301" * 60 + ".pgm", "plain.pgm"]
    endings = ["字.pgm", "e\u0301.pgm", "  plain.pgm"]

    def setUp(self):
        super().setUp()
        for name in self.names:  # pipes: each is in hand for as long as it takes to see it
            os.mkfifo(self.path(name))
        self.write("bad.png", b"text" * 1000)
        self.write("good.pgm", b"P5 300 200 255\n" + bytes(60000))
        os.mkdir(self.path("out"))
        self.arguments = ["--rotate", "90", "-j", "1", "--overwrite", "-d", "out", "good.pgm", *self.names, "bad.png"]

    def feed(self, wait):
        for number, name in enumerate(self.names):
            with open(self.path(name), "wb") as pipe:
                pipe.write(b"P5 300 200 255\n" + bytes(30000))
                pipe.flush()
                wait(number)
                pipe.write(bytes(30000))

    def feeder(self, wait):
        thread = threading.Thread(target=self.feed, args=(wait,), daemon=True)
        thread.start()
        return thread

    def on_terminal(self, width, *options, **variables):
        """What a terminal of this width gets."""
        ours, theirs = self.terminal()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        return self.told(ours, theirs, width, *options, **{"TERM": "xterm", **variables})

    def told(self, ours, theirs, width, *options, **variables):
        """What comes out at one end of what a run has at the other; each pipe goes on once the line tells of it."""
        got, changed = bytearray(), threading.Condition()

        def tells(number):
            lines = got.decode(errors="replace").split(CLEAR)
            return any(f"{number + 1}/5 files" in line and (width <= 100 or line.endswith(self.endings[number]))
                       for line in lines)

        def wait(number):  # a line that never comes is missed by what is looked at afterwards
            with changed:
                changed.wait_for(lambda: "always" not in options or tells(number), timeout=60)

        feeder = self.feeder(wait)
        run = subprocess.Popen([COMMAND, *options, *self.arguments], cwd=self.folder, stderr=theirs, stdout=subprocess.PIPE,
                               env={**os.environ, **variables})
        os.close(theirs)
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the last one has closed it
                break
            if not data:
                break
            with changed:
                got += data
                changed.notify()
        os.close(ours)
        with run.stdout:
            self.assertEqual((run.wait(), run.stdout.read()), (1, b""), got)
        feeder.join()
        return got.decode().replace("\r\n", "\n")

    def screen(self, text):
        """What remains, and all that was shown on the last line."""
        lines, shown = [""], []
        for part in re.split(r"(\r\x1b\[K|\n)", text):
            if part == "\n":
                lines.append("")
            elif part == CLEAR:
                lines[-1] = ""
            else:
                lines[-1] += part
                if part and not part.startswith("imgtranspose: "):
                    shown.append(lines[-1])
        return lines, shown

    def check_rest(self, lines):
        self.assertEqual(len(lines), 3, lines)
        self.assertRegex(lines[0], r"\Aimgtranspose: bad.png: is no image")
        self.assertRegex(lines[1], r"\Aimgtranspose: 5 files, .* 4 turned, 1 failed\Z")
        self.assertEqual(lines[2], "")

    def test_it_fits_and_goes(self):
        for width in (20, 40, 80, 133):
            lines, shown = self.screen(self.on_terminal(width, "--progress", "always"))
            self.check_rest(lines)
            for line in shown:
                self.assertLess(columns(line), width, line)
            for number in range(1, 4):
                self.assertTrue([line for line in shown if f"{number}/5 files" in line], (width, shown))
            if width >= 80:
                self.assertTrue([line for line in shown if re.match(r"\[[=> ]+\]  +\d+%  \d/5 files  \d.*/s", line)], shown)
            if width > 100:
                for ending in self.endings:
                    self.assertTrue([line for line in shown if line.endswith(ending)], (ending, shown))

    def test_only_on_a_terminal(self):
        feeder = self.feeder(lambda number: None)
        run = self.run_command(*self.arguments)
        feeder.join()
        self.assertNotIn(b"\r", run.stderr)
        for options, variables in ((["--progress", "never"], {}), (["-q"], {}), ([], {"TERM": "dumb"})):
            self.assertNotIn("\r", self.on_terminal(80, *options, **variables))

    def test_into_a_file_when_asked(self):
        lines, shown = self.screen(self.told(*os.pipe(), 50, "--progress", "always", COLUMNS="50"))
        self.check_rest(lines)
        self.assertTrue(shown)
        for line in shown:
            self.assertLess(columns(line), 50, line)

    def test_words(self):
        self.fails(2, "--progress", "some", *self.arguments, says=("--progress", "always"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
