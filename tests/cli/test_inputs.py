# SPDX-License-Identifier: MIT
"""Which files a run is about, and where their outputs go: folders, lists, shares, plans, streams.

usage: test_inputs.py IMGTRANSPOSE MEDDLE_LIBRARY
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import command
import pngs
from command import COMMAND

TURN = ("--rotate", "90")


def pgm(seed, width=3, height=2):
    """A picture of its own for each seed."""
    return b"P5\n%d %d\n255\n" % (width, height) + hashlib.sha256(repr(seed).encode()).digest()[:width * height]


def rot90(data, width=3, height=2):
    rows = [list(data[-width * height:][y * width:][:width]) for y in range(height)]
    return b"P5\n%d %d\n255\n" % (height, width) + bytes(sum(command.turn(rows, "rot90"), []))


class InputTest(command.CommandTest):
    def make(self, *names, folder="in"):
        for name in names:
            path = os.path.join(os.fsencode(self.folder), os.fsencode(folder), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(pgm(os.fsencode(name)))

    def tree(self, folder="out"):
        """All that is in it but folders, as bytes."""
        root = os.fsencode(self.path(folder))
        return sorted(os.path.relpath(os.path.join(at, name), root)
                      for at, _, names in os.walk(root) for name in names)

    def holds(self, *names, folder="out"):
        """Exactly these, each turned."""
        names = sorted(os.fsencode(name) for name in names)
        self.assertEqual(self.tree(folder), names)
        for name in names:
            with open(os.path.join(os.fsencode(self.path(folder)), name), "rb") as file:
                self.assertEqual(file.read(), rot90(pgm(name)), name)

    def plan(self, *arguments, status=0):
        result = self.run_command("-n", *TURN, *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout.decode().splitlines()


class Folders(InputTest):
    NAMES = ("A.PGM", "b", "c.pgm.bak", ".hidden.pgm", "sub/deep/x.pgm", "sub/x.pgm", "sub/%d [n=-1].pgm", "sub/-x",
             b"sub/\xff\n'\".pgm", "n" * 255, "sub/" + "\N{SNOWMAN}" * 83 + ".pgm")

    def test_the_tree_is_mirrored(self):
        self.make(*self.NAMES)
        for root, out in (("in", "out"), ("in/", "new/er/out"), ("./in//", "third"), (self.path("in"), self.path("last"))):
            self.succeeds(*TURN, "-r", root, "-d", out)
            self.holds(*self.NAMES, folder=out)

    def test_in_place(self):
        self.make(*self.NAMES)
        self.succeeds(*TURN, "--in-place", "-r", "in")
        self.holds(*self.NAMES, folder="in")

    def test_what_runs_left_is_no_input(self):
        """Backups, and temporary files of another machine, which may be at work."""
        self.make("a.pgm", "sub/b.pgm", "c.orig")
        left = "in/.imgtranspose-00000000-abcdef"
        self.write(left, pgm("left"))
        self.succeeds(*TURN, "--in-place", "--backup", ".orig", "-r", "in")
        self.assertEqual(self.tree("in"), [b".imgtranspose-00000000-abcdef", b"a.pgm", b"a.pgm.orig", b"c.orig", b"c.orig.orig",
                                           b"sub/b.pgm", b"sub/b.pgm.orig"])
        self.assertEqual(self.plan("--in-place", "--backup", ".orig", "-r", "in"),
                         [f"rot90       in/{name} -> in/{name}" for name in ("a.pgm", "c.orig", "sub/b.pgm")])
        self.assertEqual(self.read(left), pgm("left"))

    def test_several_roots(self):
        self.make("a.pgm", "sub/b.pgm", folder="one")
        self.make("c.pgm", "sub/d.pgm", folder="two")
        self.make("e.pgm", folder=".")
        self.succeeds(*TURN, "-r", "one", "two", "e.pgm", "-d", "out")
        self.holds("a.pgm", "sub/b.pgm", "c.pgm", "sub/d.pgm", "e.pgm")

    def test_in_order(self):
        self.make("b/a", "b/c", "a", "c", "b.pgm", "B")
        self.assertEqual(self.plan("-r", "in", "-d", "out"),
                         [f"rot90       in/{name} -> out/{name}" for name in ("B", "a", "b/a", "b/c", "b.pgm", "c")])

    def test_a_folder_needs_r(self):
        self.make("a.pgm")
        self.make("b.pgm", folder=".")
        self.fails(1, *TURN, "-d", "out", "in", "b.pgm", lines=2, says=("in: is a folder",))
        self.holds("b.pgm")

    def test_links_are_left_alone(self):
        self.make("sub/a.pgm")
        os.symlink("..", self.path("in/sub/up"))
        os.symlink("a.pgm", self.path("in/sub/link.pgm"))
        os.symlink("nothing", self.path("in/dangling.pgm"))
        os.symlink("in", self.path("door"))
        for root in ("in", "door", "door/"):  # but a root may be one
            self.succeeds(*TURN, "--overwrite", "-r", root, "-d", "out")
            self.holds("sub/a.pgm")
        self.succeeds(*TURN, "--in-place", "-r", "in")
        self.assertEqual(self.read("in/sub/a.pgm"), rot90(pgm(b"sub/a.pgm")))
        self.assertTrue(os.path.islink(self.path("in/sub/link.pgm")))

    def test_its_own_output_is_no_input(self):
        self.make("a.pgm", "sub/b.pgm")
        for out in ("in/out", "in/sub/out", "in/./sub/../out"):
            for _ in range(3):
                self.succeeds(*TURN, "--overwrite", "-r", "in", "-d", out)
            self.holds("a.pgm", "sub/b.pgm", folder=out)
            shutil.rmtree(self.path(out))
        os.mkdir(self.path("in/out"))
        os.symlink("in/out", self.path("alias"))
        for _ in range(3):
            self.succeeds(*TURN, "--overwrite", "-r", "in", "-d", "alias")
        self.holds("a.pgm", "sub/b.pgm", folder="in/out")

    def test_what_is_no_picture_is_ignored(self):
        self.make("a.pgm", "b")
        self.write("in/notes.txt", b"words")
        self.write("in/empty", b"")
        os.mkfifo(self.path("in/pipe"))
        text = self.fails(0, *TURN, "-r", "in", "-d", "out", says=("4 files", "2 turned, 2 ignored as no picture"))
        self.holds("a.pgm", "b")
        self.assertEqual(self.run_command("-q", *TURN, "--overwrite", "-r", "in", "-d", "out").stderr, b"")
        for name, data in (("text.pgm", b"words"), ("empty.PNG", b"")):  # but these say that they are some
            self.write("in/" + name, data)
            text = self.fails(1, *TURN, "--overwrite", "-r", "in", "-d", "out", lines=2, says=(name, "1 failed"))
            os.remove(self.path("in/" + name))
        self.fails(1, *TURN, "-d", "out", "in/notes.txt", says=("notes.txt: is no image",))  # named
        self.assertNotIn("notes.txt:", text)

    def test_bad_files_get_a_line_each(self):
        self.make("a.pgm", "sub/z.pgm")
        bad = {"in/b.pgm": b"P5\n3 2\n255\n12345", "in/sub/c.png": pngs.png(64, 64)[:500], "in/sub/d.png": b"x"}
        for name, data in bad.items():
            self.write(name, data)
        text = self.fails(1, *TURN, "-r", "in", "-d", "out", lines=4, says=("5 files", "2 turned, 3 failed", *bad))
        self.holds("a.pgm", "sub/z.pgm")
        self.assertEqual(sum(line.startswith("imgtranspose: in/") for line in text.splitlines()), 3)

    def test_nothing_found(self):
        os.makedirs(self.path("in/sub"))
        self.fails(3, *TURN, "-r", "in", "-d", "out", says=("no input found",))
        self.write("in/notes.txt", b"words")
        self.fails(3, *TURN, "-r", "in", "-d", "out", says=("no picture was found",))
        self.assertFalse(os.path.exists(self.path("out")))

    def test_patterns(self):
        self.make("a.pgm", "B.PGM", "c.pnm", "thumbs/d.pgm", "sub/thumbs/e.pgm", "sub/f.pgm")
        for patterns, names in ((("--include", "*.pgm"), ("a.pgm", "B.PGM", "thumbs/d.pgm", "sub/thumbs/e.pgm", "sub/f.pgm")),
                                (("--exclude", "thumbs"), ("a.pgm", "B.PGM", "c.pnm", "sub/f.pgm")),
                                (("--include", "*.pgm", "--include", "*.PNM", "--exclude", "THUMBS"),
                                 ("a.pgm", "B.PGM", "c.pnm", "sub/f.pgm")),
                                (("--include", "sub/*"), ("sub/f.pgm", "sub/thumbs/e.pgm")),
                                (("--exclude", "sub/*", "--exclude", "[ab].*"), ("c.pnm", "thumbs/d.pgm"))):
            self.succeeds(*TURN, "-r", "in", "-d", "out", *patterns)
            self.holds(*names)
            shutil.rmtree(self.path("out"))
        self.fails(3, *TURN, "-r", "in", "-d", "out", "--include", "*.jpg", says=("no input found",))
        self.make("x.pgm", "y.pgm", folder=".")
        self.succeeds(*TURN, "--exclude", "x*", "-d", "out", "x.pgm", "y.pgm")  # names are filtered, too
        self.holds("y.pgm")

    def test_a_folder_that_cannot_be_read(self):
        self.make("a.pgm", "closed/b.pgm")
        os.chmod(self.path("in/closed"), 0)
        self.addCleanup(os.chmod, self.path("in/closed"), 0o755)
        os.mkdir(self.path("out"))
        nobody, program = None, COMMAND
        if os.geteuid() == 0:  # root may read everything
            tool = tempfile.mkdtemp(prefix="imgtranspose-test-")
            self.addCleanup(shutil.rmtree, tool)
            os.chmod(tool, 0o755)
            os.chmod(self.folder, 0o755)
            os.chmod(self.path("out"), 0o777)
            nobody, program = (lambda: os.setuid(65534)), shutil.copy(COMMAND, tool)
        self.fails(1, *TURN, "-r", "in", "-d", "out", lines=2, says=("in/closed: ", "permissions"), command=program,
                   preexec_fn=nobody)
        self.holds("a.pgm")


class Lists(InputTest):
    def test_lines(self):
        self.make("a.pgm", "sub/b c.pgm", "sub/d.pgm")
        names = ["in/a.pgm", "./in/sub/../sub/b c.pgm", self.path("in/sub/d.pgm")]
        expected = ("in/a.pgm", "in/sub/b c.pgm", "in/sub/d.pgm")
        for i, text in enumerate(("\n".join(names), "\n".join(names) + "\n", "\r\n".join(names) + "\r\n\r\n",
                                  "\n\n" + "\n\n".join(names))):
            self.write("list", text.encode())
            self.succeeds(*TURN, "--files-from", "list", "-d", f"out{i}")
            self.mirrors(f"out{i}", *expected)
            self.succeeds(*TURN, "--files-from", "-", "-d", f"in{i}", input=text.encode())
            self.mirrors(f"in{i}", *expected)

    def mirrors(self, folder, *names):
        self.assertEqual(self.tree(folder), sorted(map(os.fsencode, names)))
        for name in names:
            self.assertEqual(self.read(f"{folder}/{name}"), rot90(pgm(os.fsencode(name[len("in/"):]))), name)

    def test_names_of_all_kinds(self):
        names = [b"-x", b"a\nb", b"\xff", b"c\r", b"-", b" ", b"n" * 255, b"[1].pgm", b"%s"]
        self.make(*names, folder=".")
        listed = b"\0".join(names)
        for text in (listed, listed + b"\0"):
            self.succeeds(*TURN, "--files-from", "-", "-0", "--overwrite", "-d", "out", input=text)
            self.holds(*names)

    def test_names_outside_keep_their_path(self):
        away = tempfile.mkdtemp(prefix="imgtranspose-test-")
        self.addCleanup(shutil.rmtree, away)
        with open(os.path.join(away, "a.pgm"), "wb") as file:
            file.write(pgm("a"))
        beside = self.folder + "x"  # its name begins like the folder's
        os.mkdir(beside)
        self.addCleanup(shutil.rmtree, beside)
        shutil.copy(os.path.join(away, "a.pgm"), beside)
        lines = f"{away}/a.pgm\n../{os.path.basename(beside)}/a.pgm\n"
        self.succeeds(*TURN, "--files-from", "-", "-d", "out", input=lines.encode())
        self.assertEqual(self.tree(), sorted([os.fsencode(f"{away}/a.pgm"[1:]), os.fsencode(f"{beside}/a.pgm"[1:])]))

    def test_folders_in_lists(self):
        self.make("sub/a.pgm", "b.pgm")
        self.write("list", b"in/sub\nin/b.pgm\n")
        self.succeeds(*TURN, "-r", "--files-from", "list", "-d", "out")
        self.mirrors("out", "in/sub/a.pgm", "in/b.pgm")
        self.fails(1, *TURN, "--overwrite", "--files-from", "list", "-d", "out", lines=2, says=("in/sub: is a folder",))

    def test_lists_and_names(self):
        self.make("a.pgm", folder=".")
        self.make("b.pgm", folder=".")
        self.write("list", b"b.pgm\n")
        self.succeeds(*TURN, "--files-from", "list", "-d", "out", "a.pgm")
        self.holds("a.pgm", "b.pgm")

    def test_bad_lists(self):
        self.make("a.pgm", folder=".")
        self.write("nul", b"a.pgm\0b.pgm\0")
        self.write("none", b"")
        self.write("blank", b"\n\r\n\n")
        self.write("missing", b"a.pgm\nno.pgm\n")
        turn = (*TURN, "-d", "out")
        self.fails(2, *turn, "--files-from", "nul", says=("nul", "-0"))
        self.fails(2, *turn, "--files-from", "nowhere", says=("nowhere",))
        self.fails(2, *turn, "--files-from", self.folder, says=("cannot read the list",))
        self.fails(3, *turn, "--files-from", "none", says=("no input found",))
        self.fails(3, *turn, "--files-from", "blank", says=("no input found",))
        self.fails(2, *turn, "-0", "a.pgm", says=("--files-from",))
        self.fails(2, *TURN, "-o", "x.pgm", "--files-from", "-", "-", says=("standard input",))
        self.assertFalse(os.path.exists(self.path("out")))
        self.fails(1, *turn, "--files-from", "missing", lines=2, says=("no.pgm: does not exist",))
        self.holds("a.pgm")


class Plans(InputTest):
    def refused(self, *arguments, says=()):
        before = {name: self.read(os.fsdecode(name)) for name in self.tree(".")}
        self.fails(2, *TURN, *arguments, says=says)
        self.assertEqual({name: self.read(os.fsdecode(name)) for name in self.tree(".")}, before)

    def test_two_inputs_on_one_output(self):
        self.make("x.pgm", "sub/x.pgm", "sub/y.pgm", folder="one")
        self.make("x.pgm", "sub/z.pgm", folder="two")
        both = "would both become out/x.pgm"
        self.refused("-r", "one", "two", "-d", "out", says=("one/x.pgm and two/x.pgm", both))
        self.refused("-d", "out", "one/x.pgm", "one/sub/x.pgm", says=(both,))
        self.refused("-r", "-d", "out", "one", "two/x.pgm", says=(both,))
        os.mkdir(self.path("out"))
        os.symlink(".", self.path("out/sub"))  # out/sub/y.pgm and out/y.pgm are one place
        self.make("y.pgm", folder="one")
        self.refused("-r", "one", "-d", "out", says=("would both become",))
        os.remove(self.path("out/sub"))
        self.succeeds(*TURN, "-r", "one", "-d", "out")

    def test_names_that_differ_in_capitals(self):
        """They clash where the output folder does not tell them apart."""
        self.make("Sub/x.pgm", "sub/X.pgm", "\N{LATIN SMALL LETTER U WITH DIAERESIS}", "\N{LATIN CAPITAL LETTER U WITH DIAERESIS}")
        blind = {**os.environ, "LD_PRELOAD": command.preloaded(os.path.abspath(sys.argv[2])), "MEDDLE_BLIND": "1"}
        for names in (("-r", "in"), ("-r", "in", "--include", "x*")):
            self.fails(2, *TURN, *names, "-d", "new/out", says=("capitals", "new/out"), env=blind)
        self.succeeds(*TURN, "-r", "in/Sub", "-d", "out", env=blind)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "out"])
        self.succeeds(*TURN, "-r", "in", "-d", "new/out")
        self.assertEqual(len(self.tree("new/out")), 4)

    def test_one_input_twice(self):
        self.make("a.pgm", "sub/b.pgm")
        os.symlink("in", self.path("door"))
        os.symlink("in/a.pgm", self.path("link.pgm"))
        for names in (("in", "in/sub"), ("in", "./in"), ("in", "door"), ("in", "in/sub/b.pgm"),
                      ("in/a.pgm", "in/sub/../a.pgm"), ("in/a.pgm", self.path("in/a.pgm")), ("door/a.pgm", "in/a.pgm")):
            self.refused("-d", "out", "-r", *names, says=("same file", "name it once"))
            self.refused("--in-place", "-r", *names, says=("same file", "name it once"))
        self.refused("--in-place", "-r", "in", "link.pgm", says=("same file",))
        self.refused("--in-place", "link.pgm", "in/a.pgm", says=("same file",))
        self.succeeds(*TURN, "-d", "out", "link.pgm", "in/a.pgm")  # two names, two outputs
        self.assertEqual(self.read("out/link.pgm"), self.read("out/a.pgm"))

    def test_hard_links_in_a_folder(self):
        """Two names that are two outputs elsewhere; in place they fail, and the others are done."""
        self.make("a.pgm", "c.pgm")
        os.link(self.path("in/a.pgm"), self.path("in/b.pgm"))
        self.succeeds(*TURN, "-r", "in", "-d", "out")
        self.assertEqual(self.tree(), [b"a.pgm", b"b.pgm", b"c.pgm"])
        before = self.read("in/a.pgm")
        self.fails(1, *TURN, "-r", "in", "--in-place", lines=3, says=("in/a.pgm", "in/b.pgm", "hard links"))
        self.assertEqual((self.read("in/a.pgm"), self.read("in/c.pgm")), (before, rot90(pgm(b"c.pgm"))))

    def test_outputs_that_are_inputs(self):
        self.make("a.pgm", "sub/a.pgm")
        for folder in ("in", "./in/.", "in/sub/.."):
            self.refused("--overwrite", "-r", "in", "-d", folder, says=("is the input", "--in-place"))
            self.refused("--skip-existing", "-r", "in", "-d", folder, says=("is the input",))
        os.mkdir(self.path("out"))
        os.symlink("../in/a.pgm", self.path("out/a.pgm"))
        self.refused("--overwrite", "-r", "in", "-d", "out", says=("out/a.pgm is the input in/a.pgm",))
        os.remove(self.path("out/a.pgm"))
        os.link(self.path("in/sub/a.pgm"), self.path("out/a.pgm"))  # of another input
        self.refused("--overwrite", "-r", "in", "-d", "out", says=("out/a.pgm is the input in/sub/a.pgm",))

    def test_folders_that_cannot_be(self):
        self.make("a.pgm", "sub/b.pgm")
        self.write("file", b"")
        self.refused("-r", "in", "-d", "file", says=("file is not a folder",))
        self.refused("-r", "in", "-d", "file/out", says=("file is not a folder",))
        os.mkdir(self.path("out"))
        self.write("out/sub", b"")
        self.refused("-r", "in", "-d", "out", says=("out/sub is not a folder",))
        self.refused("-o", "nowhere/a.pgm", "in/a.pgm", says=("nowhere", "create it"))
        self.refused("-r", "-o", "x.pgm", "in", says=("-o takes one input", "2"))

    def test_existing_outputs(self):
        self.make("a.pgm", "sub/b.pgm", "sub/c.pgm")
        self.make("sub/b.pgm", folder="out")
        old = self.read("out/sub/b.pgm")
        self.assertEqual(self.plan("-r", "in", "-d", "out"),
                         ["rot90       in/a.pgm -> out/a.pgm", "refuse      in/sub/b.pgm -> out/sub/b.pgm",
                          "rot90       in/sub/c.pgm -> out/sub/c.pgm"])
        self.assertEqual(self.plan("--skip-existing", "-r", "in", "-d", "out")[1],
                         "skip        in/sub/b.pgm -> out/sub/b.pgm")
        self.assertEqual(self.plan("--overwrite", "-r", "in", "-d", "out")[1],
                         "rot90       in/sub/b.pgm -> out/sub/b.pgm")
        self.assertEqual(self.tree(), [b"sub/b.pgm"])
        self.fails(1, *TURN, "-r", "in", "-d", "out", lines=2, says=("in/sub/b.pgm: out/sub/b.pgm exists",))
        self.assertEqual(self.tree(), [b"a.pgm", b"sub/b.pgm", b"sub/c.pgm"])
        os.remove(self.path("out/a.pgm"))
        self.succeeds(*TURN, "--skip-existing", "-r", "in", "-d", "out")
        self.assertEqual((self.read("out/sub/b.pgm"), len(self.tree())), (old, 3))
        self.succeeds(*TURN, "--overwrite", "-r", "in", "-d", "out")
        self.holds("a.pgm", "sub/b.pgm", "sub/c.pgm")

    def test_usage(self):
        self.make("a.pgm", folder=".")
        for arguments, says in ((("--overwrite", "--skip-existing", "-d", "out"), "contradict"),
                                (("-o", ""), "empty"), (("-d", ""), "empty"),
                                (("--skip-existing", "--in-place"), "--skip-existing"),
                                (("--shard", "0/2", "--in-place"), "--report"),
                                (("--shard", "2/2", "-d", "out"), "2/2"), (("--shard", "/2", "-d", "out"), "/2"),
                                (("--shard", "0/0", "-d", "out"), "0/0"), (("--shard", "1", "-d", "out"), "'1'"),
                                (("--shard", "-1/2", "-d", "out"), "-1/2"), (("--shard", "1/", "-d", "out"), "1/"),
                                (("--shard", "0/2/3", "-d", "out"), "0/2/3"), (("--shard", "", "-d", "out"), "''"),
                                (("--max-pixels", "0", "-d", "out"), "--max-pixels"),
                                (("--max-pixels", "1X", "-d", "out"), "1X"), (("--max-pixels", "", "-d", "out"), "''"),
                                (("--max-pixels", "99999999999999999999", "-d", "out"), "9999"),
                                (("--max-pixels", "99999999999G", "-d", "out"), "9999"),
                                (("--format", "png", "-d", "out"), "-o -"), (("--format", "bogus", "-o", "-"), "bogus")):
            self.refused(*arguments, "a.pgm", says=(says,))
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_plan_can_be_read_by_a_shell(self):
        names = [b"a b", b"a'b", b"a\nb\t", b"\xff\\", b"\\n", b"$x`", "\N{SNOWMAN}\u200b".encode(), b"a -> b", b'"', b"~",
                 b"\x7f'\"'"]
        self.make(*names)
        lines = self.plan("-r", "in", "-d", "out")
        self.assertEqual(len(lines), len(names))
        words = [re.findall(r"""\$'(?:\\.|[^'\\])*'|(?:'[^']*'|\\'|[^\s'])+""", line) for line in lines]
        self.assertEqual({(word[0], word[2], len(word)) for word in words}, {("rot90", "->", 4)})
        shell = "printf '%s\\0' " + " ".join(f"{source} {output}" for _, source, _, output in words)
        read = subprocess.run(["bash", "-c", shell], capture_output=True, check=True).stdout.split(b"\0")[:-1]
        self.assertEqual(read, [folder + name for name in sorted(names) for folder in (b"in/", b"out/")])

    def test_the_plan_names_operations(self):
        self.make("a.pgm", folder=".")
        for arguments, word in ((("--auto-orient",), "auto"), (("--auto-orient", "--stored"), "none"),
                                (("--flip", "vertical"), "flipv")):
            result = self.run_command("-n", *arguments, "--in-place", "a.pgm")
            self.assertEqual(result.stdout.decode(), f"{word:<10}  a.pgm -> a.pgm\n")
        os.symlink("a.pgm", self.path("link"))
        self.assertEqual(self.plan("--in-place", "link"), [f"rot90       link -> {os.path.realpath(self.path('a.pgm'))}"])
        self.assertEqual(self.read("a.pgm"), pgm(b"a.pgm"))


class Limits(InputTest):
    def test_max_pixels(self):
        self.make("a.pgm", folder=".")
        for limit in ("6", "7", "1K", "1m", "1G"):
            self.succeeds(*TURN, "--overwrite", "--max-pixels", limit, "-o", "out.pgm", "a.pgm")
        self.fails(1, *TURN, "--overwrite", "--max-pixels", "5", "-o", "out.pgm", "a.pgm",
                   says=("a.pgm: ", "3 x 2 pixels", "--max-pixels"))
        stream = pngs.SIGNATURE + pngs.header(787402, 787402, 8, 6) + pngs.chunk(b"IDAT", b"x") + pngs.chunk(b"IEND")
        self.write("bomb.png", stream)
        self.fails(1, *TURN, "--max-pixels", "100M", "-d", "out", "bomb.png", "a.pgm", lines=2, says=("bomb.png: ",))
        self.holds("a.pgm")


class Shards(InputTest):
    NAMES = [f"{a}/{b}/{c}.pgm" for a in "ab" for b in range(3) for c in range(10)]

    def shares(self, count, *arguments):
        return [self.plan("-r", "in", "-d", "out", "--shard", f"{i}/{count}", *arguments) for i in range(count)]

    def test_complete_and_disjoint(self):
        self.make(*self.NAMES)
        everything = self.plan("-r", "in", "-d", "out")
        for count in (1, 2, 3, 7):
            shares = self.shares(count)
            self.assertEqual(sorted(sum(shares, [])), sorted(everything))
            for share in shares:
                self.assertTrue(0 < len(share) < 3 * len(self.NAMES) / count, [len(share) for share in shares])

    def test_other_files_change_nothing(self):
        self.make(*self.NAMES)
        before = self.shares(3)
        self.make("new.pgm", *(f"a/new/{i}.pgm" for i in range(10)))
        for old, new in zip(before, self.shares(3)):
            self.assertEqual([line for line in new if "new" not in line], old)

    def test_by_the_path_below_the_root(self):
        self.make(*self.NAMES)
        before = self.shares(3)
        os.rename(self.path("in"), self.path("elsewhere"))
        os.mkdir(self.path("in"))
        os.rename(self.path("elsewhere"), self.path("in/root"))
        for old, i in zip(before, range(3)):
            self.assertEqual([line.replace("in/root/", "in/") for line in
                              self.plan("-r", "in/root", "-d", "out", "--shard", f"{i}/3")], old)

    def test_known_shares(self):
        """By md5 of the path, as any other program can tell."""
        self.make(*self.NAMES)
        for i, share in enumerate(self.shares(5)):
            expected = [name for name in sorted(self.NAMES)
                        if int.from_bytes(hashlib.md5(name.encode()).digest()[:8], "big") % 5 == i]
            self.assertEqual(share, [f"rot90       in/{name} -> out/{name}" for name in expected])

    def test_an_empty_share_is_done(self):
        self.make("a.pgm")
        statuses = [self.run_command(*TURN, "-r", "in", "-d", "out", "--shard", f"{i}/4").returncode for i in range(4)]
        self.assertEqual(statuses, [0] * 4)
        self.holds("a.pgm")
        os.remove(self.path("in/a.pgm"))
        self.fails(3, *TURN, "-r", "in", "-d", "out", "--shard", "0/4")

    def test_clashes_between_shares(self):
        self.make("x.pgm", folder="one")
        self.make("x.pgm", folder="two")
        for i in range(4):
            self.fails(2, *TURN, "-r", "one", "two", "-d", "out", "--shard", f"{i}/4", says=("would both become",))


class Streams(InputTest):
    def setUp(self):
        super().setUp()
        self.make("a.pgm", folder=".")
        os.mkdir(self.path("scratch"))
        self.environment = {**os.environ, "TMPDIR": self.path("scratch")}

    def tearDown(self):
        self.assertEqual(os.listdir(self.path("scratch")), [])
        super().tearDown()

    def pipe(self, *arguments, **options):
        return self.run_command(*arguments, env=self.environment, **options)

    def test_from_and_to(self):
        turned = rot90(pgm(b"a.pgm"))
        with open(self.path("a.pgm"), "rb") as file:
            run = self.pipe(*TURN, "-o", "-", "-", stdin=file)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, turned, b""))
        run = self.pipe(*TURN, "-o", "-", "a.pgm")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, turned, b""))
        with open(self.path("a.pgm"), "rb") as file:
            self.assertEqual(self.pipe(*TURN, "-o", "b.pgm", "-", stdin=file).returncode, 0)
        self.assertEqual(self.read("b.pgm"), turned)
        run = self.pipe("--auto-orient", "-o", "-", "a.pgm")  # copied
        self.assertEqual((run.returncode, run.stdout), (0, pgm(b"a.pgm")))

    def test_names_of_one_dash(self):
        self.make("-", folder=".")
        self.assertEqual(self.pipe(*TURN, "-o", "./-", "--overwrite", "a.pgm").stdout, b"")
        self.assertEqual(self.read("-"), rot90(pgm(b"a.pgm")))
        self.assertEqual(self.pipe("--rotate", "270", "-o", "-", "./-").stdout, pgm(b"a.pgm"))

    def test_all_or_nothing(self):
        self.write("bad.png", pngs.png(300, 300)[:-5000])
        run = self.pipe(*TURN, "-o", "-", "bad.png")
        self.assertEqual((run.returncode, run.stdout, run.stderr.count(b"\n")), (1, b"", 1))
        with open("/dev/full", "wb") as full:
            run = subprocess.run([COMMAND, *TURN, "-o", "-", "a.pgm"], stdout=full, stderr=subprocess.PIPE, cwd=self.folder,
                                 env=self.environment)
        self.assertEqual((run.returncode, run.stderr.count(b"\n")), (1, 1))
        self.assertIn(b"stdout", run.stderr)
        read, write = os.pipe()
        os.close(read)
        run = subprocess.run([COMMAND, *TURN, "-o", "-", "a.pgm"], stdout=write, stderr=subprocess.PIPE, cwd=self.folder,
                             env=self.environment)
        os.close(write)
        self.assertEqual((run.returncode, run.stderr.count(b"\n")), (1, 1))

    def test_never_to_a_terminal(self):
        leader, follower = self.terminal()
        run = subprocess.run([COMMAND, *TURN, "-o", "-", "a.pgm"], stdout=follower, stderr=subprocess.PIPE, cwd=self.folder,
                             env=self.environment)
        os.close(follower)
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"terminal", run.stderr)
        os.set_blocking(leader, False)
        with self.assertRaises(OSError):  # nothing came
            os.read(leader, 1)
        os.close(leader)

    def test_format(self):
        for name in ("pnm", "PGM", "ppm"):
            self.assertEqual(self.pipe(*TURN, "-o", "-", "--format", name, "a.pgm").returncode, 0, name)
        run = self.pipe(*TURN, "-o", "-", "--format", "png", "a.pgm")
        self.assertEqual((run.returncode, run.stdout), (1, b""))
        self.assertIn(b"formats are not converted", run.stderr)

    def test_stdin_has_no_name(self):
        for destination in (("-d", "out"), ("--in-place",)):
            self.fails(2, *TURN, *destination, "-", says=("standard input", "-o"))
        self.fails(2, *TURN, "-o", "-", "--report", "-", "a.pgm", says=("stdout",))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
