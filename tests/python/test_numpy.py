#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tiletranspose.orient() with NumPy, against NumPy's own rot90 and transpose."""
import itertools
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import with_package

with_package.need("numpy")
import numpy as np
import tiletranspose
from tiletranspose import orient
from numpy_turn import numpy_turn, numpy_turn_as
from with_package import NAMES

RANDOM = np.random.default_rng(20)
TYPES = ["?", "u1", "i1", "<u2", ">u2", "<f2", "<f4", ">f4", "<f8", ">i8", "<c8", ">c16", "S3", "U1", "<M8[ns]",
         np.dtype([("r", "u1"), ("g", ">u2"), ("b", "u1")])]
if np.dtype(np.longdouble).itemsize > 8:
    TYPES.append(np.longdouble)


def noise(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RANDOM.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "U":  # only what is a character
        return RANDOM.integers(0x20, 0x7f, shape).astype("<u4").view(dtype).reshape(shape)
    return np.frombuffer(RANDOM.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape).copy()


class Turns(unittest.TestCase):
    def same(self, got, wanted, *said):
        self.assertEqual(got.shape, wanted.shape, said)
        self.assertEqual(got.dtype, wanted.dtype, said)
        self.assertEqual(got.tobytes(), wanted.tobytes(), said)  # bytes: a NaN is what it was, too

    def test_the_card_of_the_first_line(self):
        card = np.array([["A", "B"], ["C", "D"]])
        cards = {"none": "AB CD", "fliph": "BA DC", "rot180": "DC BA", "flipv": "CD AB", "transpose": "AC BD",
                 "rot90": "CA DB", "transverse": "DB CA", "rot270": "BD AC"}
        for name, wanted in cards.items():
            self.assertEqual(" ".join("".join(row) for row in orient(card, name)), wanted)
        self.assertTrue(tiletranspose.__doc__.split("\n")[0].startswith(
            "rot90 turns clockwise: [[A, B], [C, D]] becomes [[C, A], [D, B]]"))

    def test_types(self):
        for dtype, name in itertools.product(TYPES, NAMES):
            a = noise((13, 37), dtype)
            self.same(orient(a, name), numpy_turn(a, name), dtype, name)
            a = noise((5, 9, 3), dtype)
            self.same(orient(a, name), numpy_turn(a, name), dtype, name)

    def test_numbers_are_exifs(self):
        a = noise((4, 6), "u1")
        for number, name in enumerate(NAMES, 1):
            self.same(orient(a, number), orient(a, name), name)
            self.same(orient(a, np.uint16(number)), orient(a, name), name)

    def test_layouts(self):
        sizes = {"N": 3, "H": 7, "W": 10, "C": 4}
        layouts = ["".join(axes) for extra in ("", "N", "C", "NC") for axes in itertools.permutations("HW" + extra)]
        for layout in layouts:
            a = noise([sizes[axis] for axis in layout], "<u2")
            for name in NAMES:
                if layout.rstrip("C").endswith("N"):  # pixels of another image between those of a row
                    with self.assertRaisesRegex(ValueError, "^array: strides of .* leave gaps"):
                        orient(a, name, layout)
                    continue
                self.same(orient(a, name, layout), numpy_turn_as(a, name, layout), layout, name)

    def test_channels_move_in_the_same_pass(self):
        sizes = {"N": 3, "H": 7, "W": 10, "C": 3}
        for source in ("HWC", "CHW", "NHWC", "NCHW", "HNWC", "CNHW"):
            for result in ("".join(axes) for axes in itertools.permutations(source)):
                if result.rstrip("C").endswith("N"):
                    continue
                layout = f"{source}->{result}"
                for dtype in ("u1", "f4"):
                    a = noise([sizes[axis] for axis in source], dtype)
                    for name in ("none", "fliph", "rot90", "transverse"):
                        self.same(orient(a, name, layout), numpy_turn_as(a, name, layout), layout, dtype, name)

    def test_views_are_read_and_written_where_they_are(self):
        """Flipped, transposed and cropped on either side, batches within batches, and what is beside them untouched."""
        views = {"cropped": lambda a: a[3:10, 2:13], "upward": lambda a: a[::-1], "mirrored": lambda a: a[:, ::-1],
                 "rot90": lambda a: np.rot90(a), "transposed": lambda a: a.swapaxes(0, 1), "every second row": lambda a: a[::2],
                 "one row": lambda a: a[4:5], "one column": lambda a: a[:, 4:5], "column upward": lambda a: a[::-3, 6:7],
                 "one pixel": lambda a: a[3:4, 5:6]}
        for dtype, shape in (("u1", (16, 17)), ("f4", (16, 17)), ("u1", (16, 17, 3)), ("u2", (16, 17, 4))):
            whole = noise(shape, dtype)
            for (seen, view), (kept, target), name in itertools.product(views.items(), views.items(), NAMES):
                a = view(whole)
                wanted = numpy_turn(a, name)
                big = noise((40, 43) + shape[2:], dtype)
                out = target(big)
                out = out[:wanted.shape[0], :wanted.shape[1]]
                if out.shape != wanted.shape:
                    continue
                expected = big.copy()
                place = target(expected)[:wanted.shape[0], :wanted.shape[1]]
                place[...] = wanted
                self.assertIs(orient(a, name, out=out), out)
                self.same(big, expected, dtype, seen, kept, name)

    def test_planes_and_batches_in_any_memory(self):
        whole = noise((4, 6, 9, 13, 3), "u1")
        for layout, view in (("NHW", whole[:, 2, :, :, 1].copy()), ("NHWC", whole[:, 1]), ("NHWC", whole[::-1, 3, ::-1]),
                             ("NHWC", whole[:, :, 5]), ("NHWC", whole[1:, 2, 1:7, 2:11]), ("HNWC", whole[2, :, 4:]),
                             ("NHWC", np.broadcast_to(whole[0, 0], (5, 9, 13, 3))), ("CHW", np.moveaxis(whole[0, 0], -1, 0)),
                             ("NCHW", np.moveaxis(whole[0], -1, 1)), ("CHW", whole[:, 3, :, :, 0].copy()[::-1]),
                             ("NCHW", noise((2, 5, 9, 13), "u1")[:, 1:4]), ("NCHW", noise((3, 3, 9, 13), "u1")[:, ::-1])):
            for name in NAMES:
                self.same(orient(view, name, layout), numpy_turn_as(view, name, layout), layout, view.strides, name)
                planar = layout + "->" + layout.replace("C", "").replace("H", "CH", 1) if "C" in layout else layout
                wanted = numpy_turn_as(view, name, planar)
                big = noise((wanted.shape[0] + 2,) + wanted.shape[1:-1] + (wanted.shape[-1] + 5,), "u1")
                expected = big.copy()
                expected[1:-1, ..., 3:-2] = wanted
                orient(view, name, planar, out=big[1:-1, ..., 3:-2])
                self.same(big, expected, planar, view.strides, name)

    def test_large_ones_by_all_threads(self):
        for shape, layout in (((1031, 2053), "HW"), ((1031, 2053, 3), "HWC"), ((5, 515, 259, 3), "NHWC->NCHW")):
            a = noise(shape, "u1")
            for name in ("rot90", "fliph", "transverse"):
                self.same(orient(a, name, layout), numpy_turn_as(a, name, layout), layout, name)

    def test_no_pixels(self):
        for layout, shape in (("HW", (0, 5)), ("HW", (5, 0)), ("HWC", (4, 5, 0)), ("NCHW", (0, 3, 4, 5))):
            for name in NAMES:
                a = np.empty(shape, "f4")
                self.same(orient(a, name, layout), numpy_turn_as(a, name, layout), layout, name)

    def test_compose_and_invert(self):
        a = noise((5, 8), "u1")
        for first, then in itertools.product(NAMES, NAMES):
            self.same(orient(a, tiletranspose.compose(first, then)), numpy_turn(numpy_turn(a, first), then), first, then)
        for name in NAMES:
            self.same(numpy_turn(numpy_turn(a, name), tiletranspose.invert(name)), a, name)
        self.assertEqual(list(tiletranspose.ORIENTATIONS), NAMES)

    def test_threads(self):
        """Each finds its own result, and its own error."""
        pictures = [noise((97 + i, 211 - i, 3), "u1") for i in range(8)]
        wrong = []

        def work(a, i):
            for _ in range(50):
                if orient(a, "rot90").tobytes() != np.rot90(a, -1).tobytes():
                    wrong.append(i)
                try:
                    orient(a, "rot90", out=a[:, :, ::-1][:i])
                    wrong.append("no error")
                except ValueError as error:
                    if f"out: its shape is {(min(i, a.shape[0]),) + a.shape[1:]}" not in str(error):
                        wrong.append(str(error))

        with ThreadPoolExecutor(len(pictures)) as pool:
            list(pool.map(work, pictures, range(len(pictures))))
        self.assertEqual(wrong, [])

    def test_anything_with_an_array_interface(self):
        class Picture:
            __array_interface__ = noise((3, 4), ">u2").__array_interface__

        held = noise((3, 4), ">u2")
        Picture.__array_interface__ = held.__array_interface__
        self.same(orient(Picture(), "rot90"), np.rot90(held, -1))

    def test_dlpack_in_host_memory(self):
        class Picture:
            def __init__(self, a):
                self.__dlpack__, self.__dlpack_device__ = a.__dlpack__, a.__dlpack_device__

        for a in (noise((3, 4), "u1"), noise((9, 4), "f8")[::2], noise((9, 4), "c8")[:, ::-1], noise((0, 4), "f4")):
            self.same(orient(Picture(a), "rot90"), np.rot90(a, -1))
            out = np.zeros(a.shape[::-1], a.dtype)
            orient(a, "rot90", out=Picture(out))
            self.same(out, np.rot90(a, -1))


class Sample(unittest.TestCase):
    def test_arrays(self):
        sample = os.path.join(with_package.HERE, "..", "..", "samples", "arrays.py")
        said = subprocess.run([sys.executable, sample], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}).stdout
        self.assertEqual(said.splitlines(), ["da", "eb", "fc", ".cf..", ".be..", ".ad..", ".....", "(8, 3, 640, 480)"])


class Refusals(unittest.TestCase):
    def refused(self, kind, words, *arguments, **named):
        with self.assertRaises(kind) as caught:
            orient(*arguments, **named)
        self.assertTrue(str(caught.exception).startswith(words), str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_each_names_its_argument(self):
        a = noise((6, 8, 3), "u1")
        self.refused(TypeError, "array: list has neither DLPack nor", [[1, 2]], "rot90")
        self.refused(TypeError, "array: an array of Python objects", np.array([[1, None]]), "rot90")
        for records in ([("count", "u1"), ("who", "O")], [("pair", [("who", "O", (2,)), ("count", "u2")])]):
            self.refused(TypeError, "array: an array of Python objects", np.empty((2, 3), records), "rot90")
        self.refused(ValueError, "array: a masked array's mask", np.ma.masked_equal(a, 0), "rot90")
        self.refused(ValueError, "array: strides of (24, 6, 1) bytes leave gaps", a[:, ::2], "rot90")
        self.refused(ValueError, "array: strides of (24, 3, 1) bytes leave gaps", a[..., :2], "rot90")
        self.refused(ValueError, "array: strides of (24, 3, -1) bytes leave gaps", a[..., ::-1], "rot90")
        self.refused(ValueError, "array: the source image's pitch of 0", np.broadcast_to(a[0], a.shape), "rot90")
        self.refused(ValueError, "orientation: 'rot45' is none of none, fliph", a, "rot45")
        self.refused(ValueError, "orientation: 0 is none of", a, 0)
        self.refused(ValueError, "orientation: 9 is none of", a, 9)
        self.refused(TypeError, "orientation: float is neither", a, 90.0)
        self.refused(TypeError, "layout: int is no string", a, "rot90", 3)
        for layout in ("", "W", "HH", "HWX", "CWC", "HWC->", "HWC->HW", "HWC->HWN", "HWC->CHWC", "->HWC", "hwc"):
            self.refused(ValueError, f"layout: {layout!r} is none", a, "rot90", layout)
        self.refused(ValueError, "layout: 'HW' has 2 axes, the array 3", a, "rot90", "HW")
        self.refused(ValueError, "layout: an array of 1 axes needs it said", a[0, 0], "rot90")
        self.refused(ValueError, "stream: the pixels of array are in host memory", a, "rot90", stream=7)
        self.refused(TypeError, "stream: str is no CUDA stream", a, "rot90", stream="s")
        self.refused(TypeError, "out: list has neither", a, "rot90", out=[])
        self.refused(ValueError, "out: its shape is (6, 8, 3), the result's (8, 6, 3)", a, "rot90", out=a.copy())
        self.refused(ValueError, "out: its type is i1, that of array u1", a, "rot90", out=np.empty((8, 6, 3), "i1"))
        self.refused(ValueError, "out: its type is >u2, that of array u2", a.astype("<u2"), "rot90",
                     out=np.empty((8, 6, 3), ">u2"))
        read_only = np.empty((8, 6, 3), "u1")
        read_only.flags.writeable = False
        self.refused(ValueError, "out: it is read-only", a, "rot90", out=read_only)
        self.refused(ValueError, "out: strides of", a, "rot90", out=np.empty((8, 12, 3), "u1")[:, ::2])
        for first in ("orientation", "first", "then"):
            arguments = {"first": ("x", 1), "then": (1, "x"), "orientation": ("x",)}[first]
            with self.assertRaisesRegex(ValueError, f"^{first}: 'x' is none of"):
                (tiletranspose.invert if first == "orientation" else tiletranspose.compose)(*arguments)

    def test_shared_memory(self):
        a = noise((8, 8, 3), "u1")
        self.refused(ValueError, "array and out: ", a, "rot90", out=a)
        self.refused(ValueError, "array and out: ", a[:5, :5], "transpose", out=a[3:, 3:])
        batch = noise((4, 6, 6, 3), "u1")
        self.refused(ValueError, "array and out: ", batch[:3], "rot90", out=batch[1:])
        self.refused(ValueError, "array and out: ", batch[:2], "rot90", "NHWC->NCHW",
                     out=batch.reshape(-1)[150:150 + 216].reshape(2, 3, 6, 6))
        one = np.lib.stride_tricks.as_strided(noise((200,), "u1"), (3, 6, 6), (10, 6, 1))
        self.refused(ValueError, "out: ", batch[:3, ..., 0].copy(), "rot90", out=one)
        one = np.lib.stride_tricks.as_strided(noise((400,), "u1"), (3, 3, 6, 6), (10, 36, 6, 1))
        self.refused(ValueError, "out: 36 bytes of it lie 10 bytes apart", batch[:3], "rot90", "NHWC->NCHW", out=one)

    def test_halves_of_one_array_share_nothing(self):
        a = noise((6, 12, 3), "u1")
        wanted = np.rot90(a[:, :6], -1).copy()
        orient(a[:, :6], "rot90", out=a[:, 6:])
        self.assertEqual(a[:, 6:].tobytes(), wanted.tobytes())

    def test_nothing_is_written_when_refused(self):
        a, out = noise((6, 8), "u1"), np.full((8, 6), 7, "u1")
        for arguments in ({"orientation": "x"}, {"orientation": 6, "layout": "HWC"}, {"orientation": 6, "stream": 1}):
            with self.assertRaises(ValueError):
                orient(a, out=out, **arguments)
        self.assertTrue((out == 7).all())


if __name__ == "__main__":
    unittest.main()
