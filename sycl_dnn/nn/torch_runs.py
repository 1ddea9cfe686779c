# SPDX-License-Identifier: Apache-2.0
"""torch functions of runs, counts and indices of elements, as compositions.

Results whose shapes depend on values wait for the device.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import SMOOTH
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.nn.torch_searches import searchsorted
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions


class Values(NamedTuple):
    """The result of ``mode``."""

    values: Any
    indices: Any


class Histogram(NamedTuple):
    """The result of ``histogram``."""

    hist: Any
    bin_edges: Any


def _begins(x: Any) -> Any:
    """Whether each element along the last axis differs from the one before it."""
    first = F.ones_like(F.narrow(x, -1, 0, 1), dtype="bool")
    n = x.shape[-1] - 1
    return F.cat([first, F.ne(F.narrow(x, -1, 1, n), F.narrow(x, -1, 0, n))], -1)


@described("named tuple (values, indices)", "There are no elements along the axis.", notes=SMOOTH)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Values:
    """Return the most frequent element along an axis, the smallest of several, and its index."""
    if not input.ndim:
        return Values(input, F.zeros(dtype="int64", device=input.device))
    if not input.shape[dim]:
        raise ValueError(f"mode: input must have elements along dim, got {tuple(input.shape)}")
    x = F.movedim(input, dim, -1)
    elements, order = F.sort(F.astype(x, "uint8") if str(x.dtype) == "bool" else x, -1)
    places = F.broadcast_to(F.arange(x.shape[-1], device=x.device), tuple(x.shape))
    firsts = F.cummax(F.where(_begins(elements), places, 0), -1).values
    longest = F.argmax(F.sub(places, firsts), -1, True)
    index = F.take_along_dim(order, longest, -1)
    results = (F.movedim(r, -1, dim) for r in (F.take_along_dim(x, index, -1), index))
    return Values(*(r if keepdim else F.squeeze(r, dim) for r in results))


@described(
    "array, or tuple of arrays\n    The values, and on request inverse and counts, of int64.",
    notes="",
    dim="int, optional\n    The axis of slices; elements are compared by default.",
    return_inverse="bool",
    return_counts="bool",
)
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return an array without elements, or slices along an axis, that equal the previous one.

    Also, on request, the numbers of their runs, and the lengths of these.
    """
    x = F.reshape(input, (-1 if input.size else 0,)) if dim is None else F.movedim(input, dim, 0)
    n = x.shape[0]
    if n:
        differs = F.ne(F.narrow(x, 0, 1, n - 1), F.narrow(x, 0, 0, n - 1))
        if x.ndim > 1:
            differs = F.any(F.reshape(differs, (n - 1, x.size // n)), 1)
        is_first = F.cat([F.ones(1, dtype="bool", device=x.device), differs])
    else:
        is_first = F.zeros(0, dtype="bool", device=x.device)
    starts = F.reshape(F.nonzero(is_first), (-1 if n else 0,))
    values = F.index_select(x, 0, starts)
    results = [values if dim is None else F.movedim(values, 0, dim)]
    if return_inverse:
        inverse = F.sub(F.cumsum(F.astype(is_first, "int64"), 0), 1)
        results.append(F.reshape(inverse, input.shape) if dim is None else inverse)
    if return_counts:
        results.append(F.diff(F.cat([starts, F.full((1,), n, dtype="int64", device=x.device)])))
    return tuple(results) if len(results) > 1 else results[0]


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Return all combinations of ``r`` elements of a vector, as rows.

    Parameters
    ----------
    input : array (n,)
        Any dtype.
    r : int
        Not negative.
    with_replacement : bool
        Whether an element may occur several times in a row.

    Returns
    -------
    array (number of combinations, r), or (0,) if ``r`` is 0
        dtype of ``input``, in the order of ``itertools``.

    Raises
    ------
    ValueError
        ``input`` has another number of axes, or ``r`` is negative.

    Notes
    -----
    Differentiable to any order. Source: ``torch.combinations``.
    """
    if input.ndim != 1:
        raise ValueError(f"combinations: input must have 1 axis, got shape {tuple(input.shape)}")
    if r < 0:
        raise ValueError(f"combinations: r must not be negative, got {r}")
    if not r:
        return F.narrow(input, 0, 0, 0)
    n = input.shape[0]
    if r == 2:
        index = np.stack(np.triu_indices(n, 0 if with_replacement else 1), 1)
    else:
        choose = (
            itertools.combinations_with_replacement if with_replacement else itertools.combinations
        )
        flat = itertools.chain.from_iterable(choose(range(n), r))
        index = np.fromiter(flat, np.int64).reshape(-1, r)
    if not index.size:
        return F.zeros(0, r, dtype=str(input.dtype), device=input.device)
    return F.take(input, F.tensor(index, dtype="int64", device=input.device))


@described(
    "tuple of arrays (*) of int64",
    "A size is negative.",
    types="The indices are not integers.",
    indices="array (*) of integers",
    shape="int or sequence of int",
)
def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Any, ...]:
    """Return the coordinates of flat indices in arrays of a shape."""
    if "int" not in str(indices.dtype):
        raise TypeError(f"unravel_index: indices must be integers, got {indices.dtype}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"unravel_index: shape must not have negative sizes, got {shape}")
    sizes = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    places = F.astype(indices, "int64")
    return tuple(
        F.remainder(F.div(places, size, rounding_mode="floor"), n)
        for size, n in zip(sizes, shape, strict=True)
    )


@described(
    "named tuple (hist, bin_edges)\n    Of shapes (n,) and (n + 1,).",
    "``bins``, ``range`` or ``weight`` is none of these.",
    notes="",
    bins="int, or array (n + 1,)\n    The number of intervals, or their ascending edges.",
    range="pair of float, optional\n    The ends, by default the extremes of ``input``.",
    weight="array (*), optional",
    density="bool",
)
def histogram(
    input: Any, bins: Any, *, range: Sequence[float] | None = None,  # noqa: A002 - torch's name
    weight: Any = None, density: bool = False,
) -> Histogram:  # fmt: skip
    """Return the number, or sum of weights, of elements between neighboring edges, and the edges.

    The last interval has both of its ends. With ``density`` the integral is 1.
    """
    x, dtype = F.reshape(input, (-1 if input.size else 0,)), str(input.dtype)
    if not dtypes.is_float(dtype):
        raise TypeError(f"histogram: input must have a floating-point dtype, got {dtype}")
    if hasattr(bins, "shape"):
        if bins.ndim != 1 or not bins.size or str(bins.dtype) != dtype or range is not None:
            rule = f"be edges (n,) of {dtype} without a range"
            raise ValueError(f"histogram: bins must {rule}, got {bins.dtype} {tuple(bins.shape)}")
        edges = bins
    else:
        edges = _edges(x, bins, range, dtype)
    n = edges.shape[0] - 1
    place = F.sub(searchsorted(edges, x, right=True), 1)
    place = F.where(F.eq(x, F.narrow(edges, 0, n, 1)), n - 1, place)
    # Those outside are counted in another one, as are NaN.
    is_inside = F.logical_and(F.ge(place, 0), F.lt(place, n))
    weights = F.ones_like(x) if weight is None else F.reshape(weight, x.shape)
    counts = F.zeros(n + 1, dtype=dtype, device=x.device)
    hist = F.narrow(F.index_add(counts, 0, F.where(is_inside, place, n), weights), 0, 0, n)
    if density:
        hist = F.div(hist, F.mul(F.sum(hist), F.diff(edges)))
    return Histogram(hist, edges)


def _edges(x: Any, bins: int, given: Sequence[float] | None, dtype: str) -> Any:
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"histogram: bins must be a positive integer or edges, got {bins!r}")
    if given is None:
        low, high = (float(v) for v in F.aminmax(x)) if x.size else (0.0, 1.0)
    else:
        low, high = (float(v) for v in given)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"histogram: range must be finite and ascending, got {low}, {high}")
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return F.linspace(low, high, bins + 1, dtype=dtype, device=x.device)


@described(
    "array (*)",
    "``reduce`` is another word, or ``index`` is no row for ``source``.",
    index="array (k,) of integers",
    source="array\n    The shape of ``input`` with k slices along the axis.",
    reduce='{"prod", "mean", "amax", "amin"}',
    include_self="bool\n    Whether elements of ``input`` are among those that are reduced.",
)
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Reduce slices along an axis by index: "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ValueError(f"index_reduce: reduce must be prod, mean, amax or amin, got {reduce!r}")
    if index.ndim > 1 or tuple(index.shape or (1,)) != tuple(
        (source.shape or (1,))[dim : dim + 1 or None]
    ):
        shapes = f"{tuple(index.shape)} and {tuple(source.shape)}"
        raise ValueError(f"index_reduce: index must be a row for source, got shapes {shapes}")
    if not input.ndim:
        index, source = (F.reshape(v, ()) for v in (index, source))
        return F.scatter_reduce(input, 0, index, source, reduce, include_self=include_self)
    aligned = [1] * source.ndim
    aligned[dim] = index.size
    wide = F.broadcast_to(F.reshape(index, aligned), tuple(source.shape))
    return F.scatter_reduce(input, dim, wide, source, reduce, include_self=include_self)


#: Those that are methods of arrays in torch, too.
functions.add_methods({
    "histogram": histogram, "index_reduce": index_reduce, "mode": mode,
    "unique_consecutive": unique_consecutive,
})  # fmt: skip
