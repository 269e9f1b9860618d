#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns pictures that are NumPy arrays; CuPy's and PyTorch's go the same way, on the GPU's current stream.

The package is plugin/python; TT_LIBRARY may name the library.
"""
import numpy
import tiletranspose

# Two rows of three pixels; a pixel is a letter. Clockwise, where numpy.rot90 turns the other way.
picture = numpy.array([list("abc"), list("def")])
for row in tiletranspose.orient(picture, "rot90"):
    print("".join(row))

# A view is read where it is, and the result may go into a part of another array.
page = numpy.full((4, 5), ".")
tiletranspose.orient(picture[:, ::-1], "transpose", out=page[:3, 1:3])
for row in page:
    print("".join(row))

# A batch of pictures with interleaved channels becomes one of planes, turned, in one pass.
batch = numpy.random.default_rng().integers(0, 256, (8, 480, 640, 3), dtype="uint8")
planes = tiletranspose.orient(batch, "rot270", "NHWC->NCHW")
print(planes.shape)
