# SPDX-License-Identifier: Apache-2.0
"""Matrix products and operators composed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sycl_dnn.onnx.elementwise_operators import is_float, name_of
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, operator

operator("MatMul")(lambda call, a, b: F.matmul(a, b))
operator("Det", 11)(lambda call, x: F.linalg.det(x))


def _turned(x: Any, is_turned: Any) -> Any:
    return F.transpose(x, -2, -1) if is_turned else x


@operator("Gemm")
def _gemm(call: Call, a: Any, b: Any, c: Any = None) -> Any:
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    a, b = _turned(a, call.get("transA", 0)), _turned(b, call.get("transB", 0))
    product = F.matmul(a, b)
    if alpha != 1:
        product = product * (alpha if is_float(product) else int(alpha))
    if c is None:
        return product
    return product + (c if beta == 1 else c * (beta if is_float(c) else int(beta)))


@operator(["FusedMatMul", "TransposeMatMul"], domain=MICROSOFT)
def _fused_matmul(call: Call, a: Any, b: Any) -> Any:
    if call.get("transBatchA", 0) or call.get("transBatchB", 0):
        call.refuse("transBatchA and transBatchB must be 0")
    product = F.matmul(_turned(a, call.get("transA", 0)), _turned(b, call.get("transB", 0)))
    return product * call.get("alpha", 1.0) if call.get("alpha", 1.0) != 1 else product


@operator("FusedGemm", domain=MICROSOFT)
def _fused_gemm(call: Call, a: Any, b: Any, c: Any = None) -> Any:
    names = ("activation_alpha", "activation_beta")
    given = [call.get(name) for name in names]
    return activated(call, _gemm(call, a, b, c), [v for v in given if v is not None])


#: Activations of fused operators, with the defaults of their parameters.
_ACTIVATIONS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "": (lambda x: x, ()), "Relu": (F.relu, ()), "Sigmoid": (F.sigmoid, ()), "Tanh": (F.tanh, ()),
    "LeakyRelu": (F.leaky_relu, (0.01,)), "Clip": (F.clamp, (-math.inf, math.inf)),
    "HardSigmoid": (lambda x, a, b: F.clamp(x * a + b, 0.0, 1.0), (0.2, 0.5)),
}  # fmt: skip


def activated(call: Call, x: Any, given: Sequence[float]) -> Any:
    """Apply the activation of a fused operator, with the parameters that are given."""
    name = call.get("activation", "")
    if name not in _ACTIVATIONS:
        call.refuse(f"activation must be one of {', '.join(_ACTIVATIONS)}, got {name}")
    function, defaults = _ACTIVATIONS[name]
    return function(x, *given[: len(defaults)], *defaults[len(given) :])


@operator("Einsum", 12)
def _einsum(call: Call, *xs: Any) -> Any:
    return F.astype(F.einsum(call.need("equation"), *xs), name_of(xs[0]))  # sums are int64
