# SPDX-License-Identifier: Apache-2.0
"""oneDNN's element-wise, binary and reduction algorithms as nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import OPERATIONS, Node
from sycl_dnn.ops import activation
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.reduction import MAX, MEAN, MIN, PROD
from sycl_dnn.ops.shape import SUM


def _linear(x: Node, alpha: float, beta: float) -> Node:
    x = x if alpha == 1 else x * alpha
    return x if beta == 0 else x + beta


def _power(x: Node, alpha: float, beta: float) -> Node:
    powers = ops.POWER(x, exponent=beta)
    return powers if alpha == 1 else powers * alpha


def _clip(x: Node, alpha: float, beta: float) -> Node:
    return ops.CLAMP(x, low=alpha, high=beta)


#: By oneDNN's element-wise algorithm: a function of a node, alpha and beta.
FUNCTIONS: dict[A, Callable[[Node, float, float], Node]] = {
    A.eltwise_abs: lambda x, a, b: ops.ABS(x),
    A.eltwise_clip: _clip,
    A.eltwise_clip_v2: _clip,
    A.eltwise_elu: lambda x, a, b: activation.ELU(x, alpha=a, scale=1.0, input_scale=1.0),
    A.eltwise_exp: lambda x, a, b: ops.EXP(x),
    A.eltwise_gelu_erf: lambda x, a, b: activation.GELU(x),
    A.eltwise_gelu_tanh: lambda x, a, b: activation.GELU_TANH(x),
    A.eltwise_hardsigmoid: lambda x, alpha, beta: ops.CLAMP(
        _linear(x, alpha, beta), low=0.0, high=1.0
    ),
    A.eltwise_hardswish: lambda x, a, b: activation.HARDSWISH(x, slope=a, shift=b),
    A.eltwise_linear: _linear,
    A.eltwise_log: lambda x, a, b: ops.LOG(x),
    A.eltwise_logistic: lambda x, a, b: ops.SIGMOID(x),
    A.eltwise_mish: lambda x, a, b: activation.MISH(x),
    A.eltwise_pow: _power,
    A.eltwise_relu: lambda x, alpha, beta: (
        activation.LEAKY_RELU(x, slope=alpha) if alpha else activation.RELU(x)
    ),
    A.eltwise_round: lambda x, a, b: ops.ROUND(x),
    A.eltwise_soft_relu: lambda x, a, b: activation.SOFTPLUS(x, beta=a, threshold=math.inf),
    A.eltwise_sqrt: lambda x, a, b: ops.SQRT(x),
    A.eltwise_square: lambda x, a, b: ops.SQUARE(x),
    A.eltwise_swish: lambda x, a, b: x * ops.SIGMOID(x * a),
    A.eltwise_tanh: lambda x, a, b: ops.TANH(x),
}
#: By oneDNN's binary algorithm: an operation of two nodes.
PAIRS = {
    getattr(A, f"binary_{name}"): OPERATIONS[row]
    for name, row in {
        "add": "add", "sub": "sub", "mul": "mul", "div": "div", "max": "maximum",
        "min": "minimum", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    }.items()
}  # fmt: skip
#: By oneDNN's reduction algorithm: an operation of a node, given its axes.
REDUCTIONS = {
    A.reduction_sum: SUM, A.reduction_mean: MEAN, A.reduction_max: MAX, A.reduction_min: MIN,
    A.reduction_mul: PROD,
}  # fmt: skip
