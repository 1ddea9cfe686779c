# SPDX-License-Identifier: Apache-2.0
"""Convolutions and other windowed operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.onnx.delayed_values import Delayed, Padded
from sycl_dnn.onnx.model_graph import check_host_size, check_size
from sycl_dnn.onnx.operator_registry import Call, F, delayed_form, operator
from sycl_dnn.onnx.shape_operators import widths

Pairs = list[tuple[int, int]]


class Windows(NamedTuple):
    """Windows over the spatial axes, as specified by attributes."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pairs

    @property
    def extents(self) -> tuple[int, ...]:
        """Number of elements that each window spans."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))


def windows(call: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Windows:
    """Return the windows of a node over axes of these sizes."""
    rank = len(sizes)
    kernel = tuple(call.get("kernel_shape", kernel))
    strides = tuple(call.get("strides", [1] * rank))
    dilations = tuple(call.get("dilations", [1] * rank))
    pads = call.get("pads", [0] * 2 * rank)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) // 2 == rank:
        raise ValueError(f"kernel_shape, strides, dilations and pads must be for {rank} axes")
    if min((*strides, *dilations, *kernel), default=1) < 1:
        raise ValueError("kernel_shape, strides and dilations must be at least 1")
    result = Windows(kernel, strides, dilations, list(zip(pads[:rank], pads[rank:], strict=True)))
    mode = call.get("auto_pad", "NOTSET")
    if mode == "VALID":
        return result._replace(pads=[(0, 0)] * rank)
    if mode.startswith("SAME"):
        totals = [
            max((-(-n // s) - 1) * s + e - n, 0)
            for n, s, e in zip(sizes, strides, result.extents, strict=True)
        ]
        return result._replace(pads=halves(totals, mode == "SAME_UPPER"))
    return result


def halves(totals: Sequence[int], more_after: bool) -> Pairs:
    """Split padding between the two sides of each axis."""
    pairs = [(t // 2, t - t // 2) for t in totals]
    return pairs if more_after else [(b, a) for a, b in pairs]


def rank_of(call: Call, x: Any) -> int:
    """Return the number of spatial axes."""
    rank = len(x.shape) - 2
    if not 1 <= rank <= 3:
        call.refuse(f"there must be 1 to 3 spatial axes, got shape {tuple(x.shape)}")
    return rank


def placed_windows(call: Call, x: Any, w: Any) -> tuple[Any, Any, Any] | None:
    """Return strides, padding and dilations for ``functional``; None if windows are cropped."""
    rank_of(call, x)
    window = windows(call, x.shape[2:], w.shape[2:])
    if min(map(min, window.pads)) < 0:
        return None
    return window.strides, tuple(window.pads), window.dilations


@operator("Conv")
def convolve(call: Call, x: Any, w: Any, bias: Any = None) -> Any:
    """Convolve with possibly asymmetric padding."""
    rank_of(call, x)
    return _convolved(call, x, w, bias, windows(call, x.shape[2:], w.shape[2:]))


@delayed_form("Conv")
def _convolve_padded(call: Call, x: Any, w: Any, bias: Any = None) -> Any:
    """Convolve with the padding of an earlier ``Pad``; None if windows would be inside of it."""
    if not isinstance(x, Padded) or isinstance(w, Delayed) or isinstance(bias, Delayed):
        return None
    rank_of(call, x.x)
    sizes = [n + sum(pair) for n, pair in zip(x.x.shape[2:], x.pads, strict=True)]
    window = windows(call, sizes, w.shape[2:])
    pairs = zip(x.pads, window.pads, strict=True)
    pads = [(a + c, b + d) for (a, b), (c, d) in pairs]
    if min(map(min, window.pads)) < 0 or any(
        max(pair) >= extent for pair, extent in zip(pads, window.extents, strict=True)
    ):
        return None
    return _convolved(call, x.x, w, bias, window._replace(pads=pads))


def _convolved(call: Call, x: Any, w: Any, bias: Any, window: Windows) -> Any:
    rank = len(window.kernel)
    pads: Any = tuple(window.pads)
    if all(a == b for a, b in window.pads):
        pads = tuple(a for a, _ in window.pads)
    elif min(map(min, window.pads)) < 0:
        x, pads = F.pad(x, widths(window.pads)), 0
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    return function(x, w, bias, window.strides, pads, window.dilations, call.get("group", 1))


@operator("ConvTranspose")
def _conv_transpose(call: Call, x: Any, w: Any, bias: Any = None) -> Any:
    rank, sizes = rank_of(call, x), x.shape[2:]
    window = windows(call, sizes, w.shape[2:])
    extra = list(call.get("output_padding", [0] * rank))
    full_sizes = [
        s * (n - 1) + o + e
        for n, s, o, e in zip(sizes, window.strides, extra, window.extents, strict=True)
    ]
    pads, mode = window.pads, call.get("auto_pad", "NOTSET")
    if "output_shape" in call.node.attributes or mode.startswith("SAME"):
        target = call.get(
            "output_shape", [n * s for n, s in zip(sizes, window.strides, strict=True)]
        )
        totals = [a - b for a, b in zip(full_sizes, target[-rank:], strict=True)]
        pads = halves([max(t, 0) for t in totals], mode == "SAME_UPPER")
        extra = [o + max(-t, 0) for o, t in zip(extra, totals, strict=True)]
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    groups = call.get("group", 1)
    bounds = zip(extra, window.strides, window.dilations, strict=True)
    if all(a == b for a, b in pads) and all(o < max(s, d) for o, s, d in bounds):
        before = tuple(a for a, _ in pads)
        return function(x, w, bias, window.strides, before, tuple(extra), groups, window.dilations)
    output = function(x, w, None, window.strides, 0, 0, groups, window.dilations)
    cut = [(-a, o - b) for (a, b), o in zip(pads, extra, strict=True)]
    output = F.pad(output, widths(cut))
    return output if bias is None else output + F.reshape(bias, (-1,) + (1,) * rank)


@operator("Col2Im", 18, host=(1, 2))
def _col2im(call: Call, x: Any, image: Any, block: Any) -> Any:
    sizes, kernel = call.ints(image), call.ints(block)
    rank = len(sizes)
    window = windows(call, sizes, kernel)
    n, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    padded = [s + a + b for s, (a, b) in zip(sizes, window.pads, strict=True)]
    counts = [
        (p - e) // s + 1 for p, e, s in zip(padded, window.extents, window.strides, strict=True)
    ]
    if tuple(x.shape[1:]) != (channels * math.prod(kernel), math.prod(counts)):
        raise ValueError(f"blocks must be of {kernel} at {counts} places, got {tuple(x.shape)}")
    check_host_size(x.shape)
    check_size((n, channels, *padded))
    if rank == 2 and all(a == b for a, b in window.pads):
        before = tuple(a for a, _ in window.pads)
        return F.fold(x, tuple(sizes), tuple(kernel), window.dilations, before, window.strides)
    places = _block_positions(sizes, window)
    blank = F.full((n, channels, math.prod(padded)), 0.0, device=call.run.queue)
    index = np.broadcast_to(places.reshape(-1), (n, channels, places.size))
    rows = F.reshape(x, (n, channels, places.size))
    sums = F.scatter_add(blank, 2, call.device(np.ascontiguousarray(index)), rows)
    return F.pad(
        F.reshape(sums, (n, channels, *padded)), widths([(-a, -b) for a, b in window.pads])
    )


def _block_positions(sizes: Sequence[int], window: Windows) -> np.ndarray:
    """Return the flat index in the padded image of each element of each block."""
    padded = [s + a + b for s, (a, b) in zip(sizes, window.pads, strict=True)]
    axes = [
        np.arange(k)[:, None] * d + np.arange((p - e) // s + 1)[None] * s
        for k, d, p, e, s in zip(
            window.kernel, window.dilations, padded, window.extents, window.strides, strict=True
        )
    ]
    rank, index = len(sizes), np.zeros((), np.int64)
    for i, axis in enumerate(axes):
        shape = [1] * 2 * rank
        shape[i], shape[rank + i] = axis.shape
        index = index * padded[i] + axis.reshape(shape)
    return np.asarray(index, np.int64)


@operator("CausalConvWithState", 27)
def _causal_conv(call: Call, x: Any, w: Any, bias: Any = None, state: Any = None) -> Any:
    length = w.shape[-1]
    padded = F.pad(x, (length - 1, 0)) if state is None else F.cat([state, x], 2)
    output = F.conv1d(padded, w, bias, groups=x.shape[1])
    if call.get("activation", "none").lower() in ("silu", "swish"):
        output = F.silu(output)
    return output, F.narrow(padded, 2, padded.shape[2] - length + 1, length - 1)
