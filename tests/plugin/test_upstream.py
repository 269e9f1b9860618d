#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libvips' own tests of rot, flip, autorot, and of loading and saving PNGs, run against the operations.

LIBVIPS_SOURCE must name libvips' source, and VIPSHOME a directory that has the module.
"""
import os
import sys

import python_with

source = os.environ.get("LIBVIPS_SOURCE")
if not source:
    print("skipped: LIBVIPS_SOURCE does not name libvips' source")
    sys.exit(77)
os.environ["TT_PNG"] = "1"
python_with.need("pytest", "pyvips")
import pytest
import pyvips

turns = 0
codec = {}


def turn(image, orientation):
    global turns
    turns += 1
    return image.tt_transpose(orientation=orientation)


def call(name, *arguments, **options):
    """By name as well as by suffix, when libvips gives the name of a type."""
    if name.startswith(("pngload", "pngsave")):
        name = "tt_" + name
    if name.lower().startswith(("tt_png", "ttpng", "vipsforeignloadpng", "vipsforeignsavepng")):
        codec[name] = codec.get(name, 0) + 1
    return operation_call(name, *arguments, **options)


pyvips.Image.rot = lambda image, angle: turn(image, {"d0": "none", "d90": "rot90", "d180": "rot180", "d270": "rot270"}[angle])
pyvips.Image.flip = lambda image, direction: turn(image, {"horizontal": "fliph", "vertical": "flipv"}[direction])
pyvips.Image.autorot = lambda image: turn(image, "auto")
operation_call = pyvips.Operation.call
pyvips.Operation.call = staticmethod(call)


def suite(name, tests):
    return pytest.main(["-q", "-p", "no:cacheprovider", "-k", tests, os.path.join(source, "test", "test-suite", name)])


status = suite("test_conversion.py", "test_rot or test_flip or test_autorot")
print(f"{turns} turns")
has_codec = pyvips.type_find("VipsOperation", "tt_pngload") != 0
if has_codec:
    status = suite("test_foreign.py", "test_png") or status
    print(f"PNG: {codec}")
sys.exit(status or turns < 20 or (has_codec and sum(codec.values()) < 20)
         or any("vipsforeign" in name.lower() for name in codec))
