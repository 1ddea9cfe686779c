# SPDX-License-Identifier: Apache-2.0
"""Products of quantized operands: in integers, in float32, or with quantized weights only.

Sums are exact up to 2**24, which sums of up to 512 products cannot exceed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sycl_dnn._core import PostOps, PrimitiveAttr, algorithm, data_type, fpmath_mode
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.product.product import product, recorded, swapped
from sycl_dnn.functional.quantized.quantize import (
    QuantizedTensor,
    by_reorder,
    check_scales,
    checked,
    dequantized,
    grouped_shape,
    quantized,
    set_scales,
)
from sycl_dnn.trace.capabilities import saturates
from sycl_dnn.trace.pointwise import add, mul, sub
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import (
    broadcast_shape,
    expand_rank,
    filled,
    laid_out,
    reshape,
    transpose,
    untaped,
)

if TYPE_CHECKING:
    import dpnp


#: Masks for matmul's weights (K, N): one value for all, or one per column.
_ALL, _COLUMNS, _BOTH = 0, 2, 3


def weight_scales(name: str, weight: QuantizedTensor, attr: PrimitiveAttr) -> dict[str, Tensor]:
    """Set scales and zero points of weights (N, K); return them as execution arguments."""
    arguments = {"attr_scales_weights": weight.scale, "attr_zero_points_weights": weight.zero_point}
    arguments = {n: t for n, t in arguments.items() if t is not None}
    groups: tuple[int, ...] = ()
    if weight.group_size is not None:
        _check_groups(name, weight)
        mask, groups = _BOTH, (weight.group_size, 1)
        arguments = {n: laid_out(transpose(t, (1, 0)), (0, 1)) for n, t in arguments.items()}
    elif weight.axis in (None, 0):
        mask = _ALL if weight.axis is None else _COLUMNS
        arguments = {n: laid_out(reshape(t, (-1,)), (0,)) for n, t in arguments.items()}
    else:
        raise ValueError(f"{name}: axis of the weights must be that of outputs, got {weight.axis}")
    attr.set_scales("weights", mask, groups, data_type.f32)
    if weight.zero_point is not None:
        attr.set_zero_points("weights", mask, groups, data_type.s32)
    return arguments


def _check_groups(name: str, weight: QuantizedTensor) -> None:
    if weight.axis != 1 or (weight.group_size or 0) % 16:
        raise ValueError(
            f"{name}: groups of the weights must be of a multiple of 16 inputs, got groups of "
            f"{weight.group_size} along axis {weight.axis}"
        )


def weight_only_product(
    name: str, x: Tensor, weight: QuantizedTensor, bias: Tensor | None
) -> Tensor:
    """Return ``x @ weight.T + bias`` for floating-point ``x`` (M, K) and ``weight`` (N, K)."""
    weight = checked(name, "weight", weight)
    n = weight.shape[0]
    with untaped(x.trace):
        if not (x.size and n):
            dense = dequantized(weight, x.dtype)
            result = product(x, swapped(dense), bias)
        else:
            attr = PrimitiveAttr()
            inputs = {"src": x, "weights": swapped(weight.data)}
            inputs |= weight_scales(name, weight, attr)
            if bias is not None:
                inputs["bias"] = reshape(bias, (1, n))
            # Makes oneDNN multiply floats by integer weights.
            attr.set_fpmath_mode(fpmath_mode.strict, True)
            result = recorded(inputs, Out((x.shape[0], n), x.dtype), attr)
    inputs = {"0": x} if bias is None else {"0": x, "1": bias}

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        dy = grads["dst"]
        grad_inputs = {"0": product(dy, dequantized(weight, x.dtype))}
        if bias is not None:
            grad_inputs["1"] = x.trace.convert(sum_to(dy, bias.shape), bias.dtype)
        return grad_inputs

    x.trace.tape.append(Entry("weight_only", inputs, {"dst": result}, rule=rule))
    return result


# --- Shared by quantized products and convolutions: checks, scales, results

INTEGERS = ("int8", "uint8")
RESULTS = ("float32", "bfloat16", *INTEGERS)


class Target:
    """The output format of a quantized function: dtype, scale and zero point."""

    def __init__(self, name: str, dtype: str, scale: Tensor | None, zero: Tensor | None) -> None:
        if dtype not in RESULTS:
            raise ValueError(
                f"{name}: out_dtype must be one of {', '.join(RESULTS)}, got {dtype!r}"
            )
        if (dtype in INTEGERS) != (scale is not None) or (zero is not None and scale is None):
            rule = "be given with" if dtype in INTEGERS else "be omitted with"
            raise ValueError(f"{name}: out_scale must {rule} out_dtype {dtype}")
        if scale is not None:
            check_scales(name, (), scale, zero, " of the result")
        self.dtype, self.scale, self.zero = dtype, scale, zero

    def of(self, result: Tensor) -> Tensor:
        """Convert a floating-point result to this format."""
        if self.scale is None:
            return result.trace.convert(result, self.dtype)
        return quantized(result, self.scale, self.zero, self.dtype, None, None)


def per_tensor(name: str, x: Any) -> QuantizedTensor:
    """Validate an input and require a single scale."""
    x = checked(name, "input", x, INTEGERS)
    if x.axis is not None:
        raise ValueError(f"{name}: input must have one scale for all elements, got axis {x.axis}")
    return x


def check_weight_axis(name: str, argument: str, weight: QuantizedTensor, axis: int) -> None:
    """Raise ValueError if scales of weights differ along any axis but ``axis``."""
    if weight.axis not in (None, axis) or weight.group_size is not None:
        raise ValueError(
            f"{name}: scales of {argument} must be for all or along axis {axis}, got axis "
            f"{weight.axis} and group_size {weight.group_size}"
        )


def check_bias(name: str, bias: Tensor | None, n: int) -> None:
    """Raise unless the bias is float32 (n,)."""
    if bias is None:
        return
    if bias.shape != (n,):
        raise ValueError(f"{name}: bias must have shape ({n},), got {bias.shape}")
    if bias.dtype != "float32":
        raise TypeError(f"{name}: bias must have dtype float32, got {bias.dtype}")


def result_dtype(dtype: str | None, scale: Any, input: QuantizedTensor) -> str:
    """Return the dtype of a result: float32, or that of the input if a scale is passed."""
    return dtype or ("float32" if scale is None else input.dtype)


# --- Products in float32, for CPUs whose 8-bit products saturate


def in_floats(q: QuantizedTensor) -> Tensor:
    """Return the integers minus their zero points as float32."""
    result = q.data.trace.convert(q.data, "float32")
    if q.zero_point is None:
        return result
    shape = grouped_shape(q.shape, q.axis, q.group_size)[1]
    return sub(result, reshape(q.data.trace.convert(q.zero_point, "float32"), shape))


def scaled(
    x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, rank: int, axis: int
) -> tuple[PrimitiveAttr, dict[str, Tensor]]:
    """Return the steps that scale an integer sum and add the bias, and their operands.

    ``rank``: of the result; ``axis``: that of its outputs.
    """
    scale = mul(reshape(x.scale, (1,)), reshape(weight.scale, (-1,)))
    steps = [(algorithm.binary_mul, scale)]
    steps += [] if bias is None else [(algorithm.binary_add, bias)]
    attr, post_ops, inputs = PrimitiveAttr(), PostOps(), {}
    for index, (step, tensor) in enumerate(steps):
        operand = reshape(tensor, tuple(tensor.size if i == axis else 1 for i in range(rank)))
        post_ops.append_binary(step, operand.desc)
        inputs[f"attr_post_op_{index}_src_1"] = operand
    attr.set_post_ops(post_ops)
    return attr, inputs


# --- Products in integers: quantized_linear, quantized_matmul


def _signed(weight: QuantizedTensor) -> QuantizedTensor:
    """Convert weights to int8: for uint8 oneDNN has only its reference implementation."""
    if weight.dtype == "int8":
        return weight
    trace, zero = weight.data.trace, weight.zero_point
    data = _less_128(weight.data, "int8")
    if zero is None:
        zero = filled(trace, -128, weight.scale.shape, "int32")
    else:
        zero = _less_128(zero, "int32")
    return weight._replace(data=data, zero_point=zero)


def _less_128(x: Tensor, dtype: str) -> Tensor:
    return by_reorder(x, "src", None, filled(x.trace, 128, (1,), "int32"), 0, dtype)


def integer_product(
    x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, target: Target
) -> Tensor:
    """Multiply (..., M, K) by (..., K, N); ``weight`` has one scale or one per column."""
    a, b = x.data, weight.data
    if not (a.size and b.size):
        result = product(dequantized(x, "float32"), dequantized(weight, "float32"))
        return target.of(result if bias is None else add(result, bias))
    rank = max(a.ndim, b.ndim)
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    if saturates(a.trace.engine):
        attr, inputs = scaled(x, weight, bias, rank, rank - 1)
        inputs["src"], inputs["weights"] = (expand_rank(in_floats(q), rank) for q in (x, weight))
        return target.of(recorded(inputs, Out(shape, "float32"), attr))
    weight = _signed(weight)
    a, b = expand_rank(a, rank), expand_rank(weight.data, rank)
    attr = PrimitiveAttr()
    inputs = {"src": a, "weights": b} | set_scales(attr, "src", x.scale, x.zero_point)
    mask = 0 if weight.axis is None else 1 << (rank - 1)
    inputs |= set_scales(attr, "weights", weight.scale, weight.zero_point, mask)
    inputs |= set_scales(attr, "dst", target.scale, target.zero)
    if bias is not None:
        inputs["bias"] = reshape(bias, (1,) * (rank - 1) + bias.shape)
    return recorded(inputs, Out(shape, target.dtype), attr)


@operation
def _quantized_linear(input, weight, bias, out_scale, out_zero_point, out_dtype):
    name = "quantized_linear"
    x = per_tensor(name, input)
    weight = checked(name, "weight", weight, INTEGERS)
    if weight.ndim != 2 or not x.ndim or x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"{name}: weight must have shape (out_features, {x.shape[-1:]}), got {weight.shape}"
        )
    check_weight_axis(name, "weight", weight, 0)
    check_bias(name, bias, weight.shape[0])
    target = Target(name, out_dtype, out_scale, out_zero_point)
    rows = x._replace(data=reshape(x.data, (math.prod(x.shape[:-1]), x.shape[-1])))
    result = integer_product(rows, weight.turned(), bias, target)
    return reshape(result, (*x.shape[:-1], weight.shape[0]))


def with_scale(data: Any, scale: Any, zero: Any) -> Any:
    """Return data as a quantized tensor if there is a scale."""
    return data if scale is None else QuantizedTensor(data, scale, zero)


def quantized_linear(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> Tensor | QuantizedTensor:
    """Return ``input @ weight.T + bias``, accumulated in integers.

    Parameters
    ----------
    input : QuantizedTensor (*, K)
        int8 or uint8 with a single scale.
    weight : QuantizedTensor (N, K)
        int8 or uint8 with a single scale, or one per output (``axis=0``). The data may be frozen.
        uint8 is converted to int8, in every call unless frozen.
    bias : dpnp.ndarray (N,), optional
        float32, in units of the result before quantization.
    out_scale, out_zero_point : dpnp.ndarray (), optional
        float32 and int32: quantize the result.
    out_dtype : {"float32", "bfloat16", "int8", "uint8"}, optional
        float32 by default; the dtype of ``input`` if ``out_scale`` is passed.

    Returns
    -------
    dpnp.ndarray or Array (*, N), with ``out_scale`` QuantizedTensor (*, N)

    Raises
    ------
    ValueError
        Shapes or scales do not match.
    TypeError
        A dtype is wrong.

    Notes
    -----
    Integers have no gradient. CPUs without VNNI multiply in float32, where sums are exact up to
    2**24, because oneDNN's integer products would saturate.

    Source: oneDNN developer guide, "Matrix Multiplication" and "Quantization".
    """
    dtype = result_dtype(out_dtype, out_scale, input)
    result = _quantized_linear(input, weight, bias, out_scale, out_zero_point, dtype)
    return with_scale(result, out_scale, out_zero_point)


@operation
def _quantized_matmul(input, other, out_scale, out_zero_point, out_dtype):
    name = "quantized_matmul"
    x, weight = per_tensor(name, input), checked(name, "other", other, INTEGERS)
    fits = min(x.ndim, weight.ndim) >= 2 and x.shape[-1] == weight.shape[-2]
    rank = max(x.ndim, weight.ndim)
    a, b = ((1,) * (rank - len(t.shape)) + t.shape for t in (x, weight))
    if not fits or any(m != n and 1 not in (m, n) for m, n in zip(a[:-2], b[:-2], strict=True)):
        raise ValueError(
            f"{name}: other must have shape (*, {x.shape[-1:]}, N) with batch axes that fit those "
            f"of {x.shape}, got {weight.shape}"
        )
    check_weight_axis(name, "other", weight, weight.ndim - 1)
    target = Target(name, out_dtype, out_scale, out_zero_point)
    return integer_product(x, weight, None, target)


def quantized_matmul(
    input: QuantizedTensor,
    other: QuantizedTensor,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> Tensor | QuantizedTensor:
    """Multiply quantized matrices, accumulated in integers.

    Parameters
    ----------
    input : QuantizedTensor (*, M, K)
        As for ``quantized_linear``.
    other : QuantizedTensor (*, K, N)
        int8 or uint8 with a single scale, or one per column (``axis=-1``). Batch axes broadcast.
    out_scale, out_zero_point, out_dtype
        As for ``quantized_linear``.

    Returns
    -------
    dpnp.ndarray or Array (*, M, N), with ``out_scale`` QuantizedTensor (*, M, N)

    Raises
    ------
    ValueError
        Shapes or scales do not match.
    TypeError
        A dtype is wrong.

    Notes
    -----
    As for ``quantized_linear``.

    Source: oneDNN developer guide, "Matrix Multiplication" and "Quantization".
    """
    dtype = result_dtype(out_dtype, out_scale, input)
    result = _quantized_matmul(input, other, out_scale, out_zero_point, dtype)
    return with_scale(result, out_scale, out_zero_point)
