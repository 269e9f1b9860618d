# SPDX-License-Identifier: MIT
"""rot90 turns clockwise: [[A, B], [C, D]] becomes [[C, A], [D, B]], where numpy.rot90 and torch.rot90 turn the other way.

Turns images in the arrays of NumPy, CuPy, PyTorch and of whatever else speaks DLPack or an array interface: exactly,
byte by byte, by libtiletranspose. Nothing is copied on the way there or back.

    import tiletranspose
    turned = tiletranspose.orient(picture, "rot90")                    # rows, columns and, if any, channels
    planes = tiletranspose.orient(picture, "none", "HWC->CHW")         # only the channels move
    batch = tiletranspose.orient(tensors, "transpose", "NCHW", out=batch)

The eight orientations are EXIF's, and so are their numbers, from 1:

              none   fliph  rot180  flipv  transpose  rot90  transverse  rot270
    A B       A B    B A    D C     C D      A C       C A      D B        B D
    C D  ->   C D    D C    B A     A B      B D       D B      C A        A C
"""
from __future__ import annotations

import operator
import sys
from typing import Any, Optional, Tuple, TypeVar, Union

from . import _library
from ._arrays import View, current_stream, is_torch, stream_handle, view_of
from ._plans import Plan, keep, key_of, take
from ._sides import parse_layout, result_shape

__all__ = ["ORIENTATIONS", "compose", "invert", "orient"]
__version__: str = _library.version().decode()

ORIENTATIONS: Tuple[str, ...] = tuple(_library.orientation_name(number).decode() for number in range(1, 9))
"""Their names, in EXIF's order: that of EXIF's 1 is first."""

Array = TypeVar("Array")
Orientation = Union[str, int]


def orient(array: Array, orientation: Orientation, layout: Optional[str] = None, out: Any = None,
           stream: Any = None) -> Array:
    """Turns a picture, or each picture of a batch, and returns the result: `out` if given, else a new array.

    array        Any type of whole bytes. Flipped, transposed and cropped views are read where they are; ValueError
                 if there are gaps between the samples of a row ([:, ::2], [..., :3]).
    orientation  One of ORIENTATIONS, or EXIF's number. rot90 is clockwise; numpy.rot90 is not.
    layout       What the axes are: H and W, N of a batch, C of channels, in their order. "HW", "HWC" and "NHWC" unless
                 said; PyTorch's pictures are mostly "CHW" and "NCHW". "HWC->CHW" makes the result one of that order, in
                 the same pass.
    out          An array for the result, of its shape and the same type, which shares no memory with `array`.
                 A new one is NumPy's, CuPy's or PyTorch's, as `array` is; NumPy's for others in host memory.
    stream       Pixels on a GPU: the CUDA stream to turn on, as an object or a handle. By default the producer's
                 current one, so that work goes on in order. Another is made to wait for the producer's; what comes
                 after it is the caller's to order, and CuPy's arrays have to live until it is done.

    Pixels in host memory are turned before it returns, by all cores and with the interpreter's lock released. Pixels
    on a GPU are only enqueued: the call neither waits nor allocates but for a new result, and can be captured in a
    CUDA graph.

    What is wrong with an argument is a TypeError or ValueError that names it; a GPU's failure is a RuntimeError.
    """
    number = _number(orientation, "orientation")
    handle = None if stream is None else stream_handle(stream)
    torch: Any = sys.modules["torch"] if is_torch(array) else None
    tensor: Any = array if torch else None
    if handle is not None and torch and tensor.is_cuda and handle == current_stream(torch, tensor.device):
        handle = None
    key = key_of(tensor, number, layout, out) if torch and handle is None and type(tensor) is torch.Tensor else None
    plan = take(key) if key else None
    if key and plan:
        result = tensor.new_empty(plan.shape) if out is None else out
        plan.run(tensor.data_ptr(), result.data_ptr(), current_stream(torch, tensor.device) if tensor.is_cuda else None)
        keep(key, plan)
        return result

    if torch and tensor.is_cuda and tensor.device.index != torch.cuda.current_device():
        with torch.cuda.device(tensor.device):  # PyTorch hands out its current GPU's tensors only
            return orient(array, number, layout, out, stream)
    source = view_of(array, "array", handle)
    if handle is not None and not source.on_gpu:
        raise ValueError("stream: the pixels of array are in host memory")
    axes, result_axes = parse_layout(layout, len(source.shape))
    shape = result_shape(source.shape, axes, result_axes, bool(_library.swaps_axes(number)))
    if out is None:
        out = _new_array(array, source, shape)
    view = view_of(out, "out", source.stream if source.on_gpu else None)
    _check_out(view, source, shape)
    if 0 in shape:
        return out

    plan = Plan(source, view, axes, result_axes, number)
    plan.run(source.pointer, view.pointer, source.stream if source.on_gpu else None)
    if key:
        keep(key, plan)
    if handle is not None:
        _tell_torch(torch, handle, array, out)
    return out


def compose(first: Orientation, then: Orientation) -> str:
    """The one orientation that does what `first` and then `then` do."""
    return ORIENTATIONS[_library.compose(_number(first, "first"), _number(then, "then")) - 1]


def invert(orientation: Orientation) -> str:
    """The orientation that undoes it. Only rot90 and rot270 are not their own."""
    return ORIENTATIONS[_library.invert(_number(orientation, "orientation")) - 1]


_NUMBERS = {name: number for number, name in enumerate(ORIENTATIONS, 1)}


def _number(orientation: Orientation, name: str) -> int:
    if isinstance(orientation, str):
        number = _NUMBERS.get(orientation, 0)
    else:
        try:
            number = operator.index(orientation)
        except TypeError:
            raise TypeError(f"{name}: {type(orientation).__name__} is neither a name nor EXIF's number") from None
    if not 1 <= number <= 8:
        raise ValueError(f"{name}: {orientation!r} is none of {', '.join(ORIENTATIONS)}, nor a number from 1 to 8")
    return number


def _new_array(array: Any, source: View, shape: Tuple[int, ...]) -> Any:
    maker = type(array).__module__.partition(".")[0]
    if is_torch(array):
        return array.new_empty(shape)
    if maker == "cupy":
        with array.device:
            return sys.modules["cupy"].empty(shape, array.dtype)
    if source.on_gpu:
        raise TypeError(f"out: it has to be given: {type(array).__name__} is neither CuPy's nor PyTorch's, which have "
                        "a way to make another")
    import numpy
    try:
        return numpy.empty(shape, getattr(array, "dtype", None) or source.type)
    except TypeError:
        raise TypeError(f"out: it has to be given: NumPy has no type {source.type}") from None


def _check_out(result: View, source: View, shape: Tuple[int, ...]) -> None:
    if tuple(result.shape) != shape:
        raise ValueError(f"out: its shape is {tuple(result.shape)}, the result's {shape}")
    if result.type != source.type or result.itemsize != source.itemsize:
        raise ValueError(f"out: its type is {result.type}, that of array {source.type}")
    if result.read_only:
        raise ValueError("out: it is read-only")
    if result.on_gpu != source.on_gpu:
        places = "host memory", "a GPU's memory"
        raise ValueError(f"out: it is in {places[result.on_gpu]}, array in {places[source.on_gpu]}")


def _tell_torch(torch: Any, handle: int, *tensors: Any) -> None:
    """PyTorch gives freed memory away by the order of its current stream: it has to know who else uses it."""
    for tensor in tensors:
        if torch and is_torch(tensor):
            stream = torch.cuda.ExternalStream(handle, tensor.device) if handle > 2 else torch.cuda.default_stream()
            tensor.record_stream(stream)
