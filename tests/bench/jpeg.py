#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""200 JPEGs beside jpegtran and mogrify: the same pixels, and what they cost.

usage: jpeg.py IMGTRANSPOSE PICTURES [WORK]

PICTURES is a folder of photographs (Debian: mate-backgrounds, /usr/share/backgrounds/mate), from which 200 cuts are
made in WORK by vips, cjpeg and, for CMYK, convert: eight kinds of sampling and coding, sizes that fill their blocks and
sizes that do not. Those that jpegtran -perfect turns must decode equal to its output, the others be refused; four
quarter turns must give the picture back. Then the perfect ones are turned once more, in alternation, and the medians
of the seconds of CPU and of the clock are printed. With ONLY_TIME in the environment nothing is compared.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KINDS = {"444": ["-sample", "1x1"], "422": ["-sample", "2x1"], "420": ["-sample", "2x2"], "440": ["-sample", "1x2"],
         "grey": ["-grayscale"], "progressive": ["-sample", "2x2", "-progressive"], "optimised": ["-sample", "2x2", "-optimize"], "cmyk": None}
SIZES = [(1024, 768), (768, 1024), (1040, 784), (1021, 767), (1024, 777)]  # the last two do not fill their blocks
TURNS = {("--flip", "horizontal"): ["-flip", "horizontal"], ("--flip", "vertical"): ["-flip", "vertical"], ("--rotate", "90"): ["-rotate", "90"],
         ("--rotate", "180"): ["-rotate", "180"], ("--rotate", "270"): ["-rotate", "270"], ("--transpose",): ["-transpose"], ("--transverse",): ["-transverse"]}
COUNT, REPEATS = 200, 3


def run(*arguments, **options):
    return subprocess.run(arguments, check=True, capture_output=True, **options).stdout


def photographs(folder):
    names = sorted(os.path.join(where, name) for where, _, files in os.walk(folder) for name in files if name.lower().endswith((".jpg", ".png")))
    large = [name for name in names if all(int(run("vipsheader", "-f", side, name)) >= 1100 for side in ("width", "height"))]
    assert large, f"{folder} has no large photographs"
    return large


def make(folder, pictures):
    """200 files: each kind in each size, of ever other photographs and places in them."""
    made = []
    for i in range(COUNT):
        kind, (width, height) = list(KINDS)[i % len(KINDS)], SIZES[i // len(KINDS) % len(SIZES)]
        name, cut = os.path.join(folder, f"{i:03}-{kind}.jpg"), os.path.join(folder, "cut.ppm")
        source = pictures[i % len(pictures)]
        across, down = (int(run("vipsheader", "-f", side, source)) for side in ("width", "height"))
        run("vips", "crop", source, cut + "[strip]", str(37 * i % (across - width + 1)), str(53 * i % (down - height + 1)), str(width), str(height))
        if KINDS[kind] is None:
            run("convert", cut, "-colorspace", "CMYK", "-quality", "85", "-sampling-factor", "1x1", name)
        else:
            run("cjpeg", "-quality", "85", *KINDS[kind], "-outfile", name, cut)
        made.append(name)
    os.remove(cut)
    return made


def check(command, files, work):
    """How many turns were compared, and how many refused; and the files that a quarter turn loses nothing of."""
    same, refused, perfect = 0, 0, []
    out, want = os.path.join(work, "out"), os.path.join(work, "want.jpg")
    for turn, how in TURNS.items():
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        subprocess.run([command, "-q", *turn, "-d", out, *files], stderr=subprocess.DEVNULL)
        for name in files:
            got = os.path.join(out, os.path.basename(name))
            if subprocess.run(["jpegtran", "-copy", "all", "-perfect", *how, "-outfile", want, name], capture_output=True).returncode:
                assert not os.path.exists(got), (name, turn, "was turned")
                refused += 1
                continue
            assert run("djpeg", got) == run("djpeg", want), (name, turn)
            same += 1
            if turn == ("--rotate", "90"):
                perfect.append(name)
    return same, refused, perfect


def check_round(command, files, work):
    """All four quarter turns, of the files whose every quarter turn is perfect."""
    folder, count = os.path.join(work, "round"), 0
    os.mkdir(folder)
    for name in files:
        copy = shutil.copy(name, folder)
        turned = all(subprocess.run([command, "-q", "--rotate", "90", "--in-place", copy], capture_output=True).returncode == 0 for _ in range(4))
        if turned:
            assert run("djpeg", copy) == run("djpeg", name), name
            count += 1
    return count


def cost(arguments, cwd=None):
    """Seconds of CPU and of the clock, children included."""
    start = time.monotonic()
    child = subprocess.Popen(arguments, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, (arguments[:4], status)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def fresh(work, files=()):
    folder = os.path.join(work, "timed")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return folder, [shutil.copy(name, folder) for name in files]


def measure(command, files, work):
    loop = 'out=$1; shift; for f; do jpegtran -copy all -perfect -rotate 90 -outfile "$out/${f##*/}" "$f" || exit 1; done'
    costs = {"imgtranspose": [], "jpegtran, a loop": [], "mogrify": []}
    for _ in range(REPEATS):
        costs["imgtranspose"].append(cost([command, "-q", "--rotate", "90", "-d", fresh(work)[0], *files]))
        costs["jpegtran, a loop"].append(cost(["sh", "-c", loop, "sh", fresh(work)[0], *files]))
        costs["mogrify"].append(cost(["mogrify", "-rotate", "90", *fresh(work, files)[1]]))
    return {name: [statistics.median(column) for column in zip(*runs)] for name, runs in costs.items()}


def main():
    command = os.path.abspath(sys.argv[1])
    work = sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp(prefix="jpeg-bench-")
    folder = os.path.join(work, "jpegs")
    if not os.path.isdir(folder):
        os.makedirs(folder)
        make(folder, photographs(sys.argv[2]))
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    if os.environ.get("ONLY_TIME"):
        perfect = [name for name in files if subprocess.run(["jpegtran", "-perfect", "-rotate", "90", name], capture_output=True).returncode == 0]
    else:
        same, refused, perfect = check(command, files, work)
        print(f"{len(files)} JPEGs: {same} turns as jpegtran's, {refused} refused by both, {check_round(command, perfect, work)} as before after four quarter turns")
    costs = measure(command, perfect, work)
    ours = costs["imgtranspose"]
    print(f"a quarter turn of {len(perfect)} files, medians of {REPEATS}: seconds of CPU / clock, and how many times ours")
    for name, (cpu, clock) in costs.items():
        print(f"{name:18} {cpu:6.2f} / {clock:6.2f}   {cpu / ours[0]:5.2f} / {clock / ours[1]:5.2f}")


main()
