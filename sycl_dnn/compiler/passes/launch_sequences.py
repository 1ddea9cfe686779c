# SPDX-License-Identifier: Apache-2.0
"""Sequences of OpenCL C kernels on a CPU as a single launch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sycl_dnn.compiler.constant_values import constant_ids
from sycl_dnn.compiler.passes.joined_launches import MOST_KEPT
from sycl_dnn.compiler.step_graph import Graph, Node
from sycl_dnn.kernels.launches_in_sequence import Launch, Source
from sycl_dnn.kernels.launching import is_opencl_c, recipe_of, sequence_kernel, units
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Storage

#: Shorter sequences are not worth the compilation of another kernel.
_MIN_LENGTH = 4


def launch_sequences(graph: Graph) -> None:
    """Launch consecutive kernels at once; their outputs stay allocated until the end."""
    for run in list(_runs(graph)):
        if len(run) >= _MIN_LENGTH:
            graph.insert([_sequence(graph, run)], before=run[0])
            graph.drop(run)


def _runs(graph: Graph) -> Iterator[list[Node]]:
    constant = constant_ids(graph)
    run: list[Node] = []
    kept_bytes = 0
    #: Offset of the run's output in each storage.
    offsets: dict[Storage, int] = {}
    for node in graph.nodes:
        fits = _fits(graph, node, constant)
        inner = [t.storage for t in node.outputs.values() if fits and graph.is_inner(t.storage)]
        own_bytes = sum(storage.nbytes for storage in inner)
        are_whole = all(offsets.get(t.storage, t.offset) == t.offset for t in node.inputs.values())
        if not fits or not are_whole or kept_bytes + own_bytes > MOST_KEPT:
            yield run
            run, kept_bytes, offsets = [], 0, {}
        if fits:
            run.append(node)
            kept_bytes += own_bytes
            offsets |= {t.storage: t.offset for t in node.outputs.values()}
    yield run


def _fits(graph: Graph, node: Node, constant: Collection[int]) -> bool:
    """Whether a node is a kernel of OpenCL C whose groups have one work-item."""
    is_text = is_kernel(node.primitive) and is_opencl_c(node.primitive)
    recipe = recipe_of(node.primitive) if is_text else None
    if recipe is None or node.is_repeated or node.part != (0, 1):
        return False
    _, _, numbers, _, n_items, facts = recipe
    if n_items != 1 or facts:
        return False
    written = [t.storage for t in node.outputs.values()]
    is_own = all(s.argument is None and graph.n_writers(s) == 1 for s in written)
    is_steady = is_own and not any(id(s) in constant for s in written)
    return is_steady and all(isinstance(n, int) for n in numbers)


def _sequence(graph: Graph, run: Sequence[Node]) -> Node:
    """Return a single node for a run."""
    outputs = {f"{i}:{name}": t for i, node in enumerate(run) for name, t in node.outputs.items()}
    written = {t.storage: name for name, t in outputs.items()}
    inputs = {
        f"{i}:{name}": t
        for i, node in enumerate(run)
        for name, t in node.inputs.items()
        if t.storage not in written
    }
    places = {name: place for place, name in enumerate([*inputs, *outputs])}
    launches = []
    for i, node in enumerate(run):
        text, name, numbers, n_groups, _, _ = recipe_of(node.primitive) or ()
        tensors = (node.inputs | node.outputs).items()
        arrays = tuple(places[written.get(t.storage, f"{i}:{key}")] for key, t in tensors)
        launches.append(
            Launch(Source(text, name, len(arrays), len(numbers)), arrays, numbers, n_groups)
        )
    kernel = sequence_kernel(graph.trace, launches, units(next(iter(outputs.values()))))
    fused = [text for node in run for text in (node.fused or [node.row])]
    return Node(None, inputs, outputs, primitive=kernel, fused=fused)
