# SPDX-License-Identifier: Apache-2.0
"""Serialization of graphs after all passes: primitives by their parameters, kernels by source."""

from __future__ import annotations

import enum
import functools
import io
import pickle
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import _core, errors, tree
from sycl_dnn.compiler import kept_arrays
from sycl_dnn.compiler.kept_arrays import NotKept
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.kernels import launching
from sycl_dnn.kernels.building import Module
from sycl_dnn.lower.step_graph import Graph, Node
from sycl_dnn.onednn import shared_descriptors
from sycl_dnn.onednn.memory import Memory
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


def _flat(n: int) -> Any:
    """Return the form of a tuple of arrays."""
    array = nested_arguments.ARRAY
    return nested_arguments.Form(tree.flatten((0,) * n)[1], [array] * n)


def _made(kind: str, *args: Any) -> Any:
    """Stand in a pickle for what ``_Reader.make_KIND`` returns; the only name in it."""


class _Writer(pickle.Pickler):
    """Pickles a graph and the objects of oneDNN in it, each once."""

    def __init__(self, file: Any, nodes: Sequence[Node]) -> None:
        super().__init__(file, protocol=5)
        #: Equal layouts, and by opaque layout the primitive that has it, with its argument.
        self._descs: dict[Any, Any] = {}
        self._sources: dict[Any, tuple[Any, str]] = {}
        #: By id of a descriptor: its layouts that are known as bytes.
        self._layouts: dict[int, dict[str, Any]] = {}
        for node in nodes:
            if node.pd is not None:
                self._note(node)

    def _note(self, node: Node) -> None:
        """Note the layouts of a primitive."""
        pd = node.pd
        again, taken = (
            shared_descriptors.shared.again(pd),
            set(_descs_in([pd.parameters, node.attr])),
        )
        if again.impl_info != pd.impl_info:
            raise NotKept
        for name in (*node.inputs, *node.outputs):
            desc = pd.desc_of(name)
            if again is not pd and again.desc_of(name) != desc:
                raise NotKept
            if _blob_of(desc) is not None:
                self._layouts.setdefault(id(pd), {})[name] = desc
            elif desc not in taken:
                self._sources.setdefault(desc, (pd, name))

    def reducer_override(self, value: Any) -> Any:
        """Return the reduced form of a part of a graph."""
        kind = type(value)
        for of_kind, reduce in _REDUCED.items():
            if issubclass(kind, of_kind):
                return _made, reduce(self, value)
        return NotImplemented if value is _made else self._refused()

    def _refused(self) -> Any:
        raise NotKept

    def _desc(self, desc: Any) -> tuple[Any, ...]:
        first = self._descs.setdefault(desc, desc)
        if first is not desc:
            return "same", first
        blob = _blob_of(desc)
        if blob is not None:
            return "desc", blob
        return ("layout", *self._sources[desc]) if desc in self._sources else self._refused()

    def _pd(self, pd: Any) -> tuple[Any, ...]:
        attr = shared_descriptors.shared.attr(pd)
        layouts = self._layouts.get(id(pd), {})
        words = shared_descriptors.shared.words(pd)
        return "pd", pd.name, dict(pd.parameters), attr, words, pd.impl_info, layouts

    def _calls(self, value: Any) -> tuple[Any, ...]:
        return "calls", type(value).__name__, value.__reduce_ex__(5)[1][1]

    def _kernel(self, kernel: Any) -> tuple[Any, ...]:
        recipe = launching.recipe_of(kernel)
        return self._refused() if recipe is None else ("kernel", recipe)

    def _member(self, value: Any) -> tuple[Any, ...]:
        kind = type(value)
        is_ours = getattr(_core, kind.__name__, None) is kind
        return ("member", kind.__name__, int(value.value)) if is_ours else self._refused()

    def _storage(self, s: Storage) -> tuple[Any, ...]:
        facts = s.argument, s.constant, s.scalar, s.repeat
        return "storage", s.desc, kept_arrays.content_of(s.memory), facts

    def _tensor(self, t: Tensor) -> tuple[Any, ...]:
        return "tensor", t.storage, t.desc, str(t.dtype), t.shape, t.offset, t.strides

    def _node(self, node: Node) -> tuple[Any, ...]:
        is_data = node.pd is not None or node.primitive is None or is_kernel(node.primitive)
        if not is_data or node.function is not None:
            self._refused()
        kernel = node.primitive if node.pd is None else None
        facts = {n: getattr(node, n) for n in _FACTS}
        return "node", node.pd, kernel, node.inputs, node.outputs, facts


#: Fields of a node that are kept besides its work and tensors.
_FACTS = ("fused", "refused", "times", "is_rounded", "part", "inserted", "is_repeated")
#: By class, the first that fits: the arguments of ``_made`` for an object.
_REDUCED: dict[Any, Any] = {
    Node: _Writer._node, Tensor: _Writer._tensor, Storage: _Writer._storage,
    _core.MemoryDesc: _Writer._desc, _core.PrimitiveDesc: _Writer._pd,
    _core.Kernel: _Writer._kernel, Module: lambda writer, m: ("module", m.name, m.content),
    _core.Engine: lambda writer, engine: ("engine",),
    (_core.PrimitiveAttr, _core.PostOps): _Writer._calls, enum.Enum: _Writer._member,
    np.generic: lambda writer, value: ("same", value.item()),
    int: lambda writer, value: ("same", int(value)),  # of a subclass
    float: lambda writer, value: ("same", float(value)),
}  # fmt: skip


@functools.lru_cache(4096)
def _blob_of(desc: Any) -> bytes | None:
    """Return a layout as bytes; None if they do not describe it completely."""
    blob = bytes(desc.blob)
    try:
        return blob if _core.MemoryDesc.from_blob(blob) == desc else None
    except errors.InvalidArguments:
        return None


def _descs_in(value: Any) -> Iterator[Any]:
    """Yield the layouts among parameters and attributes."""
    if isinstance(value, _core.MemoryDesc):
        yield value
    elif isinstance(value, (_core.PrimitiveAttr, _core.PostOps)):
        yield from _descs_in([arguments for _, arguments in value.calls])
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _descs_in(item)


class _Reader(pickle.Unpickler):
    """Unpickles a graph; never imports a name from a file."""

    def __init__(self, content: bytes, trace: CompileTrace) -> None:
        super().__init__(io.BytesIO(content))
        self._trace, self._engine = trace, trace.engine
        names = [name for name in dir(self) if name.startswith("make_")]
        self._makers = {name.removeprefix("make_"): getattr(self, name) for name in names}

    def find_class(self, module: str, name: str) -> Any:
        """Return the function that makes a kind of part of a graph.

        Raises UnpicklingError if it is another name.
        """
        if (module, name) == (__name__, _made.__name__):
            return lambda kind, *args: self._makers[kind](*args)
        raise pickle.UnpicklingError(f"{module}.{name} is not part of a graph")

    def make_engine(self) -> Any:
        """Return the engine of the program."""
        return self._engine

    def make_same(self, value: Any) -> Any:
        """Return a value that occurred earlier, or a plain number."""
        return value

    def make_desc(self, blob: bytes) -> Any:
        """Return a layout."""
        return _core.MemoryDesc.from_blob(blob)

    def make_layout(self, pd: Any, name: str) -> Any:
        """Return a layout of oneDNN's own."""
        return pd.desc_of(name)

    def make_member(self, kind: str, value: int) -> Any:
        """Return a member of one of oneDNN's enumerations."""
        return getattr(_core, kind)(value)

    def make_calls(self, kind: str, calls: Any) -> Any:
        """Return an attribute or post-ops, set by the same calls."""
        replayed = getattr(_core, kind)()
        for name, arguments in calls:
            getattr(replayed, name)(*arguments)
        return replayed

    def make_pd(
        self, row: str, params: Any, attr: Any, words: str | None, impl_info: str,
        layouts: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Return a descriptor; raise NotKept if oneDNN would now select something else."""
        pd = shared_descriptors.shared.described(self._engine, row, params, attr, words)
        if pd.impl_info != impl_info or any(pd.desc_of(n) != d for n, d in layouts.items()):
            raise NotKept
        return pd

    def make_module(self, name: str, content: bytes) -> Module:
        """Return a module; its name leads to its binary."""
        return Module(name, lambda: content)

    def make_kernel(self, recipe: Any) -> Any:
        """Return a kernel."""
        return launching.rebuilt(self._trace, recipe)

    def make_storage(self, desc: Any, content: Any, facts: tuple[Any, ...]) -> Storage:
        """Return a storage; ``content`` is that of its memory."""
        argument, constant, scalar, repeat = facts
        storage = Storage(desc, argument=argument, scalar=scalar)
        if content is not None:
            array = kept_arrays.array_of(content, self._engine.sycl_queue)
            storage.memory = Memory(desc, self._engine, array)
        storage.constant, storage.repeat = constant, repeat
        return storage

    def make_tensor(self, storage: Storage, *rest: Any) -> Tensor:
        """Return a tensor."""
        return Tensor(self._trace, storage, *rest)

    def make_node(
        self, pd: Any, kernel: Any, inputs: Any, outputs: Any, facts: dict[str, Any]
    ) -> Node:
        """Return a node."""
        params = {} if pd is None else pd.parameters
        return Node(pd, inputs, outputs, params, None, kernel, **facts)


def written(trace: CompileTrace, rewritten: Rewritten, weights: kept_arrays.Weights) -> bytes:
    """Serialize a graph.

    Raises NotKept if a part of it cannot be stored as data.
    """
    graph, form, n_results, *_ = rewritten
    is_flat = form.is_single or form.structure == _flat(n_results).structure
    if trace.written or graph._locked or not is_flat:
        raise NotKept
    captured = [(number, weights.reference(value), t) for number, value, t in trace.captured]
    file, nodes = io.BytesIO(), list(graph.nodes)
    _Writer(file, nodes).dump(
        (trace.arguments, captured, graph.finals, nodes, form.is_single, rewritten[2:])
    )
    return zlib.compress(file.getvalue(), 1)


def read(content: bytes, trace: CompileTrace, leaves: Sequence[Any], queue: Any) -> Rewritten:
    """Deserialize a graph over a new trace and the same leaves.

    Raises NotKept or another error if the bytes are damaged, or oneDNN would select other
    primitives now.
    """
    arguments, captured, finals, nodes, is_single, counts = _Reader(
        zlib.decompress(content), trace
    ).load()
    trace.queue, trace.has_queue = queue, True
    trace.arguments = arguments

    def array(reference: Any) -> Any:
        if isinstance(reference, int):
            return leaves[reference]
        return kept_arrays.array_of(reference, queue)

    trace.captured = [(n, array(reference), tensor) for n, reference, tensor in captured]
    form = nested_arguments.Form(tree.flatten(0)[1], [nested_arguments.ARRAY])
    graph = Graph(trace, finals, nodes=nodes)
    return Rewritten(graph, form if is_single else _flat(counts[0]), *counts)
