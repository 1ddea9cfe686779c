# SPDX-License-Identifier: Apache-2.0
"""Windows of pools: their arguments, checked."""

from __future__ import annotations

from typing import Any

from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.window import Axis, Sizes, check_counts, per_axis


def check_dtype(name: str, x: Tensor, integers: tuple[str, ...] = ()) -> None:
    """Raise TypeError unless the input is floating-point or of one of ``integers``."""
    if not x.is_float and x.dtype not in integers:
        allowed = "".join(f" or {n}" for n in integers)
        raise TypeError(f"{name}: input must have a floating-point dtype{allowed}, got {x.dtype}")


def pool_windows(
    name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any
) -> tuple[list[Axis], Sizes]:
    """Return the windows on each axis as asked for, and how many there are."""
    rank = x.ndim - 2
    kernel = per_axis(name, "kernel_size", kernel, rank)
    is_default = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if is_default else per_axis(name, "stride", stride, rank)
    padding = per_axis(name, "padding", padding, rank, 0)
    dilation = per_axis(name, "dilation", dilation, rank)
    axes = [
        Axis(*a) for a in zip(x.shape[2:], kernel, stride, padding, padding, dilation, strict=True)
    ]
    if any(2 * a.left > a.kernel for a in axes):
        raise ValueError(
            f"{name}: padding must be at most half of kernel_size {kernel}, got {padding}"
        )
    counts = tuple(a.count(bool(ceil)) for a in axes)
    check_counts(name, axes, counts)
    return axes, counts
