#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's charts are what their data make of them, and XML.

    test_charts.py FOLDER_OF_BENCHMARKS
"""
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

BENCH = sys.argv[1]
CHARTS = ["cpu.svg", "files.svg", "h200.svg"]


def check(bench):
    return subprocess.run([sys.executable, os.path.join(bench, "charts/charts.py"), "--check"], capture_output=True, text=True)


def main():
    done = check(BENCH)
    assert done.returncode == 0, done.stdout + done.stderr
    drawn = sorted(name for name in os.listdir(os.path.join(BENCH, "charts")) if name.endswith(".svg"))
    assert drawn == CHARTS, drawn
    for name in CHARTS:
        root = xml.etree.ElementTree.parse(os.path.join(BENCH, "charts", name)).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
        assert len(root.findall("{http://www.w3.org/2000/svg}rect")) > 20, f"{name} shows next to nothing"

    # That other data make other charts, each of them.
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "bench")
        shutil.copytree(BENCH, copy)
        for path, what, instead in (("cpu/xeon/bench.jsonl", '"version":"', '"version":"9.'), ("cpu/xeon/files.jsonl", '"cpu": ', '"cpu": 7'),
                                    ("gpu/h200/bench.jsonl", '"of_copy":0.9', '"of_copy":0.1')):
            with open(os.path.join(copy, path)) as file:
                data = file.read()
            assert what in data, (path, what)
            with open(os.path.join(copy, path), "w") as file:
                file.write(data.replace(what, instead))
        done = check(copy)
        assert done.returncode == 1 and all(name in done.stdout for name in CHARTS), done.stdout + done.stderr


main()
