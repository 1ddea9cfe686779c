# SPDX-License-Identifier: Apache-2.0
"""Steps whose values do not fit into a CPU's cache are run for one part of the batch at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sycl_dnn import _core
from sycl_dnn.compiler.constants import constant_ids
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.compiler.slices import Cut, part_of, sliced_node, sliced_tensors
from sycl_dnn.dispatch import descriptors
from sycl_dnn.dispatch.caches import cache_bytes
from sycl_dnn.dispatch.tensor import Storage, Tensor

#: Steps without need that two with need may have between them.
_LONGEST_GAP = 4
#: Multiplications for each number read or written beyond which memory does not bound a step.
_MOST_WORK = 64
#: Values of a step beyond the first part of the cache are cut so that they fill the second.
_TOO_MUCH, _ENOUGH = 1 / 2, 1 / 4


def slice_batches(graph: Graph) -> None:
    """Replace stretches of steps over a batch by the same steps over its parts in turn.

    What a step writes is then still in the cache when the next one reads it.
    """
    engine = graph.trace.engine
    if engine.kind is _core.engine_kind.cpu:
        cache = cache_bytes(engine.sycl_device)
        for run in list(_Runs(graph, cache)):
            _replace(graph, run, cache)


def _touched(node: Node) -> list[Tensor]:
    """Return what a step reads and writes along the batch, each storage once."""
    return list({id(t.storage): t for t in sliced_tensors(node).values()}.values())


def _bytes(node: Node) -> int:
    return sum(t.desc.get_size() for t in _touched(node))


def _is_bound_by_memory(node: Node, cache: int) -> bool:
    if _bytes(node) <= cache * _TOO_MUCH:
        return False
    if "weights" not in node.inputs:
        return True
    pixels = math.prod(node.dst.desc.dims) // node.dst.desc.dims[1]
    work = math.prod(node.inputs["weights"].desc.dims) * pixels
    return work <= _MOST_WORK * sum(math.prod(t.desc.dims) for t in _touched(node))


@dataclass
class _Runs:
    """Stretches of steps that can be sliced, from one that needs it to another."""

    graph: Graph
    cache: int

    def __iter__(self) -> Iterator[list[Node]]:
        standing = constant_ids(self.graph)
        run: list[Node] = []
        for node in self.graph.nodes:
            if all(id(t.storage) in standing for t in node.outputs.values()):
                continue
            # A result over an input may be written only when all of that was read.
            batch = None if self.graph.is_locked(node) else _batch_of(node)
            if run and (batch is None or batch != _batch_of(run[0])):
                yield from self._heavy(run)
                run = []
            if batch is not None:
                run.append(node)
        yield from self._heavy(run)

    def _heavy(self, run: list[Node]) -> Iterator[list[Node]]:
        found: list[int] = []
        for i, node in enumerate(run):
            if not _is_bound_by_memory(node, self.cache):
                continue
            if found and i - found[-1] > _LONGEST_GAP + 1:
                yield from self._worth(run, found)
                found = []
            found.append(i)
        yield from self._worth(run, found)

    @staticmethod
    def _worth(run: list[Node], found: list[int]) -> Iterator[list[Node]]:
        """Yield from the first to the last that needs it, and their neighbours."""
        if len(found) > 1:
            yield run[max(found[0] - 1, 0) : found[-1] + 2]


def _batch_of(node: Node) -> int | None:
    """Return the size of the batch of a step that can be cut; None for others."""
    tensors = sliced_tensors(node)
    return next(iter(tensors.values())).desc.dims[0] if tensors else None


def _replace(graph: Graph, run: list[Node], cache: int) -> None:
    batch = _batch_of(run[0]) or 1
    most = max(map(_bytes, run)) // batch
    cut = Cut(batch, size_of_parts(batch, int(cache * _ENOUGH) // max(most, 1)), _inner(graph, run))
    pieces: dict[int, list[tuple[Node, Any]]] = {}
    for size in dict.fromkeys((cut.size, cut.size_of(cut.count - 1))):
        pieces[size] = []
        for node in run:
            piece = sliced_node(node, size)
            if isinstance(piece, Refusal):
                node.refused.append(f"parts of the batch in turn: {piece}")
                return
            pieces[size].append((piece, descriptors.shared.primitive(piece.pd)))
    made = [
        part_of(*piece, cut, number)
        for number in range(cut.count)
        for piece in pieces[cut.size_of(number)]
    ]
    graph.insert(made, before=run[-1])
    graph.drop(run)


def size_of_parts(batch: int, most: int) -> int:
    """Return the size of the parts of a batch that has ``most`` items in a part.

    Equal parts if they are not much smaller than they might be; else the last one is shorter.
    """
    most = max(1, min(most, batch - 1))
    even = next(n for n in range(most, 0, -1) if batch % n == 0)
    return even if 2 * even > most else -(-batch // -(-batch // most))


def _inner(graph: Graph, run: list[Node]) -> set[Storage]:
    """Return the storages that only steps of the run see."""
    members = set(run)
    storages = {t.storage for n in run for t in sliced_tensors(n).values()}
    return {
        s for s in storages
        if s.argument is None and s.memory is None and not graph.is_final(s)
        and all(n in members for n in (*graph.readers(s), *graph.writers(s)))
    }  # fmt: skip
