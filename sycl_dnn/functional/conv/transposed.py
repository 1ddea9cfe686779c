# SPDX-License-Identifier: Apache-2.0
"""Transposed convolutions over one, two and three spatial axes."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import algorithm
from sycl_dnn.functional.conv.convolution import (
    as_images,
    check_groups,
    check_operands,
    widened,
    window_parameters,
)
from sycl_dnn.functional.conv.convolution_gradients import scatter_choice, scattered
from sycl_dnn.functional.conv.windows import (
    Axis,
    Pads,
    Sizes,
    batched,
    by_rank,
    extents,
    padded,
    pads_per_axis,
    per_axis,
    shorten_single_windows,
    unbatched,
)
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.descriptors import DEPTHWISE
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose


def _outputs_first(weight: Tensor, groups: int) -> Tensor:
    """View PyTorch's weight (C, O / groups, *K) as oneDNN's [G,] O / G, C / G, *K."""
    if groups == 1:
        return transpose(weight, (1, 0, *range(2, weight.ndim)))
    split = reshape(weight, (groups, weight.shape[0] // groups, *weight.shape[1:]))
    return transpose(split, (0, 2, 1, *range(3, split.ndim)))


def _check_weight(name: str, x: Tensor, weight: Tensor) -> None:
    if weight.ndim != x.ndim or weight.shape[0] != x.shape[1] or 0 in weight.shape:
        raise ValueError(
            f"{name}: weight must have {x.ndim} axes, {x.shape[1]} input channels first and no "
            f"empty axis, got shape {weight.shape}"
        )


def _output_padding(name: str, value: Any, stride: Sizes, dilation: Sizes) -> Sizes:
    extra = per_axis(name, "output_padding", value, len(stride), 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ValueError(
            f"{name}: output_padding must be less than stride {stride} or dilation {dilation}, "
            f"got {value!r}"
        )
    return extra


def _result_sizes(
    name: str, sizes: Sizes, reach: Sizes, stride: Sizes, pads: Pads, extra: Sizes
) -> Sizes:
    result = tuple(
        (n - 1) * s + e + o - left - right
        for n, s, e, o, (left, right) in zip(sizes, stride, reach, extra, pads, strict=True)
    )
    if min(result) < 1:
        raise ValueError(f"{name}: padding must leave at least one element, got sizes {result}")
    return result


def _windows(
    name: str, counts: Sizes, kernel: Sizes, stride: Any, padding: Any, extra: Any, dilation: Any
) -> list[Axis]:
    """Return the result's windows, over which input elements are spread."""
    rank = len(counts)
    stride = per_axis(name, "stride", stride, rank)
    dilation = per_axis(name, "dilation", dilation, rank)
    pads = pads_per_axis(name, padding, rank)
    extra = _output_padding(name, extra, stride, dilation)
    sizes = _result_sizes(name, counts, extents(kernel, dilation), stride, pads, extra)
    left = [before for before, _ in pads]
    right = [after - e for (_, after), e in zip(pads, extra, strict=True)]
    axes = [Axis(*a) for a in zip(sizes, kernel, stride, left, right, dilation, strict=True)]
    return shorten_single_windows(axes, counts)


def _recorded(
    x: Tensor, weights: Tensor, bias: Tensor | None, shape: Sizes, params: dict[str, Any]
) -> Tensor:
    trace = x.trace
    memory_layout, implementation = scatter_choice(trace, shape, weights, params["strides"])
    if implementation == DEPTHWISE and multiplies(trace.engine, x.dtype):
        # oneDNN's deconvolution adds a bias slowly, and has no implementation for bfloat16.
        result = scattered(x, weights, shape, implementation, params)
        if bias is None:
            return result
        bias, wide = reshape(bias, (-1, *(1,) * (x.ndim - 2))), dtypes.wide(x.dtype)
        return computed(lambda y, b: cast(cast(y, wide) + cast(b, wide), y.dtype), result, bias)
    inputs = {"src": x, "weights": weights}
    return trace.primitive(
        "deconvolution_forward",
        inputs if bias is None else inputs | {"bias": bias},
        {"dst": Out(shape, x.dtype, memory_layout)},
        # "any": with plain weights oneDNN confuses their axes or is slow.
        ask={"src": memory_layout, "weights": "any"},
        prefer=implementation,
        prop_kind=trace.forward_kind,
        algorithm=algorithm.deconvolution_direct,
        **params,
    )["dst"]


# --- conv_transpose1d, conv_transpose2d, conv_transpose3d


def conv_transpose(
    name: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
) -> Tensor:
    """Apply a transposed convolution: the gradient of ``conv2d`` with respect to its input.

    Parameters
    ----------
    input : array (N, C, H, W) or (C, H, W)
        float32, bfloat16 or float16; float64 if the device supports it.
    weight : array (C, O / groups, KH, KW)
        Same dtype. Repacked on every call unless frozen by ``sycl_dnn.freeze``.
    bias : array (O,), optional
    stride : int or tuple
        Distance between the windows of adjacent input elements.
    padding : int or tuple
        Elements cropped from both sides of the result; an entry may be a pair (before, after).
    output_padding : int or tuple
        Elements added at the end; less than ``stride`` or ``dilation``.
    groups : int
    dilation : int or tuple

    Returns
    -------
    array (N, O, T, U), or (O, T, U) for one image
        T = (H - 1) * stride - before - after + dilation * (KH - 1) + output_padding + 1.

    Raises
    ------
    ValueError
        Shapes, groups or padding are inconsistent.
    TypeError
        dtypes differ or are not floating point.

    Notes
    -----
    Source: oneDNN developer guide, "Convolution", section on deconvolution.
    """
    x = batched(name, input, rank)
    groups = check_groups(name, groups, x.shape[1])
    _check_weight(name, x, weight)
    n_out, kernel = weight.shape[1] * groups, weight.shape[2:]
    check_operands(name, x, weight, bias, n_out)
    axes = _windows(name, x.shape[2:], kernel, stride, padding, output_padding, dilation)
    sizes = [a.size for a in axes]
    x, weight, axes = as_images(x, weight, axes, groups, n_out)
    shape = (x.shape[0], n_out, *(a.size for a in axes))
    # Right padding may be negative by less than a stride: zeros appended to the input cover it.
    extra = [max(-a.right, 0) // a.stride for a in axes]
    x, weight, bias = widened(padded(x, extra), axes, weight, bias)
    grown = [a._replace(right=a.right + n * a.stride) for a, n in zip(axes, extra, strict=True)]
    weights = _outputs_first(weight, groups)
    dst = _recorded(x, weights, bias, shape, window_parameters(grown))
    dst = reshape(dst, (x.shape[0], n_out, *sizes))
    return unbatched(x.trace.convert(dst, input.dtype), input)


conv_transpose1d, conv_transpose2d, conv_transpose3d = by_rank(conv_transpose)
