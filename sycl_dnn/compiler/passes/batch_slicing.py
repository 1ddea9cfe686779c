# SPDX-License-Identifier: Apache-2.0
"""Batch slicing: steps that exceed the CPU cache run on parts of the batch in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.post_ops import with_post_ops
from sycl_dnn.compiler.rebuilding import rebuilt
from sycl_dnn.lower.constant_storages import constant_ids
from sycl_dnn.lower.step_graph import Graph, Node, Refusal
from sycl_dnn.onednn import dtypes, shared_descriptors
from sycl_dnn.trace import layout
from sycl_dnn.trace.capabilities import cache_bytes
from sycl_dnn.trace.values import Storage, Tensor

#: Primitives that treat slices along axis 0 independently, and their arguments with this axis.
_ALONG = {
    "convolution_forward": {"src": "src", "dst": "dst"},
    "deconvolution_forward": {"src": "src", "dst": "dst"},
    "pooling_forward": {"src": "src", "dst": "dst"},
    "resampling_forward": {"src": "src", "dst": "dst"},
    "eltwise_forward": {"src": "src", "dst": "dst"},
    "binary": {"src_0": "src0", "src_1": "src1", "dst": "dst"},
}
_POST_OP = "attr_post_op_"
_WEIGHTS = _core.argument_id("weights")


@dataclass
class Cut:
    """A batch split into equal parts; the last one may be smaller.

    ``batch``, ``size``: sizes of the whole batch and of a part; ``inner``: storages that hold only
    one part at a time.
    """

    batch: int
    size: int
    inner: set[Storage]
    #: By storage and part: the replacement of an inner storage.
    _storages: dict[tuple[Storage, int], Storage] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of parts."""
        return -(-self.batch // self.size)

    def size_of(self, number: int) -> int:
        """Return the size of a part."""
        return min(self.size, self.batch - number * self.size)

    def tensor(self, whole: Tensor, number: int) -> Tensor:
        """Return one part of a tensor, in place."""
        size = self.size_of(number)
        desc, storage, offset = part_desc(whole.desc, size), whole.storage, whole.offset
        if storage in self.inner:
            key = (storage, number)
            if key not in self._storages:
                self._storages[key] = Storage(part_desc(storage.desc, size))
            storage = self._storages[key]
        else:
            offset += number * self.size * (whole.desc.get_size() // self.batch)
        shape = (size, *whole.shape[1:])
        return Tensor(whole.trace, storage, desc, whole.dtype, shape, offset)


def part_desc(whole: MemoryDesc, size: int) -> MemoryDesc:
    """Return the descriptor of ``size`` items of a batch."""
    dims, dtype = (size, *whole.dims[1:]), dtypes.NAMES[whole.data_type]
    if not whole.is_plain:
        return layout.any_layout(dims, dtype)
    return layout.strided(dims, dtype, whole.strides)


def sliced_tensors(node: Node) -> dict[str, Tensor]:
    """Return a step's tensors along the batch by argument; empty if it cannot be sliced."""
    names = _ALONG.get(node.row)
    if names is None or set(node.outputs) != {"dst"} or not all(map(_is_even, node.attr.calls)):
        return {}
    batch = node.dst.desc.dims[0]
    tensors = {}
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        if name not in names and not name.startswith(_POST_OP):
            continue
        if tensor.desc.dims[0] != batch:
            if name == "src" or tensor.desc.dims[0] != 1:
                return {}
            continue
        if not _is_outermost(tensor):
            return {}
        tensors[name] = tensor
    return tensors if batch > 1 else {}


def _is_even(call: tuple[str, tuple[Any, ...]]) -> bool:
    """Whether an attribute setting means the same for each part of a batch."""
    name, args = call
    if name in ("set_scales_mask", "set_zero_points_mask"):
        return args[0] == _WEIGHTS or args[1] == 0
    return name in ("set_post_ops", "set_fpmath_mode")


def _is_outermost(tensor: Tensor) -> bool:
    """Whether the parts of a batch are contiguous."""
    desc, stored = tensor.desc, tensor.storage.desc
    return bool(
        desc.is_plain and not tensor.offset and layout.is_dense(desc)
        and desc.strides[0] >= max(desc.strides)
        and stored is not None and stored.is_plain and stored.dims[0] == desc.dims[0]
        and stored.get_size() == desc.get_size()
    )  # fmt: skip


def sliced_node(node: Node, size: int) -> Node | Refusal:
    """Return the equivalent of a step for ``size`` items, or why there is none."""
    along = sliced_tensors(node)
    names = _ALONG[node.row]
    changes: dict[str, Any] = {
        names[n]: part_desc(_primitive_desc(node, names[n], t), size)
        for n, t in along.items()
        if n in names
    }
    for name in ("weights", "bias"):
        if name in node.inputs:
            changes[name] = node.inputs[name].desc
    layouts = {n: t.desc for n, t in (node.inputs | node.outputs).items()}
    layouts |= {n: part_desc(t.desc, size) for n, t in along.items()}
    pd = rebuilt(node, with_post_ops(node.attr, _with_parts(node, along, size)), layouts, **changes)
    return pd if isinstance(pd, Refusal) else node.with_pd(pd)


def _primitive_desc(node: Node, parameter: str, tensor: Tensor) -> MemoryDesc:
    """Return the primitive's descriptor of a tensor; a fused convolution has its own result."""
    desc = node.params[parameter]
    return desc if desc.dims != tensor.desc.dims else tensor.desc


def _with_parts(node: Node, along: dict[str, Tensor], size: int) -> Any:
    post_ops = _core.PostOps()
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if f"{_POST_OP}{i}_src_1" in along:
            args = (args[0], part_desc(args[1], size), *args[2:])
        getattr(post_ops, name)(*args)
    return post_ops


def part_of(node: Node, primitive: Any, cut: Cut, number: int) -> Node:
    """Return the step for one part."""
    along = sliced_tensors(node)

    def parts(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {n: cut.tensor(t, number) if n in along else t for n, t in tensors.items()}

    piece = node.with_pd(node.pd, inputs=parts(node.inputs), outputs=parts(node.outputs))
    piece.primitive = primitive
    piece.part = (number, cut.count)
    return piece


# --- The pass

#: Maximum number of small steps between two large ones.
_MAX_GAP = 4
#: Multiplications per value read or written above which a step is not memory-bound.
_MAX_WORK = 64
#: Steps whose values exceed the first fraction of the cache are sliced to fit the second.
_SLICED_FRACTION, _PART_FRACTION = 1 / 2, 1 / 4


def slice_batches(graph: Graph) -> None:
    """Replace sequences of steps over a batch by the same steps over its parts in turn.

    The output of a step is then still in the cache when the next one reads it.
    """
    engine = graph.trace.engine
    if engine.kind is _core.engine_kind.cpu:
        cache = cache_bytes(engine.sycl_device)
        if not any(_is_large(n, cache) and _is_bound_by_memory(n, cache) for n in graph.nodes):
            return
        for run in list(_Runs(graph, cache)):
            _slice_run(graph, run, cache)


def _batch_tensors(node: Node) -> list[Tensor]:
    """Return the tensors of a step along the batch, each storage once."""
    return list({id(t.storage): t for t in sliced_tensors(node).values()}.values())


def _is_large(node: Node, cache: int) -> bool:
    """Whether the inputs and outputs of a step exceed the cache."""
    tensors = (*node.inputs.values(), *node.outputs.values())
    return sum(t.desc.get_size() for t in tensors) > cache * _SLICED_FRACTION


def _n_bytes(node: Node) -> int:
    return sum(t.desc.get_size() for t in _batch_tensors(node))


def _is_bound_by_memory(node: Node, cache: int) -> bool:
    if _n_bytes(node) <= cache * _SLICED_FRACTION:
        return False
    if "weights" not in node.inputs:
        return True
    pixels = math.prod(node.dst.desc.dims) // node.dst.desc.dims[1]
    work = math.prod(node.inputs["weights"].desc.dims) * pixels
    return work <= _MAX_WORK * sum(math.prod(t.desc.dims) for t in _batch_tensors(node))


@dataclass
class _Runs:
    """Sequences of sliceable steps that begin and end with large ones."""

    graph: Graph
    cache: int

    def __iter__(self) -> Iterator[list[Node]]:
        constants = constant_ids(self.graph)
        run: list[Node] = []
        for node in self.graph.nodes:
            if all(id(t.storage) in constants for t in node.outputs.values()):
                continue
            # A result that overwrites an input requires that all of it has been read.
            batch = None if self.graph.is_locked(node) else _batch_of(node)
            if run and (batch is None or batch != _batch_of(run[0])):
                yield from self._heavy(run)
                run = []
            if batch is not None:
                run.append(node)
        yield from self._heavy(run)

    def _heavy(self, run: list[Node]) -> Iterator[list[Node]]:
        large: list[int] = []
        for i, node in enumerate(run):
            if not _is_bound_by_memory(node, self.cache):
                continue
            if large and i - large[-1] > _MAX_GAP + 1:
                yield from self._worth(run, large)
                large = []
            large.append(i)
        yield from self._worth(run, large)

    @staticmethod
    def _worth(run: list[Node], large: list[int]) -> Iterator[list[Node]]:
        """Yield subsequences from the first to the last large step, with neighbors."""
        if len(large) > 1:
            yield run[max(large[0] - 1, 0) : large[-1] + 2]


def _batch_of(node: Node) -> int | None:
    """Return the batch size of a sliceable step; None for others."""
    tensors = sliced_tensors(node)
    return next(iter(tensors.values())).desc.dims[0] if tensors else None


def _slice_run(graph: Graph, run: list[Node], cache: int) -> None:
    batch = _batch_of(run[0]) or 1
    item_bytes = max(map(_n_bytes, run)) // batch
    cut = Cut(
        batch,
        size_of_parts(batch, int(cache * _PART_FRACTION) // max(item_bytes, 1)),
        _inner_storages(graph, run),
    )
    pieces: dict[int, list[tuple[Node, Any]]] = {}
    for size in dict.fromkeys((cut.size, cut.size_of(cut.count - 1))):
        pieces[size] = []
        for node in run:
            piece = sliced_node(node, size)
            if isinstance(piece, Refusal):
                node.refused.append(f"parts of the batch in turn: {piece}")
                return
            pieces[size].append((piece, shared_descriptors.shared.primitive(piece.pd)))
    parts = [
        part_of(*piece, cut, number)
        for number in range(cut.count)
        for piece in pieces[cut.size_of(number)]
    ]
    graph.insert(parts, before=run[-1])
    graph.drop(run)


def size_of_parts(batch: int, limit: int) -> int:
    """Return the part size for a batch, at most ``limit``.

    Parts are equal unless that makes them much smaller; else the last one is shorter.
    """
    limit = max(1, min(limit, batch - 1))
    even = next(n for n in range(limit, 0, -1) if batch % n == 0)
    return even if 2 * even > limit else -(-batch // -(-batch // limit))


def _inner_storages(graph: Graph, run: list[Node]) -> set[Storage]:
    """Return the storages that only steps of the sequence use."""
    members = set(run)
    storages = {t.storage for n in run for t in sliced_tensors(n).values()}
    return {
        s for s in storages
        if s.argument is None and s.memory is None and not graph.is_final(s)
        and all(n in members for n in (*graph.readers(s), *graph.writers(s)))
    }  # fmt: skip
