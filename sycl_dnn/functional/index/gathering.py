# SPDX-License-Identifier: Apache-2.0
"""Indexed reads and writes: gather, take_along_dim, index_select, scatter, index_put."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.call.operation import operation, templated
from sycl_dnn.functional.arithmetic.comparison import where
from sycl_dnn.functional.arithmetic.operands import broadcasts_to, check_arrays
from sycl_dnn.functional.creation.factories import filled_in
from sycl_dnn.functional.index.selected import flat_index, selected, written
from sycl_dnn.functional.shape.arrangement import rearranged, spread
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.selection import pad
from sycl_dnn.trace import functions as F
from sycl_dnn.trace import indexing
from sycl_dnn.trace.pointwise import zeros
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, narrow, reshape, transpose

if TYPE_CHECKING:
    import dpnp

_INDICES = ("int32", "int64")


def check_index(name: str, argument: str, index: Any) -> Tensor:
    """Return the index; raise TypeError unless it is an integer array."""
    check_arrays(name, **{argument: index})
    if index.dtype not in _INDICES:
        raise TypeError(f"{name}: {argument} must be int32 or int64, got {index.dtype}")
    return index


def _check_index_shape(name: str, x: Tensor, axis: int, index: Tensor) -> None:
    """Raise ValueError unless an index has the rank of ``x`` and is not longer on other axes."""
    rest = [a for a in range(x.ndim) if a != axis]
    if index.ndim != x.ndim or any(index.shape[a] > x.shape[a] for a in rest):
        raise ValueError(
            f"{name}: index must have {x.ndim} axes, none but axis {axis} longer than that of "
            f"shape {x.shape}, got {index.shape}"
        )


def gathered(name: str, x: Tensor, axis: int, index: Tensor, **facts: bool) -> Tensor:
    """Select elements along an axis by an index of the same rank; facts as of ``selected``."""
    if not index.size:
        return zeros(x.trace, index.shape, x.dtype)
    if not x.ndim:
        x, shape = reshape(x, (1,)), index.shape
        return reshape(gathered(name, x, 0, reshape(index, (1,)), **facts), shape)
    _check_index_shape(name, x, axis, index)
    if not x.size:
        raise ValueError(f"{name}: input must have elements to choose, got shape {x.shape}")
    for other, n in enumerate(index.shape):
        if other != axis and n < x.shape[other]:
            x = narrow(x, other, 0, n)
    return selected(x, index, axis, **facts)


@operation
def gather(input: Tensor, dim: int, index: dpnp.ndarray, *, sparse_grad: bool = False) -> Tensor:
    """Select elements along an axis: ``out[i, j, k] = input[i, index[i, j, k], k]`` for ``dim=1``.

    Parameters
    ----------
    input : array of any shape and dtype
    dim : int
    index : array of int32 or int64
        Same rank as ``input``; only axis ``dim`` may be longer.
    sparse_grad : bool
        Ignored: gradients are dense.

    Returns
    -------
    array
        Shape of ``index``, dtype of ``input``.

    Raises
    ------
    TypeError
        ``index`` is not an integer array.
    ValueError
        The shapes do not match.

    Notes
    -----
    The host does not read the index: out-of-range entries give NaN, or 0 for integers.
    Differentiable to any order. Source: ``torch.gather``.
    """
    index = check_index("gather", "index", index)
    return gathered("gather", input, check_axis("gather", dim, input.ndim), index)


@operation
def take_along_dim(input: Tensor, indices: dpnp.ndarray, dim: int | None = None) -> Tensor:
    """Select elements along an axis by indices such as those of ``argsort`` and ``argmax``.

    Parameters
    ----------
    input : array of any shape and dtype
    indices : array of int32 or int64
        Broadcasts with ``input`` except along ``dim``; negative ones count from the end.
    dim : int, optional
        By default both arrays are flattened.

    Returns
    -------
    array
        Same dtype as ``input``.

    Raises
    ------
    TypeError
        ``indices`` is not an integer array.
    ValueError
        The shapes do not match.

    Notes
    -----
    As ``gather``. Source: ``torch.take_along_dim``.
    """
    name = "take_along_dim"
    indices = check_index(name, "indices", indices)
    if dim is None:
        flat = reshape(input, (input.size,))
        return gathered(name, flat, 0, reshape(indices, (indices.size,)), wraps=True)
    axis = check_axis(name, dim, input.ndim)
    if indices.ndim != input.ndim:
        raise ValueError(f"{name}: indices must have {input.ndim} axes, got {indices.shape}")
    shapes = [(*t.shape[:axis], 1, *t.shape[axis + 1 :]) for t in (input, indices)]
    try:
        rest = broadcast_shape(*shapes)
    except ValueError:
        raise ValueError(
            f"{name}: indices must broadcast with shape {input.shape} but for axis {axis}, got "
            f"{indices.shape}"
        ) from None
    x, index = (
        spread(t, (*rest[:axis], t.shape[axis], *rest[axis + 1 :])) for t in (input, indices)
    )
    return gathered(name, x, axis, index, wraps=True)


@operation
def index_select(input: Tensor, dim: int, index: dpnp.ndarray) -> Tensor:
    """Select slices along an axis by index.

    Parameters
    ----------
    input : array (*A, n, *B)
        Any dtype.
    dim : int
    index : array (m,) of int32 or int64
        Negative indices count from the end.

    Returns
    -------
    array (*A, m, *B)

    Raises
    ------
    TypeError
        ``index`` is not an integer array.
    ValueError
        ``index`` has more than one axis, or there is no axis ``dim``.

    Notes
    -----
    The host does not read the index: out-of-range entries give NaN, or 0 for integers.
    Differentiable to any order. Source: ``torch.index_select``.
    """
    index = check_index("index_select", "index", index)
    axis = check_axis("index_select", dim, input.ndim)
    if index.ndim > 1:
        raise ValueError(f"index_select: index must have at most one axis, got {index.shape}")
    x = input if input.ndim else reshape(input, (1,))
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    if not math.prod(shape):
        return zeros(x.trace, shape, x.dtype)
    if not x.shape[axis]:
        raise ValueError(f"index_select: input must have slices to choose, got shape {x.shape}")
    aligned = tuple(index.size if a == axis else 1 for a in range(x.ndim))
    result = selected(x, reshape(index, aligned), axis, wraps=True)
    return result if input.ndim else reshape(result, ())


# --- Indexed writes


def values_like(name: str, argument: str, x: Tensor, value: Any, shape: tuple[int, ...]) -> Tensor:
    """Return the values to write: an array of the dtype of ``x``, or an expanded number."""
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float)):
            kind = type(value).__name__
            raise TypeError(f"{name}: {argument} must be an array or a number, got {kind}")
        return filled_in(x.trace, name, shape, value, str(x.dtype))
    if value.dtype != x.dtype:
        raise TypeError(f"{name}: {argument} must have dtype {x.dtype}, got {value.dtype}")
    return value


def aligned(
    name: str, x: Tensor, dim: Any, index: Any, src: Any
) -> tuple[int, Tensor, Tensor] | None:
    """Return the axis, and an index and values as long as ``x`` on other axes; None if empty."""
    axis = check_axis(name, dim, x.ndim)
    index = check_index(name, "index", index)
    values = values_like(name, "src", x, src, index.shape)
    is_covered = values.ndim == index.ndim and all(
        n <= m for n, m in zip(index.shape, values.shape, strict=True)
    )
    if not is_covered:
        raise ValueError(
            f"{name}: src must be as long as index, of shape {index.shape}, got {values.shape}"
        )
    if not (index.size and x.size):
        return None
    values = indexing.taken(values, tuple(slice(n) for n in index.shape)) if index.ndim else values
    x, index, values = (t if t.ndim else reshape(t, (1,)) for t in (x, index, values))
    _check_index_shape(name, x, axis, index)
    # An index shorter than ``x`` is padded with out-of-range entries, which write nothing.
    widths = [(0, 0 if a == axis else n - m) for a, (n, m) in enumerate(_sizes(x, index))]
    if any(after for _, after in widths):
        index = computed(lambda node: pad(node, widths, -1), index)
        values = rearranged(values, lambda node: pad(node, widths))
    return axis, index, values


def scattered(name: str, x: Tensor, dim: Any, index: Any, src: Any, accumulate: bool) -> Tensor:
    """Return ``x`` with ``src`` written or added at ``index`` along an axis."""
    parts = aligned(name, x, dim, index, src)
    if parts is None:
        return x
    axis, index, values = parts
    whole = x if x.ndim else reshape(x, (1,))
    return reshape(written(whole, values, index, axis, is_added=accumulate), x.shape)


def _sizes(x: Tensor, index: Tensor) -> zip[tuple[int, int]]:
    return zip(x.shape, index.shape, strict=True)


_SCATTER = """{summary}

Parameters
----------
input : array of any shape and dtype
    Not written to; the result is a new array.
dim : int
index : array of int32 or int64
    Same rank as ``input``; only axis ``dim`` may be longer.
src : array{number}
    Same dtype as ``input``; no axis may be shorter than that of ``index``.

Returns
-------
array
    Shape and dtype of ``input``.

Raises
------
TypeError
    ``index`` is not an integer array, or ``src`` has another dtype.
ValueError
    The shapes do not match.

Notes
-----
The host does not read the index; out-of-range entries are ignored. {notes} Differentiable to any
order. Source: ``torch.{name}``.
"""


@operation
@templated(
    _SCATTER, number=" or number",
    notes="If several\nare for one element, one is kept, and has the gradient.",
)  # fmt: skip
def scatter(
    input: Tensor, dim: int, index: dpnp.ndarray, src: Tensor | float, *, reduce: str | None = None
) -> Tensor:
    """Write elements by index: ``out[i, index[i, j, k], k] = src[i, j, k]`` for ``dim=1``.

    ``reduce`` of "add" or "multiply" applies them to the elements instead.
    """
    if reduce is None:
        return scattered("scatter", input, dim, index, src, False)
    if reduce not in ("add", "multiply"):
        raise ValueError(f"scatter: reduce must be None, 'add' or 'multiply', got {reduce!r}")
    if not isinstance(src, Tensor):
        check_index("scatter", "index", index)
        src = F.full(index.shape, src, dtype=input.dtype)
    of = "sum" if reduce == "add" else "prod"
    return F.scatter_reduce(input, dim, index, src, of)


@operation
@templated(_SCATTER, number="", notes="bfloat16\nand float16 are added in float32.")
def scatter_add(input: Tensor, dim: int, index: dpnp.ndarray, src: Tensor) -> Tensor:
    """Add elements by index: ``out[i, index[i, j, k], k] += src[i, j, k]`` for ``dim=1``."""
    if input.dtype == "bool":
        raise TypeError("scatter_add: input must not be bool")
    return scattered("scatter_add", input, dim, index, src, True)


def _masked(x: Tensor, mask: Tensor, values: Any, accumulate: bool) -> Any:
    tail = x.shape[mask.ndim :]
    rows = values.shape[: max(values.ndim - len(tail), 0)]
    if mask.shape != x.shape[: mask.ndim] or len(rows) > 1 or not broadcasts_to(
        values.shape, (*rows, *tail)
    ):  # fmt: skip
        raise ValueError(
            "index_put: a mask must have the first axes of input, and values must broadcast to its "
            f"elements and the other axes, got shapes {mask.shape} and {values.shape}"
        )
    if rows and rows[0] != 1:  # the k-th row is for the k-th true element
        places = F.clamp(F.cumsum(reshape(mask, (-1,)), 0) - 1, min=0)
        values = reshape(F.index_select(values, 0, places), (*mask.shape, *values.shape[1:]))
    elif rows:
        values = reshape(values, values.shape[1:])
    mask = reshape(mask, (*mask.shape, *(1,) * len(tail)))
    return where(mask, F.add(x, values) if accumulate else values, x)


@operation
def index_put(
    input: Tensor, indices: Sequence[dpnp.ndarray | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write or add values at indices: ``input[indices] = values``.

    Parameters
    ----------
    input : array of any shape and dtype
        Not modified; the result is a new array.
    indices : sequence of arrays of int32 or int64, or None
        One for each leading axis, which broadcast together; negative indices count from the end,
        and None selects a whole axis. Alternatively one bool array over the leading axes of
        ``input``.
    values : array
        Same dtype as ``input``; broadcasts to ``input[indices]``. Of a bool array the number of
        true elements is not compared with its rows: those that lack one become NaN (integers 0).
    accumulate : bool
        Whether to add values for the same element; if not, an unspecified one is written.

    Returns
    -------
    array
        Shape and dtype of ``input``.

    Raises
    ------
    TypeError
        ``indices`` are not integer arrays, or ``values`` has another dtype.
    ValueError
        The shapes do not match.

    Notes
    -----
    The host does not read the indices; out-of-range ones are ignored. Differentiable to any order.
    Source: ``torch.index_put``.
    """
    name = "index_put"
    if not isinstance(indices, (tuple, list)) or all(i is None for i in indices):
        raise TypeError(f"{name}: indices must be a sequence with an array, got {indices!r}")
    values = values_like(name, "values", input, values, ())
    if len(indices) == 1 and isinstance(indices[0], Tensor) and indices[0].dtype == "bool":
        return _masked(input, indices[0], values, accumulate)
    if len(indices) > input.ndim:
        raise ValueError(
            f"{name}: indices must be at most {input.ndim}, one for each axis, got {len(indices)}"
        )
    if accumulate and input.dtype == "bool":
        raise TypeError(f"{name}: input must not be bool with accumulate")
    indexed = [a for a, i in enumerate(indices) if i is not None]
    arrays = [check_index(name, f"indices[{a}]", indices[a]) for a in indexed]
    return _put(input, indexed, arrays, values, accumulate)


def _put(
    x: Tensor, indexed: list[int], arrays: list[Tensor], values: Tensor, accumulate: bool
) -> Tensor:
    """Write values at indices along the axes ``indexed``, which are moved to the front."""
    rest = [a for a in range(x.ndim) if a not in indexed]
    flat_indices = flat_index(x.trace, arrays, [x.shape[a] for a in indexed])
    tail = tuple(x.shape[a] for a in rest)
    # Adjacent indexed axes keep their place, others move to the front, as in ``x[indices]``.
    is_adjacent = indexed == list(range(indexed[0], indexed[-1] + 1))
    first, count = indexed[0] if is_adjacent else 0, flat_indices.ndim
    target_shape = (*tail[:first], *flat_indices.shape, *tail[first:])
    if not broadcasts_to(values.shape, target_shape):
        raise ValueError(f"index_put: values must broadcast to {target_shape}, got {values.shape}")
    if not (flat_indices.size and x.size):
        return x
    order = [*range(first, first + count), *range(first), *range(first + count, len(target_shape))]
    rows = transpose(spread(values, target_shape), order)
    width = math.prod(tail)
    moved = transpose(x, (*indexed, *rest))
    result = written(
        reshape(moved, (x.size // width, width)),
        reshape(rows, (flat_indices.size, width)),
        reshape(flat_indices, (flat_indices.size, 1)),
        0,
        is_added=accumulate,
    )
    inverse = [(*indexed, *rest).index(a) for a in range(x.ndim)]
    return transpose(reshape(result, moved.shape), inverse)
