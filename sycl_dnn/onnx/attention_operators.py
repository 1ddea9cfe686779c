# SPDX-License-Identifier: Apache-2.0
"""Attention and RotaryEmbedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.onnx.elementwise_operators import is_float, name_of
from sycl_dnn.onnx.model_graph import dtype_name
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, operator


def split_heads(x: Any, n: int | None) -> Any:
    """Split heads: (B, S, n * D) to (B, n, S, D)."""
    if len(x.shape) == 4:
        return x
    if not n or x.shape[2] % n:
        raise ValueError(f"the numbers of heads must divide {x.shape[2]}, got {n}")
    return F.transpose(F.reshape(x, (*x.shape[:2], n, x.shape[2] // n)), 1, 2)


def _visible_keys(call: Call, n_queries: int, n_keys: int, n_past: int, valid: Any) -> Any:
    """Return a mask of visible keys by position, (S, L) or (B, 1, S, L); None if all are."""
    left, right = call.get("left_window_size", -1), call.get("right_window_size", -1)
    left, right = (left, 0 if right < 0 else min(right, 0)) if call.get("is_causal", 0) else \
        (left, right)  # fmt: skip
    keys = np.arange(n_keys)
    if valid is None:
        if left < 0 and right < 0:
            return None
        distance = n_past + np.arange(n_queries)[:, None] - keys
        mask = np.ones(distance.shape, bool)
        mask &= (distance <= left) | (left < 0)
        return call.device(mask & ((-distance <= right) | (right < 0)))
    lengths = F.reshape(F.astype(valid, "int64"), (-1, 1, 1, 1))
    mask = F.lt(call.device(keys), lengths)
    distance = lengths + call.device(np.arange(n_queries)[:, None] - n_queries - keys)
    if left >= 0:
        mask = F.logical_and(mask, F.le(distance, left))
    if right >= 0:
        mask = F.logical_and(mask, F.ge(distance, -right))
    return mask


def _bias(call: Call, mask: Any, allowed: Any, dtype: str, n_keys: int) -> Any:
    """Return an additive mask; None if there is nothing to mask."""
    blank = call.device(np.zeros((), np.float32))
    bias = None
    if mask is not None:
        if mask.shape[-1] < n_keys:
            pads = (0, n_keys - mask.shape[-1])
            mask = F.pad(mask, pads, value=-math.inf if is_float(mask) else 0)
        bias = mask if is_float(mask) else F.where(mask, blank, blank - math.inf)
        bias = F.astype(bias, dtype)
    if allowed is not None:
        hidden = F.astype(F.where(allowed, blank, blank - math.inf), dtype)
        bias = hidden if bias is None else bias + hidden
    return bias


def _probabilities(scores: Any, bias: Any, precision: str) -> Any:
    """Return the softmax over keys; zeros for fully masked queries."""
    biased = scores if bias is None else scores + bias
    if bias is None:
        return F.astype(F.softmax(F.astype(biased, precision), -1), name_of(scores))
    is_hidden = F.eq(F.amax(bias, -1, True), -math.inf)
    biased = F.where(is_hidden, F.full_like(biased, 0.0), biased)
    probabilities = F.astype(F.softmax(F.astype(biased, precision), -1), name_of(scores))
    return F.where(is_hidden, F.full_like(probabilities, 0.0), probabilities)


def _is_plain(call: Call, bias: Any) -> bool:
    extras = call.get("softcap", 0.0) or call.get("softmax_precision") or call.n_outputs > 3
    return bias is None and not extras


@operator("Attention", 23)
def _attention(
    call: Call, q: Any, k: Any, v: Any, mask: Any = None, past_k: Any = None, past_v: Any = None,
    valid: Any = None,
) -> Any:  # fmt: skip
    is_flat, dtype = len(q.shape) == 3, name_of(q)
    q = split_heads(q, call.get("q_num_heads"))
    k, v = (split_heads(x, call.get("kv_num_heads")) for x in (k, v))
    n_past = 0 if past_k is None else past_k.shape[2]
    if past_k is not None:
        k, v = F.cat([past_k, k], 2), F.cat([past_v, v], 2)
    present = k, v
    bias = _bias(
        call, mask, _visible_keys(call, q.shape[2], k.shape[2], n_past, valid), dtype, k.shape[2]
    )
    scale = call.get("scale") or 1 / math.sqrt(q.shape[3])
    if _is_plain(call, bias):
        grouped = q.shape[1] != k.shape[1]
        output = F.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=grouped)
        return (merge_heads(output) if is_flat else output, *present)
    if q.shape[1] != k.shape[1]:
        k, v = (F.repeat_interleave(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    root = math.sqrt(scale)
    scores = qk_output = F.matmul(q * root, F.transpose(k * root, 2, 3))
    cap, mode = call.get("softcap", 0.0), call.get("qk_matmul_output_mode", 0)
    if cap:
        scores = F.tanh(scores / cap) * cap
    precision = call.get("softmax_precision")
    probabilities = _probabilities(scores, bias, dtype_name(precision) if precision else dtype)
    qk_output = (qk_output, scores, scores if bias is None else scores + bias, probabilities)[mode]
    output = F.matmul(probabilities, v)
    return (merge_heads(output) if is_flat else output, *present, qk_output)


def merge_heads(x: Any) -> Any:
    """Merge heads: (B, n, S, D) to (B, S, n * D)."""
    b, n, s, d = x.shape
    return F.reshape(F.transpose(x, 1, 2), (b, s, n * d))


@operator("LinearAttention", 27)
def _linear_attention(
    call: Call, q: Any, k: Any, v: Any, past: Any = None, decay: Any = None, beta: Any = None
) -> Any:
    """Update a state matrix (B, H, D_k, D_v) token by token."""
    n, n_kv, dtype = call.need("q_num_heads"), call.need("kv_num_heads"), name_of(q)
    q, k, v = (split_heads(F.astype(x, "float32"), h) for x, h in ((q, n), (k, n_kv), (v, n_kv)))
    scale = call.get("scale", 0.0) or 1 / math.sqrt(q.shape[3])
    if past is None:
        state = call.device(np.zeros((q.shape[0], n_kv, k.shape[3], v.shape[3]), np.float32))
    else:
        state = F.astype(past, "float32")
    decay = None if decay is None else F.exp(split_heads(F.astype(decay, "float32"), n_kv))
    beta = None if beta is None else split_heads(F.astype(beta, "float32"), beta.shape[2])
    rows = []
    for t in range(q.shape[2]):
        key, value = F.unsqueeze(F.select(k, 2, t), 3), F.unsqueeze(F.select(v, 2, t), 2)
        if decay is not None:
            state = state * F.unsqueeze(F.select(decay, 2, t), 3)
        if beta is not None:
            remembered = F.matmul(F.transpose(key, 2, 3), state)
            value = (value - remembered) * F.unsqueeze(F.select(beta, 2, t), 3)
        state = state + key * value
        read = state if n == n_kv else F.repeat_interleave(state, n // n_kv, 1)
        query = F.unsqueeze(F.select(q, 2, t), 2)
        rows.append(F.matmul(query * scale, read))
    output = F.astype(merge_heads(F.cat(rows, 2)), dtype)
    return output, F.astype(state, dtype if past is None else name_of(past))


@operator("RotaryEmbedding", 23)
def _rotary(call: Call, x: Any, cos: Any, sin: Any, positions: Any = None) -> Any:
    is_flat = len(x.shape) == 3
    x = split_heads(x, call.get("num_heads")) if is_flat else x
    size = call.get("rotary_embedding_dim", 0) or x.shape[-1]
    result = rotated(x, cos, sin, positions, size, bool(call.get("interleaved", 0)))
    return merge_heads(result) if is_flat else result


def rotated(x: Any, cos: Any, sin: Any, positions: Any, size: int, is_interleaved: bool) -> Any:
    """Rotate the first ``size`` elements of each head of (B, n, S, D) in pairs."""
    rotary, rest = F.narrow(x, 3, 0, size), F.narrow(x, 3, size, x.shape[-1] - size)
    if positions is not None:
        index = F.astype(positions, "int64")
        flat = F.reshape(index, (-1,))
        cos, sin = (F.reshape(F.index_select(c, 0, flat), (*index.shape, c.shape[-1]))
                    for c in (cos, sin))  # fmt: skip
    cos, sin = (F.unsqueeze(c, 1) for c in (cos, sin))
    if is_interleaved:
        pairs = F.reshape(rotary, (*rotary.shape[:-1], size // 2, 2))
        first, second = F.select(pairs, -1, 0), F.select(pairs, -1, 1)
    else:
        first, second = F.chunk(rotary, 2, 3)
    parts = [first * cos - second * sin, first * sin + second * cos]
    turned = F.reshape(F.stack(parts, 4), tuple(rotary.shape)) if is_interleaved else \
        F.cat(parts, 3)  # fmt: skip
    return F.cat([turned, rest], 3) if rest.shape[3] else turned


@operator("RotaryEmbedding", domain=MICROSOFT)
def _rotary_of_microsoft(call: Call, x: Any, positions: Any, cos: Any, sin: Any) -> Any:
    """Rotate as the operator of ai.onnx; a single position belongs to the first token."""
    if len(positions.shape) < 2:
        n_tokens = x.shape[1] if len(x.shape) == 3 else x.shape[2]
        tokens = F.reshape(positions, (1, 1)) + call.device(np.arange(n_tokens))
        positions = F.expand(tokens, (x.shape[0], n_tokens))
    n = call.get("num_heads", 0) or x.shape[-1] // (2 * cos.shape[-1])
    call.node.attributes["num_heads"] = n
    return _rotary(call, x, cos, sin, positions)
