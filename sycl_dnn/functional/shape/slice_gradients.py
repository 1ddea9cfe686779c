# SPDX-License-Identifier: Apache-2.0
"""The gradient of an array whose slices were read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sycl_dnn.errors import InvalidArguments
from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.functional.shape.joining import cat
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import selection
from sycl_dnn.trace import layout
from sycl_dnn.trace.pointwise import add, zeros
from sycl_dnn.trace.slices import Cut, Part
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow

#: Elements from which zeros and a copy into them are faster than a kernel that selects.
_MANY = 1 << 15
#: Number of parts that a kernel selects from for each element.
_FEW_PARTS = 6


def sum_of_parts(like: Tensor, whole: Tensor | None, parts: Sequence[Part]) -> Tensor:
    """Record the gradient of ``like``: a gradient of the whole array, if any, and of parts."""
    axis = _axis_of_disjoint(parts)
    if axis is not None and (like.size > _MANY or len(parts) > _FEW_PARTS):
        joined = _joined(like, parts, axis)
        return joined if whole is None else add(whole, joined)
    if whole is None and len(parts) == 1 and like.size > _MANY:
        return _written(like, parts[0])
    for first in range(0, len(parts), _FEW_PARTS):
        whole = _placed(like, whole, parts[first : first + _FEW_PARTS])
    assert whole is not None
    return whole


def _axis_of_disjoint(parts: Sequence[Part]) -> int | None:
    """Return the axis along which two or more parts are adjacent; None if they are not."""
    axes = {tuple([i for i, cut in enumerate(cuts) if cut is not None]) for _, cuts in parts}
    if len(parts) == 1 or len(axes) > 1 or len(axis := next(iter(axes))) != 1:
        return None
    cuts = sorted(cuts[axis[0]] or (0, 1, 0) for _, cuts in parts)
    is_dense = all(step == 1 or length == 1 for _, step, length in cuts)
    is_disjoint = all(a + length <= b for (a, _, length), (b, _, _) in pairwise(cuts))
    return axis[0] if is_dense and is_disjoint else None


def _joined(like: Tensor, parts: Sequence[Part], axis: int) -> Tensor:
    """Concatenate parts, and zeros between them."""
    end, joined, dtype = 0, [], parts[0].gradient.dtype

    def skip(to: int) -> None:
        if to > end:
            shape = (*like.shape[:axis], to - end, *like.shape[axis + 1 :])
            joined.append(zeros(like.trace, shape, dtype))

    for gradient, cuts in sorted(parts, key=lambda part: part.cuts[axis] or ()):
        start, _, length = cuts[axis] or (0, 1, 0)
        skip(start)
        joined.append(gradient)
        end = start + length
    skip(like.shape[axis])
    return cat(joined, axis)


def _written(like: Tensor, part: Part) -> Tensor:
    """Copy one part into zeros."""
    trace, (gradient, cuts) = like.trace, part
    whole = trace.zeros(
        layout.like(trace.plain(like).desc, gradient.dtype), like.shape, gradient.dtype
    )
    strides, offset = list(whole.strides), 0
    for axis, cut in enumerate(cuts):
        if cut is not None:
            offset += cut[0] * strides[axis]
            strides[axis] *= cut[1]
    try:
        place = whole.view(gradient.shape, tuple(strides), offset)
    except InvalidArguments:  # rows interleave, which oneDNN cannot describe
        return _placed(like, None, [part])
    written = trace.written_into(whole, place, gradient)
    return trace.view(gradient, written, lambda g: _part(g, cuts))


def _part(x: Tensor, cuts: Sequence[Cut]) -> Tensor:
    for axis, cut in enumerate(cuts):
        if cut is not None:
            start, step, length = cut
            x = narrow(x, axis, start, length, step)
    return x


def _placed(like: Tensor, whole: Tensor | None, parts: Sequence[Part]) -> Tensor:
    """Add parts in one kernel."""
    shape, n_parts = like.shape, len(parts)
    cuts = [
        [(0, 1, n) if cut is None else cut for cut, n in zip(part.cuts, shape, strict=True)]
        for part in parts
    ]

    def definition(*nodes: Node) -> Node:
        pairs = zip(nodes[-n_parts:], cuts, strict=True)
        terms = [*nodes[:-n_parts], *[selection.place(g, c, shape) for g, c in pairs]]
        return sum(terms[1:], terms[0])

    operands = [*([] if whole is None else [whole]), *[part.gradient for part in parts]]
    split = [in_parts(x) for x in operands]
    columns = zip(*[s.tensors for s in split], strict=True)
    return split[0].joined([computed(definition, *tensors) for tensors in columns])
