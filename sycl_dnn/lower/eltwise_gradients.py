# SPDX-License-Identifier: Apache-2.0
"""Gradients of element-wise chains and second derivatives of single functions, from nodes."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn._core import algorithm
from sycl_dnn.ir.derivation import Gradients, pullback
from sycl_dnn.ir.node import Node, leaf
from sycl_dnn.lower.algorithms import FUNCTIONS, stepped
from sycl_dnn.lower.node_lowering import recorded
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.gradients import Grads, NoGradient, rule_for
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor


@rule_for("eltwise_backward")
def _backward(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    inputs, params = entry.inputs, entry.params
    name = "dst" if "dst" in inputs else "src"
    kind, data = params["algorithm"], inputs[name]
    if kind not in FUNCTIONS:
        raise NoGradient(f"vjp: {kind.name} has no second derivative", kind.name)
    wide = dtypes.wide(data.dtype)
    x, g, seed = (leaf((n, "eltwise"), data.shape, wide) for n in ("x", "g", "seed"))
    y = FUNCTIONS[kind](x, params["alpha"], params["beta"])
    (slope,) = pullback([y], [g], [x])
    if slope is None:
        return {}
    # Some rules read the result in place of the operand.
    variable = y if name == "dst" else x
    parts = pullback([slope], [seed], [variable, g])
    pairs = ((variable, data), (g, inputs["diff_dst"]), (seed, grads["diff_src"]))
    existing = {node: trace.convert(tensor, wide) for node, tensor in pairs}
    input_grads = _needed((name, "diff_dst"), parts, existing, needed)
    return {n: trace.convert(t, inputs[n].dtype) for n, t in input_grads.items()}


@rule_for("fused")
def _fused(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    names = ["src_0", "src_1", *[n for n in entry.inputs if n not in ("src_0", "src_1")]]
    tensors = [entry.inputs[n] for n in names]
    leaves = [
        leaf((n, "fused"), t.shape, str(t.dtype)) for n, t in zip(names, tensors, strict=True)
    ]
    kind, steps = entry.params["algorithm"], entry.params["steps"]
    is_chain = kind is algorithm.binary_max and tensors[0] is tensors[1]
    result = entry.outputs["dst"]
    wide = dtypes.wide(result.dtype)
    first, second, *operands = leaves
    y = stepped(kind, first, None if is_chain else second, steps, operands, wide)
    seed = leaf("seed", result.shape, str(result.dtype))
    existing = dict(zip(leaves, tensors, strict=True)) | {
        seed: trace.convert(grads["dst"], result.dtype)
    }
    return _needed(names, pullback([y], [cast(seed, wide)], leaves), existing, needed)


def _needed(
    names: Sequence[str], parts: Gradients, existing: dict[Node, Tensor], needed: set[str]
) -> Grads:
    """Record the gradients that exist and are needed; return them by name."""
    pairs = zip(names, parts, strict=True)
    selected = {n: part for n, part in pairs if part is not None and n in needed}
    if not selected:
        return {}
    return dict(
        zip(selected, recorded(list(selected.values()), existing, list(existing)), strict=True)
    )
