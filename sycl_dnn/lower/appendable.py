# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions of one array that a compiled program may append to a primitive."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sycl_dnn._core import algorithm
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed, meaning
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.pointwise import eltwise
from sycl_dnn.trace.values import Tensor


class Eltwise(NamedTuple):
    """One of oneDNN's element-wise functions."""

    algorithm: algorithm
    alpha: float = 0.0
    beta: float = 0.0


def is_appendable(x: Tensor) -> bool:
    """Whether functions of a tensor are recorded as oneDNN's primitives, which may lose NaN."""
    trace = x.trace
    is_asked = trace.is_compiled and not trace.keeps_nan
    return bool(is_asked and x.dtype != "float64" and x.size)


def applied(
    definition: Callable[[Node], Node], x: Tensor, eltwise_of: Eltwise, wide: str = ""
) -> Tensor:
    """Record a function as one kernel; in a compiled program as oneDNN's primitive.

    Only oneDNN's primitive can become a post-op of a convolution or a product. It may treat NaN
    differently from the definition, so unfused ones become kernels again; see
    ``compiler.passes.lone_functions``. With ``set_nan("propagate")`` a kernel is recorded at once.
    Derivatives are those of the definition.

    ``definition``: of one node of the dtype of ``x``, or of ``wide``; ``x``: of floating-point
    numbers; ``eltwise_of``: the equivalent function of oneDNN; ``wide``: the dtype to compute in,
    by default that of ``x``.
    """

    def function(node: Node) -> Node:
        return cast(definition(cast(node, wide)), node.dtype) if wide else definition(node)

    if not is_appendable(x):
        return computed(function, x)
    return meaning(function, [x], lambda: eltwise(x, *eltwise_of))
