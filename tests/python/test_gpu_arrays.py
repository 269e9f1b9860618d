#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pixels on a GPU by way of __cuda_array_interface__ and DLPack, from producers made here that note what they are asked.

TT_LIBRARY is a library with the shim's kernels and LD_LIBRARY_PATH leads to the shim's libcuda.so.1, whose device
memory can be read here; so NumPy is the truth again.
"""
import ctypes
import itertools
import sys
import types
import unittest
from concurrent.futures import ThreadPoolExecutor

import with_package

with_package.need("numpy")
import numpy as np
from tiletranspose import orient
from numpy_turn import numpy_turn_as
from with_package import NAMES

RANDOM = np.random.default_rng(21)
cuda = ctypes.CDLL("libcuda.so.1")
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
KEPT = []  # capsules' memory, which has to outlive them


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert not result, f"{name}: error {result}"


def start():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)


def new_stream():
    stream = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 0)
    return stream.value


def wait(stream):
    """The shim's streams do nothing before somebody waits for them."""
    call("cuStreamSynchronize", ctypes.c_void_p(stream))


def on_gpu(a):
    """A NumPy array over memory of the GPU, with a's pixels and strides."""
    low = min(0, *(min(0, s) * (n - 1) for s, n in zip(a.strides, a.shape)), sum(min(0, s) * (n - 1) for s, n in zip(a.strides, a.shape)))
    high = sum(max(0, s) * (n - 1) for s, n in zip(a.strides, a.shape)) + a.itemsize
    pointer = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(high - low))
    memory = np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(pointer.value), "u1")
    memory[:] = 0xa5
    view = np.ndarray(a.shape, a.dtype, memory.data, -low, a.strides)
    view[...] = a
    return view


class ByInterface:
    """As Numba's and CuPy's arrays: with the stream that its pixels are ready on, if any is said."""

    def __init__(self, a, stream=None, read_only=False):
        self.a = a
        self.__cuda_array_interface__ = {"shape": a.shape, "strides": a.strides, "typestr": a.dtype.str, "version": 3,
                                         "data": (a.__array_interface__["data"][0], read_only), "stream": stream}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int), ("id", ctypes.c_int), ("ndim", ctypes.c_int),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class ByDlpack:
    def __init__(self, a, device=2, flags=0, version=(1, 0), old=False, bits=None):
        self.a, self.device, self.flags, self.version, self.old, self.asked = a, device, flags, version, old, []
        self.bits = bits or 8 * a.itemsize

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, stream=None, **others):
        if self.old and others:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(stream)
        a = self.a
        axes = (ctypes.c_int64 * (2 * a.ndim))(*a.shape, *(s // a.itemsize for s in a.strides))
        at = ctypes.addressof(axes)
        tensor = Tensor(a.__array_interface__["data"][0] - 8, self.__dlpack_device__()[0], 0, a.ndim, CODES[a.dtype.kind], self.bits,
                        1, at, None if a.flags.c_contiguous else at + 8 * a.ndim, 8)
        managed = tensor if self.old else Versioned(*self.version, None, None, self.flags, tensor)
        KEPT.extend((axes, managed))
        return new_capsule(ctypes.addressof(managed), b"dltensor" if self.old else b"dltensor_versioned", None)


class Device:
    type, index = "cuda", 0
    __hash__, __eq__ = (lambda self: 5), (lambda self, other: isinstance(other, Device))


class TorchsTensor(ByDlpack):
    """What the package asks of one of PyTorch's; `recorded` are the streams that its memory was said to be used on."""
    is_cuda, requires_grad = True, False
    shape, dtype = property(lambda self: self.a.shape), property(lambda self: self.a.dtype.str)

    def __init__(self, a):
        super().__init__(a)
        self.device, self.recorded = Device(), []

    def __dlpack_device__(self):
        return 2, 0

    def stride(self):
        return tuple(s // self.a.itemsize for s in self.a.strides)

    def is_conj(self):
        return False

    is_neg = is_conj

    def data_ptr(self):
        return self.a.__array_interface__["data"][0]

    def new_empty(self, shape):
        return TorchsTensor(on_gpu(np.full(shape, 0xa5, "u1").astype(self.a.dtype)))

    def record_stream(self, stream):
        self.recorded.append(stream)


class Torch(types.ModuleType):
    """As much of PyTorch as is asked for the streams, with `current` as the handle of the current one."""
    Tensor, bool, uint8 = TorchsTensor, "|b1", "|u1"

    def __init__(self, raw):
        super().__init__("torch")
        self.current = 0
        ask = {"_cuda_getCurrentRawStream": lambda index: self.current} if raw else {}
        self._C = types.SimpleNamespace(**ask)
        self.cuda = types.SimpleNamespace(
            current_device=lambda: 0, default_stream=lambda: 0, ExternalStream=lambda handle, device: handle,
            current_stream=lambda device: types.SimpleNamespace(cuda_stream=self.current))


def noise(shape, dtype):
    return np.frombuffer(RANDOM.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)


class Gpu(unittest.TestCase):
    def same(self, got, wanted, *said):
        self.assertEqual(got.tobytes(), wanted.tobytes(), said)

    def test_every_layout_by_either_protocol(self):
        sizes = {"N": 3, "H": 21, "W": 34, "C": 3}
        for layout, dtype, name in itertools.product(("HW", "HWC", "CHW", "NHWC", "NCHW", "HWC->CHW", "CHW->HWC", "HNWC",
                                                      "NHWC->NCHW", "NCHW->NHWC"), ("u1", "<f4", "?"), NAMES):
            source = on_gpu(noise([sizes[axis] for axis in layout.split("->")[0]], "u1" if dtype == "?" else dtype)
                            .view(dtype))
            wanted = numpy_turn_as(source, name, layout)
            for make in (ByInterface, ByDlpack, lambda a: ByDlpack(a, old=True), lambda a: ByDlpack(a, device=13)):
                out = on_gpu(np.zeros(wanted.shape, dtype))
                given = make(out)
                self.assertIs(orient(make(source), name, layout, out=given), given)
                self.same(out, wanted, layout, dtype, name)

    def test_views(self):
        whole = on_gpu(noise((40, 41, 4), "u1"))
        for view in (whole[::-1], whole[:, ::-1], whole.swapaxes(0, 1), np.rot90(whole), whole[3:30:3, 5:9]):
            for make, name in itertools.product((ByInterface, ByDlpack), NAMES):
                wanted = numpy_turn_as(view, name, "HWC")
                frame = on_gpu(np.zeros((60, 60, 4), "u1"))
                out = frame[::-1, ::-1][5:5 + wanted.shape[0], 7:7 + wanted.shape[1]]
                orient(make(view), name, out=make(out))
                self.same(out, wanted, name, view.strides)
                self.assertEqual(int(frame.sum(dtype="u8")), int(wanted.sum(dtype="u8")))

    def with_torch(self, raw=True):
        torch = Torch(raw)
        sys.modules["torch"] = torch
        self.addCleanup(sys.modules.pop, "torch", None)
        return torch

    def test_torchs_tensors_again_and_again(self):
        """From the second of its like on, at another address, a tensor is not looked into."""
        self.with_torch()
        sizes = {"N": 3, "H": 21, "W": 34, "C": 3}
        for layout, dtype, name in itertools.product(("HW", "HWC", "CHW", "NHWC", "NCHW", "HWC->CHW", "HNWC",
                                                      "NHWC->NCHW", "NCHW->NHWC"), ("u1", "<f4"), NAMES):
            for turn in range(3):
                source = on_gpu(noise([sizes[axis] for axis in layout.split("->")[0]], "u1").astype(dtype))
                wanted = numpy_turn_as(source, name, layout)
                tensor, out = TorchsTensor(source), TorchsTensor(on_gpu(np.zeros(wanted.shape, dtype)))
                self.same(orient(tensor, name, layout).a, wanted, layout, dtype, name)
                self.assertIs(orient(tensor, name, layout, out=out), out)
                self.same(out.a, wanted, layout, dtype, name)
                self.assertEqual(tensor.asked, [] if turn else [-1, -1])

    def test_torchs_views_again_and_again(self):
        self.with_torch()
        for turn, name in itertools.product(range(3), NAMES):
            whole = on_gpu(noise((40, 41, 4), "u1"))
            for view in (whole.swapaxes(0, 1), whole[3:30:3, 5:9], whole[:, 4:5], whole[:-1, 1:]):
                self.same(orient(TorchsTensor(view), name).a, numpy_turn_as(view, name, "HWC"), name, view.strides)

    def test_torchs_current_stream_is_asked_each_time(self):
        for raw in (True, False):
            torch = self.with_torch(raw)
            source = on_gpu(noise((8, 9), "u1"))
            one, other = new_stream(), new_stream()
            for torch.current in (0, one, other, 0):
                tensor = TorchsTensor(source)
                for stream in (None, torch.current):  # which needs no words
                    out = orient(tensor, "rot90", stream=stream)
                    wait(torch.current)
                    self.same(out.a, np.rot90(source, -1))
                    self.assertEqual(tensor.recorded + out.recorded, [])
                torch.current = 0x1230  # no stream, and so refused
                with self.assertRaisesRegex(RuntimeError, "^orient: "):
                    orient(tensor, "rot90")
            torch.current = one
            tensor = TorchsTensor(source)
            out = orient(tensor, "rot90", stream=other)
            wait(other)
            self.same(out.a, np.rot90(source, -1))
            self.assertEqual((tensor.asked, tensor.recorded, out.recorded), ([other], [other], [other]))

    def test_threads_with_tensors_alike(self):
        self.with_torch()
        wrong = []

        def work():
            start()
            for _ in range(100):
                source = on_gpu(noise((3, 31, 17), "u1"))
                if orient(TorchsTensor(source), "rot90", "CHW").a.tobytes() != \
                        numpy_turn_as(source, "rot90", "CHW").tobytes():
                    wrong.append(source)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: work(), range(8)))
        self.assertEqual(wrong, [])

    def test_no_pixels(self):
        source, out = np.empty((0, 5), "u1"), np.empty((5, 0), "u1")
        given = ByInterface(out)
        self.assertIs(orient(ByInterface(source), "rot90", out=given), given)

    def test_the_producers_stream_is_taken(self):
        """The shim refuses handles that are no streams: so this shows which one a launch was given."""
        source, out = on_gpu(noise((8, 9), "u1")), on_gpu(np.zeros((9, 8), "u1"))
        stream = new_stream()
        orient(ByInterface(source, stream), "rot90", out=ByInterface(out, stream))
        wait(stream)
        self.same(out, np.rot90(source, -1))
        with self.assertRaisesRegex(RuntimeError, "^orient: "):
            orient(ByInterface(source, 0x1230), "rot90", out=ByInterface(out, 0x1230))
        for default in (None, 1, 2):
            orient(ByInterface(source, default), "rot90", out=ByInterface(out))
        a, b = ByDlpack(source), ByDlpack(out)
        orient(a, "rot90", out=b)
        self.assertEqual((a.asked, b.asked), ([1], [1]), "the legacy default stream, for both to wait for")

    def test_a_stream_that_is_named(self):
        class Torchs:
            cuda_stream = new_stream()

        class Cupys:
            ptr = new_stream()

        class Numbas:
            handle = ctypes.c_void_p(new_stream())

        class Cores:
            def __init__(self):
                self.handle = new_stream()

            def __cuda_stream__(self):
                return 0, self.handle

        core = Cores()
        source, out = on_gpu(noise((8, 9), "u1")), on_gpu(np.zeros((9, 8), "u1"))
        for stream, handle in ((Torchs(), Torchs.cuda_stream), (Cupys(), Cupys.ptr), (Numbas(), Numbas.handle.value),
                               (core, core.handle), (core.handle, core.handle), (0, 1), (2, 2)):
            a, b = ByDlpack(source), ByDlpack(out)
            out[...] = 0
            orient(a, "rot90", out=b, stream=stream)
            self.assertEqual((a.asked, b.asked), ([handle], [handle]))
            wait(handle)
            self.same(out, np.rot90(source, -1))
            orient(ByInterface(source), "rot90", out=ByInterface(out, handle), stream=stream)
        with self.assertRaisesRegex(ValueError, "^array: ByInterface has its pixels ready on another stream"):
            orient(ByInterface(source, core.handle), "rot90", out=ByInterface(out), stream=Cupys())
        with self.assertRaisesRegex(RuntimeError, "^orient: "):
            orient(ByDlpack(source), "rot90", out=ByDlpack(out), stream=0x1230)

    def test_refusals(self):
        source, out = on_gpu(noise((8, 9), "u1")), on_gpu(np.zeros((9, 8), "u1"))

        def refused(kind, words, array, to):
            with self.assertRaises(kind) as caught:
                orient(array, "rot90", out=to)
            self.assertTrue(str(caught.exception).startswith(words), str(caught.exception))

        refused(TypeError, "out: it has to be given: ByInterface", ByInterface(source), None)
        refused(ValueError, "out: it is read-only", ByInterface(source), ByInterface(out, read_only=True))
        refused(ValueError, "out: it is read-only", ByDlpack(source), ByDlpack(out, flags=1))
        refused(ValueError, "out: it is in host memory", ByDlpack(source), np.empty((9, 8), "u1"))
        refused(ValueError, "out: it is in a GPU's memory", np.empty((8, 9), "u1"), ByDlpack(out))
        refused(ValueError, "array: its pixels are in memory of DLPack's device 10", ByDlpack(source, device=10), out)
        refused(ValueError, "array: DLPack 2.0 is not known", ByDlpack(source, version=(2, 0)), ByDlpack(out))
        refused(TypeError, "array: samples of 4 bits", ByDlpack(source, bits=4), ByDlpack(out))
        refused(ValueError, "array and out: ", ByDlpack(source), ByInterface(source.reshape(9, 8)))
        refused(ValueError, "array: ", ByInterface(np.empty((8, 9), "u1")), ByDlpack(out))
        refused(ValueError, "out: ", ByDlpack(source), ByInterface(np.empty((9, 8), "u1")))
        refused(ValueError, "array: strides of (9, 2)", ByDlpack(source[:, ::2]), ByDlpack(out[:5]))
        self.assertFalse(out.any())


if __name__ == "__main__":
    start()
    unittest.main()
