#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A wheel, built without the network, is whole: unpacked elsewhere it turns a picture by its own library.

    test_wheel.py SOURCE_DIR
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
from python_with import need  # noqa: E402

need("mesonpy", "numpy", "pip")
source = sys.argv[1]
TURN = """
import numpy, tiletranspose
a = numpy.arange(6, dtype="u1").reshape(2, 3)
assert tiletranspose.orient(a, "rot90").tolist() == [[3, 0], [4, 1], [5, 2]]
print(tiletranspose.__file__)
"""

with tempfile.TemporaryDirectory() as folder:
    for part in ("plugin/python", "kernels"):  # meson-python writes beside its sources
        shutil.copytree(os.path.join(source, part), os.path.join(folder, "tree", part), symlinks=True,
                        ignore=shutil.ignore_patterns("__pycache__", ".mesonpy*"))
    shutil.copy(os.path.join(source, "LICENSE"), os.path.join(folder, "tree"))
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
                    "--config-settings=setup-args=-Dcuda=disabled", "--wheel-dir", folder,
                    os.path.join(folder, "tree", "plugin", "python")],
                   check=True, stdout=sys.stderr)
    wheel, = glob.glob(os.path.join(folder, "*.whl"))
    package = os.path.join(folder, "unpacked")
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if ".dist-info/" not in name)
        licensed = any(b"MIT License" in archive.read(name) for name in archive.namelist() if ".dist-info/" in name)
        archive.extractall(package)
    here = os.path.join(source, "plugin", "python", "tiletranspose")
    wanted = [f"tiletranspose/{name}" for name in os.listdir(here) if name.endswith((".py", ".typed"))]
    assert names == sorted(wanted + ["tiletranspose/libtiletranspose.so"]), names
    assert licensed, "the licence is not in the wheel"
    environment = {name: value for name, value in os.environ.items() if name != "TT_LIBRARY"}
    shutil.rmtree(os.path.join(folder, "tree"))
    said = subprocess.run([sys.executable, "-c", TURN], check=True, capture_output=True, text=True, cwd=folder,
                          env={**environment, "PYTHONPATH": package}).stdout
    assert said.strip() == os.path.join(package, "tiletranspose", "__init__.py"), said
