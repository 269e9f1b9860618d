# SPDX-License-Identifier: MIT
"""Tasks as lines of JSON: lists with a turn a picture, and a service that keeps one process.

usage: test_tasks.py IMGTRANSPOSE
"""
import base64
import json
import os
import select
import signal
import subprocess
import sys
import unittest

import command
from command import ARGUMENTS
from test_inputs import InputTest, pgm, rot90


class TaskTest(InputTest):
    def setUp(self):
        super().setUp()
        self.make("a.pgm", "b.pgm", folder=".")

    def tasks(self, lines, *arguments, status=0):
        """The answers by their lines, and what stands on stderr."""
        text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        run = self.run_command("--tasks", "-", *arguments, input=text)
        self.assertEqual(run.returncode, status, (run.stdout, run.stderr))
        *answers, summary = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual((summary["event"], summary["exit_status"]), ("summary", status))
        return {answer["line"]: answer for answer in answers if answer["event"] == "file"}, run.stderr.decode()


class Lists(TaskTest):
    def test_an_operation_each(self):
        lines = [{"op": name, "in": "a.pgm", "out": f"{name}.pgm"} for name in ARGUMENTS]
        answers, _ = self.tasks(lines)
        rows = [list(pgm(b"a.pgm")[-6:][y * 3:][:3]) for y in range(2)]
        for number, name in enumerate(ARGUMENTS, 1):
            turned = command.turn(rows, name)
            self.assertEqual(self.read(f"{name}.pgm"), b"P5\n%d %d\n255\n" % (len(turned[0]), len(turned))
                             + bytes(sum(turned, [])), name)
            answer = answers[number]
            self.assertEqual((answer["input"], answer["output"], answer["operation"], answer["status"]),
                             ("a.pgm", f"{name}.pgm", name, "copied" if name == "none" else "turned"))

    def test_from_a_file_and_into_a_report(self):
        self.write("list", b'{"op":"rot90","in":"a.pgm","out":"x.pgm"}\r\n\n  \n{"in":"b.pgm","out":"y.pgm","op":"auto"}')
        self.assertEqual(self.succeeds("--tasks", "list", "--report", "report").stdout, b"")
        answers = [json.loads(line) for line in self.read("report").splitlines()]
        self.assertEqual([answer.get("line") for answer in sorted(answers, key=lambda a: a.get("line", 9))], [1, 4, None])
        self.assertEqual((self.read("x.pgm"), self.read("y.pgm")), (rot90(pgm(b"a.pgm")), pgm(b"b.pgm")))

    def test_where_the_command_line_says(self):
        self.make("sub/c.pgm", folder=".")
        self.tasks([{"in": "sub/c.pgm"}, {"in": "a.pgm"}, {"in": "b.pgm", "out": "else.pgm"}], "--rotate", "90", "-d", "out")
        self.assertEqual(self.tree(), [b"a.pgm", b"sub/c.pgm"])
        self.assertEqual(self.read("else.pgm"), rot90(pgm(b"b.pgm")))
        answers, _ = self.tasks([{"in": "a.pgm"}, {"in": "b.pgm", "op": "none"}, {"in": "sub/c.pgm", "out": "x.pgm"}],
                                "--rotate", "90", "--in-place", status=1)
        self.assertEqual([answers[number]["status"] for number in (1, 2, 3)], ["turned", "unchanged", "failed"])
        self.assertEqual(answers[3]["message"], 'has an "out", and --in-place needs none: leave out one of them')
        self.assertEqual(self.read("sub/c.pgm"), pgm(b"sub/c.pgm"))
        self.assertEqual((self.read("a.pgm"), self.read("b.pgm")), (rot90(pgm(b"a.pgm")), pgm(b"b.pgm")))

    def test_bad_lines_are_answered(self):
        bad = [(b"words\n", "no task"), (b"{}\n", "\"op\""), (b'{"op":"rot90"}\n', "\"in\""), (b"[]\n", "no task"),
               (b'{"op":"rot91","in":"a.pgm","out":"x"}\n', "rot91"), (b'{"op":"rot90","in":"a.pgm"}\n', "\"out\""),
               (b'{"op":5,"in":"a.pgm","out":"x"}\n', "\"op\""), (b'{"op":"rot90","in":"","out":"x"}\n', "\"in\""),
               (b'{"op":"rot90","in":null,"out":"x"}\n', "\"in\""), (b'{"op":"rot90","in":["a.pgm"],"out":"x"}\n', "no task"),
               (b'{"op":"rot90","in":"a.pgm","out":"x","to":"y"}\n', "\"to\""),
               (b'{"op":"rot90","in":"a.pgm","out":"x"} {"op":"rot90","in":"b.pgm","out":"y"}\n', "no task"),
               (b'{"op":"rot90","in":"a.pgm","out":"x"\n', "no task"), (b'{"op":"rot90","in":"a.pgm","out":"x",}\n', "JSON"),
               (b'{"op":"rot90","in":"a.pgm\\u0000","out":"x"}\n', "no task"), (b'{"op":"rot90","in":"\xff","out":"x"}\n', "UTF-8"),
               (b'{"op":"rot90","in":"a.pgm\0","out":"x"}\n', "UTF-8"), (b"[" * 500000 + b"\n", "no task"),
               (b'{"op":"rot90","in":"a.pgm","out":"' + b"x" * (1 << 21) + b'"}\n', "megabyte"),
               ({"op": "rot90", "in": "a.pgm", "out": "a.pgm"}, "--in-place"),
               ({"op": "rot90", "in": "a.pgm", "out": "./sub/../a.pgm"}, "no such folder"),
               ({"op": "rot90", "in": "a.pgm", "out": "nowhere/x"}, "no such folder"),
               ({"op": "rot90", "in": "-", "out": "x"}, "\"-\""), ({"op": "rot90", "in": "a.pgm", "out": "-"}, "\"-\""),
               ({"op": "rot90", "in": "no.pgm", "out": "x"}, "does not exist"), ({"op": "rot90", "in": ".", "out": "x"}, "folder"),
               ({"op": "rot90", "in": "a.pgm", "out": "b.pgm"}, "exists")]
        lines, expected = [], {}
        for line, says in bad:
            lines += [line, {"op": "rot90", "in": "a.pgm", "out": f"{len(lines)}.pgm"}]
            expected[len(lines) - 1] = says
        answers, errors = self.tasks(lines, status=1)
        self.assertEqual(len(answers), len(lines))
        self.assertEqual(errors.count("\n"), len(bad) + 1, errors)
        for number, answer in answers.items():
            if number in expected:
                self.assertEqual(answer["status"], "failed", answer)
                self.assertIn(expected[number], answer["message"])
            else:
                self.assertEqual(answer["status"], "turned")
                self.assertEqual(self.read(f"{number - 2}.pgm"), rot90(pgm(b"a.pgm")))
        self.assertEqual(self.read("b.pgm"), pgm(b"b.pgm"))
        self.assertEqual(len(self.files()), 2 + len(bad))

    def test_lines_that_touch_the_same_files_keep_their_order(self):
        for _ in range(10):
            chain = [{"op": "rot90", "in": "a.pgm" if i == 0 else f"{i - 1}.pgm", "out": f"{i}.pgm"} for i in range(20)]
            again = [{"op": "rot90" if i % 2 else "rot270", "in": "b.pgm", "out": "same.pgm"} for i in range(9)]
            self.tasks([line for pair in zip(chain, again) for line in pair] + chain[9:], "--overwrite", "-j", "4")
            self.assertEqual(self.read("19.pgm"), pgm(b"a.pgm"))  # twenty quarter turns
            self.assertEqual(self.read("same.pgm"), rot90(rot90(rot90(pgm(b"b.pgm")), 2, 3)))

    def test_in_place_one_after_another(self):
        self.tasks([{"in": "a.pgm"}] * 6, "--rotate", "90", "--in-place", "-j", "4")
        self.assertEqual(self.read("a.pgm"), rot90(rot90(pgm(b"a.pgm")), 2, 3))

    def test_the_first_failure_can_be_the_end(self):
        lines = [{"op": "rot90", "in": name, "out": name + ".out"} for name in ("a.pgm", "no.pgm", "b.pgm")]
        answers, _ = self.tasks(lines, "--fail-fast", "-j", "1", status=1)
        self.assertEqual(sorted(answers), [1, 2])
        self.assertEqual(self.files(), ["a.pgm", "a.pgm.out", "b.pgm"])

    def test_names_of_all_kinds(self):
        names = [b"\xff\xfe", b"a\nb", b"-x", b"./-", b'"\\', "\N{SNOWMAN}".encode(), b"[1].pgm", b"n" * 255]
        lines = []
        for name in names:
            self.make(name, folder=".")
            line = {"op": "rot90"}
            for key, value in (("in", name), ("out", name[:250] + b".out")):
                try:
                    line[key] = value.decode()
                except UnicodeDecodeError:
                    line[key + "_bytes"] = base64.b64encode(value).decode()
            lines.append(line)
        self.tasks(lines)
        for name in names:
            with open(os.path.join(os.fsencode(self.folder), name[:250] + b".out"), "rb") as file:
                self.assertEqual(file.read(), rot90(pgm(name)))

    def test_shares(self):
        lines = [{"op": "rot90", "in": "a.pgm", "out": f"a{i}.pgm"} for i in range(3)]
        lines += [{"op": "rot90", "in": "b.pgm", "out": f"b{i}.pgm"} for i in range(3)]
        self.write("list", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        done = []
        for i in range(5):
            run = self.run_command("--tasks", "list", "--shard", f"{i}/5")
            self.assertEqual(run.returncode, 0, run.stderr)
            done += [json.loads(line).get("line") for line in run.stdout.splitlines()][:-1]
        self.assertEqual(sorted(done), [1, 2, 3, 4, 5, 6])

    def test_plan(self):
        self.write("list", b'{"op":"rot90","in":"a.pgm","out":"x y.pgm"}\nno\n{"op":"auto","in":"a.pgm","out":"b.pgm"}\n')
        run = self.run_command("--tasks", "list", "-n")
        self.assertEqual((run.returncode, run.stderr.count(b"\n")), (1, 1))
        self.assertEqual(run.stdout.decode(), "rot90       a.pgm -> 'x y.pgm'\nrefuse      a.pgm -> b.pgm\n")
        self.assertEqual(self.files(), ["a.pgm", "b.pgm", "list"])

    def test_usage(self):
        self.write("list", b"")
        self.write("blank", b"\n \n\r\n")
        for more in (["a.pgm"], ["--files-from", "list"], ["-o", "x"], ["-r"], ["--include", "*"]):
            self.fails(2, "--tasks", "list", *more, says=("--tasks",))
        self.fails(2, "--tasks", "nowhere", says=("nowhere",))
        for empty in ("list", "blank"):
            self.fails(3, "--tasks", empty, says=("no task",))
        self.fails(1, "--tasks", ".", lines=1, says=("cannot read the tasks",))


class Service(TaskTest):
    def start(self, *arguments):
        return self.launch("--tasks", "-", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def test_each_line_is_answered_before_the_next_is_written(self):
        service = self.start()
        for i in range(20):
            line = json.dumps({"op": "rot90", "in": "a.pgm", "out": f"{i}.pgm"}).encode()
            service.stdin.write(line[:9])  # lines may come in parts, and many at once
            service.stdin.write(line[9:] + b"\n" + (b"bad\n" if i % 5 == 0 else b""))
            for _ in range(2 if i % 5 == 0 else 1):
                answer = json.loads(service.stdout.readline())
                if "input" in answer:
                    self.assertEqual((answer["status"], answer["output"]), ("turned", f"{i}.pgm"))
                    self.assertEqual(self.read(f"{i}.pgm"), rot90(pgm(b"a.pgm")))
                else:
                    self.assertEqual((answer["status"], answer["message"][:10]), ("failed", "is no task"))
        service.stdin.close()
        self.assertEqual(json.loads(service.stdout.readline())["turned"], 20)
        self.assertEqual(service.wait(timeout=120), 1)

    def test_order_where_a_folder_appears_meanwhile(self):
        os.makedirs(self.path("sub"))
        os.mkfifo(self.path("sub/p.pgm"))
        service = self.start("-j", "2", "-d", "out")
        service.stdin.write(b'{"op":"rot90","in":"sub/p.pgm"}\n')
        with open(self.writing_end(service, "sub/p.pgm"), "wb") as pipe:  # the first task has begun
            os.makedirs(self.path("out/sub"))
            service.stdin.write(b'{"op":"rot90","in":"out/sub/p.pgm","out":"out/twice.pgm"}\n')
            self.assertEqual(select.select([service.stdout], [], [], 0.5)[0], [])
            pipe.write(pgm(b"p"))
        answers = [json.loads(service.stdout.readline()) for _ in range(2)]
        self.assertEqual([(answer["line"], answer["status"]) for answer in answers], [(1, "turned"), (2, "turned")])
        service.stdin.close()
        self.assertEqual(service.wait(timeout=120), 0)
        self.assertEqual(self.read("out/twice.pgm"), pgm(b"p")[:-6] + pgm(b"p")[:-7:-1])

    def test_signals_end_a_service_that_waits(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            service = self.start()
            service.stdin.write(b'{"op":"rot90","in":"a.pgm","out":"%d.pgm"}\n' % number)
            self.assertEqual(json.loads(service.stdout.readline())["status"], "turned")
            service.send_signal(number)
            self.assertEqual(service.wait(timeout=120), 128 + number)
            service.stdin.close()

    def test_a_client_that_is_gone(self):
        service = self.start()
        service.stdout.close()
        service.stdin.write(b'{"op":"rot90","in":"a.pgm","out":"x.pgm"}\n')
        service.stdin.close()
        self.assertEqual(service.wait(timeout=120), 1)
        self.assertEqual(self.read("x.pgm"), rot90(pgm(b"a.pgm")))  # done, and nobody heard of it


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
