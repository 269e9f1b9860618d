# SPDX-License-Identifier: MIT
"""When the command uses a GPU that nobody asked for: for a picture that its memory limit has no room for, and only then.
And what it does with those that it was asked to use.

usage: test_command.py IMGTRANSPOSE
"""
import json
import os
import signal
import subprocess
import sys
import unittest

import pngs
from command import COMMAND, CommandTest

LITTLE = ("--memory-limit", "100K")


class Choice(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("TT_FAKE_CUDA", "TT_BACKEND"):
            os.environ.pop(name, None)
        os.environ["TMPDIR"] = self.folder
        self.write("in.png", pngs.png(301, 203, 8, 2))
        self.succeeds("--rotate", "90", "--backend", "c", "-o", "want.png", "in.png")

    def where(self, *arguments, **environment):
        """What -v says of how the picture was turned, rightly."""
        os.environ.update(environment)
        result = self.run_command("-v", "--rotate", "90", "--overwrite", "-o", "out.png", *arguments, "in.png")
        text = result.stderr.decode()
        self.assertEqual(result.returncode, 0, text)
        self.assertEqual(self.read("out.png"), self.read("want.png"))
        return text

    def test_a_picture_over_the_limit(self):
        text = self.where(*LITTLE)
        self.assertIn("memory of GPU 0: the picture takes", text)
        self.assertIn("allowed", text)
        self.assertIn("GPU 0", self.where("--backend", "auto", *LITTLE))

    def test_a_picture_within_it(self):
        text = self.where("--memory-limit", "1G")
        self.assertIn("in memory", text)
        self.assertNotIn("GPU", text)

    def test_another_backend_was_asked_for(self):
        for how in ({"TT_BACKEND": "cpu"}, {"TT_BACKEND": "c"}):
            text = self.where(*LITTLE, **how)
            self.assertIn("in a file", text)
            self.assertNotIn("GPU", text)
        os.environ["TT_BACKEND"] = ""
        self.assertIn("in a file", self.where("--backend", "cpu", *LITTLE))

    def test_no_gpu_or_no_room_on_it(self):
        for fake in ("none", "old", "memory=100", "fail=5"):
            text = self.where(*LITTLE, TT_FAKE_CUDA=fake)
            self.assertIn("in a file", text, fake)
            self.assertNotIn("GPU", text)

    def test_it_fails_in_the_midst(self):
        failures, copy = 0, 0
        while copy == failures:  # rows go there, then come back
            copy += 1
            text = self.where(*LITTLE, TT_FAKE_CUDA=f"copy={copy}")
            self.assertIn("GPU 0", text)
            failures += "once more, by the processor" in text
        self.assertGreaterEqual(failures, 2)
        for copy in (1, failures):
            self.write(f"{copy}.png", self.read("in.png"))
            os.environ["TT_FAKE_CUDA"] = f"copy={copy}"
            result = self.run_command("--rotate", "90", *LITTLE, "--in-place", f"{copy}.png")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
            self.assertEqual(self.read(f"{copy}.png"), self.read("want.png"))

    def test_it_fails_in_the_midst_of_a_pipe(self):
        source = b"P6 301 203 255\n" + bytes(i * 7 % 251 for i in range(301 * 203 * 3))
        os.environ["TT_FAKE_CUDA"] = "copy=1"
        result = self.run_command("--rotate", "90", *LITTLE, "-o", "out.ppm", "-", input=source)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"a pipe cannot be read again (use --backend cpu): ", result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        self.assertNotIn("out.ppm", os.listdir(self.folder))

    def test_it_fails_of_several_files_of_libvips(self):
        """Which go through it one by one: who is turned once more waits for that, and holds no memory that others wait for."""
        names = [f"in{i}.hdr" for i in range(6)]
        for i, name in enumerate(names):
            self.write(name, b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 300 +X 400\n" + bytes((j * 7 + i) % 127 + 128 for j in range(400 * 300 * 4)))
        wanted, out = os.path.join(self.folder, "wanted"), os.path.join(self.folder, "turned")
        for folder in (wanted, out):
            os.mkdir(folder)
        if b"is no image that this build reads" in self.run_command("--rotate", "90", "-d", wanted, names[0]).stderr:
            self.skipTest("SKIPPED: a build without libvips")
        self.succeeds("-q", "--rotate", "90", "--backend", "c", "--overwrite", "-d", wanted, *names)
        os.environ["TT_FAKE_CUDA"] = "copy=1"
        result = self.run_command("-q", "--rotate", "90", *LITTLE, "-j", "2", "-d", out, *names)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in names:
            self.assertEqual(self.read(f"turned/{name}"), self.read(f"wanted/{name}"), name)

    def test_its_rows_keep_their_order(self):
        result = self.run_command("-v", "--flip", "horizontal", "-o", "out.png", *LITTLE, "in.png")
        self.assertEqual(result.returncode, 0)
        self.assertNotIn(b"GPU", result.stderr)


class Asked(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("TT_FAKE_CUDA", "TT_BACKEND"):
            os.environ.pop(name, None)

    def test_files_go_round_the_gpus(self):
        names = [f"{i}.png" for i in range(6)]
        for i, name in enumerate(names):
            self.write(name, pngs.png(31 + i, 23, 8, 2))
        self.succeeds("--rotate", "90", "--backend", "c", "-d", "want", *names)
        for number, gpu in enumerate((None, 0, 1)):
            which = () if gpu is None else ("--device", str(gpu))
            self.succeeds("--rotate", "90", "--backend", "cuda", *which, "-j", "2", "--report", f"report{number}", "-d", f"out{number}", *names)
            events = [json.loads(line) for line in self.read(f"report{number}").splitlines()][:-1]
            self.assertEqual({(event["backend"], event["status"]) for event in events}, {("cuda", "turned")})
            self.assertLessEqual({event["device"] for event in events}, {0, 1} if gpu is None else {gpu})
            for name in names:
                self.assertEqual(self.read(f"out{number}/{name}"), self.read(f"want/{name}"))

    def test_one_that_is_not_there(self):
        self.write("in.png", pngs.png(5, 3))
        arguments = ("--rotate", "90", "-o", "out.png", "in.png", "--backend", "cuda")
        text = self.fails(4, *arguments, "--device", "2")
        self.assertEqual(text, "imgtranspose: there is no GPU 2: the driver finds 2, numbered from 0\n")
        os.environ["TT_FAKE_CUDA"] = "none"
        text = self.fails(4, *arguments)
        self.assertEqual(text, "imgtranspose: the backend 'cuda' cannot run: the NVIDIA driver finds no GPU here\n")
        self.assertEqual(self.files(), ["in.png"])

    def test_those_that_are_there_are_named(self):
        said = self.run_command("-v", "--version").stdout.decode().splitlines()
        self.assertEqual([line.split(",")[0] for line in said if line.startswith("GPU")], ["GPU 0: Fake GPU", "GPU 1: Fake GPU"])


class Benchmark(CommandTest):
    """Each turn is compared with a naive loop before it is measured. The first rows will do: the shim takes its time."""

    def first_rows(self, most, fail=0):
        """The report's rows, until there are so many; the status and what stands on stderr."""
        environment = {**os.environ, "TT_FAKE_CUDA": f"fail={fail}"}
        run = subprocess.Popen([COMMAND, "-q", "--benchmark", "--backend", "cuda", "--threads", "1", "--memory-limit", "2M",
                                "--report", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        rows = []
        for line in run.stdout:
            if b'"case"' in line:
                rows.append(json.loads(line))
                if len(rows) == most:
                    run.send_signal(signal.SIGINT)
        text = run.stderr.read().decode()
        run.stdout.close()
        run.stderr.close()
        return rows, run.wait(), text

    def test_it_measures(self):
        rows, status, text = self.first_rows(4)
        self.assertEqual((status, text), (130, "imgtranspose: interrupted\n"))
        self.assertEqual([(row["case"], row["orientation"], row["backend"]) for row in rows[:4]],
                         [("u8", "rot90", "cuda")] * 2 + [("u16", "rot90", "cuda")] * 2)
        for row in rows:  # its clock has one tick for all, so that a turn is as fast as a copy
            self.assertEqual(row["of_copy"], 1)

    def test_each_call_that_fails(self):
        failures = 0
        for fail in range(1, 20):
            rows, status, text = self.first_rows(1, fail)
            if rows:  # a call that can be done without
                self.assertEqual(status, 130)
                continue
            failures += 1
            self.assertIn(status, (1, 4), fail)
            self.assertRegex(text, r"\Aimgtranspose: (no memory for two pictures of 1 MiB: nvidia-smi shows what else uses the GPU, and "
                                   r"whether it works|the backend 'cuda' cannot run: .*made to fail \(error 999\)|"
                                   r"u8 \d+x\d+ rot90 by cuda with 1 thread: the GPU failed.*)\n\Z")
        self.assertGreater(failures, 15)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
