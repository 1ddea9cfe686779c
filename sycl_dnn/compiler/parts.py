# SPDX-License-Identifier: Apache-2.0
"""Values that become parts of wider ones: views carried over, their readers made anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.frames import in_order
from sycl_dnn.compiler.graph import moved
from sycl_dnn.compiler.node import Node
from sycl_dnn.compiler.rebuilding import rebuilt
from sycl_dnn.compiler.refusal import Refusal
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.onednn import dtypes

#: Parameters of descriptors by the execution arguments that they describe, where names differ.
_PARAMETERS = {"src_0": "src0", "src_1": "src1", "src_2": "src2"}


@dataclass(frozen=True)
class Place:
    """Where the elements of a dense storage lie in a wider one.

    Attributes
    ----------
    storage : Storage
        The wider one.
    axes : tuple of (size, stride, stride in the wider one)
        Of the storage that moved, outermost first.
    offset : int
        Of its first element, in elements.
    """

    storage: Storage
    axes: tuple[tuple[int, int, int], ...]
    offset: int

    def of(self, tensor: Tensor) -> Tensor | None:
        """Return the same look at the elements where they lie now; None if there is none."""
        desc = tensor.desc
        if desc is None or not desc.is_plain:
            return None
        size = dtypes.bits_of(tensor.dtype) // 8
        start = tensor.offset // size
        ends = [start // s % n for n, s, _ in self.axes]
        strides = []
        for n, stride in zip(desc.dims, desc.strides, strict=True):
            at = next((i for i, (_, s, _) in enumerate(self.axes) if stride >= s), None)
            if at is None or (n > 1 and stride % self.axes[at][1]):
                return None
            step = stride // self.axes[at][1]
            ends[at] += (n - 1) * step
            strides.append(max(step * self.axes[at][2], 1))
        if any(end >= n for end, (n, _, _) in zip(ends, self.axes, strict=True)):
            return None
        shift = sum(start // s % n * t for n, s, t in self.axes)
        made = layout.strided(desc.dims, dtypes.NAMES[desc.data_type], strides)
        return moved(tensor, self.storage, (self.offset + shift) * size, made)


def place(old: MemoryDesc, storage: Storage, strides: Sequence[int], offset: int) -> Place:
    """Return the place of a dense value whose axes have these strides in a wider storage."""
    axes: list[tuple[int, int, int]] = []
    for axis in in_order(old):
        n, s, t = old.dims[axis], old.strides[axis], strides[axis]
        if n == 1:
            continue
        if axes and axes[-1][1] == s * n and axes[-1][2] == t * n:
            n *= axes.pop()[0]
        axes.append((n, s, t))
    return Place(storage, tuple(axes) or ((1, 1, 1),), offset)


def with_places(node: Node, places: dict[int, Place]) -> Node | Refusal:
    """Return a node that reads and writes moved storages where they are now, or why not.

    ``places`` is by ``id`` of the storages that moved.
    """
    looks: dict[str, Tensor] = {}
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        found = places.get(id(tensor.storage))
        if found is None:
            continue
        moved_look = found.of(tensor)
        if moved_look is None:
            return Refusal(f"{node.row} reads across the parts")
        looks[name] = moved_look
    inputs = {n: looks.get(n, t) for n, t in node.inputs.items()}
    outputs = {n: looks.get(n, t) for n, t in node.outputs.items()}
    if node.pd is None:
        return Refusal(f"{node.row} takes whole arrays")
    if any(n.startswith("attr_") for n in looks):
        return Refusal(f"{node.row} has it as the operand of a post-op")
    changes = {_PARAMETERS.get(n, n): t.desc for n, t in (looks | outputs).items()}
    changes = {n: d for n, d in changes.items() if n in node.params}
    if "srcs" in node.params:
        changes["srcs"] = [t.desc for n, t in inputs.items() if n.startswith("multiple_src")]
    engine = next(iter(outputs.values())).trace.engine
    pd = rebuilt(engine, node, node.attr, **changes)
    if isinstance(pd, Refusal):
        return pd
    for name, tensor in (*inputs.items(), *outputs.items()):
        wanted = pd.desc_of(name)
        if wanted and not tensor.storage.scalar and tensor.desc != wanted:
            return Refusal(f"{node.row} would want {name} in another layout")
    return node.with_pd(pd, inputs=inputs, outputs=outputs)
