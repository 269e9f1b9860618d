#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tiletranspose.orient() with PyTorch and CuPy, against their own rot90, flip and transpose.

On the processor, and where PyTorch or CuPy finds a GPU and the library has its kernels, there too: `--gpu` makes the
absence of a GPU a failure.
"""
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import with_package

with_package.need("torch")
import numpy as np
import torch
from tiletranspose import ORIENTATIONS, orient
from with_package import NAMES

GPU = "--gpu" in sys.argv or torch.cuda.is_available()
if "--gpu" in sys.argv:
    sys.argv.remove("--gpu")
try:
    import cupy
    cupy.cuda.runtime.getDeviceCount()
except Exception:  # there is no CuPy, or no GPU for it
    cupy = None

TYPES = ["bool", "uint8", "int16", "float16", "bfloat16", "float32", "float64", "int64", "complex64", "complex128"]


def turn(t, name, height=0, width=1):
    """The truth, by PyTorch alone. torch.rot90 turns anticlockwise."""
    return {"none": lambda: t,
            "fliph": lambda: t.flip(width),
            "rot180": lambda: t.flip(height, width),
            "flipv": lambda: t.flip(height),
            "transpose": lambda: t.transpose(height, width),
            "rot90": lambda: torch.rot90(t, -1, (height, width)),
            "transverse": lambda: t.flip(height, width).transpose(height, width),
            "rot270": lambda: torch.rot90(t, 1, (height, width))}[name]().contiguous()


def noise(shape, dtype="uint8", device="cpu"):
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.randint(0, 2, shape, dtype=torch.uint8, device=device).bool()
    if dtype.startswith("complex"):
        return torch.randn(shape, dtype=kind, device=device)
    return torch.randint(0, 100, shape, device=device).to(kind)


class Tensors:
    device = "cpu"

    def same(self, got, wanted, *said):
        self.assertEqual((got.shape, got.dtype, got.device), (wanted.shape, wanted.dtype, wanted.device), said)
        self.assertTrue(torch.equal(got, wanted), said)

    def test_types(self):
        for dtype in TYPES:
            for shape in ((37, 53), (19, 30, 3)):
                t = noise(shape, dtype, self.device)
                for name in NAMES:
                    self.same(orient(t, name), turn(t, name), dtype, name)

    def test_layouts(self):
        t = noise((3, 4, 33, 47), "float32", self.device)
        for name in NAMES:
            self.same(orient(t, name, "NCHW"), turn(t, name, 2, 3), name)
            self.same(orient(t[1], name, "CHW"), turn(t[1], name, 1, 2), name)
            self.same(orient(t, name, "NCHW->NHWC"), turn(t, name, 2, 3).permute(0, 2, 3, 1).contiguous(), name)
            last = t.contiguous(memory_format=torch.channels_last)
            self.same(orient(last, name, "NCHW"), turn(t, name, 2, 3), name)
            rows = t.permute(0, 2, 3, 1).contiguous()
            self.same(orient(rows, name), turn(rows, name, 1, 2), name)
            self.same(orient(rows, name, "NHWC->NCHW"), turn(t, name, 2, 3), name)

    def test_views_and_out(self):
        t = noise((40, 50, 3), "uint8", self.device)
        for view in (t[3:20, 5:30], t.transpose(0, 1), t[:, 7:8], t[::3]):
            for name in NAMES:
                wanted = turn(view, name)
                frame = torch.full((60, 60, 3), 7, dtype=torch.uint8, device=self.device)
                out = frame[4:4 + wanted.shape[0], 5:5 + wanted.shape[1]]
                self.assertIs(orient(view, name, out=out), out)
                expected = torch.full_like(frame, 7)
                expected[4:4 + wanted.shape[0], 5:5 + wanted.shape[1]] = wanted
                self.same(frame, expected, name)

    def test_refusals(self):
        t = noise((8, 9), "float32", self.device)
        for words, arguments in (("array: ", (t.clone().requires_grad_(), "rot90")),
                                 ("array and out: ", (t, "rot180", None, t)),
                                 ("array: strides", (t[:, ::2], "rot90")),
                                 ("out: its type is f8, that of array f4", (t, "rot90", None, t.T.contiguous().double()))):
            with self.assertRaises(ValueError) as caught:
                orient(*arguments)
            self.assertTrue(str(caught.exception).startswith(words), str(caught.exception))
        self.assertEqual(orient(t[:0], "rot90").shape, (9, 0))

    def test_again_and_again(self):
        """What is kept of one call serves the next of its like, and no other."""
        for shape, layout in (((5, 7), "HW"), ((5, 7, 3), "HWC"), ((2, 5, 7, 3), "NHWC"), ((2, 3, 5, 7), "NCHW")):
            height, width = layout.index("H"), layout.index("W")
            for dtype in ("uint8", "float32", "int32", "bool", "complex64"):
                for _ in range(3):
                    t = noise(shape, dtype, self.device)
                    for name in NAMES:
                        wanted = turn(t, name, height, width)
                        for view in (t, t.transpose(height, width).contiguous().transpose(height, width)):
                            self.same(orient(view, name, layout), wanted, layout, dtype, name)
                            out = torch.zeros_like(wanted)
                            self.assertIs(orient(view, name, layout, out), out)
                            self.same(out, wanted, layout, dtype, name)

    def test_refused_after_its_like_was_turned(self):
        t = noise((6, 1), "float32", self.device)
        c = noise((6, 1), "complex64", self.device)
        turned, out = orient(t, 6), torch.zeros(1, 6, device=self.device)
        orient(t, 6, out=out)
        orient(t, 6, "HW", out)
        orient(c, 6)
        orient(c.imag.contiguous(), 6)
        orient(c.imag, 6)
        for kind, words, arguments in ((TypeError, "orientation: float", (t, 6.0)),
                                       (TypeError, "layout: list is no string", (t, 6, ["HW"])),
                                       (ValueError, "array: ", (t.clone().requires_grad_(), 6)),
                                       (ValueError, "array: ", (t.to_sparse(), 6)),
                                       (ValueError, "array: ", (t.to("meta"), 6)),
                                       (ValueError, "array: ", (c.conj(), 6)),
                                       (ValueError, "array: a tensor that is negated only when", (c.conj().imag, 6)),
                                       (ValueError, "out: its shape is (6, 1)", (t, 6, None, t.clone())),
                                       (ValueError, "out: its shape is (1, 5)", (t, 6, None, out.clone()[:, :5])),
                                       (ValueError, "out: ", (t, 6, None, out.to("meta"))),
                                       (ValueError, "out: its type is i4", (t, 6, None, out.int())),
                                       (ValueError, "out: ", (t, 6, None, out.clone().requires_grad_())),
                                       (ValueError, "array and out: ", (t, 6, "HW", t.view(1, 6))),
                                       (TypeError, "out: list has neither", (t, 6, None, []))):
            for _ in range(2):
                with self.assertRaises(kind) as caught:
                    orient(*arguments)
                self.assertTrue(str(caught.exception).startswith(words), str(caught.exception))
        self.same(orient(t, 6), turned)

    def test_threads_with_tensors_alike(self):
        wrong = []

        def work():
            for _ in range(100):
                t = noise((3, 31, 17), "uint8", self.device)
                if not torch.equal(orient(t, "rot90", "CHW"), turn(t, "rot90", 1, 2)):
                    wrong.append(t)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: work(), range(8)))
        self.assertEqual(wrong, [])


class OnTheProcessor(Tensors, unittest.TestCase):
    def test_numpy_and_torch_together(self):
        a = np.arange(12, dtype="u1").reshape(3, 4)
        out = torch.empty(4, 3, dtype=torch.uint8)
        orient(a, "rot90", out=out)
        self.same(out, turn(torch.from_numpy(a), "rot90"))
        with self.assertRaisesRegex(ValueError, "^stream: "):
            orient(out, "rot90", stream=1)


@unittest.skipUnless(GPU, "SKIPPED: PyTorch finds no GPU here")
class OnTheGpu(Tensors, unittest.TestCase):
    device = "cuda:0"

    def test_the_current_stream(self):
        """Work before and after on the same stream is in order, without a synchronisation."""
        stream = torch.cuda.Stream()
        for _ in range(10):
            with torch.cuda.stream(stream):
                t = torch.zeros(4096, 4096, dtype=torch.uint8, device="cuda")
                for _ in range(20):
                    t = t + 1
                turned = orient(t, "rot90")
                total = turned.sum(dtype=torch.int64)
            stream.synchronize()
            self.assertEqual(int(total), 20 * 4096 * 4096)

    def test_another_stream_waits_for_the_current(self):
        stream = torch.cuda.Stream()
        for named in (stream, stream.cuda_stream):
            t = torch.zeros(4096, 4096, dtype=torch.uint8, device="cuda")
            for _ in range(50):
                t = t + 1
            turned = orient(t, "transpose", stream=named)
            del t
            torch.full((4096, 4096), 9, dtype=torch.uint8, device="cuda")  # would be the source's memory, given away
            stream.synchronize()
            self.assertTrue(bool((turned == 50).all()))

    def test_graph(self):
        t = noise((129, 257, 3), "uint8", "cuda")
        out = torch.empty(257, 129, 3, dtype=torch.uint8, device="cuda")
        orient(t, "rot90", out=out)  # the first call loads the kernels
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            orient(t, "rot90", out=out)
        for _ in range(3):
            t.copy_(noise(t.shape, "uint8", "cuda"))
            graph.replay()
            self.same(out, turn(t, "rot90"))

    def test_large(self):
        for shape, dtype in (((10007, 10009), "uint8"), ((5003, 5009), "float32"), ((4099, 4097, 3), "uint8")):
            t = noise(shape, dtype, "cuda")
            for name in ORIENTATIONS:
                self.same(orient(t, name), turn(t, name), shape, name)

    def test_not_here_and_there(self):
        t = noise((8, 9), "uint8", "cuda")
        with self.assertRaisesRegex(ValueError, "^out: it is in host memory"):
            orient(t, "rot90", out=torch.empty(9, 8, dtype=torch.uint8))

    @unittest.skipUnless(torch.cuda.device_count() > 1, "SKIPPED: one GPU")
    def test_the_tensors_gpu(self):
        t = noise((64, 65), "uint8", "cuda:1")
        self.same(orient(t, "rot90"), turn(t, "rot90"))


@unittest.skipUnless(cupy, "SKIPPED: there is no CuPy here that finds a GPU")
class Cupys(unittest.TestCase):
    def test_cupy(self):
        stream = cupy.cuda.Stream(non_blocking=True)
        for dtype in ("?", "u1", "f2", "f4", "c16"):
            for shape, layout in (((37, 53), "HW"), ((19, 30, 3), "HWC"), ((2, 3, 19, 30), "NCHW")):
                a = cupy.asarray(np.random.default_rng(3).integers(0, 2, shape).astype(dtype))
                axes = layout.index("H"), layout.index("W")
                wanted = cupy.rot90(a, -1, axes)
                got = orient(a, "rot90", layout)
                self.assertIsInstance(got, cupy.ndarray)
                self.assertTrue(bool((got == wanted).all()))
                out = cupy.zeros(wanted.shape, dtype)
                orient(a, "rot90", layout, out=out, stream=stream)
                stream.synchronize()
                self.assertTrue(bool((out == wanted).all()))
                with cupy.cuda.Stream(non_blocking=True):
                    self.assertTrue(bool((orient(a[::-1], "flipv", layout) == a).all()) if layout == "HW" else True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
