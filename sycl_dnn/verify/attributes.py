# SPDX-License-Identifier: Apache-2.0
"""Attributes of a call as a PrimitiveAttr."""

from __future__ import annotations

from typing import Any

from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import layout
from sycl_dnn.verify.attr_text import Dropout, Quantity
from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.extra import condition, depthwise, operand
from sycl_dnn.verify.masks import argument, dims_of, mask_of
from sycl_dnn.verify.post_op_text import PostOp

_MODES = {"mx": "dynamic_mx", "dynamic_fp": "dynamic_fp"}


def _set_quantity(attr: Any, call: Call, what: str, quantity: Quantity) -> None:
    data_type = dnnl.data_type[quantity.dtype]
    if quantity.policy == "host_scalar":
        setter = attr.set_host_scale if what == "scales" else attr.set_host_zero_point
        setter(argument(call, quantity.arg), data_type)
        return
    name = argument(call, quantity.arg)
    mask = mask_of(call, quantity.arg, quantity.policy, len(dims_of(call, quantity.arg)))
    options = {}
    if quantity.policy in _MODES:
        options["qmode"] = dnnl.quantization_mode[_MODES[quantity.policy]]
    setter = {
        "scales": attr.set_scales,
        "zero_points": attr.set_zero_points,
    }[what]
    setter(name, mask, list(quantity.groups), data_type, **options)


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
        mask = mask_of(call, r.arg, r.policy, len(dims_of(call, r.arg)))
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
