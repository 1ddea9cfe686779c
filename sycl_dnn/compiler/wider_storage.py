# SPDX-License-Identifier: Apache-2.0
"""Positions of values in wider storages, and nodes over values that are moved there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sycl_dnn._core import MemoryDesc
from sycl_dnn.compiler.rebuilding import rebuilt
from sycl_dnn.lower.step_graph import Node, Refusal, moved
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import is_kernel
from sycl_dnn.trace.values import Storage, Tensor

#: Descriptor parameters whose names differ from the execution arguments.
_PARAMETERS = {"src_0": "src0", "src_1": "src1", "src_2": "src2"}


@dataclass(frozen=True)
class Place:
    """The position of a dense storage's elements in a wider storage.

    storage : the wider storage
    axes : of the original storage, outermost first
    offset : of the first element, in elements
    """

    storage: Storage
    axes: tuple[tuple[int, int, int], ...]
    offset: int

    def of(self, tensor: Tensor) -> Tensor | None:
        """Return the same view at the new position; None if there is none."""
        desc = tensor.desc
        if not desc.is_plain:
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
        new_desc = layout.strided(desc.dims, dtypes.NAMES[desc.data_type], strides)
        return moved(tensor, self.storage, (self.offset + shift) * size, new_desc)


def place(old: MemoryDesc, storage: Storage, strides: Sequence[int], offset: int) -> Place:
    """Return the position of a dense value whose axes have these strides in a wider storage."""
    axes: list[tuple[int, int, int]] = []
    for axis in layout.axes_in_order(old.dims, old.strides):
        n, s, t = old.dims[axis], old.strides[axis], strides[axis]
        if n == 1:
            continue
        if axes and axes[-1][1] == s * n and axes[-1][2] == t * n:
            n *= axes.pop()[0]
        axes.append((n, s, t))
    return Place(storage, tuple(axes) or ((1, 1, 1),), offset)


def with_places(node: Node, places: dict[int, Place]) -> Node | Refusal:
    """Return a node with relocated storages at their new positions, or why not.

    ``places`` is keyed by ``id`` of the original storage.
    """
    views: dict[str, Tensor] = {}
    for name, tensor in (*node.inputs.items(), *node.outputs.items()):
        new_place = places.get(id(tensor.storage))
        if new_place is None:
            continue
        moved_view = new_place.of(tensor)
        if moved_view is None:
            return Refusal(f"{node.row} reads across the parts")
        views[name] = moved_view
    inputs = {n: views.get(n, t) for n, t in node.inputs.items()}
    outputs = {n: views.get(n, t) for n, t in node.outputs.items()}
    if node.pd is None:
        return _with_views(node, inputs, outputs)
    if any(n.startswith("attr_") for n in views):
        return Refusal(f"{node.row} has it as the operand of a post-op")
    changes = {_PARAMETERS.get(n, n): t.desc for n, t in (views | outputs).items()}
    changes = {n: d for n, d in changes.items() if n in node.params}
    if "srcs" in node.params:
        changes["srcs"] = [t.desc for n, t in inputs.items() if n.startswith("multiple_src")]
    pd = rebuilt(node, node.attr, inputs | outputs, **changes)
    return pd if isinstance(pd, Refusal) else node.with_pd(pd, inputs=inputs, outputs=outputs)


def _with_views(node: Node, inputs: dict[str, Tensor], outputs: dict[str, Tensor]) -> Any:
    """Return a kernel over relocated tensors, or why their views would differ."""
    if not is_kernel(node.primitive):
        return Refusal(f"{node.row} reads whole arrays")
    pairs = [(node.inputs[n], t) for n, t in inputs.items()]
    pairs += [(node.outputs[n], t) for n, t in outputs.items()]
    if any(old is not new and strides_of_axes(old) != strides_of_axes(new) for old, new in pairs):
        return Refusal(f"{node.row} is written for arrays without gaps")
    return replace(node, inputs=inputs, outputs=outputs)


def strides_of_axes(tensor: Tensor) -> list[int]:
    """Return the strides of the axes of more than one element, or none."""
    return [s for n, s in zip(tensor.shape, tensor.strides, strict=True) if n != 1]
