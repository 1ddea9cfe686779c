# SPDX-License-Identifier: Apache-2.0
"""One step for a part of the batch: its descriptor, and where each part lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sycl_dnn import _core
from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.attaching import with_post_ops
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.rebuilding import rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.onednn import dtypes

#: Rows that treat each part of axis 0 by itself, and their arguments that have this axis.
_ALONG = {
    "convolution_forward": {"src": "src", "dst": "dst"},
    "deconvolution_forward": {"src": "src", "dst": "dst"},
    "pooling_forward": {"src": "src", "dst": "dst"},
    "resampling_forward": {"src": "src", "dst": "dst"},
    "eltwise_forward": {"src": "src", "dst": "dst"},
    "binary": {"src_0": "src0", "src_1": "src1", "dst": "dst"},
}
_POST_OP = "attr_post_op_"
#: Operands of a convolution inside another: none lies along the batch.
_DEPTHWISE = ("attr_post_op_dw_weights", "attr_post_op_dw_bias")
_WEIGHTS = _core.argument_id("weights")


@dataclass
class Cut:
    """A batch cut into parts of one size; the last one may be shorter.

    Attributes
    ----------
    batch, size : int
        Of the whole and of a part.
    inner : set of Storage
        Those that hold one part at a time.
    """

    batch: int
    size: int
    inner: set[Storage]
    #: By storage and part: what stands for an inner storage.
    _storages: dict[tuple[Storage, int], Storage] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of parts."""
        return -(-self.batch // self.size)

    def size_of(self, number: int) -> int:
        """Return the size of a part."""
        return min(self.size, self.batch - number * self.size)

    def tensor(self, whole: Tensor, number: int) -> Tensor:
        """Return one part of a tensor, where it lies."""
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
    """Return what a step reads and writes along the batch by argument; nothing if it has none."""
    names = _ALONG.get(node.row)
    if names is None or set(node.outputs) != {"dst"} or not all(map(_is_even, node.attr.calls)):
        return {}
    batch = node.dst.desc.dims[0]
    found = {}
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        if name not in names and not name.startswith(_POST_OP) or name in _DEPTHWISE:
            continue
        if tensor.desc.dims[0] != batch:
            if name == "src" or tensor.desc.dims[0] != 1:
                return {}
            continue
        if not _is_outermost(tensor):
            return {}
        found[name] = tensor
    return found if batch > 1 else {}


def _is_even(call: tuple[str, tuple[Any, ...]]) -> bool:
    """Whether a setting of an attribute means the same for each part of a batch."""
    name, args = call
    if name in ("set_scales_mask", "set_zero_points_mask"):
        return args[0] == _WEIGHTS or args[1] == 0
    return name in ("set_post_ops", "set_fpmath_mode")


def _is_outermost(tensor: Tensor) -> bool:
    """Whether the parts of a batch lie one after the other, without gaps."""
    desc, whole = tensor.desc, tensor.storage.desc
    return bool(
        desc.is_plain and not tensor.offset and layout.is_dense(desc)
        and desc.strides[0] >= max(desc.strides)
        and whole is not None and whole.is_plain and whole.dims[0] == desc.dims[0]
        and whole.get_size() == desc.get_size()
    )  # fmt: skip


def sliced_node(node: Node, size: int) -> Node | Refusal:
    """Return a step like another for ``size`` items of the batch, or why there is none."""
    along = sliced_tensors(node)
    names = _ALONG[node.row]
    changes: dict[str, Any] = {
        names[n]: part_desc(_own(node, names[n], t), size) for n, t in along.items() if n in names
    }
    for name in ("weights", "bias"):
        if name in node.inputs:
            changes[name] = node.inputs[name].desc
    post_ops = _with_parts(node, along, size)
    engine = node.dst.trace.engine
    pd = rebuilt(engine, node, with_post_ops(node.attr, post_ops), **changes)
    if isinstance(pd, Refusal):
        return pd
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        wanted = pd.desc_of(name)
        if wanted and wanted != (part_desc(tensor.desc, size) if name in along else tensor.desc):
            return Refusal(f"{node.row} would want {name} in another layout")
    return node.with_pd(pd)


def _own(node: Node, parameter: str, tensor: Tensor) -> MemoryDesc:
    """Return what describes a tensor to the primitive: a convolution inside has its own result."""
    given = node.params[parameter]
    return given if given.dims != tensor.desc.dims else tensor.desc


def _with_parts(node: Node, along: dict[str, Tensor], size: int) -> Any:
    post_ops = _core.PostOps()
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if f"{_POST_OP}{i}_src_1" in along:
            args = (args[0], part_desc(args[1], size), *args[2:])
        getattr(post_ops, name)(*args)
    return post_ops


def part_of(node: Node, primitive: Any, cut: Cut, number: int) -> Node:
    """Return the step of one part."""
    along = sliced_tensors(node)

    def parts(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {n: cut.tensor(t, number) if n in along else t for n, t in tensors.items()}

    made = node.with_pd(node.pd, inputs=parts(node.inputs), outputs=parts(node.outputs))
    made.primitive = primitive
    made.part = (number, cut.count)
    return made
