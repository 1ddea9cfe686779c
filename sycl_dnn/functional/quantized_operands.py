# SPDX-License-Identifier: Apache-2.0
"""Arguments that quantised products and convolutions share: checks, scales, results."""

from __future__ import annotations

from typing import Any

from sycl_dnn._core import PrimitiveAttr
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import reshape
from sycl_dnn.functional.quantization import quantized
from sycl_dnn.functional.quantized_tensor import QuantizedTensor, check_scales, checked

INTEGERS = ("int8", "uint8")
RESULTS = ("float32", "bfloat16", *INTEGERS)


class Target:
    """What a quantised function shall return: dtype, scale and zero point."""

    def __init__(self, name: str, dtype: str, scale: Tensor | None, zero: Tensor | None) -> None:
        if dtype not in RESULTS:
            raise ValueError(
                f"{name}: out_dtype must be one of {', '.join(RESULTS)}, got {dtype!r}"
            )
        if (dtype in INTEGERS) != (scale is not None) or (zero is not None and scale is None):
            rule = "be given with" if dtype in INTEGERS else "be left away with"
            raise ValueError(f"{name}: out_scale must {rule} out_dtype {dtype}")
        if scale is not None:
            check_scales(name, (), scale, zero, " of the result")
        self.dtype, self.scale, self.zero = dtype, scale, zero

    def of(self, made: Tensor) -> Tensor:
        """Return a floating-point result as it shall be."""
        if self.scale is None:
            return made.trace.convert(made, self.dtype)
        return quantized(made, self.scale, self.zero, self.dtype, None, None)


def set_scales(
    attr: PrimitiveAttr, argument: str, scale: Tensor | None, zero: Tensor | None, mask: int = 0
) -> dict[str, Tensor]:
    """Set scales and zero points of an argument; return them by execution argument."""
    given = {}
    if scale is not None:
        attr.set_scales_mask(argument, mask)
        given[f"attr_scales_{argument}"] = reshape(scale, (-1,))
    if zero is not None:
        attr.set_zero_points_mask(argument, mask)
        given[f"attr_zero_points_{argument}"] = reshape(zero, (-1,))
    return given


def per_tensor(name: str, x: Any) -> QuantizedTensor:
    """Return a checked input, all of whose elements share a scale."""
    x = checked(name, "input", x, INTEGERS)
    if x.axis is not None:
        raise ValueError(f"{name}: input must have one scale for all elements, got axis {x.axis}")
    return x


def check_weight_axis(name: str, argument: str, weight: QuantizedTensor, axis: int) -> None:
    """Raise ValueError unless scales of weights differ along ``axis`` alone, if at all."""
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
    """Return the dtype of a result: float32, or that of the input where a scale is given."""
    return dtype or ("float32" if scale is None else input.dtype)
