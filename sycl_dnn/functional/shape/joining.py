# SPDX-License-Identifier: Apache-2.0
"""Concatenation and splitting: cat, stack, split, chunk and narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sycl_dnn._core import engine_kind
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import check_each
from sycl_dnn.functional.shape.reshaping import check_axis, checked_int
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.selection import concat
from sycl_dnn.trace import layout, views
from sycl_dnn.trace.capabilities import joins
from sycl_dnn.trace.gradients import rule_for
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.views import narrow as narrow_of_views
from sycl_dnn.trace.views import reshape, transpose

#: Dtypes for which oneDNN's concat has an implementation on CPUs.
_JOINED = frozenset(dtypes.FLOATS) - {"float64"}
#: oneDNN supports at most 1,024 sources; more are joined in groups first.
_MAX_SOURCES = 512
#: Bytes of a row of each part, up to which oneDNN's concat on CPUs takes longer than joining whole
#: parts and copying the rows to their places.
_SHORT_ROW = 32
#: The same up to which compiled functions use a kernel instead of writing results in place.
_SHORTEST_ROW = 8
#: Maximum number of parts from which a kernel selects each element.
_MAX_SELECTED = 16


def join(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate tensors of one dtype in the layout of the first."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) > _MAX_SOURCES:
        groups = [parts[i : i + _MAX_SOURCES] for i in range(0, len(parts), _MAX_SOURCES)]
        return join([join(group, axis) for group in groups], axis)
    first, full = parts[0], [p for p in parts if p.size]
    sizes = [p.shape[axis] for p in parts]
    shape = tuple(sum(sizes) if i == axis else n for i, n in enumerate(first.shape))
    if not full:
        result = zeros(first.trace, shape, first.dtype)
    else:
        result = full[0] if len(full) == 1 else _concat(full, axis, shape)
    return _with_gradients(result, [p for p in parts if not p.size])


def _concat(parts: Sequence[Tensor], axis: int, shape: tuple[int, ...]) -> Tensor:
    if _is_by_kernel(parts, axis):
        order = views.axis_order(parts[0], parts[0].ndim)
        place, rows = order.index(axis), [transpose(p, order) for p in parts]
        joined = computed(lambda *nodes: concat(nodes, place), *rows)
        return transpose(joined, [order.index(a) for a in range(len(order))])
    first = parts[0]
    is_fast = (
        first.is_float
        and first.dtype in _JOINED
        and joins(first.trace.engine, first.dtype)
        and all(_is_ordered_as(p, first) for p in parts)
    )
    if first.desc.is_plain and not is_fast:
        return _placed(parts, axis, shape)
    if not first.trace.is_compiled and has_short_rows(parts, axis):
        dst = _new(parts, shape)
        with views.untaped(first.trace):
            interleave(parts, axis, dst)
        return _recorded(dst, parts, axis)
    result = first.trace.primitive(
        "concat",
        {f"multiple_src_{i}": p for i, p in enumerate(parts)},
        {"dst": Out(shape, first.dtype, layout.like(first.desc, first.dtype, shape))},
        concat_dimension=axis,
    )
    return result["dst"]


def _is_ordered_as(part: Tensor, first: Tensor) -> bool:
    """Whether a tensor has the axis order of the first one, as fast implementations require."""
    if not part.desc.is_plain:
        return True
    order = views.axis_order(first, first.ndim)
    steps = [part.strides[a] for a in order if part.shape[a] > 1]
    return steps == sorted(steps, reverse=True) and steps[-1:] in ([], [1])


def _placed(parts: Sequence[Tensor], axis: int, shape: tuple[int, ...]) -> Tensor:
    """Concatenate by copies, where oneDNN's concat has only its slow reference implementation."""
    first, start = parts[0], 0
    result = _new(parts, shape)
    for part in parts:
        place = result.view(part.shape, result.strides, start * result.strides[axis])
        first.trace.written_into(result, place, first.trace.plain(part))
        start += part.shape[axis]
    return _recorded(result, parts, axis)


def _new(parts: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """Return a tensor for a concatenation, with the axis order of the first part."""
    first = parts[0]
    desc = layout.like(first.desc, first.dtype, shape)
    return Tensor(first.trace, Storage(desc), desc, first.dtype, shape)


def _recorded(result: Tensor, parts: Sequence[Tensor], axis: int) -> Tensor:
    """Record the gradients of a concatenation that consists of several steps."""

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return _shares(grads["dst"], entry.inputs, axis)

    named = {str(i): part for i, part in enumerate(parts)}
    result.trace.tape.append(Entry("view", named, {"dst": result}, rule=rule))
    return result


def _is_by_kernel(parts: Sequence[Tensor], axis: int) -> bool:
    """Whether few rows are short, and in compiled functions too short to be written in place."""
    first = parts[0]
    can_select = len(parts) <= _MAX_SELECTED and first.dtype in REGISTERS
    if not can_select or not has_short_rows(parts, axis):
        return False
    row = _row_size(first, axis) * dtypes.bits_of(first.dtype)
    return not first.trace.is_compiled or row <= 8 * _SHORTEST_ROW


def has_short_rows(parts: Sequence[Tensor], axis: int) -> bool:
    """Whether parts of one shape have so few elements in a row that oneDNN's concat is slow."""
    first = parts[0]
    is_cpu = first.trace.engine.kind is engine_kind.cpu
    if not is_cpu or not first.desc.is_plain or any(p.shape != first.shape for p in parts):
        return False
    row = _row_size(first, axis)
    return row * dtypes.bits_of(first.dtype) <= 8 * _SHORT_ROW and row < first.size


def _row_size(part: Tensor, axis: int) -> int:
    """Return the number of elements that a dense part has in a row of the concatenation."""
    return layout.like(part.desc, part.dtype).strides[axis] * part.shape[axis]


def interleave(parts: Sequence[Tensor], axis: int, dst: Tensor) -> Tensor:
    """Write the concatenation of short rows into ``dst``, by one copy of all parts joined whole."""
    first, k = parts[0], len(parts)
    order, row = views.axis_order(first, first.ndim), _row_size(first, axis)
    outer = order[: order.index(axis)]
    sizes, n = [first.shape[a] for a in outer], first.size // row
    blocks = [views.grid(views.laid_out(p, order), (1, first.size)) for p in parts]
    steps = [row * s for s in layout.row_major_strides(sizes)]
    joined = join(blocks, 0).view((*sizes, k, row), (*steps, n * row, 1))
    place = dst.view((*sizes, k, row), (*[dst.strides[a] for a in outer], row, 1))
    return first.trace.written_into(dst, place, joined)


def _with_gradients(result: Tensor, empty: Sequence[Tensor]) -> Tensor:
    """Record that the gradients of empty parts are empty."""
    if not empty or not result.is_float:
        return result

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        grads_of_empty = {
            n: t.trace.zeros(layout.row_major(t.shape, t.dtype), t.shape, t.dtype)
            for n, t in entry.inputs.items()
            if n != "joined"
        }
        return {"joined": grads["dst"], **grads_of_empty}

    same = result.view(result.shape, result.strides)
    inputs = {"joined": result, **{str(i): t for i, t in enumerate(empty)}}
    result.trace.tape.append(Entry("view", inputs, {"dst": same}, rule=rule))
    return same


def _shares(grad: Tensor, parts: Mapping[str, Tensor], axis: int) -> dict[str, Tensor]:
    """Return the slice of a gradient for each tensor that was joined."""
    result, start = {}, 0
    for name, part in parts.items():
        result[name] = narrow_of_views(grad, axis, start, part.shape[axis])
        start += part.shape[axis]
    return result


@rule_for("concat")
def _concat_gradient(trace, entry, grads, needed):
    return _shares(grads["dst"], entry.inputs, entry.params["concat_dimension"])


def check_tensors(name: str, tensors: Sequence[Tensor]) -> None:
    """Raise ValueError or TypeError unless ``tensors`` is a list of at least one array."""
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise ValueError(f"{name}: tensors must be a list of at least one array, got {tensors!r}")
    check_each(name, "tensors", tensors)


def _tensors(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors promoted to a common dtype."""
    check_tensors(name, tensors)
    dtype = dtypes.promote(*(t.dtype for t in tensors))
    return [converted(t, dtype) for t in tensors]


@operation
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate arrays along an axis.

    Parameters
    ----------
    tensors : list of arrays (*A, n_i, *B)
        Any dtypes, which are promoted. Arrays of shape (0,) are skipped, as in PyTorch.
    dim : int
        The axis along which sizes may differ.

    Returns
    -------
    array (*A, sum of n_i, *B)
        Axis order of the first array.

    Raises
    ------
    ValueError
        There are no arrays, one is 0-d, or shapes differ along other axes than ``dim``.

    Notes
    -----
    Source: oneDNN developer guide, "Concat".
    """
    parts = _tensors("cat", tensors)
    for number, part in enumerate(parts):
        if not part.shape:
            raise ValueError(f"cat: tensors[{number}] must have an axis, got shape (); use stack")
    legacy = [p for p in parts if p.shape == (0,)]
    parts = [p for p in parts if p.shape != (0,)] or parts[:1]
    axis = check_axis("cat", dim, parts[0].ndim)
    rest = {(p.ndim, p.shape[:axis], p.shape[axis + 1 :]) for p in parts}
    if len(rest) > 1:
        shapes = ", ".join(str(p.shape) for p in parts)
        raise ValueError(f"cat: tensors must have equal shapes but for axis {axis}, got {shapes}")
    return _with_gradients(join(parts, axis), legacy)


@operation
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate arrays of equal shape along a new axis.

    Parameters
    ----------
    tensors : list of k arrays (*A, *B)
    dim : int
        Position of the new axis.

    Returns
    -------
    array (*A, k, *B)

    Raises
    ------
    ValueError
        There are no arrays, or the shapes differ.

    Notes
    -----
    Source: oneDNN developer guide, "Concat".
    """
    parts = _tensors("stack", tensors)
    axis = check_axis("stack", dim, parts[0].ndim + 1)
    shape = parts[0].shape
    if any(p.shape != shape for p in parts):
        shapes = ", ".join(str(p.shape) for p in parts)
        raise ValueError(f"stack: tensors must have one shape, got {shapes}")
    expanded = (*shape[:axis], 1, *shape[axis:])
    return join([reshape(p, expanded) for p in parts], axis)


# --- split, chunk, narrow


def pieces(x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Split a tensor into views; their gradients are concatenated by one primitive."""
    plain = x.trace.plain(x)
    result, start = {}, 0
    for i, size in enumerate(sizes):
        shape = tuple(size if a == axis else n for a, n in enumerate(x.shape))
        result[str(i)] = plain.view(shape, plain.strides, start * plain.strides[axis])
        start += size

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        outs = entry.outputs.items()
        parts = [grads[n] if n in grads else _zeros_like(t) for n, t in outs]
        return {"src": join(parts, axis)}

    x.trace.tape.append(Entry("view", {"src": x}, result, rule=rule))
    return list(result.values())


def _zeros_like(x: Tensor) -> Tensor:
    return x.trace.zeros(layout.like(x.desc, x.dtype), x.shape, x.dtype)


@operation
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Split an array along an axis.

    Parameters
    ----------
    tensor : array (*A, n, *B)
    split_size_or_sections : int or list of int
        Size of each part (the last one may be smaller), or a list of sizes.
    dim : int

    Returns
    -------
    tuple of arrays (*A, n_i, *B)
        Copies; views in a traced function.

    Raises
    ------
    ValueError
        A size is negative, or the sizes do not add up to ``n``.
    """
    axis = check_axis("split", dim, tensor.ndim)
    n = tensor.shape[axis]
    sizes = split_size_or_sections
    if not isinstance(sizes, (tuple, list)):
        size = checked_int("split", "split_size_or_sections", sizes, 0)
        if size == 0 and n:
            raise ValueError("split: split_size_or_sections must be positive, got 0")
        sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    sizes = [checked_int("split", "split_size_or_sections", s, 0) for s in sizes]
    if sum(sizes) != n:
        raise ValueError(f"split: split_size_or_sections must add up to {n}, got {sizes}")
    return tuple(pieces(tensor, axis, sizes))


@operation
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split an array into at most ``chunks`` equal parts; the last one may be smaller.

    Parameters
    ----------
    input : array (*A, n, *B)
    chunks : int
        At least 1.
    dim : int

    Returns
    -------
    tuple of arrays (*A, n_i, *B)
        Copies; views in a traced function.

    Raises
    ------
    ValueError
        ``chunks`` is less than 1.
    """
    axis = check_axis("chunk", dim, input.ndim)
    n, chunks = input.shape[axis], checked_int("chunk", "chunks", chunks, 1)
    size = -(-n // chunks)
    sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0] * chunks
    return tuple(pieces(input, axis, sizes))


@operation
def tensor_split(
    input: Tensor, indices_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Split an array into parts of nearly equal size, or at indices.

    Parameters
    ----------
    input : array (*A, n, *B)
    indices_or_sections : int or sequence of int
        Number of parts, of which the first ones have an element more, or where the second and
        later parts begin.
    dim : int

    Returns
    -------
    tuple of arrays (*A, n_i, *B)
        Copies; views in a traced function.

    Raises
    ------
    ValueError
        There is no such axis, or the number of parts is less than 1.

    Notes
    -----
    Source: ``torch.tensor_split``.
    """
    axis, given = check_axis("tensor_split", dim, input.ndim), indices_or_sections
    n = input.shape[axis]
    if isinstance(given, (tuple, list)):
        places = [checked_int("tensor_split", "indices_or_sections", i) for i in given]
        ends = [slice(0, i).indices(n)[1] for i in places]
    else:
        count = checked_int("tensor_split", "indices_or_sections", given, 1)
        ends = [n // count * i + min(i, n % count) for i in range(1, count)]
    bounds = zip([0, *ends], [*ends, n], strict=True)
    return tuple(views.narrow(input, axis, a, max(b - a, 0)) for a, b in bounds)


@operation
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return ``length`` elements along an axis, starting at ``start``.

    Parameters
    ----------
    input : array (*A, n, *B)
    dim : int
    start : int
        Negative counts from the end.
    length : int

    Returns
    -------
    array (*A, length, *B)
        A copy; a view in a traced function.

    Raises
    ------
    ValueError
        The range exceeds the axis.
    """
    if not input.ndim:
        raise ValueError("narrow: input must have an axis, got shape ()")
    axis = check_axis("narrow", dim, input.ndim)
    n = input.shape[axis]
    start = checked_int("narrow", "start", start, -n)
    start += n if start < 0 else 0
    length = checked_int("narrow", "length", length, 0)
    if start + length > n:
        raise ValueError(f"narrow: start + length must be at most {n}, got {start + length}")
    return views.narrow(input, axis, start, length)
