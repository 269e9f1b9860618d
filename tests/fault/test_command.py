# SPDX-License-Identifier: MIT
"""Each picture turned exactly once, and never lost: by kills at any moment, by any call that fails, and where memory or
threads are refused.

usage: test_command.py IMGTRANSPOSE DISTURB_LIBRARY DISTURB_MEMORY_LIBRARY|"" [KILLS]
With KILLS only so many kills are made, at random moments (20 without). Of the calls, some are made to fail; each of them
with TT_FAULT=all in the environment.
"""
import errno
import multiprocessing.pool
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import command
import pngs
import tiffs
from command import COMMAND

DISTURB = os.path.abspath(sys.argv[2])
DISTURB_MEMORY = sys.argv[3] and os.path.abspath(sys.argv[3])
KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
ALL = "TT_FAULT" in os.environ
TURN = ("--rotate", "90")
GLIB_GAVE_UP = (-signal.SIGTRAP, -signal.SIGABRT, -signal.SIGSEGV)  # it ends a process that gets no memory

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def picture(seed, width=40, height=30):
    noise = random.Random(seed)
    stream = b"".join(b"\0" + noise.randbytes(width * 3) for _ in range(height))
    return pngs.png(width, height, stream=zlib.compress(stream, 1))


class Kills(command.CommandTest):
    def test_kills_at_random_moments(self):
        """Each followed by --resume, which may be killed as well, until a run gets to its end."""
        names = [f"{i}.png" for i in range(40)]
        originals = {name: picture(name, 200 + 7 * i, 150) for i, name in enumerate(names)}
        for name, data in originals.items():
            self.write(name, data)
        os.mkdir(self.path("turned"))
        started = time.monotonic()
        self.succeeds(*TURN, "-d", "turned", *names)
        lasts = 2 * (time.monotonic() - started)
        turned = {name: self.read(os.path.join("turned", name)) for name in names}
        arguments = (*TURN, "--in-place", "-q", "--resume", "report", "--backup", ".orig")
        killed, moments = 0, random.Random(7 if KILLS == 20 else None)
        while killed < KILLS:
            for name, data in originals.items():
                self.write(name, data)
                if os.path.exists(self.path(name + ".orig")):
                    os.remove(self.path(name + ".orig"))
            if os.path.exists(self.path("report")):
                os.remove(self.path("report"))
            status = None
            while status != 0:
                run = subprocess.Popen([COMMAND, *arguments, *names], cwd=self.folder, stderr=subprocess.PIPE)
                if killed < KILLS and moments.random() < 0.8:
                    time.sleep(moments.uniform(0, lasts))
                    run.kill()
                message = run.communicate(timeout=120)[1]
                status = run.returncode
                self.assertIn(status, (0, -signal.SIGKILL), message)
                killed += status != 0
                for name in names:  # at any moment
                    self.assertIn(self.read(name), (originals[name], turned[name]), name)
            for name in names:
                self.assertEqual(self.read(name), turned[name], name)
                self.assertEqual(self.read(name + ".orig"), originals[name], name)
            self.assertFalse([name for name in self.files() if name.startswith(".")])
        print(f"{killed} kills, {len(names)} files, none lost and none turned twice", file=sys.stderr)


def ppm():
    return b"P6\n48 32\n255\n" + random.Random(2).randbytes(48 * 32 * 3)


def tiff():
    values = random.Random(3).randbytes(40 * 30)
    rows = [[(values[y * 40 + x],) for x in range(40)] for y in range(30)]
    return tiffs.write([tiffs.picture(rows, 8, strip=8, deflate=True)])


def unfiltered(stream, row, pixel):
    """Rows of an inflated PNG, by the five filters of its specification."""
    found, above = [], bytes(row)
    for at in range(0, len(stream), row + 1):
        kind, line = stream[at], bytearray(stream[at + 1:at + 1 + row])
        for i in range(row):
            left, corner = (line[i - pixel], above[i - pixel]) if i >= pixel else (0, 0)
            near = left + above[i] - corner
            paeth = min((abs(near - left), 0, left), (abs(near - above[i]), 1, above[i]), (abs(near - corner), 2, corner))[2]
            line[i] = line[i] + (0, left, above[i], (left + above[i]) // 2, paeth)[kind] & 255
        above = bytes(line)
        found.append(above)
    return found


def jpeg():
    if not shutil.which("cjpeg"):
        raise unittest.SkipTest("no cjpeg here")
    return subprocess.run(["cjpeg", "-quality", "90"], input=ppm(), stdout=subprocess.PIPE, check=True).stdout


def corpus(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fuzz/corpus/picture", name), "rb") as file:
        return file.read()


def vips_image():
    if not shutil.which("vips"):
        raise unittest.SkipTest("no vips here")
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("a.ppm", "a.v")]
        with open(names[0], "wb") as file:
            file.write(ppm())
        subprocess.run(["vips", "copy", *names], check=True)
        with open(names[1], "rb") as file:
            return file.read()


def spread(calls, most):
    """Spread over all of them."""
    most = most if DISTURB_MEMORY else min(most, 100)  # with a sanitizer a run begins ten times as slowly
    return calls if ALL or len(calls) <= most else [calls[i * len(calls) // most] for i in range(most)]


class Calls:
    """A single file, and each call of its run in turn. In a folder of its own for each."""

    part = ""
    by_libvips = False  # and by what that loads, which may end a process without a message, or leak what a refused thread was to do

    def setUp(self):
        super().setUp()
        self.needs(self.part)
        self.name = f"a.{self.suffix}"
        self.original = self.make()
        self.write(self.name, self.original)
        self.succeeds(*TURN, "-o", f"turned.{self.suffix}", self.name)
        self.turned = self.read(f"turned.{self.suffix}")

    def as_turned(self, case, data):
        """What is packed in another way, for want of the memory of a better one, is the same picture."""
        if case[0] == "memory" and data not in (None, self.original) and self.picture_of(data) == self.picture_of(self.turned):
            return self.turned
        return data

    def picture_of(self, data):
        return data

    def disturbed(self, folder, arguments, kind, at, how, on=False):
        library = DISTURB_MEMORY if kind == "memory" else DISTURB
        environment = {**os.environ, "LD_PRELOAD": command.preloaded(library), "DISTURB_CALL": kind, "DISTURB_AT": str(at),
                       "DISTURB_HOW": str(how)}
        if self.by_libvips or kind in ("read", "open", "lseek", "close"):  # a sanitizer's search for leaks makes these calls, and hangs
            environment["ASAN_OPTIONS"] += ":detect_leaks=0"
        if on:
            environment["DISTURB_ON"] = "1"
        if not at:
            environment["DISTURB_COUNT"] = os.path.join(self.folder, "count")
        return subprocess.run([COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, timeout=120)

    def count(self, arguments, kind, names=()):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for name in names or [self.name]:
                self.fill(folder, name)
            result = self.disturbed(folder, arguments, kind, 0, 0)
            if result.returncode == 77:
                self.skipTest("no filter of system calls on this machine")
            self.assertEqual(result.returncode, 0, result.stderr)
            return int(self.read("count"))

    def fill(self, folder, name=None):
        with open(os.path.join(folder, name or self.name), "wb") as file:
            file.write(self.original)

    def contents(self, folder):
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        found.pop("report", None)
        return found

    def ended_well(self, case, result, told):
        """Neither killed, nor by GLib: then it says what is wrong and clears up."""
        kind, _, how, on = case
        if how == "kill" and result.returncode:
            self.assertEqual(result.returncode, -signal.SIGKILL, told)
        elif kind == "memory" and result.returncode in GLIB_GAVE_UP:
            if not on and not self.by_libvips:  # else it has no memory to say so, or is not asked
                self.assertNotEqual(result.returncode, -signal.SIGSEGV, told)
                self.assertRegex(result.stderr, b"there is no memory left to go on|failed to allocate|Cannot allocate memory", told)
        elif result.returncode:
            self.assertIn(result.returncode, (1, 2), told)
            self.assertTrue(result.stderr or on, told)  # the message is written, too
        return how != "kill" and result.returncode not in GLIB_GAVE_UP

    def in_place(self, case):
        kind, at, how, on = case
        folder = tempfile.mkdtemp(dir=self.folder)
        self.fill(folder)
        arguments = self.arguments_in_place()
        result = self.disturbed(folder, arguments, kind, at, how, on)
        found = self.contents(folder)
        written = found.pop(self.name)
        picture = self.as_turned(case, written)
        told = (case, result.returncode, result.stderr)
        self.assertIn(picture, (self.original, self.turned), told)
        if result.returncode == 0:
            self.assertEqual(picture, self.turned, told)
        ended_well = self.ended_well(case, result, told)
        if picture == self.turned:
            self.assertIn(".orig", "".join(found), told)
        self.assertEqual(found.pop(self.name + ".orig", self.original), self.original, told)
        if ended_well and kind != "unlink":
            self.assertEqual(found, {}, told)
        # The next run finds out what became of it, and clears up.
        result = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0, (told, result.stderr))
        turned = written if picture == self.turned else self.turned
        self.assertEqual(self.contents(folder), {self.name: turned, self.name + ".orig": self.original}, told)
        shutil.rmtree(folder)

    def into_a_folder(self, case):
        kind, at, how, on = case
        folder = tempfile.mkdtemp(dir=self.folder)
        self.fill(folder)
        result = self.disturbed(folder, self.arguments_into_a_folder(), kind, at, how, on)
        found = self.contents(folder)
        told = (case, result.returncode, result.stderr)
        self.assertEqual(found.pop(self.name), self.original, told)
        output = self.as_turned(case, found.pop(self.output(), None))
        self.assertIn(output, (None, self.turned), told)
        if result.returncode == 0:
            self.assertEqual(output, self.turned, told)
        if self.ended_well(case, result, told) and result.returncode and kind != "unlink":
            self.assertEqual(found, {}, told)
        shutil.rmtree(folder)

    def arguments_in_place(self):
        return (*TURN, "--in-place", "-p", "--backup", ".orig", "--resume", "report", self.name)

    def output(self):
        return f"b.{self.suffix}"

    def arguments_into_a_folder(self):
        return (*TURN, "-o", self.output(), "--report", "report", self.name)

    def system_calls(self, arguments):
        errors = {kind: [errno.EIO] for kind in ("read", "open", "lseek", "close", "fsync", "rename", "link", "unlink",
                                                 "fchmod", "flock", "utimensat", "write", "stat", "room")}
        for kind in ("write", "open", "fsync", "close", "rename", "link", "room"):
            errors[kind].append(errno.ENOSPC)
        for kind in ("read", "write", "open", "close", "fsync"):
            errors[kind].append(errno.EINTR)
        cases = []
        for kind in errors:
            calls = range(1, self.count(arguments, kind) + 1)
            cases += [(kind, at, how, False) for at in calls for how in (*errors[kind], "kill")]
            if kind in ("read", "write"):
                cases += [(kind, at, "short", on) for at in calls for on in (False, True)]
            if kind == "write":
                cases += [(kind, at, errno.ENOSPC, True) for at in calls]
        return spread(cases, self.most_calls)

    def refusals_of_memory(self, arguments):
        calls = range(1, self.count(arguments, "memory") + 1)
        return [("memory", at, errno.ENOMEM, on) for on in (False, True) for at in spread(calls, 20 if on else 80)]

    def check_each(self, check, cases):
        with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
            pool.map(check, cases, 8)
        print(f"{self.name}: {len(cases)} calls disturbed", file=sys.stderr)

    def test_system_calls_in_place(self):
        self.check_each(self.in_place, self.system_calls(self.arguments_in_place()))

    def test_system_calls_into_a_folder(self):
        self.check_each(self.into_a_folder, self.system_calls(self.arguments_into_a_folder()))

    def test_refused_threads(self):
        """The others do their work. libvips cannot do without its own: then a file stays as it is."""
        def check(case):
            folder = tempfile.mkdtemp(dir=self.folder)
            for name in names:
                self.fill(folder, name)
            result = self.disturbed(folder, arguments, *case)
            self.assertIn(result.returncode, (0, 1) if self.by_libvips else (0,), (case, result.stderr))
            found = self.contents(folder)
            for name in names:
                self.assertIn(found.pop(name), (self.turned, self.original) if result.returncode else (self.turned,), case)
            self.assertEqual(found, {}, case)
            shutil.rmtree(folder)
        names = [f"{i}.{self.suffix}" for i in range(3)]
        arguments = (*TURN, "--in-place", "--report", "report", "-j", "3", "--threads", "3", "--progress", "always", *names)
        calls = self.count(arguments, "thread", names)
        self.assertGreater(calls, 2)
        self.check_each(check, [("thread", at, errno.EAGAIN, on) for at in range(1, calls + 1) for on in (False, True)])

    @unittest.skipUnless(DISTURB_MEMORY, "built with a sanitizer, whose memory cannot be refused")
    def test_refused_memory(self):
        self.check_each(self.in_place, self.refusals_of_memory(self.arguments_in_place()))
        self.check_each(self.into_a_folder, self.refusals_of_memory(self.arguments_into_a_folder()))


class Png(Calls, command.CommandTest):
    suffix, most_calls = "png", 10000

    def make(self):
        return picture(1)

    def picture_of(self, data):
        chunks = pngs.chunks(data)
        row = struct.unpack(">I", chunks[0][1][:4])[0] * 3
        return [(kind, unfiltered(zlib.decompress(body), row, 3) if kind == b"IDAT" else body) for kind, body in chunks]


class Jpeg(Calls, command.CommandTest):
    part, suffix, most_calls, make = "JPEG (libjpeg-turbo", "jpg", 200, staticmethod(jpeg)


class Tiff(Calls, command.CommandTest):
    part, suffix, most_calls, make = "TIFF (libtiff", "tif", 200, staticmethod(tiff)


class Pnm(Calls, command.CommandTest):
    suffix, most_calls, make = "ppm", 200, staticmethod(ppm)


class Gif(Calls, command.CommandTest):
    suffix, most_calls = "gif", 200

    def make(self):
        return corpus("gif-plain-40x30")


class Avif(Calls, command.CommandTest):
    """Turned by its header."""
    part, suffix, most_calls = "AVIF", "avif", 200

    def make(self):
        return corpus("avif-two-30x20")


class Vips(Calls, command.CommandTest):
    part, suffix, most_calls, by_libvips, make = "VIPS", "v", 200, True, staticmethod(vips_image)


if __name__ == "__main__":
    only = ["Kills"] if len(sys.argv) > 4 else []
    unittest.main(argv=[sys.argv[0], *only])
