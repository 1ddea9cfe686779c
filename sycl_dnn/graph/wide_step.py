# SPDX-License-Identifier: Apache-2.0
"""Operations over bf16 or f16 that the device has no instructions for, as a graph in f32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn import _core
from sycl_dnn.dispatch import noted, policy
from sycl_dnn.dispatch.capabilities import multiplies
from sycl_dnn.errors import Unimplemented
from sycl_dnn.graph.instead_graphs import copied_input
from sycl_dnn.onednn import dtypes

if TYPE_CHECKING:
    from sycl_dnn.graph.node import Node
    from sycl_dnn.graph.plan import Plan

__all__ = ["WideStep", "lacking"]

#: Types that CPUs have no arithmetic of, or not all.
_NARROW = ("bf16", "f16")


def lacking(nodes: Sequence[Node], plan: Plan) -> list[str]:
    """Return the types of some operations' tensors that the device has no arithmetic of."""
    met = {v.dtype for node in nodes for v in (*node.values, *node.outputs)}
    return [k for k in _NARROW if k in met and not multiplies(plan.engine, dtypes.LONG[k])]


def _warn(nodes: Sequence[Node], kinds: str, plan: Plan) -> None:
    """Say once that operations are computed in f32."""
    names = ", ".join(dict.fromkeys(node.operation.name for node in nodes))
    policy.warn_once(
        policy.FallbackWarning,
        ("graph", names, kinds),
        f"graph: {plan.engine.sycl_device.name} has no instructions for {kinds}; {names} computed "
        "in float32, with conversions (set_fallback('error') refuses instead)",
    )


class WideStep:
    """A group of operations as a compiled graph of f32, with conversions around it.

    Values between the operations stay f32, as they do inside a fused partition.

    Parameters
    ----------
    nodes : sequence of Node
    writes : sequence of int
        Numbers of the values that something outside of the group needs.
    plan : Plan

    Raises
    ------
    Unimplemented
        oneDNN has no such operation in f32 either, or the group only converts.
    """

    __slots__ = ("graph_call", "nodes", "plan", "reads", "reason", "writes")
    compiled: _core.CompiledPartition | None = None

    def __init__(self, nodes: Sequence[Node], writes: Sequence[int], plan: Plan) -> None:
        self.nodes = list(nodes)
        kinds = " and ".join(lacking(nodes, plan))
        made = {v.id for node in nodes for v in node.outputs}
        given = {v.id: v for node in nodes for v in node.values if v.id not in made}
        self.reads, self.writes = list(given), list(writes)
        graph = _wide_graph(self.nodes, list(given.values()), self.writes, plan)
        self.graph_call = graph.compile(plan.owner.queue)
        self.reason = f"this device has no instructions for {kinds}; runs in f32"
        #: What it became: all shapes are known.
        self.plan: Plan = self.graph_call.plans[-1]
        _warn(nodes, kinds, plan)

    def run(self, plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any) -> None:
        """Submit through arrays."""
        scalars = plan.scalars_of({id: tensors[id] for id in self.reads})
        arrays = [scalars[id] if id in scalars else tensors[id].to_array() for id in self.reads]
        made = noted.array_call(
            "graph." + "+".join(node.operation.name for node in self.nodes),
            lambda: self.graph_call(*map(_widened, arrays)),
            noted.arrays_in(arrays),
            stream.sycl_queue,
        )
        results = made if isinstance(made, tuple) else (made,)
        for id, result in zip(self.writes, results, strict=True):
            tensors[id] = plan.adopt(plan.value(id), result)


def _wide_graph(
    nodes: Sequence[Node], given: Sequence[Any], writes: Sequence[int], plan: Plan
) -> Any:
    """Return a graph of the same operations over f32."""
    from sycl_dnn.graph.builder import Graph

    graph = Graph(plan.engine)
    graph.set_fpmath_mode(*plan.graph.fpmath)
    made: dict[int, Any] = {}
    for value in given:
        made[value.id] = copied_input(graph, value, plan, _wide(value.dtype))
    for node in nodes:
        results = _copied(graph, node, made)
        made |= {v.id: r for v, r in zip(node.outputs, results, strict=True)}
    for id in writes:
        if made[id].node is None:
            raise Unimplemented("graph: a conversion alone is none in f32")
        graph.output(made[id])
    return graph


def _copied(graph: Any, node: Node, made: dict[int, Any]) -> Sequence[Any]:
    """Add an operation to a graph; return its results."""
    row = node.operation
    inputs: dict[str, Any] = {
        name: [made[v.id] for v in value] if isinstance(value, list) else made[value.id]
        for name, value in node.inputs.items()
    }
    asked = _wide(node.outputs[0].dtype)
    if row.name == "type_cast" and inputs["src"].dtype == asked:
        return (inputs["src"],)
    default = row.outputs[0].dtype
    if row.chosen_dtypes and (default is None or asked != inputs[default].dtype):
        inputs["dtype"] = asked
    results = graph.add_operation(row, inputs | node.attributes)
    return results if isinstance(results, tuple) else (results,)


def _wide(dtype: str) -> str:
    return "f32" if dtype in _NARROW else dtype


def _widened(array: Any) -> Any:
    """Return an array in float32 if it is narrow; numbers as they are."""
    if not hasattr(array, "shape") or dtypes.graph_name(array.dtype, "graph") not in _NARROW:
        return array
    from sycl_dnn import functional

    return functional.astype(array, "float32")
