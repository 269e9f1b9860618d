# SPDX-License-Identifier: MIT
"""The real command, as a user runs it: results, refusals, exit statuses, and what is left in the folder.

usage: test_cli.py IMGTRANSPOSE CHECK_PNG GOLDEN_DIR MEDDLE_LIBRARY
Pixels are judged by check_png, which shares no code with the command.
"""
import contextlib
import glob
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import command
import pngs
from command import ARGUMENTS, COMMAND

CHECK, GOLDEN, MEDDLE = map(os.path.abspath, sys.argv[2:5])
ORIENTATIONS = list(ARGUMENTS)  # numbered from 1 as EXIF does


class CommandTest(command.CommandTest):
    def turned(self, before, after, orientation):
        check = subprocess.run([CHECK, before, after, orientation], capture_output=True)
        self.assertEqual(check.returncode, 0, (before, orientation, check.stdout, check.stderr))


class Results(CommandTest):
    def every_orientation(self, source):
        for name, arguments in ARGUMENTS.items():
            out = self.path("out.png")
            self.succeeds(*arguments, "--stored", "--overwrite", "-o", out, source)
            self.turned(source, out, name)

    def test_golden_cards(self):
        cards = sorted(glob.glob(os.path.join(GOLDEN, "*.png")))
        self.assertGreater(len(cards), 10)
        for card in cards:
            self.every_orientation(card)

    def test_tiny_and_thin(self):
        for width, height in ((1, 1), (1, 33), (33, 1), (2, 16), (3, 4), (31, 33), (65, 63), (1, 4000), (4000, 1)):
            for depth, colour in ((1, 0), (8, 2), (16, 6)):
                self.every_orientation(self.write("in.png", pngs.png(width, height, depth, colour)))

    def test_more_than_a_million_rows(self):
        for width, height in ((1, 1000001), (1000001, 1)):
            stream = zlib.compress((b"\0" + b"\xb7" * ((width + 7) // 8)) * height, 1)
            source = self.write("in.png", pngs.png(width, height, 1, 0, stream=stream))
            self.succeeds("--rotate", "90", "--overwrite", "-o", "out.png", source)
            self.turned(source, self.path("out.png"), "rot90")

    def test_transpose_is_the_default_of_o(self):
        source = self.write("in.png", pngs.png(5, 3))
        self.succeeds("-o", "out.png", source)
        self.turned(source, self.path("out.png"), "transpose")

    def test_operations_compose_from_left_to_right(self):
        source = self.write("in.png", pngs.png(5, 3))
        for arguments, name in ((["--rotate", "90", "--flip", "horizontal"], "transpose"),
                                (["--flip", "horizontal", "--rotate", "90"], "transverse"),
                                (["--rotate", "left", "--rotate", "left"], "rot180"),
                                (["--rotate", "right"], "rot90"), (["--transpose", "--transverse"], "rot180")):
            self.succeeds(*arguments, "--overwrite", "-o", "out.png", source)
            self.turned(source, self.path("out.png"), name)

    def test_names_of_all_kinds(self):
        names = ["-x.png", "a\nb.png", b"\xff.png", "n" * 251 + ".png", "none", "UPPER.PNG", "[1].png"]
        for name in names:
            source = os.path.join(os.fsencode(self.folder), os.fsencode(name))
            with open(source, "wb") as file:
                file.write(pngs.png(5, 3))
            self.succeeds("--rotate", "90", "--in-place", "--", os.fsencode(name))
            with open(source, "rb") as file:
                self.assertEqual(pngs.chunks(file.read())[0][1][:8], struct.pack(">II", 3, 5))
        self.assertEqual(len(self.files()), len(names))

    def test_many_files_into_a_folder(self):
        os.mkdir(self.path("out"))
        sources = [self.write(f"{i}.png", pngs.png(i + 1, 3)) for i in range(5)]
        self.succeeds("--rotate", "270", "-d", "out", *sources)
        for source in sources:
            self.turned(source, os.path.join(self.folder, "out", os.path.basename(source)), "rot270")
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(os.path.basename(s) for s in sources))


class Structure(CommandTest):
    """What a PNG holds beside its pixels."""

    def turn(self, data, *arguments):
        self.write("in.png", data)
        self.succeeds(*arguments, "--overwrite", "-o", "out.png", "in.png")
        return pngs.chunks(self.read("out.png"))

    def test_chunks_are_kept_to_the_byte_and_in_place(self):
        before = [(b"gAMA", struct.pack(">I", 45455)), (b"cICP", b"\x09\x10\0\1"), (b"sBIT", b"\5\6\5"),
                  (b"bKGD", struct.pack(">HHH", 1, 2, 3)), (b"tEXt", b"Creation Time\0long ago"),
                  (b"iTXt", b"Title\0\0\0de\0Titel\0gr\xc3\xbcn"), (b"prVt", b"safe to copy"),
                  (b"tIME", struct.pack(">HBBBBB", 2020, 2, 29, 1, 2, 3))]
        after = [(b"zTXt", b"Comment\0\0" + zlib.compress(b"after the pixels")), (b"tEXt", b"A\0b")]
        data = pngs.png(5, 3, before=b"".join(pngs.chunk(*c) for c in before),
                        after=b"".join(pngs.chunk(*c) for c in after))
        kinds = self.turn(data, "--rotate", "90")
        pixels = [kind for kind, _ in kinds].index(b"IDAT")
        self.assertEqual(kinds[1:pixels], before)
        self.assertEqual(kinds[pixels + 1:-1], after)

    def test_palette_and_transparency(self):
        data = pngs.png(9, 5, 4, 3, before=pngs.chunk(b"tRNS", b"\0\x80\xff") + pngs.chunk(b"hIST", b"\0\1" * 16))
        kinds = dict(self.turn(data, "--rotate", "90"))
        source = dict(pngs.chunks(data))
        for kind in (b"PLTE", b"tRNS", b"hIST"):
            self.assertEqual(kinds[kind], source[kind])

    def test_resolution_is_swapped_by_quarter_turns_only(self):
        for unit in (0, 1):
            sizes = struct.pack(">IIB", 11811, 5906, unit)
            swapped = struct.pack(">IIB", 5906, 11811, unit)
            data = pngs.png(5, 3, before=pngs.chunk(b"pHYs", sizes) + pngs.chunk(b"sCAL", b"\1" + b"1.5\0" + b"22"))
            for name, arguments in ARGUMENTS.items():
                quarter = name in ("transpose", "rot90", "transverse", "rot270")
                kinds = dict(self.turn(data, *arguments))
                self.assertEqual(kinds[b"pHYs"], swapped if quarter else sizes)
                self.assertEqual(kinds[b"sCAL"], b"\1" + (b"22\0" + b"1.5" if quarter else b"1.5\0" + b"22"))
        self.assertNotIn(b"pHYs", dict(self.turn(pngs.png(5, 3), "--rotate", "90")))

    def test_what_a_turn_makes_untrue_is_dropped(self):
        data = pngs.png(5, 3, before=pngs.chunk(b"oFFs", struct.pack(">iiB", 7, 9, 0)) + pngs.chunk(b"prVT", b"unsafe"))
        kinds = dict(self.turn(data, "--rotate", "90"))
        self.assertNotIn(b"oFFs", kinds)
        self.assertNotIn(b"prVT", kinds)

    def test_a_damaged_side_chunk_warns(self):
        self.write("in.png", pngs.png(5, 3, before=pngs.chunk(b"tEXt", b"A\0b", crc=1) + pngs.chunk(b"tEXt", b"C\0d")))
        result = self.run_command("--rotate", "90", "-o", "out.png", "in.png")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assertIn(b"tEXt", result.stderr)
        self.assertEqual([d for k, d in pngs.chunks(self.read("out.png")) if k == b"tEXt"], [b"C\0d"])


def carriers(orientation):
    """Each way in which a PNG states an orientation, as chunks."""
    return {
        "exif big-endian": (pngs.chunk(b"eXIf", pngs.exif(orientation, ">")), b""),
        "exif little-endian": (pngs.chunk(b"eXIf", pngs.exif(orientation, "<")), b""),
        "exif behind the pixels": (b"", pngs.chunk(b"eXIf", pngs.exif(orientation))),
        "raw profile": (pngs.chunk(b"tEXt", b"Raw profile type exif\0" + pngs.raw_profile(orientation)), b""),
        "packed raw profile": (pngs.chunk(b"zTXt", b"Raw profile type exif\0\0"
                                          + zlib.compress(pngs.raw_profile(orientation), 9)), b""),
        "xmp element": (pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + pngs.xmp(orientation, False)), b""),
        "xmp attribute": (pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + pngs.xmp(orientation, True)), b""),
        "packed xmp": (b"", pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0"
                                       + zlib.compress(pngs.xmp(orientation, True), 9))),
    }


class Tags(CommandTest):
    def test_auto_orient_turns_by_every_carrier_once(self):
        for number, name in enumerate(ORIENTATIONS, 1):
            for carrier, (before, after) in carriers(number).items():
                source = self.write("in.png", pngs.png(5, 3, before=before, after=after))
                self.succeeds("--auto-orient", "--overwrite", "-o", "out.png", source)
                self.turned(source, self.path("out.png"), name)
                upright = dict(zip(("before", "after"), carriers(1)[carrier]))
                expected = pngs.chunks(pngs.png(5, 3, **upright))
                self.assertEqual([c for c in pngs.chunks(self.read("out.png")) if c[0] not in (b"IHDR", b"IDAT")],
                                 [c for c in expected if c[0] not in (b"IHDR", b"IDAT")], carrier)
                again = self.read("out.png")
                self.succeeds("--auto-orient", "--in-place", "out.png")
                self.assertEqual(self.read("out.png"), again)

    def test_the_picture_is_turned_as_it_is_seen(self):
        source = self.write("in.png", pngs.png(5, 3, before=carriers(6)["exif big-endian"][0]))
        self.succeeds("--rotate", "90", "-o", "out.png", source)
        self.turned(source, self.path("out.png"), "rot180")
        self.succeeds("--rotate", "left", "-o", "same.png", source)  # undone: only the tag changes
        self.turned(source, self.path("same.png"), "none")
        self.assertEqual(dict(pngs.chunks(self.read("same.png")))[b"eXIf"], pngs.exif(1))

    def test_stored_leaves_the_tag(self):
        source = self.write("in.png", pngs.png(5, 3, before=carriers(6)["exif big-endian"][0]))
        self.succeeds("--rotate", "90", "--stored", "-o", "out.png", source)
        self.turned(source, self.path("out.png"), "rot90")
        self.assertEqual(dict(pngs.chunks(self.read("out.png")))[b"eXIf"], pngs.exif(6))

    def test_exif_speaks_before_xmp_and_both_become_1(self):
        source = self.write("in.png", pngs.png(5, 3, before=carriers(8)["xmp attribute"][0]
                                               + carriers(6)["exif big-endian"][0]))
        self.succeeds("--auto-orient", "-o", "out.png", source)
        self.turned(source, self.path("out.png"), "rot90")
        kinds = dict(pngs.chunks(self.read("out.png")))
        self.assertEqual(kinds[b"eXIf"], pngs.exif(1))
        self.assertIn(b'tiff:Orientation="1"', kinds[b"iTXt"])

    def test_nonsense_tags_are_none(self):
        blocks = [b"", b"MM", pngs.exif(9), pngs.exif(0), pngs.exif(6)[:20], b"MM\0*\xff\xff\xff\xff", b"XX" + pngs.exif(6)]
        for block in blocks:
            data = pngs.png(5, 3, before=pngs.chunk(b"eXIf", block))
            self.write("in.png", data)
            self.succeeds("--auto-orient", "--overwrite", "-o", "out.png", "in.png")
            self.assertEqual(self.read("out.png"), data)


class NothingToDo(CommandTest):
    def test_upright_files_stay_to_the_byte_and_the_date(self):
        for before in (b"", carriers(1)["exif big-endian"][0]):
            data = pngs.png(5, 3, before=before)
            self.write("in.png", data)
            os.utime(self.path("in.png"), ns=(10**18, 10**18 + 789))
            self.succeeds("--auto-orient", "--in-place", "in.png")
            self.assertEqual(self.read("in.png"), data)
            self.assertEqual(os.stat(self.path("in.png")).st_mtime_ns, 10**18 + 789)
            self.succeeds("--auto-orient", "--overwrite", "-o", "out.png", "in.png")
            self.assertEqual(self.read("out.png"), data)


class Refusals(CommandTest):
    def bad_file(self, data, *says):
        """One bad file between two good ones: they are done, it is named, nothing of it appears."""
        for name, content in (("a.png", pngs.png(5, 3)), ("bad.png", data), ("z.png", pngs.png(3, 5))):
            self.write(name, content)
        os.makedirs(self.path("out"))
        text = self.fails(1, "--rotate", "90", "-d", "out", "a.png", "bad.png", "z.png", lines=2,
                          says=("bad.png: ", "3 files", "2 turned, 1 failed", *says))
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a.png", "z.png"], text)
        self.fails(1, "--rotate", "90", "--in-place", "bad.png", says=("bad.png: ", *says))
        self.assertEqual(self.read("bad.png"), data)
        shutil.rmtree(self.path("out"))
        self.assertEqual(self.files(), ["a.png", "bad.png", "z.png"])

    def test_empty(self):
        self.bad_file(b"", "empty")

    def test_text_named_png(self):
        self.bad_file(b"Just a few words.\n", "no image")

    def test_truncated_anywhere(self):
        data = pngs.png(64, 64)
        for size in (8, 20, 33, 60, len(data) * 6 // 10, len(data) - 13):
            self.bad_file(data[:size], "cut short" if size > 8 else "")

    def test_truncated_stream_in_whole_chunks(self):
        stream = zlib.compress(pngs.rows(64, 64))
        self.bad_file(pngs.png(64, 64, stream=stream[:len(stream) // 2]), "damaged")

    def test_damaged_pixels(self):
        data = bytearray(pngs.png(64, 64))
        data[200] ^= 0x55
        self.bad_file(bytes(data), "damaged")

    def test_wrong_checksum_of_the_pixels(self):
        stream = bytearray(zlib.compress(pngs.rows(64, 64)))
        stream[-1] ^= 1
        self.bad_file(pngs.png(64, 64, stream=bytes(stream)), "damaged")

    def test_a_header_that_claims_too_much(self):
        stream = zlib.compress(b"\0" * 64)
        data = pngs.SIGNATURE + pngs.header(787402, 787402, 8, 6) + pngs.chunk(b"IDAT", stream) + pngs.chunk(b"IEND")
        self.bad_file(data, "claims 787402 x 787402 pixels")

    def test_headers_that_are_nonsense(self):
        stream = zlib.compress(pngs.rows(5, 3))
        for width, height, depth, colour in ((0, 3, 8, 2), (5, 0, 8, 2), (5, 3, 3, 2), (5, 3, 8, 5), (1 << 31, 1, 8, 2)):
            self.bad_file(pngs.SIGNATURE + pngs.header(width, height, depth, colour) + pngs.chunk(b"IDAT", stream)
                          + pngs.chunk(b"IEND"), "damaged")
        self.bad_file(pngs.SIGNATURE + pngs.chunk(b"IDAT", stream) + pngs.chunk(b"IEND"), "damaged")
        self.bad_file(pngs.SIGNATURE + pngs.header(5, 3, 8, 3) + pngs.chunk(b"IDAT", stream) + pngs.chunk(b"IEND"),
                      "damaged")  # no palette

    def test_animated(self):
        control = struct.pack(">IIIIIHHBB", 0, 5, 3, 0, 0, 1, 10, 0, 0)
        self.bad_file(pngs.png(5, 3, before=pngs.chunk(b"acTL", struct.pack(">II", 1, 0)) + pngs.chunk(b"fcTL", control)),
                      "animated")

    def test_what_is_no_regular_file(self):
        os.mkdir(self.path("folder"))
        self.fails(1, "-o", "out", "folder", says=("folder: ", "is a folder"))
        self.fails(1, "-o", "out", "/dev/null", says=("/dev/null: ",))
        self.fails(1, "-o", "out", "missing.png", says=("missing.png: ", "does not exist"))

    def test_devices_are_not_outputs(self):
        self.write("in.png", pngs.png(5, 3))
        os.mkfifo(self.path("pipe"))
        kinds = {"pipe": stat.S_ISFIFO}
        with contextlib.suppress(OSError):  # one of the test's own, which root may make
            os.mknod(self.path("null"), 0o666 | stat.S_IFCHR, os.stat("/dev/null").st_rdev)
            kinds["null"] = stat.S_ISCHR
        for name, is_kind in kinds.items():
            self.fails(1, "--overwrite", "-o", name, "in.png", says=("in.png: ", name, "not a regular file"))
            self.assertTrue(is_kind(os.lstat(self.path(name)).st_mode))

    def test_damage_is_not_copied(self):
        stream = zlib.compress(pngs.rows(64, 64))
        self.write("in.png", pngs.png(64, 64, stream=stream[:len(stream) // 2]))
        self.fails(1, "--auto-orient", "-o", "out.png", "in.png", says=("in.png: ", "damaged"))
        self.assertEqual(self.files(), ["in.png"])

    def test_existing_outputs(self):
        self.write("in.png", pngs.png(5, 3))
        self.write("out.png", b"precious")
        self.fails(1, "-o", "out.png", "in.png", says=("out.png exists", "--overwrite"))
        self.assertEqual(self.read("out.png"), b"precious")
        os.symlink("nowhere", self.path("link.png"))
        self.fails(1, "-o", "link.png", "in.png", says=("link.png exists", "--overwrite"))
        self.succeeds("-o", "out.png", "--overwrite", "in.png")

    def test_formats_are_not_converted(self):
        self.write("in.png", pngs.png(5, 3))
        self.fails(1, "-o", "out.jpg", "in.png", says=("in.png: ", "out.jpg"))
        self.assertEqual(self.files(), ["in.png"])

    def test_plans_that_could_cost_a_file(self):
        for folder in ("a", "b", "out"):
            os.mkdir(self.path(folder))
        for name in ("a/i.png", "b/i.png"):
            self.write(name, pngs.png(5, 3))
        os.symlink("i.png", self.path("a/link.png"))
        os.link(self.path("b/i.png"), self.path("b/hard.png"))
        turn = ("--rotate", "90")
        self.fails(2, *turn, "-d", "out", "a/i.png", "b/i.png", says=("would both become",))
        self.fails(2, *turn, "-d", "out", "a/i.png", "a/../a/i.png", says=("same file",))
        self.fails(2, *turn, "--in-place", "a/i.png", "a/link.png", says=("same file",))
        self.fails(2, *turn, "--in-place", "b/i.png", "b/hard.png", says=("same file",))
        for name in ("a/i.png", "a/link.png", "a/../a/i.png", "./a//i.png"):
            self.fails(2, *turn, "--overwrite", "-o", name, "a/i.png", says=("--in-place",))
        self.fails(2, *turn, "-d", "a", "a/i.png", says=("--in-place",))
        self.fails(2, *turn, "-o", "nowhere/x.png", "a/i.png", says=("nowhere", "create it"))
        self.fails(2, *turn, "-d", "a/i.png", "b/i.png", says=("not a folder",))
        self.fails(2, *turn, "-o", "out", "a/i.png", says=("use -d",))
        self.assertEqual(os.listdir(self.path("out")), [])
        for name in ("a/i.png", "b/i.png"):
            self.assertEqual(self.read(name), pngs.png(5, 3))

    def test_usage(self):
        self.write("in.png", pngs.png(5, 3))
        for arguments, says in (([], "no destination"), (["in.png"], "no destination"), (["--bogus"], "--bogus"),
                                (["-o"], "-o"), (["-d", ".", "in.png"], "named operation"),
                                (["--in-place", "in.png"], "named operation"),
                                (["--rotate", "91", "-o", "x", "in.png"], "91"),
                                (["--flip", "sideways", "-o", "x", "in.png"], "sideways"),
                                (["-o", "x", "in.png", "in.png"], "use -d"),
                                (["--rotate", "90", "-o", "x", "-d", ".", "in.png"], "exclude each other"),
                                (["-q", "-v", "-o", "x", "in.png"], "contradict"),
                                (["--raw", "5x3", "-o", "x", "in.png"], "5x3"),
                                (["--raw", "0x3x1", "-o", "x", "in.png"], "0x3x1"),
                                (["--raw", "5x3x-1", "-o", "x", "in.png"], "5x3x-1"),
                                (["--threads", "-1", "-o", "x", "in.png"], "--threads"),
                                (["--threads", "many", "-o", "x", "in.png"], "many"),
                                (["--jobs", "-1", "-o", "x", "in.png"], "--jobs"),
                                (["--png-level", "10", "-o", "x", "in.png"], "--png-level"),
                                (["--png-filter", "magic", "-o", "x", "in.png"], "magic"),
                                (["--memory-limit", "2Q", "-o", "x", "in.png"], "2Q"),
                                (["--memory-limit", "99999999999999999999", "-o", "x", "in.png"], "9999999"),
                                ([b"--backend", b"\xff", "-o", "x", "in.png"], "command line"),
                                (["--memory-limit", "99999999999T", "-o", "x", "in.png"], "99999999999T"),
                                (["--backend", "abacus", "-o", "x", "in.png"], "abacus"),
                                (["--geo", "sideways", "-o", "x", "in.png"], "takes refuse or rewrite, not 'sideways'"),
                                (["--device", "one", "-o", "x", "in.png"], "number of a GPU, from 0, not 'one'"),
                                (["--device", "0", "-o", "x", "in.png"], "--backend cuda, and goes with it"),
                                (["--device", "0", "--backend", "c", "-o", "x", "in.png"], "goes with it"),
                                (["--rotate", "90", "--in-place", "--resume", "-", "in.png"], "--report wrote, not -")):
            self.fails(2, *arguments, says=(says,))
        self.fails(3, "-o", "x", says=("no input",))
        self.fails(3, "--rotate", "90", "-d", ".", says=("no input",))
        self.assertEqual(self.files(), ["in.png"])

    def test_backend_of_the_environment(self):
        self.write("in.png", pngs.png(5, 3))
        self.fails(2, "-o", "out.png", "in.png", says=("abacus", "TT_BACKEND"), env={**os.environ, "TT_BACKEND": "abacus"})
        self.assertEqual(self.run_command("-o", "out.png", "in.png", env={**os.environ, "TT_BACKEND": "c"}).returncode, 0)

    def test_memory_limit(self):
        source = self.write("in.png", pngs.png(1000, 1000, 8, 0, stream=zlib.compress(bytes(range(77)) * 13000)[:-4]))
        self.fails(1, "--rotate", "90", "--memory-limit", "100K", "-o", "out.png", source,
                   says=("no temporary file", self.path("nowhere"), "TMPDIR", "memory"),
                   env={**os.environ, "TMPDIR": self.path("nowhere")})
        self.assertEqual(self.files(), ["in.png"])

    def test_larger_than_memory(self):
        """A picture that must wait for its last row waits in a file without a name."""
        rows = b"".join(bytes(1) + random.Random(y).randbytes(1000) for y in range(1000))
        source = self.write("in.png", pngs.png(1000, 1000, 8, 0, stream=zlib.compress(rows)))
        os.mkdir(self.path("scratch"))
        environment = {**os.environ, "TMPDIR": self.path("scratch")}
        for name, options in ARGUMENTS.items():
            self.succeeds(*options, "--overwrite", "-o", "whole.png", source)
            for limit, variable in (("300K", ""), ("0", "300K")):
                args = ("--memory-limit", limit) if limit != "0" else ()
                result = self.run_command(*options, *args, "-v", "--overwrite", "-o", "out.png", source,
                                          env={**environment, "TT_MEMORY_LIMIT": variable})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.read("out.png"), self.read("whole.png"), name)
                waits = name not in ("none", "fliph")
                self.assertEqual(f"in a file in {self.path('scratch')}" in result.stderr.decode(), waits, result.stderr)
                self.assertEqual("1000000 bytes of memory, and 307200 are allowed" in result.stderr.decode(), waits)
        os.rmdir(self.path("scratch"))
        self.fails(2, "-o", "no.png", source, says=("TT_MEMORY_LIMIT", "12Q"),
                   env={**os.environ, "TT_MEMORY_LIMIT": "12Q"})

    def test_a_dead_run_leaves_no_file(self):
        """Whatever ends it, in the midst of a picture that waits in a file."""
        scratch = self.path("scratch")
        os.mkdir(scratch)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            run = self.launch("--rotate", "90", "--memory-limit", "300K", "--backend", "cpu", "-o", "out.pgm", "-",
                              stdin=subprocess.PIPE, env={**os.environ, "TMPDIR": scratch})
            run.stdin.write(b"P5 1000 1000 255\n" + bytes(500_000))
            run.stdin.flush()
            self.until(run, lambda: scratch in subprocess.run(["ls", "-l", f"/proc/{run.pid}/fd"], capture_output=True, text=True).stdout)
            run.send_signal(number)
            run.stdin.close()
            self.assertNotEqual(run.wait(timeout=120), 0)
            self.assertEqual(os.listdir(scratch), [])
            self.assertFalse(os.path.exists(self.path("out.pgm")))


class NothingLost(CommandTest):
    def big(self, name):
        stream = zlib.compress(os.urandom(400 * 1201), 1)  # random rows have random filters: made 0 below
        rows = bytearray(zlib.decompress(stream))
        rows[::1201] = bytes(len(rows[::1201]))
        return self.write(name, pngs.png(400, 400, stream=zlib.compress(bytes(rows), 1)))

    def test_full_disk(self):
        self.big("in.png")
        before = self.read("in.png")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        self.fails(1, "--rotate", "90", "-o", "out.png", "in.png", says=("in.png: ", "File too large"), preexec_fn=limit)
        self.fails(1, "--rotate", "90", "--in-place", "in.png", says=("in.png: ", "File too large"), preexec_fn=limit)
        self.assertEqual(self.files(), ["in.png"])
        self.assertEqual(self.read("in.png"), before)

    def test_too_many_open_files(self):
        self.big("in.png")
        before, left = self.read("in.png"), self.files()
        failed = 0
        for files in range(4, 12):  # of which three are its streams
            limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            result = self.run_command("--rotate", "90", "--in-place", "in.png", preexec_fn=limit)
            if result.returncode == 0:
                break
            self.assertEqual(result.returncode, 1, (files, result.stderr))
            self.assertRegex(result.stderr, rb"\Aimgtranspose: in\.png: [^\n]*cannot [^\n]* \(Too many open files\): raise the limit of "
                                            rb"open files \(ulimit -n\)\n\Z")
            self.assertEqual((self.read("in.png"), self.files()), (before, left))
            failed += 1
        self.assertTrue(failed)
        self.assertNotEqual(self.read("in.png"), before)

    def test_too_long_a_name(self):
        self.big("in.png")
        name = "n" * 300
        for arguments in (("-o", "out.png", name), ("-o", name, "in.png"), ("-d", name, "in.png")):
            self.assertRegex(self.run_command("--rotate", "90", *arguments).stderr.decode(),
                             r"\Aimgtranspose: .*\(File name too long\): use a shorter name\n\Z")
            self.assertEqual(self.files(), ["in.png"])

    def test_read_only_folder(self):
        self.big("in.png")
        before = self.read("in.png")
        self.write("hidden.png", before)
        os.chmod(self.path("hidden.png"), 0)
        os.mkdir(self.path("out"), 0o555)
        os.chmod(self.folder, 0o555)
        nobody, command = None, COMMAND
        if os.geteuid() == 0:  # root may write everywhere
            tool = tempfile.mkdtemp(prefix="imgtranspose-test-")
            self.addCleanup(shutil.rmtree, tool)
            os.chmod(tool, 0o755)
            nobody, command = (lambda: os.setuid(65534)), shutil.copy(COMMAND, tool)
        turn = ("--rotate", "90")
        for arguments, says in ((["-d", "out", "in.png"], ("in.png: ", "out", "Permission denied")),
                                (["--in-place", "in.png"], ("in.png: ", "Permission denied")),
                                (["-d", "out", "hidden.png"], ("hidden.png: ", "permissions"))):
            self.fails(1, *turn, *arguments, says=says, command=command, preexec_fn=nobody)
        os.chmod(self.folder, 0o755)
        self.assertEqual(self.read("in.png"), before)
        self.assertEqual(self.files(), ["hidden.png", "in.png", "out"])

    def test_mode_is_kept_in_place_and_ordinary_elsewhere(self):
        self.write("in.png", pngs.png(5, 3))
        for mode in (0o600, 0o640, 0o444):
            os.chmod(self.path("in.png"), mode)
            self.succeeds("--rotate", "90", "--in-place", "in.png")
            self.assertEqual(os.stat(self.path("in.png")).st_mode & 0o7777, mode)
        mask = os.umask(0o027)
        self.succeeds("--rotate", "90", "-o", "out.png", "in.png")
        os.umask(mask)
        self.assertEqual(os.stat(self.path("out.png")).st_mode & 0o7777, 0o640)

    def test_attributes_are_kept_in_place(self):
        source = self.write("in.png", pngs.png(5, 3))
        try:
            os.setxattr(source, "user.comment", b"mine")
        except OSError as error:
            self.skipTest(f"this file system has no attributes: {error}")
        self.succeeds("--rotate", "90", "--in-place", "in.png")
        self.assertEqual(os.getxattr(source, "user.comment"), b"mine")

    def test_links_in_place(self):
        self.write("in.png", pngs.png(5, 3))
        os.symlink("in.png", self.path("link.png"))
        self.succeeds("--rotate", "90", "--in-place", "link.png")
        self.assertTrue(os.path.islink(self.path("link.png")))
        self.assertEqual(pngs.chunks(self.read("in.png"))[0][1][:8], struct.pack(">II", 3, 5))
        os.link(self.path("in.png"), self.path("hard.png"))
        self.fails(1, "--rotate", "90", "--in-place", "in.png", says=("hard links",))

    def test_each_way_in_place(self):
        """Streamed and through a frame; interlaced pictures, which are read anywhere, are among the cards."""
        cards = [self.big("in.png")] + sorted(glob.glob(os.path.join(GOLDEN, "*interlaced*.png")))
        self.assertGreater(len(cards), 1)
        for original in [self.read(card) for card in cards]:
            for name, arguments in ARGUMENTS.items():
                self.write("in.png", original)
                self.write("copy.png", original)
                self.succeeds(*arguments, "--in-place", "in.png")
                self.turned(self.path("copy.png"), self.path("in.png"), name)
        self.assertEqual(self.files(), ["copy.png", "in.png"])

    def meddled(self, **variables):
        return {**os.environ, "LD_PRELOAD": command.preloaded(MEDDLE), **variables}

    def test_a_spoiled_copy_replaces_nothing(self):
        """A byte of it changes when it is synced: so it must be synced, and read back."""
        self.big("in.png")
        before = self.read("in.png")
        for arguments in ARGUMENTS.values():
            if arguments != ["--auto-orient"]:
                self.fails(1, *arguments, "--in-place", "in.png", says=("in.png: ", "turned copy"),
                           env=self.meddled(MEDDLE_SPOIL="1"))
                self.assertEqual((self.files(), self.read("in.png")), (["in.png"], before))

    def test_a_file_that_appears_meanwhile_stays(self):
        self.big("in.png")
        self.fails(1, "--rotate", "90", "-o", "out.png", "in.png", says=("in.png: ", "out.png", "exists", "--overwrite"),
                   env=self.meddled(MEDDLE_APPEAR=self.path("out.png")))
        self.assertEqual((self.files(), self.read("out.png")), (["in.png", "out.png"], b"!"))

    def test_a_simple_file_system(self):
        """As many a mounted share is: outputs get their names there too, and none that is taken."""
        self.big("in.png")
        before = self.read("in.png")
        simple = self.meddled(MEDDLE_SIMPLE="1")
        self.succeeds("--rotate", "90", "-o", "out.png", "in.png", env=simple)
        self.succeeds("--rotate", "90", "-o", "same.png", "in.png")
        self.assertEqual(self.read("out.png"), self.read("same.png"))
        self.fails(1, "--rotate", "90", "-o", "new.png", "in.png", says=("new.png", "exists"),
                   env={**simple, "MEDDLE_APPEAR": self.path("new.png")})
        self.assertEqual(self.read("new.png"), b"!")
        self.succeeds("--rotate", "90", "--in-place", "--backup", "~", "in.png", env=simple)
        self.assertEqual((self.read("in.png~"), self.read("in.png")), (before, self.read("out.png")))
        self.assertEqual(self.files(), ["in.png", "in.png~", "new.png", "out.png", "same.png"])

    def test_an_original_that_changes_meanwhile_stays(self):
        self.big("in.png")
        before = self.read("in.png")
        self.fails(1, "--rotate", "90", "--in-place", "in.png", says=("was changed",),
                   env=self.meddled(MEDDLE_TOUCH=self.path("in.png")))
        self.assertEqual((self.files(), self.read("in.png")), (["in.png"], before + b"!"))

    def test_signals(self):
        source = self.big("in.png")
        before = self.read("in.png")
        copies = [shutil.copy(source, self.path(f"{i}.png")) for i in range(200)]
        os.mkdir(self.path("out"))
        for number in (signal.SIGINT, signal.SIGTERM):
            shutil.rmtree(self.path("out"))
            os.mkdir(self.path("out"))
            run = self.launch("--rotate", "90", "-d", "out", *copies)
            self.until(run, lambda: os.listdir(self.path("out")))
            run.send_signal(number)
            message = run.communicate(timeout=120)[1]
            self.assertEqual(run.returncode, 128 + number, message)
            self.assertEqual(message.count(b"\n"), 1)
            for name in os.listdir(self.path("out")):
                self.assertFalse(name.startswith("."), name)
                self.turned(source, os.path.join(self.folder, "out", name), "rot90")
        self.assertEqual(self.read("in.png"), before)


class Streams(CommandTest):
    def test_closed_streams_are_not_written_into_files(self):
        self.write("in.png", pngs.png(5, 3, before=pngs.chunk(b"oFFs", struct.pack(">iiB", 7, 9, 0))))
        os.system(f"cd {self.folder} && {COMMAND} -v --rotate 90 -o out.png in.png >&- 2>&- <&-")
        self.turned(self.path("in.png"), self.path("out.png"), "rot90")

    def test_help_that_nobody_gets_fails(self):
        for option in ("--help", "--version"):
            with open("/dev/full", "w") as full:
                run = subprocess.run([COMMAND, option], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual((run.returncode, run.stderr.count(b"\n")), (1, 1))

    def test_an_ignored_hangup_stays_ignored(self):
        """As under nohup."""
        os.mkfifo(self.path("pipe"))
        run = self.launch("--rotate", "90", "-o", "out.pgm", "pipe", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        with open(self.writing_end(run, "pipe"), "wb") as pipe:
            run.send_signal(signal.SIGHUP)
            pipe.write(b"P5 1 1 255\n!")
        self.assertEqual((run.communicate(timeout=120)[1], run.returncode), (b"", 0))


class Raw(CommandTest):
    def test_pixels_of_any_size(self):
        for size in (1, 2, 3, 5, 7, 24, 255):
            pixels = [[bytes((y * 7 + x * 3 + i) % 251 for i in range(size)) for x in range(5)] for y in range(3)]
            self.write("in.raw", b"".join(b"".join(row) for row in pixels))
            self.succeeds("--raw", f"5x3x{size}", "--rotate", "90", "--overwrite", "-o", "out.raw", "in.raw")
            turned = b"".join(pixels[2 - x][y] for y in range(5) for x in range(3))
            self.assertEqual(self.read("out.raw"), turned)

    def test_in_pieces(self):
        data = os.urandom(1000 * 700)
        self.write("in.raw", data)
        for limit in ("8K", "50K", "1G"):
            self.succeeds("--raw", "1000x700x1", "--memory-limit", limit, "--transpose", "--overwrite", "-o", "out.raw",
                          "in.raw")
            self.assertEqual(self.read("out.raw"), b"".join(data[x::1000] for x in range(1000)))

    def test_in_place(self):
        data = os.urandom(15 * 7)
        for name, turned in (("--transpose", b"".join(data[x * 1::15][:7] for x in range(15))),):
            self.write("in.raw", data)
            self.succeeds("--raw", "15x7x1", name, "--in-place", "in.raw")
            self.assertEqual(self.read("in.raw"), turned)

    def test_wrong_size(self):
        self.write("in.raw", b"abcdef")
        self.fails(1, "--raw", "3x3x1", "-o", "out.raw", "in.raw", says=("6 bytes", "3 x 3"))
        self.fails(1, "--raw", f"{1 << 62}x{1 << 62}x1", "-o", "out.raw", "in.raw")
        self.assertEqual(self.files(), ["in.raw"])


class Talk(CommandTest):
    def test_help_and_version(self):
        for flag in ("--help", "-h"):
            result = self.run_command(flag)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            for option in ("--transpose", "--auto-orient", "--in-place", "--overwrite", "--help-all"):
                self.assertIn(option, result.stdout.decode())
        self.assertRegex(self.succeeds("--version").stdout.decode(), r"^imgtranspose \d+\.\d+\.\d+\n$")
        self.assertIn("libpng", self.succeeds("-v", "--version").stdout.decode())

    def test_verbose_says_what_is_done(self):
        self.write("in.png", pngs.png(5, 3))
        result = self.run_command("-v", "--rotate", "90", "-o", "out.png", "in.png")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr.decode(), r"\Aimgtranspose: in.png: turned held as a whole, since its rows come in "
                         r"order: 0.0 MB in memory\nimgtranspose: in.png: 5 x 3, rot90 -> out.png by [a-z0-9]+ in "
                         r"\d+\.\d\d s, \d+\.\d Mpx/s\nimgtranspose: 1 file, \d+ bytes in \d+\.\d s: 1 turned\n\Z")

    def test_names_are_shown_on_one_line(self):
        self.fails(1, "-o", "x", "a\nb\x1b[31m.png", says=("a\\x0ab\\x1b[31m.png",))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
