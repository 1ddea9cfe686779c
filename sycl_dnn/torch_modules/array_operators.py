# SPDX-License-Identifier: Apache-2.0
"""Operators of exported graphs that arrange, index, create, reduce and sort arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_compositions import diagonal_scatter, t
from sycl_dnn.nn.torch_searches import bucketize, searchsorted
from sycl_dnn.trace import functions
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
    "nanmedian", "nanquantile", "nansum", "quantile", "rot90", "scatter_reduce", "take", "trace",
    "prod", "sum", "arange", "eye", "full", "full_like", "histc", "linspace", "ones", "ones_like",
    "rand", "rand_like", "randn", "randn_like", "repeat_interleave", "zeros", "zeros_like",
)  # fmt: skip


def _slice(
    x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a function that writes to a part of an array, in the array's dtype."""
    return lambda x, source, *place: function(x, F.astype(source, str(x.dtype)), *place)


def _indexed(x: Any, indices: Sequence[Any]) -> Any:
    return x[tuple(slice(None) if i is None else i for i in indices)]


def _new(fill: float) -> Callable[..., Any]:
    """Return the row of ``new_zeros`` or ``new_ones``."""
    return lambda x, size, dtype=None: F.full(size, fill, dtype=dtype or str(x.dtype))


def _norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return F.norm(x if dtype is None else F.astype(x, dtype), p, dim, keepdim)


ROWS: dict[str, Callable[..., Any]] = {
    **{name: getattr(F, name) for name in _SAME},
    "bucketize": bucketize,
    "diagonal_scatter": diagonal_scatter,
    "empty": F.zeros,
    "empty_like": F.zeros_like,
    "index": _indexed,
    "linalg_vector_norm": _norm,
    "max": extreme("max", "maximum"),
    "meshgrid": lambda arrays, indexing="ij": F.meshgrid(*arrays, indexing=indexing),
    "min": extreme("min", "minimum"),
    "new_empty": _new(0),
    "new_full": lambda x, size, value, dtype=None: F.full(size, value, dtype=dtype or str(x.dtype)),
    "new_ones": _new(1),
    "new_zeros": _new(0),
    "norm": _norm,
    "repeat": F.tile,
    "scalar_tensor": lambda value, dtype=None: F.full((), value, dtype=dtype or "float32"),
    "searchsorted": searchsorted,
    "select_scatter": _written(F.select_scatter),
    "slice": _slice,
    "slice_scatter": _written(F.slice_scatter),
    "split_with_sizes": F.split,
    "std": spread("std"),
    "std_mean": spread("std_mean"),
    "sym_numel": lambda x: math.prod(x.shape),
    "sym_size": lambda x, dim: x.shape[dim],
    "t": t,
    "unfold": functions.method("unfold"),
    "unsafe_split": F.split,
    "var": spread("var"),
    "var_mean": spread("var_mean"),
    "view": F.reshape,
    "_unsafe_view": F.reshape,
    "_unsafe_index": _indexed,
}
