# SPDX-License-Identifier: MIT
"""Each picture turned exactly once, and never lost: by kills at any moment, and by any call that fails.

usage: test_never_lost.py IMGTRANSPOSE DISTURB_LIBRARY [KILLS]
With KILLS only so many kills are made, at random moments (20 without).
"""
import errno
import multiprocessing.pool
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import command
import pngs
from command import COMMAND

DISTURB = os.path.abspath(sys.argv[2])
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
TURN = ("--rotate", "90")


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


class Calls(command.CommandTest):
    """A single file, and each system call of its run in turn. In a folder of its own for each."""

    def setUp(self):
        super().setUp()
        self.original = picture(1)
        self.write("a.png", self.original)
        self.succeeds(*TURN, "-o", "turned.png", "a.png")
        self.turned = self.read("turned.png")

    def disturbed(self, folder, arguments, kind, at, how, on=False):
        environment = {**os.environ, "LD_PRELOAD": DISTURB, "DISTURB_CALL": kind, "DISTURB_AT": str(at),
                       "DISTURB_HOW": str(how), "DISTURB_COUNT": os.path.join(self.folder, "count")}
        if on:
            environment["DISTURB_ON"] = "1"
        if at:
            del environment["DISTURB_COUNT"]
        return subprocess.run([COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, timeout=120)

    def count(self, arguments, kind):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.fill(folder)
            result = self.disturbed(folder, arguments, kind, 0, 0)
            if result.returncode == 77:
                self.skipTest("no filter of system calls on this machine")
            self.assertEqual(result.returncode, 0, result.stderr)
            return int(self.read("count"))

    def fill(self, folder):
        with open(os.path.join(folder, "a.png"), "wb") as file:
            file.write(self.original)

    def contents(self, folder):
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        found.pop("report", None)
        return found

    def in_place(self, case):
        kind, at, how, on = case
        folder = tempfile.mkdtemp(dir=self.folder)
        self.fill(folder)
        arguments = (*TURN, "--in-place", "-p", "--backup", ".orig", "--resume", "report", "a.png")
        result = self.disturbed(folder, arguments, kind, at, how, on)
        found = self.contents(folder)
        picture = found.pop("a.png")
        told = (case, result.returncode, result.stderr)
        killed = how == "kill"
        self.assertIn(picture, (self.original, self.turned), told)
        if result.returncode == 0:
            self.assertEqual(picture, self.turned, told)
        elif killed:
            self.assertEqual(result.returncode, -signal.SIGKILL, told)
        else:
            self.assertIn(result.returncode, (1, 2), told)
            self.assertTrue(result.stderr or on, told)  # the message is written, too
        if picture == self.turned:
            self.assertIn(".orig", "".join(found), told)
        self.assertEqual(found.pop("a.png.orig", self.original), self.original, told)
        if not killed and kind != "unlink":
            self.assertEqual(found, {}, told)
        # The next run finds out what became of it, and clears up.
        result = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0, (told, result.stderr))
        self.assertEqual(self.contents(folder), {"a.png": self.turned, "a.png.orig": self.original}, told)
        shutil.rmtree(folder)

    def into_a_folder(self, case):
        kind, at, how, on = case
        folder = tempfile.mkdtemp(dir=self.folder)
        self.fill(folder)
        result = self.disturbed(folder, (*TURN, "-o", "b.png", "--report", "report", "a.png"), kind, at, how, on)
        found = self.contents(folder)
        told = (case, result.returncode, result.stderr)
        self.assertEqual(found.pop("a.png"), self.original, told)
        output = found.pop("b.png", None)
        self.assertIn(output, (None, self.turned), told)
        if result.returncode == 0:
            self.assertEqual(output, self.turned, told)
        elif how != "kill":
            self.assertIn(result.returncode, (1, 2), told)
            self.assertTrue(result.stderr or on, told)
            if kind != "unlink":
                self.assertEqual(found, {}, told)
        shutil.rmtree(folder)

    def each_call(self, check, arguments):
        errors = {kind: [errno.EIO] for kind in ("read", "open", "lseek", "close", "fsync", "rename", "link", "unlink",
                                                 "fchmod", "flock", "utimensat", "write")}
        for kind in ("write", "open", "fsync", "close", "rename", "link"):
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
        with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
            pool.map(check, cases, 8)
        print(f"{len(cases)} calls disturbed", file=sys.stderr)

    def test_in_place(self):
        self.each_call(self.in_place, (*TURN, "--in-place", "-p", "--backup", ".orig", "--resume", "report", "a.png"))

    def test_into_a_folder(self):
        self.each_call(self.into_a_folder, (*TURN, "-o", "b.png", "--report", "report", "a.png"))


if __name__ == "__main__":
    only = ["Kills"] if len(sys.argv) > 3 else []
    unittest.main(argv=[sys.argv[0], *only])
