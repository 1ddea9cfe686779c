# SPDX-License-Identifier: Apache-2.0
"""Masks of attention as numbers that are added to the scores."""

from __future__ import annotations

import numpy as np

from sycl_dnn._core import algorithm
from sycl_dnn.dispatch.fused import IS_POSITIVE, LARGEST, chain, clip, scale
from sycl_dnn.dispatch.primitives import (
    add,
    binary,
    broadcast_to,
    expand_rank,
    filled,
    linear_map,
    mul,
    reduce,
    select,
)
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace
from sycl_dnn.dispatch.views import reshape, row_major

#: Stands for minus infinity: scores vanish beside it, yet its differences are numbers.
LOW = -1e30
#: Elements of the largest mask that a plan holds; larger ones are made in every call.
_KEPT = 2**17


def causal(trace: Trace, n_queries: int, n_keys: int, first: int = 0, groups: int = 1) -> Tensor:
    """Return (groups * L, S): query i of each group, counted from ``first``, sees keys up to i."""
    queries = np.tile(np.arange(first, first + n_queries), groups)[:, None]
    keys = np.arange(n_keys)[None]
    if groups * n_queries * n_keys <= _KEPT:
        return trace.literal(np.where(keys > queries, LOW, 0.0))
    of_keys, of_queries = (trace.literal(v.astype(np.float32)) for v in (keys, queries))
    return linear_map(binary(algorithm.binary_gt, of_keys, of_queries, "float32"), LOW)


def summand(attn_mask: Tensor) -> Tensor:
    """Return a mask (*, S) in float32: True is 0, False is ``LOW``, numbers are bounded by it."""
    mask, trace = attn_mask, attn_mask.trace
    if mask.dtype == "bool":
        shape = (1,) * mask.ndim
        return select(row_major(mask), filled(trace, 0.0, shape), filled(trace, LOW, shape))
    mask = trace.convert(mask, "float32")
    bounded = lambda: chain(row_major(mask), clip(LOW, LARGEST))  # noqa: E731
    return trace.closed({"mask": mask}, bounded, lambda dy: {"mask": dy})


def joined(
    trace: Trace, attn_mask: Tensor | None, is_causal: bool, size: tuple[int, int]
) -> Tensor:
    """Return what masks come to, (*, L, S)."""
    given = None if attn_mask is None else summand(attn_mask)
    if not is_causal:
        return broadcast_to(given, (*given.shape[:-2], *size))
    rule = causal(trace, *size)
    return rule if given is None else add(given, rule)


def per_score(mask: Tensor, batch: tuple[int, ...], groups: int) -> Tensor:
    """Return (*, L, S) as it lies on scores (*batch, groups * L, S), or broadcasts to them.

    ``groups`` neighbouring heads of a mask that has them lie one below the other.
    """
    rows, columns = mask.shape[-2:]
    mask = expand_rank(mask, len(batch) + 2)
    lead = mask.shape[:-2]
    if groups > 1:
        heads = lead[-1] // groups or 1
        apart = (*lead[:-1], heads, groups if lead[-1] > 1 else 1, rows, columns)
        full = (*apart[:-3], groups, rows, columns)
        mask = reshape(broadcast_to(reshape(mask, apart), full), (*lead[:-1], heads, -1, columns))
    return mask


def visible(mask: Tensor) -> Tensor:
    """Return (*, L, 1): 1 for the queries that see a key, else 0."""
    best = reduce(algorithm.reduction_max, mask, [mask.ndim - 1])
    return chain(best, scale(1.0, -LOW / 2), *IS_POSITIVE)


def hiding(x: Tensor, rows: Tensor) -> Tensor:
    """Return ``x`` with zeros in the rows where ``rows`` is 0."""
    trace = x.trace
    rows = trace.convert(rows, x.dtype)
    return trace.closed({"x": x}, lambda: mul(x, rows), lambda dy: {"x": mul(dy, rows)})
