# SPDX-License-Identifier: Apache-2.0
"""Attention of new positions to the keys and values of a cache, which it updates."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.kernels.attention_to_slots import Rotated, Scores, Slices, attention_to_slots
from sycl_dnn.llm.key_value_slots import Places
from sycl_dnn.llm.turned_heads import Turn
from sycl_dnn.nn.key_value_cache import write_slots


def cached_attention(
    heads: list[Any], turn: Turn | None, cache: Any, places: Places, mask: Any, scores: Scores
) -> tuple[Any, Any]:
    """Return attention (N, T, H, D) and the updated cache.

    Parameters
    ----------
    heads : list of array (N, T, H, D), (N, T, key heads, D), (N, T, key heads, D)
        Queries, keys and values before their rotary embedding.
    turn : Turn, optional
    cache : pair of arrays (N, key heads, S, D)
        If donated to the program, their memory is updated in place.
    places : Places
    mask : array (N, 1, group * T, S)
        Added to the scores of each group of heads that share keys.
    scores : Scores
    """
    given = (None, None, 0) if turn is None else turn
    y, keys, values = _attention(*heads, *cache, *places, mask, *given, *scores)
    return y, (keys, values)


@operation
def _attention(
    query: Any, key: Any, value: Any, keys: Any, values: Any, first: Any, starts: Any, slots: Any,
    mask: Any, cos: Any, sin: Any, n_pairs: int, scale: float, cap: float | None,
    window: int | None,
) -> Any:  # fmt: skip
    trace = query.trace
    turn, scores = None if cos is None else Turn(cos, sin, n_pairs), Scores(scale, cap, window)
    if trace.is_compiled and not trace.training and trace.policy.kernels != "never":
        rotated = None if turn is None else Rotated(*turn)
        slices = Slices(keys, values, first, starts)
        made = attention_to_slots(query, key, value, slices, rotated, scores)
        if made is not None:
            return made
    query, key, value = (F.permute(t, (0, 2, 1, 3)) for t in (query, key, value))
    if turn is not None:
        query, key = turn(query), turn(key)
    keys, values = (
        write_slots(old, F.astype(new, str(old.dtype)), slots)
        for old, new in ((keys, key), (values, value))
    )
    key, value = (F.astype(t, str(query.dtype)) for t in (keys, values))
    return F.permute(attended(query, key, value, mask, scores), (0, 2, 1, 3)), keys, values


def attended(query: Any, key: Any, value: Any, mask: Any, scores: Scores) -> Any:
    """Return attention (N, H, T, D) to keys and values (N, key heads, S, D).

    Parameters
    ----------
    query : array (N, H, T, D)
    key, value : array (N, key heads, S, D)
    mask : array (N, 1, group * T, S)
    scores : Scores
    """
    # Stack the query rows of adjacent heads that share keys.
    shape = query.shape
    query = F.reshape(query, (shape[0], key.shape[1], -1, shape[3]))
    found = F.matmul(query, F.transpose(key, 2, 3))
    if scores.cap is None:
        found = F.mul(found, scores.scale)
    else:
        found = F.mul(F.tanh(F.mul(found, scores.scale / scores.cap)), scores.cap)
    weights = F.softmax(F.add(F.astype(found, "float32"), mask), -1)
    return F.reshape(F.matmul(F.astype(weights, str(value.dtype)), value), shape)
