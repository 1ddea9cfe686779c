# SPDX-License-Identifier: Apache-2.0
"""Exact products of 8-bit integers, and conversions between floats and integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn._core import PrimitiveAttr, algorithm
from sycl_dnn.call.operation import operation
from sycl_dnn.device import default_queue
from sycl_dnn.functional.conv.convolution import geometry, window_parameters
from sycl_dnn.functional.product.product import recorded
from sycl_dnn.ir.node import Node, number
from sycl_dnn.lower.node_lowering import all_computed, computed
from sycl_dnn.ops.arithmetic import CLAMP, EQ, LT, ROUND, cast, where
from sycl_dnn.ops.reduction import MAX, MIN
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.capabilities import multiplies, saturates
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, expand_rank, reshape, untaped

#: Limits of the quantized data types.
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


def are_exact(queue: Any) -> bool:
    """Whether a device accumulates products of 8-bit integers without saturation."""
    return not saturates(place_of(queue or default_queue())[0].engine)


def halves(queue: Any) -> bool:
    """Whether a device multiplies bfloat16."""
    return multiplies(place_of(queue or default_queue())[0].engine, "bfloat16")


def _shift(attr: PrimitiveAttr, zero: Tensor | None) -> dict[str, Tensor]:
    """Set the zero point of the source; return the additional execution arguments."""
    if zero is None:
        return {}
    attr.set_zero_points_mask("src", 0)
    return {"attr_zero_points_src": reshape(zero, (1,))}


@operation
def integer_matmul(a: Any, b: Any, zero: Any = None) -> Tensor:
    """Return ``(a - zero) @ b`` in int32: (*, M, K) of 8 bits, int32 (1,), (*, K, N) int8."""
    rank = max(a.ndim, b.ndim)
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    with untaped(a.trace):
        attr = PrimitiveAttr()
        inputs = {"src": expand_rank(a, rank), "weights": expand_rank(b, rank)}
        inputs |= _shift(attr, zero)
        return recorded(inputs, Out((*batch, a.shape[-2], b.shape[-1]), "int32"), attr)


@operation
def integer_convolution(
    x: Any, weight: Any, zero: Any, strides: Sequence[int], pads: Any, dilations: Sequence[int],
    groups: int,
) -> Tensor:  # fmt: skip
    """Return the convolution of ``x - zero`` in int32: ``x`` of 8 bits, ``weight`` int8."""
    n_out, name = weight.shape[0], "integer_convolution"
    axes, counts = geometry(name, x.shape[2:], weight.shape[2:], strides, pads, dilations)
    with untaped(x.trace):
        attr = PrimitiveAttr()
        if groups > 1:
            weight = reshape(weight, (groups, n_out // groups, *weight.shape[1:]))
        return x.trace.primitive(
            "convolution_forward",
            {"src": x, "weights": weight} | _shift(attr, zero),
            {"dst": Out((x.shape[0], n_out, *counts), "int32", "channels_last")},
            ask={"src": "channels_last", "weights": "any"},
            attr=attr,
            prop_kind=x.trace.forward_kind,
            algorithm=algorithm.convolution_direct,
            **window_parameters(axes),
        )["dst"]


def _integers(values: Node, zero: Node | None, dtype: str) -> Node:
    """Round halves to even, add the zero point, saturate."""
    low, high = LIMITS[dtype]
    values = ROUND(values)
    if zero is not None:
        values = values + cast(zero, values.dtype)
    return cast(cast(CLAMP(values, low=float(low), high=float(high)), "int32"), dtype)


@operation
def rounded(x: Any, scale: Any, zero: Any, dtype: str) -> Tensor:
    """Return ``x / scale + zero`` as integers of 8 bits, in one pass."""
    operands = [x, scale] if zero is None else [x, scale, zero]
    return computed(lambda x, s, *z: _integers(x / s, z[0] if z else None, dtype), *operands)


@operation
def less(total: Any, zero: Any, sums: Any) -> Tensor:
    """Return ``total - zero * sums``: products without the part of the weights' zero points."""
    return computed(lambda total, zero, sums: total - zero * sums, total, zero, sums)


@operation
def rescaled(total: Any, factor: Any, zero: Any, bias: Any, dtype: str) -> Tensor:
    """Return ``(total + bias) * factor + zero`` as integers of 8 bits, from int32."""
    operands = [total, factor, zero] if bias is None else [total, factor, zero, bias]

    def definition(total: Node, factor: Node, zero: Node, *bias: Node) -> Node:
        wide = cast(total + bias[0] if bias else total, "float32")
        return _integers(wide * factor, zero, dtype)

    return computed(definition, *operands)


@operation
def dequantized(x: Any, scale: Any, zero: Any) -> Tensor:
    """Return ``(x - zero) * scale`` in the dtype of the scale, in one pass."""

    def definition(x: Node, scale: Node, *zero: Node) -> Node:
        wide = cast(x, "int32")
        wide = wide - cast(zero[0], "int32") if zero else wide
        return cast(wide, scale.dtype) * scale

    return computed(definition, x, scale, *([] if zero is None else [zero]))


@operation
def dynamically_quantized(x: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return an array as uint8, its scale and zero point; the range of the values includes 0."""
    flat = reshape(x, (1,)) if not x.ndim else x

    def definition(x: Node) -> tuple[Node, Node, Node]:
        axes = tuple(range(x.ndim))
        low, high = MIN(x, axes=axes), MAX(x, axes=axes)
        zero, one = number(0.0, x.dtype), number(1.0, x.dtype)
        low, high = where(LT(zero, low), zero, low), where(LT(high, zero), zero, high)
        scale = (high - low) / 255.0
        scale = where(EQ(scale, zero), one, scale)
        offset = _integers(low * -1.0 / scale, None, "uint8")
        return _integers(x / scale, offset, "uint8"), scale, offset

    quantized, scale, zero = all_computed(definition, flat)
    return reshape(quantized, x.shape), reshape(scale, ()), reshape(zero, ())
