# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention with its projections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.activation.dropout import dropout
from sycl_dnn.functional.activation.softmax import softmax
from sycl_dnn.functional.arithmetic.binary import add, mul
from sycl_dnn.functional.arithmetic.comparison import where
from sycl_dnn.functional.arithmetic.convert import astype
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.attention import scaled_dot_product_attention
from sycl_dnn.functional.creation.factories import zeros_like
from sycl_dnn.functional.product.matmul import linear, matmul
from sycl_dnn.functional.reduction.sums import mean
from sycl_dnn.functional.shape.arrangement import expand
from sycl_dnn.functional.shape.joining import cat, split
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.functional.shape.reshaping import reshape, squeeze, transpose, unsqueeze
from sycl_dnn.trace.captured_inputs import drawing
from sycl_dnn.trace.values import Tensor


def projected(operands: Sequence[Any], weights: Any, bias: Any) -> list[Any]:
    """Return queries, keys and values; ``weights`` is one matrix for all, or a sequence of them."""
    is_one = not isinstance(weights, (tuple, list))
    query, key, value = operands
    if is_one and query is key and key is value:
        return list(split(linear(query, weights, bias), weights.shape[0] // 3, -1))
    rows = split(weights, weights.shape[0] // 3) if is_one else weights
    biases = [None] * 3 if bias is None else split(bias, bias.shape[0] // 3)
    return [linear(x, w, b) for x, w, b in zip(operands, rows, biases, strict=True)]


def heads(x: Any, n_heads: int) -> Any:
    """Return (N, L, E) as (N, heads, L, E / heads)."""
    n, length, width = x.shape
    return transpose(reshape(x, (n, length, n_heads, width // n_heads)), 1, 2)


def joined(x: Any) -> Any:
    """Return (N, heads, L, width) as (N, L, E)."""
    n, n_heads, length, width = x.shape
    return reshape(transpose(x, 1, 2), (n, length, n_heads * width))


def _additive(mask: Any, dtype: str) -> Any:
    """Return an additive mask: True becomes minus infinity."""
    if mask is None or str(mask.dtype) != "bool":
        return mask
    return where(mask, -math.inf, zeros_like(astype(mask, dtype)))


def _merged(q: Any, k: Any, padding: Any, mask: Any) -> Any:
    """Return the sum of a mask (N, S) and one (L, S) or (N * heads, L, S); None for neither."""
    (n, n_heads, length, _), dtype = q.shape, str(q.dtype)
    mask, padding = _additive(mask, dtype), _additive(padding, dtype)
    if mask is not None and mask.ndim == 3:
        mask = reshape(mask, (n, n_heads, length, k.shape[2]))
    if padding is None:
        return mask
    padding = reshape(padding, (n, 1, 1, k.shape[2]))
    return padding if mask is None else add(mask, padding)


def _lengthened(
    k: Any, v: Any, mask: Any, biases: Sequence[Any], add_zero_attn: bool
) -> tuple[Any, Any, Any]:
    """Append learned keys and values, and ones of zeros; extend the mask."""
    n, n_heads, _, width = k.shape
    added = []
    if biases[0] is not None:
        shape = (n, n_heads, 1, width)
        added.append([expand(reshape(b, (1, *shape[1:])), shape) for b in biases])
    if add_zero_attn:
        added.append([zeros_like(x[:, :, :1]) for x in (k, v)])
    if not added:
        return k, v, mask
    k, v = (cat([x, *rows], 2) for x, rows in zip((k, v), zip(*added, strict=True), strict=True))
    return k, v, None if mask is None else pad(mask, (0, len(added)))


@drawing
@operation
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: None = None,
    static_v: None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attend with several heads, with the projections of ``nn.MultiheadAttention``.

    Parameters
    ----------
    query : array (L, N, E) or (L, E)
    key : array (S, N, kdim) or (S, kdim)
    value : array (S, N, vdim) or (S, vdim)
    embed_dim_to_check : int
        E.
    num_heads : int
    in_proj_weight : array (3 * E, E), or None
        None with ``use_separate_proj_weight``.
    in_proj_bias : array (3 * E,), optional
    bias_k, bias_v : array (1, 1, E), optional
        A learned key and value, which are appended to the sequence.
    add_zero_attn : bool
        Whether to append a key and value of zeros.
    dropout_p : float
        Of the weights, while ``training``.
    out_proj_weight : array (E, E)
    out_proj_bias : array (E,), optional
    key_padding_mask : array (N, S) or (S,), optional
        bool, True for keys to ignore, or numbers added to the scores.
    need_weights, average_attn_weights : bool
        Whether to return the weights, and their mean over the heads.
    attn_mask : array (L, S) or (N * num_heads, L, S), optional
        The same for each query.
    use_separate_proj_weight : bool
    q_proj_weight, k_proj_weight, v_proj_weight : array (E, E), (E, kdim), (E, vdim), optional
    static_k, static_v : None
    is_causal : bool
        Requires ``attn_mask``, which is used.

    Returns
    -------
    output : array (L, N, E) or (L, E)
    weights : array (N, L, S) or (N, num_heads, L, S), or None
        N is missing as in ``query``; S includes what is appended.

    Raises
    ------
    ValueError
        A size does not match, only one of ``bias_k`` and ``bias_v`` is given, ``static_k`` or
        ``static_v`` is not None, or ``is_causal`` is set without ``attn_mask``.
    TypeError
        An argument is not an array, such as the weights that ``use_separate_proj_weight`` asks for,
        or has another dtype.

    Notes
    -----
    Differentiable to any order. Source: ``torch.nn.functional.multi_head_attention_forward``;
    Vaswani et al., arXiv:1706.03762.
    """
    name = "multi_head_attention_forward"
    check_arrays(name, query=query, key=key, value=value, out_proj_weight=out_proj_weight)
    _check(name, query, embed_dim_to_check, num_heads, static_k, static_v)
    if is_causal and attn_mask is None:
        raise ValueError(f"{name}: is_causal must come with attn_mask")
    separate = {
        "q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight,
        "v_proj_weight": v_proj_weight,
    }  # fmt: skip
    named = separate if use_separate_proj_weight else {"in_proj_weight": in_proj_weight}
    check_arrays(name, **named)
    if (bias_k is None) != (bias_v is None):
        raise ValueError(f"{name}: bias_k and bias_v must both be arrays, or both None")
    weights: Any = tuple(named.values()) if use_separate_proj_weight else in_proj_weight
    is_single, is_same = query.ndim == 2, query is key and key is value
    operands = [unsqueeze(x, 0) if is_single else transpose(x, 0, 1) for x in (query, key, value)]
    if is_same:
        operands = [operands[0]] * 3
    if is_single and key_padding_mask is not None:
        key_padding_mask = unsqueeze(key_padding_mask, 0)
    q, k, v = (heads(x, num_heads) for x in projected(operands, weights, in_proj_bias))
    mask = _merged(q, k, key_padding_mask, attn_mask)
    k, v, mask = _lengthened(k, v, mask, (bias_k, bias_v), add_zero_attn)
    p, probabilities = dropout_p if training else 0.0, None
    if need_weights:
        scores = mul(matmul(q, transpose(k, -2, -1)), q.shape[-1] ** -0.5)
        probabilities = softmax(scores if mask is None else add(scores, mask), -1)
        probabilities = dropout(probabilities, p, training)
        y = matmul(probabilities, v)
        probabilities = mean(probabilities, 1) if average_attn_weights else probabilities
    else:
        y = scaled_dot_product_attention(q, k, v, mask, p)
    y = linear(joined(y), out_proj_weight, out_proj_bias)
    if is_single:
        y = squeeze(y, 0)
        return y, None if probabilities is None else squeeze(probabilities, 0)
    return transpose(y, 0, 1), probabilities


def _check(
    name: str, query: Tensor, embed_dim: int, n_heads: int, static_k: Any, static_v: Any
) -> None:
    if static_k is not None or static_v is not None:
        raise ValueError(f"{name}: static_k and static_v must be None")
    if query.ndim not in (2, 3) or query.shape[-1] != embed_dim:
        raise ValueError(
            f"{name}: query must have shape (L, N, {embed_dim}) or (L, {embed_dim}), got "
            f"{query.shape}"
        )
    if n_heads <= 0 or embed_dim % n_heads:
        raise ValueError(
            f"{name}: embed_dim_to_check must be divisible by num_heads={n_heads}, got {embed_dim}"
        )
