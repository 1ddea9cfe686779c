# SPDX-License-Identifier: Apache-2.0
"""The products and the softmax of attention, over operands of one batch shape."""

from __future__ import annotations

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm, engine_kind
from sycl_dnn.dispatch.described import is_slow_reference, parameters_of
from sycl_dnn.dispatch.primitives import add, expand_rank, sum_to
from sycl_dnn.dispatch.record import Out
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import narrow, reshape
from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.attention_mask import causal
from sycl_dnn.functional.joining import join
from sycl_dnn.functional.product import product, recorded, swapped

#: Fewest queries of a block: below that, the steps cost more than they save.
_BLOCK = 128


def _scaling(scale: float, mask: Tensor | None = None) -> PrimitiveAttr:
    """Return the attribute that multiplies a product by ``scale`` and adds a mask."""
    post_ops, attr = PostOps(), PrimitiveAttr()
    post_ops.append_eltwise(algorithm.eltwise_linear, scale, 0.0)
    if mask is not None:
        post_ops.append_binary(algorithm.binary_add, mask.desc)
    attr.set_post_ops(post_ops)
    return attr


def _product(a: Tensor, b: Tensor, scale: float, dtype: str, mask: Tensor | None = None) -> Tensor:
    """Return ``scale * a @ b + mask``, in one pass where the engine has that."""
    inputs, out = {"src": a, "weights": b}, Out((*a.shape[:-1], b.shape[-1]), dtype)
    attr = _scaling(scale, mask)
    if mask is not None:
        inputs["attr_post_op_1_src_1"] = mask
        if _is_slow(inputs, out, attr):
            return add(_product(a, b, scale, dtype), mask)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        narrow = dy.trace.convert(dy, a.dtype)
        found = {
            "src": _product(narrow, swapped(b), scale, a.dtype),
            "weights": _product(swapped(a), narrow, scale, b.dtype),
        }
        return found if mask is None else {**found, "attr_post_op_1_src_1": sum_to(dy, mask.shape)}

    return a.trace.closed(inputs, lambda: recorded(inputs, out, attr), rule)


def _is_slow(inputs: dict[str, Tensor], out: Out, attr: PrimitiveAttr) -> bool:
    """Whether there is the reference alone: AVX-512 without bfloat16, a mask that broadcasts."""
    trace = inputs["src"].trace
    if inputs["src"].dtype != "bfloat16" or trace.engine.kind is not engine_kind.cpu:
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
        made = product(query, swapped(key), dtype="float32")
        return made if mask is None else add(made, mask)
    inputs = {"query": query, "key": key}
    if mask is not None:
        inputs["mask"] = mask

    def rule(dy: Tensor) -> dict[str, Tensor]:
        narrow = dy.trace.convert(dy, query.dtype)
        found = {
            "query": _product(narrow, key, scale, query.dtype),
            "key": _product(swapped(narrow), query, scale, key.dtype),
        }
        return found if mask is None else {**found, "mask": sum_to(dy, mask.shape)}

    made = lambda: _product(query, swapped(key), scale, "float32", mask)  # noqa: E731
    return query.trace.closed(inputs, made, rule)


def _weights(scores: Tensor, dtype: str) -> Tensor:
    """Return the softmax of float32 scores over the keys, in ``dtype``."""
    made = scores.trace.primitive(
        "softmax_forward",
        {"src": scores},
        {"dst": Out(scores.shape, dtype)},
        prop_kind=scores.trace.forward_kind,
        algorithm=algorithm.softmax_accurate,
        axis=scores.ndim - 1,
    )
    return made["dst"]


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, scale: float
) -> Tensor:
    """Return (*, M, F) from operands of one batch shape."""
    weights = _weights(_scores(query, key, mask, scale), query.dtype)
    if dropout_p:
        from sycl_dnn.functional.dropout import dropout

        weights = dropout(weights, dropout_p, True)
    return product(weights, value)


def attend_causally(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float,
    scale: float,
    groups: int = 1,
) -> Tensor:
    """Return (*, groups * L, F) where query i of each group sees the keys up to i.

    Blocks of queries leave out the keys that none of them sees: nearly half of the work.
    """
    lead, rows, columns = query.shape[:-2], query.shape[-2] // groups, key.shape[-2]
    apart = reshape(query, (*lead, groups, rows, query.shape[-1]))
    size = max(_BLOCK, rows // 8)
    made = []
    for start in range(0, rows, size):
        count = min(size, rows - start)
        seen = min(start + count, columns)
        mask = expand_rank(causal(query.trace, count, seen, start, groups), query.ndim)
        block = narrow(apart, -2, start, count) if count < rows else apart
        keys, values = (narrow(t, -2, 0, seen) if seen < columns else t for t in (key, value))
        block = reshape(block, (*lead, groups * count, query.shape[-1]))
        part = attend(block, keys, values, mask, dropout_p, scale)
        made.append(reshape(part, (*lead, groups, count, value.shape[-1])))
    return reshape(join(made, len(lead) + 1), (*lead, groups * rows, value.shape[-1]))
