#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Python that has modules, of which a machine may have several: TT_PYTHON, or one of those in PATH, or the system's.

usage: python_with.py MODULE...      prints its name
"""
import importlib
import os
import subprocess
import sys


def find(*modules):
    folders = [*os.environ.get("PATH", "").split(":"), "/usr/bin"]
    for python in [os.environ.get("TT_PYTHON", ""), *(os.path.join(folder, "python3") for folder in folders)]:
        if os.access(python, os.X_OK) and not subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode:
            return python
    return None


def need(*modules):
    """Goes on in a Python that has the modules, or ends the test as skipped."""
    try:
        for module in modules:
            importlib.import_module(module)
    except (ImportError, OSError):
        python = find(*modules)
        if not python:
            print(f"skipped: no python3 here has {' and '.join(modules)} (TT_PYTHON may name one that has)")
            sys.exit(77)
        os.execv(python, [python, *sys.argv])


if __name__ == "__main__":
    print(find(*sys.argv[1:]) or "")
