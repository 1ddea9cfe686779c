# SPDX-License-Identifier: Apache-2.0
"""What became of a graph, as a table: partitions, operations, how they run, how long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn.graph.wide_step import WideStep

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan

__all__ = ["of_graph", "of_plan", "timed"]


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def of_graph(graph: Graph) -> str:
    """Return the table of a graph's partitions."""
    names = {node.id: node.operation.kind for node in graph.nodes}
    rows: list[tuple[str, ...]] = [("partition", "operations", "supported")]
    for partition in graph.partitions():
        ops = " + ".join(names[op] for op in partition.ops)
        rows.append((str(partition.id), ops, "yes" if partition.is_supported else "no"))
    return _table(rows)


def of_plan(plan: Plan, times: list[float] | None = None) -> str:
    """Return the table of a plan's steps, with the milliseconds of each if they are known."""
    rows: list[tuple[str, ...]] = [("step", "operations", "runs as", "scratchpad")]
    refused = list(plan.refused)
    for number, step in enumerate(plan.steps):
        rows.append(_cells(str(number), step))
        if isinstance(step, WideStep):
            rows += [_cells(f"{number}.{i}", s) for i, s in enumerate(step.plan.steps)]
            refused += step.plan.refused
    if times:
        known = {str(number): f"{ms:.3f}" for number, ms in enumerate(times)}
        rows = [(*cells, known.get(cells[0], "ms" if cells is rows[0] else "")) for cells in rows]
    notes = [f"not compiled as one: {_kinds(nodes)} ({words})" for nodes, words in refused]
    return "\n".join([_table(rows), *notes])


def _cells(number: str, step: Any) -> tuple[str, ...]:
    """Return what the table says of a step."""
    size = 0
    if step.compiled is not None:
        size = step.compiled.scratchpad_logical_tensor.mem_size
    return number, _kinds(step.nodes), step.reason or "oneDNN partition", f"{size / 1024:.1f} KB"


def _kinds(nodes: Sequence[Node]) -> str:
    return " + ".join(node.operation.kind for node in nodes)


def timed(plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any, rounds: int) -> list[float]:
    """Return the least milliseconds of each step over some rounds, waiting after each step."""
    best = [float("inf")] * len(plan.steps)
    for _ in range(rounds):
        live = dict(tensors) | plan.constants
        for number, step in enumerate(plan.steps):
            stream.wait()
            start = time.perf_counter()
            step.run(plan, live, stream, kind)
            stream.wait()
            best[number] = min(best[number], 1e3 * (time.perf_counter() - start))
    return best
