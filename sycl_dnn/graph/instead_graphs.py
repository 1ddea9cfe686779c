# SPDX-License-Identifier: Apache-2.0
"""Operations as graphs of their own that oneDNN takes: behind another operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.graph.instead_functions import Arrays

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan


def copied_input(graph: Any, value: Any, plan: Plan, dtype: str | None = None) -> Any:
    """Add an input to a graph of its own for a value of a plan."""
    kind, label = dtype or value.dtype, f"v{value.id}"
    if value.property == "host_scalar":
        return graph.scalar(kind, name=label)
    return graph.input(plan.shapes[value.id], kind, name=label)


def behind_identity(node: Node, plan: Plan) -> Callable[[Arrays], list[Any]]:
    """Return the operation behind a LeakyReLU that changes nothing."""
    from sycl_dnn.graph.builder import Graph

    graph = Graph(plan.engine)
    given = {name: copied_input(graph, value, plan) for name, value in node.inputs.items()}
    given["src"] = graph.leaky_relu(given["src"], alpha=1.0)
    graph.output(graph.add_operation(node.operation, given | node.attributes))
    compiled = graph.compile(plan.owner.queue)
    return lambda arrays: [compiled(*arrays.values())]


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
