# SPDX-License-Identifier: MIT
"""Symbolic links and other names put in the way, before a run and in the middle of it: what they lead to is never written.

A pipe among the inputs holds a run up between its plan and its files.

usage: test_links.py IMGTRANSPOSE
"""
import os
import shutil
import socket
import subprocess
import sys
import unittest

from bounded import COMMAND, HostileTest

SOURCE, TURNED = b"P5\n2 1\n255\nab", b"P5\n1 2\n255\nab"
VICTIM = b"what must not be touched"
TURN = ("--rotate", "90", "-j", "1")


class Links(HostileTest):
    def setUp(self):
        super().setUp()
        self.write("in.pgm", SOURCE)
        os.mkdir(self.path("out"))
        os.mkdir(self.path("elsewhere"))
        self.write("elsewhere/victim", VICTIM)

    def tearDown(self):
        self.assertEqual(self.read("elsewhere/victim"), VICTIM)
        self.left_alone("links")
        super().tearDown()

    def link(self, target, name):
        os.symlink(target, self.path(name))

    def meanwhile(self, change, *arguments):
        """A run whose plan is made before the change, and whose files are opened after it. `pipe` is its first input."""
        os.mkfifo(self.path("pipe"))
        run = self.launch(*TURN, *arguments)
        with open(self.writing_end(run, "pipe"), "wb", buffering=0) as pipe:
            change()
            pipe.write(SOURCE)
        text = run.communicate(timeout=120)[1].decode()
        os.remove(self.path("pipe"))
        return run.returncode, text

    def test_outputs_that_are_links(self):
        for target in ("../elsewhere/victim", "../elsewhere/nothing", "in.pgm", "/dev/null", "../elsewhere"):
            self.link(target, "out/in.pgm")
            self.fails(1, *TURN, "-d", "out", "in.pgm", says=("in.pgm: out/in.pgm exists",))
            self.assertTrue(os.path.islink(self.path("out/in.pgm")))
            if target != "in.pgm":  # which is a loop
                self.succeeds(*TURN, "--skip-existing", "-d", "out", "in.pgm")
            self.succeeds(*TURN, "--overwrite", "-d", "out", "in.pgm")
            self.assertFalse(os.path.islink(self.path("out/in.pgm")))
            self.assertEqual(self.read("out/in.pgm"), TURNED)
            os.remove(self.path("out/in.pgm"))
        self.assertEqual(os.listdir(self.path("elsewhere")), ["victim"])

    def test_an_output_that_becomes_a_link(self):
        for target in ("../elsewhere/victim", "../elsewhere/nothing"):
            for overwrite in ([], ["--overwrite"]):
                status, text = self.meanwhile(lambda: self.link(target, "out/pipe"), "-d", "out", *overwrite, "pipe")
                self.assertEqual(status, 0 if overwrite else 1, text)
                self.assertEqual(text.count("\n"), status, text)
                self.assertEqual(os.path.islink(self.path("out/pipe")), not overwrite)
                if overwrite:
                    self.assertEqual(self.read("out/pipe"), TURNED)
                os.remove(self.path("out/pipe"))
        self.assertEqual(os.listdir(self.path("elsewhere")), ["victim"])

    def test_an_output_that_becomes_something_else(self):
        def listen():
            server = socket.socket(socket.AF_UNIX)
            server.bind(self.path("out/pipe"))
            server.close()
        for make in (lambda: os.mkdir(self.path("out/pipe")), lambda: os.mkfifo(self.path("out/pipe")), listen):
            status, text = self.meanwhile(make, "-d", "out", "--overwrite", "pipe")
            self.assertEqual((status, text.count("\n")), (1, 1), text)
            self.assertIn("pipe: out/pipe is not a regular file", text)
            self.assertTrue(os.path.exists(self.path("out/pipe")))
            shutil.rmtree(self.path("out"))
            os.mkdir(self.path("out"))

    def test_the_folder_of_outputs_is_a_link(self):
        """Which the user may want; the files in it are as safe as in any other."""
        self.link("elsewhere", "door")
        self.link("victim", "elsewhere/in.pgm")
        self.fails(1, *TURN, "-d", "door", "in.pgm", says=("door/in.pgm exists",))
        self.succeeds(*TURN, "--overwrite", "-d", "door", "in.pgm")
        self.assertEqual(self.read("elsewhere/in.pgm"), TURNED)
        self.link("nowhere", "dangling")
        self.fails(1, *TURN, "-d", "dangling", "in.pgm", says=("in.pgm: cannot create the folder dangling",))
        self.link("loop", "loop")
        self.fails(1, *TURN, "-d", "loop", "in.pgm", says=("in.pgm: cannot create the folder loop",))

    def test_the_folder_of_outputs_becomes_another(self):
        def swap():
            os.rmdir(self.path("out"))
            self.link("elsewhere", "out")
            self.link("victim", "elsewhere/pipe")
        status, text = self.meanwhile(swap, "-d", "out", "pipe")
        self.assertEqual((status, text.count("\n")), (1, 1), text)
        self.assertIn("out/pipe exists", text)
        os.remove(self.path("out"))
        os.mkdir(self.path("out"))
        def close():
            os.rmdir(self.path("out"))
            self.write("out", b"a file now")
        status, text = self.meanwhile(close, "-d", "out", "pipe")
        self.assertEqual((status, text.count("\n")), (1, 1), text)
        self.assertEqual(self.read("out"), b"a file now")

    def test_a_tree_with_ways_out(self):
        os.makedirs(self.path("tree/sub"))
        self.write("tree/sub/a.pgm", SOURCE)
        self.write("elsewhere/secret.pgm", SOURCE)
        self.link("../../elsewhere/secret.pgm", "tree/sub/b.pgm")
        self.link("../elsewhere", "tree/away")
        self.link("..", "tree/sub/up")
        self.link("loop", "tree/loop")
        self.succeeds(*TURN, "-r", "tree", "-d", "out")
        self.assertEqual([os.path.join(at, name) for at, _, names in os.walk(self.path("out")) for name in names], [self.path("out/sub/a.pgm")])
        self.succeeds(*TURN, "--in-place", "-r", "tree")
        self.assertEqual((self.read("tree/sub/a.pgm"), self.read("elsewhere/secret.pgm")), (TURNED, SOURCE))

    def test_a_file_of_a_tree_that_becomes_a_link(self):
        self.write("elsewhere/secret.pgm", SOURCE)
        os.mkdir(self.path("tree"))
        def swap():
            os.remove(self.path("tree/a.pgm"))
            self.link("../elsewhere/secret.pgm", "tree/a.pgm")
        self.write("tree/a.pgm", SOURCE)
        status, text = self.meanwhile(swap, "-d", "out", "pipe", "-r", "tree")
        self.assertEqual(status, 1, text)
        self.assertIn("tree/a.pgm: has become a symbolic link", text)
        self.assertFalse(os.path.exists(self.path("out/a.pgm")))

    def test_an_original_behind_links(self):
        self.write("elsewhere/other.pgm", SOURCE)
        self.link("elsewhere/other.pgm", "first")
        self.link("first", "second.pgm")
        self.succeeds(*TURN, "--in-place", "--backup", ".orig", "second.pgm")
        self.assertEqual((self.read("elsewhere/other.pgm"), self.read("elsewhere/other.pgm.orig")), (TURNED, SOURCE))
        self.assertTrue(os.path.islink(self.path("second.pgm")) and os.path.islink(self.path("first")))
        for target in ("nothing", "loop"):
            self.link(target, "loop")
            self.fails(1, *TURN, "--in-place", "loop", says=("loop: ",))
            os.remove(self.path("loop"))

    def test_a_backup_that_is_a_link(self):
        for target in ("elsewhere/victim", "elsewhere/nothing"):
            self.link(target, "in.pgm.orig")
            self.fails(1, *TURN, "--in-place", "--backup", ".orig", "in.pgm", says=("in.pgm: has a backup in.pgm.orig",))
            self.assertEqual(self.read("in.pgm"), SOURCE)
            os.remove(self.path("in.pgm.orig"))
        self.assertEqual(os.listdir(self.path("elsewhere")), ["victim"])

    def test_a_report_that_is_a_link(self):
        for name in ("--report", "--resume"):
            self.link("elsewhere/victim", "report")
            self.assertEqual(self.run_command(*TURN, name, "report", "-d", "out", "--overwrite", "in.pgm").returncode, 2)
            os.remove(self.path("report"))

    def test_names_of_temporary_files(self):
        """A dead run's are removed; links that are named so are not, nor what they lead to."""
        self.succeeds(*TURN, "-d", "out", "in.pgm")
        machine = None
        trace = shutil.which("strace") and subprocess.run(["strace", "-f", "-e", "trace=openat", "-o", self.path("trace"), COMMAND, *TURN, "--overwrite", "-d", "out", "in.pgm"],
                                                          cwd=self.folder, capture_output=True)
        if not trace or trace.returncode:
            self.skipTest("strace is absent or may not trace")
        for line in self.read("trace").decode().splitlines():
            if "/.imgtranspose-" in line:
                self.assertIn("O_EXCL", line)
                machine = line.split("/.imgtranspose-")[1][:8]
        self.assertTrue(machine)
        for name in (machine, "00000000"):
            for target in ("../elsewhere/victim", "../elsewhere", "nothing", "/dev/zero"):
                self.link(target, f"out/.imgtranspose-{name}-abcdef")
                self.succeeds(*TURN, "--overwrite", "-d", "out", "in.pgm")
                self.assertTrue(os.path.islink(self.path(f"out/.imgtranspose-{name}-abcdef")))
                os.remove(self.path(f"out/.imgtranspose-{name}-abcdef"))
            for make in (os.mkdir, os.mkfifo):
                make(self.path(f"out/.imgtranspose-{name}-abcdef"))
                self.succeeds(*TURN, "--overwrite", "-d", "out", "in.pgm")
                (os.rmdir if make == os.mkdir else os.remove)(self.path(f"out/.imgtranspose-{name}-abcdef"))

    def test_a_folder_for_temporary_files_that_is_a_trap(self):
        self.link("/nowhere", "scratch")
        run = self.run_command(*TURN, "--memory-limit", "1K", "-d", "out", "in.pgm", env={**os.environ, "TMPDIR": self.path("scratch")})
        self.assertIn(run.returncode, (0, 1))
        self.assertEqual(run.stderr.count(b"\n"), run.returncode)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
