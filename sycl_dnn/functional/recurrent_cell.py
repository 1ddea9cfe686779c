# SPDX-License-Identifier: Apache-2.0
"""One layer of a recurrent network in one direction: oneDNN's rows, and their gradients."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn.dispatch import layout, policy
from sycl_dnn.dispatch.gradients import rule_for, signature
from sycl_dnn.dispatch.record import Entry, Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.functional.recurrent_weights import CELLS, Cell, Sizes


def run_cell(
    cell: Cell, x: Tensor, states: dict[str, Tensor], weights: dict[str, Tensor], sizes: Sizes,
    reverse: bool,
) -> dict[str, Tensor]:  # fmt: skip
    """Run one layer in one direction over (T, N, C)."""
    if x.dtype == "bfloat16" and "weights_projection" in weights:
        return _run_in_float32(cell, x, states, weights, sizes, reverse)
    n_steps, n_samples, _ = x.shape
    outs = {
        "dst_layer": Out((n_steps, n_samples, sizes.output), x.dtype),
        "dst_iter": Out((1, 1, n_samples, sizes.output), x.dtype),
    }
    if cell.has_cell_state:
        outs["dst_iter_c"] = Out((1, 1, n_samples, sizes.hidden), "float32")
    inputs = {"src_layer": x, **states, **weights}
    if not x.size:
        return _nothing(inputs, outs)
    directions = _core.rnn_direction
    right = directions.unidirectional_right2left
    return x.trace.primitive(
        cell.row,
        inputs,
        outs,
        ask={n: "any" if n.startswith("weights") else "row_major" for n in inputs},
        prop_kind=x.trace.forward_kind,
        direction=right if reverse else directions.unidirectional_left2right,
        **cell.params,
    )


def _run_in_float32(
    cell: Cell,
    x: Tensor,
    states: dict[str, Tensor],
    weights: dict[str, Tensor],
    sizes: Sizes,
    reverse: bool,
) -> dict[str, Tensor]:
    """Run a bfloat16 cell with a projection, which oneDNN 3.13 gets wrong on CPUs."""
    if policy.current().fallback == "error":
        raise NotImplementedError("lstm: bfloat16 with a projection must run in float32")
    policy.warn_once(
        policy.FallbackWarning,
        (cell.row, "projection"),
        "lstm: bfloat16 with a projection computes in float32 and converts "
        "(set_fallback('error') refuses instead)",
    )
    convert = x.trace.convert
    first, second = ({n: convert(t, "float32") for n, t in g.items()} for g in (states, weights))
    made = run_cell(cell, convert(x, "float32"), first, second, sizes, reverse)
    return {n: t if n == "dst_iter_c" else convert(t, x.dtype) for n, t in made.items()}


def _nothing(inputs: dict[str, Tensor], outs: dict[str, Out]) -> dict[str, Tensor]:
    """Return results for no samples at all, on which no gradient depends."""
    trace = inputs["src_layer"].trace

    def zeros(shape: tuple[int, ...], dtype: str) -> Tensor:
        return trace.zeros(layout.row_major(shape, dtype), shape)

    made = {name: zeros(out.shape, out.dtype) for name, out in outs.items()}
    rule = lambda entry, grads: {n: zeros(t.shape, t.dtype) for n, t in inputs.items()}  # noqa: E731
    trace.tape.append(Entry("view", inputs, made, rule=rule))
    return made


def _backward(trace: Any, entry: Entry, grads: dict[str, Tensor], needed: set[str]) -> Any:
    """Record the backward row; oneDNN's gradients are float32."""
    row = entry.row.replace("forward", "backward")
    reads, writes = signature(row)
    inputs, ask = {}, {}
    for name in reads:
        tensor = _read(trace, name, entry, grads)
        if tensor is None:
            continue
        inputs[name] = tensor
        if name.startswith("weights"):
            ask[name] = "any"
        elif name.startswith("diff_"):
            ask[name] = layout.row_major(tensor.shape, "float32")
    outs = {
        n: Out(entry.inputs[n[5:]].shape, "float32", "any" if "weights" in n else "row_major")
        for n in writes
        if n[5:] in entry.inputs
    }
    given = {n: v for n, v in entry.params.items() if n != "prop_kind"}
    made = trace.primitive(
        row,
        inputs,
        outs,
        ask=ask,
        prop_kind=_core.prop_kind.backward,
        # Without it gradients are added to what the memory holds.
        flags=_core.rnn_flags.diff_weights_overwrite,
        hint_fwd_pd=entry.pd,
        **given,
    )
    return {n[5:]: trace.convert(t, entry.inputs[n[5:]].dtype) for n, t in made.items()}


def _read(trace: Any, name: str, entry: Entry, grads: dict[str, Tensor]) -> Tensor | None:
    if name.startswith("diff_"):
        result = entry.outputs.get(name[5:])
        if result is None or name[5:] in grads:
            return grads.get(name[5:])
        return trace.zeros(layout.row_major(result.shape, "float32"), result.shape)
    if name in entry.outputs:
        return entry.outputs[name]
    return (entry.inputs if name.startswith("weights") else entry.args).get(name)


for _cell in CELLS.values():
    rule_for(_cell.row)(_backward)
