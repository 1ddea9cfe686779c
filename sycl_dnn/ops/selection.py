# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter, slices, padding, reordering and concatenation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sycl_dnn.ir.node import Node, NotDifferentiable, Number, Operation, Shape, number
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import (
    ABS,
    CLAMP_BETWEEN,
    EQ,
    GE,
    LOGICAL_AND,
    LT,
    MAXIMUM,
    MINIMUM,
    REMAINDER,
    TRUNC_DIVIDE,
    WHERE,
    cast,
    where,
)
from sycl_dnn.ops.creation import full, iota
from sycl_dnn.ops.shape import SUM, broadcast_shape, broadcast_to, reshape, sum_to

#: (start, step, length) along one axis, with a positive step.
Cut = tuple[int, int, int]
_INDICES = ("int32", "int64")
#: Elements of a table, and its rows for each added one, from which only these are summed.
_LARGE_TABLE, _MANY_TIMES = 1 << 20, 4


def _gather_infer(inputs: tuple[Node, ...], *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    x, *indices = inputs
    for index in indices:
        if index.dtype not in _INDICES:
            raise TypeError(f"gather: indices must be of int32 or int64, got {index.dtype}")
    rest = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    shape = broadcast_shape(rest, *[index.shape for index in indices])
    if len(shape) != x.ndim:
        raise ValueError(f"gather: indices must have at most {x.ndim} axes, got {len(shape)}")
    return shape, x.dtype


def _unmasked(g: Node, index: Node, n: int) -> Node | None:
    """Return what ``g`` is where an index is in range; None unless it is zero elsewhere."""
    if g.operation is not WHERE or g.inputs[2] is not number(0, g.dtype):
        return None
    mask, inner, _ = g.inputs
    return inner if mask is inside(index, n) and inner.shape == g.shape else None


def _gather_vjp(node: Node, g: Node) -> list[Node | None]:
    x, *indices = node.inputs
    axes = node.attributes["axes"]
    pairs = enumerate(zip(x.shape, node.shape, strict=True))
    shape = tuple([n if k in axes else m for k, (n, m) in pairs])
    inner = _unmasked(g, indices[0], x.shape[axes[0]]) if len(axes) == 1 else None
    if inner is not None:  # sums ignore what is out of range
        sums = scatter_add(inner, indices, axes, shape)
    else:
        nearest = [
            CLAMP_BETWEEN(index, number(0, index.dtype), number(shape[k] - 1, index.dtype))
            for index, k in zip(indices, axes, strict=True)
        ]
        sums = scatter_add(g, nearest, axes, shape)
    return [sum_to(sums, x.shape), *[None] * len(indices)]


#: Elements at indices along axes: one index per axis, which broadcasts with the remaining axes.
#: Out-of-range indices are clamped.
GATHER = Operation("gather", _gather_infer, _gather_vjp)


def _distinct_vjp(node: Node, g: Node) -> list[Node | None]:
    (x, index), (axis,) = node.inputs, node.attributes["axes"]
    return [SCATTER_TO_ZEROS(g, index, axis=axis, shape=x.shape), None]


#: The same along one axis, at indices in range of which no two are equal, such as an order.
GATHER_DISTINCT = Operation("gather_distinct", _gather_infer, _distinct_vjp, definition=GATHER)


def inside(index: Node, n: int) -> Node:
    """Return a mask of indices in range of ``n`` elements."""
    return LOGICAL_AND(GE(index, number(0, index.dtype)), LT(index, number(n, index.dtype)))


def gathered(x: Node, index: Node, axis: int, absent: Number = 0) -> Node:
    """Gather along an axis, with ``absent`` for indices out of range."""
    elements = gather(x, [index], (axis,))
    return where(inside(index, x.shape[axis]), elements, number(absent, x.dtype))


# --- Writes at indices; several values for one element are applied in order


def _result_infer(inputs: tuple[Node, ...], *, axis: int, shape: Shape) -> tuple[Shape, str]:
    return shape, inputs[0].dtype


def _scatter_add_vjp(node: Node, g: Node) -> list[Node | None]:
    return [gathered(g, node.inputs[1], node.attributes["axis"]), None]


#: Zeros with values added at indices along an axis; out-of-range indices are ignored.
SCATTER_ADD = Operation("scatter_add", _result_infer, _scatter_add_vjp)
#: The same for distinct indices.
SCATTER_TO_ZEROS = Operation("scatter_to_zeros", _result_infer, _scatter_add_vjp)


def _placed(g: Node, indices: Sequence[Node], axes: Sequence[int], shape: Shape) -> Node:
    """Scatter one value along axes without accumulation, which can be fused into other kernels."""
    for index, axis in zip(indices, axes, strict=True):
        places = iota(shape[axis], axis, g.ndim, index.dtype)
        g = where(EQ(places, index), g, number(0, g.dtype))
    return broadcast_to(g, shape)


def scatter_add(g: Node, indices: Sequence[Node], axes: Sequence[int], shape: Shape) -> Node:
    """Add values to zeros at indices along adjacent axes."""
    if all(g.shape[k] == 1 for k in axes):
        return _placed(g, indices, axes, shape)
    first, last = axes[0], axes[-1]
    if tuple(axes) != tuple(range(first, last + 1)):
        raise NotDifferentiable(f"gather: axes must be neighbors to have a gradient, got {axes}")
    if len(axes) == 1:
        (index,) = indices
        is_narrow = dtypes.is_float(g.dtype) and dtypes.wide(g.dtype) != g.dtype
        has_many_rows = index.size == g.shape[first] <= shape[first] // _MANY_TIMES
        if is_narrow and has_many_rows and math.prod(shape) >= _LARGE_TABLE:
            return _few_rows_added(g, index, first, shape)
        return SCATTER_ADD(g, index, axis=first, shape=shape)
    sizes, is_inside, flat = shape[first : last + 1], None, None
    for index, n in zip(indices, sizes, strict=True):
        fits = inside(index, n)
        is_inside = fits if is_inside is None else LOGICAL_AND(is_inside, fits)
        flat = index if flat is None else flat * n + index
    assert flat is not None
    assert is_inside is not None
    flat = where(is_inside, flat, number(-1, flat.dtype))
    padded = (1,) * (g.ndim - flat.ndim) + flat.shape
    flat = broadcast_to(flat, (*padded[:first], *g.shape[first : last + 1], *padded[last + 1 :]))
    sums = SCATTER_ADD(
        _joined(g, first, last), _joined(flat, first, last), axis=first,
        shape=(*shape[:first], math.prod(sizes), *shape[last + 1 :]),
    )  # fmt: skip
    return reshape(sums, shape)


def _few_rows_added(g: Node, index: Node, axis: int, shape: Shape) -> Node:
    """Add rows of narrow numbers, with sums of as many rows, not all, in a wide type."""
    n_rows, rank = index.size, g.ndim
    places = iota(n_rows, axis, rank)
    ones = (1,) * rank
    found = full(n_rows, (*ones[:axis], shape[axis], *ones[axis + 1 :]), places.dtype)
    slots = gathered(SCATTER_MIN(found, places, index, axis=axis), index, axis, -1)
    sums = SCATTER_ADD(cast(g, dtypes.wide(g.dtype)), slots, axis=axis, shape=g.shape)
    own = where(EQ(slots, places), index, number(-1, index.dtype))
    return SCATTER_TO_ZEROS(cast(sums, g.dtype), own, axis=axis, shape=shape)


def _joined(x: Node, first: int, last: int) -> Node:
    """Merge adjacent axes."""
    size = math.prod(x.shape[first : last + 1])
    return reshape(x, (*x.shape[:first], size, *x.shape[last + 1 :]))


def _scatter_infer(inputs: tuple[Node, ...], *, axis: int) -> tuple[Shape, str]:
    return inputs[0].shape, inputs[0].dtype


def _scatter_vjp(node: Node, g: Node) -> list[Node | None]:
    _, values, index = node.inputs
    axis = node.attributes["axis"]
    base_grad = SCATTER(g, full(0, values.shape, g.dtype), index, axis=axis)
    # Only the value that is kept has a gradient: the one whose number is kept, too.
    numbers = iota(index.shape[axis], axis, index.ndim)
    rows = (*index.shape[:axis], g.shape[axis], *index.shape[axis + 1 :])
    places = broadcast_to(numbers, index.shape)
    kept = SCATTER(full(-1, rows, numbers.dtype), places, index, axis=axis)
    is_kept = EQ(gathered(kept, index, axis, -1), numbers)
    return [base_grad, where(is_kept, gather(g, [index], (axis,)), number(0, g.dtype)), None]


#: An array with values written at indices along an axis; one of several for an element wins.
SCATTER: Operation = Operation("scatter", _scatter_infer, _scatter_vjp)


def _scatter_mul_vjp(node: Node, g: Node) -> list[Node | None]:
    """Divide products by the elements; zeros are left out of them and counted."""
    (base, values, index), axis = node.inputs, node.attributes["axis"]
    zero, one = number(0, node.dtype), number(1, node.dtype)

    def total(of_base: Node, of_values: Node) -> Node:
        return of_base + SCATTER_ADD(of_values, index, axis=axis, shape=base.shape)

    are_zero = [EQ(x, zero) for x in (base, values)]
    n_zeros = total(*[where(is_zero, one, zero) for is_zero in are_zero])
    # Zeros have derivatives: the product of two elements that are 0 depends on both.
    zeros = total(*[where(z, x, zero) for z, x in zip(are_zero, (base, values), strict=True)])
    safe = [where(z, one, x) for z, x in zip(are_zero, (base, values), strict=True)]
    product = SCATTER_MUL(*safe, index, axis=axis)
    of_result = (product, n_zeros, zeros, g)
    of_index = [gathered(x, index, axis, k) for x, k in zip(of_result, (1, 0, 0, 0), strict=True)]

    def slope(x: Node, is_zero: Node, divisor: Node, parts: Sequence[Node]) -> Node:
        product, n_zeros, zeros, g = parts
        n_others = n_zeros - where(is_zero, one, zero)
        others = where(EQ(n_others, one), zeros - where(is_zero, x, zero), zero)
        return g * (product / divisor * where(EQ(n_others, zero), one, others))

    return [
        slope(base, are_zero[0], safe[0], of_result),
        slope(values, are_zero[1], safe[1], of_index), None,
    ]  # fmt: skip


#: An array whose elements are multiplied by, or compared with, values at indices along an axis.
SCATTER_MUL: Operation = Operation("scatter_mul", _scatter_infer, _scatter_mul_vjp)
#: An array with values added at indices along an axis.
ADD_AT: Operation = Operation(
    "add_at",
    _scatter_infer,
    lambda node, g: [g, gathered(g, node.inputs[2], node.attributes["axis"]), None],
)
#: Functions that use them have their own rules.
SCATTER_MAX = Operation("scatter_max", _scatter_infer)
SCATTER_MIN = Operation("scatter_min", _scatter_infer)


def gather(x: Node, indices: Sequence[Node], axes: Sequence[int]) -> Node:
    """Gather at indices along axes."""
    return GATHER(x, *indices, axes=tuple(axes)) if axes else x


def _coordinate(x: Node, axis: int, length: int | None = None) -> Node:
    return iota(x.shape[axis] if length is None else length, axis, x.ndim)


def _whole(value: int) -> Node:
    return number(value, "int32")


# --- Slices


def _slice_infer(inputs: tuple[Node, ...], *, cuts: tuple[Cut, ...]) -> tuple[Shape, str]:
    (x,) = inputs
    for n, (start, step, length) in zip(x.shape, cuts, strict=True):
        last = start + (length - 1) * step
        if length and not (0 <= start < n and 0 <= last < n):
            raise IndexError(f"slice: elements {start} to {last} must exist, got size {n}")
    return tuple([length for _, _, length in cuts]), x.dtype


def _slice_vjp(node: Node, g: Node) -> list[Node]:
    return [PLACE(g, cuts=node.attributes["cuts"], shape=node.inputs[0].shape)]


SLICE = Operation("slice", _slice_infer, _slice_vjp)


def _place(x: Node, *, cuts: tuple[Cut, ...], shape: Shape, value: Number = 0) -> Node:
    if not x.size:
        return full(value, shape, x.dtype)
    indices, axes, is_part = [], [], None
    for axis, (n, (start, step, length)) in enumerate(zip(shape, cuts, strict=True)):
        if (start, step, length) == (0, 1, n):
            continue
        coordinate = _coordinate(x, axis, n) - start
        fits = LOGICAL_AND(GE(coordinate, _whole(0)), LT(coordinate, _whole(length * step)))
        if step > 1:
            fits = LOGICAL_AND(fits, EQ(REMAINDER(coordinate, _whole(step)), _whole(0)))
            coordinate = TRUNC_DIVIDE(coordinate, _whole(step))
        is_part = fits if is_part is None else LOGICAL_AND(is_part, fits)
        indices.append(coordinate)
        axes.append(axis)
    elements = gather(x, indices, axes)
    return elements if is_part is None else where(is_part, elements, number(value, x.dtype))


#: A constant with an array placed in a slice: the gradient of a slice, and constant padding.
PLACE: Operation = Operation(
    "place",
    lambda inputs, *, cuts, shape, value=0: (shape, inputs[0].dtype),
    lambda node, g: [part(g, node.attributes["cuts"])],
    definition=_place,
)


def part(x: Node, cuts: Sequence[Cut]) -> Node:
    """Return a slice: start, step and length for each axis; steps may be negative."""
    cuts = tuple(cuts)
    turned = tuple([k for k, (_, step, length) in enumerate(cuts) if step < 0 and length > 1])
    forward = tuple([_forward(cut) for cut in cuts])
    is_whole = all(c == (0, 1, n) for c, n in zip(forward, x.shape, strict=True))
    view = x if is_whole else SLICE(x, cuts=forward)
    return FLIP(view, axes=turned) if turned else view


def _forward(cut: Cut) -> Cut:
    """Return the same elements with a positive step."""
    start, step, length = cut
    return cut if step > 0 else (start + max(length - 1, 0) * step, -step, length)


def narrow(x: Node, axis: int, start: int, length: int, step: int = 1) -> Node:
    """Return ``length`` elements along an axis, starting at ``start``."""
    cuts = [(0, 1, n) for n in x.shape]
    cuts[axis % x.ndim] = (start, step, length)
    return part(x, cuts)


def place(x: Node, cuts: Sequence[Cut], shape: Shape, value: Number = 0) -> Node:
    """Return a constant with an array placed in a slice."""
    return x if x.shape == shape else PLACE(x, cuts=tuple(cuts), shape=tuple(shape), value=value)


def pad(x: Node, widths: Sequence[tuple[int, int]], value: Number = 0) -> Node:
    """Pad with a constant: widths before and after each axis."""
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    cuts = tuple([(before, 1, n) for n, (before, _) in zip(x.shape, widths, strict=True)])
    return place(x, cuts, shape, value)


def _window_sums(x: Node, *, axis: int, size: int) -> Node:
    n = x.shape[axis] - size + 1
    windows = [narrow(x, axis, start, n) for start in range(size)]
    return sum(windows[1:], windows[0])


def _window_sums_infer(inputs: tuple[Node, ...], *, axis: int, size: int) -> tuple[Shape, str]:
    (x,) = inputs
    return tuple([n - (size - 1) * (k == axis) for k, n in enumerate(x.shape)]), x.dtype


def _window_sums_vjp(node: Node, g: Node) -> list[Node]:
    more = node.attributes["size"] - 1
    widths = [(more, more) if k == node.attributes["axis"] else (0, 0) for k in range(g.ndim)]
    return [WINDOW_SUMS(pad(g, widths), **node.attributes)]


#: The sums of adjacent elements along an axis.
WINDOW_SUMS: Operation = Operation(
    "window_sums", _window_sums_infer, _window_sums_vjp, definition=_window_sums
)


# --- Reordering


def _flip(x: Node, *, axes: tuple[int, ...]) -> Node:
    return gather(x, [_whole(x.shape[k] - 1) - _coordinate(x, k) for k in axes], axes)


#: Reversal along axes.
FLIP: Operation = Operation(
    "flip",
    lambda inputs, *, axes: (inputs[0].shape, inputs[0].dtype),
    lambda node, g: [FLIP(g, axes=node.attributes["axes"])],
    definition=_flip,
)


def flip(x: Node, axis: int) -> Node:
    """Reverse elements along an axis."""
    return FLIP(x, axes=(axis % x.ndim,)) if x.shape[axis] > 1 else x


def _roll(x: Node, *, shift: int, axis: int) -> Node:
    at, n = _coordinate(x, axis), x.shape[axis]
    return gather(x, [where(LT(at, _whole(shift)), at + (n - shift), at - shift)], (axis,))


#: Cyclic shift toward the end of an axis.
ROLL: Operation = Operation(
    "roll",
    lambda inputs, *, shift, axis: (inputs[0].shape, inputs[0].dtype),
    lambda node, g: [roll(g, -node.attributes["shift"], node.attributes["axis"])],
    definition=_roll,
)


def roll(x: Node, shift: int, axis: int) -> Node:
    """Shift elements cyclically along an axis."""
    shift %= max(x.shape[axis], 1)
    return ROLL(x, shift=shift, axis=axis % x.ndim) if shift else x


def _border_infer(
    inputs: tuple[Node, ...], *, widths: tuple[tuple[int, int], ...], mode: str
) -> tuple[Shape, str]:
    (x,) = inputs
    shape = [before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    return tuple(shape), x.dtype


def _border_vjp(node: Node, g: Node) -> list[Node]:
    """Add the gradients of padding to the elements that it repeats, axis by axis."""
    for axis, (before, after) in enumerate(node.attributes["widths"]):
        if before or after:
            n = node.inputs[0].shape[axis]
            g = _folded(g, axis, before, n, after, node.attributes["mode"])
    return [g]


def _folded(g: Node, axis: int, before: int, n: int, after: int, mode: str) -> Node:
    total = narrow(g, axis, before, n)
    for start, length, is_before in ((0, before, True), (before + n, after, False)):
        if not length:
            continue
        if mode == "replicate":
            first, border = 0 if is_before else n - 1, narrow(g, axis, start, length)
            if length > 1:
                border = SUM(border, axes=(axis,))
            widths = [(0, 0)] * g.ndim
            widths[axis] = (first, n - first - 1)
            total += pad(border, widths)
            continue
        # Element i of the n is repeated at ``source``, if it is one of those from ``first`` on.
        at = iota(n, axis, g.ndim)
        if mode == "reflect":
            first = 1 if is_before else n - 1 - length
            source = _whole(start + length - 1 + first) - at
        else:
            first = n - length if is_before else 0
            source = at + (start - first)
        is_repeated = inside(at - first, length)
        total += where(is_repeated, gather(g, [source], (axis,)), number(0, g.dtype))
    return total


def _border(x: Node, *, widths: tuple[tuple[int, int], ...], mode: str) -> Node:
    indices, axes = [], []
    for axis, (before, after) in enumerate(widths):
        if before or after:
            n = x.shape[axis]
            at = _coordinate(x, axis, before + n + after) - before
            indices.append(_inside(at, n, mode))
            axes.append(axis)
    return gather(x, indices, axes)


def _inside(at: Node, n: int, mode: str) -> Node:
    """Return the source index of a padded position before 0 or after ``n - 1``."""
    last = _whole(n - 1)
    if mode == "replicate":
        return MINIMUM(MAXIMUM(at, _whole(0)), last)
    if mode == "reflect":
        return last - ABS(last - ABS(at))
    return where(LT(at, _whole(0)), at + n, where(GE(at, _whole(n)), at - n, at))


#: Padding by the array's own elements: mirrored ("reflect"), the border element ("replicate"), or
#: the opposite end ("circular").
BORDER = Operation("border", _border_infer, _border_vjp, definition=_border)


def _concat_infer(inputs: tuple[Node, ...], *, axis: int) -> tuple[Shape, str]:
    first = inputs[0]
    for other in inputs[1:]:
        same = [n for k, n in enumerate(other.shape) if k != axis]
        if same != [n for k, n in enumerate(first.shape) if k != axis] or other.ndim != first.ndim:
            raise ValueError(
                f"concat: shapes must be equal but for axis {axis}, got {first.shape} and "
                f"{other.shape}"
            )
        if other.dtype != first.dtype:
            raise TypeError(
                f"concat: arrays must have one dtype, got {first.dtype} and {other.dtype}"
            )
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in inputs)
    return tuple(shape), first.dtype


def _concat_vjp(node: Node, g: Node) -> list[Node]:
    axis, start, parts = node.attributes["axis"], 0, []
    for operand in node.inputs:
        parts.append(narrow(g, axis, start, operand.shape[axis]))
        start += operand.shape[axis]
    return parts


CONCAT = Operation("concat", _concat_infer, _concat_vjp)


def concat(arrays: Sequence[Node], axis: int = 0) -> Node:
    """Concatenate arrays along an axis."""
    axis %= arrays[0].ndim
    return arrays[0] if len(arrays) == 1 else CONCAT(*arrays, axis=axis)
