# SPDX-License-Identifier: Apache-2.0
"""Serialization of graphs after all passes: primitives by their parameters, kernels by source."""

from __future__ import annotations

import enum
import functools
import io
import pickle
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import _core, errors, tree
from sycl_dnn.compiler import kept_arrays
from sycl_dnn.compiler.kept_arrays import NotKept
from sycl_dnn.compiler.step_graph import Graph, Node
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.kernels import launching
from sycl_dnn.onednn.memory import Memory
from sycl_dnn.program import shared_descriptors
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Storage, Tensor


class Rewritten(NamedTuple):
    """A function after all passes."""

    graph: Graph
    #: Structure and number of the results, and number of arrays passed by a call.
    form: Any
    n_results: int
    n_given: int
    #: Number of steps before the passes.
    n_recorded: int


class _Written:
    """A graph as numbered storages and tensors, and nodes over them."""

    def __init__(
        self, trace: CompileTrace, rewritten: Rewritten, weights: kept_arrays.Weights
    ) -> None:
        self._storages: dict[int, int] = {}
        self._tensors: dict[int, int] = {}
        #: By identity: a descriptor's number, what ``_Unpacked`` makes in place of it, and the
        #: layouts that are arguments of it.
        self._pds: dict[int, tuple[int, Any, set[int]]] = {}
        self._held: list[Any] = []
        #: Layouts in order, and by number the primitive that can say it, with its argument.
        self._descs: dict[Any, int] = {}
        self._sources: dict[int, tuple[int, str]] = {}
        #: Of descriptors: the arguments, and the implementation and layouts that follow from them.
        self._primitives: list[tuple[bytes, str, dict[str, int]]] = []
        self.storages: list[Any] = []
        self.tensors: list[Any] = []
        if trace.written or trace.tail or rewritten.graph._locked:
            raise NotKept
        self.arguments = [self._storage(s) for s in trace.arguments]
        self.captured = [
            (number, weights.reference(value), self._tensor(t))
            for number, value, t in trace.captured
        ]
        self.finals = [self._tensor(t) for t in rewritten.graph.finals]
        self.nodes = [self._node(node) for node in rewritten.graph.nodes]
        if (
            not rewritten.form.is_single
            and rewritten.form.structure != _flat(rewritten.n_results).structure
        ):
            raise NotKept

    def content(self, rewritten: Rewritten) -> bytes:
        """Return the graph as bytes."""
        counts = rewritten.n_results, rewritten.n_given, rewritten.n_recorded
        data, _ = self._dumped((
            self.storages, self.tensors, self.arguments, self.captured, self.finals, self.nodes,
            rewritten.form.is_single, counts,
        ))  # fmt: skip
        descs = [self._source(desc, number) for desc, number in self._descs.items()]
        return zlib.compress(pickle.dumps((descs, self._primitives, data), protocol=5), 1)

    def _dumped(self, value: Any) -> tuple[bytes, set[int]]:
        """Serialize data; return the bytes and the numbers of the layouts that it refers to."""
        file = io.BytesIO()
        writer = _Writer(file, self._descs)
        writer.dump(value)
        return file.getvalue(), writer.used

    def _source(self, desc: Any, number: int) -> bytes | tuple[int, str]:
        """Return a layout as bytes, or the primitive that defines an opaque one."""
        if desc is None:
            return b""
        blob = _blob_of(desc)
        if blob is not None:
            return blob
        if number not in self._sources:
            raise NotKept
        return self._sources[number]

    def _desc(self, desc: Any) -> int:
        return self._descs.setdefault(desc, len(self._descs))

    def _described(self, pd: Any) -> tuple[int, Any, set[int]]:
        description = self._pds.get(id(pd))
        if description is None:
            self._held.append(pd)
            again = shared_descriptors.shared.again(pd)
            if again.impl_info != pd.impl_info:
                raise NotKept
            params, attr = dict(pd.parameters), shared_descriptors.shared.attr(pd)
            content, used = self._dumped((pd.name, params, attr))
            description = self._pds[id(pd)] = len(self._primitives), again, used
            self._primitives.append((content, pd.impl_info, {}))
        return description

    def _primitive(self, node: Node) -> int:
        number, again, used = self._described(node.pd)
        layouts = self._primitives[number][2]
        for name in (*node.inputs, *node.outputs):
            if name in layouts:
                continue
            desc = node.pd.desc_of(name)
            if again is not node.pd and again.desc_of(name) != desc:
                raise NotKept
            layouts[name] = self._desc(desc)
            if layouts[name] not in used:
                self._sources.setdefault(layouts[name], (number, name))
        return number

    def _storage(self, storage: Storage) -> int:
        number = self._storages.get(id(storage))
        if number is None:
            number = self._storages[id(storage)] = len(self.storages)
            s = storage
            self._held.append(s)
            facts = (s.argument, s.constant, s.scalar, s.repeat, s.is_shared)
            self.storages.append((self._desc(s.desc), kept_arrays.content_of(s.memory), facts))
        return number

    def _tensor(self, tensor: Tensor) -> int:
        number = self._tensors.get(id(tensor))
        if number is None:
            t = tensor
            storage = self._storage(t.storage)
            number = self._tensors[id(t)] = len(self.tensors)
            self._held.append(t)
            desc = self._desc(t.desc)
            self.tensors.append((storage, desc, str(t.dtype), t.shape, t.offset, t.strides))
        return number

    def _named(self, tensors: dict[str, Tensor]) -> tuple[tuple[str, int], ...]:
        return tuple((name, self._tensor(t)) for name, t in tensors.items())

    def _node(self, node: Node) -> tuple[Any, ...]:
        inputs, outputs = self._named(node.inputs), self._named(node.outputs)
        report = node.fused, node.refused, node.times
        traits = node.is_rounded, node.part, node.inserted, node.is_repeated
        return (self._work(node), inputs, outputs, report, traits)

    def _work(self, node: Node) -> Any:
        if node.function is not None:
            raise NotKept
        if node.pd is not None:
            return ("primitive", self._primitive(node))
        if node.primitive is None:
            return None
        recipe = launching.recipe_of(node.primitive) if is_kernel(node.primitive) else None
        if recipe is None:
            raise NotKept
        return ("kernel", recipe)


@functools.lru_cache(4096)
def _blob_of(desc: Any) -> bytes | None:
    """Return a layout as bytes; None if they do not describe it completely."""
    blob = bytes(desc.blob)
    try:
        return blob if _core.MemoryDesc.from_blob(blob) == desc else None
    except errors.InvalidArguments:
        return None


def _flat(n: int) -> Any:
    """Return the form of a tuple of arrays."""
    array = nested_arguments.ARRAY
    return nested_arguments.Form(tree.flatten((0,) * n)[1], [array] * n)


def _engine() -> Any:
    """Represent the engine of the program in a pickle."""


def _desc(number: int) -> Any:
    """Represent a layout in a pickle."""


def _replayed(kind: str, calls: Any) -> Any:
    """Return an attribute or post-ops, set by the same calls."""
    replayed = getattr(_core, kind)()
    for name, arguments in calls:
        getattr(replayed, name)(*arguments)
    return replayed


def _plain(value: Any) -> Any:
    """Return a plain number in place of a NumPy scalar or another subclass."""
    return value


def _member(kind: str, value: int) -> Any:
    """Return a member of one of oneDNN's enumerations."""
    return getattr(_core, kind)(value)


#: The functions that a pickle may refer to.
_STANDING = (_engine, _desc, _replayed, _member, _plain)


class _Writer(pickle.Pickler):
    """Pickles data, with layouts and enumeration members as numbers."""

    def __init__(self, file: Any, descs: dict[Any, int]) -> None:
        super().__init__(file, protocol=5)
        self._descs = descs
        self.used: set[int] = set()

    def reducer_override(self, value: Any) -> Any:
        """Return the reduced form of an object of oneDNN."""
        if isinstance(value, _core.MemoryDesc):
            number = self._descs.setdefault(value, len(self._descs))
            self.used.add(number)
            return _desc, (number,)
        if isinstance(value, _core.Engine):
            return _engine, ()
        kind = type(value)
        if isinstance(value, (_core.PrimitiveAttr, _core.PostOps)):
            return _replayed, (kind.__name__, value.__reduce_ex__(5)[1][1])
        if isinstance(value, enum.Enum) and getattr(_core, kind.__name__, None) is kind:
            return _member, (kind.__name__, int(value.value))
        if isinstance(value, np.generic):
            return _plain, (value.item(),)
        if isinstance(value, (int, float)):  # of a subclass
            return _plain, (int(value) if isinstance(value, int) else float(value),)
        if value in _STANDING:
            return NotImplemented
        raise NotKept


class _Reader(pickle.Unpickler):
    """Unpickles data and objects of oneDNN; never imports a name from a file."""

    def __init__(self, content: bytes, special: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._special = special

    def find_class(self, module: str, name: str) -> Any:
        """Return the function of this module that a name refers to.

        Raises
        ------
        UnpicklingError
            Another name.
        """
        if module == __name__ and name in self._special:
            return self._special[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not part of a graph")


class _Unpacked:
    """Layouts and descriptors of a kept graph, each created when first needed."""

    def __init__(self, content: bytes, engine: Any) -> None:
        self._sources, self._contents, data = _Reader(zlib.decompress(content), {}).load()
        self._engine = engine
        self._descs: list[Any] = [None] * len(self._sources)
        self._pds: list[Any] = [None] * len(self._contents)
        self._special = {
            "_engine": lambda: engine, "_desc": self.desc, "_member": _member,
            "_replayed": _replayed, "_plain": _plain,
        }  # fmt: skip
        self.data = self._loaded(data)

    def _loaded(self, content: bytes) -> Any:
        return _Reader(content, self._special).load()

    def desc(self, number: int) -> Any:
        """Return a layout."""
        layout = self._descs[number]
        source = self._sources[number]
        if layout is None and source:
            if isinstance(source, bytes):
                layout = _core.MemoryDesc.from_blob(source)
            else:
                layout = self.primitive(source[0]).desc_of(source[1])
            self._descs[number] = layout
        return layout

    def primitive(self, number: int) -> Any:
        """Return a descriptor."""
        descriptor = self._pds[number]
        if descriptor is None:
            content, impl_info, layouts = self._contents[number]
            row, params, attr = self._loaded(content)
            descriptor = shared_descriptors.shared.described(self._engine, row, params, attr)
            self._pds[number] = descriptor
            expected = {name: self.desc(desc) for name, desc in layouts.items()}
            if descriptor.impl_info != impl_info or any(
                descriptor.desc_of(n) != expected[n] for n in expected
            ):
                raise NotKept
        return descriptor


def _read(unpacked: _Unpacked, trace: CompileTrace, leaves: Sequence[Any], queue: Any) -> Rewritten:
    storage_rows, tensor_rows, arguments, captured, finals, nodes, is_single, counts = unpacked.data
    trace.queue, trace.has_queue = queue, True
    storages = [_storage(trace, unpacked.desc(desc), *rest) for desc, *rest in storage_rows]
    tensors = [Tensor(trace, storages[s], unpacked.desc(d), *rest) for s, d, *rest in tensor_rows]
    trace.arguments = [storages[i] for i in arguments]

    def array(reference: Any) -> Any:
        if isinstance(reference, int):
            return leaves[reference]
        return kept_arrays.array_of(reference, queue)

    trace.captured = [(n, array(reference), tensors[t]) for n, reference, t in captured]
    graph_nodes = [_node(trace, unpacked, tensors.__getitem__, *facts) for facts in nodes]
    graph = Graph(trace, [tensors[t] for t in finals], nodes=graph_nodes)
    form = nested_arguments.Form(tree.flatten(0)[1], [nested_arguments.ARRAY])
    return Rewritten(graph, form if is_single else _flat(counts[0]), *counts)


def _storage(trace: CompileTrace, desc: Any, content: Any, facts: tuple[Any, ...]) -> Storage:
    argument, constant, scalar, repeat, is_shared = facts
    storage = Storage(desc, argument=argument, scalar=scalar)
    if content is not None:
        array = kept_arrays.array_of(content, trace.engine.sycl_queue)
        storage.memory = Memory(desc, trace.engine, array)
    storage.constant, storage.repeat, storage.is_shared = constant, repeat, is_shared
    return storage


def _node(
    trace: CompileTrace, unpacked: _Unpacked, tensor: Callable[[int], Tensor], work: Any,
    reads: Any, writes: Any, report: Any, traits: Any,
) -> Node:  # fmt: skip
    inputs, outputs = ({n: tensor(t) for n, t in group} for group in (reads, writes))
    node = Node(None, inputs, outputs)
    node.fused, node.refused, node.times = report
    node.is_rounded, node.part, node.inserted, node.is_repeated = traits
    if work is not None and work[0] == "kernel":
        node.primitive = launching.rebuilt(trace, work[1])
    elif work is not None:
        node.pd = unpacked.primitive(work[1])
        node.params = node.pd.parameters
    return node


def written(trace: CompileTrace, rewritten: Rewritten, weights: kept_arrays.Weights) -> bytes:
    """Serialize a graph.

    Raises
    ------
    NotKept
        A part of it cannot be stored as data.
    """
    return _Written(trace, rewritten, weights).content(rewritten)


def read(content: bytes, trace: CompileTrace, leaves: Sequence[Any], queue: Any) -> Rewritten:
    """Deserialize a graph over a new trace and the same leaves.

    Raises
    ------
    NotKept, DnnlError, UnpicklingError, zlib.error, EOFError
        The bytes are damaged, or oneDNN would select other primitives now.
    """
    return _read(_Unpacked(content, trace.engine), trace, leaves, queue)
