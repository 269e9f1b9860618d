# SPDX-License-Identifier: MIT
"""The package as it stands in the tree, in a Python that has the modules a test needs; TT_LIBRARY names the library."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "plugin"), os.path.join(HERE, "..", "..", "plugin", "python")]

from python_with import need  # noqa: E402, F401  (for the tests)

sys.dont_write_bytecode = True
NAMES = ["none", "fliph", "rot180", "flipv", "transpose", "rot90", "transverse", "rot270"]


def numpy_turn(a, name):
    """The truth, by NumPy alone, for rows and columns that come first. numpy.rot90 turns anticlockwise."""
    import numpy
    return {"none": lambda: a,
            "fliph": lambda: a[:, ::-1],
            "rot180": lambda: numpy.rot90(a, 2),
            "flipv": lambda: a[::-1],
            "transpose": lambda: a.swapaxes(0, 1),
            "rot90": lambda: numpy.rot90(a, -1),
            "transverse": lambda: numpy.rot90(a, 2).swapaxes(0, 1),
            "rot270": lambda: numpy.rot90(a, 1)}[name]()


def numpy_turn_as(a, name, layout):
    """The same for axes in any order: "NCHW", "HWC->CHW"."""
    source, _, result = layout.partition("->")
    inner = "HW" + "".join(axis for axis in source if axis not in "HW")
    turned = numpy_turn(a.transpose([source.index(axis) for axis in inner]), name)
    return turned.transpose([inner.index(axis) for axis in result or source])
