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
        is_whole = operand.desc == node.dst.desc
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


def _is_by_channel(operand: Tensor, node: Node) -> bool:
    """Whether a dense operand has one element for each channel, or column of a matrix."""
    dims = node.dst.desc.dims
    axis = len(dims) - 1 if node.row == "matmul" else 1
    shape = tuple(n if a == axis else 1 for a, n in enumerate(dims))
    is_one = operand.desc.is_plain and operand.desc.dims == shape
    return is_one and operand.desc.strides[axis] == 1
