#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every error of the command, as its sources have it, is one sentence that says what is wrong and what to do.

    test_messages.py CLI_SOURCES
"""
import glob
import os
import re
import sys

# After a colon comes what to do; what an option takes, or goes with, says it by itself; and who stopped a run knows why.
TELLS = re.compile(r": (?!%)|: %s$|^%s$|, not '?%|contradict each other|goes with|needs --|may take|^--\w+ takes|; or auto$|^%s needs a named|^interrupted$|^is %s, %s$")
CALL = re.compile(r'\b(?:codec_failed|fault|trouble)\((?:codec|error|&?\w+(?:->error)?)?,?\s*(?:[\w\s=!?:>-]+,\s*)?((?:"(?:[^"\\]|\\.)*"|\s|\bG?_?\w*(?:FORMAT|PRI\w+)\b)+)')


def messages(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for call in CALL.finditer(text):
        words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"\bG_\w+_FORMAT\b", '"u"', call.group(1))))
        if words:
            yield text.count("\n", 0, call.start()) + 1, words


def main():
    poor, count = [], 0
    for path in sorted(glob.glob(sys.argv[1] + "/**/*.c", recursive=True)):
        for line, words in messages(path):
            count += 1
            fault = (not TELLS.search(words) and "does not say what to do" or "\\n" in words and "is more than a line" or
                     words.endswith(".") and "ends in a full stop" or words[:1].isupper() and not words[:2].isupper() and "begins with a capital")
            if fault:
                poor.append(f"{os.path.relpath(path, sys.argv[1])}:{line} {fault}: {words}")
    assert count > 150, f"only {count} messages were found"
    assert not poor, "\n" + "\n".join(poor)
    assert not TELLS.search("is damaged") and TELLS.search("is damaged: restore it from a copy")


main()
