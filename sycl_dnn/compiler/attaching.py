# SPDX-License-Identifier: Apache-2.0
"""Element-wise operations put behind a primitive: attributes with their post-ops."""

from __future__ import annotations

from dataclasses import replace

from sycl_dnn import _core
from sycl_dnn._core import algorithm as A
from sycl_dnn.compiler.chains import Op
from sycl_dnn.compiler.node import post_ops_of
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.onednn import dtypes


def attached(
    attr: _core.PrimitiveAttr, ops: tuple[Op, ...], inputs: dict[str, Tensor]
) -> _core.PrimitiveAttr:
    """Return the attribute with further post-ops, and put their operands among the inputs."""
    post_ops = post_ops_of(attr).copy()
    for op in ops:
        index = len(post_ops)
        if op.kind == "eltwise":
            post_ops.append_eltwise(op.algorithm, op.alpha, op.beta)
        elif op.kind == "sum":
            post_ops.append_sum(1.0)
        elif op.kind == "prelu":
            dims = op.desc.dims
            post_ops.append_prelu(sum(1 << i for i, n in enumerate(dims) if n > 1))
            inputs[f"attr_post_op_{index}_weights"] = _looking(op)
        elif op.kind == "binary":
            post_ops.append_binary(op.algorithm, op.desc)
            inputs[f"attr_post_op_{index}_src_1"] = _looking(op)
    return with_post_ops(attr, post_ops)


def with_post_ops(attr: _core.PrimitiveAttr, post_ops: _core.PostOps) -> _core.PrimitiveAttr:
    """Return the attribute with other post-ops."""
    made = _core.PrimitiveAttr()
    for name, args in attr.calls:
        if name != "set_post_ops":
            getattr(made, name)(*args)
    if len(post_ops):
        made.set_post_ops(post_ops)
    return made


def _looking(op: Op) -> Tensor:
    t, desc = op.operand, op.desc
    if t.desc == desc:
        return t
    return Tensor(t.trace, t.storage, desc, dtypes.NAMES[desc.data_type], desc.dims, t.offset)


def is_moderate(op: Op) -> bool:
    """Whether the factors of a linear map may be multiplied by others without an overflow."""
    return all(v == 0 or 1e-12 < abs(v) < 1e12 for v in (op.alpha, op.beta))


def simplified(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """Return the operations without linear maps that do nothing or follow one another."""
    made: list[Op] = []
    for op in ops:
        if op.algorithm is not A.eltwise_linear:
            made.append(op)
            continue
        is_next = made and made[-1].algorithm is A.eltwise_linear
        if is_next and is_moderate(op) and is_moderate(made[-1]):
            first = made.pop()
            beta = op.alpha * first.beta + op.beta
            op = replace(op, alpha=op.alpha * first.alpha, beta=beta)
        if (op.alpha, op.beta) != (1.0, 0.0):
            made.append(op)
    return tuple(made)
