# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft that ONNX Runtime's optimizer and exporters of language models write.

Source: ONNX Runtime's documentation, "Contrib Operators".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn.onnx.attention_operators import merge_heads, rotated, split_heads
from sycl_dnn.onnx.convolution_operators import convolve
from sycl_dnn.onnx.elementwise_operators import is_float, name_of
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, operator
from sycl_dnn.onnx.product_operators import activated

# --- Products and convolutions


@operator("FusedConv", domain=MICROSOFT)
def _fused_conv(call: Call, x: Any, w: Any, bias: Any = None, addend: Any = None) -> Any:
    """Convolve, add, and apply an activation."""
    result = convolve(call, x, w, bias)
    result = result if addend is None else result + addend
    return activated(call, result, call.get("activation_params", ()))


@operator("MatMulNBits", domain=MICROSOFT, constants=(1, 2, 3, 4))
def _matmul_of_bits(
    call: Call, x: Any, weights: Any, scales: Any, zeros: Any = None, groups: Any = None,
    bias: Any = None,
) -> Any:  # fmt: skip
    """Multiply by weights (N, blocks, bytes) of 2, 4 or 8 bits, with a scale for each block."""
    n, k, bits = call.need("N"), call.need("K"), call.get("bits", 4)
    size = call.need("block_size")
    if bits not in (2, 4, 8):
        call.refuse(f"bits must be 2, 4 or 8, got {bits}")
    n_blocks = -(-k // size)
    scales = F.reshape(scales, (n, n_blocks))
    dtype = name_of(scales)
    if zeros is None:
        zeros = F.full_like(scales, 2.0 ** (bits - 1))
    elif not is_float(zeros):
        rows = F.reshape(zeros, (n, -1))
        zeros = F.astype(F.narrow(_unpacked(rows, bits), 1, 0, n_blocks), dtype)
    zeros = F.reshape(zeros, (n, n_blocks))
    numbers = F.astype(_unpacked(F.reshape(weights, (n, -1)), bits), dtype)
    if groups is None:
        blocks = F.reshape(numbers, (n, n_blocks, size))
        blocks = (blocks - F.unsqueeze(zeros, 2)) * F.unsqueeze(scales, 2)
        values = F.narrow(F.reshape(blocks, (n, -1)), 1, 0, k)
    else:
        zeros, scales = (F.index_select(v, 1, groups) for v in (zeros, scales))
        values = (F.narrow(numbers, 1, 0, k) - zeros) * scales
    return F.linear(x, F.astype(values, name_of(x)), bias)


def _unpacked(rows: Any, bits: int) -> Any:
    """Return the numbers (N, K) in bytes (N, K * bits / 8), lowest bits first."""
    if bits == 8:
        return rows
    parts = [
        F.bitwise_and(F.bitwise_right_shift(rows, at), 2**bits - 1) for at in range(0, 8, bits)
    ]
    return F.reshape(F.stack(parts, 2), (rows.shape[0], -1))


# --- Embeddings and matrices


@operator("EmbedLayerNormalization", domain=MICROSOFT)
def _embedded(
    call: Call, ids: Any, segments: Any, words: Any, positions: Any, kinds: Any, scale: Any,
    bias: Any, mask: Any = None, places: Any = None,
) -> Any:  # fmt: skip
    """Sum the embeddings of words, positions and segments, and normalize; return lengths, too."""
    if places is None:
        places = call.device(np.arange(ids.shape[1]))
    total = F.embedding(ids, words) + F.embedding(places, positions)
    if kinds is not None:
        total = total + F.embedding(segments, kinds)
    result = F.layer_norm(total, total.shape[-1:], scale, bias, call.get("epsilon", 1e-12))
    if call.n_outputs == 1:
        return result
    if mask is None:
        lengths = call.device(np.zeros(ids.shape[0], np.int32))
    else:
        lengths = F.astype(F.sum(mask, 1), "int32")
    return result, lengths, total


@operator("Inverse", domain=MICROSOFT)
def _inverse(call: Call, x: Any) -> Any:
    return F.linalg.inv(x)


@operator("CDist", domain=MICROSOFT)
def _distances(call: Call, x: Any, y: Any) -> Any:
    metric = call.get("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        call.refuse(f"metric must be euclidean or sqeuclidean, got {metric}")
    distances = F.cdist(x, y)
    return distances if metric == "euclidean" else distances * distances


# --- Attention


def _plus_bias(xs: Sequence[Any], bias: Any) -> list[Any]:
    """Add the parts of a bias to queries, keys and values (B, S, hidden)."""
    if bias is None:
        return list(xs)
    widths = [0 if x is None else x.shape[2] for x in xs]
    parts = F.split(bias, widths, 0)
    return [None if x is None else x + part for x, part in zip(xs, parts, strict=True)]


def _positions_hidden(call: Call, shape: tuple[int, int], n_past: int, dtype: str) -> Any:
    """Return the additive mask (S, T) of positions after the queries; None if all are visible."""
    if not call.get("unidirectional", 0):
        return None
    if shape[0] + n_past != shape[1]:
        call.refuse("unidirectional must be 0 where keys are of another sequence than queries")
    hidden = np.triu(np.full(shape, -np.inf, np.float32), 1 + n_past)
    return F.astype(call.device(hidden), dtype)


def _keys_hidden(call: Call, mask: Any, n_keys: int, dtype: str) -> Any:
    """Return the additive mask of an integer mask: lengths (B,), or ones for visible keys."""
    if mask is None:
        return None
    if len(mask.shape) == 1:
        keys = call.device(np.arange(n_keys, dtype=np.int32))
        visible = F.lt(keys, F.unsqueeze(mask, 1))
    else:
        visible = F.gt(mask, 0)
    shape = (visible.shape[0], *(1,) * (4 - len(visible.shape)), *visible.shape[1:])
    blank = call.device(np.zeros((), np.float32))
    filter_value = call.get("mask_filter_value", -10000.0)
    return F.astype(F.where(F.reshape(visible, shape), blank, blank + filter_value), dtype)


def _attended(call: Call, q: Any, k: Any, v: Any, mask: Any, added: Any, past: Any) -> Any:
    """Return the attention of heads (B, n, S, D), with merged heads, (B, S, n * D)."""
    scale, dtype = call.get("scale", 0.0) or 1 / math.sqrt(q.shape[3]), name_of(q)
    n_past = 0 if past is None else past.shape[-2]
    hidden = _keys_hidden(call, mask, k.shape[2], dtype)
    later = _positions_hidden(call, (q.shape[2], k.shape[2]), n_past, dtype)
    biases = [b for b in (hidden, added, later) if b is not None]
    bias = sum(biases[1:], biases[0]) if biases else None
    return merge_heads(F.scaled_dot_product_attention(q, k, v, bias, scale=scale))


def _joined(past: Any, new: Any) -> Any:
    return new if past is None else F.cat([past, new], 2)


@operator("Attention", domain=MICROSOFT)
def _attention(
    call: Call, x: Any, weights: Any, bias: Any = None, mask: Any = None, past: Any = None,
    added: Any = None, past_length: Any = None,
) -> Any:  # fmt: skip
    """Project (B, S, C) to queries, keys and values, and attend."""
    heads = call.need("num_heads")
    if past_length is not None or call.get("do_rotary", 0):
        call.refuse("do_rotary must be 0, and past_sequence_length absent")
    sizes = call.get("qkv_hidden_sizes") or [weights.shape[1] // 3] * 3
    if mask is not None and (len(mask.shape) > 3 or mask.shape[0] != x.shape[0]):
        call.refuse("mask_index must have lengths (B,) or a mask (B, T) or (B, S, T)")
    parts = F.split(F.linear(x, F.transpose(weights, 0, 1), bias), list(sizes), 2)
    q, k, v = (split_heads(part, heads) for part in parts)
    if past is not None:
        k, v = (F.cat([F.select(past, 0, n), new], 2) for n, new in enumerate((k, v)))
    output = _attended(call, q, k, v, mask, added, past)
    return (output, F.stack([k, v], 0)) if call.n_outputs > 1 else output


@operator("MultiHeadAttention", domain=MICROSOFT)
def _multi_head(
    call: Call, q: Any, k: Any = None, v: Any = None, bias: Any = None, mask: Any = None,
    added: Any = None, past_k: Any = None, past_v: Any = None, *rest: Any,
) -> Any:  # fmt: skip
    """Attend over queries, keys and values that are separate or packed."""
    if any(r is not None for r in rest):
        call.refuse("past_sequence_length and cache_indirection must be absent")
    heads = call.need("num_heads")
    if k is None:  # (B, S, n, 3, D)
        q, k, v = (_flat(F.select(q, 3, i)) for i in range(3))
    elif v is None and len(k.shape) == 5:  # (B, T, n, 2, D)
        k, v = (_flat(F.select(k, 3, i)) for i in range(2))
    if len(k.shape) == 4:  # heads already, as the keys of an encoder
        q = _plus_bias([q], None if bias is None else F.narrow(bias, 0, 0, q.shape[2]))[0]
    else:
        q, k, v = _plus_bias([q, k, v], bias)
    q, k, v = (split_heads(x, heads) for x in (q, k, v))
    k, v = _joined(past_k, k), _joined(past_v, v)
    output = _attended(call, q, k, v, mask, added, past_k)
    return (output, k, v)[: call.n_outputs] if call.n_outputs > 1 else output


def _flat(x: Any) -> Any:
    """Join heads and their elements, (B, S, n, D) to (B, S, n * D)."""
    return F.reshape(x, (*x.shape[:2], x.shape[2] * x.shape[3]))


@operator("GroupQueryAttention", domain=MICROSOFT, host=(6,))
def _group_query(
    call: Call, q: Any, k: Any, v: Any, past_k: Any, past_v: Any, last: Any, total: Any,
    cos: Any = None, sin: Any = None, positions: Any = None, added: Any = None, *rest: Any,
) -> Any:  # fmt: skip
    """Attend causally, several heads of queries to each head of keys, and extend the cache.

    ``last`` (B,) is the index of each sequence's last token, ``total`` the longest length.
    """
    if any(r is not None for r in rest) or call.get("smooth_softmax", 0):
        call.refuse("head_sink, scales and smooth_softmax must be absent")
    heads, kv_heads = call.need("num_heads"), call.need("kv_num_heads")
    if k is None:
        width = q.shape[2] // (heads + 2 * kv_heads)
        q, k, v = F.split(q, [heads * width, kv_heads * width, kv_heads * width], 2)
    q, k, v = (split_heads(x, n) for x, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
    n, n_total = q.shape[2], int(np.asarray(total).ravel()[0])
    # Prompts start at 0, whatever the length of each; later tokens follow what a sequence has.
    lengths = F.reshape(F.astype(last, "int64"), (-1, 1)) + 1
    before = lengths * 0 if n == n_total else lengths - n
    places = before + call.device(np.arange(n))
    if call.get("do_rotary", 0):
        places_of = places if positions is None else F.astype(positions, "int64")
        is_interleaved = bool(call.get("rotary_interleaved", 0))
        q, k = (rotated(x, cos, sin, places_of, 2 * cos.shape[1], is_interleaved) for x in (q, k))
    n_slots = max(n_total, 0 if past_k is None else past_k.shape[2])
    k, v = (_in_slots(call, x, past, before, n_slots) for x, past in ((k, past_k), (v, past_v)))
    seen = _visible_slots(call, places, n_slots)
    output = _scored(call, q, k, v, seen, added)
    return (output, k, v)[: max(call.n_outputs, 1)] if call.n_outputs > 1 else output


def _in_slots(call: Call, new: Any, past: Any, before: Any, n_slots: int) -> Any:
    """Return a cache (B, n, slots, D): earlier tokens, new ones after those, then zeros."""
    slots = call.device(np.arange(n_slots))
    at = F.reshape(slots - before, (-1, 1, n_slots, 1))
    index = F.clamp(at, 0, new.shape[2] - 1)
    placed = F.take_along_dim(new, F.expand(index, (*new.shape[:2], n_slots, new.shape[3])), 2)
    placed = F.where(F.lt(at, new.shape[2]), placed, F.full_like(placed, 0.0))
    if past is None or not past.shape[2]:
        return placed
    return F.where(F.lt(at, 0), F.pad(past, (0, 0, 0, n_slots - past.shape[2])), placed)


def _visible_slots(call: Call, places: Any, n_slots: int) -> Any:
    """Return which slots the queries at ``places`` (B, S) see, (B, 1, S, slots)."""
    slots, at = call.device(np.arange(n_slots)), F.unsqueeze(F.unsqueeze(places, 1), 3)
    visible = F.le(slots, at)
    window = call.get("local_window_size", -1)
    return visible if window < 0 else F.logical_and(visible, F.gt(slots, at - window))


def _scored(call: Call, q: Any, k: Any, v: Any, seen: Any, added: Any) -> Any:
    scale, cap = call.get("scale", 0.0) or 1 / math.sqrt(q.shape[3]), call.get("softcap", 0.0)
    if not cap:
        blank = call.device(np.zeros((), np.float32))
        bias = F.astype(F.where(seen, blank, blank - math.inf), name_of(q))
        bias = bias if added is None else bias + added
        return merge_heads(
            F.scaled_dot_product_attention(q, k, v, bias, scale=scale, enable_gqa=True)
        )
    k, v = (F.repeat_interleave(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = F.tanh(F.matmul(q, F.transpose(k, 2, 3)) * (scale / cap)) * cap
    scores = scores if added is None else scores + added
    hidden = F.where(seen, scores, F.full_like(scores, -math.inf))
    return merge_heads(F.matmul(F.softmax(hidden, -1), v))
