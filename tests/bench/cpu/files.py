#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A quarter turn of one photograph from file to file, as PNG, JPEG, TIFF and .v, beside what people use today.

    files.py BUILD PHOTOGRAPH [FORMAT...] > files.jsonl

PHOTOGRAPH is anything that vips reads (Debian: mate-backgrounds, Elephants_5640x3172.jpg); it is cut to whole blocks of
16 pixels, so that its JPEG can be turned without loss. One line of JSON a tool and format: medians of the seconds of CPU
and of the clock, of commands in alternation.

Stages, in seconds of CPU: a tool that converts is also run from the format to PPM, from PPM to the format and from PPM to
PPM. What the codec costs is then a difference, and the turn with all else is the rest. imgtranspose converts nothing: for it
the CPU's seconds are divided as the stages that its report gives. Where a tool cannot be taken apart, as where the
coefficients of a JPEG move, there is one stage, "all".
"""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
ENDINGS = {"PNG": "png", "JPEG": "jpg", "TIFF": "tif", ".v": "v"}
MAKE = {"PNG": "", "JPEG": "[Q=90]", "TIFF": "[compression=deflate,predictor=horizontal]", ".v": "", "PPM": ""}

MAGICK = {"JPEG": ["-quality", "90"], "TIFF": ["-compress", "zip"]}


def first_line(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "")


class Bench:
    def __init__(self, build, folder):
        self.folder = folder
        self.command = os.path.join(build, "cli/imgtranspose")
        self.module = os.path.join(build, "plugin/tt_transpose.so")
        self.report = os.path.join(folder, "report.jsonl")

    def name(self, stem, kind):
        return os.path.join(self.folder, f"{stem}.{ENDINGS.get(kind, 'ppm')}")

    def tools(self, kind):
        """Each a function of the formats before and after; whether it can convert; and its version."""
        has = {tool: shutil.which(tool) for tool in ("convert", "jpegtran", "cp")}
        vips, magick = first_line("vips", "--version"), has["convert"] and first_line("convert", "--version").split(" http")[0]
        name, out = self.name, "out"
        found = {"imgtranspose": (lambda a, b: [self.command, "--rotate", "90", "--overwrite", "-q", "-o", name(out, b), name("in", a)], False,
                                  first_line(self.command, "--version"))}
        if kind == "PNG" and os.path.exists(self.module):
            found["vips tt_transpose"] = (lambda a, b: ["env", "TT_PNG=1", "vips", f"--plugin={self.module}", "tt_transpose", name("in", a), name(out, b),
                                                        "--orientation", "rot90"], True, vips)
        found["vips rot"] = (lambda a, b: ["vips", "rot", name("in", a), name(out, b) + MAKE[b], "d90"], True, vips)
        if has["convert"] and kind != ".v":
            found["convert"] = (lambda a, b: ["convert", name("in", a), "-rotate", "90", *MAGICK.get(b, []), name(out, b)], True, magick)
        if has["jpegtran"] and kind == "JPEG":
            found["jpegtran"] = (lambda a, b: ["jpegtran", "-copy", "all", "-perfect", "-rotate", "90", "-outfile", name(out, b), name("in", a)], False,
                                 first_line("jpegtran", "-version"))
        if has["cp"] and kind == ".v":
            found["cp, unturned"] = (lambda a, b: ["cp", name("in", a), name(out, b)], False, first_line("cp", "--version"))
        return found

    def run(self, command):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock

    def reported_stages(self, command, kind):
        """What the command says of itself: the part of each stage, from a run by one thread."""
        if os.path.exists(self.report):
            os.remove(self.report)
        self.run([*command, "--threads", "1", "--report", self.report])
        seconds = [json.loads(line) for line in open(self.report)][-2]["seconds"]
        parts = {stage: seconds[stage] for stage in ("decode", "turn", "encode") if stage in seconds}
        return {stage: part / sum(parts.values()) for stage, part in parts.items()} or {"all": 1}


def stages_by_difference(cpu):
    whole, bare = cpu["whole"], cpu["bare"]
    decode, encode = (max(0, cpu[way] - bare) for way in ("decode", "encode"))
    return {"decode": decode, "turn": max(0, whole - decode - encode), "encode": encode}


def measure(bench, kind):
    tools = bench.tools(kind)
    runs = {(tool, "whole"): make(kind, kind) for tool, (make, _, _) in tools.items()}
    for tool, (make, converts, _) in tools.items():
        if converts:
            runs.update({(tool, "decode"): make(kind, "PPM"), (tool, "encode"): make("PPM", kind), (tool, "bare"): make("PPM", "PPM")})
    figures = {key: [] for key in runs}
    for command in runs.values():  # the files are in the system's cache
        bench.run(command)
    for _ in range(ROUNDS):
        for key, command in runs.items():
            figures[key].append(bench.run(command))
    median = {key: tuple(statistics.median(side) for side in zip(*pairs)) for key, pairs in figures.items()}
    for tool, (make, converts, version) in tools.items():
        cpu, clock = median[tool, "whole"]
        if converts:
            stages = stages_by_difference({way: median[tool, way][0] for way in ("whole", "decode", "encode", "bare")})
        elif tool == "imgtranspose":
            stages = {stage: part * cpu for stage, part in bench.reported_stages(make(kind, kind), kind).items()}
        else:
            stages = {"all": cpu}
        bench.run(make(kind, kind))
        print(json.dumps({"format": kind, "tool": tool, "version": version, "cpu": round(cpu, 4), "clock": round(clock, 4),
                          "stages": {stage: round(part, 4) for stage, part in stages.items()}, "bytes": os.path.getsize(bench.name("out", kind))}), flush=True)


def main():
    if len(sys.argv) < 3 or set(sys.argv[3:]) - set(ENDINGS):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(sys.argv[1]), folder)
        width, height = (int(first_line("vipsheader", "-f", side, sys.argv[2])) // 16 * 16 for side in ("width", "height"))
        cut = bench.name("in", "PPM")
        subprocess.run(["vips", "crop", sys.argv[2], cut + "[strip]", "0", "0", str(width), str(height)], check=True)
        print(json.dumps({"about": f"a photograph, {width} x {height}, 8-bit RGB", "processors": len(os.sched_getaffinity(0))}), flush=True)
        for kind in sys.argv[3:] or ENDINGS:
            subprocess.run(["vips", "copy", cut, bench.name("in", kind) + MAKE[kind]], check=True)
            measure(bench, kind)


main()
