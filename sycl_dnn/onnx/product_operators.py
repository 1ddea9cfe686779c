# SPDX-License-Identifier: Apache-2.0
"""Matrix products and operators composed of them."""

from __future__ import annotations

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
    product, activation = _gemm(call, a, b, c), call.get("activation", "")
    alpha = call.get("activation_alpha", 0.01)
    activations = {"": lambda x: x, "Relu": F.relu, "Sigmoid": F.sigmoid, "Tanh": F.tanh,
             "LeakyRelu": lambda x: F.leaky_relu(x, alpha)}  # fmt: skip
    if activation not in activations:
        call.refuse(f"activation must be one of {', '.join(activations)}, got {activation}")
    return activations[activation](product)


@operator("Einsum", 12)
def _einsum(call: Call, *xs: Any) -> Any:
    return F.astype(F.einsum(call.need("equation"), *xs), name_of(xs[0]))  # sums are int64
