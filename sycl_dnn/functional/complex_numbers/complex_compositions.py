# SPDX-License-Identifier: Apache-2.0
"""Complex versions of inverse functions, convolutions, and sums of products.

Signatures are those of the functions; they are registered by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn.call.complex_arguments import of_complex
from sycl_dnn.functional.complex_numbers.complex_functions import (
    add,
    define,
    log,
    mul,
    root,
    sub,
    to_complex,
)
from sycl_dnn.ir.node import number
from sycl_dnn.lower.complex_values import Parts, elementwise, joined, parts
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.special_functions import COPYSIGN, MODULUS
from sycl_dnn.trace import functions
from sycl_dnn.trace.values import Tensor

# --- Functions of one number, with the branch cuts and signs of zero of Kahan, "Branch cuts for
# --- complex elementary functions" (1987)


def _roots(z: Parts) -> tuple[Parts, Parts]:
    """Return the square roots of ``1 - z`` and ``1 + z``."""
    one = number(1, z.real.dtype)
    return root(Parts(one - z.real, -z.imag)), root(Parts(one + z.real, z.imag))


def _asin(z: Parts) -> Parts:
    (a, b), (c, d) = _roots(z)
    return Parts(ops.ATAN2(z.real, a * c - b * d), ops.ASINH(a * d - b * c))


def _acos(z: Parts) -> Parts:
    (a, b), (c, d) = _roots(z)
    return Parts(ops.ATAN2(a, c) * 2, ops.ASINH(c * b - d * a))


def _acosh(z: Parts) -> Parts:
    one = number(1, z.real.dtype)
    (a, b), (c, d) = (root(Parts(part, z.imag)) for part in (z.real - one, z.real + one))
    return Parts(ops.ASINH(a * c + b * d), ops.ATAN2(b, c) * 2)


def _atanh(z: Parts) -> Parts:
    (x, y), one = z, number(1, z.real.dtype)
    size = ops.ABS(x)
    side = one - size
    real = ops.LOG1P(size * 4 / (side * side + y * y)) * 0.25
    return Parts(COPYSIGN(real, x), ops.ATAN2(y * 2, side * (one + size) - y * y) * 0.5)


def _around(definition: Callable[[Parts], Parts]) -> Callable[[Parts], Parts]:
    """Return ``-1j * definition(1j * z)``."""

    def around(z: Parts) -> Parts:
        real, imag = definition(Parts(-z.imag, z.real))
        return Parts(imag, -real)

    return around


def _log1p(z: Parts) -> Parts:
    (x, y), one = z, number(1, z.real.dtype)
    moved = Parts(one + x, y)
    is_small = ops.LT(MODULUS(x, y), number(0.5, x.dtype))
    near = Parts(*[ops.where(is_small, part, number(0, x.dtype)) for part in z])
    small = ops.LOG1P(near.real * (near.real + 2) + near.imag * near.imag) * 0.5
    real, imag = log(moved)
    return Parts(ops.where(is_small, small, real), imag)


def _expm1(z: Parts) -> Parts:
    half = ops.SIN(z.imag * 0.5)
    real = ops.EXPM1(z.real) * ops.COS(z.imag) - half * half * 2
    return Parts(real, ops.EXP(z.real) * ops.SIN(z.imag))


for _name, _definition in {
    "asin": _asin, "acos": _acos, "asinh": _around(_asin), "acosh": _acosh, "atanh": _atanh,
    "atan": _around(_atanh), "log1p": _log1p, "expm1": _expm1,
}.items():  # fmt: skip
    define(_name, _definition)


# --- Convolutions


def _of_convolution(name: str) -> None:
    def rule(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, *args: Any, **kwargs: Any
    ) -> Tensor:
        if input.dtype != weight.dtype:
            raise TypeError(
                f"{name}: weight must have the dtype of input, {input.dtype}, got {weight.dtype}"
            )
        (x, y), (u, v) = parts(input), parts(weight)

        def convolved(x: Tensor, w: Tensor) -> Tensor:
            return getattr(functions, name)(x, w, None, *args, **kwargs)  # type: ignore[no-any-return]

        real = functions.sub(convolved(x, u), convolved(y, v))
        result = joined(real, functions.add(convolved(x, v), convolved(y, u)))
        if bias is None:
            return result
        n_axes = int(name[-2])
        return add(result, functions.reshape(bias, (-1, *[1] * n_axes)))

    rule.__name__ = name
    of_complex(rule)


for _n in (1, 2, 3):
    _of_convolution(f"conv{_n}d")
    _of_convolution(f"conv_transpose{_n}d")


# --- Sums of products


def _weighted(input: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    product = product if alpha == 1 else mul(product, alpha)
    return product if beta == 0 else add(input if beta == 1 else mul(input, beta), product)


@of_complex
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""
    return _weighted(input, functions.mm(mat1, mat2), beta, alpha)


@of_complex
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """Return ``beta * input + alpha * (batch1 @ batch2)``."""
    return _weighted(input, functions.bmm(batch1, batch2), beta, alpha)


@of_complex
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``."""
    return _weighted(input, mul(tensor1, tensor2), 1, value)


@of_complex
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``."""
    return _weighted(input, functions.div(tensor1, tensor2), 1, value)


@of_complex
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Return ``input + weight * (end - input)``."""
    return add(input, mul(weight, sub(end, input)))


@of_complex
def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return ``abs(input - target)``, by default its mean."""
    sizes = functions.abs(sub(input, target))
    zeros = functions.zeros_like(sizes)
    return functions.l1_loss(sizes, zeros, size_average, reduce, reduction, weight)  # type: ignore[no-any-return]


@of_complex
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divide vectors by their p-norm, or ``eps``."""
    length = functions.norm(input, p, dim, True)
    return functions.div(input, functions.clamp(length, eps))  # type: ignore[no-any-return]


@of_complex
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the logarithm of sums of exponentials, shifted by the largest real part."""
    real = elementwise(lambda z: ops.STOP_GRADIENT(z.real), input)
    largest = functions.amax(real, dim, True)
    shift = functions.where(functions.isfinite(largest), largest, 0.0)
    total = functions.sum(functions.exp(sub(input, shift)), dim, keepdim)
    shift = shift if keepdim else functions.reshape(shift, total.shape)
    return add(functions.log(total), shift)


@of_complex
def sinc(input: Tensor) -> Tensor:
    """Return ``sin(pi * input) / (pi * input)``, 1 at 0."""
    angles = mul(input, math.pi)
    is_zero = functions.eq(input, 0)
    quotient = functions.div(functions.sin(angles), functions.where(is_zero, 1.0 + 0j, angles))
    return functions.where(is_zero, to_complex(functions.ones_like(functions.real(input)),
                           dtypes.complex_of(str(input.dtype))), quotient)  # type: ignore[no-any-return] # fmt: skip
