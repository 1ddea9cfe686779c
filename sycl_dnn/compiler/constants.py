# SPDX-License-Identifier: Apache-2.0
"""What depends on constants alone: found, computed once, and put in place as memories."""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core
from sycl_dnn._dpnp import place
from sycl_dnn._usm import KINDS
from sycl_dnn.compiler.graph import Graph, moved
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.pool import Keys, Pool
from sycl_dnn.dispatch import allocation
from sycl_dnn.dispatch.executable import Executable
from sycl_dnn.dispatch.tensor import Storage, Tensor


def constant_ids(graph: Graph) -> set[int]:
    """Return the ids of the storages whose content no call changes."""
    found = set(graph.trace.constant_storages())
    found -= {id(t.storage) for n in graph.nodes for t in n.outputs.values()}
    found |= {id(t.storage) for n in graph.nodes for t in n.inputs.values() if t.storage.memory}
    # What several nodes write is constant only if all of them are, so the last one decides.
    counted: dict[int, int] = {}
    for node in graph.nodes:
        outputs = {id(t.storage): t.storage for t in node.outputs.values()}
        if not outputs or any(s.argument is not None for s in outputs.values()):
            continue
        if any(id(t.storage) not in found for t in node.inputs.values()):
            continue
        for key, storage in outputs.items():
            counted[key] = counted.get(key, 0) + 1
            if counted[key] == graph.n_writers(storage) and not graph.is_final(storage):
                found.add(key)
    return found


def settle(graph: Graph, pool: Pool, queue: Any, stream: Any) -> list[Storage]:
    """Compute constant nodes once and drop them; return the arguments that calls still need."""
    standing = constant_ids(graph)
    nodes = [
        n for n in graph.nodes if n.outputs and all(
            id(t.storage) in standing for t in n.outputs.values()
        )
    ]  # fmt: skip
    gone = set(nodes)
    live = [n for n in graph.nodes if n not in gone]
    made = {id(t.storage): t.storage for n in nodes for t in n.outputs.values()}
    needed = {id(t.storage): t.storage for n in live for t in n.inputs.values()}
    wanted = [s for key, s in made.items() if key in needed]
    arrays = _computed(graph, nodes, wanted, pool, queue, stream)
    captured = {id(t.storage): v.get_array() for _, v, t in graph.trace.captured if _is_array(v)}
    graph.drop(nodes)
    _place(graph, arrays)
    for array in _place(graph, captured):
        _core.use_huge_pages(queue, array.usm_data, is_fresh=False)
    return _still_needed(graph, arrays)


def _is_array(value: Any) -> bool:
    return hasattr(value, "get_array")


def _computed(
    graph: Graph, nodes: list[Node], wanted: list[Storage], pool: Pool, queue: Any, stream: Any
) -> dict[int, Any]:
    """Return arrays, or raw memory, of the storages that constant nodes write."""
    keys = Keys(graph, nodes, pool)
    numbers = {id(s): keys.number(s) for s in wanted}
    missing = [s for s in wanted if numbers[id(s)] not in pool]
    if missing:
        finals = _whole(graph, nodes, missing)
        for storage, array in zip(missing, _run(graph, nodes, finals, queue, stream), strict=True):
            pool[numbers[id(storage)]] = array
    return {id(s): pool[numbers[id(s)]] for s in wanted}


def _run(
    graph: Graph, nodes: list[Node], finals: list[Tensor], queue: Any, stream: Any
) -> list[Any]:
    """Return what nodes that stand still compute, when it is there."""
    trace = graph.trace
    executable = Executable(trace, list(graph.steps(nodes)), finals, trace.arguments)
    outs = dict(enumerate(allocation.together([allocation.blank_of(t) for t in finals], queue)))
    given = [None] * len(trace.arguments)
    registers = executable.run(queue, stream, given, KINDS["device"], outs)
    queue.wait()
    return [registers[r] for r in executable.results]


def _whole(graph: Graph, nodes: list[Node], storages: list[Storage]) -> list[Tensor]:
    """Return tensors over all of the storages, which the nodes write."""
    outputs: dict[Storage, Tensor] = {}
    for node in nodes:
        for tensor in node.outputs.values():
            outputs.setdefault(tensor.storage, tensor)
    return [
        made if s.desc is None or made.desc == s.desc
        else Tensor(graph.trace, s, s.desc, made.dtype, s.desc.dims)
        for s, made in ((s, outputs[s]) for s in storages)
    ]  # fmt: skip


def _place(graph: Graph, arrays: dict[int, Any]) -> list[Any]:
    """Let primitives read constants from memories, not storages; return the arrays behind them."""
    used: dict[int, Any] = {}
    looks: dict[Any, Storage] = {}
    for node in graph.nodes:
        if node.function is not None:
            continue
        inputs = dict(node.inputs)
        for name, t in node.inputs.items():
            array = arrays.get(id(t.storage))
            if array is None or t.desc is None:
                continue
            key = (id(t.storage), t.offset, t.desc)
            if key not in looks:
                memory = _memory(graph.trace.engine, array, t)
                looks[key] = Storage(t.desc, memory=memory)
            inputs[name] = moved(t, looks[key], 0)
            used[id(array)] = array
        graph.rewire(node, inputs)
    return list(used.values())


def _memory(engine: Any, array: Any, tensor: Tensor) -> Any:
    buffer, start = place(array)
    spans = [(buffer, start + tensor.offset)]
    return _core.Memory(tensor.desc, engine, spans, [array], False, False)


def _still_needed(graph: Graph, arrays: dict[int, Any]) -> list[Storage]:
    """Return the captured storages that calls over arrays read; results among them are captured."""
    trace = graph.trace
    reading = [t for n in graph.nodes for t in n.inputs.values()]
    ids = {id(t.storage) for t in (*reading, *graph.finals)}
    kept = [c for c in trace.captured if id(c[2].storage) in ids]
    for tensor in reading:
        storage = tensor.storage
        if id(storage) in arrays and storage.argument is None:
            storage.argument = len(trace.arguments)
            trace.arguments.append(storage)
            kept.append((storage.argument, _Held(arrays[id(storage)]), tensor))
    trace.captured = kept
    return [t.storage for _, _, t in kept]


class _Held:
    """A computed constant as something that has an array."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def get_array(self) -> Any:
        """Return the usm_ndarray."""
        return self._array
