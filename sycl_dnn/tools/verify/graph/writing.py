# SPDX-License-Identifier: Apache-2.0
"""Write a graph of the builder as benchdnn's JSON, to make a case of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sycl_dnn.graph import Graph, Value
from sycl_dnn.graph.nodes import Node
from sycl_dnn.graph.table import KIND_OF
from sycl_dnn.tools.verify.storage import dense_strides

_TYPES = {"float": "f32", "floats": "f32[]", "int": "s64", "ints": "s64[]", "bool": "bool"}
_TYPES["str"] = "string"


def _tensor(value: Value) -> dict[str, Any]:
    if value.shape is None or None in value.shape:
        raise ValueError(f"write: value must have a known shape, got {value}")
    shape = tuple(int(n) for n in value.shape if n is not None)
    order = "abcdefghijkl"[: len(shape)]
    return {
        "id": value.id,
        "dtype": value.dtype,
        "shape": shape,
        "stride": dense_strides(shape, order),
        "layout_type": "strided",
        "property_type": value.property,
    }


def _operation(node: Node) -> dict[str, Any]:
    flags = {a.name for a in node.operation.attributes if a.is_flag}
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.operation.kind,
        "attrs": {
            name: {"type": _TYPES[KIND_OF[name]], "value": value}
            for name, value in node.attributes.items()
            if name not in flags
        },
        "inputs": [_tensor(v) for v in node.values],
        "outputs": [_tensor(v) for v in node.outputs],
    }


def _lines(operation: dict[str, Any]) -> str:
    """Return an operation with a line for each tensor and attribute."""
    rows = []
    for key, value in operation.items():
        if key in ("inputs", "outputs") and value:
            inner = ",\n".join(f"     {json.dumps(one)}" for one in value)
            rows.append(f'   "{key}": [\n{inner}\n   ]')
        elif key == "attrs" and value:
            inner = ",\n".join(f"     {json.dumps(n)}: {json.dumps(v)}" for n, v in value.items())
            rows.append(f'   "{key}": {{\n{inner}\n   }}')
        else:
            rows.append(f'   "{key}": {json.dumps(value)}')
    return "  {\n" + ",\n".join(rows) + "\n  }"


def text(graph: Graph) -> str:
    """Return a graph as JSON.

    Parameters
    ----------
    graph : Graph
        With known shapes. Constants become inputs of the property ``constant``; what they hold is
        not written, since a case draws its data.

    Raises
    ------
    ValueError
        A shape is not known.
    """
    mode, to_int = graph.get_fpmath_mode()
    head = {
        "version": "3.13.0",
        "engine_kind": graph.engine_kind.name,
        "fpmath_mode": mode.name,
        "fpmath_mode_apply_to_int": "true" if to_int else "false",
    }
    rows = [f' "{name}": {json.dumps(value)}' for name, value in head.items()]
    ops = ",\n".join(_lines(_operation(node)) for node in graph.nodes)
    return "{\n" + ",\n".join(rows) + f',\n "graph": [\n{ops}\n ]\n}}\n'


def dump(graph: Graph, path: Path) -> None:
    """Write a graph to a file; see `text`."""
    path.write_text(text(graph), encoding="utf-8")
