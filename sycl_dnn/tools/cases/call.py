# SPDX-License-Identifier: Apache-2.0
"""``Call``: one execution of a primitive as data, and the oneDNN objects created from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.tools.cases import storage
from sycl_dnn.tools.cases.options import Dropout, PostOp, Quantity
from sycl_dnn.tools.cases.storage import item_bits

#: Low-level parameters whose execution argument has a different name.
_RENAMED = {"src0": "src_0", "src1": "src_1", "src2": "src_2", "attention": "augru_attention"}
_RENAMED |= {"diff_attention": "diff_augru_attention"}
_ENUMS = {
    "prop_kind": dnnl.prop_kind,
    "algorithm": dnnl.algorithm,
    "activation": dnnl.algorithm,
    "direction": dnnl.rnn_direction,
}


@dataclass(frozen=True)
class Tensor:
    """Shape, type and layout requested by a case.

    tag : None is row-major, ``any`` lets oneDNN choose
    strides : override the tag
    runtime : mask of the dimensions that are only known at execution
    encoding : ``csr``, ``coo`` or ``packed`` with ``nnz`` values
    """

    dims: tuple[int, ...]
    dtype: str = "f32"
    tag: str | None = None
    strides: tuple[int, ...] = ()
    runtime: int = 0
    encoding: str = ""
    nnz: int = 0

    @property
    def nbytes(self) -> int:
        """Size of the dense elements in bytes."""
        return prod(self.dims) * item_bits(self.dtype) // 8

    def desc(self) -> Any:
        """Return the MemoryDesc, with runtime dimensions left open."""
        if self.encoding:
            return _sparse(self)
        dims = tuple(
            dnnl.RUNTIME_DIM_VAL if self.runtime >> axis & 1 else n
            for axis, n in enumerate(self.dims)
        )
        return storage.describe(dims, self.dtype, self.tag, self.strides)

    def concrete(self) -> Any:
        """Return the MemoryDesc with all dimensions."""
        return storage.describe(self.dims, self.dtype, self.tag, self.strides)


def _sparse(tensor: Tensor) -> Any:
    data_type, s32 = dnnl.data_type[tensor.dtype], dnnl.data_type.s32
    if tensor.encoding == "csr":
        return dnnl.MemoryDesc.csr(tensor.dims, data_type, tensor.nnz, s32, s32)
    if tensor.encoding == "coo":
        return dnnl.MemoryDesc.coo(tensor.dims, data_type, tensor.nnz, s32)
    return dnnl.MemoryDesc.packed(tensor.dims, data_type, tensor.nnz)


@dataclass(frozen=True)
class Attributes:
    """The attributes of a case, named as their options; masks are still policies.

    impl, skip_impl : substrings that implementation names must, or must not, contain
    """

    scales: tuple[Quantity, ...] = ()
    zero_points: tuple[Quantity, ...] = ()
    precomputed_reductions: tuple[Quantity, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    scratchpad: str = "library"
    fpmath: tuple[str, bool] = ("strict", False)
    acc_mode: str = "strict"
    deterministic: bool = False
    rounding_mode: tuple[tuple[str, str], ...] = ()
    dropout: Dropout | None = None
    impl: tuple[str, ...] = ()
    skip_impl: tuple[str, ...] = ()

    def allows(self, impl: str) -> bool:
        """Whether ``--impl`` and ``--skip-impl`` allow an implementation of this name."""
        expected = not self.impl or any(name in impl for name in self.impl)
        return expected and not any(name in impl for name in self.skip_impl)


@dataclass(frozen=True, eq=False)
class Call:
    """A primitive with its parameters, attributes, and tensors by execution argument.

    driver : benchdnn's name of the primitive
    row : name of the function in `sycl_dnn.onednn`
    params : parameters that are not tensors; enumerators as strings
    tensors : all inputs and outputs, including those without a descriptor
    forward : for backward primitives: the forward call for the hint and workspace
    inplace : whether the output overwrites the first input
    facts : information for the driver's filling and comparison rules
    """

    driver: str
    row: str
    params: dict[str, Any]
    tensors: dict[str, Tensor]
    attr: Attributes = field(default_factory=Attributes)
    forward: Call | None = None
    inplace: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_backward(self) -> bool:
        """Whether this computes gradients."""
        return self.forward is not None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Dims by argument, for the references."""
        return {name: tensor.dims for name, tensor in self.tensors.items()}


def _tensor_of(call: Call, parameter: str) -> Any:
    if parameter == "srcs":
        count = sum(name.startswith("multiple_src_") for name in call.tensors)
        return [call.tensors[f"multiple_src_{i}"].desc() for i in range(count)]
    name = _RENAMED.get(parameter, parameter)
    if parameter == "stat":
        name = "mean" if "mean" in call.tensors else "variance"
    if parameter == "data":
        name = "src" if "src" in call.tensors else "dst"
    tensor = call.tensors.get(name)
    return None if tensor is None or tensor.tag == "undef" else tensor.desc()


def _plain(call: Call, parameter: str) -> Any:
    value = call.params[parameter]
    if parameter in _ENUMS:
        return _ENUMS[parameter][value]
    if parameter == "flags":
        kind = dnnl.rnn_flags if "src_layer" in call.tensors else dnnl.normalization_flags
        flags = kind(0)
        for name in value:
            flags |= kind[name]
        return flags
    return dnnl.data_type[value] if parameter.endswith("data_type") else value


def parameters(call: Call, hint: Any = None) -> dict[str, Any]:
    """Return the arguments of the function, except engine and attributes."""
    parameters: dict[str, Any] = {}
    for parameter in _core.ROWS[call.row][0].split():
        if parameter == "hint_fwd_pd":
            parameters[parameter] = hint
        elif parameter in call.params:
            parameters[parameter] = _plain(call, parameter)
        elif parameter != "dst_engine":
            value = _tensor_of(call, parameter)
            if value is not None:
                parameters[parameter] = value
    return parameters


def describe(call: Call, engine: Any, hint: Any, attr: Any) -> Any:
    """Return the primitive descriptor of a call; errors are those of the low level."""
    return getattr(dnnl, call.row)(engine, **parameters(call, hint), attr=attr)


# --- Masks: dimensions along which scales, zero points and operands vary

_WEIGHTED = ("conv", "deconv", "ip")
_BITS = {"per_dim_0": 1, "per_dim_1": 2, "per_dim_01": 3, "per_dim_2": 4, "per_dim_3": 8}


def argument(call: Call, name: str) -> str:
    """Return the execution argument that an attribute's argument refers to."""
    if name in ("src", "src_0"):
        return "src_0" if call.driver == "binary" else "src"
    return name


def mask_of(call: Call, name: str, policy: str | int, ndims: int) -> int:
    """Return the mask of a policy for an argument of this call."""
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


def dims_of(call: Call, name: str) -> tuple[int, ...]:
    """Return the dims of an argument named by an attribute."""
    return call.tensors[argument(call, name)].dims


def broadcast_dims(call: Call, policy: str | int, name: str = "src_1") -> tuple[int, ...]:
    """Return the dims of a post-op's operand: those of dst, 1 outside the mask."""
    dst = call.tensors["dst"].dims
    mask = mask_of(call, name, policy, len(dst))
    return tuple(n if mask >> axis & 1 else 1 for axis, n in enumerate(dst))


def quantity_dims(call: Call, quantity: Quantity) -> tuple[int, ...]:
    """Return the shape of scales or zero points, 1 along shared dimensions.

    Groups apply to the last two dimensions of the mask.
    """
    dims = dims_of(call, quantity.arg)
    mask = mask_of(call, quantity.arg, quantity.policy, len(dims))
    shape = [n if mask >> axis & 1 else 1 for axis, n in enumerate(dims)]
    first = len(dims) - len(quantity.groups)
    for axis, group in enumerate(quantity.groups, start=first):
        if mask >> axis & 1:
            shape[axis] = -(-dims[axis] // max(group, 1))
    return tuple(shape)


# --- Arguments added by attributes


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
    """Return the weights of a prelu post-op, channels-last."""
    return Tensor(broadcast_dims(call, op.policy), "f32", "axb")


def extra_tensors(call: Call) -> dict[str, Tensor]:
    """Return the arguments that attributes add, with their logical shapes."""
    result = {}
    for kind, quantities in (("scales", call.attr.scales), ("zero_points", call.attr.zero_points)):
        for q in quantities:
            name = f"attr_{kind}_{argument(call, q.arg)}"
            result[name] = Tensor(quantity_dims(call, q), q.dtype)
    for r in call.attr.precomputed_reductions:
        result[f"attr_precomputed_reductions_{r.arg}"] = Tensor(quantity_dims(call, r), r.dtype)
    for i, op in enumerate(call.attr.post_ops):
        if op.kind == "binary":
            result[f"attr_post_op_{i}_src_1"] = operand(call, op)
            if op.algorithm == "binary_select":
                result[f"attr_post_op_{i}_src_2"] = condition(call, op)
        elif op.kind == "prelu":
            result[f"attr_post_op_{i}_weights"] = _slopes(call, op)
        elif op.kind == "dw":
            weights, bias = depthwise(call, op)
            result |= {"attr_post_op_dw_weights": weights, "attr_post_op_dw_bias": bias}
    return result


def memory_bytes(call: Call) -> int:
    """Return an upper bound of the memory for a call: device memory and float64 host arrays."""
    tensors = [*call.tensors.values(), *extra_tensors(call).values()]
    return sum(t.nbytes + 4 * 8 * prod(t.dims) for t in tensors)


# --- Attributes as a PrimitiveAttr

_MODES = {"mx": "dynamic_mx", "dynamic_fp": "dynamic_fp"}


def _set_quantity(attr: Any, call: Call, kind: str, quantity: Quantity) -> None:
    data_type = dnnl.data_type[quantity.dtype]
    if quantity.policy == "host_scalar":
        setter = attr.set_host_scale if kind == "scales" else attr.set_host_zero_point
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
    }[kind]
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
    mask = storage.describe(dst.dims, "u8", dropout.tag) if dropout.tag else None
    seed = dnnl.data_type.s64 if dropout.offset is not None else dnnl.data_type.s32
    attr.set_dropout(mask, seed, dropout.offset is not None, dropout.host)


def _set_modes(attr: Any, call: Call) -> None:
    spec = call.attr
    attr.set_scratchpad_mode(dnnl.scratchpad_mode[spec.scratchpad])
    mode, applies = spec.fpmath
    if (mode, applies) != ("strict", False):
        attr.set_fpmath_mode(dnnl.fpmath_mode[mode], applies)
    if spec.acc_mode != "strict":
        attr.set_accumulation_mode(dnnl.accumulation_mode[spec.acc_mode])
    if spec.deterministic:
        attr.set_deterministic(True)
    for arg, rounding in spec.rounding_mode:
        attr.set_rounding_mode(arg, dnnl.rounding_mode[rounding])


def build(call: Call) -> Any:
    """Return the PrimitiveAttr of a call."""
    attr, spec = dnnl.PrimitiveAttr(), call.attr
    _set_modes(attr, call)
    for scale in spec.scales:
        _set_quantity(attr, call, "scales", scale)
    for zero_point in spec.zero_points:
        _set_quantity(attr, call, "zero_points", zero_point)
    for r in spec.precomputed_reductions:
        mask = mask_of(call, r.arg, r.policy, len(dims_of(call, r.arg)))
        attr.set_precomputed_reductions(r.arg, mask, list(r.groups), dnnl.data_type[r.dtype])
    if spec.dropout is not None:
        _set_dropout(attr, spec.dropout, call.tensors["dst"])
    if spec.post_ops:
        ops = dnnl.PostOps()
        for op in spec.post_ops:
            _append(ops, call, op)
        attr.set_post_ops(ops)
    rnn = call.facts.get("rnn_quantization")
    if rnn:
        attr.set_rnn_data_qparams(*rnn["data"])
        attr.set_rnn_weights_qparams(*rnn["weights"])
        if "projection" in rnn:
            attr.set_rnn_weights_projection_qparams(*rnn["projection"])
    return attr
