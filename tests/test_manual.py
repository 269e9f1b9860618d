#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual pages: every function of the library has one, its examples compile, and all, the command's too, are well formed.

    test_manual.py PAGES INCLUDE LIBRARY CC...
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

PAGES, INCLUDE, LIBRARY, *CC = sys.argv[1:]
COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "imgtranspose.1")

# What an example takes for granted.
AROUND = """
#include <stdio.h>
#include <tiletranspose/tt.h>
#include <tiletranspose/tt_dlpack.h>
#include <tiletranspose/tt_frame.h>
int complain(const char *why);
TtImage decode_rows(size_t y, size_t count);
void encode_rows(const TtImage *rows);
size_t min(size_t a, size_t b);
int example(TtImage shape, TtImage rows, void *pixels, void *turned, size_t width, size_t height, TtStream stream,
            DLManagedTensorVersioned *capsule, DLManagedTensorVersioned *result);
int example(TtImage shape, TtImage rows, void *pixels, void *turned, size_t width, size_t height, TtStream stream,
            DLManagedTensorVersioned *capsule, DLManagedTensorVersioned *result) {
    (void)shape, (void)rows, (void)pixels, (void)turned, (void)width, (void)height, (void)stream, (void)capsule, (void)result;
    (void)complain, (void)decode_rows, (void)encode_rows, (void)min;
    EXAMPLE
    return 0;
}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def page_of(name):
    path = os.path.join(PAGES, name + ".3")
    assert os.path.exists(path), f"{name} has no page"
    text = read(path)
    link = re.fullmatch(r"\.so man3/(\S+)\n", text)
    return read(os.path.join(PAGES, link.group(1))) if link else text


def check_functions():
    """What the library exports, as nm sees it, and what the headers define inline for their users."""
    exported = re.findall(r" T (tt_\w+)$", subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout, re.M)
    inline = ["tt_image", "tt_tensor_turn", "tt_tensor_view", "tt_tensor_open"]
    assert len(exported) > 20, exported
    for name in exported + inline:
        assert re.search(rf"^\.Fn {name} ", page_of(name), re.M) or name == "tt_version", f"{name} is not in the synopsis of its page"
        assert re.search(rf"^\.Ss .*\b{name}\(\)", page_of(name), re.M), f"{name} is not described on its page"
    described = {name for page in glob.glob(PAGES + "/*.3") for name in re.findall(r"^\.Fn (\w+)", read(page), re.M)}
    assert described == set(exported + inline), described ^ set(exported + inline)


def check_types():
    for header in glob.glob(INCLUDE + "/tiletranspose/*.h"):
        for name in re.findall(r"\b(Tt\w+);", read(header)):
            if name != "TtTensorAxis" and re.search(rf"(\}}|struct \w+|\*) ?{name};", read(header)):
                assert re.search(rf"\b{name};", page_of(name)), f"{name} is not on its page"


def said_of(page):
    """What mandoc, or else groff, finds fault with."""
    command = ["mandoc", "-Tlint", "-Wwarning"] if shutil.which("mandoc") else ["groff", "-ww", "-mdoc", "-Tascii", "-z"]
    done = subprocess.run([*command, page], capture_output=True, text=True)
    return done.stdout + done.stderr


def check_form():
    for page in [*sorted(glob.glob(PAGES + "/*.3")), COMMAND]:
        if not read(page).startswith(".so"):
            assert not said_of(page), said_of(page)
            show = ["mandoc", "-Tascii"] if shutil.which("mandoc") else ["groff", "-mdoc", "-Tascii", "-P-cbou"]
            shown = subprocess.run([*show, page], capture_output=True, text=True).stdout
            wide = [line for line in re.sub(r".\x08", "", shown).split("\n") if len(line) > 80]
            assert not wide, f"{page} does not fit 80 columns: {wide[0]}"


def check_examples():
    found = 0
    for page in sorted(glob.glob(PAGES + "/*.3")):
        text = read(page)
        if "\n.Sh EXAMPLES\n" not in text:
            continue
        for example in re.findall(r"^\.Bd .*\n((?:.*\n)*?)\.Ed", text.split("\n.Sh EXAMPLES\n")[1].split("\n.Sh ")[0], re.M):
            found += 1
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "example.c")
                with open(path, "w") as file:
                    file.write(AROUND.replace("    EXAMPLE", textwrap.indent(example.replace("\\&", "").replace("\\e", "\\"), "    ")))
                done = subprocess.run([*CC, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", INCLUDE, path], capture_output=True, text=True)
                assert done.returncode == 0, f"{page}: {done.stderr}"
    assert found == 3, f"{found} examples were found"


if not shutil.which("nm"):
    print("SKIPPED: there is no nm here")
    sys.exit(77)
check_functions()
check_types()
check_examples()
if not shutil.which("mandoc") and not shutil.which("groff"):
    print("SKIPPED: the form of the pages, since there is neither mandoc nor groff here")
    sys.exit(77)
check_form()
