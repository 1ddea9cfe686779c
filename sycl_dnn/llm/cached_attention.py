# SPDX-License-Identifier: Apache-2.0
"""Attention of new positions to the keys and values of a cache, which it updates."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.product.product import product
from sycl_dnn.kernels.attention_to_slots import Rotated, Scores, Slices, attention_to_slots
from sycl_dnn.llm.key_value_slots import Places
from sycl_dnn.llm.packed_matrices import dtype_of_many_rows
from sycl_dnn.llm.turned_heads import Turn
from sycl_dnn.nn.key_value_cache import write_slots

#: Number of new positions whose scores are computed together: they fit in a cache of 2 MB, and few
#: are for slots that all of these positions mask.
_POSITIONS = 128


def cached_attention(
    heads: list[Any], turn: Turn | None, cache: Any, places: Places, mask: Any, scores: Scores,
    kind: str,
) -> tuple[Any, Any]:  # fmt: skip
    """Return attention (N, T, H, D) and the updated cache.

    ``heads``: list of array (N, T, H, D), (N, T, key heads, D), (N, T, key heads, D), queries, keys
    and values before their rotary embedding. ``cache``: pair of arrays (N, key heads, S, D), if
    donated to the program, their memory is updated in place. ``mask``: array (N, 1, T * group, L),
    added to the scores of each group of heads that share keys; only L slots are read. ``kind``:
    kind of the matrices of the layer, if they are packed: with many rows the scores are products in
    the same dtype.
    """
    y, keys, values = _attention(tuple(heads), tuple(cache), places, mask, turn, scores, kind)
    return y, (keys, values)


@operation
def _attention(
    heads: Any, cache: Any, places: Any, mask: Any, turn: Any, scores: Scores, kind: str
) -> Any:
    (query, key, value), (keys, values), (first, starts, slots) = heads, cache, places
    trace = query.trace
    if trace.is_compiled and not trace.training and trace.policy.kernels != "never":
        rotated = None if turn is None else Rotated(*turn)
        slices = Slices(keys, values, first, starts)
        result = attention_to_slots(query, key, value, slices, rotated, scores)
        if result is not None:
            return result
    query, key, value = (F.permute(t, (0, 2, 1, 3)) for t in (query, key, value))
    if turn is not None:
        query, key = turn(query), turn(key)
    keys, values = (
        write_slots(old, F.astype(new, str(old.dtype)), slots)
        for old, new in ((keys, key), (values, value))
    )
    n_read = mask.shape[3]
    key, value = keys[:, :, :n_read], values[:, :, :n_read]
    result = attended(query, key, value, mask, scores, dtype_of_many_rows(query, kind))
    return result, keys, values


@operation
def attended(query: Any, key: Any, value: Any, mask: Any, scores: Scores, dtype: str) -> Any:
    """Return attention (N, T, H, D), in the dtype of ``query``.

    ``query``: array (N, H, T, D), of the last T of S positions, or of earlier ones. ``key``,
    ``value``: array (N, key heads, S, D). ``mask``: array (N, 1, T * group, S), float32. ``dtype``:
    of the matrix products; scores are float32.
    """
    n, heads, length, dim = query.shape
    n_keys, n_slots = key.shape[1:3]
    group = heads // n_keys
    # Interleave the query rows of the heads that share keys.
    rows: Any = F.permute(F.reshape(query, (n, n_keys, group, length, dim)), (0, 1, 3, 2, 4))
    rows = F.reshape(rows, (n, n_keys, length * group, dim))
    rows, key, value = (query.trace.convert(t, dtype) for t in (rows, key, value))
    parts: list[Any] = []
    for first in range(0, length, _POSITIONS):
        last = min(first + _POSITIONS, length)
        own, seen = slice(first * group, last * group), n_slots - length + last
        chunk_scores: Any = product(
            rows[:, :, own], F.transpose(key[:, :, :seen], 2, 3), dtype="float32"
        )
        if scores.cap is None:
            chunk_scores = F.mul(chunk_scores, scores.scale)
        else:
            chunk_scores = F.mul(F.tanh(F.mul(chunk_scores, scores.scale / scores.cap)), scores.cap)
        weights: Any = F.softmax(F.add(chunk_scores, mask[:, :, own, :seen]), -1)
        weights = query.trace.convert(weights, dtype)
        chunk: Any = product(weights, value[:, :, :seen], dtype=str(query.dtype))
        chunk = F.reshape(chunk, (n, n_keys, last - first, group, dim))
        parts.append(F.permute(chunk, (0, 2, 1, 3, 4)))
    return F.reshape(F.cat(parts, 1), (n, length, heads, dim))
