# SPDX-License-Identifier: MIT
"""The command within bounds: of time, of memory, and of what it may say."""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from command import COMMAND, CommandTest

SANITIZED = bool(os.environ.get("TT_SANITIZED"))
SECONDS = 10       # of work for one file, whatever else the machine does; a run that waits is stopped
WAITS = 12         # times as long
SLOWER = 6 if SANITIZED else 1
MEMORY_LIMIT = 64  # MB, as the command is told
MOST_MEMORY = 300  # MB of a process: the limit and, of libvips' libraries, code and threads
DISK = 256 << 20   # the largest file, so that room for a picture which claims to be huge is not there

for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    # Memory that is not there is an answer, as it is without a sanitizer; leaks of the libraries that libvips opens are theirs.
    os.environ[name] = os.environ.get(name, "") + (":detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:quarantine_size_mb=16"
                                                   if name == "ASAN_OPTIONS" else ":halt_on_error=1")


class Run:
    """One run of the command: status (None if it was stopped for its time), text, memory (its most, in MB), seconds of work."""

    def __init__(self, arguments, folder, seconds=SECONDS, environment=None, command=None):
        quiet = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}  # touches what is never used
        limit = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK)),
                         resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([*(command or [COMMAND]), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                       preexec_fn=limit, env={**quiet, **(environment or {})})
            self.stopped = False
            timer = threading.Timer(seconds * WAITS * SLOWER, self.stop, [process])
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            self.text = said.read().decode(errors="replace")
        self.status = None if self.stopped else process.returncode
        self.memory = usage.ru_maxrss // 1024
        self.seconds = usage.ru_utime + usage.ru_stime
        self.late = self.seconds > seconds * SLOWER

    def stop(self, process):
        self.stopped = True
        process.send_signal(signal.SIGKILL)


def bound(*arguments):
    return [f"--memory-limit={MEMORY_LIMIT}M", "--threads=2", *arguments]


class HostileTest(CommandTest):
    def within_bounds(self, run, what):
        """It ended by itself, in time, with a status of its own, in its memory."""
        self.assertIsNotNone(run.status, f"{what}: waits, with {run.seconds:.0f} s of work done")
        self.assertFalse(run.late, f"{what}: {run.seconds:.0f} s of work")
        self.assertIn(run.status, (0, 1), f"{what}: {run.text[-2000:]}")
        if not SANITIZED:
            self.assertLess(run.memory, MOST_MEMORY, what)
        self.has_no_report()

    def clear_lines(self, run, failed, what):
        """A line for each file that failed, and none that is not the command's own."""
        lines = run.text.split("\n")[:-1]
        for line in lines:
            self.assertRegex(line, r"\Aimgtranspose: [ -~]+\Z", what)
        faults = [line for line in lines if not re.match(r"imgtranspose: (warning: |\d+ files)", line)]
        self.assertEqual(len(faults), len(failed), (what, run.text))
        for name in failed:
            self.assertEqual(sum(line.startswith(f"imgtranspose: {name}: ") for line in faults), 1, (name, run.text))

    def left_alone(self, what):
        self.assertFalse([name for at, _, names in os.walk(self.folder) for name in names if name.startswith(".imgtranspose")], what)


def outcomes(report):
    """{name: event} of a report."""
    with open(report) as lines:
        events = [json.loads(line) for line in lines]
    return {os.path.basename(event["input"]): event for event in events if event["event"] == "file"}
