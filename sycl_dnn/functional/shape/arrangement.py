# SPDX-License-Identifier: Apache-2.0
"""flip, roll, tile, expand, repeat_interleave, tril, triu and meshgrid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dpnp

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.arithmetic.convert import in_parts
from sycl_dnn.functional.arithmetic.operands import broadcasts_to
from sycl_dnn.functional.index.selected import selected
from sycl_dnn.functional.shape.reshaping import check_axes, check_axis, checked_int
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import shape as nodes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.creation import full, triangle
from sycl_dnn.ops.scan import CUMSUM
from sycl_dnn.ops.selection import FLIP, SCATTER_ADD
from sycl_dnn.ops.selection import roll as roll_nodes
from sycl_dnn.trace import pointwise, views
from sycl_dnn.trace.refusals import value_of
from sycl_dnn.trace.values import Tensor


def rearranged(
    x: Tensor,
    definition: Callable[[Node], Node],
    of_imaginary: Callable[[Node], Node] | None = None,
) -> Tensor:
    """Record a rearrangement of elements; ``of_imaginary`` is that of imaginary parts."""
    parts = in_parts(x)
    definitions = (definition, of_imaginary or definition)
    results = [computed(f, part) for f, part in zip(definitions, parts.tensors, strict=False)]
    return parts.joined(results)


@operation
def flip(input: Tensor, dims: int | Sequence[int]) -> Tensor:
    """Reverse elements along axes.

    Parameters
    ----------
    input : array of any shape and dtype
    dims : int or sequence of int

    Returns
    -------
    array
        Shape and dtype of ``input``, row-major.

    Raises
    ------
    ValueError
        There is no such axis, or one is repeated.

    Notes
    -----
    The gradient is flipped back. Source: ``torch.flip``.
    """
    axes = tuple(check_axes("flip", dims, input.ndim, "dims")) if input.ndim else ()
    if len(set(axes)) < len(axes):
        raise ValueError(f"flip: dims must name each axis once, got {dims}")
    return rearranged(input, lambda x: FLIP(x, axes=axes))


@operation
def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Tensor:
    """Shift elements cyclically along axes.

    Parameters
    ----------
    input : array of any shape and dtype
    shifts : int or sequence of int
        Shift towards the end, one for each of ``dims``.
    dims : int or sequence of int, optional
        By default the array is flattened, rolled and reshaped back.

    Returns
    -------
    array
        Shape and dtype of ``input``, row-major.

    Raises
    ------
    ValueError
        There is no such axis, or ``shifts`` and ``dims`` differ in length.

    Notes
    -----
    The gradient is rolled back. Source: ``torch.roll``.
    """
    amounts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    amounts = tuple(checked_int("roll", "shifts", s) for s in amounts)
    axes = [] if dims is None else check_axes("roll", dims, input.ndim, "dims")
    if len(amounts) != (len(axes) if axes else 1):
        raise ValueError(f"roll: shifts must be one for each of dims, got {shifts} and {dims}")
    if not input.ndim:
        return input

    def definition(x: Node) -> Node:
        result = x if axes else nodes.reshape(x, (x.size,))
        for axis, shift in zip(axes or (0,), amounts, strict=True):
            result = roll_nodes(result, shift, axis)
        return nodes.reshape(result, x.shape)

    return rearranged(input, definition)


#: Diagonals beyond this are outside every matrix.
_FAR = (1 << 30) - 1

_TRIANGLE = """Keep a diagonal of matrices and the elements {where} it; zero the rest.

Parameters
----------
input : array (*, R, C)
    Any dtype.
diagonal : int
    0 is the main diagonal, positive ones lie above it.

Returns
-------
array (*, R, C)
    Same dtype, row-major.

Raises
------
ValueError
    ``input`` has fewer than two axes.

Notes
-----
Cleared elements may be NaN. Source: ``torch.{name}``.
"""


def _triangle(name: str, side: str) -> Any:
    def call(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.ndim < 2:
            raise ValueError(f"{name}: input must have at least 2 axes, got shape {input.shape}")
        k = checked_int(name, "diagonal", diagonal)
        k = min(max(k, -_FAR), _FAR)
        return rearranged(input, lambda x: triangle(x, k, is_lower=name == "tril"))

    return operation(named(call, name, _TRIANGLE.format(name=name, where=side)))


tril = _triangle("tril", "below")
triu = _triangle("triu", "above")


# --- Repetition


def spread(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Broadcast ``x`` to a shape, for any dtype."""
    if x.shape == shape:
        return x
    if x.is_float and x.dtype != "float64":
        return pointwise.broadcast_to(x, shape)
    return rearranged(x, lambda node: nodes.broadcast_to(node, shape))


def _sizes(name: str, x: Tensor, size: Any) -> tuple[int, ...]:
    """Return the expanded shape; -1 keeps a size."""
    size = size if isinstance(size, (tuple, list)) else (size,)
    sizes = tuple(checked_int(name, "size", n, -1) for n in size)
    n_new = len(sizes) - x.ndim
    old = (1,) * n_new + x.shape
    shape = tuple(n if m == -1 else m for n, m in zip(old, sizes, strict=False))
    if n_new < 0 or -1 in sizes[:n_new] or not broadcasts_to(x.shape, shape):
        raise ValueError(f"{name}: size must broadcast shape {x.shape}, got {sizes}")
    return shape


_EXPANDED = """Repeat an array along axes of size 1, and along new leading ones.

Parameters
----------
input : array of any shape and dtype
size : int or sequence of int
    The new shape; -1 keeps the size of an axis.

Returns
-------
array (*size)
    A copy, unlike torch's view.

Raises
------
ValueError
    The shape does not broadcast to ``size``.

Notes
-----
Gradients of the copies are summed. Source: ``torch.{source}``.
"""


def _expansion(name: str, source: str) -> Any:
    def call(input: Tensor, size: int | Sequence[int]) -> Tensor:
        return spread(input, _sizes(name, input, size))

    return operation(named(call, name, _EXPANDED.format(source=source)))


expand = _expansion("expand", "Tensor.expand")
broadcast_to = _expansion("broadcast_to", "broadcast_to")


@operation
def tile(input: Tensor, dims: int | Sequence[int]) -> Tensor:
    """Repeat an array along axes.

    Parameters
    ----------
    input : array of any shape and dtype
    dims : int or sequence of int
        Repetitions, aligned with the last axes; additional ones add leading axes.

    Returns
    -------
    array
        Row-major.

    Raises
    ------
    ValueError
        A repetition is negative.

    Notes
    -----
    Gradients of the copies are summed. Source: ``torch.tile``.
    """
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    times = [checked_int("tile", "dims", n, 0) for n in dims]
    times = [1] * (input.ndim - len(times)) + times
    shape = (1,) * (len(times) - input.ndim) + input.shape
    pairs = list(zip(times, shape, strict=True))
    split = tuple(n for k, size in pairs for n in ((1, size) if k != 1 else (size,)))
    repeated = tuple(n for k, size in pairs for n in ((k, size) if k != 1 else (size,)))
    result = spread(views.reshape(input, split), repeated)
    return views.reshape(result, tuple(k * n for k, n in pairs))


def _repeated(x: Tensor, repeats: int, axis: int) -> Tensor:
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    result = spread(views.reshape(x, (*before, 1, *after)), (*before, repeats, *after))
    return views.reshape(result, (*before[:-1], before[-1] * repeats, *after))


@operation
def _repeat_interleave(input, repeats, dim, output_size):
    name = "repeat_interleave"
    if dim is None:
        input, dim = views.reshape(input, (input.size,)), 0
    axis = check_axis(name, dim, input.ndim)
    input = input if input.ndim else views.reshape(input, (1,))
    n = input.shape[axis]
    if isinstance(repeats, int):
        return _repeated(input, checked_int(name, "repeats", repeats, 0), axis)
    if repeats.dtype not in ("int32", "int64"):
        raise TypeError(f"{name}: repeats must be int32 or int64, got {repeats.dtype}")
    if repeats.size not in (1, n) or repeats.ndim > 1:
        raise ValueError(f"{name}: repeats must have 1 or {n} elements, got {repeats.shape}")

    def numbers(counts: Node) -> Node:
        """Return how many slices end before each place."""
        each = nodes.broadcast_to(cast(counts, "int64"), (n,))
        ends = CUMSUM(each, axis=0, is_reversed=False)
        n_ends = SCATTER_ADD(full(1, (n,), "int64"), ends, axis=0, shape=(output_size,))
        return CUMSUM(n_ends, axis=0, is_reversed=False)

    index = computed(numbers, repeats)
    aligned = tuple(output_size if a == axis else 1 for a in range(input.ndim))
    return selected(input, views.reshape(index, aligned), axis)


def repeat_interleave(
    input: Tensor,
    repeats: int | dpnp.ndarray,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Repeat elements, or slices along an axis.

    Parameters
    ----------
    input : array of any shape and dtype
    repeats : int or array of int32 or int64
        Repetitions, the same for all or one per slice.
    dim : int, optional
        By default the array is flattened.
    output_size : int, optional
        The sum of an array ``repeats``. Without it the sum is read, which waits for the device and
        is impossible in a trace.
    out : dpnp.ndarray or Array, optional
        Overwritten and returned.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        There is no such axis, or ``repeats`` does not match it.
    TypeError
        ``repeats`` is not an integer, or is traced without ``output_size``.

    Notes
    -----
    Gradients of the copies are summed. Source: ``torch.repeat_interleave``.
    """
    if not isinstance(repeats, (int, dpnp.ndarray)):
        kind = type(repeats).__name__
        raise TypeError(f"repeat_interleave: repeats must be an int or an array, got {kind}")
    if output_size is None and not isinstance(repeats, int):
        counts = repeats
        if isinstance(repeats, Tensor):
            refusal = "repeat_interleave: output_size must be given inside a compiled function"
            counts = value_of("repeat_interleave", repeats, refusal)
        length = input.shape[dim] if dim is not None else math.prod(input.shape)
        output_size = int(counts.sum()) * (length if repeats.size == 1 else 1)
    keywords = {} if out is None else {"out": out}
    return _repeat_interleave(input, repeats, dim, output_size, **keywords)


@operation
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return coordinate arrays of a grid, one per axis.

    Parameters
    ----------
    *tensors : arrays (n_i,) or ()
        Coordinates along each axis.
    indexing : {"ij", "xy"}, optional
        ``"xy"`` exchanges the first two axes of the results; ``"ij"`` is the default.

    Returns
    -------
    tuple of arrays (n_0, n_1, ...)
        Copies.

    Raises
    ------
    ValueError
        An array has more than one axis, or ``indexing`` is unknown.

    Notes
    -----
    Source: ``torch.meshgrid``.
    """
    if indexing not in (None, "ij", "xy"):
        raise ValueError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    is_list = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    arrays = tensors[0] if is_list else tensors
    if any(t.ndim > 1 for t in arrays):
        shapes = ", ".join(str(t.shape) for t in arrays)
        raise ValueError(f"meshgrid: tensors must have at most one axis, got shapes {shapes}")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = tuple(arrays[i].size for i in order)
    results = []
    for position, x in enumerate(arrays):
        aligned = tuple(n if order[a] == position else 1 for a, n in enumerate(shape))
        results.append(spread(views.reshape(x, aligned), shape))
    return tuple(results)


@operation
def copied(input: Tensor, is_row_major: bool = False) -> Tensor:
    """Return a copy with the order of axes in memory that the array has, or row-major."""
    return views.row_major(input) if is_row_major else input
