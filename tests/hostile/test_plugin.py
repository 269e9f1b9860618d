# SPDX-License-Identifier: MIT
"""Spoilt PNGs and bombs through the libvips operations, by the real command `vips`: it ends by itself, in time and memory,
and says why where it fails.

usage: test_plugin.py IMGTRANSPOSE

VIPSHOME must name a directory that has the module. TT_MUTANTS says how many, 20 without.
"""
import os
import shutil
import sys
import unittest
import zlib

import mutate
import seeds
from bounded import MEMORY_LIMIT, SECONDS, HostileTest, Run
from test_bombs import HUGE, exifs, pngs, zeros

MUTANTS = int(os.environ.get("TT_MUTANTS", "20"))
ORIENTATIONS = ("rot90", "auto", "fliph", "transverse", "rot180", "none")


class Operations(HostileTest):
    def vips(self, what, *arguments):
        # A scratch file up to the limit is the system's work, which takes twice as long while the disk is busy.
        run = Run(arguments, self.folder, 2 * SECONDS, command=["vips"],
                  environment={"TT_PNG": "1", "TT_MEMORY_LIMIT": f"{MEMORY_LIMIT}M", "TMPDIR": self.folder, "VIPS_WARNING": "0"})
        self.within_bounds(run, (what, arguments))
        self.assertTrue(run.status == 0 or run.text, what)
        if os.path.exists(self.path("out.v")):
            os.remove(self.path("out.v"))
        return run.status == 0

    def hostile(self, data, what, orientation="rot90"):
        self.write("in.png", data)
        turned = self.vips(what, "tt_transpose", "in.png", "out.v", "--orientation", orientation)
        return self.vips(what, "tt_pngload", "in.png", "out.v", "--fail-on", "error"), turned

    def test_mutants(self):
        files = seeds.seeds("PNG")
        results = [self.hostile(mutate.mutant("PNG", files, number)[1], number, ORIENTATIONS[number % len(ORIENTATIONS)]) for number in range(MUTANTS)]
        print(f"{MUTANTS} mutants, {sum(loaded for loaded, _ in results)} loaded, {sum(turned for _, turned in results)} turned", file=sys.stderr)

    def test_bombs(self):
        file = lambda header, stream: pngs.SIGNATURE + header + pngs.chunk(b"IDAT", stream) + pngs.chunk(b"IEND")
        for data in (file(pngs.header(HUGE, HUGE), b"x"), file(pngs.header(787402, 787402, 8, 6), zlib.compress(b"x" * 20)),
                     file(pngs.header(100000, 100000, 16, 6), zlib.compress(b"x" * 20)),
                     file(pngs.header(60000, 60000, 8, 2, 1), zeros(1 << 20)), # interlaced: would be unpacked as a whole, 10 GB
                     file(pngs.header(60000, 60000, 1, 0), zeros(1 << 20)), file(pngs.header(1, 1), zeros(1 << 30)),
                     pngs.png(5, 3, before=pngs.chunk(b"zTXt", b"Comment\0\0" + zeros(1 << 29))), pngs.png(5, 3, before=pngs.chunk(b"iCCP", b"icc\0\0" + zeros(1 << 29))),
                     pngs.png(5, 3, before=pngs.chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zeros(1 << 29))), pngs.png(5, 3, before=pngs.chunk(b"tEXt", b"Comment\0words") * 10000),
                     pngs.png(5, 3, before=pngs.chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"words")) * 10000), pngs.png(5, 3, before=pngs.chunk(b"prVt") * 100000)):
            self.hostile(data, data[:60])

    def test_exif(self):
        for number, block in enumerate(exifs()):
            if number % 5 == 0:
                self.hostile(pngs.png(5, 3, before=pngs.chunk(b"eXIf", block)), number, "auto")


if __name__ == "__main__":
    if not shutil.which("vips"):
        print("SKIPPED: there is no command vips")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
