# SPDX-License-Identifier: Apache-2.0
"""Scaled dot product attention."""

from __future__ import annotations

import math

import dpnp

from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.operation import operation
from sycl_dnn.dispatch.primitives import broadcast_shape, broadcast_to
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.affine import empty_like
from sycl_dnn.functional.attention_mask import hiding, joined, per_score, visible
from sycl_dnn.functional.attention_parts import attend, attend_causally
from sycl_dnn.functional.pointwise import check_float

_NAME = "scaled_dot_product_attention"


def _few_axes(operands: list[Tensor], mask: Tensor | None) -> tuple[list[Tensor], Tensor | None]:
    """Return operands of one batch shape with two batch axes at most, and the mask for them.

    Fast kernels take no more axes with a mask that broadcasts.
    """
    batch = operands[0].shape[:-2]
    if len(batch) < 3:
        return operands, mask
    flat = [reshape(t, (-1, *t.shape[-2:])) for t in operands]
    if mask is not None:
        lead = batch if max(mask.shape[:-2]) > 1 else (1,) * len(batch)
        full = broadcast_to(mask, lead + mask.shape[-2:])
        mask = reshape(full, (-1, *mask.shape[-2:]))
    return flat, mask


@operation
def scaled_dot_product_attention(
    query: dpnp.ndarray | Array,
    key: dpnp.ndarray | Array,
    value: dpnp.ndarray | Array,
    attn_mask: dpnp.ndarray | Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> dpnp.ndarray | Array:
    """Return ``softmax(scale * query @ key.T + mask) @ value``.

    Parameters
    ----------
    query : array (*B, L, E)
        float32, bfloat16 or float16; B broadcasts between the three.
    key : array (*B, S, E)
    value : array (*B, S, F)
    attn_mask : array, broadcasts to (*B, L, S), optional
        bool: whether a query takes part in a key; else float32 or the dtype of ``query``: added to
        the scores. A query without any key gives zeros.
    dropout_p : float
        Probability of dropping a weight; in effect whenever it is not 0.
    is_causal : bool
        Query i takes part in the keys up to i; together with ``attn_mask`` both hold.
    scale : float, optional
        Default ``1 / sqrt(E)``.
    enable_gqa : bool
        The next to last but one axis of ``query`` may be a multiple of that of ``key`` and
        ``value``; neighbouring heads of ``query`` then share a head.

    Returns
    -------
    array (*B, L, F)
        dtype of ``query``.

    Raises
    ------
    ValueError
        Shapes do not fit, or ``dropout_p`` is no probability.
    TypeError
        Dtypes differ or are not floating-point.

    Notes
    -----
    Scores are kept in float32 and in memory: L * S of them for each head, an eighth of that with
    ``is_causal`` alone from L = 1024 on; a gradient keeps all.

    Source: oneDNN developer guide, "Scaled Dot-Product Attention (SDPA)"; Vaswani et al.,
    arXiv:1706.03762.
    """
    _check(query, key, value, attn_mask, dropout_p)
    rows, columns = query.shape[-2], key.shape[-2]
    shape, query, key, value, groups = _aligned(query, key, value, enable_gqa)
    if 0 in (*shape, columns):
        operands = (key, value) if attn_mask is None else (key, value, attn_mask)
        return empty_like(query, *operands, shape=shape)
    scale = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    mask = None
    if attn_mask is not None:
        _check_mask(attn_mask, (*shape[:-1], columns))
        mask = joined(query.trace, attn_mask, is_causal, (rows, columns))
        mask = per_score(mask, query.shape[:-2], groups)
    (query, key, value), mask = _few_axes([query, key, value], mask)
    if is_causal and mask is None:
        made = attend_causally(query, key, value, dropout_p, scale, groups)
    else:
        made = attend(query, key, value, mask, dropout_p, scale)
    return reshape(made if attn_mask is None else hiding(made, visible(mask)), shape)


def _aligned(query, key, value, enable_gqa):
    """Return the result's shape, operands of one batch shape (rank 4 at most), heads per group."""
    groups = 1
    if enable_gqa:
        groups = _groups(query, key, value)
        heads, rows, size = query.shape[-3:]
        query = reshape(query, (*query.shape[:-3], heads // groups, groups * rows, size))
    batch = broadcast_shape(*(t.shape[:-2] for t in (query, key, value)))
    operands = [broadcast_to(t, batch + t.shape[-2:]) for t in (query, key, value)]
    shape = (*batch, query.shape[-2], value.shape[-1])
    if groups > 1:
        shape = (*batch[:-1], batch[-1] * groups, rows, value.shape[-1])
    return shape, *operands, groups


def _groups(query, key, value):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.ndim < 3:
            raise ValueError(f"{_NAME}: {name} must have heads (*B, H, L, E), got {tensor.shape}")
    heads, n_keys = query.shape[-3], key.shape[-3]
    if n_keys != value.shape[-3] or not n_keys or not heads or heads % n_keys:
        raise ValueError(
            f"{_NAME}: key and value must have one number of heads that divides {heads}, got "
            f"{n_keys} and {value.shape[-3]}"
        )
    return heads // n_keys or 1


def _check(query, key, value, attn_mask, dropout_p):
    operands = {"query": query, "key": key, "value": value}
    check_float(_NAME, **operands)
    for name, tensor in operands.items():
        if tensor.ndim < 2:
            raise ValueError(f"{_NAME}: {name} must have two axes or more, got {tensor.shape}")
        if tensor.dtype != query.dtype:
            raise TypeError(f"{_NAME}: {name} must have dtype {query.dtype}, got {tensor.dtype}")
    if key.shape[-1] != query.shape[-1]:
        raise ValueError(
            f"{_NAME}: key must have {query.shape[-1]} features, as query, got {key.shape}"
        )
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(f"{_NAME}: value must have {key.shape[-2]} rows, got {value.shape}")
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"{_NAME}: dropout_p must be in [0, 1], got {dropout_p}")
    if attn_mask is not None and attn_mask.dtype not in ("bool", "float32", query.dtype):
        raise TypeError(
            f"{_NAME}: attn_mask must have dtype bool, float32 or {query.dtype}, got "
            f"{attn_mask.dtype}"
        )


def _check_mask(attn_mask, wanted):
    if attn_mask is None:
        return
    shape = attn_mask.shape
    pairs = zip(shape[::-1], wanted[::-1], strict=False)
    if not 2 <= len(shape) <= len(wanted) or any(n not in (1, m) for n, m in pairs):
        raise ValueError(f"{_NAME}: attn_mask must broadcast to {wanted}, got {shape}")
