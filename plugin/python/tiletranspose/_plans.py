# SPDX-License-Identifier: MIT
"""What a call works out, kept for the next of its like.

To look into two tensors and find their images takes longer than a GPU takes for a picture of 100 MB. All of that
follows from what a key holds; only the addresses are new each time.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from . import _library
from ._arrays import View
from ._sides import check_apart, folded, side_of

_SMALL = 1 << 20  # bytes: the library starts no threads for less
_MOST = 64  # plans that are kept


class Plan:
    """Images that become others, at any addresses. One thread at a time may run it."""
    __slots__ = "shape", "_number", "_source", "_result", "_options"

    def __init__(self, source: View, result: View, axes: str, result_axes: str, number: int):
        one, other = side_of(source, axes, "array"), side_of(result, result_axes, "out")
        if one.seen != 1 or other.seen != 1:
            number = _library.compose(_library.compose(one.seen, number), _library.invert(other.seen))
        # A GPU takes all images in one launch anyhow, unless those of the result lie side by side.
        if not source.on_gpu or abs(other.stride) < abs(other.image.pitch) * other.image.height:
            one, other = folded(one, other)
        self.shape, self._number, self._source, self._result = tuple(result.shape), number, one, other
        # To ask the system how many threads there may be takes longer than a small image's turn.
        self._options = _library.ONE_THREAD if one.row * one.image.height * one.planes < _SMALL else None

    def run(self, pointer: int, result_pointer: int, stream: Optional[int]) -> None:
        """`stream` is None for host memory."""
        source, result = self._source, self._result
        source.image.data, result.image.data = pointer + source.offset, result_pointer + result.offset
        if stream is not None:
            _library.orient_on_gpu(source.image, result.image, source.images, source.stride, result.stride,
                                   self._number, stream)
            return
        if source.images > 1:
            check_apart(source, result)
        for image in range(source.images):
            if image:
                source.image.data += source.stride
                result.image.data += result.stride
            _library.orient(source.image, result.image, self._number, self._options)


_kept: Dict[Tuple[Any, ...], Plan] = {}


def key_of(tensor: Any, number: int, layout: Optional[str], out: Any) -> Optional[Tuple[Any, ...]]:
    """All that the plan for PyTorch's tensors depends on, and whether they may be read at all; None for what is not
    plain enough to tell."""
    plain = type(tensor)
    if (layout is not None and type(layout) is not str) or (out is not None and type(out) is not plain):
        return None
    try:
        key = (number, layout, tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.requires_grad,
               tensor.is_conj(), tensor.is_neg())
        return key if out is None else key + (out.shape, out.stride(), out.dtype, out.device, out.requires_grad,
                                              out.is_conj(), out.is_neg())
    except RuntimeError:  # as of a sparse one, which has no strides
        return None


def take(key: Tuple[Any, ...]) -> Optional[Plan]:
    """The plan, which is the caller's alone until it is kept again."""
    return _kept.pop(key, None)


def keep(key: Tuple[Any, ...], plan: Plan) -> None:
    _kept[key] = plan
    if len(_kept) > _MOST:
        for oldest in list(_kept)[:-_MOST]:
            _kept.pop(oldest, None)
