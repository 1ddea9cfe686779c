# SPDX-License-Identifier: Apache-2.0
"""Windows spread over a wide tensor: gradients of convolutions, transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn._core import engine_kind, prop_kind
from sycl_dnn.dispatch.gradients import Grads, backward, rule_for
from sycl_dnn.dispatch.higher_order import pulled_back
from sycl_dnn.dispatch.primitives import zeros
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.functional.window import Axis, Sizes


def spread_choice(trace: Trace, wide: Sizes, **params: Any) -> Any:
    """Return layout and implementation for spreading windows over a wide tensor (N, C, *S).

    That is the gradient of a convolution in its source, and transposed convolution. The library
    takes an implementation that is up to four times slower than its own matrix product where few
    channels meet large strided kernels.
    """
    if trace.engine.kind is not engine_kind.cpu or params["groups"] > 1:
        return "channels_last", None
    is_strided = max(params["strides"]) > 1
    if is_strided and wide[1] <= 4 and math.prod(params["kernel"]) >= 25:
        return "row_major", "gemm:jit"
    return "channels_last", None


def _is_trap(axis: Axis, rank: int) -> bool:
    """Whether bfloat16 is slow or wrong for such windows.

    oneDNN may have only its reference implementation where whole kernels fit into the padding.
    The gradient of volumes' weights adds to uninitialised memory where the kernel is larger than
    a padded axis.
    """
    padding = max(axis.left, axis.right)
    return padding >= axis.extent or (rank == 3 and padding > 0 and axis.size < axis.extent)


def widened(x: Tensor, axes: list[Axis], *tensors: Tensor | None) -> list[Any]:
    """Return tensors, in float32 where bfloat16 leads into a trap of oneDNN."""
    if x.dtype != "bfloat16" or not any(_is_trap(a, len(axes)) for a in axes):
        return [x, *tensors]
    return [None if t is None else x.trace.convert(t, "float32") for t in (x, *tensors)]


def _backward_data(trace: Trace, entry: Entry, grads: Grads) -> Grads:
    src, weights, params = entry.inputs["src"], entry.inputs["weights"], entry.params
    is_grouped = weights.ndim > src.ndim
    layout, words = spread_choice(
        trace,
        src.shape,
        groups=weights.shape[0] if is_grouped else 1,
        kernel=weights.shape[3 if is_grouped else 2 :],
        strides=params["strides"],
    )
    made = trace.primitive(
        "convolution_backward_data",
        {"weights": weights, "diff_dst": grads["dst"]},
        {"diff_src": Out(src.shape, src.dtype, layout)},
        ask={"weights": "any", "diff_dst": layout},
        prefer=words,
        hint_fwd_pd=entry.pd,
        **{n: v for n, v in params.items() if n != "prop_kind"},
    )
    return {"src": made["diff_src"]}


@rule_for("convolution_forward")
def _gradient(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    found = _backward_data(trace, entry, grads) if "src" in needed else {}
    if needed & {"weights", "bias"}:
        found |= backward(trace, "convolution_backward_weights", entry, grads, needed)
    return found


def _rebuilt(trace: Trace, entry: Entry, source: Tensor, weights: Tensor, bias: Any) -> Entry:
    """Record the forward primitive of a backward one over other operands; return its entry."""
    row = entry.row.partition("_backward_")[0] + "_forward"
    like = entry.inputs["diff_dst"]
    inputs = {"src": source, "weights": weights} | ({} if bias is None else {"bias": bias})
    layout = "channels_last"
    words = None
    if row == "deconvolution_forward":
        is_grouped = weights.ndim > source.ndim
        layout, words = spread_choice(
            trace,
            like.shape,
            groups=weights.shape[0] if is_grouped else 1,
            kernel=weights.shape[3 if is_grouped else 2 :],
            strides=entry.params["strides"],
        )
    trace.primitive(
        row,
        inputs,
        {"dst": Out(like.shape, like.dtype, layout)},
        ask={"src": layout, "weights": "any"},
        prefer=words,
        prop_kind=prop_kind.forward_training,
        **{n: v for n, v in entry.params.items() if n not in ("prop_kind", "hint_fwd_pd")},
    )
    return trace.tape[-1]


def _linear_in_both(
    trace: Trace, entry: Entry, forward: Entry, held: str, needed: set[str]
) -> Grads:
    """Return the gradients of a backward primitive's operands from the product ``forward``.

    The primitive is linear in ``diff_dst`` and in ``held``; ``forward`` is its transpose.
    """
    found = {"diff_dst": forward.outputs["dst"]}
    if held in needed:
        dy = {"dst": entry.inputs["diff_dst"]}
        found |= pulled_back(trace, forward, dy, {held})
    return found


def _of_data(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    forward = _rebuilt(trace, entry, grads["diff_src"], entry.inputs["weights"], None)
    return _linear_in_both(trace, entry, forward, "weights", needed)


def _of_weights(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    weights = grads.get("diff_weights")
    if weights is None:
        weights = zeros(trace, entry.outputs["diff_weights"].shape, entry.inputs["src"].dtype)
    forward = _rebuilt(trace, entry, entry.inputs["src"], weights, grads.get("diff_bias"))
    return _linear_in_both(trace, entry, forward, "src", needed)


for _row in ("convolution", "deconvolution"):
    rule_for(f"{_row}_backward_data")(_of_data)
    rule_for(f"{_row}_backward_weights")(_of_weights)
