# SPDX-License-Identifier: MIT
"""A folder of small PNGs there and back: four quarter turns, and each involution twice, give every picture back.

usage: test_fixtures.py IMGTRANSPOSE CHECK_PNG

TT_FIXTURES names a program that makes the PNGs in the folder that it is given. Files that are not whole pictures
are named for what they are.
"""
import glob
import os
import shutil
import subprocess
import sys
import unittest

import pngs
from command import ARGUMENTS, CommandTest

CHECK = os.path.abspath(sys.argv[2])
FIXTURES = os.environ.get("TT_FIXTURES", "")
NOT_PICTURES = ("trunc", "bomb", "empty", "apng")
# What a turn must leave out: it says where in a picture something is.
PLACES = (b"oFFs",)


class Fixtures(CommandTest):
    def setUp(self):
        super().setUp()
        subprocess.run([sys.executable, FIXTURES, self.path("in")], check=True)

    def turn(self, source, target, orientation):
        result = self.run_command(*ARGUMENTS[orientation], "--stored", "--overwrite", "-o", target, source)
        self.assertEqual((result.returncode, result.stderr), (0, b""), (source, orientation))
        check = subprocess.run([CHECK, self.path(source), self.path(target), orientation], capture_output=True)
        self.assertEqual(check.returncode, 0, (source, orientation, check.stdout, check.stderr))
        # pngcheck does not know the newest chunks, in neither file.
        if shutil.which("pngcheck") and self.is_clean(source):
            self.assertTrue(self.is_clean(target), (source, orientation))

    def is_clean(self, name):
        return subprocess.run(["pngcheck", "-q", self.path(name)], capture_output=True).returncode == 0

    def there_and_back(self, picture, turns):
        source = picture
        for i, orientation in enumerate(turns):
            self.turn(source, f"step{i % 2}.png", orientation)
            source = f"step{i % 2}.png"
        before, after = ([c for c in pngs.chunks(self.read(name)) if c[0] != b"IDAT" and c[0] not in PLACES]
                         for name in (picture, source))
        self.assertEqual(before, after, (picture, turns))
        check = subprocess.run([CHECK, self.path(picture), self.path(source), "none"], capture_output=True)
        self.assertEqual(check.returncode, 0, (picture, turns, check.stdout, check.stderr))

    def test_there_and_back(self):
        pictures = sorted(p for p in glob.glob(self.path("in/*.png")) if not os.path.basename(p).startswith(NOT_PICTURES))
        self.assertGreater(len(pictures), 20)
        for picture in pictures:
            self.there_and_back(picture, ["rot90"] * 4)
            for involution in ("fliph", "flipv", "rot180", "transpose", "transverse"):
                self.there_and_back(picture, [involution] * 2)

    def test_what_is_no_picture(self):
        for picture in sorted(glob.glob(self.path("in/*.png"))):
            if os.path.basename(picture).startswith(NOT_PICTURES):
                self.fails(1, "--rotate", "90", "-o", "out.png", picture, says=[os.path.basename(picture)])


if __name__ == "__main__":
    if not os.path.isfile(FIXTURES):
        print("SKIPPED: TT_FIXTURES names no program")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
