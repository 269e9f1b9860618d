# SPDX-License-Identifier: MIT
"""The help fits its screen; each option is in --help-all, the manual and the completions of all shells.

usage: test_help.py IMGTRANSPOSE SOURCE_DIR
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

import command
from command import COMMAND

CLI = os.path.join(os.path.abspath(sys.argv[2]), "cli")


def text_of(*names):
    with open(os.path.join(CLI, *names)) as file:
        return file.read()


def completion(name):
    return text_of("completions", name)


class Help(command.CommandTest):
    def said(self, option):
        return self.succeeds(option).stdout.decode()

    def found(self, pattern, text, told):
        self.assertTrue(re.search(pattern, text, re.M), told)  # assertRegex would print it all

    def options(self):
        """As the program parses them: long names, and letters."""
        table = re.findall(r'^ +\{"([a-z-]+)", (?:\'(.)\'|0),', text_of("options.c"), re.M)
        self.assertGreater(len(table), 40)
        return table

    def test_a_screen(self):
        lines = self.said("--help").splitlines()
        self.assertLessEqual(len(lines), 24)
        for line in lines + self.said("--help-all").splitlines():
            self.assertLess(len(line), 80, line)

    def test_the_eight_pictures(self):
        """Each square with its name beside it, on either of its lines."""
        lines = self.said("--help").splitlines()
        squares = {}
        for above, below in zip(lines, lines[1:]):
            for match in re.finditer(r"([A-D]) ([A-D])(?= |$)", above):
                under = re.match(r"([A-D]) ([A-D])", below[match.start():])
                if under and len({*match.groups(), *under.groups()}) == 4:
                    beside = [re.split(r" {2,}[A-D] [A-D]", line[match.end():])[0] for line in (above, below)]
                    squares["".join(match.groups() + under.groups())] = " ".join(" ".join(beside).split())
        self.assertEqual(squares, {"ABCD": "as it is, --auto-orient", "ACBD": "--transpose", "CADB": "--rotate 90",
                                   "DCBA": "--rotate 180", "BADC": "--flip horizontal", "DBCA": "--transverse",
                                   "BDAC": "--rotate 270", "CDAB": "--flip vertical"})

    def test_each_format_is_in_the_version(self):
        names = set()
        for file in os.listdir(os.path.join(CLI, "formats")):
            names.update(re.findall(r'^const Format \w+ = \{\s*\.name = "(\w+)"', text_of("formats", file), re.M))
        self.assertGreaterEqual(names, {"PNG", "PNM", "GIF", "raw", "JPEG", "TIFF"})
        for name in names - {"JPEG", "TIFF"}:  # which a build may leave out
            self.found(rf"^formats:.*\b{name}\b", command.VERSION, name)

    def test_each_option_is_everywhere(self):
        manual = text_of("imgtranspose.1")
        places = {"--help-all": self.said("--help-all"), "bash": completion("imgtranspose.bash"),
                  "zsh": completion("_imgtranspose")}
        for name, letter in self.options():
            for place, text in places.items():
                self.found(rf"(?<![-\w])--{name}(?![-\w])", text, (place, name))
                if letter:
                    self.found(rf"(?<![-\w])-{letter}(?!\w)", text, (place, letter))
            both = rf"Fl {letter} , Fl -{name}" if letter else rf".*Fl -{name}"
            self.found(rf"^\.It {both}(?![-\w])", manual, ("manual", name))
            both = rf"-s {letter} -l {name}" if letter else rf"-l {name}"
            self.found(rf"^complete -c imgtranspose {both} ", completion("imgtranspose.fish"), ("fish", name))

    def test_nothing_else_is_anywhere(self):
        known = {name for name, _ in self.options()}
        texts = [self.said("--help"), self.said("--help-all"), completion("imgtranspose.bash"), completion("_imgtranspose")]
        for text in texts:
            for name in re.findall(r"(?<![-\w])--([a-z][a-z-]+)", text):
                self.assertIn(name, known)
        for name in re.findall(r" -l ([a-z-]+)", completion("imgtranspose.fish")):
            self.assertIn(name, known)
        for name in re.findall(r"Fl -([a-z][a-z-]+)", text_of("imgtranspose.1")):
            self.assertIn(name, known)


class Shells(command.CommandTest):
    """The completions, as the shells that are here take them."""

    def shell(self, name, *arguments):
        if not shutil.which(name):
            self.skipTest(f"no {name}")
        run = subprocess.run([name, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout.split()

    def bash(self, *words):
        line = " ".join(words)
        return self.shell("bash", "--norc", "-c", f"""
            . {CLI}/completions/imgtranspose.bash
            compopt() {{ :; }}
            COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _imgtranspose; printf '%s\\n' "${{COMPREPLY[@]}}" """)

    def test_bash(self):
        self.assertEqual(self.bash("imgtranspose", "--transp"), ["--transpose"])
        self.assertEqual(self.bash("imgtranspose", "--rotate", "1"), ["180"])
        self.assertEqual(self.bash("imgtranspose", "--jpeg", "=", "tr"), ["trim"])
        self.assertEqual(self.bash("imgtranspose", "--backup", "x"), [])

    def test_fish(self):
        def complete(line):
            return [word for word in self.shell("fish", "--no-config", "-c", f"""
                source {CLI}/completions/imgtranspose.fish
                complete -C '{line}' | string split -f 1 \\t""")]
        self.assertEqual(complete("imgtranspose --transp"), ["--transpose"])
        self.assertEqual(sorted(complete("imgtranspose --flip ")), ["horizontal", "vertical"])

    def test_zsh(self):
        self.shell("zsh", "-f", "-n", os.path.join(CLI, "completions", "_imgtranspose"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
