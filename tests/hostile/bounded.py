# SPDX-License-Identifier: MIT
"""The command within bounds: of time, of memory, and of what it may say."""
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from command import COMMAND, CommandTest

SANITIZED = bool(os.environ.get("TT_SANITIZED"))
SECONDS = 10       # of work for one file, whatever else the machine does
WAITS = 60         # seconds in which no thread of a run could go on, after which it is stopped
SLOWER = 6 if SANITIZED else 1
MEMORY_LIMIT = 64  # MB, as the command is told
MOST_MEMORY = 300  # MB of a process: the limit and, of libvips' libraries, code and threads
DISK = 256 << 20   # the largest file, so that room for a picture which claims to be huge is not there

for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    # Memory that is not there is an answer, as it is without a sanitizer; leaks of the libraries that libvips opens are theirs.
    os.environ[name] = os.environ.get(name, "") + (":detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096:quarantine_size_mb=16"
                                                   if name == "ASAN_OPTIONS" else ":halt_on_error=1")


def states(pid):
    """Those of its threads."""
    found = set()
    for task in glob.glob(f"/proc/{pid}/task/*/stat"):
        with contextlib.suppress(OSError), open(task) as file:
            found.add(file.read().rpartition(")")[2].split()[0])
    return found


def stacks(pid):
    """Where its threads are, for whom there is gdb to say."""
    gdb = shutil.which("gdb")
    return subprocess.run([gdb, "-p", str(pid), "-batch", "-ex", "thread apply all backtrace"], capture_output=True, text=True).stdout if gdb else ""


class Run:
    """One run of the command: status (None if it was stopped for its time), text, memory (its most, in MB), seconds of work."""

    def __init__(self, arguments, folder, seconds=SECONDS, environment=None, command=None):
        quiet = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}  # touches what is never used
        most = int(4 * seconds * SLOWER)  # ends what works for ever
        limit = lambda: (resource.setrlimit(resource.RLIMIT_CPU, (most, most)),
                         signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK)),
                         resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([*(command or [COMMAND]), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                       preexec_fn=limit, env={**quiet, **(environment or {})})
            self.stopped, self.at = False, ""
            over = threading.Event()
            watch = threading.Thread(target=self.watch, args=(process.pid, over))
            watch.start()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # so that its number stays its own while it is watched
            over.set()
            watch.join()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            self.text = said.read().decode(errors="replace")
        self.status = None if self.stopped else process.returncode
        self.memory = usage.ru_maxrss // 1024
        self.seconds = usage.ru_utime + usage.ru_stime
        self.late = self.seconds > seconds * SLOWER

    def watch(self, pid, over):
        """What the machine, or somebody, does not let run does not wait."""
        waits = 0
        while not over.wait(1):
            found = states(pid)
            waits = waits + 1 if found and found <= set("SZX") else 0
            self.stopped = waits >= WAITS
            if self.stopped:
                self.at = stacks(pid)
                os.kill(pid, signal.SIGKILL)
                return


def bound(*arguments):
    return [f"--memory-limit={MEMORY_LIMIT}M", "--threads=2", *arguments]


class HostileTest(CommandTest):
    def within_bounds(self, run, what):
        """It ended by itself, in time, with a status of its own, in its memory."""
        self.assertIsNotNone(run.status, f"{what}: waits, with {run.seconds:.0f} s of work done\n{run.at}")
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
