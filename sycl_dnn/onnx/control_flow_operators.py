# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan, unrolled: conditions and counts must be known on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from sycl_dnn.onnx.elementwise_operators import numpy_dtype
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.operator_registry import Call, F, operator

#: Maximum number of iterations of all loops of a call; each is unrolled.
_MAX_TURNS = 10_000


def _start_turn(call: Call) -> None:
    """Count an iteration of a loop, also of an inner one."""
    call.run.n_turns += 1
    if call.run.n_turns > _MAX_TURNS:
        call.refuse(f"the loops of a call must have at most {_MAX_TURNS} turns")


def _run_graph(call: Call, name: str, scope: dict[str, Any], inputs: list[Any]) -> list[Any]:
    graph = call.node.graphs[name]
    names = [v.name for v in graph.inputs]
    if len(inputs) > len(names):
        raise ValueError(f"{name} must have {len(inputs)} inputs, got {len(names)}")
    return list(call.run.evaluate(graph, {**scope, **dict(zip(names, inputs, strict=False))}))


def _stack_iterations(call: Call, values: list[Any], axis: int = 0, declared: Any = None) -> Any:
    """Stack the results of all iterations; without iterations, the declared shape is used."""
    if not values:
        shape = None if declared is None else declared.shape
        if shape is None or not all(isinstance(size, int) for size in shape):
            call.refuse("results of no turn must have a shape in the model")
        at = axis % (len(shape) + 1)
        dtype = call.run.float_dtype if declared.dtype == "float32" else declared.dtype
        return np.zeros((*shape[:at], 0, *shape[at:]), numpy_dtype(dtype))
    if all(map(is_host, values)):
        return np.stack(values, axis)
    return F.stack([call.device(v) for v in values], axis)


@operator("If", host=(0,))
def _if(call: Call, scope: dict[str, Any], condition: Any) -> Any:
    is_true = bool(np.asarray(call.host(condition)).all())
    return tuple(_run_graph(call, "then_branch" if is_true else "else_branch", scope, []))


@operator("Loop", host=(0, 1))
def _loop(call: Call, scope: dict[str, Any], max_trips: Any, condition: Any, *state: Any) -> Any:
    limit = None if max_trips is None else int(call.host(max_trips).item())
    is_on = condition is None or bool(call.host(condition).item())
    carried, turn = list(state), 0
    declared = call.node.graphs["body"].outputs[1 + len(carried) :]
    rows: list[list[Any]] = [[] for _ in declared]
    while is_on and (limit is None or turn < limit):
        _start_turn(call)
        inputs = [np.array(turn, np.int64), np.array(True), *carried]
        on, *outputs = _run_graph(call, "body", scope, inputs)
        is_on = bool(call.host(on).item()) if call.node.inputs[1:2] != ("",) else True
        carried = outputs[: len(carried)]
        for row, value in zip(rows, outputs[len(carried) :], strict=True):
            row.append(value)
        turn += 1
    stacked = [
        _stack_iterations(call, row, 0, out) for row, out in zip(rows, declared, strict=True)
    ]
    return (*carried, *stacked)


@operator("Scan", 9)
def _scan(call: Call, scope: dict[str, Any], *inputs: Any) -> Any:
    n_scanned = call.need("num_scan_inputs")
    if not 1 <= n_scanned <= len(inputs):
        n = len(inputs)
        call.refuse(f"num_scan_inputs must be in [1, {n}], the number of inputs, got {n_scanned}")
    n_state = len(inputs) - n_scanned
    declared = call.node.graphs["body"].outputs[n_state:]
    n_out = len(declared)
    carried, scanned = list(inputs[:n_state]), [call.device(x) for x in inputs[n_state:]]
    axes = call.get("scan_input_axes", [0] * n_scanned)
    backwards = call.get("scan_input_directions", [0] * n_scanned)
    rows: list[list[Any]] = [[] for _ in range(n_out)]
    turns = scanned[0].shape[axes[0]]
    for turn in range(turns):
        _start_turn(call)
        slices = [
            F.select(x, axis, turns - 1 - turn if is_back else turn)
            for x, axis, is_back in zip(scanned, axes, backwards, strict=True)
        ]
        outputs = _run_graph(call, "body", scope, [*carried, *slices])
        carried = outputs[:n_state]
        for row, value in zip(rows, outputs[n_state:], strict=True):
            row.append(value)
    out_axes = call.get("scan_output_axes", [0] * n_out)
    out_backwards = call.get("scan_output_directions", [0] * n_out)
    stacked = [
        _stack_iterations(call, row[::-1] if is_back else row, axis, out)
        for row, axis, is_back, out in zip(rows, out_axes, out_backwards, declared, strict=True)
    ]
    return (*carried, *stacked)


@operator("Scan", 8)
def _batched_scan(call: Call, scope: dict[str, Any], lengths: Any, *inputs: Any) -> Any:
    if lengths is not None:
        call.refuse("sequence_lens must be absent")
    samples = [
        _scan(call, scope, *(F.select(call.device(x), 0, i) for x in inputs))
        for i in range(inputs[0].shape[0])
    ]
    return tuple(_stack_iterations(call, list(values)) for values in zip(*samples, strict=True))
