# SPDX-License-Identifier: Apache-2.0
"""Windows over spatial axes: arguments of convolutions and pools, and sizes of their results."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape

#: One whole number for each spatial axis.
Sizes = tuple[int, ...]
#: Elements added before and after, for each spatial axis.
Pads = tuple[tuple[int, int], ...]


def whole_number(value: Any) -> int | None:
    """Return an integer of Python's or NumPy's; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        if isinstance(value, Tensor):
            raise  # its own words: values are not known
        return None


def per_axis(name: str, argument: str, value: Any, rank: int, least: int = 1) -> Sizes:
    """Return one number for each of ``rank`` axes, from one for all or a sequence.

    Raises
    ------
    TypeError
        ``value`` is neither an integer nor a sequence of integers.
    ValueError
        There are not 1 or ``rank`` numbers, or one is less than ``least``.
    """
    items = value if isinstance(value, (tuple, list)) else [value]
    known = [whole_number(v) for v in items]
    numbers = [n for n in known if n is not None]
    if len(numbers) < len(known):
        raise TypeError(f"{name}: {argument} must be an int or {rank} of them, got {value!r}")
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank or min(numbers) < least:
        raise ValueError(
            f"{name}: {argument} must be an int or {rank} of them, each at least {least}, "
            f"got {value!r}"
        )
    return tuple(numbers)


def pads_per_axis(name: str, value: Any, rank: int) -> Pads:
    """Return (before, after) for each axis; an axis' entry may be a pair of its own."""
    if isinstance(value, (tuple, list)) and any(isinstance(v, (tuple, list)) for v in value):
        if len(value) != rank:
            raise ValueError(f"{name}: padding must have {rank} entries, got {value!r}")
        pairs = (per_axis(name, "padding", v, 2, 0) for v in value)
        return tuple((before, after) for before, after in pairs)
    return tuple((p, p) for p in per_axis(name, "padding", value, rank, 0))


def extents(kernel: Sizes, dilation: Sizes) -> Sizes:
    """Return how many elements a dilated window reaches over."""
    return tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))


def batched(name: str, x: Tensor, rank: int, axes: str = "(N, C, *S) or (C, *S)") -> Tensor:
    """Return ``x`` with a batch axis, which it may lack.

    Raises
    ------
    ValueError
        ``x`` has neither ``rank`` + 2 nor ``rank`` + 1 axes, or a channel or spatial axis is empty.
    """
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"{name}: input must have {rank + 2} or {rank + 1} axes, {axes}, got shape {x.shape}"
        )
    full = x if x.ndim == rank + 2 else reshape(x, (1, *x.shape))
    if 0 in full.shape[1:]:
        raise ValueError(f"{name}: input must have no empty axis but the batch, got {x.shape}")
    return full


def unbatched(made: Tensor, like: Tensor) -> Tensor:
    """Return ``made`` without the batch axis that ``batched`` gave to ``like``."""
    return made if made.ndim == like.ndim else reshape(made, made.shape[1:])


class Axis(NamedTuple):
    """How windows lie on one spatial axis; right padding may differ from left."""

    size: int
    kernel: int
    stride: int = 1
    left: int = 0
    right: int = 0
    dilation: int = 1

    @property
    def extent(self) -> int:
        """Elements that a window reaches over."""
        return (self.kernel - 1) * self.dilation + 1

    def count(self, ceil: bool = False) -> int:
        """Return the number of windows; with ``ceil`` a last one may hang over the end."""
        free = self.size + self.left + self.right - self.extent
        count = (free + (self.stride - 1 if ceil else 0)) // self.stride + 1
        # PyTorch's rule: the last window must start inside the input or the padding before it.
        if ceil and (count - 1) * self.stride >= self.size + self.left:
            count -= 1
        return count


def lone_windows(axes: Sequence[Axis], counts: Sizes) -> list[Axis]:
    """Return the axes with short strides, and no padding to spare, where there is one window.

    oneDNN's gradient of bfloat16 weights reads behind a source of one channel whose size is less
    than the stride.
    """
    made = []
    for axis, count in zip(axes, counts, strict=True):
        spare = axis.size + axis.left - axis.extent
        lone = axis._replace(stride=max(spare, 0) + 1, right=-spare)
        made.append(lone if count == 1 else axis)
    return made


def check_counts(name: str, axes: Sequence[Axis], counts: Sizes) -> None:
    """Raise ValueError unless every window fits at least once."""
    if min(counts) < 1:
        sizes = tuple(a.size for a in axes)
        reach = tuple(a.extent for a in axes)
        raise ValueError(
            f"{name}: kernel must fit into the padded input, got kernels that reach over {reach} "
            f"elements for sizes {sizes}"
        )
