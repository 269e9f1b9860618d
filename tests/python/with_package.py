# SPDX-License-Identifier: MIT
"""The package as it stands in the tree, in a Python that has the modules a test needs; TT_LIBRARY names the library."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "plugin"), os.path.join(HERE, "..", "..", "plugin", "python")]

from python_with import need  # noqa: E402, F401  (for the tests)

sys.dont_write_bytecode = True
NAMES = ["none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270"]
