# SPDX-License-Identifier: Apache-2.0
"""``Module.summary``: shapes and costs of each layer, found by tracing ``forward``."""

from __future__ import annotations

import inspect
import math
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import eager
from sycl_dnn.onednn import dtypes


class Row(NamedTuple):
    """One layer; ``flop`` counts the multiplications and additions of matrix products only.

    Parameters of modules that are never called, such as ``out_proj`` of attention, count toward the
    module that contains them. The root module has an empty name.
    """

    name: str
    kind: str
    shape: str
    n_parameters: int
    flop: int


class _Call(NamedTuple):
    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


class Summary(NamedTuple):
    """The layers of a module in the order in which they finish; ``str`` gives a table."""

    rows: list[Row]
    n_parameters: int
    n_trainable: int
    nbytes: int

    def __str__(self) -> str:
        lines = [("name", "layer", "output", "parameters", "MFLOP")]
        for row in self.rows:
            flop = f"{row.flop / 1e6:,.3f}" if row.flop else ""
            lines.append((row.name, row.kind, row.shape, f"{row.n_parameters:,}", flop))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = []
        for *left, parameters, flop in lines:
            cells = [cell.ljust(w) for cell, w in zip(left, widths[:3], strict=True)]
            cells += [parameters.rjust(widths[3]), flop.rjust(widths[4])]
            text.append("  ".join(cells).rstrip())
        total = sum(row.flop for row in self.rows)
        text.append(
            f"{self.n_parameters:,} parameters ({self.n_trainable:,} trainable), "
            f"{self.nbytes / 1e6:,.2f} MB with buffers, {total / 1e9:,.3f} GFLOP"
        )
        return "\n".join(text)


def summary_of(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Summary:
    """Summarize a module for these arguments."""
    calls: list[_Call] = []
    watcher = eager.watchers.current
    eager.watchers.current = lambda *parameters: calls.append(_Call(*parameters))
    names: dict[int, str] = {}

    def traced(module: Any, args: Any, kwargs: Any) -> Any:
        names.update({id(part): name for name, part in module.named_modules()})
        output = eager.forward(module, *args, **kwargs)
        rows.extend(_rows([*calls, _Call(module, args, kwargs, output)], names))
        return output

    rows: list[Row] = []
    try:
        compile(traced)._plan((module, args, kwargs), {})
    finally:
        eager.watchers.current = watcher
    parameters = list(module.parameters())
    trainable = [p for _, p in module.named_parameters(trainable=True)]
    arrays = [*parameters, *module.buffers()]
    nbytes = sum(v.size * dtypes.bits_of(str(v.dtype)) // 8 for v in arrays)
    return Summary(rows, sum(p.size for p in parameters), sum(p.size for p in trainable), nbytes)


def _rows(calls: list[_Call], names: dict[int, str]) -> list[Row]:
    rows = []
    counts = _counts([call.module for call in calls])
    for call in calls:
        module, n = call.module, counts[id(call.module)]
        is_leaf = all(part is None for part in module._modules.values())
        if id(module) not in names or not (n or is_leaf):
            continue
        shapes = [tuple(v.shape) for v in tree.leaves(call.result) if hasattr(v, "shape")]
        kind, text = type(module).__name__, ", ".join(map(str, shapes))
        rows.append(Row(names[id(module)], kind, text, n, _flop(call, shapes)))
    return rows


def _own(module: Any) -> list[Any]:
    return [p for p in module._parameters.values() if p is not None]


def _counts(called: list[Any]) -> dict[int, int]:
    """Return the number of parameters of each module, including submodules that are never called.

    Modules are in the order in which they finish, so the innermost caller counts a submodule.
    """
    counted_ids = {id(p) for module in called for p in _own(module)}
    counts: dict[int, int] = {}
    for module in called:
        if id(module) not in counts:
            uncounted = {id(p): p for p in module.parameters() if id(p) not in counted_ids}
            counted_ids |= set(uncounted)
            counts[id(module)] = sum(
                math.prod(p.shape) for p in (*_own(module), *uncounted.values())
            )
    return counts


def _inputs(call: _Call) -> list[Any]:
    """Return the arguments of a call in the order of ``forward``'s signature."""
    bound = inspect.signature(call.module.forward).bind(*call.args, **call.kwargs)
    return [*bound.args, *bound.kwargs.values()]


def _flop(call: _Call, shapes: list[tuple[int, ...]]) -> int:
    """Return two operations per weight element and position that it is applied to."""
    module = call.module
    if not shapes:
        return 0
    if hasattr(module, "in_proj_weight"):
        return _flop_of_attention(call)
    if hasattr(module, "n_gates"):
        matrices = [p.shape for p in _own(module) if len(p.shape) > 1]
        return 2 * math.prod(shapes[0][:-1]) * sum(map(math.prod, matrices))
    weight = module._parameters.get("weight")
    if weight is None or len(weight.shape) < 2:
        return 0
    if hasattr(module, "transposed"):
        positions = _inputs(call)[0].shape if module.transposed else shapes[0]
        return 2 * math.prod(positions) * math.prod(weight.shape[1:])
    is_product = hasattr(module, "in_features") or hasattr(module, "in1_features")
    return 2 * math.prod(shapes[0]) * math.prod(weight.shape[1:]) if is_product else 0


def _flop_of_attention(call: _Call) -> int:
    """Return the operations of the four projections and of the two products with queries."""
    module, (query, key, value, *_) = call.module, _inputs(call)
    e = module.embed_dim
    positions = [math.prod(t.shape[:-1]) for t in (query, key, value)]
    weights = e * (2 * e * positions[0] + module.kdim * positions[1] + module.vdim * positions[2])
    n_keys = key.shape[-2 if module.batch_first or key.ndim == 2 else 0]
    n_keys += (module.bias_k is not None) + module.add_zero_attn
    return 2 * weights + 4 * positions[0] * n_keys * e
