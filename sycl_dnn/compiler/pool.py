# SPDX-License-Identifier: Apache-2.0
"""What was computed from constants, kept under names of the work: equal work is done once."""

from __future__ import annotations

from typing import Any

from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.dispatch.tensor import Storage, Tensor


class Pool:
    """Results of constant nodes, shared by all plans of one compiled function."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}
        self._numbers: dict[Any, int] = {}
        #: Captured arrays and memories that keys speak of by their ids.
        self._held: list[Any] = []

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed."""
        return sum(a.nbytes for a in self._found.values())

    def number(self, recipe: Any) -> int:
        """Return a short name for a recipe."""
        return self._numbers.setdefault(recipe, len(self._numbers))

    def hold(self, thing: Any) -> int:
        """Keep an object alive, and return its id."""
        self._held.append(thing)
        return id(thing)

    def __contains__(self, number: int) -> bool:
        return number in self._found

    def __getitem__(self, number: int) -> Any:
        return self._found[number]

    def __setitem__(self, number: int, array: Any) -> None:
        self._found[number] = array


class Keys:
    """Names of what constant nodes compute, equal for equal work on the same arrays."""

    def __init__(self, graph: Graph, nodes: list[Node], pool: Pool) -> None:
        self._graph = graph
        self._pool = pool
        self._captured = {id(t.storage): v for _, v, t in graph.trace.captured}
        self._numbers: dict[int, int] = {}
        for node in nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        is_call = node.function is not None
        work: list[Any] = [self._pool.hold(node.function)] if is_call else []
        work += node.work if node.pd is not None else [node.row]
        for name, tensor in node.inputs.items():
            work.append((name, self._look(tensor)))
        for name, tensor in node.outputs.items():
            storage = tensor.storage
            before = self._numbers.get(id(storage))
            recipe = (tuple(work), name, tensor.desc, tensor.offset, storage.desc, before)
            self._numbers[id(storage)] = self._pool.number(recipe)

    def _look(self, tensor: Tensor) -> tuple[Any, ...]:
        return (self.number(tensor.storage), tensor.desc, tensor.offset)

    def number(self, storage: Storage) -> int:
        """Return the name of what a storage holds."""
        found = self._numbers.get(id(storage))
        if found is None:
            source = self._captured.get(id(storage), storage.memory)
            recipe = ("given", self._pool.hold(source))
            found = self._numbers[id(storage)] = self._pool.number(recipe)
        return found
