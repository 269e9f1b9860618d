# SPDX-License-Identifier: MIT
"""libtiletranspose by ctypes: where it is, its structs and functions, its errors as exceptions.

A call releases the interpreter's lock, and the message of a failure belongs to the calling thread, so that any
number of threads may call at once.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint, c_uint32, c_void_p
from typing import Any, Optional

INTERLEAVED, PLANAR = 0, 1
_ERRORS = {1: ValueError, 2: ValueError, 3: MemoryError, 4: OSError}  # the rest: RuntimeError


class Image(ctypes.Structure):
    """TtImage of tiletranspose/tt.h."""
    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("pitch", c_ssize_t), ("width", c_size_t),
                ("height", c_size_t), ("channels", c_uint32), ("sample_bits", c_uint32), ("layout", c_int),
                ("plane_pitch", c_ssize_t)]


IMAGE_SIZE = ctypes.sizeof(Image)


class Options(ctypes.Structure):
    """TtOptions."""
    _fields_ = [("struct_size", c_size_t), ("backend", c_char_p), ("threads", c_uint), ("device", c_int)]


ONE_THREAD = Options(ctypes.sizeof(Options), None, 1, 0)


def _open() -> ctypes.CDLL:
    """The library that TT_LIBRARY names; else the wheel's own, beside this file; else the system's."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtiletranspose.so")
    name = os.environ.get("TT_LIBRARY") or (beside if os.path.exists(beside) else "libtiletranspose.so.0")
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"tiletranspose needs its C library: {error}. Install it, or let the environment's "
                          "TT_LIBRARY name libtiletranspose.so") from None


_library = _open()


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_library, name)
    function.restype, function.argtypes = result, arguments
    return function


_last_error = _function("tt_last_error", c_char_p)
version = _function("tt_version", c_char_p)
swaps_axes = _function("tt_swaps_axes", c_int, c_int)
compose = _function("tt_compose", c_int, c_int, c_int)
invert = _function("tt_invert", c_int, c_int)
orientation_name = _function("tt_orientation_name", c_char_p, c_int)
_orient = _function("tt_orient", c_int, POINTER(Image), POINTER(Image), c_int, POINTER(Options))
_orient_strided_async = _function("tt_orient_strided_async", c_int, POINTER(Image), POINTER(Image), c_size_t,
                                  c_ssize_t, c_ssize_t, c_int, c_void_p, c_void_p)


def _raise(status: int) -> None:
    """The library's message, behind the names that its `source` and `destination` have in orient()."""
    message = (_last_error() or b"").decode(errors="replace")
    names = [name for name, role in (("array", "source"), ("out", "destination")) if role in message]
    raise _ERRORS.get(status, RuntimeError)(f"{' and '.join(names) or 'orient'}: {message}")


def orient(source: Image, destination: Image, orientation: int, options: Optional[Options] = None) -> None:
    status = _orient(source, destination, orientation, options)
    if status:
        _raise(status)


def orient_on_gpu(source: Image, destination: Image, count: int, source_stride: int, destination_stride: int,
                  orientation: int, stream: int) -> None:
    status = _orient_strided_async(source, destination, count, source_stride, destination_stride, orientation,
                                   stream, None)
    if status:
        _raise(status)
