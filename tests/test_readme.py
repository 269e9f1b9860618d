#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the documents name is there: files, folders, tests, options, and the code of the README's example.

    test_readme.py SOURCE_DIR BUILD_DIR
"""
import glob
import json
import os
import re
import sys

SOURCE, BUILD = sys.argv[1:]
DOCUMENTS = ["README.md", "tests/bench/README.md"]


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def exists(name, beside):
    name = name.split("#")[0].rstrip("/") or "."
    places = [SOURCE, os.path.join(SOURCE, beside)]
    return any(glob.glob(os.path.join(place, name)) for place in places)


def check_links(path, text):
    for link in re.findall(r"\]\(([^)]+)\)", text):
        if link.startswith("#"):
            title = link[1:].replace("-", " ")
            assert any(heading.lower() == title for heading in re.findall(r"^#+ (.*)$", text, re.M)), f"{path} has no {link}"
        elif not link.startswith("http"):
            place = os.path.join(SOURCE, os.path.dirname(path), link)
            assert os.path.exists(place), f"{path} leads to {link}, which is not there"


def check_files(path, text):
    """Whatever looks like a file of the tree, in code."""
    everywhere = {os.path.basename(name) for name in glob.glob(SOURCE + "/**/*.*", recursive=True)}
    for word in re.findall(r"`([\w./-]+\.(?:c|h|cu|cuh|py|sh|md|1))(?:: \w+)?`", text):
        assert exists(word, os.path.dirname(path)) or ("/" not in word and word in everywhere), f"{path} names {word}, which is not there"
    for word in re.findall(r"`((?:kernels|cli|plugin|tests|samples)/[\w./*-]+)", text):
        assert exists(word, ""), f"{path} names {word}, which is not there"
    for name in re.findall(r"`[\w/.]+\.c: (\w+)`|`(?:\w+/)+\w+\.h`, ", text):
        if name:
            assert any(re.search(rf"\b{name}\(", read(os.path.relpath(source, SOURCE))) for source in glob.glob(SOURCE + "/*/*.c")), name


def check_tests(text):
    with open(os.path.join(BUILD, "meson-info/intro-tests.json"), encoding="utf-8") as file:
        known = {test["name"] for test in json.load(file)}
    promised = text.split("## What is promised\n")[1].split("\n## ")[0]
    named = [name for row in re.findall(r"^\| \*\*.*\|([^|]*)\|$", promised, re.M) for name in re.findall(r"`([\w ]+)`", row)]
    assert len(named) > 10, named
    missing = [name for name in named if name not in known]
    assert not missing, f"the README names tests that there are not: {missing}"


def check_options(text):
    options = set(re.findall(r'\{"([a-z-]+)", ', read("cli/options.c")))
    command = text.split("## The command\n")[1].split("\n## ")[0]
    for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", command):
        assert option in options, f"the README names --{option}, which imgtranspose has not"


def check_example(text):
    """The README's C is that of the header, which is compiled."""
    code = re.search(r"```c\n#include <tiletranspose/tt.h>\n\n(.*?)```", text, re.S).group(1)
    header = re.sub(r"^ \* {4} ?", "", read("kernels/tiletranspose/tt.h"), flags=re.M)
    assert code.strip() in header, "the README's example is not that of tt.h"


for document in DOCUMENTS:
    check_links(document, read(document))
    check_files(document, read(document))
check_tests(read("README.md"))
check_options(read("README.md"))
check_example(read("README.md"))
