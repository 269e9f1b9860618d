# SPDX-License-Identifier: MIT
"""imgtranspose --benchmark: what it measures and how it says so. How fast anything is is not judged.

usage: test_benchmark.py IMGTRANSPOSE
"""
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from folder import FolderTest

COMMAND = os.path.abspath(sys.argv[1])
BYTES = {"u8": 1, "u16": 2, "rgb8": 3, "rgba8": 4, "rgb16": 6, "f32": 4, "f64": 8, "rgbf32": 12,
         "rgbaf32": 16}
TURNS = ["none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270"]
KEYS = {"case": str, "width": int, "height": int, "orientation": str, "backend": str, "threads": int,
        "seconds": float, "gb_per_s": float, "of_copy": float}
SMALL = ("--memory-limit", "2M")  # buffers of 1 MiB: everything is measured, and soon


class BenchmarkTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.report = os.path.join(self.folder, "report.json")

    def run_command(self, *arguments, **environment):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=280,
                              env={**os.environ, "LC_ALL": "C", **environment})

    def fails(self, status, *arguments, says):
        result = self.run_command(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), arguments)
        self.assertRegex(result.stderr, f"^imgtranspose: .*{re.escape(says)}.*\n$")

    def rows(self, text):
        """The report's rows, each looked at alone."""
        machine, *rows = map(json.loads, text.splitlines())
        self.assertEqual(list(machine), ["machine", "processors", "l2_bytes", "last_cache_bytes", "version"])
        for row in rows:
            self.assertEqual({key: type(value) for key, value in row.items()}, KEYS)
            self.assertEqual(list(row), list(KEYS))
            moved = 2 * row["width"] * row["height"] * BYTES[row["case"]]
            self.assertGreater(row["seconds"], 0)
            self.assertGreater(row["of_copy"], 0)
            self.assertAlmostEqual(row["gb_per_s"] * row["seconds"] * 1e9 / moved, 1, places=9)
            self.assertLessEqual(moved, 2 << 20)
            self.assertIn(row["orientation"], TURNS)
        return rows

    def shapes(self, rows, case, turn, threads):
        return {(row["width"], row["height"]) for row in rows
                if (row["case"], row["orientation"], row["threads"]) == (case, turn, threads)}


class Measures(BenchmarkTest):
    def test_quick(self):
        result = self.run_command("--benchmark", "--threads", "1", "--report", self.report, *SMALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^imgtranspose: warning: memory for pictures of 1 MiB only.*\n$")
        with open(self.report) as file:
            rows = self.rows(file.read())
        self.assertEqual(len({row["backend"] for row in rows}), 1)
        for case in BYTES:
            sizes = self.shapes(rows, case, "rot90", 1)
            self.assertEqual(len(sizes), 4)  # near and far, each aligned and odd
            self.assertEqual(sorted((w % 2, h % 2) for w, h in sizes), [(0, 0), (0, 0), (1, 1), (1, 1)])
            for turn in ("none", "fliph", "flipv"):
                self.assertEqual(len(self.shapes(rows, case, turn, 1)), 1, (case, turn))
        # The table has the same rows, and no bars: this is not a terminal.
        self.assertTrue(result.stdout.isascii())
        table = [tuple(line.split()[:5]) for line in result.stdout.splitlines() if line.split()[:1] and
                 line.split()[0] in BYTES]
        self.assertEqual(table, [(row["case"], f"{row['width']}x{row['height']}", row["orientation"], row["backend"],
                                  str(row["threads"])) for row in rows])
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_full(self):
        result = self.run_command("--benchmark=full", "--threads", "2", "--backend", "c", "--report", "-", "-q", *SMALL)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        rows = self.rows(result.stdout)
        self.assertEqual({row["backend"] for row in rows}, {"c"})
        for case in BYTES:
            for turn in TURNS:
                for threads in (1, 2):
                    sizes = self.shapes(rows, case, turn, threads)
                    powers = {(w, h) for w, h in sizes if w & (w - 1) == 0 and h & (h - 1) == 0}
                    odd = {(w, h) for w, h in sizes if w % 2 and h % 2}
                    self.assertGreaterEqual(len(powers), 2, (case, turn, threads))
                    self.assertEqual(len(odd), 2, (case, turn, threads))
                    self.assertLessEqual({(w + 1, h + 1) for w, h in odd}, sizes)  # each has its neighbours
                    self.assertLessEqual({(w + 65, h + 65) for w, h in odd if min(w, h) > 64}, powers)
        self.assertEqual(len(rows), len(BYTES) * 8 * 2 * 6)

    def test_several_backends(self):
        listed = re.search("^backends: (.*)$", self.run_command("-v", "--version").stdout, re.M)[1].split(", ")
        best = [name for name in listed if name != "cuda" and " " not in name][0]
        result = self.run_command("--benchmark", "--threads", "1", "--report", "-", "-q", *SMALL, "--backend", "c,cpu,c",
                                  "--backend", "auto")
        rows = self.rows(result.stdout)
        self.assertEqual({row["backend"] for row in rows}, {"c", best})
        self.assertEqual(len({(*row.values(),)[:6] for row in rows}), len(rows))

    def test_a_signal_leaves_whole_lines(self):
        with subprocess.Popen([COMMAND, "--benchmark", "--report", "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline() + process.stdout.readline()
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=120)
        self.assertEqual((process.returncode, errors), (130, "imgtranspose: interrupted\n"))
        for line in (first + rest).splitlines():
            json.loads(line)


class Refusals(BenchmarkTest):
    def test_usage(self):
        for arguments in (["--", "in.png"], ["-o", "x"], ["-d", "."], ["--in-place"], ["--rotate", "90"], ["--stored"],
                          ["--raw", "1x1x1"]):
            self.fails(2, "--benchmark", *arguments, says="--benchmark makes its own pictures")
        self.fails(2, b"--benchmark=f\xe7ll", says="--benchmark takes nothing or =full")
        self.fails(2, "--benchmark=fast", says="takes nothing or =full, not 'fast'")
        self.fails(2, "--benchmark", "--threads", "-1", says="--threads takes")
        self.fails(2, "--checksum", "-o", "y", "in.png", says="--report FILE")
        self.assertEqual(os.listdir(self.folder), [])

    def test_backends(self):
        self.fails(2, "--benchmark", "--backend", "abacus", says="no backend is named 'abacus'")
        self.fails(2, "--benchmark", "--backend", "c,abacus", says="no backend is named 'abacus'")
        self.fails(2, "--benchmark", "--backend", "c,", says="names with commas")

    def test_the_report_replaces_nothing_unasked(self):
        with open(self.report, "w") as file:
            file.write("precious")
        self.fails(2, "--benchmark", "--report", self.report, says="exists: use --overwrite")
        with open(self.report) as file:
            self.assertEqual(file.read(), "precious")
        result = self.run_command("--benchmark", "--threads", "1", "--report", self.report, "--overwrite", *SMALL,
                                  TT_BACKEND="c")
        self.assertEqual(result.returncode, 0)
        with open(self.report) as file:
            self.assertEqual({row["backend"] for row in self.rows(file.read())}, {"c"})
        self.fails(2, "--benchmark", "--report", self.folder + "/no/such", says="cannot write the report")

    def test_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        result = self.run_command("--benchmark", "--threads", "1", "-q", "--report", "/dev/full", "--overwrite", *SMALL)
        self.assertEqual(result.returncode, 1)
        self.assertIn("could not be written", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
