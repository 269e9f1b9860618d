# SPDX-License-Identifier: MIT
"""A service that lives long: one process of the command gets tasks by the thousand, good ones and bad ones of each format.

usage: soak_command.py IMGTRANSPOSE [TASKS]      600 unless said otherwise
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib

import pngs
import tiffs
from held import compare, held

COMMAND = os.path.abspath(sys.argv[1])
TASKS = int(sys.argv[2]) if len(sys.argv) > 2 else 600
VERSION = subprocess.run([COMMAND, "-v", "--version"], capture_output=True, text=True).stdout
AT_ONCE = 16
OPERATIONS = ("rot90", "rot180", "rot270", "fliph", "flipv", "transpose", "transverse", "auto")
noise = random.Random(1)


def pictures():
    """Names and whether they are good."""
    rows = [[(noise.randrange(256),) for _ in range(40)] for _ in range(30)]
    files = {"png": pngs.png(40, 30, stream=zlib.compress(b"".join(b"\0" + noise.randbytes(120) for _ in range(30)))),
             "ppm": b"P6\n40 30\n255\n" + noise.randbytes(3600)}
    if "TIFF" in VERSION:
        files["tif"] = tiffs.write([tiffs.picture(rows, 8, strip=8, deflate=True)])
    else:
        print("SKIPPED: tif, which the command does not read")
    if "JPEG" in VERSION and shutil.which("cjpeg"):
        files["jpg"] = subprocess.run(["cjpeg"], input=b"P6\n48 32\n255\n" + noise.randbytes(4608), stdout=subprocess.PIPE, check=True).stdout
    else:
        print("SKIPPED: jpg, which the command does not read, or nothing makes here")
    named = {}
    for suffix, data in files.items():
        spoiled = bytearray(data)
        spoiled[len(data) // 2:] = b""
        for name, content, good in ((f"good.{suffix}", data, True), (f"cut.{suffix}", bytes(spoiled), False),
                                    (f"empty.{suffix}", b"", False), (f"random.{suffix}", noise.randbytes(500), False)):
            with open(name, "wb") as file:
                file.write(content)
            named[name] = good
    named["missing.png"] = False
    return named


def main():
    named = pictures()
    process = subprocess.Popen([COMMAND, "--tasks", "-", "--overwrite", "-j", "4", "-q"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    names, wrong, waiting = sorted(named), [], {}

    def drain(left):
        """Answers, until only so many tasks wait for theirs."""
        while len(waiting) > left:
            answer = json.loads(process.stdout.readline())
            name = waiting.pop(answer["line"])
            if (answer["status"] in ("turned", "copied", "unchanged")) != named[name]:
                wrong.append((name, answer))

    for n in range(TASKS):
        if n == TASKS // 3:
            drain(0)  # what is held while a task is under way is its own
            before = held(process.pid)
        drain(AT_ONCE - 1)
        name = noise.choice(names)
        task = {"op": noise.choice(OPERATIONS), "in": name, "out": f"{n % (2 * AT_ONCE)}-{name}"}
        waiting[n + 1] = name
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.flush()
    drain(0)
    after = held(process.pid)
    process.stdin.close()
    process.stdout.read()
    status = process.wait()
    left = [name for name in os.listdir(".") if name.startswith(".")]
    grown = compare("tasks", TASKS, before, after, 8192)
    if wrong or grown or status != 1 or left:
        sys.exit(f"{wrong[:3]} {grown} status {status}, left {left}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
