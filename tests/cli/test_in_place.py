# SPDX-License-Identifier: MIT
"""Originals that are replaced: what is kept of them, journals, what dead runs leave, and stopping.

usage: test_in_place.py IMGTRANSPOSE
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zlib

import command
import pngs
from command import COMMAND

BEFORE = b"P5\n3 2\n255\nabcdef"
AFTER = b"P5\n2 3\n255\ndaebfc"  # rot90
IN_PLACE = ("--rotate", "90", "--in-place")


class InPlaceTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("a.pgm", BEFORE)

    def info(self, name):
        return os.stat(self.path(name))


class Originals(InPlaceTest):
    def test_a_backup_is_the_original_itself(self):
        before = self.info("a.pgm")
        self.succeeds(*IN_PLACE, "--backup", ".orig", "a.pgm")
        self.assertEqual((self.read("a.pgm"), self.read("a.pgm.orig")), (AFTER, BEFORE))
        self.assertEqual(self.info("a.pgm.orig").st_ino, before.st_ino)
        self.assertEqual(self.info("a.pgm.orig").st_mtime_ns, before.st_mtime_ns)
        self.fails(1, *IN_PLACE, "--backup", ".orig", "a.pgm", says=("a.pgm: ", "a.pgm.orig"))
        self.assertEqual((self.read("a.pgm"), self.read("a.pgm.orig")), (AFTER, BEFORE))

    def test_a_backup_behind_a_link(self):
        os.mkdir(self.path("deep"))
        os.rename(self.path("a.pgm"), self.path("deep/a.pgm"))
        os.symlink("deep/a.pgm", self.path("link"))
        self.succeeds(*IN_PLACE, "--backup", "~", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual((self.read("deep/a.pgm"), self.read("deep/a.pgm~")), (AFTER, BEFORE))
        self.assertEqual(self.files(), ["deep", "link"])

    def test_hard_links(self):
        os.link(self.path("a.pgm"), self.path("b.pgm"))
        self.fails(1, *IN_PLACE, "a.pgm", says=("2 names", "--part-links"))
        self.assertEqual(self.info("a.pgm").st_ino, self.info("b.pgm").st_ino)
        self.succeeds(*IN_PLACE, "--part-links", "a.pgm")
        self.assertEqual((self.read("a.pgm"), self.read("b.pgm")), (AFTER, BEFORE))

    def test_times(self):
        moment = (10**18 + 1, 981173105123456789)
        for options in (("--in-place",), ("-o", "b.pgm"), ("-o", "c.pgm", "--sync")):
            self.write("a.pgm", BEFORE)
            os.chmod(self.path("a.pgm"), 0o640)
            os.utime(self.path("a.pgm"), ns=moment)
            self.succeeds("--rotate", "90", *options, "--preserve", "a.pgm")
            info = self.info(options[1] if len(options) > 1 else "a.pgm")
            self.assertEqual((info.st_mtime_ns, info.st_mode & 0o7777), (moment[1], 0o640), options)
            self.assertEqual(info.st_atime_ns, moment[0], options)

    def test_long_attributes(self):
        """As many as the file system takes: some take more than a small buffer holds."""
        names = []
        try:
            for i in range(60):
                name = f"user.{i:03}{'x' * 200}"
                os.setxattr(self.path("a.pgm"), name, name.encode())
                names.append(name)
        except OSError as error:
            if not names:
                self.skipTest(f"no attributes here: {error}")
        self.succeeds(*IN_PLACE, "a.pgm")
        self.succeeds("--rotate", "90", "-p", "-o", "b.pgm", "a.pgm")
        for name in names:
            self.assertEqual(os.getxattr(self.path("a.pgm"), name), name.encode())
            self.assertEqual(os.getxattr(self.path("b.pgm"), name), name.encode())

    def test_options_that_need_in_place(self):
        for option in (["--backup", ".orig"], ["--part-links"], ["--no-verify"]):
            self.fails(2, "-o", "b.pgm", *option, "a.pgm", says=(option[0], "--in-place"))
        for suffix in ("", "x/y"):
            self.fails(2, *IN_PLACE, "--backup", suffix, "a.pgm", says=("--backup",))
        self.assertEqual(self.files(), ["a.pgm"])

    def test_without_verification(self):
        self.succeeds(*IN_PLACE, "--no-verify", "--report", "report", "a.pgm")
        self.assertEqual(self.read("a.pgm"), AFTER)
        self.assertNotIn(b'"verify"', self.read("report"))


class Leftovers(InPlaceTest):
    def name_of_a_temporary(self):
        """As a run makes it, which is killed while it has one."""
        with open(self.path("big.pgm"), "wb") as file:
            file.write(b"P5\n20000 20000\n255\n")
            file.truncate(19 + 20000 * 20000)
        run = self.launch("--rotate", "90", "-o", "out.pgm", "big.pgm")
        found = os.path.basename(self.until(run, self.temporaries)[0])
        run.send_signal(signal.SIGSTOP)
        # It is alive: another run leaves it alone, and reads it neither.
        self.succeeds(*IN_PLACE, "a.pgm")
        self.fails(1, *IN_PLACE, found, says=(found, "temporary"))
        self.assertIn(found, self.files())
        self.put_down(run)
        os.remove(self.path("big.pgm"))
        return found

    def test_the_next_run_removes_them(self):
        name = self.name_of_a_temporary()
        self.assertIn(name, self.files())
        like_it = name[:-1], name + "x", "x" + name, ".imgtranspose-0123456g-abcdef"
        for other in like_it:
            self.write(other, b"mine")
        foreign = f".imgtranspose-{(int(name[14:22], 16) + 1) % 2**32:08x}-abcdef"
        self.write(foreign, b"of another machine")
        self.succeeds("--rotate", "90", "-o", "b.pgm", "a.pgm")
        self.assertEqual(self.files(), sorted(["a.pgm", "b.pgm", foreign, *like_it]))
        os.utime(self.path(foreign), (0, time.time() - 2 * 86400))
        self.succeeds("--rotate", "90", "-o", "c.pgm", "a.pgm")
        self.assertNotIn(foreign, self.files())

    def test_a_link_by_such_a_name_stays(self):
        os.symlink("a.pgm", self.path(".imgtranspose-00000000-abcdef"))
        self.succeeds(*IN_PLACE, "a.pgm")
        self.assertEqual(self.files(), [".imgtranspose-00000000-abcdef", "a.pgm"])


class Journal(InPlaceTest):
    resume = (*IN_PLACE, "--resume", "report")

    def events(self):
        return [json.loads(line) for line in self.read("report").splitlines() if line.endswith(b"}")]

    def last(self):
        return [event for event in self.events() if event.get("event") == "file"][-1]

    def test_done_is_done(self):
        for _ in range(3):
            self.succeeds(*self.resume, "a.pgm")
            self.assertEqual(self.read("a.pgm"), AFTER)
        self.assertEqual([event.get("status") for event in self.events()],
                         [None, "turned", None, "skipped", None, "skipped", None])
        os.utime(self.path("a.pgm"))  # a new date, or another disk
        shutil.copy(self.path("a.pgm"), self.path("b.pgm"))
        os.rename(self.path("b.pgm"), self.path("a.pgm"))
        self.succeeds(*self.resume, "a.pgm")
        self.assertEqual(self.read("a.pgm"), AFTER)

    def test_done_is_done_by_whatever_name(self):
        os.mkdir(self.path("sub"))
        self.write("sub/a.pgm", BEFORE)
        self.succeeds(*IN_PLACE, "--resume", "../report", "a.pgm", cwd=self.path("sub"))
        names = ["sub/a.pgm", "./sub/a.pgm", self.path("sub/a.pgm"), "sub//a.pgm"]
        for arguments in (*([name] for name in names), ["-r", "sub"]):
            self.succeeds(*self.resume, *arguments)
            self.assertEqual((self.read("sub/a.pgm"), self.last()["status"]), (AFTER, "skipped"), arguments)

    def test_an_original_that_was_copied_back(self):
        """Over its turn, which kept its size and its date."""
        self.succeeds(*self.resume, "-p", "a.pgm")
        self.succeeds(*self.resume, "-p", "a.pgm")
        self.assertEqual(self.last()["status"], "skipped")
        before = self.info("a.pgm")
        with open(self.path("a.pgm"), "r+b") as file:
            file.write(BEFORE)
        os.utime(self.path("a.pgm"), ns=(before.st_atime_ns, before.st_mtime_ns))
        self.fails(1, *self.resume, "-p", "a.pgm", says=("a.pgm: ", "neither"))

    def until_the_intent(self, keep):
        """The report of a run that died after it, and the disk with or without the renaming."""
        self.succeeds(*self.resume, "--backup", "~", "a.pgm")
        intent = self.read("report").splitlines(True)[0]
        self.write("report", intent)
        if keep:
            os.rename(self.path("a.pgm~"), self.path("a.pgm"))
        return json.loads(intent)

    def test_an_intent_that_was_carried_out(self):
        intent = self.until_the_intent(False)
        self.assertEqual(intent["inode"], self.info("a.pgm").st_ino)
        self.succeeds(*self.resume, "a.pgm")
        self.assertEqual((self.read("a.pgm"), self.last()["status"]), (AFTER, "skipped"))

    def test_an_intent_that_was_not(self):
        self.until_the_intent(True)
        self.succeeds(*self.resume, "a.pgm")
        self.assertEqual((self.read("a.pgm"), self.last()["status"]), (AFTER, "turned"))

    def test_a_backup_that_a_dead_run_made(self):
        """Its second name, and not yet another file under the first one."""
        self.until_the_intent(True)
        os.link(self.path("a.pgm"), self.path("a.pgm~"))
        self.succeeds(*self.resume, "--backup", "~", "a.pgm")
        self.assertEqual((self.read("a.pgm"), self.read("a.pgm~")), (AFTER, BEFORE))

    def test_what_is_neither_is_left_alone(self):
        for keep in (False, True):
            self.write("a.pgm", BEFORE)
            self.write("report", b"")
            self.until_the_intent(keep)
            other = b"P5\n3 2\n255\nABCDEF"
            self.write("a.pgm", other)
            os.utime(self.path("a.pgm"), ns=(1, 1))
            self.fails(1, *self.resume, "a.pgm", says=("a.pgm: ", "report", "neither"))
            self.assertEqual(self.read("a.pgm"), other)
            if os.path.exists(self.path("a.pgm~")):
                os.remove(self.path("a.pgm~"))

    def test_another_operation_is_refused(self):
        self.succeeds(*self.resume, "a.pgm")
        self.fails(1, "--rotate", "180", "--in-place", "--resume", "report", "a.pgm", says=("rot90", "rot180"))
        self.assertEqual(self.read("a.pgm"), AFTER)

    def test_without_resume_a_report_is_no_reason(self):
        for expected in (AFTER, b"P5\n3 2\n255\nfedcba"):
            self.succeeds(*IN_PLACE, "--report", "report", "a.pgm")
            self.assertEqual(self.read("a.pgm"), expected)

    def test_what_failed_is_done_again(self):
        self.write("b.pgm", b"P5\n3 2\n255\nabc")
        self.fails(1, *self.resume, "a.pgm", "b.pgm", lines=2)
        self.write("b.pgm", BEFORE)
        self.succeeds(*self.resume, "a.pgm", "b.pgm")
        self.assertEqual((self.read("a.pgm"), self.read("b.pgm")), (AFTER, AFTER))

    def test_into_a_folder(self):
        os.mkdir(self.path("out"))
        arguments = ("--rotate", "90", "-d", "out", "--resume", "report", "a.pgm")
        self.succeeds(*arguments)
        self.succeeds(*arguments)
        self.assertEqual(self.last()["status"], "skipped")
        os.remove(self.path("out/a.pgm"))
        self.succeeds(*arguments)
        self.assertEqual(self.read("out/a.pgm"), AFTER)

    def test_halves_and_foreign_lines(self):
        self.succeeds(*self.resume, "a.pgm")
        intent, done = self.read("report").splitlines(True)[:2]
        foreign = b"".join(b'{"event": %s, "output": %s, "inode": %s, "operation": "rot90"}\n' % (value, value, value)
                           for value in (b"3", b"null", b"[]", b"{}", b"1.5", b'"intent"'))
        deep = b'{"event": ' + b"[" * 10 ** 6 + b"\n" + b"{ /* \" */ " + b'{"a": ' * 10 ** 5 + b"\n"
        self.write("report", intent[:60] + b"\n[1]\n7\n\n{}\n" + foreign + deep + intent + done[:40])
        self.succeeds(*self.resume, "a.pgm")
        self.assertEqual(self.read("a.pgm"), AFTER)
        self.assertEqual(self.last()["status"], "skipped")


class Stopping(command.CommandTest):
    def start(self, *arguments):
        """A run with a file in hand that takes a second or so."""
        rows = b"".join(b"\0" + os.urandom(3000) for _ in range(1200))
        self.write("big.png", pngs.png(1000, 1200, stream=zlib.compress(rows, 1)))
        for i in range(20):
            shutil.copy(self.path("big.png"), self.path(f"{i}.png"))
        os.mkdir(self.path("out"))
        run = self.launch("--rotate", "90", "-j", "1", "--png-level", "9", "-d", "out", *arguments, "big.png",
                          *(f"{i}.png" for i in range(20)))
        self.until(run, lambda: os.listdir(self.path("out")))
        return run

    def outputs(self):
        return sorted(os.listdir(self.path("out")))

    def test_once_ends_what_was_begun(self):
        run = self.start()
        run.send_signal(signal.SIGINT)
        message = run.communicate(timeout=120)[1].decode()
        self.assertEqual(run.returncode, 130, message)
        self.assertRegex(message, r"\Aimgtranspose: interrupted: 21 files, .*: \d+ turned, \d+ not done\n\Z")
        self.assertIn("big.png", self.outputs())
        self.assertLess(len(self.outputs()), 21)
        self.assertFalse([name for name in self.outputs() if name.startswith(".")])

    def test_twice_or_terminated_gives_it_up(self):
        for signals in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)):
            if os.path.exists(self.path("out")):
                shutil.rmtree(self.path("out"))
            run = self.start()
            for number in signals:
                run.send_signal(number)
                time.sleep(0.01)
            message = run.communicate(timeout=120)[1].decode()
            self.assertEqual(run.returncode, 128 + signals[0], message)
            self.assertRegex(message, r"\Aimgtranspose: interrupted: 21 files, .*\n\Z")
            self.assertFalse([name for name in self.outputs() if name.startswith(".")])

    def test_fail_fast(self):
        self.write("bad.png", b"text")
        for name in "abc":
            self.write(name + ".png", pngs.png(5, 3))
        os.mkdir(self.path("out"))
        text = self.fails(1, "--rotate", "90", "--fail-fast", "-j", "1", "-d", "out", "a.png", "bad.png", "b.png", "c.png",
                          lines=2, says=("1 turned, 1 failed, 2 not done",))
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a.png"], text)


class FullDisk(command.CommandTest):
    def test_a_small_file_system(self):
        """A real one that fills up: in place, and into it."""
        rows = b"".join(b"\0" + os.urandom(600) for _ in range(300))
        data = pngs.png(200, 300, stream=zlib.compress(rows, 1))
        self.write("a.png", data)
        self.succeeds("--rotate", "90", "-o", "turned.png", "a.png")
        turned = self.read("turned.png")
        script = """mount -t tmpfs -o size=300k none disk && cd disk || exit 77
            cp ../a.png a.png
            "$0" --rotate 90 --in-place a.png; echo $?
            "$0" --rotate 90 -o b.png ../a.png; echo $?
            "$0" --rotate 90 --in-place --report report a.png; echo $?
            ls -A; cat a.png > ../after.png"""
        os.mkdir(self.path("disk"))
        run = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, COMMAND],
                             cwd=self.folder, capture_output=True, text=True)
        if "mount" in run.stderr or "unshare" in run.stderr:
            self.skipTest(f"no file system of one's own: {run.stderr}")
        self.assertEqual(run.stdout.split(), ["1", "1", "1", "a.png", "report"], run.stderr)
        self.assertEqual(run.stderr.count("No space left on device"), 3, run.stderr)
        self.assertEqual(self.read("after.png"), data)
        self.assertNotEqual(data, turned)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
