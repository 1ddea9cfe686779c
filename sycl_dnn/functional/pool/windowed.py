# SPDX-License-Identifier: Apache-2.0
"""Arguments of pools, and pools by oneDNN's primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn._core import algorithm, prop_kind
from sycl_dnn.functional.conv.windows import Axis, Sizes, check_counts, per_axis
from sycl_dnn.trace.gradients import Grads, backward, rule_for, transposed
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor


def check_dtype(name: str, x: Tensor, integers: tuple[str, ...] = ()) -> None:
    """Raise TypeError unless the input is floating point or one of ``integers``."""
    if not x.is_float and x.dtype not in integers:
        allowed = "".join(f" or {n}" for n in integers)
        raise TypeError(f"{name}: input must have a floating-point dtype{allowed}, got {x.dtype}")


def pool_windows(
    name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any
) -> tuple[list[Axis], Sizes]:
    """Return the windows on each axis and their number."""
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


def pooled(x: Tensor, kind: algorithm, axes: Sequence[Axis], counts: Sequence[int]) -> Tensor:
    """Record oneDNN's pooling of (N, C, *S) over ``counts`` dense windows."""
    shape = (*x.shape[:2], *counts)
    ends = [
        max((n - 1) * a.stride + a.kernel - a.left - a.size, 0)
        for a, n in zip(axes, counts, strict=True)
    ]
    made = x.trace.primitive(
        "pooling_forward",
        {"src": x},
        {"dst": Out(shape, x.dtype, "channels_last")},
        ask={"src": "channels_last"},
        prop_kind=x.trace.forward_kind if x.is_float else prop_kind.forward_inference,
        algorithm=kind,
        strides=tuple(a.stride for a in axes),
        kernel=tuple(a.kernel for a in axes),
        dilation=(0,) * len(axes),
        padding_l=tuple(a.left for a in axes),
        padding_r=tuple(ends),
    )
    return made["dst"]


@rule_for("pooling_forward")
def _pooled(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    return backward(trace, "pooling_backward", entry, grads, needed)


@rule_for("pooling_backward")
def _pooling(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    return transposed(trace, entry, grads, needed)
