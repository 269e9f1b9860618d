# SPDX-License-Identifier: MIT
"""What the command tells of a run: the report, its journal, the summary.

usage: test_report.py IMGTRANSPOSE
"""
import base64
import hashlib
import json
import os
import sys
import unittest

import command
import pngs


class ReportTest(command.CommandTest):
    def events(self, name="report"):
        return [json.loads(line) for line in self.read(name).splitlines()]


class Lines(ReportTest):
    def test_a_line_a_file_and_a_summary(self):
        good, upright = pngs.png(5, 3, before=pngs.chunk(b"eXIf", pngs.exif(6))), pngs.png(4, 2)
        self.write("good.png", good)
        self.write("upright.png", upright)
        self.write("bad.png", b"text")
        os.mkdir(self.path("out"))
        result = self.run_command("--auto-orient", "-d", "out", "--report", "report", "--checksum", "good.png",
                                  "upright.png", "bad.png", "none.png")
        self.assertEqual(result.returncode, 1)
        *files, summary = self.events()
        files = {os.path.basename(event["input"]): event for event in files}
        self.assertEqual({event["event"] for event in files.values()}, {"file"})
        self.assertEqual({name: event["status"] for name, event in files.items()},
                         {"good.png": "turned", "upright.png": "copied", "bad.png": "failed", "none.png": "failed"})
        turned = files["good.png"]
        output = self.read("out/good.png")
        for key, value in (("output", "out/good.png"), ("operation", "none"), ("turn", "rot90"), ("width", 5),
                           ("height", 3), ("turned_width", 3), ("turned_height", 5), ("bytes_in", len(good)),
                           ("bytes_out", len(output)), ("input_sha256", hashlib.sha256(good).hexdigest()),
                           ("output_sha256", hashlib.sha256(output).hexdigest())):
            self.assertEqual(turned[key], value, key)
        self.assertIn("backend", turned)
        self.assertGreater(turned["seconds"]["all"], 0)
        self.assertEqual(files["upright.png"]["output_sha256"], hashlib.sha256(upright).hexdigest())
        self.assertIn("no image", files["bad.png"]["message"])
        self.assertIn("does not exist", files["none.png"]["message"])
        for key, value in (("event", "summary"), ("files", 4), ("turned", 1), ("copied", 1), ("failed", 2),
                           ("unchanged", 0), ("skipped", 0), ("exit_status", 1),
                           ("bytes_in", len(good) + len(upright) + 4), ("bytes_out", len(output) + len(upright))):
            self.assertEqual(summary[key], value, key)

    def test_names_are_bytes(self):
        names = [b"\xff\xfe.pgm", b"a\nb.pgm", "\N{SNOWMAN}.pgm".encode(), b'"\\.pgm', b"-"]
        for name in names:
            with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
                file.write(b"P5 2 1 255\nab")
        self.assertEqual(self.run_command("--rotate", "90", "--in-place", "--report", "report", "--",
                                          *(b"./" + name for name in names)).returncode, 0)
        told = []
        for event in self.events():
            if event["event"] == "file":
                self.assertEqual("input_bytes" in event, b"\xff" in os.fsencode(event["input"])
                                 or "\N{REPLACEMENT CHARACTER}" in event["input"])
                told.append(base64.b64decode(event["input_bytes"]) if "input_bytes" in event
                            else event["input"].encode())
        self.assertEqual(sorted(told), sorted(b"./" + name for name in names))

    def test_lines_are_appended_and_half_ones_ended(self):
        self.write("in.png", pngs.png(5, 3))
        self.write("report", b'{"event":"summary"}\n{"event":"fi')
        self.run_command("--rotate", "90", "-o", "out.png", "--report", "report", "in.png")
        lines = self.read("report").splitlines()
        self.assertEqual(lines[:2], [b'{"event":"summary"}', b'{"event":"fi'])
        self.assertEqual([json.loads(line)["event"] for line in lines[2:]], ["file", "summary"])

    def test_on_stdout(self):
        self.write("in.png", pngs.png(5, 3))
        result = self.run_command("--rotate", "90", "-o", "out.png", "--report", "-", "in.png")
        self.assertEqual([json.loads(line)["event"] for line in result.stdout.splitlines()], ["file", "summary"])

    def test_what_a_pipe_does_not_have_is_left_out(self):
        for data in (b"P5 3 2 255\nabcdef", pngs.png(5, 3)):
            result = self.run_command("--rotate", "90", "-p", "-o", "out", "--overwrite", "--report", "-", "--checksum", "-",
                                      input=data)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            event = json.loads(result.stdout.splitlines()[0])
            self.assertEqual(event["output_sha256"], hashlib.sha256(self.read("out")).hexdigest())
            self.assertFalse({"input_sha256", "bytes_in"} & set(event))

    def test_a_picture_is_no_report(self):
        picture = pngs.png(5, 3)
        self.write("in.png", picture)
        self.fails(2, "--rotate", "90", "--in-place", "--report", "in.png", "in.png", says=("in.png", "report"))
        self.assertEqual(self.read("in.png"), picture)

    def test_a_report_that_cannot_be_written_fails_the_run(self):
        self.write("in.png", pngs.png(5, 3))
        self.fails(2, "--rotate", "90", "-o", "out.png", "--report", "none/report", "in.png", says=("none/report",))
        self.assertEqual(self.files(), ["in.png"])
        self.assertEqual(self.run_command("--rotate", "90", "-o", "out.png", "--report", "/dev/full",
                                          "in.png").returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
