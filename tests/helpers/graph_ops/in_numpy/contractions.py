# SPDX-License-Identifier: Apache-2.0
"""Matrix products, convolutions, pooling and interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from conformance.references import reference

from graph_ops.in_numpy.formats import (
    Array,
    Attrs,
    Shapes,
    Tensors,
    back,
    first,
    formed,
    geometry,
    grouped,
    operation,
    unweights,
    weights,
)


@operation("matmul")
def _matmul(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    left, right = t["src"], t["weights"]
    left = np.swapaxes(left, -1, -2) if a["transpose_a"] and left.ndim > 1 else left
    right = np.swapaxes(right, -1, -2) if a["transpose_b"] and right.ndim > 1 else right
    return [left @ right + t.get("bias", 0.0)]


@operation("convolution")
def _convolution(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src, w = first(t["src"], a), weights(t["weights"], a)
    params = geometry(a, src.shape[2:], w.shape[2:])
    arrays = {"src": src, "weights": grouped(w, a["groups"])}
    arrays |= {"bias": t["bias"]} if "bias" in t else {}
    return [back(reference("convolution_forward", params, arrays)["dst"], a)]


@operation("convolution_backward_data")
def _convolution_backward_data(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    diff, w = first(t["diff_dst"], a), weights(t["weights"], a)
    size = formed(shapes[0], a)
    arrays = {"diff_dst": diff, "weights": grouped(w, a["groups"])}
    params = geometry(a, size[2:], w.shape[2:])
    result = reference("convolution_backward_data", params, arrays, {"diff_src": size})
    return [back(result["diff_src"], a)]


@operation("convolution_backward_weights", "conv_transpose_backward_weights")
def _backward_weights(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Compute the gradient; the transposed one has source and destination exchanged."""
    src, diff = first(t["src"], a), first(t["diff_dst"], a)
    if name.startswith("conv_transpose"):
        src, diff = diff, src
    shape = weights(np.empty(shapes[0]), a).shape
    expected = grouped(np.empty(shape), a["groups"]).shape
    params = geometry(a, src.shape[2:], shape[2:])
    actual = reference("convolution_backward_weights", params, {"src": src, "diff_dst": diff},
                     {"diff_weights": expected})["diff_weights"]  # fmt: skip
    return [unweights(actual.reshape(shape), a)]


@operation("conv_transpose")
def _conv_transpose(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Compute the gradient in a convolution's source; weights are its (I, O/g, *K)."""
    src, w = first(t["src"], a), weights(t["weights"], a)
    size = formed(shapes[0], a)
    params = geometry(a, size[2:], w.shape[2:])
    result = reference("convolution_backward_data", params,
                     {"diff_dst": src, "weights": grouped(w, a["groups"])},
                     {"diff_src": size})["diff_src"]  # fmt: skip
    bias = t.get("bias", np.zeros(1)).reshape(-1, *[1] * (src.ndim - 2))
    return [back(result + bias, a)]


@operation("conv_transpose_backward_data")
def _conv_transpose_backward_data(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    diff, w = first(t["diff_dst"], a), weights(t["weights"], a)
    params = geometry(a, diff.shape[2:], w.shape[2:])
    arrays = {"src": diff, "weights": grouped(w, a["groups"])}
    return [back(reference("convolution_forward", params, arrays)["dst"], a)]


# --- Pooling and interpolation


def _pooling(name: str, a: Attrs, spatial: Sequence[int]) -> dict[str, Any]:
    kind = "max" if name.startswith("max") else (
        "avg_exclude_padding" if a["exclude_pad"] else "avg_include_padding")  # fmt: skip
    return geometry(a, spatial, a["kernel"]) | {"kernel": a["kernel"],
                                                 "algorithm": "pooling_" + kind}  # fmt: skip


@operation("avg_pool", "max_pool")
def _pool(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    src = first(t["src"], a)
    params = _pooling(name, a, src.shape[2:])
    if a["rounding_type"] == "ceil":
        expected = formed(shapes[0], a)[2:]
        for i, n in enumerate(expected):
            reach = params["dilation"][i] * (a["kernel"][i] - 1) + a["kernel"][i]
            span = (n - 1) * a["strides"][i] + reach
            params["padding_r"][i] = span - src.shape[2 + i] - params["padding_l"][i]
    return [back(reference("pooling_forward", params, {"src": src})["dst"], a)]


@operation("avg_pool_backward", "max_pool_backward")
def _pool_backward(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    size = formed(shapes[0], a)
    arrays = {"diff_dst": first(t["diff_dst"], a)}
    arrays |= {"src": first(t["src"], a)} if "src" in t else {}
    params = _pooling(name, a, size[2:])
    result = reference("pooling_backward", params, arrays, {"diff_src": size})
    return [back(result["diff_src"], a)]


@operation("interpolate", "interpolate_backward")
def _interpolate(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    mode = "nearest" if a["mode"] == "nearest" else "linear"
    params = {"algorithm": "resampling_" + mode}
    size = formed(shapes[0], a)
    if a["coordinate_transformation_mode"] == "align_corners":
        return [back(_aligned(first(t["src"], a), size[2:]), a)]
    if name == "interpolate":
        result = reference("resampling_forward", params, {"src": first(t["src"], a)}, {"dst": size})
        return [back(result["dst"], a)]
    arrays = {"diff_dst": first(t["diff_dst"], a)}
    result = reference("resampling_backward", params, arrays, {"diff_src": size})
    return [back(result["diff_src"], a)]


def _aligned(x: Array, size: Sequence[int]) -> Array:
    for axis, n in enumerate(size, start=2):
        at = np.linspace(0, x.shape[axis] - 1, n)
        low = np.minimum(np.floor(at).astype(int), max(x.shape[axis] - 2, 0))
        high = np.minimum(low + 1, x.shape[axis] - 1)
        share = (at - low).reshape(-1, *[1] * (x.ndim - axis - 1))
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return x
