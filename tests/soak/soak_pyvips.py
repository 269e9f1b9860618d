#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process of pyvips that lives long: eight threads turn pictures, of which some are refused, damaged or given up half-way.
Then workers that are forked before libvips has been used.

usage: soak_pyvips.py [OPERATIONS]      400 unless said otherwise. VIPSHOME must name a directory that has the module.
"""
import os
import random
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
import python_with

python_with.need("numpy", "pyvips")
import numpy
import pyvips

from held import compare, held
from numpy_turn import TURNS

pyvips.cache_set_max(0)  # what is given up is nobody else's
OPERATIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
THREADS = 8


class Soak:
    def __init__(self, folder):
        self.array = numpy.random.default_rng(1).integers(0, 256, (157, 211, 3), dtype=numpy.uint8)
        image = pyvips.Image.new_from_memory(self.array.tobytes(), 211, 157, 3, "uchar")
        self.files = [os.path.join(folder, name) for name in ("a.png", "a.tif", "tiles.tif", "a.ppm", "a.v")]
        for name in self.files:
            image.write_to_file(name + ("[tile,tile_width=64,tile_height=64]" if "tiles" in name else ""))
        self.damaged = os.path.join(folder, "damaged.png")
        with open(self.files[0], "rb") as whole, open(self.damaged, "wb") as file:
            file.write(whole.read()[:-9000])
        self.wrong = []

    def operate(self, choice):
        orientation = choice.choice(list(TURNS))
        kind = choice.randrange(8)
        name = self.damaged if kind == 0 else choice.choice(self.files)
        image = pyvips.Image.new_from_file(name, access="sequential", fail_on="error")
        try:
            turned = image.tt_transpose(orientation="rot45" if kind == 1 else orientation)
            if kind == 2:
                turned.set_kill(True)
            data = turned.crop(0, 0, turned.width, 3).write_to_memory() if kind == 3 else turned.write_to_memory()
        except pyvips.Error as error:
            if kind > 2:
                self.wrong.append(f"{name} {orientation} {kind}: {error}")
            return
        want = TURNS[orientation](self.array)[:3 if kind == 3 else None]
        if kind < 2 or (kind > 2 and data != want.tobytes()):
            self.wrong.append(f"{name} {orientation} {kind}: no error, or other pixels")

    def work(self, seed, operations):
        choice = random.Random(seed)
        for _ in range(operations):
            self.operate(choice)

    def threads(self, seed, operations):
        threads = [threading.Thread(target=self.work, args=(seed + i, operations // THREADS)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def workers(folder):
    """Forked before the first turn, as servers do it."""
    children = []
    for i in range(4):
        child = os.fork()
        if not child:
            os.mkdir(os.path.join(folder, str(i)))
            soak = Soak(os.path.join(folder, str(i)))
            soak.work(i, 20)
            os._exit(1 if soak.wrong else 0)
        children.append(child)
    return [status for status in (os.waitpid(child, 0)[1] for child in children) if status]


with tempfile.TemporaryDirectory() as folder:
    failed = workers(folder)
    soak = Soak(folder)
    soak.threads(0, OPERATIONS // 3)
    before = held()
    soak.threads(100, OPERATIONS - OPERATIONS // 3)
    grown = compare("pyvips, eight threads", OPERATIONS, before, held(), 16384)
    if failed or soak.wrong or grown:
        sys.exit(f"FAILED: workers {failed}, {soak.wrong[:5]}, {grown}")
