# SPDX-License-Identifier: Apache-2.0
"""``Module.summary``: what each layer accepts and returns, found by tracing ``forward``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sycl_dnn import tree
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.nn import eager
from sycl_dnn.onednn import dtypes


class Row(NamedTuple):
    """One layer: ``flop`` counts the multiplications and additions of products alone."""

    name: str
    kind: str
    shape: str
    n_parameters: int
    flop: int


class Summary(NamedTuple):
    """The layers of a module in the order in which they finish; ``str`` of it is a table."""

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
    """Return the summary of a module for these arguments."""
    seen: list[tuple[Any, Any, Any]] = []
    known = eager.watchers.current
    eager.watchers.current = lambda *found: seen.append(found)
    names: dict[int, str] = {}

    def traced(module: Any, args: Any, kwargs: Any) -> Any:
        names.update({id(part): name for name, part in module.named_modules()})
        made = eager.forward(module, *args, **kwargs)
        rows.extend(_rows(seen, names))
        return made

    rows: list[Row] = []
    try:
        compile(traced)._plan((module, args, kwargs), {})
    finally:
        eager.watchers.current = known
    found = list(module.parameters())
    trainable = [p for _, p in module.named_parameters(trainable=True)]
    held = [*found, *module.buffers()]
    nbytes = sum(v.size * dtypes.bits_of(str(v.dtype)) // 8 for v in held)
    return Summary(rows, sum(p.size for p in found), sum(p.size for p in trainable), nbytes)


def _rows(seen: list[tuple[Any, Any, Any]], names: dict[int, str]) -> list[Row]:
    rows = []
    for module, args, result in seen:
        if any(part is not None for part in module._modules.values()) or id(module) not in names:
            continue
        shapes = [v.shape for v in tree.leaves(result) if hasattr(v, "shape")]
        n = sum(math.prod(p.shape) for p in module._parameters.values() if p is not None)
        kind = type(module).__name__
        text = ", ".join(str(tuple(s)) for s in shapes)
        rows.append(Row(names[id(module)], kind, text, n, _flop(module, args, shapes)))
    return rows


def _flop(module: Any, args: Any, shapes: list[Any]) -> int:
    """Return 2 for each element of a weight and each position that it is applied to."""
    weight = module._parameters.get("weight")
    if weight is None or len(weight.shape) < 2 or not shapes:
        return 0
    if hasattr(module, "transposed"):
        positions = args[0].shape if module.transposed else shapes[0]
        return 2 * math.prod(positions) * math.prod(weight.shape[1:])
    return 2 * math.prod(shapes[0]) * weight.shape[1] if hasattr(module, "in_features") else 0
