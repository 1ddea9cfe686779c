# SPDX-License-Identifier: Apache-2.0
"""Which primitives compute the gradient of which, and with what: the table of the reverse pass.

Most rows say only the names of their backward rows. What those read and write follows from their
signatures: ``diff_X`` among the inputs is the gradient of the output ``X``, among the outputs
that of the input ``X``; any other input is the forward's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sycl_dnn import _core
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

Grads = dict[str, Tensor]
Rule = Callable[[Trace, Entry, Grads, set[str]], Grads]

#: Forward row: its backward rows.
BACKWARD: dict[str, tuple[str, ...]] = {
    "convolution_forward": ("convolution_backward_data", "convolution_backward_weights"),
    "deconvolution_forward": ("deconvolution_backward_data", "deconvolution_backward_weights"),
    "inner_product_forward": ("inner_product_backward_data", "inner_product_backward_weights"),
    "softmax_forward": ("softmax_backward",),
    "pooling_forward": ("pooling_backward",),
    "lrn_forward": ("lrn_backward",),
    "resampling_forward": ("resampling_backward",),
    "shuffle_forward": ("shuffle_backward",),
    "prelu_forward": ("prelu_backward",),
    "batch_normalization_forward": ("batch_normalization_backward",),
    "group_normalization_forward": ("group_normalization_backward",),
    "layer_normalization_forward": ("layer_normalization_backward",),
}
#: Inputs that primitives want in a layout of their own.
_PACKED = ("weights", "diff_weights")
#: Rules of the rows that have no backward row of their own; ``rule_for`` adds to it.
RULES: dict[str, Rule] = {}


class NoGradient(NotImplementedError):
    """An operation has no gradient, or its gradient has none; ``row`` names it."""

    def __init__(self, message: str, row: str) -> None:
        super().__init__(message)
        self.row = row


def rule_for(row: str) -> Callable[[Rule], Rule]:
    """Register the gradient of a row: ``rule(trace, entry, grads, needed) -> grads by input``."""

    def register(rule: Rule) -> Rule:
        RULES[row] = rule
        return rule

    return register


def signature(row: str) -> tuple[list[str], list[str]]:
    """Return the execution arguments of a row: inputs, outputs."""
    inputs, outputs = _core.ROWS[row][1].split("->")
    return inputs.split(), outputs.split()


def backward(
    trace: Trace,
    row: str,
    entry: Entry,
    grads: Mapping[str, Tensor],
    needed: set[str],
    **params: Any,
) -> Grads:
    """Record one backward primitive; return the gradients of the inputs that it writes.

    ``params`` overrides what the forward primitive was given.
    """
    reads, writes = signature(row)
    inputs: dict[str, Tensor] = {}
    ask: dict[str, Any] = {}
    for name in reads:
        tensor = _source(name, entry, grads)
        if tensor is None:
            continue
        inputs[name] = tensor
        if name in _PACKED:
            ask[name] = "any"
        elif name.startswith("diff_"):
            # The gradient of a result in the layout that the result had.
            ask[name] = entry.outputs[name.removeprefix("diff_")]
    outputs = {name: _out(name, entry) for name in writes if _is_written(name, entry)}
    given = dict(_passed_on(row, entry), **params)
    made = trace.primitive(row, inputs, outputs, ask=ask, **given)
    return {n.removeprefix("diff_"): t for n, t in made.items() if n.startswith("diff_")}


def _source(name: str, entry: Entry, grads: Mapping[str, Tensor]) -> Tensor | None:
    if name.startswith("diff_"):
        return grads.get(name.removeprefix("diff_"))
    if name in entry.outputs:
        return entry.outputs[name]
    # Weights have another layout in each primitive, so they come as the caller gave them.
    return (entry.inputs if name in _PACKED else entry.args).get(name)


def _is_written(name: str, entry: Entry) -> bool:
    return name.removeprefix("diff_") in entry.inputs


def _out(name: str, entry: Entry) -> Out:
    source = name.removeprefix("diff_")
    like = entry.inputs[source]
    return Out(like.shape, like.dtype, "any" if name in _PACKED else entry.args[source])


def _passed_on(row: str, entry: Entry) -> dict[str, Any]:
    names = _core.ROWS[row][0].split()
    given = {n: entry.params[n] for n in names if n in entry.params}
    if "hint_fwd_pd" in names:
        given["hint_fwd_pd"] = entry.pd
    return given


def gradients_of(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Return the gradients of an entry's inputs by name, from those of its outputs.

    Raises
    ------
    NoGradient
        The operation has no gradient.
    """
    if entry.rule is not None:
        return entry.rule(entry, grads)
    if entry.has_post_ops:
        raise NoGradient(f"vjp: {entry.row} with post-ops has no gradient", entry.row)
    if entry.row in RULES:
        return RULES[entry.row](trace, entry, grads, needed)
    if entry.row not in BACKWARD:
        name = entry.function or entry.row
        row = f" ({entry.row})" if entry.function else ""
        raise NoGradient(f"vjp: {name} has no gradient{row}", entry.row)
    found: Grads = {}
    for row in BACKWARD[entry.row]:
        written = {n.removeprefix("diff_") for n in signature(row)[1]}
        if written & needed:
            found |= backward(trace, row, entry, grads, needed)
    return found


@rule_for("convert")
def _convert(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    return {"src": trace.convert(grads["dst"], entry.inputs["src"].dtype)}


def transposed(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Return the gradient of a backward row that is linear in ``diff_dst``: its forward row's."""
    like = entry.inputs["diff_dst"]
    made = trace.primitive(
        entry.row.replace("backward", "forward"),
        {"src": grads["diff_src"]},
        {"dst": Out(like.shape, like.dtype, like)},
        ask={"src": entry.outputs["diff_src"]},
        prop_kind=_core.prop_kind.forward_training,
        **{n: v for n, v in entry.params.items() if n not in ("prop_kind", "hint_fwd_pd")},
    )
    return {"diff_dst": made["dst"]}


rule_for("resampling_backward")(transposed)
rule_for("shuffle_backward")(transposed)


@rule_for("eltwise_forward")
def _eltwise(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    uses_dst = entry.params["algorithm"].name.endswith("use_dst_for_bwd")
    data = entry.outputs["dst"] if uses_dst else entry.args["src"]
    made = trace.primitive(
        "eltwise_backward",
        {"dst" if uses_dst else "src": data, "diff_dst": grads["dst"]},
        {"diff_src": Out(data.shape, data.dtype, data)},
        ask={"diff_dst": data},
        data=data.desc,
        **_passed_on("eltwise_backward", entry),
    )
    return {"src": made["diff_src"]}
