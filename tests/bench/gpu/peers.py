# SPDX-License-Identifier: MIT
"""PyTorch, eager and compiled, and JAX: what a Python user would pick instead.

One line of JSON a measurement, as bench.cu prints them; `of_copy` is against PyTorch's copy of as many bytes, and
left out for JAX, which has no plain copy: compare gb_per_s. A framework that is not installed is named as skipped.

    python3 peers.py
"""
import json
import statistics

CASES = [("u8", "uint8", 40960, 1), ("u16", "int16", 28672, 1), ("rgb8", "uint8", 24576, 3), ("f32", "float32", 20992, 1),
         ("rgb16", "int16", 16896, 3), ("f64", "float64", 14848, 1), ("rgbf32", "float32", 12288, 3), ("rgbaf32", "float32", 10240, 4)]


def cases():
    for name, dtype, side, bands in CASES:
        for odd in (0, 1):
            yield f"{name} {'odd' if odd else 'aligned'}", dtype, side + odd, side + 3 * odd, bands


def line(case, what, width, height, ms, size, copy_ms):
    row = {"case": case, "what": what, "width": width, "height": height, "orientation": "transpose",
           "ms": round(ms, 5), "gb_per_s": round(2e-6 * size / ms)}
    if copy_ms:
        row["of_copy"] = round(copy_ms / ms, 4)
    print(json.dumps(row), flush=True)


def with_torch():
    import torch

    def median_ms(work, runs=9):
        for _ in range(3):
            work()
        times = []
        for _ in range(runs):
            start, end = torch.cuda.Event(True), torch.cuda.Event(True)
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times)

    compiled = torch.compile(lambda t: t.transpose(0, 1).contiguous())
    for case, dtype, width, height, bands in cases():
        shape = (height, width) + ((bands,) if bands > 1 else ())
        size = width * height * bands * getattr(torch, dtype).itemsize
        image = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda").view(getattr(torch, dtype)).view(shape)
        twin = torch.empty_like(image)
        copy_ms = median_ms(lambda: twin.copy_(image))
        out = torch.empty((width, height) + shape[2:], dtype=image.dtype, device="cuda")
        line(case, "torch copy", width, height, copy_ms, size, copy_ms)
        line(case, "torch eager", width, height, median_ms(lambda: out.copy_(image.transpose(0, 1)), 5), size, copy_ms)
        del out
        line(case, "torch.compile", width, height, median_ms(lambda: compiled(image)), size, copy_ms)
        del image, twin
        torch.cuda.empty_cache()


def with_jax():
    import time

    import jax
    import jax.numpy as jnp
    import numpy

    jax.config.update("jax_enable_x64", True)
    turn = jax.jit(lambda t: jnp.swapaxes(t, 0, 1) + jnp.zeros((), t.dtype))

    def median_ms(work, runs=9):
        work().block_until_ready()
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            work().block_until_ready()
            times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)

    for case, dtype, width, height, bands in cases():
        shape = (height, width) + ((bands,) if bands > 1 else ())
        image = jax.random.randint(jax.random.key(1), shape, 0, 200, dtype="int32").astype(numpy.dtype(dtype))
        size = image.size * image.dtype.itemsize
        line(case, "jax", width, height, median_ms(lambda: turn(image)), size, None)
        del image


for run in (with_torch, with_jax):
    try:
        run()
    except ImportError as missing:
        print(json.dumps({"skipped": run.__name__[5:], "because": str(missing)}))
    except Exception as error:  # a peer that cannot do a case loses it
        print(json.dumps({"failed": run.__name__[5:], "because": str(error).splitlines()[0][:200]}))
