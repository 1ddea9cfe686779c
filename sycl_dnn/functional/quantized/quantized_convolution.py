# SPDX-License-Identifier: Apache-2.0
"""Integer convolutions of quantized operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn._core import PrimitiveAttr, algorithm
from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.conv.convolution import check_groups, cropped, geometry, window_parameters
from sycl_dnn.functional.conv.windows import batched, unbatched
from sycl_dnn.functional.quantized.quantize import QuantizedTensor, checked, set_scales
from sycl_dnn.functional.quantized.quantized_products import (
    Target,
    check_bias,
    check_weight_axis,
    in_floats,
    per_tensor,
    result_dtype,
    scaled,
    with_scale,
)
from sycl_dnn.trace.capabilities import saturates
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

if TYPE_CHECKING:
    import dpnp


def _checked_weight(name: str, weight: Any, x: Tensor, groups: int) -> QuantizedTensor:
    weight = checked(name, "weight", weight, ("int8",))
    expected = x.shape[1] // groups
    n_out = weight.shape[0]
    if weight.ndim != x.ndim or weight.shape[1] != expected or n_out % groups or 0 in weight.shape:
        raise ValueError(
            f"{name}: weight must have {x.ndim} axes, {expected} input channels and outputs that "
            f"groups={groups} divides, got shape {weight.shape}"
        )
    if weight.zero_point is not None:
        raise ValueError(f"{name}: weight must have no zero_point, got one")
    check_weight_axis(name, "weight", weight, 0)
    return weight


def _operands(
    x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, groups: int, target: Target
) -> tuple[PrimitiveAttr, dict[str, Tensor], str]:
    """Return the attribute and inputs of the primitive, and the dtype that it writes."""
    if saturates(x.data.trace.engine):
        attr, inputs = scaled(x, weight, bias, x.ndim, 1)
        inputs |= {"src": in_floats(x), "weights": in_floats(weight)}
        return attr, inputs, "float32"
    attr = PrimitiveAttr()
    mask = 0 if weight.axis is None else 1 if groups == 1 else 3
    inputs = {"src": x.data, "weights": weight.data}
    inputs |= set_scales(attr, "src", x.scale, x.zero_point)
    inputs |= set_scales(attr, "weights", weight.scale, None, mask)
    inputs |= set_scales(attr, "dst", target.scale, target.zero)
    return attr, inputs | ({} if bias is None else {"bias": bias}), target.dtype


@operation
def _convolve(name, rank, input, weight, bias, stride, padding, dilation, groups, *out):
    quantized = per_tensor(name, input)
    x = batched(name, quantized.data, rank)
    groups = check_groups(name, groups, x.shape[1])
    weight = _checked_weight(name, weight, x, groups)
    n_out = weight.shape[0]
    check_bias(name, bias, n_out)
    target = Target(name, *out)
    axes, counts = geometry(name, x.shape[2:], weight.shape[2:], stride, padding, dilation)
    x, axes = cropped(x, axes, counts)
    attr, inputs, dtype = _operands(quantized._replace(data=x), weight, bias, groups, target)
    if groups > 1:
        grouped = (groups, n_out // groups, *weight.shape[1:])
        inputs["weights"] = reshape(inputs["weights"], grouped)
    result = x.trace.primitive(
        "convolution_forward",
        inputs,
        {"dst": Out((x.shape[0], n_out, *counts), dtype, "channels_last")},
        ask={"src": "channels_last", "weights": "any"},
        attr=attr,
        prop_kind=x.trace.forward_kind,
        algorithm=algorithm.convolution_direct,
        **window_parameters(axes),
    )["dst"]
    return unbatched(result if dtype == target.dtype else target.of(result), quantized.data)


def _function(rank: int, axes: str) -> Any:
    """Make the convolution over ``rank`` spatial axes."""
    name = f"quantized_conv{rank}d"

    def convolution(
        input: QuantizedTensor,
        weight: QuantizedTensor,
        bias: dpnp.ndarray | None = None,
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[Any, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        *,
        out_scale: dpnp.ndarray | None = None,
        out_zero_point: dpnp.ndarray | None = None,
        out_dtype: str | None = None,
    ) -> Tensor | QuantizedTensor:
        dtype = result_dtype(out_dtype, out_scale, input)
        window = (stride, padding, dilation, groups)
        out = (dtype, out_scale, out_zero_point)
        result = _convolve(name, rank, input, weight, bias, *window, *out)
        return with_scale(result, out_scale, out_zero_point)

    return named(convolution, name, _DOC.format(rank=rank, axes=axes))


_DOC = """Convolve quantized arrays, like ``conv{rank}d``, with integer arithmetic.

Parameters
----------
input : QuantizedTensor (N, C, {axes}) or (C, {axes})
    int8 or uint8, one scale for all elements. Padding stands for 0, not for the integer 0.
weight : QuantizedTensor (O, C / groups, *K)
    int8 without zero points; one scale for all, or one for each output channel (``axis=0``).
    Its data may be frozen.
bias : dpnp.ndarray (O,), optional
    float32, in units of the result before quantization.
stride, padding, dilation, groups
    As for ``conv{rank}d``.
out_scale, out_zero_point, out_dtype
    As for ``quantized_linear``.

Returns
-------
dpnp.ndarray or Array, with ``out_scale`` QuantizedTensor (N, O, *T)
    In channels-last layout.

Raises
------
ValueError
    Shapes, groups, padding or scales are inconsistent.
TypeError
    A dtype is wrong.

Notes
-----
A CPU without VNNI multiplies in float32, where sums are exact up to 2**24: oneDNN's integers
would saturate.

Source: oneDNN developer guide, "Convolution" and "Quantization".
"""

quantized_conv1d = _function(1, "W")
quantized_conv2d = _function(2, "H, W")
quantized_conv3d = _function(3, "D, H, W")
