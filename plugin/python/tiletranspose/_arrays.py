# SPDX-License-Identifier: MIT
"""Where an array's bytes are, by the protocol it speaks. Nothing here copies them.

NumPy speaks `__array_interface__`, the only one of the three that knows big-endian and structured types; pixels on a
GPU come by `__cuda_array_interface__` or DLPack. A DLPack capsule is looked into and left as it is: its own
destructor gives the pixels back.
"""
from __future__ import annotations

import ctypes
import operator
import re
import struct
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

DLPACK_HOST, DLPACK_CUDA = (1, 3), (2, 13)  # plain and pinned, the GPU's and managed memory
LEGACY_STREAM = 1  # CUDA's handle, and DLPack's number, of the default stream


class View(NamedTuple):
    """An array's memory. Strides are in bytes."""
    pointer: int
    shape: Sequence[int]
    strides: Sequence[int]
    type: str  # as in the array interface: "u1", "f4", ">f4"; the byte order stands only where it is not the machine's
    itemsize: int
    read_only: bool
    on_gpu: bool
    stream: int  # of a GPU's: where the pixels are ready
    keep: Any  # what has to live while the memory is used


def view_of(array: Any, name: str, stream: Optional[int]) -> View:
    """`name` is the argument's. `stream` is the one to use the memory on, or None for the producer's current one."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise ValueError(f"{name}: a masked array's mask would not be turned with it: pass its data and its mask "
                         "one after the other")
    interface = getattr(array, "__array_interface__", None)
    if interface is not None:
        return _by_interface(interface, name, array, False, 0)
    if is_torch(array):
        return _of_torch(array, name, stream)
    has_dlpack = hasattr(array, "__dlpack__")
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        ready_on = interface.get("stream")
        if stream is None or ready_on is None and not has_dlpack or ready_on == stream:
            return _by_interface(interface, name, array, True, stream or ready_on or LEGACY_STREAM)
        if not has_dlpack:
            raise ValueError(f"{name}: {type(array).__name__} has its pixels ready on another stream and no DLPack "
                             "to make this one wait: synchronise, or leave `stream` out")
    if has_dlpack:
        return _by_dlpack(array, name, stream or LEGACY_STREAM)
    raise TypeError(f"{name}: {type(array).__name__} has neither DLPack nor an array interface: the arrays of NumPy, "
                    "CuPy and PyTorch do")


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _of_torch(tensor: Any, name: str, stream: Optional[int]) -> View:
    torch = sys.modules["torch"]
    if tensor.is_neg():  # which DLPack does not tell
        raise ValueError(f"{name}: a tensor that is negated only when it is read: pass its resolve_neg()")
    if tensor.dtype is torch.bool:  # which PyTorch before 2.0 does not hand out
        return _of_torch(tensor.view(torch.uint8), name, stream)._replace(type="b1")
    if not tensor.is_cuda:
        return _by_dlpack(tensor, name, LEGACY_STREAM)
    current = current_stream(torch, tensor.device)
    if stream is None or stream == current:  # what makes the tensor is ahead on the same stream
        return _by_dlpack(tensor, name, current, wait=False)
    return _by_dlpack(tensor, name, stream)


def current_stream(torch: Any, device: Any) -> int:
    """PyTorch's own code asks by the short way, which makes no objects; not all versions have it."""
    ask = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    handle = ask(device.index) if ask else torch.cuda.current_stream(device).cuda_stream
    return int(handle) or LEGACY_STREAM


def stream_handle(stream: Any) -> int:
    """The handle of a stream of PyTorch, CuPy, Numba or cuda.core, or an integer that is one."""
    handle = stream
    if hasattr(stream, "__cuda_stream__"):
        told = stream.__cuda_stream__
        handle = (told() if callable(told) else told)[1]
    for attribute in ("cuda_stream", "ptr", "handle", "value"):
        handle = getattr(handle, attribute, handle)
    try:
        return LEGACY_STREAM if handle is None else operator.index(handle) or LEGACY_STREAM
    except TypeError:
        raise TypeError(f"stream: {type(stream).__name__} is no CUDA stream: pass PyTorch's, CuPy's or an integer "
                        "handle") from None


# ---- The array interfaces ---------------------------------------------------------------------------------------


def _by_interface(interface: Dict[str, Any], name: str, array: Any, on_gpu: bool, stream: int) -> View:
    kind = interface["typestr"]
    digits = re.match(r"\d+", kind[2:])
    if kind[1] == "O" or getattr(getattr(array, "dtype", None), "hasobject", False):  # in a field of records, too
        raise TypeError(f"{name}: an array of Python objects holds references, not pixels")
    if kind[1] == "t" or not digits:
        raise TypeError(f"{name}: its type {kind!r} is not of whole bytes")
    itemsize = int(digits[0]) * (4 if kind[1] == "U" else 1)
    if interface.get("mask") is not None:
        raise ValueError(f"{name}: its mask would not be turned with it")
    data = interface.get("data")
    if not isinstance(data, tuple):
        raise TypeError(f"{name}: {type(array).__name__} makes a copy of its pixels for each reader: pass "
                        "numpy.asarray() of it")
    native = "<" if sys.byteorder == "little" else ">"
    if kind[0] in ("|", "=", native):
        kind = kind[1:]
    shape = interface["shape"]
    strides = interface.get("strides")
    return View(data[0], shape, strides or contiguous(shape, itemsize), kind, itemsize, bool(data[1]), on_gpu, stream,
                array)


def contiguous(shape: Sequence[int], itemsize: int) -> List[int]:
    strides: List[int] = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= length
    return strides[::-1]


# ---- DLPack -----------------------------------------------------------------------------------------------------

_DLTENSOR = struct.Struct("@PiiiBBHPPQ")  # data, device type and id, ndim, type's code bits lanes, shape, strides, offset
_VERSIONED = struct.Struct("@IIPPQ")  # version, manager, deleter, flags; then a DLTensor
_READ_ONLY = 1
_KINDS = {0: "i", 1: "u", 2: "f", 4: "bf", 5: "c", 6: "b"}

_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.restype, _capsule_is.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _export(array: Any, stream: Optional[int]) -> Any:
    arguments = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # a producer of DLPack before 1.0
        return array.__dlpack__(**arguments)


def _by_dlpack(array: Any, name: str, stream: int, wait: bool = True) -> View:
    try:
        device = array.__dlpack_device__()[0]
    except (BufferError, RuntimeError, ValueError) as error:  # as of one that is in no memory
        raise ValueError(f"{name}: {error}") from error
    if device not in DLPACK_HOST + DLPACK_CUDA:
        raise ValueError(f"{name}: its pixels are in memory of DLPack's device {int(device)}: host memory and "
                         "NVIDIA's GPUs can be reached")
    on_gpu = device in DLPACK_CUDA
    try:
        capsule = _export(array, (stream if wait else -1) if on_gpu else None)
    except (BufferError, RuntimeError) as error:  # as of a tensor that requires a gradient
        raise ValueError(f"{name}: {error}") from error
    flags = 0
    if _capsule_is(capsule, b"dltensor_versioned"):
        address = _capsule_pointer(capsule, b"dltensor_versioned")
        major, minor, _, _, flags = _VERSIONED.unpack(ctypes.string_at(address, _VERSIONED.size))
        if major != 1:
            raise ValueError(f"{name}: DLPack {major}.{minor} is not known here")
        address += _VERSIONED.size
    else:
        address = _capsule_pointer(capsule, b"dltensor")
    data, _, _, ndim, code, bits, lanes, shape_at, strides_at, offset = _DLTENSOR.unpack(
        ctypes.string_at(address, _DLTENSOR.size))
    if bits * lanes % 8:
        raise TypeError(f"{name}: samples of {bits * lanes} bits are not whole bytes")
    itemsize = bits * lanes // 8
    longs = ctypes.c_int64 * ndim
    shape = longs.from_address(shape_at)[:] if ndim else []
    if strides_at and ndim:
        strides = [itemsize * stride for stride in longs.from_address(strides_at)]
    else:
        strides = contiguous(shape, itemsize)
    kind = f"{_KINDS.get(code, f'dlpack{code}:')}{bits // 8}" + (f"x{lanes}" if lanes > 1 else "")
    return View((data or 0) + offset, shape, strides, kind, itemsize, bool(flags & _READ_ONLY), on_gpu, stream, capsule)
