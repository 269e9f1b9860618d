#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tiletranspose.orient() beside torch.rot90(...).contiguous(), pictures of 100 MB and more, calls from Python and all.

One line of JSON a picture. Calls alternate; each is timed by events on the current stream, so that what the call itself
takes counts too, where the GPU has to wait for it. TT_LIBRARY names the library.

    PYTHONPATH=plugin/python TT_LIBRARY=build/kernels/libtiletranspose.so python3 tests/bench/gpu/python.py
"""
import json
import statistics

import tiletranspose
import torch

CASES = [("u8", "uint8", (10000, 10000), "HW"), ("u8 odd", "uint8", (10007, 10003), "HW"), ("u8 1.7 GB", "uint8", (40960, 40960), "HW"),
         ("f32", "float32", (5000, 5000), "HW"), ("f32 odd", "float32", (5003, 5009), "HW"),
         ("f32 1.8 GB", "float32", (20992, 20992), "HW"), ("rgb8", "uint8", (6000, 6000, 3), "HWC"),
         ("rgbf32", "float32", (3000, 3000, 3), "HWC"), ("u8 NCHW", "uint8", (16, 3, 1500, 1600), "NCHW"),
         ("f32 NCHW", "float32", (16, 3, 800, 900), "NCHW")]


def seconds(work):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


for case, dtype, shape, layout in CASES:
    image = torch.randint(0, 100, shape, dtype=torch.uint8, device="cuda").to(getattr(torch, dtype))
    axes = layout.index("H"), layout.index("W")
    rows = {"ours": lambda: tiletranspose.orient(image, "rot90", layout),
            "torch": lambda: torch.rot90(image, -1, axes).contiguous(),
            "copy": lambda: image.clone()}
    assert torch.equal(rows["ours"](), rows["torch"]()), case
    times = {name: [] for name in rows}
    for turn in range(24):
        for name, work in rows.items():
            if turn >= 4:
                times[name].append(seconds(work))
            else:
                work()
    medians = {name: statistics.median(all) for name, all in times.items()}
    print(json.dumps({"case": case, "shape": shape, "megabytes": round(image.numel() * image.element_size() / 1e6),
                      **{f"{name}_us": round(1e6 * median, 1) for name, median in medians.items()},
                      "times_torch": round(medians["torch"] / medians["ours"], 2),
                      "of_copy": round(medians["copy"] / medians["ours"], 2)}), flush=True)
