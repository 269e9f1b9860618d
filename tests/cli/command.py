# SPDX-License-Identifier: MIT
"""Running the real command as a user does, in a folder of its own."""
import atexit
import contextlib
import errno
import itertools
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from folder import FolderTest

COMMAND = os.path.abspath(sys.argv[1])
VERSION = subprocess.run([COMMAND, "-v", "--version"], capture_output=True, text=True).stdout
ARGUMENTS = {"none": ["--auto-orient"], "fliph": ["--flip", "horizontal"], "rot180": ["--rotate", "180"],
             "flipv": ["--flip", "vertical"], "transpose": ["--transpose"], "rot90": ["--rotate", "90"],
             "transverse": ["--transverse"], "rot270": ["--rotate", "270"]}

# Of a command that is built with sanitizers: it hides what libraries print, and a report is no message of its own.
REPORTS = tempfile.mkdtemp(prefix="imgtranspose-reports-")
atexit.register(shutil.rmtree, REPORTS)
for sanitizer in ("ASAN", "LSAN", "TSAN", "UBSAN"):
    name = sanitizer + "_OPTIONS"
    os.environ[name] = f"{os.environ.get(name, '')}:log_path={REPORTS}/report:exitcode=99"


SANITIZER = os.environ.get("TT_SANITIZER", "")
STEP = 5 if "libtsan" in SANITIZER else 3 if SANITIZER else 1
starts = itertools.count()


def some(cases):
    """Of many that are much alike, others each time: runs of a command with a sanitizer begin ten times as slowly."""
    return list(cases)[next(starts) % STEP::STEP]


def preloaded(library):
    return ":".join(filter(None, (os.environ.get("LD_PRELOAD"), library)))


def address_space(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def runs_in(limit):
    """So little address space. A sanitizer takes more than any limit, and its report of that is none of a test's."""
    quiet = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    return subprocess.run([COMMAND, "--version"], capture_output=True, env=quiet, preexec_fn=address_space(limit)).returncode == 0


def turn(rows, orientation):
    """The truth, for lists of rows of pixels."""
    columns = [list(column) for column in zip(*rows)]
    return {"none": rows,
            "fliph": [row[::-1] for row in rows],
            "rot180": [row[::-1] for row in rows[::-1]],
            "flipv": rows[::-1],
            "transpose": columns,
            "rot90": [column[::-1] for column in columns],
            "transverse": [column[::-1] for column in columns[::-1]],
            "rot270": columns[::-1]}[orientation]


class CommandTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.has_no_report)

    def needs(self, part):
        """As --version names it."""
        if part not in VERSION:
            self.skipTest(f"the command has no {part}")

    def terminal(self):
        """Both ends of a new one, where there can be any."""
        try:
            return pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminals here: {error}")

    def has_no_report(self):
        for name in os.listdir(REPORTS):
            with open(os.path.join(REPORTS, name), errors="replace") as file:
                report = file.read()
            os.remove(os.path.join(REPORTS, name))
            self.fail(report)

    def run_command(self, *arguments, command=COMMAND, **options):
        return subprocess.run([command, *arguments], capture_output=True, timeout=120, **{"cwd": self.folder, **options})

    def launch(self, *arguments, **options):
        """A run to look on at. It ends with the test, however that ends."""
        run = subprocess.Popen([COMMAND, *arguments], **{"cwd": self.folder, "stderr": subprocess.PIPE, **options})
        self.addCleanup(self.put_down, run)
        return run

    def put_down(self, run):
        run.kill()
        run.wait()
        for stream in filter(None, (run.stdin, run.stdout, run.stderr)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def until(self, run, seen):
        """Waits for what a run does, however slow the machine is; what seen() answers. One that ends without it is a fault."""
        while True:
            ended, found = run.poll() is not None, seen()
            if found:
                return found
            if ended:
                self.fail(f"it ended, by {run.returncode}: {run.stderr.read()}")
            time.sleep(0.002)

    def stopped_once(self, run, seen):
        """As until(), but the run stands still while this looks, and when it returns what seen() answers: whoever looks at files
        may have to wait for the disk, which the run may not have to. SIGCONT lets it go on."""
        def state():
            if run.poll() is not None:
                return "Z"
            with open(f"/proc/{run.pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0]
        while True:
            run.send_signal(signal.SIGSTOP)
            while state() not in "TZ":
                time.sleep(0.002)
            found = seen()
            if found or state() == "Z":
                return found or self.fail(f"it ended, by {run.wait()}: {run.stderr.read()}")
            run.send_signal(signal.SIGCONT)
            time.sleep(0.002)

    def writing_end(self, run, name):
        """Of a named pipe, which a run has opened to read."""
        def opened():
            try:
                return [os.open(self.path(name), os.O_WRONLY | os.O_NONBLOCK)]
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
                return None
        end = self.until(run, opened)[0]
        os.set_blocking(end, True)
        return end

    def temporaries(self, folder="."):
        """Outputs that are being written, and locked by then."""
        names = [os.path.join(self.folder, folder, name) for name in os.listdir(self.path(folder)) if name.startswith(".imgtranspose-")]
        with contextlib.suppress(FileNotFoundError):  # one that has just got its name
            return [name for name in names if os.path.getsize(name)]
        return []

    def succeeds(self, *arguments, **options):
        """And says nothing, but for the summary of several files."""
        result = self.run_command(*arguments, **options)
        said = re.sub(rb"^imgtranspose: \d+ files, .*: (\d+ (turned|copied|unchanged|skipped)(, )?)+\n\Z", b"",
                      result.stderr)
        self.assertEqual((result.returncode, said), (0, b""), arguments)
        return result

    def fails(self, status, *arguments, lines=1, says=(), **options):
        """The exit status, and that many lines on stderr that hold each of the words."""
        result = self.run_command(*arguments, **options)
        text = result.stderr.decode()
        self.assertEqual(result.returncode, status, (arguments, text))
        self.assertEqual(text.count("\n"), lines, text)
        for word in says:
            self.assertIn(word, text)
        return text

    def files(self):
        return sorted(os.listdir(self.folder))
