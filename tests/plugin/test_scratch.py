#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No scratch file is written, neither with a name nor without: every file that the operation opens for writing is seen by strace.

usage: test_scratch.py [PICTURE...]

Pictures are opened for sequential access; without one there are small ones, and libvips is told to think them large.
VIPSHOME must name a directory that has the module.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import python_with

TINY = 1 << 20  # code that is made at run time stands in files of memory, too
ORIENTATIONS = ["none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270", "auto"]
CALLS = "open,openat,creat,memfd_create,ftruncate,fallocate,write,pwrite64,writev"
PYTHON = """
import pyvips, sys
pyvips.Image.new_from_file(sys.argv[1], access="sequential").tt_transpose(orientation=sys.argv[3]).write_to_file(sys.argv[2])
"""


def scratch(folder, output, *command):
    """The files that a command writes beside its output."""
    trace = os.path.join(folder, "trace")
    environment = {**os.environ, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1", "VIPS_DISC_THRESHOLD": "1k"}
    result = subprocess.run(["strace", "-f", "-qq", "-y", "-s", "0", "-e", "trace=" + CALLS, "-o", trace, *command],
                            capture_output=True, text=True, env=environment)
    assert result.returncode == 0, (command, result.stderr)
    found, in_memory = set(), {}
    with open(trace, errors="replace") as lines:
        for line in lines:
            opened = re.search(r' (?:open|openat|creat)\(.*= \d+<(.*?)>(?:\(deleted\))?$', line)
            grown = re.search(r" (?:ftruncate|fallocate|write|pwrite64|writev)\(\d+<(.*?)>.*?(?:, (\d+))*\) += (\d+)", line)
            if opened and (re.search("O_WRONLY|O_RDWR|O_CREAT|O_TMPFILE", line) or " creat(" in line):
                if not opened[1].startswith(("/dev/", "/proc/")) and not opened[1].endswith(".gcda") and os.path.realpath(opened[1]) != os.path.realpath(output):
                    found.add(opened[1])
            elif grown and grown[1].startswith("/memfd:"):
                in_memory[grown[1]] = in_memory.get(grown[1], 0) + max(int(grown[2] or 0), int(grown[3]))
    os.remove(trace)
    return sorted(found) + [name for name, size in in_memory.items() if size > TINY]


def expect(found, what):
    if found:
        sys.exit(f"FAILED: {what} writes {', '.join(found)}")


for program in ("strace", "vips"):
    if not shutil.which(program):
        print(f"SKIPPED: whether scratch files are written is not seen: there is no {program}")
        sys.exit(77)
if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode:
    print("SKIPPED: whether scratch files are written is not seen: strace may not trace here")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    path = lambda name: os.path.join(folder, name)
    vips = lambda *arguments: subprocess.run(["vips", *arguments], check=True)
    pictures = [os.path.abspath(name) for name in sys.argv[1:]]
    if not pictures:
        vips("gaussnoise", path("noise.v"), "701", "503")
        vips("bandjoin", f"{path('noise.v')} {path('noise.v')} {path('noise.v')}", path("three.v"))
        vips("cast", path("three.v"), path("in.png"), "uchar")
        pictures = [path("in.png"), path("in.jpg"), path("in.tif")]
        for name in pictures[1:]:
            vips("copy", pictures[0], name)

    # What is looked for is seen where it is.
    out = path("out.png")
    if not scratch(folder, out, "vips", "rot", pictures[0], out, "d90"):
        sys.exit("FAILED: the scratch file of vips rot is not seen")
    for code in ("os.ftruncate(os.memfd_create('x'), 8 << 20)", "os.write(os.memfd_create('x'), bytes(8 << 20))",
                 f"os.open({folder!r}, os.O_TMPFILE | os.O_RDWR)"):
        if not scratch(folder, out, sys.executable, "-c", "import os; " + code):
            sys.exit(f"FAILED: {code} is not seen")

    python = python_with.find("pyvips")
    if not python:
        print("not run from pyvips: no python3 here has it (TT_PYTHON may name one that has)")
    runs = 0
    for picture in pictures:
        for orientation in ORIENTATIONS:
            expect(scratch(folder, out, "vips", "tt_transpose", picture, out, "--orientation", orientation), f"{picture}, {orientation}")
            runs += 1
            if python:
                expect(scratch(folder, out, python, "-c", PYTHON, picture, out, orientation), f"pyvips, {picture}, {orientation}")
                runs += 1
    print(f"{runs} turns without a scratch file")
