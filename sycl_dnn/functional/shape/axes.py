# SPDX-License-Identifier: Apache-2.0
"""rot90, movedim, swapaxes, unbind, select, hstack, vstack, diagonal and diag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn.call.operation import named, operation, templated
from sycl_dnn.functional.arithmetic.comparison import where
from sycl_dnn.functional.creation.factories import eye
from sycl_dnn.functional.shape.arrangement import flip, roll
from sycl_dnn.functional.shape.joining import cat, check_tensors, pieces
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.functional.shape.reshaping import check_axes, check_axis, checked_int, transpose
from sycl_dnn.trace import views
from sycl_dnn.trace.values import Tensor


@operation
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate ``k`` times by 90 degrees, from the first towards the second of two axes.

    Parameters
    ----------
    input : array of two or more axes
    k : int
    dims : sequence of two int

    Returns
    -------
    array

    Raises
    ------
    ValueError
        ``dims`` are not two different axes.

    Notes
    -----
    Source: ``torch.rot90``.
    """
    axes = check_axes("rot90", dims, input.ndim)
    if len(set(axes)) != 2 or len(axes) != 2:
        raise ValueError(f"rot90: dims must be two different axes, got {tuple(dims)}")
    turns, (first, second) = k % 4, axes
    flipped = [[], [second], [first, second], [first]][turns]
    result = flip(input, flipped) if flipped else input
    return transpose(result, first, second) if turns % 2 else result


@operation
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Split an array into the slices along an axis.

    Parameters
    ----------
    input : array (*A, n, *B)
    dim : int

    Returns
    -------
    tuple of n arrays (*A, *B)
        Copies; views in a traced function.

    Raises
    ------
    ValueError
        There is no such axis.

    Notes
    -----
    Source: ``torch.unbind``.
    """
    axis = _checked_axis("unbind", dim, input)
    shape = (*input.shape[:axis], *input.shape[axis + 1 :])
    parts = pieces(input, axis, [1] * input.shape[axis])
    return tuple(views.reshape(part, shape) for part in parts)


def _checked_axis(name: str, dim: int, x: Tensor) -> int:
    if not x.ndim:
        raise ValueError(f"{name}: input must have an axis, got shape ()")
    return check_axis(name, dim, x.ndim)


_VIEW = """{summary}

Parameters
----------
input : {array}
{parameters}
Returns
-------
{returns}
    A copy; inside a traced function a view.

Raises
------
ValueError
    {error}.

Notes
-----
Source: ``torch.{name}``.
"""
_ANY = "array of any shape and dtype"


@operation
@templated(
    _VIEW,
    array="array (*A, n, *B)",
    returns="array (*A, *B)",
    error="There is no such axis or slice",
)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return one slice along an axis, without that axis.

    dim : int
    index : int
        Negative counts from the end.
    """
    axis = _checked_axis("select", dim, input)
    n = input.shape[axis]
    start = checked_int("select", "index", index, -n)
    if start >= n:
        raise ValueError(f"select: index must be less than {n}, got {start}")
    result = views.narrow(input, axis, start % n, 1)
    return views.reshape(result, (*input.shape[:axis], *input.shape[axis + 1 :]))


@operation
@templated(
    _VIEW,
    array=_ANY,
    returns="array",
    error="There is no such axis, one is repeated, or the lengths differ",
)
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move axes to other positions; the others keep their order.

    source : int or sequence of int
    destination : int or sequence of int
        Destination of each ``source`` axis.
    """
    sources = check_axes("movedim", source, input.ndim, "source")
    destinations = check_axes("movedim", destination, input.ndim, "destination")
    counts = {len(axes) for axes in (sources, destinations, set(sources), set(destinations))}
    if len(counts) > 1:
        raise ValueError(
            f"movedim: source and destination must name as many axes, each once, got {source} and "
            f"{destination}"
        )
    order = [a for a in range(input.ndim) if a not in sources]
    for position, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(position, axis)
    return views.transpose(input, order) if input.ndim else input


@operation
@templated(_VIEW, array=_ANY, returns="array", error="There is no such axis")
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Exchange two axes; alias of ``transpose``.

    axis0, axis1 : int
    """
    return transpose(input, axis0, axis1)


_STACKED = """Concatenate arrays along the {which} axis.

Parameters
----------
tensors : list of arrays
    {fewer}

Returns
-------
array
    The promoted dtype.

Raises
------
ValueError
    There are no arrays, or they differ in another axis.

Notes
-----
Source: ``torch.{name}``.
"""


def _stacked(name: str, position: str, note: str, min_rank: int) -> Any:
    def call(tensors: Sequence[Tensor]) -> Tensor:
        check_tensors(name, tensors)
        expanded = [views.expand_rank(t, max(t.ndim, min_rank)) for t in tensors]
        return cat(expanded, int(name == "hstack" and expanded[0].ndim > 1))

    return operation(named(call, name, _STACKED.format(name=name, which=position, fewer=note)))


hstack = _stacked("hstack", "second", "1-d arrays are concatenated along their only axis.", 1)
vstack = _stacked("vstack", "first", "(n,) counts as (1, n).", 2)


# --- Diagonals


@operation
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a diagonal of two axes as the last axis.

    Parameters
    ----------
    input : array of at least two axes
    offset : int
        Positive: above the main diagonal.
    dim1, dim2 : int

    Returns
    -------
    array
        A copy.

    Raises
    ------
    ValueError
        There are no such axes, or they are equal.

    Notes
    -----
    Source: ``torch.diagonal``.
    """
    rows, columns = (check_axis("diagonal", d, input.ndim, n)
                     for n, d in (("dim1", dim1), ("dim2", dim2)))  # fmt: skip
    if rows == columns:
        raise ValueError(f"diagonal: dim1 and dim2 must differ, got {dim1} and {dim2}")
    offset = checked_int("diagonal", "offset", offset)
    rest = [a for a in range(input.ndim) if a not in (rows, columns)]
    x = views.transpose(input, [*rest, rows, columns])
    n, m = x.shape[-2:]
    first_row, first_column = max(-offset, 0), max(offset, 0)
    length = max(min(n - first_row, m - first_column), 0)
    flat = views.reshape(x, (*x.shape[:-2], n * m))
    start = first_row * m + first_column if length else 0
    return views.narrow(flat, flat.ndim - 1, start, length, m + 1)


_diagonal = diagonal


@operation
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with a vector on its diagonal.

    Parameters
    ----------
    input : array (n, m), or (n,)
    diagonal : int
        Positive: above the main diagonal.

    Returns
    -------
    array (k,), or a square array with zeros elsewhere

    Raises
    ------
    ValueError
        ``input`` has a different number of axes.

    Notes
    -----
    Source: ``torch.diag``.
    """
    if input.ndim == 2:
        return _diagonal(input, diagonal)
    if input.ndim != 1:
        raise ValueError(f"diag: input must have 1 or 2 axes, got shape {input.shape}")
    offset = checked_int("diag", "diagonal", diagonal)
    size = input.size + abs(offset)
    is_diagonal = eye(size, dtype="bool")
    if offset:
        before, after = (offset, 0) if offset > 0 else (0, -offset)
        is_diagonal = roll(is_diagonal, offset, 1)
        input = pad(input, (before, after))
    return where(is_diagonal, input, input.dtype != "bool" and 0)
