# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.activation.dropout import dropout
from sycl_dnn.functional.activation.softmax import by_primitive, normalized
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.operands import broadcasts_to
from sycl_dnn.functional.normalization.affine import empty_like
from sycl_dnn.functional.product.product import product, recorded, swapped
from sycl_dnn.functional.shape.joining import join
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn.reference_code import is_slow_reference
from sycl_dnn.ops.arithmetic import EQ, GT, LE, NE, cast, where
from sycl_dnn.trace.captured_inputs import drawing
from sycl_dnn.trace.descriptors import parameters_of
from sycl_dnn.trace.pointwise import add, broadcast_to, mul
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import reduce, sum_to
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    broadcast_shape,
    expand_rank,
    filled,
    narrow,
    number,
    reshape,
    row_major,
)

#: Score of fully masked queries; the value is irrelevant, since their result is set to zero.
LOW = -1e30
#: Maximum number of elements of a mask that a plan stores; larger masks are computed in each call.
_MAX_STORED = 2**17


def _select_numbers(condition: Tensor, if_true: float, if_false: float) -> Tensor:
    """Return one number where ``condition`` is true, else the other."""
    numbers = (filled(condition.trace, v, (1,) * condition.ndim) for v in (if_true, if_false))
    return computed(where, condition, *numbers)


def causal(trace: Trace, n_queries: int, n_keys: int, first: int = 0, groups: int = 1) -> Tensor:
    """Return a causal mask (groups * L, S): query i of each group sees keys up to first + i."""
    queries = np.tile(np.arange(first, first + n_queries), groups)[:, None]
    keys = np.arange(n_keys)[None]
    if groups * n_queries * n_keys <= _MAX_STORED:
        return trace.literal(np.where(keys > queries, -math.inf, 0.0))
    of_keys, of_queries = (trace.literal(v.astype(np.float32)) for v in (keys, queries))
    is_hidden = computed(GT, of_keys, of_queries)
    return _select_numbers(is_hidden, -math.inf, 0.0)


def additive_mask(attn_mask: Tensor) -> Tensor:
    """Convert a mask (*, S) to additive float32: True becomes 0, False minus infinity."""
    if attn_mask.dtype != "bool":
        return attn_mask.trace.convert(attn_mask, "float32")
    return _select_numbers(row_major(attn_mask), 0.0, -math.inf)


def combined_mask(
    trace: Trace, attn_mask: Tensor | None, is_causal: bool, size: tuple[int, int]
) -> Tensor:
    """Return the sum of the additive masks, (*, L, S); at least one must be set."""
    if attn_mask is None:
        return causal(trace, *size)
    mask = additive_mask(attn_mask)
    if is_causal:
        return add(mask, causal(trace, *size))
    return broadcast_to(mask, (*mask.shape[:-2], *size))


def per_score(mask: Tensor, batch: tuple[int, ...], groups: int) -> Tensor:
    """Arrange a mask (*, L, S) for scores (*batch, groups * L, S), or so that it broadcasts.

    ``groups`` neighboring heads of the mask are stacked along the query axis.
    """
    rows, columns = mask.shape[-2:]
    mask = expand_rank(mask, len(batch) + 2)
    lead = mask.shape[:-2]
    if groups > 1:
        heads = lead[-1] // groups or 1
        split = (*lead[:-1], heads, groups if lead[-1] > 1 else 1, rows, columns)
        full = (*split[:-3], groups, rows, columns)
        mask = reshape(broadcast_to(reshape(mask, split), full), (*lead[:-1], heads, -1, columns))
    return mask


def visible_rows(mask: Tensor) -> Tensor:
    """Return (*, L, 1): 1 for queries that see at least one key, else 0."""
    sees = computed(lambda m, x: cast(NE(m, x), "float32"), mask, number(mask, -math.inf))
    return reduce(algorithm.reduction_max, sees, [mask.ndim - 1])


def without_empty_rows(mask: Tensor, rows: Tensor) -> Tensor:
    """Fill rows of ``mask`` where ``rows`` is 0 with ``LOW``, so that softmax is not NaN."""

    def record() -> Tensor:
        sees_none = computed(EQ, rows, number(rows, 0.0))
        return computed(where, sees_none, number(mask, LOW), mask)

    return mask.trace.closed({"mask": mask}, record, lambda dy: {"mask": dy})


def with_zero_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Zero the rows of ``x`` where ``rows`` is 0."""
    trace = x.trace
    rows = trace.convert(rows, x.dtype)
    return trace.closed({"x": x}, lambda: mul(x, rows), lambda dy: {"x": mul(dy, rows)})


# --- Attention over operands with equal batch shapes

#: Minimum number of queries per block: smaller blocks cost more than they save.
_BLOCK = 128


def _scaling(scale: float, mask: Tensor | None = None) -> PrimitiveAttr:
    """Return the attribute that scales a product and adds a mask."""
    post_ops, attr = PostOps(), PrimitiveAttr()
    post_ops.append_eltwise(algorithm.eltwise_linear, scale, 0.0)
    if mask is not None:
        post_ops.append_binary(algorithm.binary_add, mask.desc)
    attr.set_post_ops(post_ops)
    return attr


def _product(a: Tensor, b: Tensor, scale: float, dtype: str, mask: Tensor | None = None) -> Tensor:
    """Return ``scale * a @ b + mask``, fused if the engine supports it."""
    inputs, out = {"src": a, "weights": b}, Out((*a.shape[:-1], b.shape[-1]), dtype)
    attr = _scaling(scale, mask)
    if mask is not None:
        inputs["attr_post_op_1_src_1"] = mask
        if _is_slow(inputs, out, attr):
            return add(_product(a, b, scale, dtype), mask)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        grad = dy.trace.convert(dy, a.dtype)
        grads = {"src": _product(grad, swapped(b), scale, a.dtype)}
        if b.strides is not None and b.strides[-1] > b.strides[-2]:  # in its order of axes
            grads["weights"] = swapped(_product(swapped(grad), a, scale, b.dtype))
        else:
            grads["weights"] = _product(swapped(a), grad, scale, b.dtype)
        if mask is not None:
            grads["attr_post_op_1_src_1"] = sum_to(dy, mask.shape)
        return grads

    return a.trace.closed(inputs, lambda: recorded(inputs, out, attr), rule)


def _is_slow(inputs: dict[str, Tensor], out: Out, attr: PrimitiveAttr) -> bool:
    """Whether a CPU has only the reference: SSE4.1, or bfloat16 with a broadcast mask."""
    trace = inputs["src"].trace
    if not trace.is_on_cpu:
        return False
    try:
        params = parameters_of("matmul", inputs, {"dst": out}, {}, {})
        pd = trace.descriptor("matmul", params, attr)
    except Unimplemented:
        return False
    return is_slow_reference("matmul", pd.impl_info)


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return ``scale * query @ key.T + mask`` in float32."""
    if not query.shape[-1]:
        result = product(query, swapped(key), dtype="float32")
        return result if mask is None else add(result, mask)
    return _product(query, swapped(key), scale, "float32", mask)


def _weights(scores: Tensor, dtype: str) -> Tensor:
    """Return the softmax of float32 scores over the keys, converted to ``dtype``."""
    if scores.trace.keeps_nan:
        # As in torch, a query whose scores are all minus infinity sees no key, even without a mask.
        highest = reduce(algorithm.reduction_max, scores, [scores.ndim - 1])
        sees_none = computed(LE, highest, number(highest, LOW / 2))
        zero = number(scores, 0.0)
        result = computed(where, sees_none, zero, scores)
        result = normalized(result, result.ndim - 1)
        return scores.trace.convert(computed(where, sees_none, zero, result), dtype)
    return by_primitive(scores, scores.ndim - 1, dtype)


def _hidden_scores(query: Tensor, key: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return scores with ``LOW`` where masked, even if they were infinite or NaN."""
    scores = _scores(query, key, None, scale)
    is_hidden = computed(LE, mask, number(mask, LOW / 2))
    return computed(where, broadcast_to(is_hidden, scores.shape), number(scores, LOW), scores)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    scale: float,
    scores_of: Callable[..., Tensor] = _scores,
) -> Tensor:
    """Return (*, M, F) for operands with equal batch shapes."""
    weights = _weights(scores_of(query, key, mask, scale), query.dtype)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return product(weights, value)


def attend_causally(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, scale: float, groups: int = 1
) -> Tensor:
    """Return (*, groups * L, F) where query i of each group sees keys up to i.

    Queries are processed in blocks without the keys that none of them sees, which saves nearly half
    of the work.
    """
    lead, rows, columns = query.shape[:-2], query.shape[-2] // groups, key.shape[-2]
    grouped = reshape(query, (*lead, groups, rows, query.shape[-1]))
    size = max(_BLOCK, rows // 8)
    scores_of = _hidden_scores if query.trace.keeps_nan else _scores
    results = []
    for start in range(0, rows, size):
        count = min(size, rows - start)
        seen = min(start + count, columns)
        mask = expand_rank(causal(query.trace, count, seen, start, groups), query.ndim)
        block = narrow(grouped, -2, start, count) if count < rows else grouped
        keys, values = (narrow(t, -2, 0, seen) if seen < columns else t for t in (key, value))
        block = reshape(block, (*lead, groups * count, query.shape[-1]))
        part = attend(block, keys, values, mask, dropout_p, scale, scores_of)
        results.append(reshape(part, (*lead, groups, count, value.shape[-1])))
    return reshape(join(results, len(lead) + 1), (*lead, groups * rows, value.shape[-1]))


# --- scaled_dot_product_attention

_NAME = "scaled_dot_product_attention"


def _merged_batch(
    operands: list[Tensor], mask: Tensor | None
) -> tuple[list[Tensor], Tensor | None]:
    """Merge batch axes until at most two remain; adapt the mask.

    Fast kernels do not support more axes with a broadcast mask.
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


@drawing
@operation
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return ``softmax(scale * query @ key.T + mask) @ value``.

    Parameters
    ----------
    query : array (*B, L, E)
        float32, bfloat16 or float16; the batch shapes broadcast.
    key : array (*B, S, E)
    value : array (*B, S, F)
    attn_mask : array, broadcasts to (*B, L, S), optional
        bool: whether a query attends to a key; otherwise float32 or the dtype of ``query``, added
        to the scores. Fully masked queries give zeros.
    dropout_p : float
        Dropout probability of the weights; applied even in inference unless 0.
    is_causal : bool
        Query i attends to keys up to i; combined with ``attn_mask`` if both are passed.
    scale : float, optional
        ``1 / sqrt(E)`` by default.
    enable_gqa : bool
        The head axis (third from the end) of ``query`` may be a multiple of that of ``key`` and
        ``value``; neighboring query heads then share a head.

    Returns
    -------
    array (*B, L, F)
        Same dtype as ``query``.

    Raises
    ------
    ValueError
        Shapes do not match, or ``dropout_p`` is not a probability.
    TypeError
        Dtypes differ or are not floating point.

    Notes
    -----
    A query whose scores are all minus infinity gives NaN; with ``set_nan("propagate")`` it gives
    zeros, like a masked one. Infinite and NaN scores hidden only by ``is_causal`` give NaN; with
    that setting they are ignored.

    Scores are materialized in float32: L * S per head, or about an eighth of that if only
    ``is_causal`` is set and L >= 1024; gradients keep all of them.

    Source: oneDNN developer guide, "Scaled Dot-Product Attention (SDPA)"; Vaswani et al.,
    arXiv:1706.03762.
    """
    _check(query, key, value, attn_mask, dropout_p)
    size = query.shape[-2], key.shape[-2]
    shape, query, key, value, groups = _aligned(query, key, value, enable_gqa)
    if 0 in (*shape, size[1]):
        operands = (key, value) if attn_mask is None else (key, value, attn_mask)
        return empty_like(query, *operands, shape=shape)
    scale = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    mask = None
    if attn_mask is not None:
        _check_mask(attn_mask, (*shape[:-1], size[1]))
        mask = combined_mask(query.trace, attn_mask, is_causal, size)
        mask = per_score(mask, query.shape[:-2], groups)
    (query, key, value), mask = _merged_batch([query, key, value], mask)
    if is_causal and mask is None:
        result = attend_causally(query, key, value, dropout_p, scale, groups)
    elif mask is None:
        result = attend(query, key, value, mask, dropout_p, scale)
    else:
        rows = visible_rows(mask)
        mask = without_empty_rows(mask, rows)
        result = with_zero_rows(attend(query, key, value, mask, dropout_p, scale), rows)
    return reshape(result, shape)


def _aligned(query, key, value, enable_gqa):
    """Return the result shape, operands of equal batch shape (rank <= 4), and heads per group."""
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
        choices = " or ".join(dict.fromkeys(("bool", "float32", query.dtype)))
        raise TypeError(f"{_NAME}: attn_mask must have dtype {choices}, got {attn_mask.dtype}")


def _check_mask(attn_mask, expected):
    shape = attn_mask.shape
    if len(shape) < 2 or not broadcasts_to(shape, expected):
        raise ValueError(f"{_NAME}: attn_mask must broadcast to {expected}, got {shape}")
