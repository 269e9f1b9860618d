# SPDX-License-Identifier: MIT
"""What each orientation is, by NumPy alone."""
import numpy

# numpy.rot90 turns anticlockwise.
TURNS = {
    "none": lambda a: a,
    "fliph": lambda a: a[:, ::-1],
    "rot180": lambda a: a[::-1, ::-1],
    "flipv": lambda a: a[::-1],
    "transpose": lambda a: a.swapaxes(0, 1),
    "rot90": lambda a: numpy.rot90(a, -1),
    "transverse": lambda a: a[::-1, ::-1].swapaxes(0, 1),
    "rot270": lambda a: numpy.rot90(a, 1),
}


def numpy_turn(a, name):
    """Rows and columns come first."""
    return TURNS[name](a)


def numpy_turn_as(a, name, layout):
    """The same for axes in any order: "NCHW", "HWC->CHW"."""
    source, _, result = layout.partition("->")
    inner = "HW" + "".join(axis for axis in source if axis not in "HW")
    turned = numpy_turn(a.transpose([source.index(axis) for axis in inner]), name)
    return turned.transpose([inner.index(axis) for axis in result or source])
