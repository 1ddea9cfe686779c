# SPDX-License-Identifier: Apache-2.0
"""Operations of a host task, and post-ops of primitives as functions of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn import _core
from sycl_dnn._core import algorithm as A
from sycl_dnn._core import data_type
from sycl_dnn.lower.step_graph import Node, has_only_post_ops
from sycl_dnn.trace.values import Tensor

#: Elements of a result, times its functions such as logarithms and one, up to which one thread
#: computes them faster than a launch takes.
_MAX_OF_FUNCTIONS = 1 << 11
#: Functions that are computed number by number: as many elements as of an interpreted kernel.
_COSTLY = frozenset((A.eltwise_log, A.eltwise_pow, A.eltwise_soft_relu))
#: Arguments of a post-op that adds the previous result.
_PLAIN_SUM = (1.0, 0, data_type.undef)
COMBINATIONS = frozenset(
    (A.binary_add, A.binary_sub, A.binary_mul, A.binary_div, A.binary_max, A.binary_min)
)


#: Algorithm, alpha, beta, and the position of another array among those of an operation, or -1.
Function = tuple[Any, float, float, int]


class Operation(NamedTuple):
    """The operation of a node; ``data`` follows the arrays in ``_core.Kernel.sequence``."""

    kind: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    data: tuple[Any, ...]


def with_post_ops(
    node: Node, kind: str, inputs: tuple[Tensor | None, ...], sizes: tuple[int, ...],
    numbers: tuple[float, ...] = (), is_by_channel: bool = True,
    first: Sequence[Function] = (), statistics: tuple[Tensor, ...] = (),
) -> Operation | None:  # fmt: skip
    """Return an operation followed by a node's post-ops; None if it has others.

    ``is_by_channel``: whether a row of the operation has an element of each channel. ``first`` are
    functions before the post-ops, and ``statistics`` results before ``dst``.
    """
    if not has_only_post_ops(node.attr):
        return None
    operands: list[Tensor] = []
    functions = list(first)
    for i in range(len(node.post_ops)):
        name, args = node.post_ops[i]
        if name == "append_eltwise" and _core.Kernel.can_apply(args[0]):
            functions.append((*args, -1))
            continue
        found = _operand(node, i, name, args)
        if found is None:
            return None
        algorithm, operand = found
        is_whole = operand.desc == node.dst.desc or _has_rows_of(operand, node)
        if not is_whole and not (is_by_channel and _is_by_channel(operand, node)):
            return None
        functions.append((algorithm, float(is_whole), 0.0, len(inputs) + len(operands)))
        operands.append(operand)
    n_costly = sum(algorithm in _COSTLY for algorithm, *_ in functions)
    if n_costly and node.dst.size * (1 + n_costly) > _MAX_OF_FUNCTIONS:
        return None
    data = sizes, tuple(functions), numbers
    return Operation(kind, (*inputs, *operands), (*statistics, node.dst), data)


def _operand(node: Node, index: int, name: str, args: Any) -> tuple[Any, Tensor] | None:
    """Return algorithm and operand of a post-op with another array; None for other post-ops."""
    if name == "append_sum":
        return (A.binary_add, node.dst) if args == _PLAIN_SUM else None
    if name == "append_prelu":
        return A.eltwise_relu, node.inputs[f"attr_post_op_{index}_weights"]
    if name == "append_binary" and args[0] in COMBINATIONS:
        return args[0], node.inputs[f"attr_post_op_{index}_src_1"]
    return None


def _has_rows_of(operand: Tensor, node: Node) -> bool:
    """Whether matrices of an operand have the rows of those of a product."""
    if node.row != "matmul" or not (operand.desc.is_plain and node.dst.desc.is_plain):
        return False
    pairs = [
        (d.dims[-2:], d.strides[-2:]) for d in (operand.desc, node.dst.desc) if len(d.dims) > 1
    ]
    return len(pairs) > 1 and pairs[0] == pairs[1]


def _is_by_channel(operand: Tensor, node: Node) -> bool:
    """Whether an operand has one element for each channel, or column of a product's matrices."""
    desc, dims = operand.desc, node.dst.desc.dims
    if not desc.is_plain or len(desc.dims) != len(dims):
        return False
    is_product = node.row == "matmul"
    axis = len(dims) - 1 if is_product else 1
    others = desc.dims[-2:-1] if is_product else desc.dims[:axis] + desc.dims[axis + 1 :]
    is_one = desc.dims[axis] == dims[axis] and all(n == 1 for n in others)
    return is_one and desc.strides[axis] == 1
