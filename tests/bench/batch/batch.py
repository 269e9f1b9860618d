#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A folder of many pictures, turned by one command and by one process a picture.

    batch.py make DIR [FILES]      pictures of 13 kinds in three levels, odd names among them, 1 % damaged
    batch.py check IMGTRANSPOSE DIR   turn it, and judge each file, each message and the status; memory of a tenth beside it
    batch.py race IMGTRANSPOSE DIR [FILES]   beside `find | parallel vips rot`, in alternation, on so many of its good files

Needs Pillow and numpy; the race needs GNU parallel and the vips command. Damaged files have DAMAGED in their names.
Pixels are judged by Pillow; of JPEGs, which are turned without loss, up to rounding.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

import numpy
from PIL import Image

KINDS = (("png", "RGB"), ("png", "RGB"), ("png", "RGBA"), ("png", "L"), ("png", "P"), ("png", "1"), ("PNG", "I;16"),
         ("jpg", "RGB"), ("jpeg", "L"), ("tif", "RGB"), ("ppm", "RGB"), ("pgm", "L"), ("webp", "RGB"))
FORMATS = {"png": "PNG", "jpg": "JPEG", "jpeg": "JPEG", "tif": "TIFF", "ppm": "PPM", "pgm": "PPM", "webp": "WEBP"}


def texture(rng, width, height):
    """Smooth shapes and a little noise, as a photograph has."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / rng.uniform(9, 90) + rng.random() * 6) * numpy.cos(y / rng.uniform(9, 90))
              for _ in range(4)]
    noise = numpy.random.default_rng(rng.randrange(1 << 30)).normal(0, 3, (height, width, 4))
    return numpy.clip(numpy.stack(planes, 2) + noise, 0, 255).astype(numpy.uint8)


def picture(rng, kind, mode, path):
    pixels = texture(rng, rng.randrange(4, 24) * 16, rng.randrange(4, 24) * 16)
    if mode == "I;16":
        image = Image.fromarray((pixels[:, :, 0].astype(numpy.uint16) << 8) | pixels[:, :, 1])
    elif mode in ("P", "1"):
        image = Image.fromarray(pixels[:, :, :3]).convert(mode)
    else:
        image = Image.fromarray(pixels[:, :, :len(mode)].squeeze() if len(mode) > 1 else pixels[:, :, 0])
    options = {"jpg": {"quality": 90}, "jpeg": {"quality": 90}, "tif": {"compression": "tiff_adobe_deflate"},
               "webp": {"lossless": True}}.get(kind.lower(), {})
    image.save(path, FORMATS[kind.lower()], **options)


def damaged(rng, data):
    kind = rng.randrange(4)
    if kind == 0:
        return b""
    if kind == 1:
        return b"no picture at all\n"
    if kind == 2:
        return data[:len(data) * 6 // 10]
    at = len(data) // 2
    return data[:at] + bytes(64) + data[at + 64:]


def odd(rng, name):
    return rng.choice((b"-%s", b"a b %s", b"a\n%s", b"\xff%s", b"[n=1]%s", b"%%d%s", b"'\"%s", b"x" * 200 + b"%s")) % name


def make(root, count):
    rng = random.Random(1)
    bases = []
    os.makedirs(root + ".bases")
    for i in range(min(count, 260)):
        kind, mode = KINDS[i % len(KINDS)]
        path = f"{root}.bases/{i}.{kind}"
        picture(rng, kind, mode, path)
        bases.append((kind, open(path, "rb").read()))
    shutil.rmtree(root + ".bases")
    for i in range(count):
        kind, data = bases[rng.randrange(len(bases))]
        name = b"%d.%s" % (i, kind.encode())
        if i % 100 == 7:  # of kinds that tell by themselves that they are damaged
            kind, data = next(base for base in iter(lambda: bases[rng.randrange(len(bases))], None)
                              if base[0].lower() == "png")
            name, data = b"%d.DAMAGED.png" % i, damaged(rng, data)
        elif i % 10 == 3:
            name = odd(rng, name)
        folder = os.path.join(os.fsencode(root), b"%d" % (i % 7), b"b %d" % (i % 11))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def files(root):
    root = os.fsencode(root)
    return sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)


def run(command, **options):
    """Status, seconds by the clock and of CPU, and the most memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def is_right(before, after, jpeg):
    with Image.open(os.fsdecode(before)) as a, Image.open(os.fsdecode(after)) as b:
        if a.mode == "P":
            a, b = a.convert("RGBA"), b.convert("RGBA")
        want, got = numpy.rot90(numpy.asarray(a), -1), numpy.asarray(b)
    if want.shape != got.shape:
        return False
    return numpy.abs(want.astype(int) - got.astype(int)).max() <= 8 if jpeg else numpy.array_equal(want, got)


def check(command, root):
    out = root + ".out"
    shutil.rmtree(out, ignore_errors=True)
    with open(out + ".log", "wb") as log:
        status, wall, cpu, memory = run([command, "--rotate", "90", "-r", root, "-d", out], stderr=log)
    names = files(root)
    bad = {name for name in names if b"DAMAGED" in name}
    lines = open(out + ".log", "rb").read().splitlines()
    told = [line for line in lines if b"DAMAGED" in line]
    written = files(out)
    wrong = [name for name in written if name in bad or not is_right(os.path.join(os.fsencode(root), name),
             os.path.join(os.fsencode(out), name), name.lower().endswith((b"jpg", b"jpeg")))]
    tenth = root + "/0"
    shutil.rmtree(out)
    _, _, _, small = run([command, "--rotate", "90", "-r", tenth, "-d", out], stderr=subprocess.DEVNULL)
    print(json.dumps({"files": len(names), "status": status, "damaged": len(bad), "lines for damaged": len(told),
                      "other lines": [os.fsdecode(line) for line in lines if b"DAMAGED" not in line],
                      "written": len(written), "wrong": len(wrong),
                      "seconds": round(wall, 2), "cpu": round(cpu, 2), "files/s": round(len(names) / wall, 1),
                      "MB": round(memory, 1), f"MB for {len(files(tenth))}": round(small, 1)}, ensure_ascii=False))
    shutil.rmtree(out)
    for name in wrong[:10]:
        print("wrong:", name)
    return status == 1 and not wrong and len(written) == len(names) - len(bad) and len(told) == len(bad)


def race(command, root, count):
    """Without names that vips would take for options or with brackets, and without damage."""
    names = [name for name in files(root) if name.rsplit(b"/", 1)[1].split(b".")[0].isdigit() and b"DAMAGED" not in name]
    subset = root + ".subset"
    shutil.rmtree(subset, ignore_errors=True)
    for name in random.Random(2).sample(names, min(count, len(names))):
        os.makedirs(os.path.join(os.fsencode(subset), os.path.dirname(name)), exist_ok=True)
        shutil.copy(os.path.join(os.fsencode(root), name), os.path.join(os.fsencode(subset), name))
    out = subset + ".out"
    folders = {os.path.dirname(name) for name in files(subset)}
    theirs = f"cd '{subset}' && find . -type f -print0 | parallel -0 vips rot {{}} '{out}'/{{}} d90"
    times = {"imgtranspose": [], "find | parallel vips rot": []}
    for _ in range(3):
        for name, line in (("imgtranspose", [command, "-q", "--rotate", "90", "-r", subset, "-d", out]),
                           ("find | parallel vips rot", ["sh", "-c", theirs])):
            shutil.rmtree(out, ignore_errors=True)
            for folder in folders:
                os.makedirs(os.path.join(os.fsencode(out), folder))
            status, wall, cpu, _ = run(line)
            assert status == 0 and len(files(out)) == len(files(subset)), (name, status, len(files(out)))
            times[name].append((wall, cpu))
    for name, pairs in times.items():
        print(f"{name}: {len(files(subset))} files, clock {sorted(round(p[0], 2) for p in pairs)}, CPU {sorted(round(p[1], 2) for p in pairs)}")
    medians = [[statistics.median(p[i] for p in pairs) for i in (0, 1)] for pairs in times.values()]
    print(f"ratio: clock {medians[1][0] / medians[0][0]:.2f}, CPU {medians[1][1] / medians[0][1]:.2f}")
    shutil.rmtree(subset)
    shutil.rmtree(out)
    return True


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "make":
        make(arguments[0], int(arguments[1]) if arguments[1:] else 10000)
    elif verb == "check":
        sys.exit(0 if check(*arguments) else 1)
    elif verb == "race":
        race(arguments[0], arguments[1], int(arguments[2]) if arguments[2:] else 600)
