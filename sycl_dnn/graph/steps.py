# SPDX-License-Identifier: Apache-2.0
"""The steps of a plan: compiled partitions, and operations that run as something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn import _core
from sycl_dnn.dispatch import noted
from sycl_dnn.graph import instead
from sycl_dnn.graph.node import Node

if TYPE_CHECKING:
    from sycl_dnn.graph.plan import Plan

__all__ = ["InsteadStep", "PartitionStep"]


class PartitionStep:
    """A compiled partition and the numbers of its tensors."""

    __slots__ = ("compiled", "nodes", "reads", "writes")
    reason: str | None = None

    def __init__(self, compiled: _core.CompiledPartition, nodes: list[Node]) -> None:
        self.compiled, self.nodes = compiled, nodes
        compiled.label = "+".join(node.operation.name for node in nodes)
        # A tensor that two operations read is a port for each.
        self.reads = list(dict.fromkeys(t.id for t in compiled.inputs))
        self.writes = [t.id for t in compiled.outputs]

    def run(self, plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any) -> None:
        """Submit."""
        for id in self.writes:
            tensors[id] = plan.allocate(id, stream, kind)
        outputs = [tensors[id] for id in self.writes]
        self.compiled.execute(stream, [tensors[id] for id in self.reads], outputs)


class InsteadStep:
    """An operation that runs as something else than a partition."""

    __slots__ = ("nodes", "reads", "reason", "run_arrays", "writes")
    compiled: _core.CompiledPartition | None = None

    def __init__(self, node: Node, way: instead.Way) -> None:
        self.nodes = [node]
        self.run_arrays, self.reason = way
        self.reads = [v.id for v in node.values]
        self.writes = [v.id for v in node.outputs]

    def run(self, plan: Plan, tensors: dict[int, Any], stream: Any, kind: Any) -> None:
        """Submit through arrays."""
        node = self.nodes[0]

        def array(value: Any) -> Any:
            tensor = tensors[value.id]
            if value.property == "host_scalar":
                return plan.scalars_of(tensors)[value.id]
            return tensor.to_array()

        arrays = {
            name: [array(v) for v in given] if isinstance(given, list) else array(given)
            for name, given in node.inputs.items()
        }
        made = noted.array_call(
            f"graph.{node.operation.name}",
            lambda: self.run_arrays(arrays),
            noted.arrays_in(arrays.values()),
            stream.sycl_queue,
        )
        for value, result in zip(node.outputs, made, strict=True):
            tensors[value.id] = plan.adopt(value, result)
