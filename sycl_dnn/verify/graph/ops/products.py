# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions."""

from __future__ import annotations

import numpy as np

from sycl_dnn.verify.graph.ops.formats import (
    back,
    first,
    formed,
    geometry,
    grouped,
    unweights,
    weights,
)
from sycl_dnn.verify.graph.ops.table import Array, Attrs, Shapes, Tensors, operation
from sycl_dnn.verify.references import reference


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
    made = reference("convolution_backward_data", params, arrays, {"diff_src": size})
    return [back(made["diff_src"], a)]


@operation("convolution_backward_weights", "conv_transpose_backward_weights")
def _backward_weights(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Compute; the transposed one has source and destination exchanged."""
    src, diff = first(t["src"], a), first(t["diff_dst"], a)
    if name.startswith("conv_transpose"):
        src, diff = diff, src
    shape = weights(np.empty(shapes[0]), a).shape
    wanted = grouped(np.empty(shape), a["groups"]).shape
    params = geometry(a, src.shape[2:], shape[2:])
    made = reference("convolution_backward_weights", params, {"src": src, "diff_dst": diff},
                     {"diff_weights": wanted})["diff_weights"]  # fmt: skip
    return [unweights(made.reshape(shape), a)]


@operation("conv_transpose")
def _conv_transpose(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    """Compute the gradient of a convolution in its source; weights are (I, O/g, *K) of that."""
    src, w = first(t["src"], a), weights(t["weights"], a)
    size = formed(shapes[0], a)
    params = geometry(a, size[2:], w.shape[2:])
    made = reference("convolution_backward_data", params,
                     {"diff_dst": src, "weights": grouped(w, a["groups"])},
                     {"diff_src": size})["diff_src"]  # fmt: skip
    bias = t.get("bias", np.zeros(1)).reshape(-1, *[1] * (src.ndim - 2))
    return [back(made + bias, a)]


@operation("conv_transpose_backward_data")
def _conv_transpose_backward_data(name: str, t: Tensors, a: Attrs, shapes: Shapes) -> list[Array]:
    diff, w = first(t["diff_dst"], a), weights(t["weights"], a)
    params = geometry(a, diff.shape[2:], w.shape[2:])
    arrays = {"src": diff, "weights": grouped(w, a["groups"])}
    return [back(reference("convolution_forward", params, arrays)["dst"], a)]
