#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns a picture in the middle of a pyvips pipeline.

    pyvips_pipeline.py IN OUT [ORIENTATION]

The picture is read from top to bottom, turned (upright by its tag, unless the third argument says how) and made half
as large. Turns are clockwise; NumPy's rot90 turns the other way. libvips must find the module: install it, or let
VIPSHOME name a directory that has it. (The libvips inside the package pyvips-binary loads no modules.)
"""
import sys

import pyvips

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
orientation = sys.argv[3] if len(sys.argv) == 4 else "auto"

image = pyvips.Image.new_from_file(sys.argv[1], access="sequential")
image = image.tt_transpose(orientation=orientation)
image.resize(0.5).write_to_file(sys.argv[2])
