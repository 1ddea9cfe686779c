# SPDX-License-Identifier: Apache-2.0
"""Attributes of a call: as a PrimitiveAttr, and the arguments that they add."""

from __future__ import annotations

from math import prod
from typing import Any

from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import layout
from sycl_dnn.verify.attr_text import Dropout, PostOp, Quantity
from sycl_dnn.verify.call import Call, Tensor

_MODES = {"mx": "dynamic_mx", "dynamic_fp": "dynamic_fp"}
_WEIGHTED = ("conv", "deconv", "ip")
_BITS = {"per_dim_0": 1, "per_dim_1": 2, "per_dim_01": 3, "per_dim_2": 4, "per_dim_3": 8}


def argument(call: Call, name: str) -> str:
    """Return the execution argument that an attribute's argument stands for."""
    if name in ("src", "src_0"):
        return "src_0" if call.driver == "binary" else "src"
    return name


def mask_of(call: Call, name: str, policy: str | int, ndims: int) -> int:
    """Return the mask that a policy means for an argument of this call."""
    if isinstance(policy, int):
        return policy
    if policy in ("common", "host_scalar"):
        return 0
    if policy in ("per_tensor", "mx", "dynamic_fp"):
        return (1 << ndims) - 1
    if call.driver in _WEIGHTED and name == "weights":
        weights, src = call.tensors.get("weights"), call.tensors.get("src")
        grouped = weights and src and len(weights.dims) > len(src.dims)
        return 3 if grouped else 1
    if call.driver == "matmul" and name in ("src", "weights", "dst"):
        last = 1 << (ndims - 1)
        if policy in ("per_dim_1", "per_oc"):
            return last
        return last | last >> 1 if policy == "per_ocic" else _BITS[policy]
    if call.driver == "lnorm" and policy == "per_oc" and name == "src_1":
        return 1 << (ndims - 1)
    return {"per_oc": 2, "per_ocic": 3}.get(policy) or _BITS[policy]


def _dims_of(call: Call, name: str) -> tuple[int, ...]:
    return call.tensors[argument(call, name)].dims


def broadcast_dims(call: Call, policy: str | int, name: str = "src_1") -> tuple[int, ...]:
    """Return the dims of a post-op's operand: those of dst, 1 outside of the mask."""
    dst = call.tensors["dst"].dims
    mask = mask_of(call, name, policy, len(dst))
    return tuple(n if mask >> axis & 1 else 1 for axis, n in enumerate(dst))


def quantity_dims(call: Call, quantity: Quantity) -> tuple[int, ...]:
    """Return the shape of scales or zero points, 1 along what is shared.

    Groups count along the last two dimensions of the mask.
    """
    dims = _dims_of(call, quantity.arg)
    mask = mask_of(call, quantity.arg, quantity.policy, len(dims))
    shape = [n if mask >> axis & 1 else 1 for axis, n in enumerate(dims)]
    first = len(dims) - len(quantity.groups)
    for axis, group in enumerate(quantity.groups, start=first):
        if mask >> axis & 1:
            shape[axis] = -(-dims[axis] // max(group, 1))
    return tuple(shape)


def _set_quantity(attr: Any, call: Call, what: str, quantity: Quantity) -> None:
    data_type = dnnl.data_type[quantity.dtype]
    if quantity.policy == "host_scalar":
        setter = attr.set_host_scale if what == "scales" else attr.set_host_zero_point
        setter(argument(call, quantity.arg), data_type)
        return
    name = argument(call, quantity.arg)
    mask = mask_of(call, quantity.arg, quantity.policy, len(_dims_of(call, quantity.arg)))
    options = {}
    if quantity.policy in _MODES:
        options["qmode"] = dnnl.quantization_mode[_MODES[quantity.policy]]
    setter = {
        "scales": attr.set_scales,
        "zero_points": attr.set_zero_points,
    }[what]
    setter(name, mask, list(quantity.groups), data_type, **options)


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


def _append(ops: Any, call: Call, op: PostOp) -> None:
    data_type = dnnl.data_type[op.dtype]
    if op.kind == "sum":
        ops.append_sum(op.alpha, int(op.beta), data_type)
    elif op.kind == "eltwise":
        ops.append_eltwise(dnnl.algorithm[op.algorithm], op.alpha, op.beta)
    elif op.kind == "prelu":
        ops.append_prelu(mask_of(call, "src_1", op.policy, len(call.tensors["dst"].dims)))
    elif op.kind == "dw":
        weights, bias = (dnnl.data_type[t.dtype] for t in depthwise(call, op))
        ops.append_dw(weights, bias, data_type, *op.kernel)
    elif op.algorithm == "binary_select":
        descs = operand(call, op).desc(), condition(call, op).desc()
        ops.append_binary(dnnl.algorithm.binary_select, *descs)
    else:
        ops.append_binary(dnnl.algorithm[op.algorithm], operand(call, op).desc())


def _set_dropout(attr: Any, dropout: Dropout, dst: Tensor) -> None:
    mask = layout.describe(dst.dims, "u8", dropout.tag) if dropout.tag else None
    seed = dnnl.data_type.s64 if dropout.offset is not None else dnnl.data_type.s32
    attr.set_dropout(mask, seed, dropout.offset is not None, dropout.host)


def _set_modes(attr: Any, call: Call) -> None:
    spec = call.attr
    attr.set_scratchpad_mode(dnnl.scratchpad_mode[spec.scratchpad])
    mode, applies = spec.fpmath
    if (mode, applies) != ("strict", False):
        attr.set_fpmath_mode(dnnl.fpmath_mode[mode], applies)
    if spec.accumulation != "strict":
        attr.set_accumulation_mode(dnnl.accumulation_mode[spec.accumulation])
    if spec.deterministic:
        attr.set_deterministic(True)
    for arg, rounding in spec.rounding:
        attr.set_rounding_mode(arg, dnnl.rounding_mode[rounding])


def build(call: Call) -> Any:
    """Return the PrimitiveAttr of a call."""
    attr, spec = dnnl.PrimitiveAttr(), call.attr
    _set_modes(attr, call)
    for scale in spec.scales:
        _set_quantity(attr, call, "scales", scale)
    for zero_point in spec.zero_points:
        _set_quantity(attr, call, "zero_points", zero_point)
    for r in spec.reductions:
        mask = mask_of(call, r.arg, r.policy, len(_dims_of(call, r.arg)))
        attr.set_precomputed_reductions(r.arg, mask, list(r.groups), dnnl.data_type[r.dtype])
    if spec.dropout is not None:
        _set_dropout(attr, spec.dropout, call.tensors["dst"])
    if spec.post_ops:
        ops = dnnl.PostOps()
        for op in spec.post_ops:
            _append(ops, call, op)
        attr.set_post_ops(ops)
    rnn = call.facts.get("rnn_quantisation")
    if rnn:
        attr.set_rnn_data_qparams(*rnn["data"])
        attr.set_rnn_weights_qparams(*rnn["weights"])
        if "projection" in rnn:
            attr.set_rnn_weights_projection_qparams(*rnn["projection"])
    return attr


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
