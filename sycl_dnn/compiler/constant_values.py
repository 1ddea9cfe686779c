# SPDX-License-Identifier: Apache-2.0
"""Constant folding: values that depend only on constants are computed once."""

from __future__ import annotations

from functools import partial
from typing import Any

from sycl_dnn import _core
from sycl_dnn._dpnp import place
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node, moved
from sycl_dnn.onednn.memory import KINDS
from sycl_dnn.program.executable import Executable
from sycl_dnn.program.segments import live_steps
from sycl_dnn.trace import allocation, array_writes
from sycl_dnn.trace.frozen import Seed
from sycl_dnn.trace.values import Storage, Tensor


class Pool:
    """Results of constant nodes, shared by all plans of a compiled function."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}
        self._numbers: dict[Any, int] = {}
        #: Arrays and memories whose ids are part of keys.
        self._held: list[Any] = []
        #: The memory of the values from which constants were computed.
        self.sources = _core.WatchedSpans()

    @property
    def nbytes(self) -> int:
        """Size of the computed results in bytes."""
        return sum(a.nbytes for a in self._found.values())

    def number(self, recipe: Any) -> int:
        """Return a short id for a recipe."""
        return self._numbers.setdefault(recipe, len(self._numbers))

    def hold(self, item: Any) -> int:
        """Keep an object alive and return its id."""
        self._held.append(item)
        return id(item)

    def __contains__(self, number: int) -> bool:
        return number in self._found

    def __getitem__(self, number: int) -> Any:
        return self._found[number]

    def __setitem__(self, number: int, array: Any) -> None:
        self._found[number] = array


class Keys:
    """Keys of constant results, equal for equal computations on the same arrays."""

    def __init__(self, graph: Graph, nodes: list[Node], pool: Pool) -> None:
        self._graph = graph
        self._pool = pool
        self._captured = {id(t.storage): v for _, v, t in graph.trace.captured}
        self._numbers: dict[int, int] = {}
        for node in nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        computation = node.function
        if computation is None and node.pd is None:
            computation = node.primitive  # a kernel
        work: list[Any] = [] if computation is None else [self._pool.hold(computation)]
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
        """Return the key of a storage's contents."""
        known_number = self._numbers.get(id(storage))
        if known_number is None:
            source = self._captured.get(id(storage), storage.memory)
            if _is_array(source):
                array_writes.watch(self._pool.sources, source)
            recipe = ("given", self._pool.hold(source))
            known_number = self._numbers[id(storage)] = self._pool.number(recipe)
        return known_number


# --- Folding


def settle(graph: Graph, pool: Pool, queue: Any, stream: Any) -> list[Storage]:
    """Compute and drop constant nodes; return the captured storages that calls still need."""
    constants = constant_ids(graph)
    nodes = [
        n for n in graph.nodes if n.outputs and all(
            id(t.storage) in constants for t in n.outputs.values()
        )
    ]  # fmt: skip
    dropped = set(nodes)
    live = [n for n in graph.nodes if n not in dropped]
    computed = {id(t.storage): t.storage for n in nodes for t in n.outputs.values()}
    needed = {id(t.storage): t.storage for n in live for t in n.inputs.values()}
    needed_storages = [s for key, s in computed.items() if key in needed]
    captured = {
        id(t.storage): v.get_array()
        for _, v, t in graph.trace.captured
        if _is_array(v) and t.storage.constant
    }
    run = partial(_run_nodes, graph, nodes, queue, stream)
    arrays = _compute_constants(graph, nodes, needed_storages, pool, run)
    graph.drop(nodes)
    _bind_constants(graph, arrays)
    for array in _bind_constants(graph, captured):
        _core.use_huge_pages(queue, array.usm_data, is_fresh=False)
    return _still_needed(graph, arrays)


def _is_array(value: Any) -> bool:
    return hasattr(value, "get_array")


def _compute_constants(
    graph: Graph, nodes: list[Node], storages: list[Storage], pool: Pool, run: Any
) -> dict[int, Any]:
    """Return arrays, or raw memory, of the storages that constant nodes write."""
    keys = Keys(graph, nodes, pool)
    numbers = {id(s): keys.number(s) for s in storages}
    missing = [s for s in storages if numbers[id(s)] not in pool]
    if missing:
        finals = _covering_tensors(graph, nodes, missing)
        for storage, array in zip(missing, run(finals), strict=True):
            pool[numbers[id(storage)]] = array
    return {id(s): pool[numbers[id(s)]] for s in storages}


def _run_nodes(
    graph: Graph, nodes: list[Node], queue: Any, stream: Any, finals: list[Tensor]
) -> list[Any]:
    """Run the constant nodes that results depend on, and wait for the results."""
    trace, blanks = graph.trace, [allocation.blank_of(t) for t in finals]
    arrays = allocation.together(blanks, queue)
    steps = list(graph.steps(live_steps(nodes, [t.storage for t in finals])))
    # No constant depends on a seed, and drawing one here would shift the seeds of later calls.
    seeds = {t.storage for _, value, t in trace.captured if isinstance(value, Seed)}
    arguments = [s for s in trace.arguments if s not in seeds]
    executable = Executable(trace, steps, finals, arguments)
    executable.run(queue, stream, [None] * len(arguments), KINDS["device"], dict(enumerate(arrays)))
    queue.wait()
    return arrays


def _covering_tensors(graph: Graph, nodes: list[Node], storages: list[Storage]) -> list[Tensor]:
    """Return tensors that cover the storages written by the nodes."""
    outputs: dict[Storage, Tensor] = {}
    for node in nodes:
        for tensor in node.outputs.values():
            outputs.setdefault(tensor.storage, tensor)
    return [
        output if output.desc == s.desc
        else Tensor(graph.trace, s, s.desc, output.dtype, s.desc.dims)
        for s, output in ((s, outputs[s]) for s in storages)
    ]  # fmt: skip


def _bind_constants(graph: Graph, arrays: dict[int, Any]) -> list[Any]:
    """Let primitives read constants from memories instead of storages; return the arrays used."""
    used: dict[int, Any] = {}
    storages: dict[Any, Storage] = {}
    for node in graph.nodes:
        if node.function is not None:
            continue
        inputs = dict(node.inputs)
        for name, t in node.inputs.items():
            array = arrays.get(id(t.storage))
            if array is None:
                continue
            key = (id(t.storage), t.offset, t.desc)
            if key not in storages:
                memory = _memory_of_array(graph.trace.engine, array, t)
                storages[key] = Storage(t.desc, memory=memory)
            inputs[name] = moved(t, storages[key], 0)
            used[id(array)] = array
        graph.rewire(node, inputs)
    return list(used.values())


def _memory_of_array(engine: Any, array: Any, tensor: Tensor) -> Any:
    buffer, start = place(array)
    spans = [(buffer, start + tensor.offset)]
    return _core.Memory(tensor.desc, engine, spans, [array], False, False)


def _still_needed(graph: Graph, arrays: dict[int, Any]) -> list[Storage]:
    """Return the captured storages that calls over arrays read, capturing computed results."""
    trace = graph.trace
    reading = [t for n in graph.nodes for t in n.inputs.values()]
    written = [t for n in graph.nodes for t in n.outputs.values()]
    ids = {id(t.storage) for t in (*reading, *written, *graph.finals)}
    still_captured = [c for c in trace.captured if id(c[2].storage) in ids]
    for tensor in reading:
        storage = tensor.storage
        if id(storage) in arrays and storage.argument is None:
            storage.argument = len(trace.arguments)
            trace.arguments.append(storage)
            still_captured.append((storage.argument, _Held(arrays[id(storage)]), tensor))
    trace.captured = still_captured
    return [t.storage for _, _, t in still_captured]


class _Held:
    """A computed constant, wrapped as an object with an array."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def get_array(self) -> Any:
        """Return the usm_ndarray."""
        return self._array
