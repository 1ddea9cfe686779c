# SPDX-License-Identifier: Apache-2.0
"""Products: linear, matmul, bmm."""

from __future__ import annotations

from sycl_dnn.dispatch.gradients import rule_for
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import broadcast_shape, expand_rank, sum_to
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Out
from sycl_dnn.dispatch.views import reshape, transpose


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply (..., M, K) with (..., K, N); batch axes broadcast."""
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    inputs = {"src": expand_rank(a, len(shape)), "weights": expand_rank(b, len(shape))}
    if bias is not None:
        inputs["bias"] = reshape(bias, (1,) * (len(shape) - 1) + bias.shape)
    # Packing the weights pays only where they stand still; see docs/architecture.md.
    ask = {"weights": "any"} if b.storage.constant else {}
    made = a.trace.primitive("matmul", inputs, {"dst": Out(shape, a.dtype)}, ask=ask)
    return made["dst"]


def swapped(x: Tensor) -> Tensor:
    """Return a view with the last two axes exchanged."""
    axes = list(range(x.ndim))
    axes[-2:] = axes[-1], axes[-2]
    return transpose(x, axes)


@rule_for("matmul")
def _matmul(trace, entry, grads, needed):
    a, b, dy = entry.inputs["src"], entry.inputs["weights"], grads["dst"]
    found = {}
    if "src" in needed:
        found["src"] = sum_to(product(dy, swapped(b)), a.shape)
    if "weights" in needed:
        found["weights"] = sum_to(product(swapped(a), dy), b.shape)
    if "bias" in needed:
        found["bias"] = sum_to(dy, entry.inputs["bias"].shape)
    return found


@operation
def linear(input, weight, bias=None):
    """Return ``input @ weight.T + bias``."""
    if weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear: weight must have shape (out_features, {input.shape[-1]}), got {weight.shape}"
        )
    rows = reshape(input, (-1, input.shape[-1]))
    made = product(rows, swapped(weight), bias)
    return reshape(made, (*input.shape[:-1], weight.shape[0]))
