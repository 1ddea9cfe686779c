# SPDX-License-Identifier: Apache-2.0
"""What convolutions of any rank share: checks and the primitive."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import narrow, reshape
from sycl_dnn.dispatch.widening import NARROW
from sycl_dnn.functional.spreading import widened
from sycl_dnn.functional.window import (
    Axis,
    Pads,
    Sizes,
    batched,
    check_counts,
    extents,
    lone_windows,
    pads_per_axis,
    per_axis,
    unbatched,
    whole_number,
)


def check_groups(name: str, groups: Any, channels: int) -> int:
    """Return the number of groups, which must divide the channels of the input."""
    number = whole_number(groups)
    if number is None or number < 1 or channels % number:
        raise ValueError(
            f"{name}: groups must be a whole number that divides the {channels} channels of input, "
            f"got {groups!r}"
        )
    return number


def check_operands(
    name: str, input: Tensor, weight: Tensor, bias: Tensor | None, n_out: int
) -> None:
    """Raise unless dtypes agree and the bias has one number for each output channel."""
    if weight.dtype != input.dtype:
        raise TypeError(
            f"{name}: weight must have the dtype of input, {input.dtype}, got {weight.dtype}"
        )
    known = dict.fromkeys((input.dtype, *(("float32",) if input.dtype in NARROW else ())))
    if bias is not None and bias.dtype not in known:
        raise TypeError(f"{name}: bias must have dtype {' or '.join(known)}, got {bias.dtype}")
    if not input.is_float:
        raise TypeError(f"{name}: input must have a floating-point dtype, got {input.dtype}")
    if bias is not None and bias.shape != (n_out,):
        raise ValueError(f"{name}: bias must have shape ({n_out},), got {bias.shape}")


def _checked_weight(name: str, x: Tensor, weight: Tensor, groups: int) -> Sizes:
    """Return the kernel's size of a weight (O, C / groups, *K) that fits ``x`` (N, C, *S)."""
    wanted = x.shape[1] // groups
    if weight.ndim != x.ndim or weight.shape[1] != wanted:
        raise ValueError(
            f"{name}: weight must have {x.ndim} axes and {wanted} input channels "
            f"({x.shape[1]} / groups={groups}), got shape {weight.shape}"
        )
    if 0 in weight.shape or weight.shape[0] % groups:
        raise ValueError(
            f"{name}: weight must have output channels that groups={groups} divides, and no empty "
            f"axis, got shape {weight.shape}"
        )
    return weight.shape[2:]


def _padding(name: str, value: Any, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Pads:
    if not isinstance(value, str):
        return pads_per_axis(name, value, len(kernel))
    if value == "valid":
        return ((0, 0),) * len(kernel)
    if value != "same":
        raise ValueError(f"{name}: padding must be 'valid', 'same' or numbers, got {value!r}")
    if max(stride) > 1:
        raise ValueError(f"{name}: padding must not be 'same' with stride {stride}")
    totals = [e - 1 for e in extents(kernel, dilation)]
    return tuple((t // 2, t - t // 2) for t in totals)


def geometry(
    name: str, sizes: Sizes, kernel: Sizes, stride: Any, padding: Any, dilation: Any
) -> tuple[list[Axis], Sizes]:
    """Return the spatial axes of a convolution, its arguments checked, and the result's sizes."""
    rank = len(sizes)
    stride = per_axis(name, "stride", stride, rank)
    dilation = per_axis(name, "dilation", dilation, rank)
    left, right = zip(*_padding(name, padding, kernel, stride, dilation), strict=True)
    axes = [Axis(*a) for a in zip(sizes, kernel, stride, left, right, dilation, strict=True)]
    counts = tuple(a.count() for a in axes)
    check_counts(name, axes, counts)
    return lone_windows(axes, counts), counts


def cropped(x: Tensor, axes: list[Axis], counts: Sizes) -> tuple[Tensor, list[Axis]]:
    """Return the input without what lies behind lone windows, and its axes.

    oneDNN's `brg_conv_fwd` goes wrong where a single window of the last axis leaves elements over.
    """
    made = []
    for number, (axis, count) in enumerate(zip(axes, counts, strict=True)):
        if count == 1 and axis.right < 0:
            used = axis.size + axis.right
            x = narrow(x, number + 2, 0, used)
            axis = axis._replace(size=used, right=0, stride=1)
        made.append(axis)
    return x, made


def window_parameters(axes: list[Axis]) -> dict[str, Sizes]:
    """Return the parameters of a convolution's primitive that say where its windows lie."""
    return {
        "strides": tuple(a.stride for a in axes),
        "dilates": tuple(a.dilation - 1 for a in axes),
        "padding_l": tuple(a.left for a in axes),
        "padding_r": tuple(a.right for a in axes),
    }


def convolve(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> Tensor:
    """Return the convolution of a function's arguments, checked."""
    x = batched(name, input, rank)
    groups = check_groups(name, groups, x.shape[1])
    kernel = _checked_weight(name, x, weight, groups)
    n_out = weight.shape[0]
    check_operands(name, x, weight, bias, n_out)
    axes, counts = geometry(name, x.shape[2:], kernel, stride, padding, dilation)
    x, axes = cropped(x, axes, counts)
    if x.trace.training:
        x, weight, bias = widened(x, axes, weight, bias)
    if groups > 1:
        weight = reshape(weight, (groups, n_out // groups, *weight.shape[1:]))
    inputs = {"src": x, "weights": weight} | ({} if bias is None else {"bias": bias})
    made = x.trace.primitive(
        "convolution_forward",
        inputs,
        {"dst": Out((x.shape[0], n_out, *counts), x.dtype, "channels_last")},
        # Weights in a row-major layout would leave oneDNN its reference implementation only.
        ask={"src": "channels_last", "weights": "any"},
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.convolution_direct,
        **window_parameters(axes),
    )
    return unbatched(x.trace.convert(made["dst"], input.dtype), input)
