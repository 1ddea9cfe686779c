# SPDX-License-Identifier: Apache-2.0
"""Products and other functions of quantized numbers, exact in integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sycl_dnn.onnx.convolution_operators import convolve, placed_windows
from sycl_dnn.onnx.delayed_values import Dequantized
from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.integer_products import (
    are_exact,
    dequantized,
    integer_convolution,
    integer_matmul,
    less,
    rescaled,
    rounded,
)
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, in_delayed_form, operator
from sycl_dnn.onnx.pool_operators import average_pool
from sycl_dnn.onnx.quantization_operators import dynamic_quantize

#: Integers, their scale and their zero point.
Sides = tuple[Any, Any, Any]
#: Integers up to this one are exact in float32.
_EXACT = 2**24


# --- Weights as int8, which oneDNN multiplies as they are


def weights_in_int8(call: Call, x: Any, w: Any, x_zero: Any, w_zero: Any, shape: Any) -> Any:
    """Return weights in int8 and the remaining zero point; None if floats must be multiplied.

    ``shape`` is that of several zero points.
    """
    is_single = x_zero is None or math.prod(x_zero.shape) == 1
    if not (is_single and min(x.ndim, w.ndim) > 1 and math.prod((*x.shape, *w.shape))):
        return None
    if not are_exact(call.run.queue):
        return None
    if not is_host(w) or not (w_zero is None or is_host(w_zero)):
        return (w, None) if w_zero is None and name_of(w) == "int8" else None
    constants = [w] if w_zero is None else [w, w_zero]
    zero = np.zeros((), np.int16) if w_zero is None else w_zero.astype(np.int16)
    zero = zero.reshape(shape if zero.size > 1 else ())
    if _fit(w, zero):
        return call.run.once("int8", constants, lambda: _difference(w, zero)), None
    shift = np.int16(128 if w.dtype == np.uint8 else 0)
    rest = call.run.once("rest", constants, lambda: (zero - shift).astype(np.int32))
    return call.run.once("less 128", constants, lambda: _difference(w, shift)), rest


def _fit(w: np.ndarray, zero: np.ndarray) -> bool:
    """Whether bytes less zero points are in int8."""
    if zero.size == 1:
        return int(w.min()) - int(zero) >= -128 and int(w.max()) - int(zero) <= 127
    wide = w.astype(np.int16) - zero
    return bool(wide.min() >= -128 and wide.max() <= 127)


def _difference(w: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Return bytes less zero points in int8, which holds the differences."""
    return np.asarray(w.astype(np.int8) - zero.astype(np.int8))  # modulo 256


def _zero_point_operand(call: Call, zero: Any) -> Any:
    """Return a zero point in the form that oneDNN requires."""
    if is_host(zero):
        return call.device(zero.astype(np.int32))
    return zero if zero is None else F.astype(zero, "int32")


def _ones(call: Call, shape: tuple[int, ...]) -> Any:
    return call.run.once("int8 ones", [np.asarray(shape)], lambda: np.ones(shape, np.int8))


# --- Products in float32, for CPUs that saturate, and weights that int8 does not hold


def _without_zero_point(x: Any, zero: Any, shape: tuple[int, ...] = ()) -> Any:
    """Return integers of 8 bits without their zero point, as float32, which is exact."""
    shifted = F.astype(x, "float32")
    if zero is None:
        return shifted
    zero = F.astype(zero, "float32")
    return shifted - (F.reshape(zero, shape) if shape and math.prod(zero.shape) > 1 else zero)


def _row_zero_shape(zero: Any) -> tuple[int, ...]:
    """Return the shape of a zero point of a matrix's rows, for the first operand."""
    return () if zero is None or len(zero.shape) != 1 else (-1, 1)


def _exact_parts(n: int, others: int = 1) -> list[tuple[int, int]]:
    """Divide a sum over ``n`` times ``others`` products so that each part is exact."""
    step = max(_EXACT // (255 * 255 * others), 1)
    return [(i, min(step, n - i)) for i in range(0, n, step)]


def _total(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _matmul_in_floats(a: Any, b: Any) -> Any:
    """Return the exact int32 product of float32 matrices of integers below 256."""
    last = len(a.shape) - 1
    partial_sums = [
        F.astype(F.matmul(F.narrow(a, last, i, n), F.narrow(b, max(len(b.shape) - 2, 0), i, n)),
                 "int32")
        for i, n in _exact_parts(a.shape[-1])
    ]  # fmt: skip
    return _total(partial_sums)


def _convolution_in_floats(call: Call, x: Any, w: Any) -> Any:
    """Convolve exactly: channels in parts whose sums fit float32."""
    groups, channels = call.get("group", 1), w.shape[1]
    parts = _exact_parts(channels, math.prod(w.shape[2:]))
    if len(parts) == 1:
        return F.astype(convolve(call, x, w), "int32")
    grouped = F.reshape(x, (x.shape[0], groups, channels, *x.shape[2:]))
    partial_sums = []
    for start, n in parts:
        part = F.narrow(grouped, 2, start, n)
        part = F.reshape(part, (x.shape[0], groups * n, *x.shape[2:]))
        partial_sums.append(F.astype(convolve(call, part, F.narrow(w, 1, start, n)), "int32"))
    return _total(partial_sums)


# --- Products


def _exact(call: Call, product: Callable[..., Any], x: Any, zero: Any, n: int) -> Any:
    """Return ``product(x, zero)``, a sum of ``n`` products with int8, without a rounding error.

    oneDNN subtracts zero points in float32.
    """
    if zero is None or n <= _EXACT // (255 * 128):
        return product(x, zero)
    shape = (1, *x.shape[1:]) if x.ndim > 2 else (1, x.shape[-1])
    ones = call.run.once("ones", [np.asarray(shape)], lambda: np.ones(shape, np.uint8))
    return less(product(x, None), zero, product(ones, None))


@operator("MatMulInteger", 10, mixed=True)
def _product(call: Call, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    a, a_zero = call.device(a), _zero_point_operand(call, a_zero)
    integers = weights_in_int8(call, a, b, a_zero, b_zero, (1, -1))
    if integers is None:
        b, b_zero = call.device(b), call.device(b_zero)
        return _matmul_in_floats(
            _without_zero_point(a, a_zero, _row_zero_shape(a_zero)), _without_zero_point(b, b_zero)
        )
    weight, rest = integers
    rows = F.reshape(a, (-1, a.shape[-1])) if b.ndim == 2 else a
    product = _matmul(call, rows, weight, a_zero)
    if rest is not None:
        ones = _ones(call, (b.shape[-2], 1))
        product = less(product, rest, _matmul(call, rows, ones, a_zero))
    return F.reshape(product, (*a.shape[:-1], b.shape[-1])) if b.ndim == 2 else product


def _matmul(call: Call, a: Any, b: Any, zero: Any) -> Any:
    return _exact(call, lambda a, z: integer_matmul(a, b, z), a, zero, a.shape[-1])


@operator("ConvInteger", 10, mixed=True)
def _convolution(call: Call, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    x, x_zero = call.device(x), _zero_point_operand(call, x_zero)
    shape = (-1,) + (1,) * (len(w.shape) - 1)
    integers, over = weights_in_int8(call, x, w, x_zero, w_zero, shape), placed_windows(call, x, w)
    if integers is None or over is None:
        w, w_zero = call.device(w), call.device(w_zero)
        return _convolution_in_floats(
            call, _without_zero_point(x, x_zero), _without_zero_point(w, w_zero, shape)
        )
    (weight, rest), groups = integers, call.get("group", 1)

    def convolved(weight: Any) -> Any:
        def product(x: Any, zero: Any) -> Any:
            return integer_convolution(x, weight, zero, *over, groups)

        return _exact(call, product, x, x_zero, math.prod(w.shape[1:]))

    result = convolved(weight)
    if rest is None:
        return result
    sums = convolved(_ones(call, (groups, *w.shape[1:])))
    if groups > 1:
        sums = F.repeat_interleave(sums, w.shape[0] // groups, 1)
    return less(result, F.reshape(rest, shape[:-1]) if rest.ndim else rest, sums)


@operator("QLinearConv", 10, mixed=True, constants=(1, 4, 6))
def _qlinear_conv(
    call: Call, x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any,
    y_scale: Any, y_zero: Any, bias: Any = None,
) -> Any:  # fmt: skip
    sides = (x, x_scale, x_zero), (w, w_scale, w_zero, 0)
    fused = _fused_product(call, "Conv", *sides, bias, y_scale, y_zero)
    if fused is not None:
        return fused
    total = _convolution(call, x, w, x_zero, w_zero)
    shape = (-1,) + (1,) * (len(w.shape) - 2)
    factor = _factor(call, x_scale, w_scale, y_scale, shape)
    bias = None if bias is None else F.reshape(call.device(bias), shape)
    return rescaled(total, factor, call.device(y_zero), bias, name_of(y_zero))


def _fused_product(
    call: Call, name: str, a: Sides, b: tuple[Any, Any, Any, int], bias: Any, y_scale: Any,
    y_zero: Any,
) -> Any:  # fmt: skip
    """Return a quantized product as one operation; None if oneDNN has none for the operands."""
    scales = a[1], b[1], y_scale
    if not all(map(is_host, scales)) or y_scale.size > 1 or not (bias is None or is_host(bias)):
        return None
    operands: list[Any] = [Dequantized(_unread, *a, 1), Dequantized(_unread, *b)]
    if bias is not None:
        operands.append((bias.astype(np.float32) * (a[1] * b[1]).astype(np.float32)).reshape(-1))
    product = in_delayed_form(name, call, *operands)
    return None if product is None else product.quantized(y_scale, y_zero, name_of(y_zero))


def _unread() -> Any:
    raise AssertionError("integers are multiplied as they are")


def _factor(call: Call, a: Any, b: Any, y: Any, shape: Any) -> Any:
    """Return ``a * b / y`` in float32, in a shape that broadcasts to the result."""
    if all(map(is_host, (a, b, y))):
        factor = a.astype(np.float32) * b.astype(np.float32) / y.astype(np.float32)
        return call.device(np.asarray(factor).reshape(shape if factor.size > 1 else ()))
    a, b, y = (F.astype(call.device(v), "float32") for v in (a, b, y))
    factor = a * b / y
    return F.reshape(factor, shape) if math.prod(factor.shape) > 1 else F.reshape(factor, ())


@operator("QLinearMatMul", 10, mixed=True, constants=(1, 4, 6))
def _qlinear_matmul(
    call: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
    y_scale: Any, y_zero: Any,
) -> Any:  # fmt: skip
    sides = (a, a_scale, a_zero), (b, b_scale, b_zero, b.ndim - 1)
    fused = _fused_product(call, "MatMul", *sides, None, y_scale, y_zero)
    if fused is not None:
        return fused
    total = _product(call, a, b, a_zero, b_zero)
    if len(a_scale.shape) == 1 and a_scale.shape[0] > 1:
        column = a_scale.reshape(-1, 1) if is_host(a_scale) else F.reshape(a_scale, (-1, 1))
        scales = (F.astype(call.device(v), "float32") for v in (column, b_scale, y_scale))
        rows, columns, y = scales
        factor = rows * columns / y
    else:
        factor = _factor(call, a_scale, b_scale, y_scale, (-1,))
    return rescaled(total, factor, call.device(y_zero), None, name_of(y_zero))


# --- Microsoft's


@operator("MatMulIntegerToFloat", domain=MICROSOFT, mixed=True, constants=(3,))
def _matmul_to_float(
    call: Call, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None,
    b_zero: Any = None, bias: Any = None,
) -> Any:  # fmt: skip
    scales = call.device(a_scale) * call.device(b_scale)
    product = F.astype(_product(call, a, b, a_zero, b_zero), "float32") * scales
    return product if bias is None else product + call.device(bias)


@operator("QGemm", domain=MICROSOFT, mixed=True, constants=(1, 4, 7))
def _qgemm(
    call: Call, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
    bias: Any = None, y_scale: Any = None, y_zero: Any = None,
) -> Any:  # fmt: skip
    if call.get("alpha", 1.0) != 1 or call.get("transA", 0):
        call.refuse("alpha must be 1, and transA 0")
    fused = None
    if call.get("transB", 0) and y_scale is not None:
        sides = (a, a_scale, a_zero), (b, b_scale, b_zero, 0)
        fused = _fused_product(call, "Gemm", *sides, bias, y_scale, y_zero)
    if fused is not None:
        return fused
    if call.get("transB", 0):
        b = np.ascontiguousarray(b.T) if is_host(b) else F.transpose(b, 0, 1)
    total = _product(call, a, b, a_zero, b_zero)
    bias = None if bias is None else call.device(bias)
    if y_scale is not None:
        factor = _factor(call, a_scale, b_scale, y_scale, (-1,))
        return rescaled(total, factor, call.device(y_zero), bias, name_of(y_zero))
    total = total if bias is None else total + bias
    return F.astype(total, "float32") * (call.device(a_scale) * call.device(b_scale))


@operator("DynamicQuantizeMatMul", domain=MICROSOFT, mixed=True, constants=(2,))
def _dynamic_matmul(
    call: Call, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None
) -> Any:
    values, scale, zero = dynamic_quantize(call, call.device(a))
    return _matmul_to_float(call, values, b, scale, b_scale, zero, b_zero, bias)


def _dequantized_operand(quantized: Sides) -> Any:
    return dequantized(*quantized)


def _requantized(result: Any, scale: Any, zero: Any, like: Any) -> Any:
    return rounded(result, scale, zero, name_of(like if zero is None else zero))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "QLinearAdd": lambda a, b: a + b, "QLinearMul": lambda a, b: a * b
}  # fmt: skip


@operator(_BINARY, domain=MICROSOFT)
def _qlinear_binary(call: Call, *operands: Any) -> Any:
    a, b, (scale, zero) = operands[:3], operands[3:6], (*operands[6:], None)[:2]
    return _requantized(
        _BINARY[call.op](_dequantized_operand(a), _dequantized_operand(b)), scale, zero, a[0]
    )


_UNARY: dict[str, Callable[[Call, Any], Any]] = {
    "QLinearSigmoid": lambda call, x: F.sigmoid(x),
    "QLinearLeakyRelu": lambda call, x: F.leaky_relu(x, call.get("alpha", 0.01)),
    "QLinearSoftmax": lambda call, x: F.softmax(x, call.get("axis", -1)),
    "QLinearAveragePool": average_pool,
    "QLinearGlobalAveragePool": lambda call, x: F.mean(x, tuple(range(2, len(x.shape))), True),
}


@operator(_UNARY, domain=MICROSOFT)
def _qlinear_unary(call: Call, *operands: Any) -> Any:
    if call.get("channels_last", 0):
        call.refuse("channels_last must be 0")
    scale, zero = (*operands[3:], None)[:2]
    return _requantized(
        _UNARY[call.op](call, _dequantized_operand(operands[:3])), scale, zero, operands[0]
    )


@operator("QLinearConcat", domain=MICROSOFT)
def _qlinear_concat(call: Call, scale: Any, zero: Any, *operands: Any) -> Any:
    parts = [_dequantized_operand(operands[i : i + 3]) for i in range(0, len(operands), 3)]
    return _requantized(F.cat(parts, call.need("axis")), scale, zero, operands[0])
