# SPDX-License-Identifier: Apache-2.0
"""``Graph``: the steps of a trace as an ordered, editable graph."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sycl_dnn.onednn import dtypes, shared_descriptors
from sycl_dnn.program.segments import starts_early
from sycl_dnn.trace.array import Target
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import ArrayStep, Meaning, Step, is_kernel
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import untaped


@dataclass(frozen=True)
class Refusal:
    """The reason why a rewrite is impossible, returned in place of its result."""

    #: Wording for the report.
    reason: str

    def __str__(self) -> str:
        return self.reason


# --- Node

T = TypeVar("T")


class _Kept(Generic[T]):
    """A cached property without the lock that functools uses before Python 3.12."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, node: Any, owner: type) -> T:
        value = node.__dict__[self._name] = self._compute(node)
        return value


@dataclass(eq=False)
class Node:
    """One step: a primitive, a kernel (``primitive`` without ``pd``), a call over arrays, zeros."""

    pd: Any
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    #: Arguments of the descriptor, including layouts left open.
    params: dict[str, Any] = field(default_factory=dict)
    #: A function of arrays, or a partition.
    function: Any = None
    primitive: Any = None
    #: Fusions, and refused fusions with reasons, for the report.
    fused: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    #: Measured milliseconds of each alternative.
    times: dict[str, float] = field(default_factory=dict)
    #: Whether the function itself rounds the result to fewer bits.
    is_rounded: bool = False
    #: Index of the batch part that it computes, and the number of parts.
    part: tuple[int, int] = (0, 1)

    #: For a reorder: whether the package inserted it.
    inserted: bool = False
    #: For a kernel: the operations that it computes.
    meaning: Meaning | None = None
    #: Whether it runs in every call, even on constants.
    is_repeated: bool = False

    @_Kept
    def row(self) -> str:
        """Name of the primitive; "zeros" or "dpnp" for other steps."""
        if self.pd is not None:
            return self.pd.name
        if self.primitive is not None:
            return self.primitive.name
        return "zeros" if self.function is None else getattr(self.function, "row", "dpnp")

    @_Kept
    def work(self) -> tuple[Any, ...]:
        """Key that distinguishes the primitive from others with the same tensors."""
        return shared_descriptors.shared.work(self.pd)

    @_Kept
    def attr(self) -> Any:
        """Return the attribute of the primitive; must not be modified."""
        return shared_descriptors.shared.attr(self.pd)

    @_Kept
    def post_ops(self) -> Any:
        """Return the post-ops of the primitive; must not be modified."""
        return shared_descriptors.shared.post_ops(self.pd)

    @property
    def has_dst(self) -> bool:
        """Whether the only output is called dst."""
        return len(self.outputs) == 1 and "dst" in self.outputs

    @property
    def dst(self) -> Tensor:
        """The output called dst."""
        return self.outputs["dst"]

    def with_pd(self, pd: Any, **changes: Any) -> Node:
        """Return the node with another descriptor, keeping report data."""
        kept_fields = {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "fused": self.fused,
            "refused": self.refused,
        }
        return Node(pd, params=pd.parameters, **(kept_fields | changes))


def node_of(step: Step | ArrayStep) -> Node:
    """Convert a step of a trace to a node."""
    inputs, outputs, is_repeated = dict(step.inputs), dict(step.outputs), step.is_repeated
    if isinstance(step, ArrayStep):
        return Node(None, inputs, outputs, function=step.function, is_repeated=is_repeated)
    planned = step.primitive
    if planned is None or is_kernel(planned):
        return Node(
            None, inputs, outputs, primitive=planned, meaning=step.meaning, is_repeated=is_repeated
        )
    pd = planned.primitive_desc
    return Node(pd, inputs, outputs, pd.parameters, inserted=planned.inserted)


def sharing_inputs(finals: Sequence[Tensor], targets: Mapping[int, Target] | None) -> list[Tensor]:
    """Return the results whose targets, by index, share memory with an input of the call."""
    return [finals[i] for i, t in (targets or {}).items() if t.overlaps or t.in_place]


def has_only_post_ops(attr: Any) -> bool:
    """Whether an attribute sets only post-ops and the floating-point mode."""
    return all(name in ("set_post_ops", "set_fpmath_mode") for name, _ in attr.calls)


# --- The order of nodes

#: Initial distance between the keys of adjacent nodes.
_STEP = 1 << 40


class Order:
    """A list of nodes with increasing keys.

    ``nodes``: in order, without repetition.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = list(nodes)
        self._renumber()

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: Node) -> bool:
        return node in self._numbers

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def place(self, node: Node) -> int:
        """Return the key of a node, larger than the keys of all nodes before it."""
        return self._numbers[node]

    def before(self, node: Node) -> Node | None:
        """Return the previous node; None for the first."""
        at = self._index(node)
        return self._nodes[at - 1] if at else None

    def after(self, node: Node | None) -> Node | None:
        """Return the next node, the first for None; None after the last."""
        at = 0 if node is None else self._index(node) + 1
        return self._nodes[at] if at < len(self._nodes) else None

    def insert(self, nodes: Sequence[Node], before: Node) -> None:
        """Insert nodes before another."""
        at = self._index(before)
        for node in nodes:
            if node in self._numbers:
                raise ValueError(f"order: {node.row} is among the nodes already")
        low = self._keys[at - 1] if at else 0
        gap = (self._keys[at] - low) // (len(nodes) + 1)
        keys = [low + i * gap for i in range(1, len(nodes) + 1)]
        self._nodes[at:at], self._keys[at:at] = nodes, keys
        self._numbers.update(zip(nodes, keys, strict=True))
        if nodes and not gap:
            self._renumber()

    def remove(self, node: Node) -> None:
        """Remove a node."""
        at = self._index(node)
        del self._nodes[at], self._keys[at], self._numbers[node]

    def _index(self, node: Node) -> int:
        return bisect_left(self._keys, self._numbers[node])

    def _renumber(self) -> None:
        self._keys = [i * _STEP for i in range(1, len(self._nodes) + 1)]
        self._numbers = dict(zip(self._nodes, self._keys, strict=True))


# --- Graph

#: Readers or writers of each storage, unordered.
_Users = dict[Storage, dict[Node, None]]
_NOBODY: dict[Node, None] = {}


class Graph:
    """The nodes in execution order, and the results of a call.

    Methods maintain the readers and writers of each storage, so inputs and outputs of nodes must be
    changed only through them. Each takes time proportional to the change.
    """

    def __init__(
        self, trace: Trace, finals: Sequence[Tensor], locked: Sequence[Tensor] = (),
        nodes: Sequence[Node] | None = None, kept: Iterable[Storage] = (),
    ) -> None:  # fmt: skip
        self.trace = trace
        #: Increases with every change; cached facts have their revision.
        self.revision = 0
        self._facts: dict[Any, tuple[int, Any]] = {}
        self.finals: list[Tensor] = []
        self._kept = set(kept)
        self.add_finals(finals)
        self._locked = {t.storage for t in locked}
        self._readers: _Users = {}
        self._writers: _Users = {}
        nodes = [node_of(s) for s in trace.steps] if nodes is None else nodes
        self._order = Order(nodes)
        for node in nodes:
            self._note(node)

    @property
    def nodes(self) -> Sequence[Node]:
        """A snapshot of the nodes in order."""
        return list(self._order)

    def walk(self, nodes: Sequence[Node] | None = None) -> Iterator[Node]:
        """Yield the given nodes, or all, without those that the caller has dropped so far."""
        for node in self.nodes if nodes is None else nodes:
            if node in self._order:
                yield node

    def fact(self, find: Callable[[Graph], T]) -> T:
        """Return ``find(graph)``, cached until the graph changes."""
        cached = self._facts.get(find)
        if cached is None or cached[0] != self.revision:
            cached = self._facts[find] = self.revision, find(self)
        value: T = cached[1]
        return value

    def add_finals(self, tensors: Iterable[Tensor]) -> None:
        """Add tensors to the results of a call."""
        self.revision += 1
        self.finals += tensors
        self._kept |= {t.storage for t in self.finals}

    def _note(self, node: Node) -> None:
        self.revision += 1
        for users, tensors in ((self._readers, node.inputs), (self._writers, node.outputs)):
            for tensor in tensors.values():
                users.setdefault(tensor.storage, {})[node] = None

    def _forget(self, node: Node) -> None:
        self.revision += 1
        for users_of, tensors in ((self._readers, node.inputs), (self._writers, node.outputs)):
            for tensor in tensors.values():
                users = users_of.get(tensor.storage)
                if users is not None:
                    users.pop(node, None)
                    if not users:
                        del users_of[tensor.storage]

    def readers(self, storage: Storage) -> list[Node]:
        """Return the nodes that read a storage, in order."""
        return self._in_order(self._readers.get(storage, ()))

    def writers(self, storage: Storage) -> list[Node]:
        """Return the nodes that write a storage, in order."""
        return self._in_order(self._writers.get(storage, ()))

    def readers_of(self, storage: Storage) -> Set[Node]:
        """Return the nodes that read a storage, in no order."""
        return self._readers.get(storage, _NOBODY).keys()

    def writers_of(self, storage: Storage) -> Set[Node]:
        """Return the nodes that write a storage, in no order."""
        return self._writers.get(storage, _NOBODY).keys()

    def _in_order(self, nodes: Iterable[Node]) -> list[Node]:
        ordered = list(nodes)
        if len(ordered) > 1:
            ordered.sort(key=self._order.place)
        return ordered

    def read(self) -> Iterable[Storage]:
        """Return the storages that nodes read."""
        return self._readers.keys()

    def n_readers(self, storage: Storage) -> int:
        """Return the number of nodes that read a storage."""
        return len(self._readers.get(storage, ()))

    def n_writers(self, storage: Storage) -> int:
        """Return the number of nodes that write a storage."""
        return len(self._writers.get(storage, ()))

    def place(self, node: Node) -> int:
        """Return a key that increases in execution order."""
        return self._order.place(node)

    def before(self, node: Node) -> Node | None:
        """Return the previous node; None for the first."""
        return self._order.before(node)

    def after(self, node: Node | None) -> Node | None:
        """Return the next node, the first for None; None after the last."""
        return self._order.after(node)

    def is_final(self, storage: Storage) -> bool:
        """Whether a storage is a result of a call."""
        return storage in self._kept

    def is_inner(self, storage: Storage) -> bool:
        """Whether a storage is written once and used only by nodes."""
        is_own = storage.argument is None and storage.memory is None
        return is_own and storage not in self._kept and self.n_writers(storage) == 1

    def is_locked(self, node: Node) -> bool:
        """Whether a node must not run earlier because its result shares memory with an input."""
        locked = self._locked
        return bool(locked) and any(t.storage in locked for t in node.outputs.values())

    def is_written_between(self, storage: Storage, first: Node, last: Node) -> bool:
        """Whether a node between ``first`` and ``last`` (exclusive) writes a storage."""
        users = self._writers.get(storage)
        if users is None:
            return False
        low, high = self.place(first), self.place(last)
        return any(low < self.place(n) < high for n in users)

    def unsteady(self) -> set[Storage]:
        """Return the storages with several writers, and arguments that calls may overwrite."""
        storages = {s for s, n in self._writers.items() if len(n) > 1 or s.argument is not None}
        return storages | {s for s in self._readers if self._locked and s.argument is not None}

    def writer(self, tensor: Tensor) -> Node | None:
        """Return the only writer of an inner tensor, or None."""
        storage = tensor.storage
        return next(iter(self._writers[storage])) if self.is_inner(storage) else None

    def replace(self, replaced: Iterable[Node], node: Node, at: Node) -> None:
        """Replace ``at`` by ``node`` and drop ``replaced``."""
        self.insert((node,), before=at)
        self.drop((*(n for n in replaced if n is not at), at))

    def insert(self, nodes: Sequence[Node], before: Node) -> None:
        """Insert nodes before another."""
        self._order.insert(nodes, before)
        for node in nodes:
            self._note(node)

    def drop(self, nodes: Iterable[Node]) -> None:
        """Drop nodes."""
        for node in nodes:
            self._order.remove(node)
            self._forget(node)

    def redirect(self, old: Storage, new: Storage, offset: int = 0) -> None:
        """Redirect all views of ``old`` to ``new``, at ``offset`` bytes."""
        for node in {**self._readers.get(old, {}), **self._writers.get(old, {})}:
            inputs = _redirected(node.inputs, old, new, offset)
            self.rewire(node, inputs, _redirected(node.outputs, old, new, offset))

    def rewire(
        self,
        node: Node,
        inputs: dict[str, Tensor] | None = None,
        outputs: dict[str, Tensor] | None = None,
    ) -> None:
        """Change the tensors that a node reads and writes."""
        self._forget(node)
        node.inputs = node.inputs if inputs is None else inputs
        node.outputs = node.outputs if outputs is None else outputs
        self._note(node)

    def drop_dead(self) -> None:
        """Drop nodes that no result depends on, except collectives and writes to arguments."""
        for node in reversed(self.nodes):
            is_needed = any(self._is_needed(t.storage, node) for t in node.outputs.values())
            if not (is_needed or starts_early(node)):
                self.drop([node])

    def _is_needed(self, storage: Storage, writer: Node) -> bool:
        """Whether a storage is read after one of its writers."""
        if storage in self._kept or storage.argument is not None:
            return True
        readers = self._readers.get(storage, ())
        if len(self._writers[storage]) == 1 and writer not in readers:
            return bool(readers)
        place = self.place(writer)
        return any(self.place(reader) > place for reader in readers)

    def recorded(self, body: Callable[[], Any]) -> tuple[Any, list[Node]]:
        """Return the result of ``body`` and the nodes that it records."""
        result, steps = self.trace.recorded_apart(body)
        return result, [node_of(s) for s in steps]

    def joined(self, function: Callable[..., Any], *args: Any, key: Any = None) -> Any:
        """Return the result of a function of tensors, reusing previously recorded steps.

        Not differentiable. Functions of one ``key`` record the same.
        """
        with untaped(self.trace):
            return self.trace.joined(key or function, function, args, {}, is_taped=False)

    def steps(self, nodes: Sequence[Node] | None = None) -> Iterator[Step | ArrayStep]:
        """Yield the given nodes, or all, as steps with primitives."""
        for node in self.nodes if nodes is None else nodes:
            if node.function is not None:
                yield ArrayStep(
                    node.function, node.inputs, node.outputs, is_repeated=node.is_repeated
                )
                continue
            if node.pd is not None and node.primitive is None:
                node.primitive = shared_descriptors.shared.primitive(node.pd, node.inserted)
            yield Step(node.primitive, node.inputs, node.outputs, is_repeated=node.is_repeated)


def _redirected(
    tensors: dict[str, Tensor], old: Storage, new: Storage, offset: int
) -> dict[str, Tensor]:
    return {
        name: moved(t, new, t.offset + offset) if t.storage is old else t
        for name, t in tensors.items()
    }


def moved(tensor: Tensor, storage: Storage, offset: int, desc: Any = None) -> Tensor:
    """Return the same view of another storage."""
    strides = tensor.strides if desc is None else None
    desc = tensor.desc if desc is None else desc
    dtype = (
        tensor.dtype if desc.data_type == tensor.desc.data_type else dtypes.NAMES[desc.data_type]
    )
    return Tensor(tensor.trace, storage, desc, dtype, tensor.shape, offset, strides)
