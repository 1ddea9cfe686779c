# SPDX-License-Identifier: Apache-2.0
"""Arguments that attributes add to an execution."""

from __future__ import annotations

from math import prod

from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.masks import argument, broadcast_dims, quantity_dims
from sycl_dnn.verify.post_op_text import PostOp


def operand(call: Call, op: PostOp) -> Tensor:
    """Return the second source of a binary post-op."""
    dims = broadcast_dims(call, op.policy)
    strides = tuple(map(int, op.strides.split("x"))) if op.strides else ()
    return Tensor(dims, op.dtype, None if op.tag == "any" else op.tag, strides)


def condition(call: Call, op: PostOp) -> Tensor:
    """Return the third source of a select post-op."""
    policy, tag = op.condition
    return Tensor(broadcast_dims(call, policy), "s8", None if tag == "any" else tag)


def depthwise(call: Call, op: PostOp) -> tuple[Tensor, Tensor]:
    """Return weights and bias of a fused depthwise convolution."""
    channels, size = call.tensors["dst"].dims[1], op.kernel[0]
    weights = call.tensors["weights"].dtype
    return Tensor((channels, 1, 1, size, size), weights), Tensor((channels,), "f32")


def _slopes(call: Call, op: PostOp) -> Tensor:
    """Return the weights of a prelu post-op, which lie channels last."""
    return Tensor(broadcast_dims(call, op.policy), "f32", "axb")


def extra_tensors(call: Call) -> dict[str, Tensor]:
    """Return the arguments that attributes add, with their logical shapes."""
    found = {}
    for what, quantities in (("scales", call.attr.scales), ("zero_points", call.attr.zero_points)):
        for q in quantities:
            name = f"attr_{what}_{argument(call, q.arg)}"
            found[name] = Tensor(quantity_dims(call, q), q.dtype)
    for r in call.attr.reductions:
        found[f"attr_precomputed_reductions_{r.arg}"] = Tensor(quantity_dims(call, r), r.dtype)
    for i, op in enumerate(call.attr.post_ops):
        if op.kind == "binary":
            found[f"attr_post_op_{i}_src_1"] = operand(call, op)
            if op.algorithm == "binary_select":
                found[f"attr_post_op_{i}_src_2"] = condition(call, op)
        elif op.kind == "prelu":
            found[f"attr_post_op_{i}_weights"] = _slopes(call, op)
        elif op.kind == "dw":
            weights, bias = depthwise(call, op)
            found |= {"attr_post_op_dw_weights": weights, "attr_post_op_dw_bias": bias}
    return found


def memory_bytes(call: Call) -> int:
    """Return what a call needs at most in bytes: device memory and float64 arrays of the host."""
    tensors = [*call.tensors.values(), *extra_tensors(call).values()]
    return sum(t.nbytes + 4 * 8 * prod(t.dims) for t in tensors)
