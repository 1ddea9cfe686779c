# SPDX-License-Identifier: Apache-2.0
"""Convolutions over one, two and three spatial axes."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.functional.arithmetic.elementwise import check_same_dtype
from sycl_dnn.functional.conv.convolution_gradients import direct_choice
from sycl_dnn.functional.conv.windows import (
    Axis,
    Pads,
    Sizes,
    Span,
    batched,
    by_rank,
    check_counts,
    cut,
    extents,
    pads_per_axis,
    per_axis,
    shorten_single_windows,
    unbatched,
    whole_number,
)
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn.avoidance import MOST_NARROW_COLUMNS
from sycl_dnn.onednn.fault import cpu_has_avx512, narrow_lanes
from sycl_dnn.ops.selection import pad
from sycl_dnn.trace import layout
from sycl_dnn.trace.descriptors import DEPTHWISE, NARROW
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape


def _is_unreliable(axis: Axis, rank: int) -> bool:
    """Whether bfloat16 is slow or incorrect for these windows.

    If kernels lie entirely in the padding, oneDNN may have only its reference implementation. For
    kernels larger than a padded axis, its weight gradient of 3-d convolutions accumulates into
    uninitialized memory.
    """
    padding = max(axis.left, axis.right)
    return padding >= axis.extent or (rank == 3 and padding > 0 and axis.size < axis.extent)


def widened(x: Tensor, axes: list[Axis], *tensors: Tensor | None) -> list[Any]:
    """Convert tensors to float32 if bfloat16 is slow or incorrect in oneDNN for these windows."""
    if x.dtype != "bfloat16" or not any(_is_unreliable(a, len(axes)) for a in axes):
        return [x, *tensors]
    return _wide(x, *tensors)


def _wide(*tensors: Tensor | None) -> list[Any]:
    return [None if t is None else t.trace.convert(t, "float32") for t in tensors]


def _has_many_columns(x: Tensor, axes: list[Axis], groups: int) -> bool:
    """Whether oneDNN would be slow for a narrow depthwise kernel, or never make its code."""
    is_depthwise = 1 < groups == x.shape[1]
    return is_depthwise and x.dtype in NARROW and axes[-1].kernel > MOST_NARROW_COLUMNS


# --- Checks and recording, for any rank


def check_groups(name: str, groups: Any, channels: int) -> int:
    """Validate and return the number of groups, which must divide the input channels."""
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
    """Raise unless dtypes agree and the bias has one element per output channel."""
    check_same_dtype(name, "input", "weight", input, weight)
    allowed = dict.fromkeys((input.dtype, *(("float32",) if input.dtype in NARROW else ())))
    if bias is not None and bias.dtype not in allowed:
        raise TypeError(f"{name}: bias must have dtype {' or '.join(allowed)}, got {bias.dtype}")
    if not input.is_float:
        raise TypeError(f"{name}: input must have a floating-point dtype, got {input.dtype}")
    if bias is not None and bias.shape != (n_out,):
        raise ValueError(f"{name}: bias must have shape ({n_out},), got {bias.shape}")


def _checked_weight(name: str, x: Tensor, weight: Tensor, groups: int) -> Sizes:
    """Return the kernel size of a weight (O, C / groups, *K) that matches ``x`` (N, C, *S)."""
    expected = x.shape[1] // groups
    if weight.ndim != x.ndim or weight.shape[1] != expected:
        raise ValueError(
            f"{name}: weight must have {x.ndim} axes and {expected} input channels "
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
    """Validate the arguments; return the spatial axes and the result's spatial sizes."""
    rank = len(sizes)
    stride = per_axis(name, "stride", stride, rank)
    dilation = per_axis(name, "dilation", dilation, rank)
    left, right = zip(*_padding(name, padding, kernel, stride, dilation), strict=True)
    axes = [Axis(*a) for a in zip(sizes, kernel, stride, left, right, dilation, strict=True)]
    counts = tuple(a.count() for a in axes)
    check_counts(name, axes, counts)
    return shorten_single_windows(axes, counts), counts


def cropped(x: Tensor, axes: list[Axis], counts: Sizes) -> tuple[Tensor, list[Axis]]:
    """Crop the input where a single window does not cover it; return it and its axes.

    oneDNN's ``brg_conv_fwd`` is incorrect if the last axis has one window that leaves a remainder.
    """
    results = []
    for number, (axis, count) in enumerate(zip(axes, counts, strict=True)):
        if count == 1 and axis.right < 0:
            used = axis.size + axis.right
            x = narrow(x, number + 2, 0, used)
            axis = axis._replace(size=used, right=0, stride=1)
        results.append(axis)
    return x, results


#: Padding from which windows of zeros take long: oneDNN's time grows with the square of it.
_LONG_PADDING = 1024


def _surrounded(x: Tensor, axes: list[Axis]) -> tuple[Tensor, list[Axis]]:
    """Write zeros around the input where many windows are of nothing else."""
    is_long = [max(a.left, a.right) >= max(a.extent, _LONG_PADDING) for a in axes]
    if not any(is_long):
        return x, axes
    sides = [(a.left, max(a.right, 0)) if far else (0, 0)
             for a, far in zip(axes, is_long, strict=True)]  # fmt: skip
    axes = [
        a._replace(size=a.size + left + right, left=a.left - left, right=a.right - right)
        for a, (left, right) in zip(axes, sides, strict=True)
    ]
    return computed(lambda node: pad(node, [(0, 0), (0, 0), *sides]), x), axes


def _subsampled(x: Tensor, axes: list[Axis], groups: int) -> tuple[Tensor, list[Axis]]:
    """Return the elements that strided windows of one element read, if extracting them is faster.

    It is if the input has to be copied to channels-last anyway, and for gradients with respect to
    few channels, for which oneDNN has only slow implementations.
    """
    is_view = groups == 1 or not (x.trace.training or any(a.size % a.stride for a in axes))
    is_copied = is_view and not layout.is_channels_last(x.trace.plain(x).desc)
    is_slow = x.trace.training and x.shape[1] // groups < narrow_lanes()
    if not (_is_pointwise(axes) and max(a.stride for a in axes) > 1 and (is_copied or is_slow)):
        return x, axes
    x = cut(x, [Span(0, a.count(), a.stride) for a in axes])
    return x, [a._replace(size=a.count(), stride=1, right=0) for a in axes]


def _is_pointwise(axes: list[Axis]) -> bool:
    """Whether windows are single elements of the input."""
    return all(a.extent == 1 and a.left == 0 and a.right <= 0 for a in axes)


#: Ratio of input to output channels from which copying the input takes longer than the products.
_MANY_INPUTS = 3


def _layout_for(x: Tensor, axes: list[Axis], groups: int, n_out: int) -> str:
    """Return the layout of source and result.

    For 1x1 kernels on row-major float32 with few outputs, oneDNN multiplies the weights by matrices
    (C, positions) in place, with AVX-512 at full speed. Gradients would copy the input each time,
    and compiled functions may use the channels-last result.
    """
    trace = x.trace
    is_product = _is_pointwise(axes) and max(a.stride for a in axes) == 1 and groups == 1
    is_fast = trace.is_on_cpu and x.dtype == "float32" and cpu_has_avx512()
    is_few = _MANY_INPUTS * n_out <= x.shape[1]
    if not (is_product and is_fast and is_few) or trace.training or trace.is_compiled:
        return "channels_last"
    plain = trace.plain(x)
    is_row_major = plain.strides == layout.row_major_strides(x.shape)
    is_channels_last = layout.is_channels_last(plain.desc)
    return "row_major" if is_row_major and not is_channels_last else "channels_last"


def _preferred(x: Tensor, axes: list[Axis], groups: int, n_out: int) -> str | None:
    """Return the preferred implementation; None for oneDNN's choice.

    For depthwise kernels in float32, CPUs take up to half as long with oneDNN's second choice.
    """
    is_cpu = x.trace.is_on_cpu
    if is_cpu and 1 < groups == x.shape[1] == n_out and x.dtype == "float32":
        return DEPTHWISE
    return direct_choice(x, tuple(a.extent for a in axes), n_out) if groups == 1 else None


def as_images(
    x: Tensor, weight: Tensor, axes: list[Axis], groups: int, n_out: int
) -> tuple[Tensor, Tensor, list[Axis]]:
    """View a depthwise convolution of signals as one of images of a row; others remain.

    oneDNN's fast implementations of depthwise convolutions are for images.
    """
    if len(axes) > 1 or not 1 < groups == x.shape[1] == n_out:
        return x, weight, axes
    x, weight = (reshape(t, (*t.shape[:2], 1, t.shape[2])) for t in (x, weight))
    return x, weight, [Axis(1, 1), *axes]


def window_parameters(axes: list[Axis]) -> dict[str, Any]:
    """Return the window parameters of a convolution primitive."""
    return {
        "strides": tuple(a.stride for a in axes),
        "dilates": tuple(a.dilation - 1 for a in axes),
        "padding_l": tuple(a.left for a in axes),
        "padding_r": tuple(a.right for a in axes),
    }


# --- conv1d, conv2d, conv3d


def conv(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve images with kernels (cross-correlation, as in PyTorch).

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it.
    weight : array (O, C / groups, KH, KW)
        Same dtype. Repacked on every call unless frozen by ``sycl_dnn.freeze``.
    bias : array (O,), optional
        Dtype of ``input``, or float32.
    stride : int or tuple
    padding : int, tuple, "valid" or "same"
        Zero padding on both sides of each axis. Unlike in PyTorch, an entry may be a pair (before,
        after): ``padding=((0, 1), (2, 2))``. ``"same"`` preserves the size and requires stride 1.
    dilation : int or tuple
        Spacing between kernel elements; 1 is dense.
    groups : int
        Number of independent groups of channels.

    Returns
    -------
    array (N, O, T, U), or (O, T, U) for one image
        T = (H + before + after - dilation * (KH - 1) - 1) // stride + 1. Memory is channels-last,
        the fastest layout for subsequent operations, except after row-major input where a 1x1
        kernel has few outputs.

    Raises
    ------
    ValueError
        Shapes, groups or padding are inconsistent.
    TypeError
        dtypes differ or are not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Convolution".
    """
    x = batched(name, input, rank)
    groups = check_groups(name, groups, x.shape[1])
    kernel = _checked_weight(name, x, weight, groups)
    n_out = weight.shape[0]
    check_operands(name, x, weight, bias, n_out)
    axes, counts = geometry(name, x.shape[2:], kernel, stride, padding, dilation)
    x, axes = cropped(x, axes, counts)
    x, axes = _surrounded(x, axes)
    x, axes = _subsampled(x, axes, groups)
    x, weight, axes = as_images(x, weight, axes, groups, n_out)
    if _has_many_columns(x, axes, groups):
        x, weight, bias = _wide(x, weight, bias)
    elif x.trace.training:
        x, weight, bias = widened(x, axes, weight, bias)
    if groups > 1:
        weight = reshape(weight, (groups, n_out // groups, *weight.shape[1:]))
    inputs = {"src": x, "weights": weight} | ({} if bias is None else {"bias": bias})
    memory_layout = _layout_for(x, axes, groups, n_out)
    result = x.trace.primitive(
        "convolution_forward",
        inputs,
        {"dst": Out((x.shape[0], n_out, *(a.count() for a in axes)), x.dtype, memory_layout)},
        # For row-major weights oneDNN has only its reference implementation.
        ask={"src": memory_layout, "weights": "any"},
        prefer=_preferred(x, axes, groups, n_out),
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.convolution_direct,
        **window_parameters(axes),
    )
    dst = reshape(result["dst"], (x.shape[0], n_out, *counts))
    return unbatched(x.trace.convert(dst, input.dtype), input)


conv1d, conv2d, conv3d = by_rank(conv)
