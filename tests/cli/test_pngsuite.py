# SPDX-License-Identifier: MIT
"""Every valid picture of PngSuite in every orientation, where TT_PNGSUITE names its folder.

usage: test_pngsuite.py IMGTRANSPOSE CHECK_PNG
"""
import glob
import os
import subprocess
import sys
import unittest

from command import ARGUMENTS, CommandTest

CHECK = os.path.abspath(sys.argv[2])
FOLDER = os.environ.get("TT_PNGSUITE", "")


class PngSuite(CommandTest):
    def test_every_picture(self):
        pictures = sorted(glob.glob(os.path.join(FOLDER, "[!x]*.png")))
        self.assertGreater(len(pictures), 10)
        for picture in pictures:
            for name, arguments in ARGUMENTS.items():
                self.succeeds(*arguments, "--stored", "--overwrite", "-o", "out.png", picture)
                check = subprocess.run([CHECK, picture, self.path("out.png"), name], capture_output=True)
                self.assertEqual(check.returncode, 0, (picture, name, check.stdout, check.stderr))


if __name__ == "__main__":
    if not os.path.isdir(FOLDER):
        print("SKIPPED: TT_PNGSUITE names no folder")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
