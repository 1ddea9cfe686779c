# SPDX-License-Identifier: Apache-2.0
"""Operators of exported graphs that arrange, index, create, reduce and sort arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_compositions import diagonal_scatter
from sycl_dnn.nn.torch_searches import bucketize, searchsorted
from sycl_dnn.trace.torch_methods import extreme, spread

#: Operators with the same arguments as the function of the same name.
_SAME = (
    "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "broadcast_to", "cat", "chunk",
    "cumprod", "cumsum", "diagonal", "expand", "flatten", "flip", "gather", "index_add",
    "index_put", "index_select", "logsumexp", "mean", "movedim", "narrow", "permute",
    "pixel_shuffle", "pixel_unshuffle", "reshape", "roll", "scatter", "scatter_add", "select",
    "sort", "split", "squeeze", "stack", "take_along_dim", "topk", "transpose", "tril", "triu",
    "unbind", "unflatten", "unsqueeze", "channel_shuffle", "swapaxes", "aminmax", "count_nonzero",
    "cross", "diff", "index_copy", "index_fill", "kthvalue", "masked_scatter", "median", "nanmean",
    "nanmedian", "nanquantile", "nansum", "quantile", "rot90", "scatter_reduce", "select_scatter",
    "slice_scatter", "take", "trace", "prod", "sum",
)  # fmt: skip
#: torch's marker for the end of an axis.
_END = 2**62


def _window(x: Any, dim: int, start: int | None, end: int | None) -> tuple[int, int, int]:
    """Return a nonnegative axis and the bounds of a slice within it."""
    dim %= x.ndim
    stop = None if end is None or end >= _END else end
    first, last, _ = slice(start, stop).indices(x.shape[dim])
    return dim, first, max(first, last)


def _slice(
    x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    dim, first, last = _window(x, dim, start, end)
    return x[(slice(None),) * dim + (slice(first, last, step),)]


def _slice_written(
    x: Any, source: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    dim, first, last = _window(x, dim, start, end)
    source = F.astype(source, str(x.dtype))
    if step == 1:
        n_after = x.shape[dim] - last
        parts = [F.narrow(x, dim, 0, first), source, F.narrow(x, dim, last, n_after)]
        nonempty = [p for p in parts if p.shape[dim]]
        return F.cat(nonempty, dim) if len(nonempty) > 1 else nonempty[0]
    rows = F.arange(first, last, step)
    shape = [1] * x.ndim
    shape[dim] = -1
    is_written = F.index_add(F.zeros(x.shape[dim]), 0, rows, F.ones(len(range(first, last, step))))
    written = F.index_add(F.zeros_like(x), dim, rows, source)
    return F.where(F.gt(F.reshape(is_written, shape), 0), written, x)


def _element_written(x: Any, source: Any, dim: int, index: int) -> Any:
    index %= x.shape[dim]
    return _slice_written(x, F.unsqueeze(source, dim), dim, index, index + 1)


def _indexed(x: Any, indices: Sequence[Any], *_: Any) -> Any:
    return x[tuple(slice(None) if i is None else i for i in indices)]


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    """Return the windows along an axis, as a new last axis."""
    dim %= x.ndim
    n = (x.shape[dim] - size) // step + 1
    index = F.add(F.reshape(F.arange(0, n * step, step), (n, 1)), F.arange(size))
    elements = F.index_select(x, dim, F.reshape(index, (n * size,)))
    return F.movedim(F.unflatten(elements, dim, (n, size)), dim + 1, -1)


def _kind(x: Any, dtype: str | None) -> str:
    return str(x.dtype) if dtype is None else dtype


def _new(fill: float) -> Callable[..., Any]:
    """Return the row of ``zeros`` or ``ones``."""

    def row(size: Any, *_: Any, dtype: str | None = None, **options: Any) -> Any:
        return F.full(size, fill, dtype=dtype or "float32")

    return row


def _new_like(fill: float) -> Callable[..., Any]:
    def row(x: Any, *_: Any, dtype: str | None = None, **options: Any) -> Any:
        return F.full_like(x, fill, dtype=_kind(x, dtype))

    return row


def _new_of(fill: float) -> Callable[..., Any]:
    def row(x: Any, size: Any, *_: Any, dtype: str | None = None, **options: Any) -> Any:
        return F.full(size, fill, dtype=_kind(x, dtype))

    return row


def _full(size: Any, value: Any, dtype: str | None = None, **options: Any) -> Any:
    usual = "bool" if isinstance(value, bool) else "int64"
    return F.full(size, value, dtype=dtype or ("float32" if isinstance(value, float) else usual))


def _range(*limits: Any, dtype: str | None = None, **options: Any) -> Any:
    is_float = any(isinstance(v, float) for v in limits)
    return F.arange(*limits, dtype=dtype or ("float32" if is_float else "int64"))


def _random(draw: Callable[..., Any]) -> Callable[..., Any]:
    def row(what: Any, *_: Any, dtype: str | None = None, **options: Any) -> Any:
        return draw(what, dtype=dtype)

    return row


def _norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return F.norm(x if dtype is None else F.astype(x, dtype), p, dim, keepdim)


def _sorted(x: Any, dim: int = -1, descending: bool = False, **options: Any) -> Any:
    return F.sort(x, dim, descending)


def _scattered(x: Any, dim: int, index: Any, source: Any, **options: Any) -> Any:
    if isinstance(source, (int, float)):
        source = F.full(index.shape, source, dtype=str(x.dtype))
    return F.scatter(x, dim, index, source)


def _histogram(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Count the elements of each of the intervals, which all but the last exclude their ends."""
    if not min < max:
        raise NotImplementedError(f"from_torch: histc needs min < max, got {min} and {max}")
    x = F.unsqueeze(F.flatten(x), 1)
    bin_index = F.floor(F.mul(F.div(F.sub(x, min), max - min), bins))
    bin_index = F.where(F.eq(x, max), bins - 1.0, bin_index)
    return F.astype(F.sum(F.eq(bin_index, F.arange(bins)), 0), str(x.dtype))


def _search(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a search in a sorted vector."""

    def row(a: Any, b: Any, out_int32: bool = False, right: bool = False, **options: Any) -> Any:
        if options.get("sorter") is not None:
            raise NotImplementedError("from_torch: searchsorted with a sorter is not supported")
        result = function(a, b, right=right or options.get("side") == "right")
        return F.astype(result, "int32") if out_int32 else result

    return row


ROWS: dict[str, Callable[..., Any]] = {
    **{name: getattr(F, name) for name in _SAME},
    "arange": _range,
    "bucketize": _search(bucketize),
    "diagonal_scatter": diagonal_scatter,
    "empty": _new(0),
    "empty_like": _new_like(0),
    "eye": lambda n, *m, dtype=None, **_: F.eye(n, *m, dtype=dtype or "float32"),
    "full": _full,
    "full_like": lambda x, value, dtype=None, **_: F.full_like(x, value, dtype=_kind(x, dtype)),
    "histc": _histogram,
    "index": _indexed,
    "linalg_vector_norm": _norm,
    "linspace": lambda a, b, n, dtype=None, **_: F.linspace(a, b, n, dtype=dtype or "float32"),
    "max": extreme("max", "maximum"),
    "meshgrid": lambda arrays, indexing="ij": F.meshgrid(*arrays, indexing=indexing),
    "min": extreme("min", "minimum"),
    "new_empty": _new_of(0),
    "new_full": lambda x, size, value, dtype=None, **_: F.full(size, value, dtype=_kind(x, dtype)),
    "new_ones": _new_of(1),
    "new_zeros": _new_of(0),
    "norm": _norm,
    "ones": _new(1),
    "ones_like": _new_like(1),
    "rand": _random(F.rand),
    "rand_like": _random(F.rand_like),
    "randn": _random(F.randn),
    "randn_like": _random(F.randn_like),
    "repeat": F.tile,
    "repeat_interleave": lambda x, n, dim=None, **_: F.repeat_interleave(x, n, dim),
    "scalar_tensor": lambda value, dtype=None, **_: _full((), value, dtype),
    "scatter": _scattered,
    "searchsorted": _search(searchsorted),
    "select_scatter": _element_written,
    "slice": _slice,
    "slice_scatter": _slice_written,
    "sort": _sorted,
    "split_with_sizes": F.split,
    "std": spread("std"),
    "std_mean": spread("std_mean"),
    "sym_numel": lambda x: math.prod(x.shape),
    "sym_size": lambda x, dim: x.shape[dim],
    "t": lambda x: x if x.ndim < 2 else F.transpose(x, 0, 1),
    "unfold": _windows,
    "unsafe_split": F.split,
    "var": spread("var"),
    "var_mean": spread("var_mean"),
    "view": F.reshape,
    "zeros": _new(0),
    "zeros_like": _new_like(0),
    "_unsafe_view": F.reshape,
    "_unsafe_index": _indexed,
}
