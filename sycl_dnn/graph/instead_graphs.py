# SPDX-License-Identifier: Apache-2.0
"""Operations as graphs of their own that oneDNN takes: in f32, or behind another operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.graph import dtypes
from sycl_dnn.graph.instead_functions import Arrays

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan


def _rebuilt(node: Node, plan: Plan, dtype_of: Callable[[str], str], wrap: Any) -> Any:
    """Return a compiled graph of this one operation, with other data types or more around it."""
    from sycl_dnn.graph.builder import Graph

    graph = Graph(plan.engine)
    given: dict[str, Any] = {}
    for name, value in node.inputs.items():
        several = value if isinstance(value, list) else [value]
        made = []
        for number, one in enumerate(several):
            kind, label = dtype_of(one.dtype), f"{name}{number or ''}"
            if one.property == "host_scalar":
                made.append(graph.scalar(kind, name=label))
            else:
                made.append(graph.input(plan.shapes[one.id], kind, name=label))
        given[name] = made if isinstance(value, list) else made[0]
    given |= node.attributes
    if node.operation.chosen_dtypes:
        asked = dtype_of(node.outputs[0].dtype)
        default = node.operation.outputs[0].dtype
        if default is None or asked != dtype_of(node.inputs[default].dtype):
            given["dtype"] = asked
    made = wrap(graph, node.operation, given)
    for value in made if isinstance(made, tuple) else (made,):
        graph.output(value)
    return graph.compile(plan.owner.queue)


def _flat(arrays: Arrays) -> list[Any]:
    found: list[Any] = []
    for given in arrays.values():
        found += given if isinstance(given, list) else [given]
    return found


def _as_list(made: Any) -> list[Any]:
    return list(made) if isinstance(made, tuple) else [made]


def behind_identity(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Return the operation behind a LeakyReLU that changes nothing."""

    def wrap(graph: Any, row: Any, given: dict[str, Any]) -> Any:
        given["src"] = graph.leaky_relu(given["src"], alpha=1.0)
        return graph.add_operation(row, given)

    compiled = _rebuilt(node, plan, lambda dtype: dtype, wrap)
    return lambda arrays: _as_list(compiled(*_flat(arrays)))


def in_f32(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Return the operation with f32 in the place of f16."""
    if node.operation.name == "type_cast":
        wanted = dtypes.LONG[node.outputs[0].dtype]
        return lambda arrays: [arrays["src"].astype(wanted)]

    def wide(dtype: str) -> str:
        return "f32" if dtype == "f16" else dtype

    compiled = _rebuilt(node, plan, wide, lambda graph, row, given: graph.add_operation(row, given))

    def run(arrays: Arrays) -> list[Any]:
        made = compiled(*[_widened(a) for a in _flat(arrays)])
        return [
            a.astype("float16") if v.dtype == "f16" else a
            for v, a in zip(node.outputs, _as_list(made), strict=True)
        ]

    return run


def _widened(array: Any) -> Any:
    return array.astype("float32") if getattr(array, "dtype", None) == "float16" else array


@functools.lru_cache(64)
def _dropout_of_ones(shape: tuple[int, ...], queue: Any) -> Any:
    from sycl_dnn.graph.builder import Graph

    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    ones = graph.leaky_relu(graph.input(shape), alpha=1.0)
    graph.dropout(ones, graph.scalar("s64"), graph.scalar("s64"), graph.scalar("f32"))
    return graph.compile(queue)


def dropout_mask(src: Any, seed: int, offset: int, probability: float) -> Any:
    """Return 1 where dropout keeps an element, else 0; that depends on its place alone."""
    queue = src.sycl_queue
    ones = dpnp.ones(src.shape, dtype="f4", sycl_queue=queue)
    return _dropout_of_ones(tuple(src.shape), queue)(ones, seed, offset, probability) != 0
