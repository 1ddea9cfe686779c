# SPDX-License-Identifier: Apache-2.0
"""Complex versions of functions of real numbers: rules by the name of the function.

Signatures are those of the functions. Derivatives of any order are those of the real operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sycl_dnn._core import algorithm as A
from sycl_dnn.call.complex_arguments import RULES, of_complex
from sycl_dnn.functional.arithmetic.operands import checked_operands, number_or_tensor
from sycl_dnn.functional.product.matmul import bmm as real_bmm
from sycl_dnn.functional.product.matmul import matmul as real_matmul
from sycl_dnn.functional.product.matmul import mm as real_mm
from sycl_dnn.functional.reduction.statistics import norm
from sycl_dnn.functional.reduction.sums import axes_of, drop_axes
from sycl_dnn.functional.shape.joining import cat
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.complex_values import (
    Parts,
    as_numbers,
    as_pairs,
    complex_conversion,
    elementwise,
    joined,
    parts,
)
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops.shape import broadcast_to
from sycl_dnn.ops.special_functions import MODULUS, signbit
from sycl_dnn.trace import functions
from sycl_dnn.trace.pointwise import binary, linear_map
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import narrow, reshape, transpose

# --- Arithmetic


def _operands(name: str, **values: Any) -> list[Any]:
    """Return checked operands; complex numbers of Python's are accepted."""
    tensors = {n: v for n, v in values.items() if isinstance(v, Tensor)}
    checked_operands(name, **tensors)
    return [v if isinstance(v, complex) else number_or_tensor(name, n, v)
            for n, v in values.items()]  # fmt: skip


def _same(name: str, *operands: Any) -> list[Any]:
    """Return operands, with tensors in the dtype of the result."""
    dtype = dtypes.result_dtype(*operands)
    return [to_complex(v, dtype) if isinstance(v, Tensor) else v for v in operands]


def to_complex(x: Tensor, dtype: str) -> Tensor:
    """Return a tensor in a complex dtype."""
    return x if x.dtype == dtype else complex_conversion(x, dtype)


def _of_sum(name: str, sign: float, input: Any, other: Any, alpha: Any) -> Tensor:
    a, b = _operands(name, input=input, other=other)
    if alpha != 1:
        b = mul(b, alpha) if isinstance(b, Tensor) else b * alpha
    a, b = _same(name, a, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        kind = A.binary_add if sign > 0 else A.binary_sub
        return binary(kind, a, b, a.dtype)
    return elementwise(lambda x, y: x + y if sign > 0 else x - y, a, b)


@of_complex
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return ``input + alpha * other``."""
    return _of_sum("add", 1, input, other, alpha)


@of_complex
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return ``input - alpha * other``."""
    return _of_sum("sub", -1, input, other, alpha)


@of_complex
def mul(input: Any, other: Any) -> Tensor:
    """Return ``input * other``."""
    return elementwise(Parts.__mul__, *_operands("mul", input=input, other=other))


@of_complex
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Return ``input / other``."""
    if rounding_mode is not None:
        raise TypeError(f"div: rounding_mode must be None for complex numbers, got {rounding_mode}")
    return elementwise(Parts.__truediv__, *_operands("div", input=input, other=other))


@of_complex
def neg(input: Tensor) -> Tensor:
    """Return ``-input``."""
    return as_numbers(linear_map(as_pairs(input), -1.0))


@of_complex
def square(input: Tensor) -> Tensor:
    """Return ``input * input``."""
    return mul(input, input)


@of_complex
def reciprocal(input: Tensor) -> Tensor:
    """Return ``1 / input``."""
    return div(1, input)


# --- Functions of one number


def _exp(z: Parts) -> Parts:
    size, zero = ops.EXP(z.real), number(0, z.real.dtype)
    # On the real axis infinities and NaN are those of real numbers.
    is_real = ops.LOGICAL_AND(ops.EQ(z.imag, zero), ops.LOGICAL_NOT(ops.ISFINITE(size)))
    imag = ops.where(is_real, z.imag, size * ops.SIN(z.imag))
    return Parts(size * ops.COS(z.imag), imag)


def log(z: Parts) -> Parts:
    """Return the principal logarithm."""
    return Parts(ops.LOG(MODULUS(*z)), ops.ATAN2(z.imag, z.real))


def root(z: Parts) -> Parts:
    """Return the root with a nonnegative real part, of numbers of any size."""
    size = MODULUS(*z)
    zero, one = number(0, size.dtype), number(1, size.dtype)
    is_zero, is_left = ops.EQ(size, zero), ops.LT(z.real, zero)
    # The larger part first: the other is a quotient by it.
    larger = ops.SQRT(ops.where(is_zero, one, size * 0.5 + ops.ABS(z.real) * 0.5))
    smaller = ops.ABS(z.imag) / (larger * 2)
    real = ops.where(is_left, smaller, larger)
    imag = ops.where(is_left, larger, smaller)
    signed = ops.where(signbit(z.imag), -imag, imag)
    return Parts(ops.where(is_zero, ops.SQRT(size), real), ops.where(is_zero, z.imag, signed))


def _sin(z: Parts) -> Parts:
    (x, y) = z
    return Parts(ops.SIN(x) * ops.COSH(y), ops.COS(x) * ops.SINH(y))


def _cos(z: Parts) -> Parts:
    (x, y) = z
    return Parts(ops.COS(x) * ops.COSH(y), -(ops.SIN(x) * ops.SINH(y)))


def _sinh(z: Parts) -> Parts:
    (x, y) = z
    return Parts(ops.SINH(x) * ops.COS(y), ops.COSH(x) * ops.SIN(y))


def _cosh(z: Parts) -> Parts:
    (x, y) = z
    return Parts(ops.COSH(x) * ops.COS(y), ops.SINH(x) * ops.SIN(y))


def _tanh(z: Parts) -> Parts:
    """Return the hyperbolic tangent; quotients of ``sinh`` and ``cosh`` would overflow."""
    t, tangent = ops.TANH(z.real), ops.TAN(z.imag)
    one = number(1, t.dtype)
    return Parts(t, tangent) / Parts(one, t * tangent)


def _tan(z: Parts) -> Parts:
    turned = _tanh(Parts(-z.imag, z.real))
    return Parts(turned.imag, -turned.real)


def _sigmoid(z: Parts) -> Parts:
    """Return the sigmoid, of the exponential of the side that does not overflow."""
    zero, one = (number(v, z.real.dtype) for v in (0, 1))
    is_left = ops.LT(z.real, zero)
    power = _exp(Parts(*[ops.where(is_left, part, -part) for part in z]))
    first = Parts(ops.where(is_left, power.real, one), ops.where(is_left, power.imag, zero))
    return first / Parts(one + power.real, power.imag)


def _scaled(z: Parts, factor: float) -> Parts:
    return Parts(z.real * factor, z.imag * factor)


def _inverted(z: Parts) -> Parts:
    return Parts(number(1, z.real.dtype), number(0, z.real.dtype)) / z


def define(name: str, definition: Callable[[Parts], Any]) -> None:
    """Register an element-wise function of one number, given by its parts."""

    def rule(input: Tensor) -> Tensor:
        return elementwise(definition, input)

    rule.__name__ = name
    of_complex(rule)


def _either(test: Any) -> Callable[[Parts], Node]:
    return lambda z: ops.LOGICAL_OR(test(z.real), test(z.imag))


for _name, _definition in {
    "exp": _exp, "log": log, "sqrt": root, "sin": _sin, "cos": _cos, "sinh": _sinh,
    "cosh": _cosh, "tanh": _tanh, "tan": _tan, "abs": lambda z: MODULUS(*z),
    "sigmoid": _sigmoid, "rsqrt": lambda z: _inverted(root(z)),
    "exp2": lambda z: _exp(_scaled(z, math.log(2))),
    "log2": lambda z: _scaled(log(z), 1 / math.log(2)),
    "log10": lambda z: _scaled(log(z), 1 / math.log(10)),
    "isnan": _either(ops.ISNAN), "isinf": _either(ops.ISINF),
    "isfinite": lambda z: ops.LOGICAL_AND(ops.ISFINITE(z.real), ops.ISFINITE(z.imag)),
}.items():  # fmt: skip
    define(_name, _definition)


@of_complex
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``."""
    return elementwise(lambda z: z * _sigmoid(z), input)


@of_complex
def pow(input: Any, exponent: Any) -> Tensor:
    """Raise ``input`` to a power: by products for -1, 0, 1, 2 and 3, else by the logarithm."""
    a, b = _operands("pow", input=input, exponent=exponent)

    def definition(x: Parts, y: Parts) -> Parts:
        dtype = x.real.dtype
        zero, one, none = (number(v, dtype) for v in (0.0, 1.0, math.nan))
        is_zero = ops.LOGICAL_AND(ops.EQ(x.real, zero), ops.EQ(x.imag, zero))
        power = _exp(log(Parts(ops.where(is_zero, one, x.real), x.imag)) * y)
        of_zero = ops.where(ops.GT(y.real, zero), zero, none)
        return Parts(*[ops.where(is_zero, of_zero, part) for part in power])

    by_products: dict[Any, Callable[[Parts], Parts]] = {
        -1: _inverted,
        0: lambda z: Parts(*[broadcast_to(number(v, z.real.dtype), z.real.shape) for v in (1, 0)]),
        0.5: root, 1: lambda z: z,
        2: lambda z: z * z, 3: lambda z: z * z * z,
    }  # fmt: skip
    if not isinstance(b, Tensor) and b in by_products:
        return elementwise(by_products[b], a)
    return elementwise(definition, a, b)


# --- Comparisons and choices


@of_complex
def eq(input: Any, other: Any) -> Tensor:
    """Return where both parts are equal."""
    a, b = _operands("eq", input=input, other=other)
    return elementwise(
        lambda x, y: ops.LOGICAL_AND(ops.EQ(x.real, y.real), ops.EQ(x.imag, y.imag)), a, b
    )


@of_complex
def ne(input: Any, other: Any) -> Tensor:
    """Return where a part differs."""
    a, b = _operands("ne", input=input, other=other)
    return elementwise(
        lambda x, y: ops.LOGICAL_OR(ops.NE(x.real, y.real), ops.NE(x.imag, y.imag)), a, b
    )


@of_complex
def where(condition: Any, input: Any, other: Any) -> Tensor:
    """Return ``input`` where ``condition`` is true, else ``other``."""
    if not isinstance(condition, Tensor) or condition.dtype != "bool":
        actual = getattr(condition, "dtype", condition)
        raise TypeError(f"where: condition must have dtype bool, got {actual}")
    a, b = _operands("where", input=input, other=other)
    tensors = [v for v in (condition, a, b) if isinstance(v, Tensor)]
    checked_operands("where", **{f"operand {n}": x for n, x in enumerate(tensors)})
    if not any(isinstance(v, Tensor) for v in (a, b)):
        raise TypeError("where: input or other must be an array if one is a complex number")
    zero = number(0, "float32")

    def definition(c: Parts, x: Parts, y: Parts) -> Parts:
        is_true = ops.NE(c.real, ops.cast(zero, c.real.dtype))
        return Parts(ops.where(is_true, x.real, y.real), ops.where(is_true, x.imag, y.imag))

    return elementwise(definition, condition, a, b)


@of_complex
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return ``value`` where ``mask`` is true, else ``input``."""
    if not dtypes.is_complex(input.dtype):
        raise TypeError(f"masked_fill: value must be real for input of {input.dtype}, got {value}")
    return where(mask, to_complex(value, input.dtype) if isinstance(value, Tensor) else value,
                 input)  # fmt: skip


# --- Reductions


def _wide(name: str, input: Tensor, dtype: Any) -> Tensor:
    dtype = input.dtype if dtype is None else dtypes.name_of(dtype)
    if not dtypes.is_complex(dtype):
        raise TypeError(f"{name}: dtype must be complex for input of {input.dtype}, got {dtype}")
    return to_complex(input, dtype)


def _reduced(name: str, kind: A, input: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    z, axes = _wide(name, input, dtype), axes_of(name, dim, input.ndim)
    return drop_axes(reduce(kind, z, axes), axes, keepdim)


@of_complex
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the sum over axes."""
    return _reduced("sum", A.reduction_sum, input, dim, keepdim, dtype)


@of_complex
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean over axes."""
    return _reduced("mean", A.reduction_mean, input, dim, keepdim, dtype)


@of_complex
def var(input: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Return the sum of the variances of both parts, which is real."""
    parts = (functions.real(input), functions.imag(input))
    return functions.add(*(functions.var(x, dim, correction=correction, keepdim=keepdim)
                           for x in parts))  # fmt: skip


@of_complex
def std(input: Tensor, dim: Any = None, *, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Return the square root of the variance."""
    return functions.sqrt(var(input, dim, correction=correction, keepdim=keepdim))


@of_complex
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the product over axes, of halves first."""
    z, axes = _wide("prod", input, dtype), axes_of("prod", dim, input.ndim)
    for axis in axes:
        if not z.shape[axis]:
            z = add(reduce(A.reduction_sum, z, [axis]), 1)
        while z.shape[axis] > 1:
            half, rest = divmod(z.shape[axis], 2)
            product = mul(narrow(z, axis, 0, half), narrow(z, axis, half, half))
            z = cat([product, narrow(z, axis, 2 * half, 1)], axis) if rest else product
    return drop_axes(z, axes, keepdim)


@of_complex
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the cumulative products along an axis, in steps of twice the distance."""
    z, axes = _wide("cumprod", input, dtype), axes_of("cumprod", (dim,), input.ndim)
    for axis in axes:
        step, n = 1, z.shape[axis]
        while step < n:
            first, rest = narrow(z, axis, 0, step), narrow(z, axis, step, n - step)
            z = cat([first, mul(rest, narrow(z, axis, 0, n - step))], axis)
            step *= 2
    return z


def _norm(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return norm(elementwise(lambda z: MODULUS(*z), input), *args, **kwargs)


def _vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    if dtype is not None:
        raise TypeError(f"vector_norm: dtype must be None for complex x, got {dtype}")
    return _norm(x, ord, dim, keepdim)


RULES["norm"], RULES["linalg.vector_norm"] = _norm, _vector_norm


# --- Products


def product(name: str, function: Callable[..., Tensor], a: Tensor, b: Tensor) -> Tensor:
    """Return a product of complex matrices: one of real matrices of twice the size.

    A row of pairs times a matrix of the pairs of ``b`` and of ``1j * b`` is a row of pairs.
    """
    if a.dtype != b.dtype:
        raise TypeError(f"{name}: other must have the dtype of input, {a.dtype}, got {b.dtype}")
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        return function(*(parts(z)[0] for z in (a, b)))  # which raises the error
    k = a.shape[-1]
    rows = as_pairs(a)
    rows = reshape(rows, (*rows.shape[:-2], 2 * k))
    real, imag = parts(b)
    columns = (*b.shape, 1) if b.ndim > 1 else (*b.shape, 1, 1)
    first, second = as_pairs(b), as_pairs(joined(linear_map(imag, -1.0), real))
    both = cat([reshape(x, (*columns[:-2], 1, columns[-2] * 2)) for x in (first, second)], -2)
    batch = b.shape[:-2] if b.ndim > 1 else ()
    n = b.shape[-1] if b.ndim > 1 else 1
    matrix = reshape(both, (*batch, 2 * k, 2 * n))
    result = function(rows, matrix)
    result = reshape(result, (*result.shape[:-1], n, 2))
    z = as_numbers(result)
    return z if b.ndim > 1 else reshape(z, z.shape[:-1])


def _of_product(name: str, function: Callable[..., Tensor]) -> None:
    def rule(input: Tensor, *args: Tensor, **kwargs: Tensor) -> Tensor:
        (other,) = (*args, *kwargs.values())
        return product(name, function, input, other)

    rule.__name__ = name
    of_complex(rule)


_of_product("matmul", real_matmul)
_of_product("mm", real_mm)
_of_product("bmm", real_bmm)


@of_complex
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``, without conjugation."""
    axes = [weight.ndim - 1, *range(weight.ndim - 1)] if weight.ndim > 1 else [0]
    result = product("linear", real_matmul, input, transpose(weight, axes))
    return result if bias is None else add(result, bias)
