# SPDX-License-Identifier: Apache-2.0
"""Pictures and tables of graphs and partitions: DOT, Mermaid, SVG, text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sycl_dnn.graph.builder import Graph
    from sycl_dnn.graph.nodes import Node, Value
    from sycl_dnn.graph.partition_plan import Plan


#: Fill colors of partitions, used cyclically; light enough for black text.
_FILLS = ("#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc", "#d9d2e9", "#fce5cd", "#d0e0e3", "#ead1dc")
_BARE, _FREE = "#ffffff", "#eeeeee"
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 170, 44, 24, 40


def partition_numbers(graph: Graph) -> dict[int, int | None]:
    """Return the partition index of each operation by id; None if unsupported."""
    if not graph.is_finalized:
        return {}
    return {
        op: number if partition.is_supported else None
        for number, partition in enumerate(graph.get_partitions())
        for op in partition.ops
    }


def _fill(numbers: dict[int, int | None], node: Node) -> str:
    number = numbers.get(node.id, -1)
    return _FREE if number is None else _BARE if number < 0 else _FILLS[number % len(_FILLS)]


def _text(value: Value) -> str:
    shape = (
        "?" if value.shape is None else "x".join("?" if n is None else str(n) for n in value.shape)
    )
    return f"{value.dtype} {shape}"


def _sources(graph: Graph) -> list[Value]:
    read = {v.id for node in graph.nodes for v in node.values}
    return [v for v in (*graph.inputs.values(), *graph.constants) if v.id in read]


def _edges(graph: Graph) -> list[tuple[str, str, Value]]:
    """Return source, target and value of each edge; v: inputs, n: operations."""
    return [
        (f"n{v.node.id}" if v.node else f"v{v.id}", f"n{node.id}", v)
        for node in graph.nodes
        for v in node.values
    ]


def to_dot(graph: Graph) -> str:
    """Return Graphviz source with partitions as colored clusters."""
    numbers = partition_numbers(graph)
    lines = ["digraph {", "  node [shape=box, style=filled, fontname=sans];"]
    for v in _sources(graph):
        lines.append(f'  v{v.id} [label="{v.name}\\n{_text(v)}", shape=oval, fillcolor=white];')
    clusters: dict[int | None, list[str]] = {}
    for node in graph.nodes:
        text = f'n{node.id} [label="{node.operation.kind}\\n{node.name}", '
        clusters.setdefault(numbers.get(node.id), []).append(
            text + f'fillcolor="{_fill(numbers, node)}"];'
        )
    for number, members in clusters.items():
        inner = [f"  {line}" for line in members]
        if number is not None:
            inner = [f"  subgraph cluster_{number} {{", f'    label="partition {number}";',
                     *(f"  {line}" for line in inner), "  }"]  # fmt: skip
        lines += inner
    lines += [f'  {a} -> {b} [label="{_text(v)}"];' for a, b, v in _edges(graph)]
    return "\n".join([*lines, "}", ""])


def to_mermaid(graph: Graph) -> str:
    """Return a Mermaid flowchart with partitions as subgraphs."""
    numbers = partition_numbers(graph)
    lines = ["flowchart TD"]
    lines += [f'    v{v.id}(["{v.name}<br/>{_text(v)}"])' for v in _sources(graph)]
    clusters: dict[int | None, list[Node]] = {}
    for node in graph.nodes:
        clusters.setdefault(numbers.get(node.id), []).append(node)
    for number, members in clusters.items():
        inner = [f'    n{n.id}["{n.operation.kind}<br/>{n.name}"]' for n in members]
        if number is not None:
            inner = [f'    subgraph p{number}["partition {number}"]',
                     *(f"    {line}" for line in inner), "    end"]  # fmt: skip
        lines += inner
    lines += [f'    {a} -- "{_text(v)}" --> {b}' for a, b, v in _edges(graph)]
    for node in graph.nodes:
        lines.append(f"    style n{node.id} fill:{_fill(numbers, node)}")
    return "\n".join(lines) + "\n"


def _places(graph: Graph) -> dict[str, tuple[int, int]]:
    """Return the column and row of each box, one row below its lowest predecessor."""
    rows = {f"v{v.id}": 0 for v in _sources(graph)}
    for node in graph.nodes:
        above = [rows[f"n{v.node.id}" if v.node else f"v{v.id}"] for v in node.values]
        rows[f"n{node.id}"] = max(above, default=-1) + 1
    for v in _sources(graph):
        readers = [rows[f"n{n.id}"] for n in graph.nodes if v in n.values]
        rows[f"v{v.id}"] = max(min(readers) - 1, 0)
    used: dict[int, int] = {}
    places = {}
    for box, row in rows.items():
        places[box] = (used.get(row, 0), row)
        used[row] = used.get(row, 0) + 1
    return places


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    return (
        _ACROSS + place[0] * (_WIDTH + _ACROSS),
        _ACROSS + place[1] * (_HEIGHT + _DOWN),
    )


def _escaped(text: str) -> str:
    """Return a text as XML; Python's module for that imports those of the network."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _box(place: tuple[int, int], fill: str, rounding: int, upper: str, lower: str) -> str:
    x, y = _corner(place)
    middle = x + _WIDTH // 2
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="{rounding}" '
        f'fill="{fill}" stroke="#444"/>'
        f'<text x="{middle}" y="{y + 18}">{_escaped(upper)}</text>'
        f'<text x="{middle}" y="{y + 35}" class="s">{_escaped(lower)}</text>'
    )


def to_svg(graph: Graph) -> str:
    """Return an SVG picture: data flows downwards, partitions are colored."""
    places, numbers = _places(graph), partition_numbers(graph)
    parts = []
    for a, b, _ in _edges(graph):
        (x1, y1), (x2, y2) = _corner(places[a]), _corner(places[b])
        x1, y1, x2 = x1 + _WIDTH // 2, y1 + _HEIGHT, x2 + _WIDTH // 2
        bend = (y1 + y2) // 2
        parts.append(f'<path d="M{x1},{y1} C{x1},{bend} {x2},{bend} {x2},{y2}" class="e"/>')
    for v in _sources(graph):
        parts.append(_box(places[f"v{v.id}"], _BARE, 22, v.name, _text(v)))
    for node in graph.nodes:
        number = numbers.get(node.id)
        lower = f"partition {number}" if number is not None else node.name
        parts.append(
            _box(places[f"n{node.id}"], _fill(numbers, node), 4, node.operation.kind, lower)
        )
    columns = max((c for c, _ in places.values()), default=0) + 1
    rows = max((r for _, r in places.values()), default=0) + 1
    width, height = _corner((columns, rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        "<style>text{font:13px sans-serif;text-anchor:middle}.s{font-size:11px;fill:#555}"
        ".e{fill:none;stroke:#888}</style>" + "\n".join(parts) + "</svg>\n"
    )


# --- Tables of compiled graphs


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
    """Return the table of a plan's steps, with times in milliseconds if known."""
    rows: list[tuple[str, ...]] = [("step", "operations", "runs as", "scratchpad")]
    refused = list(plan.refused)
    for number, step in enumerate(plan.steps):
        rows.append(_cells(str(number), step))
        if step.inner is not None:
            inner = step.inner.plans[-1]
            rows += [_cells(f"{number}.{i}", s) for i, s in enumerate(inner.steps)]
            refused += inner.refused
    if times:
        time_of = {str(number): f"{ms:.3f}" for number, ms in enumerate(times)}
        rows = [(*cells, time_of.get(cells[0], "ms" if cells is rows[0] else "")) for cells in rows]
    notes = [f"not compiled as one: {_kinds(nodes)} ({words})" for nodes, words in refused]
    return "\n".join([_table(rows), *notes])


def _cells(number: str, step: Any) -> tuple[str, ...]:
    """Return the table row of a step."""
    size = 0
    if step.compiled is not None:
        size = step.compiled.scratchpad_logical_tensor.mem_size
    return number, _kinds(step.nodes), step.reason or "oneDNN partition", f"{size / 1024:.1f} KB"


def _kinds(nodes: Sequence[Node]) -> str:
    return " + ".join(node.operation.kind for node in nodes)


def timed(plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any, rounds: int) -> list[float]:
    """Return the minimum time of each step in milliseconds, waiting after each step."""
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
