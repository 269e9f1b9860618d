# SPDX-License-Identifier: MIT
"""When the command uses a GPU that nobody asked for: for a picture that its memory limit has no room for, and only then.

usage: test_command.py IMGTRANSPOSE
"""
import os
import sys
import unittest

import pngs
from command import CommandTest

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


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
