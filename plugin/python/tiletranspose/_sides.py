# SPDX-License-Identifier: MIT
"""From axes and strides to the library's images.

A view that NumPy made by flipping and transposing is a plain image that is to be turned: its strides say how, and that
turn joins the one asked for. So any such view goes in and out without a copy.
"""
from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from . import _library
from ._arrays import View
from ._library import IMAGE_SIZE, INTERLEAVED, PLANAR, Image

NONE, FLIPH, TRANSPOSE = 1, 2, 5
_DEFAULTS = {2: "HW", 3: "HWC", 4: "NHWC"}
_MOST = 2 ** 32 - 1  # what TtImage counts channels and bits with


def parse_layout(layout: object, dimensions: int) -> Tuple[str, str]:
    """The letters of the array's axes and of the result's: "HWC->CHW", or "HWC" for both."""
    if layout is None:
        if dimensions not in _DEFAULTS:
            raise ValueError(f"layout: an array of {dimensions} axes needs it said, as in 'HWC'; without it HW, HWC "
                             "and NHWC are taken")
        return (_DEFAULTS[dimensions],) * 2
    if not isinstance(layout, str):
        raise TypeError(f"layout: {type(layout).__name__} is no string like 'HWC' or 'HWC->CHW'")
    source, arrow, result = layout.partition("->")
    if not arrow:
        result = source
    letters = set(source)
    if not {"H", "W"} <= letters <= set("NHWC") or letters != set(result) or len(letters) != len(source) or \
            len(letters) != len(result):
        raise ValueError(f"layout: {layout!r} is none: H and W, and N and C where there are such, once each, as in "
                         "'HWC', 'NCHW' or, for a result of another order, 'HWC->CHW'")
    if len(source) != dimensions:
        raise ValueError(f"layout: {layout!r} has {len(source)} axes, the array {dimensions}")
    return source, result


def result_shape(shape: Sequence[int], axes: str, result_axes: str, swaps: bool) -> Tuple[int, ...]:
    length = dict(zip(axes, shape))
    if swaps:
        length["H"], length["W"] = length["W"], length["H"]
    return tuple([length[axis] for axis in result_axes])


class Side(NamedTuple):
    """Images of one geometry; the array is what `seen` makes of them. The first one's data are not set: they are at
    `offset` from the array's first sample."""
    image: Image
    offset: int
    images: int
    stride: int
    seen: int

    @property
    def planes(self) -> int:
        return self.image.channels if self.image.layout == PLANAR else 1

    @property
    def row(self) -> int:
        return int(self.image.width * (self.image.sample_bits // 8) * (self.image.channels // self.planes))

    @property
    def steps(self) -> List[Tuple[int, int]]:
        """Bytes from a row, plane and image to the next, and how many there are of each."""
        image = self.image
        return [(image.pitch, image.height), (image.plane_pitch, self.planes), (self.stride, self.images)]


def side_of(view: View, axes: str, name: str) -> Side:
    """The view's memory as images; no axis is empty."""
    item = view.itemsize
    length, stride = dict(zip(axes, view.shape)), dict(zip(axes, view.strides))
    height, width, channels, count = length["H"], length["W"], length.get("C", 1), length.get("N", 1)
    down, right, sample = stride["H"], stride["W"], stride.get("C", item)
    if channels > _MOST or item > _MOST // 8:
        raise ValueError(f"{name}: {channels} channels of {item} bytes are more than fit into a pixel")

    # Samples of a pixel side by side, or each channel in a plane of its own; along rows, or along columns.
    for layout, step in ((INTERLEAVED, channels * item), (PLANAR, item)):
        if layout == INTERLEAVED and channels > 1 and sample != item:
            continue
        along_rows = width == 1 or abs(right) == step
        if along_rows or height == 1 or abs(down) == step:
            break
    else:
        raise ValueError(f"{name}: strides of {tuple(view.strides)} bytes leave gaps between samples of {item} bytes: "
                         "only whole pixels or whole planes in a row can be turned; make a contiguous copy first")

    offset, seen = 0, NONE
    if not along_rows:
        width, height, right, down, seen = height, width, down, right, TRANSPOSE
    if width > 1 and right < 0:
        offset = (width - 1) * right
        seen = _library.compose(FLIPH, seen)
    image = Image(IMAGE_SIZE, None, down, width, height, channels, 8 * item, layout,
                  sample if layout == PLANAR else 0)
    return Side(image, offset, count, stride.get("N", 0), seen)


def folded(source: Side, result: Side) -> Tuple[Side, Side]:
    """Where it can be, both batches as the planes of one image: so that one call sees and shares out all the work."""
    if source.images == 1 or source.image.layout != result.image.layout:
        return source, result
    one, other = _fold(source), _fold(result)
    return (one, other) if one and other else (source, result)


def _fold(side: Side) -> Optional[Side]:
    """All images as planes, of whole pixels or of single samples."""
    image = side.image
    if side.stride == 0:  # one image, seen many times
        return None
    if side.planes == 1:
        bits, planes, distance = image.sample_bits * image.channels, side.images, side.stride
    elif side.stride == image.plane_pitch * image.channels:
        bits, planes, distance = image.sample_bits, side.images * image.channels, image.plane_pitch
    else:
        return None
    if bits > _MOST or planes > _MOST:
        return None
    return Side(Image(IMAGE_SIZE, None, image.pitch, image.width, image.height, planes, bits, PLANAR, distance),
                side.offset, 1, 0, side.seen)


def check_apart(source: Side, result: Side) -> None:
    """What the library sees of each pair of images, said of all of them."""
    reach = result.row
    for step, times in sorted((abs(step), times) for step, times in result.steps if times > 1):
        if step < reach:
            raise ValueError(f"out: {reach} bytes of it lie {step} bytes apart and would run into each other")
        reach += step * (times - 1)
    (low, end), (other_low, other_end) = _range(source), _range(result)
    if low < other_end and other_low < end:
        raise ValueError("array and out: they share memory: turn into an array of its own")


def _range(side: Side) -> Tuple[int, int]:
    low = end = side.image.data
    for step, times in side.steps:
        low += min(step, 0) * (times - 1)
        end += max(step, 0) * (times - 1)
    return low, end + side.row
