# SPDX-License-Identifier: MIT
"""Spoilt files of every format, in runs of many: no crash, no hang, no more memory than is allowed, a clear line for each
that fails, and nothing left of it; and what is written can be read.

usage: test_mutants.py IMGTRANSPOSE [Mutants.test_FORMAT...]

TT_MUTANTS says how many of each format, 40 without; TT_KEEP names a folder for those that are a finding.
"""
import os
import shutil
import sys
import unittest

import mutate
import seeds
from bounded import HostileTest, Run, bound, outcomes

MUTANTS = int(os.environ.get("TT_MUTANTS", "40"))
TOGETHER = 40
OPERATIONS = (["--rotate", "90"], ["--transpose"], ["--auto-orient"], ["--rotate", "180"], ["--flip", "horizontal", "--strip"],
              ["--rotate", "270", "--stored"], ["--flip", "vertical"], ["--transverse", "--jpeg", "reencode"], ["--rotate", "90", "--jpeg", "tag"])


class Mutants(HostileTest):
    def culprits(self, names, arguments):
        """Of a run that broke a bound: the files that do so alone."""
        found = []
        for name in names:
            run = Run(bound(*arguments, name), self.folder)
            try:
                self.within_bounds(run, name)
            except AssertionError as error:
                found.append(f"{name}: {error}")
                if "TT_KEEP" in os.environ:
                    shutil.copy(self.path(name), os.environ["TT_KEEP"])
        return "\n".join(found) or "none alone"

    def runs(self, names, *arguments):
        """All at once. {name: event}"""
        if os.path.exists(self.path("report")):
            os.remove(self.path("report"))
        run = Run(bound(*arguments, "-j", "2", "--report", "report", *names), self.folder)
        try:
            self.within_bounds(run, " ".join(arguments))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.culprits(names, arguments)}") from None
        events = outcomes(self.path("report"))
        self.assertEqual(sorted(events), sorted(os.path.basename(name) for name in names))
        failed = [name for name in names if events[os.path.basename(name)]["status"] == "failed"]
        self.assertEqual(run.status, 1 if failed else 0)
        self.clear_lines(run, failed, " ".join(arguments))
        self.left_alone(names)
        self.memory = max(self.memory, run.memory)
        return events

    def check(self, kind, files):
        self.memory, turned, of = 0, 0, 0
        for first in range(0, MUTANTS, TOGETHER):
            batch = {}
            for number in range(first, min(first + TOGETHER, MUTANTS)):
                ending, data = mutate.mutant(kind, files, number)
                batch[f"{number}.{ending}"] = data
            for name, data in batch.items():
                self.write(name, data)
            operation = OPERATIONS[first // TOGETHER % len(OPERATIONS)]
            os.mkdir(self.path("out"))
            events = self.runs(list(batch), *operation, "-d", "out")
            written = sorted(os.listdir(self.path("out")))
            self.assertEqual(written, sorted(name for name in batch if events[name]["status"] != "failed"))
            turned, of = turned + len(written), of + len(batch)
            if written and "tag" not in operation:  # which moves no pixels, and so sees no damage of theirs
                back = self.runs([f"out/{name}" for name in written], "-q", "--rotate", "90", "--overwrite", "-d", "back")
                for name, event in back.items():
                    # A copy is as it was; and not each turn without loss has a way on.
                    if event["status"] == "failed" and events[name]["status"] == "turned":
                        self.assertRegex(event["message"], "without loss|--jpeg|libvips would", (name, event["message"]))
            events = self.runs(list(batch), *operation, "--in-place")
            for name, data in batch.items():
                if events[name]["status"] != "turned":
                    self.assertEqual(self.read(name), data, name)
                os.remove(self.path(name))
            shutil.rmtree(self.path("out"))
            shutil.rmtree(self.path("back"), ignore_errors=True)
        print(f"{kind}: {of} mutants, {turned} turned or copied, {of - turned} refused, at most {self.memory} MB", file=sys.stderr)


def test_of(kind):
    def test(self):
        files = seeds.seeds(kind)
        if not files:
            self.skipTest(f"the command vips does not write {kind} here")
        self.check(kind, files)
    return test


for kind in seeds.FORMATS:
    setattr(Mutants, "test_" + kind.lower().replace(" ", "_"), test_of(kind))

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
