#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libvips' own tests of rot, flip and autorot, run against the operation.

LIBVIPS_SOURCE must name libvips' source, and VIPSHOME a directory that has the module.
"""
import os
import sys

import python_with

source = os.environ.get("LIBVIPS_SOURCE")
if not source:
    print("skipped: LIBVIPS_SOURCE does not name libvips' source")
    sys.exit(77)
python_with.need("pytest", "pyvips")
import pytest
import pyvips

calls = 0


def turn(image, orientation):
    global calls
    calls += 1
    return image.tt_transpose(orientation=orientation)


pyvips.Image.rot = lambda image, angle: turn(image, {"d0": "none", "d90": "rot90", "d180": "rot180", "d270": "rot270"}[angle])
pyvips.Image.flip = lambda image, direction: turn(image, {"horizontal": "fliph", "vertical": "flipv"}[direction])
pyvips.Image.autorot = lambda image: turn(image, "auto")

status = pytest.main(["-q", "-p", "no:cacheprovider", "-k", "test_rot or test_flip or test_autorot",
                      os.path.join(source, "test", "test-suite", "test_conversion.py")])
print(f"{calls} turns")
sys.exit(status or calls < 20)
