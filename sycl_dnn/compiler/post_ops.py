# SPDX-License-Identifier: Apache-2.0
"""Element-wise nodes as chains of post-ops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn._dpnp import host_view, is_readable
from sycl_dnn.compiler.relayout import same_places
from sycl_dnn.lower.step_graph import Node, Refusal, has_only_post_ops
from sycl_dnn.onednn import dtypes
from sycl_dnn.onednn.shared_descriptors import post_ops_of
from sycl_dnn.trace.pointwise import NO_SHIFT, is_negative_zero
from sycl_dnn.trace.values import Tensor

A = algorithm
#: Binary operations with swapped operands, and the factor for the result. Maxima and minima
#: propagate NaN only of the second operand.
MIRRORED = {
    A.binary_add: (A.binary_add, 1.0),
    A.binary_mul: (A.binary_mul, 1.0),
    A.binary_sub: (A.binary_sub, -1.0),
}
#: Operations with a number on the right, as a factor and a summand. As torch does on GPUs, a
#: product with the reciprocal is a quotient.
_LINEAR = {
    A.binary_add: lambda c: (1.0, c),
    A.binary_sub: lambda c: (1.0, -c),
    A.binary_mul: lambda c: (c, 0.0),
    A.binary_div: lambda c: (1.0 / c, 0.0),
}


@dataclass(frozen=True)
class Op:
    """One element-wise operation: an eltwise or binary algorithm, prelu, or a conversion."""

    kind: str
    algorithm: Any = None
    alpha: float = 0.0
    beta: float = 0.0
    #: The other operand, and its layout relative to the value.
    operand: Any = None
    desc: Any = None

    @property
    def label(self) -> str:
        """Short name for reports."""
        name = self.kind if self.algorithm is None else self.algorithm.name
        return name.removeprefix("eltwise_")


@dataclass(frozen=True)
class Chain:
    """Operations on one input of a node, and the layouts of that input and the result."""

    source: Tensor
    result: Tensor
    ops: tuple[Op, ...]

    @property
    def label(self) -> str:
        """Short names of the operations."""
        return " + ".join(op.label for op in self.ops) or "copy"


def linear(alpha: float, beta: float = 0.0) -> Op:
    """Return the operation ``alpha * x + beta``."""
    # A sum of zero shifts is no shift.
    return Op("eltwise", A.eltwise_linear, float(alpha), float(beta) or NO_SHIFT)


def scalar_of(tensor: Tensor) -> float | None:
    """Return the value of a constant tensor with one element; None for any other."""
    memory = tensor.storage.memory
    if memory is None or tensor.size != 1 or tensor.offset or not isinstance(memory.owner, list):
        return None
    owner = memory.owner[0]
    if not isinstance(owner, dpnp.ndarray):
        return None
    usm = owner.get_array()
    bits = (host_view(usm) if is_readable(usm) else dpnp.asnumpy(owner)).reshape(-1)
    if tensor.dtype == "bfloat16":
        return float((bits[:1].astype(np.uint32) << 16).view(np.float32)[0])
    return float(bits[0]) if tensor.dtype in ("float32", "float16", "float64") else None


def chain_on(node: Node, name: str) -> Chain | Refusal:
    """Return the operations that a node applies to input ``name``, or why they are no chain."""
    maker = _MAKERS.get(node.row)
    if maker is None or not node.has_dst:
        return Refusal(f"{node.row} is not element-wise")
    dst = node.dst
    if name not in ("src", "src_0", "src_1"):
        return Refusal(f"{node.row} has it as the operand of a post-op")
    if not has_only_post_ops(node.attr):
        return Refusal(f"{node.row} has its own scales")
    source = node.inputs[name]
    if not same_places(source.desc, dst.desc):
        return Refusal(f"{node.row} changes the layout")
    ops = maker(node, name)
    if isinstance(ops, Refusal):
        return ops
    later = post_ops_as_chain(node)
    if isinstance(later, Refusal):
        return later
    if source.desc.data_type != dst.desc.data_type:
        later = (*later, Op("convert"))
    return Chain(source, dst, (*ops, *later))


def _eltwise(node: Node, name: str) -> tuple[Op, ...] | Refusal:
    p = node.params
    return (Op("eltwise", p["algorithm"], p["alpha"], p["beta"]),)


def _binary(node: Node, name: str) -> tuple[Op, ...] | Refusal:
    kind, (a, b) = node.params["algorithm"], (node.inputs["src_0"], node.inputs["src_1"])
    if kind is A.binary_select:
        return Refusal("select takes three operands")
    if a.storage is b.storage and a.offset == b.offset and a.desc == b.desc:
        # A maximum with itself only carries post-ops.
        is_itself = kind in (A.binary_max, A.binary_min)
        return () if is_itself else Refusal("both operands are one value")
    if name == "src_0":
        return (_with_operand(kind, b),)
    if kind not in MIRRORED:
        return Refusal(f"{kind.name} has it as its right operand")
    if kind is A.binary_sub and scalar_of(a) == 0:
        return Refusal("0 - x has other zeros than -x")
    kind, factor = MIRRORED[kind]
    return (_with_operand(kind, a), *(() if factor == 1 else (linear(factor),)))


def _with_operand(kind: algorithm, operand: Tensor) -> Op:
    number = scalar_of(operand)
    has_inverse = number is not None and 1e-30 < abs(number) < 1e30
    is_linear = number is not None and not is_negative_zero(number)
    if is_linear and kind in _LINEAR and (has_inverse or kind is not A.binary_div):
        return linear(*_LINEAR[kind](number))
    return Op("binary", kind, operand=operand, desc=operand.desc)


def _prelu(node: Node, name: str) -> tuple[Op, ...] | Refusal:
    if name != "src":
        return Refusal("prelu has it as weights")
    # Post-ops silently require float32.
    weights = node.inputs["src"].trace.widened(node.inputs["weights"])
    if weights.dtype != "float32":
        return Refusal("the slopes are not in float32")
    return (Op("prelu", operand=weights, desc=weights.desc),)


_MAKERS = {
    "eltwise_forward": _eltwise,
    "binary": _binary,
    "prelu_forward": _prelu,
    "reorder": lambda node, name: () if len(node.inputs) == 1 else Refusal("the copy has scales"),
}
#: Element-wise primitives.
ELEMENTWISE = frozenset(_MAKERS)


def post_ops_as_chain(node: Node) -> tuple[Op, ...] | Refusal:
    """Return a node's post-ops as operations, or why that is impossible."""
    ops: list[Op] = []
    post_ops = node.post_ops
    for i in range(len(post_ops)):
        name, args = post_ops[i]
        if name == "append_eltwise":
            ops.append(Op("eltwise", *args))
        elif name == "append_binary" and args[2] is None:
            operand = node.inputs[f"attr_post_op_{i}_src_1"]
            ops.append(Op("binary", args[0], operand=operand, desc=operand.desc))
        else:
            return Refusal(f"{node.row} has a post-op of another kind")
    return tuple(ops)


# --- Operations appended to a primitive's attribute


def attached(
    attr: _core.PrimitiveAttr, ops: tuple[Op, ...], inputs: dict[str, Tensor]
) -> _core.PrimitiveAttr:
    """Return the attribute with additional post-ops, and add their operands to the inputs."""
    post_ops, ops = _joined_post_ops(post_ops_of(attr), ops)
    for op in ops:
        index = len(post_ops)
        if op.kind == "eltwise":
            post_ops.append_eltwise(op.algorithm, op.alpha, op.beta)
        elif op.kind == "prelu":
            dims = op.desc.dims
            post_ops.append_prelu(sum(1 << i for i, n in enumerate(dims) if n > 1))
            inputs[f"attr_post_op_{index}_weights"] = _operand_view(op)
        elif op.kind == "binary":
            post_ops.append_binary(op.algorithm, op.desc)
            inputs[f"attr_post_op_{index}_src_1"] = _operand_view(op)
    return with_post_ops(attr, post_ops)


def _joined_post_ops(
    first: _core.PostOps, ops: tuple[Op, ...]
) -> tuple[_core.PostOps, tuple[Op, ...]]:
    """Return post-ops to append to, and the operations, with adjacent linear maps as one."""
    joined, n = _core.PostOps(), len(first)
    if n and ops and ops[0].algorithm is first[n - 1][1][0] is A.eltwise_linear:
        n, ops = n - 1, simplified((Op("eltwise", *first[n - 1][1]), *ops))
    for i in range(n):
        name, args = first[i]
        getattr(joined, name)(*args)
    return joined, ops


def with_post_ops(attr: _core.PrimitiveAttr, post_ops: _core.PostOps) -> _core.PrimitiveAttr:
    """Return a copy of the attribute with other post-ops."""
    copy = _core.PrimitiveAttr()
    for name, args in attr.calls:
        if name != "set_post_ops":
            getattr(copy, name)(*args)
    if len(post_ops):
        copy.set_post_ops(post_ops)
    return copy


def _operand_view(op: Op) -> Tensor:
    t, desc = op.operand, op.desc
    if t.desc == desc:
        return t
    return Tensor(t.trace, t.storage, desc, dtypes.NAMES[desc.data_type], desc.dims, t.offset)


def is_moderate(op: Op) -> bool:
    """Whether factors of a linear map can be multiplied without overflow, or a loss of signs."""
    # A product with 0 keeps the sign of the other factor.
    return 1e-12 < abs(op.alpha) < 1e12 and (op.beta == 0 or 1e-12 < abs(op.beta) < 1e12)


def _can_merge(first: Op, op: Op) -> bool:
    """Whether two consecutive linear maps are one: ``-(x + b)`` is -0 where ``-x - b`` is 0."""
    return (
        is_moderate(first) and is_moderate(op) and (op.alpha > 0 or not first.beta or op.beta != 0)
    )


def simplified(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """Remove identity maps and merge consecutive linear maps."""
    merged: list[Op] = []
    for op in ops:
        if op.algorithm is not algorithm.eltwise_linear:
            merged.append(op)
            continue
        is_next = merged and merged[-1].algorithm is algorithm.eltwise_linear
        if is_next and _can_merge(merged[-1], op):
            first = merged.pop()
            beta = op.alpha * first.beta + op.beta or NO_SHIFT
            op = replace(op, alpha=op.alpha * first.alpha, beta=beta)
        if (op.alpha, op.beta) != (1.0, 0.0):
            merged.append(op)
    return tuple(merged)
