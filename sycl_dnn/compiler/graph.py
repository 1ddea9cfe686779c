# SPDX-License-Identifier: Apache-2.0
"""The steps of a trace as a graph whose nodes may be replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sycl_dnn import _core
from sycl_dnn.compiler.node import Node, node_of
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.dispatch.record import ArrayStep, Step
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.onednn import dtypes


class Graph:
    """The nodes in order of execution, and what a call returns."""

    def __init__(
        self, trace: CompileTrace, finals: Sequence[Tensor], locked: Sequence[Tensor] = ()
    ) -> None:
        self.trace = trace
        self.finals = list(finals)
        self._locked = {id(t.storage) for t in locked}
        self.nodes = [node_of(s) for s in trace.steps]
        self.index()

    def index(self) -> None:
        """Find readers and writers again after a change."""
        self._readers: dict[int, list[Node]] = {}
        self._writers: dict[int, list[Node]] = {}
        self._places = {id(node): i for i, node in enumerate(self.nodes)}
        for node in self.nodes:
            for tensor in node.inputs.values():
                _note(self._readers, tensor.storage, node)
            for tensor in node.outputs.values():
                _note(self._writers, tensor.storage, node)
        self._kept = {id(t.storage) for t in self.finals}

    def readers(self, storage: Storage) -> list[Node]:
        """Return the nodes that read a storage, in order."""
        return self._readers.get(id(storage), [])

    def writers(self, storage: Storage) -> list[Node]:
        """Return the nodes that write a storage, in order."""
        return self._writers.get(id(storage), [])

    def place(self, node: Node) -> int:
        """Return the position of a node."""
        return self._places[id(node)]

    def is_final(self, storage: Storage) -> bool:
        """Whether a call returns a storage."""
        return id(storage) in self._kept

    def is_inner(self, storage: Storage) -> bool:
        """Whether a storage is written once and seen by nodes alone."""
        is_own = storage.argument is None and storage.memory is None
        return is_own and not self.is_final(storage) and len(self.writers(storage)) == 1

    def is_locked(self, node: Node) -> bool:
        """Whether a node writes a result that shares memory with an input: not before its time."""
        return any(id(t.storage) in self._locked for t in node.outputs.values())

    def writer(self, tensor: Tensor) -> Node | None:
        """Return the one node that makes an inner tensor, or None."""
        return self.writers(tensor.storage)[0] if self.is_inner(tensor.storage) else None

    def replace(self, gone: Sequence[Node], node: Node, at: Node) -> None:
        """Put ``node`` where ``at`` was and drop ``gone``."""
        dropped = {id(n) for n in gone}
        self.nodes = [node if n is at else n for n in self.nodes if n is at or id(n) not in dropped]
        self.index()

    def insert(self, nodes: Sequence[Node], before: Node) -> None:
        """Put nodes in front of another."""
        at = self.place(before)
        self.nodes[at:at] = nodes
        self.index()

    def redirect(self, old: Storage, new: Storage, offset: int = 0) -> None:
        """Let all that read or write ``old`` look into ``new``, from ``offset`` bytes on."""
        for node in (*self.readers(old), *self.writers(old)):
            for tensors in (node.inputs, node.outputs):
                for name, t in tensors.items():
                    if t.storage is old:
                        tensors[name] = moved(t, new, t.offset + offset)
        for found in (self._readers, self._writers):
            nodes = found.get(id(new), []) + found.pop(id(old), [])
            if nodes:
                found[id(new)] = sorted(set(nodes), key=self.place)

    def remove(self, node: Node) -> None:
        """Leave out one node."""
        self.nodes = [n for n in self.nodes if n is not node]
        self.index()

    def drop_dead(self) -> None:
        """Leave out nodes that no result depends on, unless they write to an argument."""
        needed, kept = set(self._kept), []
        for node in reversed(self.nodes):
            made = [t.storage for t in node.outputs.values()]
            if any(id(s) in needed or s.argument is not None for s in made):
                kept.append(node)
                needed |= {id(t.storage) for t in node.inputs.values()}
        self.nodes = kept[::-1]
        self.index()

    def recorded(self, body: Callable[[], Any]) -> tuple[Any, list[Node]]:
        """Return what ``body`` returns, and the nodes of what it records."""
        trace = self.trace
        # Copies that were made before may stand behind the place where these nodes go.
        known = trace.steps, trace._reordered
        trace.steps, trace._reordered = [], {}
        try:
            made = body()
            return made, [node_of(s) for s in trace.steps]
        finally:
            trace.steps, trace._reordered = known

    def steps(self, nodes: Sequence[Node] | None = None) -> Iterator[Step | ArrayStep]:
        """Yield nodes, all or those given, as steps with their primitives."""
        for node in self.nodes if nodes is None else nodes:
            if node.function is not None:
                yield ArrayStep(node.function, node.inputs, node.outputs)
                continue
            if node.pd is not None and node.primitive is None:
                node.primitive = _core.Primitive(node.pd)
            yield Step(node.primitive, node.inputs, node.outputs)


def _note(found: dict[int, list[Node]], storage: Storage, node: Node) -> None:
    nodes = found.setdefault(id(storage), [])
    if not nodes or nodes[-1] is not node:
        nodes.append(node)


def moved(tensor: Tensor, storage: Storage, offset: int, desc: Any = None) -> Tensor:
    """Return the same look at another storage."""
    desc = tensor.desc if desc is None else desc
    strides = tensor.strides if desc is tensor.desc else None
    dtype = (
        tensor.dtype if desc.data_type == tensor.desc.data_type else dtypes.NAMES[desc.data_type]
    )
    return Tensor(tensor.trace, storage, desc, dtype, tensor.shape, offset, strides)
