#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quarter turns of arrays in memory by OpenCV, NumPy and Pillow: what a Python user would pick instead.

One line of JSON a measurement, of the cases of `imgtranspose --benchmark` and the largest sizes that its report has. `of_copy` is the time of the best copy of as many bytes, by one thread or by all, over that of the turn; the
copies and turns of a case alternate, and medians are given. What is not installed is named and left out.

    arrays.py bench.jsonl > peers.jsonl
"""
import concurrent.futures
import json
import os
import statistics
import sys
import time

import numpy as np

try:
    import cv2
except ImportError:
    cv2 = None
try:
    from PIL import Image
except ImportError:
    Image = None

ROUNDS = 5
CASES = [("u8", np.uint8, 1), ("u16", np.uint16, 1), ("rgb8", np.uint8, 3), ("rgba8", np.uint8, 4), ("rgb16", np.uint16, 3),
         ("f32", np.float32, 1), ("rgbf32", np.float32, 3), ("rgbaf32", np.float32, 4), ("f64", np.float64, 1)]
CORES = len(os.sched_getaffinity(0))
POOL = concurrent.futures.ThreadPoolExecutor(CORES)


def sizes(report, case):
    """The largest ones of the report: with sides of whole cache lines, just below powers of two, and one pixel less."""
    found = sorted((row["width"], row["height"]) for row in report if row.get("case") == case)
    shapes = {"aligned": [size for size in found if size[0] % 64 == 0 and size[0] & (size[0] - 1)], "odd": [size for size in found if size[0] % 64]}
    return {shape: sizes[-1] for shape, sizes in shapes.items()}


def copy_by_all(target, source):
    rows = -(-len(source) // CORES)
    list(POOL.map(lambda at: np.copyto(target[at : at + rows], source[at : at + rows]), range(0, len(source), rows)))


def ways(image, twin, turned):
    """What is measured: the copies, and the turns with their results."""
    copies = {"copy": lambda: np.copyto(twin, image), "copy by all": lambda: copy_by_all(twin, image)}
    turns = {"NumPy": lambda: np.copyto(turned, np.rot90(image, -1))}
    if cv2:
        turns["OpenCV"] = lambda: cv2.rotate(image, cv2.ROTATE_90_CLOCKWISE, dst=turned)
    if Image and image.dtype == np.uint8:
        picture = Image.fromarray(image)
        turns["Pillow"] = lambda: picture.transpose(Image.Transpose.ROTATE_270)  # which counts anticlockwise
    return copies, turns


def same(a, b):
    """To the bit: what is random has numbers that are none."""
    return all(np.array_equal(np.ascontiguousarray(row).view(np.uint8), np.ascontiguousarray(other).view(np.uint8)) for row, other in zip(a, b, strict=True))


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(case, shape, width, height, image):
    twin, turned = np.zeros_like(image), np.zeros((width, height) + image.shape[2:], image.dtype)
    copies, turns = ways(image, twin, turned)
    for name, turn in turns.items():  # right, and every page touched
        turned[:] = 0xA5
        result = turn()
        assert same(turned if name != "Pillow" else np.asarray(result), np.rot90(image, -1)), (case, name)
    times = {name: [] for name in (*copies, *turns)}
    for _ in range(ROUNDS):
        for name, work in {**copies, **turns}.items():
            times[name].append(seconds(work))
    median = {name: statistics.median(values) for name, values in times.items()}
    best = min(median[name] for name in copies)
    for name in ("copy", *turns):
        took = best if name == "copy" else median[name]
        print(json.dumps({"case": case, "shape": shape, "what": name, "width": width, "height": height, "orientation": "rot90", "seconds": round(took, 6),
                          "gb_per_s": round(2e-9 * image.nbytes / took, 2), "of_copy": round(best / took, 4)}), flush=True)


def main():
    peers = {"NumPy": np.__version__, "OpenCV": cv2 and cv2.__version__, "Pillow": Image and sys.modules["PIL"].__version__}
    for name in [name for name, version in peers.items() if not version]:
        print(f"{name} is not installed: left out", file=sys.stderr)
    print(json.dumps({"about": "arrays in memory, a quarter turn", "processors": CORES, "peers": {k: v for k, v in peers.items() if v},
                      "opencv_threads": cv2.getNumThreads() if cv2 else 0}))
    with open(sys.argv[1]) as file:
        report = [json.loads(line) for line in file]
    random = np.random.default_rng(1)
    for case, kind, channels in CASES:
        for shape, (width, height) in sizes(report, case).items():
            bytes_of = random.integers(0, 256, width * height * channels * np.dtype(kind).itemsize, np.uint8)
            measure(case, shape, width, height, bytes_of.view(kind).reshape((height, width) + ((channels,) if channels > 1 else ())))


main()
